//! Selection of a model by hints.

use crate::types::{ModelPreferences, Text};

impl ModelPreferences<'_> {
    /// Returns the index of the model that the hints select: the first model whose name contains
    /// the first matching hint, ASCII case ignored (client/sampling, "Model Preferences"). List the
    /// preferred models first. Returns `None` if no hint matches; the client may then decide by the
    /// priorities.
    ///
    /// ```
    /// use mcp_sansio::types::{ModelHint, ModelPreferences};
    /// let hints = [ModelHint::new().name("sonnet"), ModelHint::new().name("claude")];
    /// let preferences = ModelPreferences::new().hints(&hints);
    /// assert_eq!(preferences.select_model(&["claude-opus", "claude-sonnet"]), Some(1));
    /// ```
    #[must_use]
    pub fn select_model(&self, models: &[&str]) -> Option<usize> {
        let hints = self.hints.iter().flat_map(|hints| hints.iter()).flatten();
        hints
            .filter_map(|hint| hint.name)
            .find_map(|hint| models.iter().position(|model| contains(model, hint)))
    }
}

/// Returns whether `model` contains `hint`, ASCII case ignored. An empty hint matches nothing.
fn contains(model: &str, hint: Text<'_>) -> bool {
    let starts_with_hint = |rest: &str| {
        let mut rest = rest.chars();
        hint.chars().all(|wanted| rest.next().is_some_and(|c| c.eq_ignore_ascii_case(&wanted)))
    };
    !hint.is_empty()
        && model.char_indices().any(|(at, _)| model.get(at..).is_some_and(starts_with_hint))
}
