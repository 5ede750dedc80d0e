//! Which model a server's hints mean.

use crate::types::{ModelPreferences, Text};

impl ModelPreferences<'_> {
    /// Which of your models the hints mean, best first: the first hint that is a part of a name
    /// wins, whatever the case of its letters (client/sampling, "Model Preferences"). `None`
    /// when no hint fits: then the priorities decide, and what they are worth is for you to say.
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

/// An empty hint means nothing.
fn contains(model: &str, hint: Text<'_>) -> bool {
    let begins = |rest: &str| {
        let mut rest = rest.chars();
        hint.chars().all(|wanted| rest.next().is_some_and(|c| c.eq_ignore_ascii_case(&wanted)))
    };
    !hint.is_empty() && model.char_indices().any(|(at, _)| model.get(at..).is_some_and(begins))
}
