//! What clients answer to questions.

use std::fmt;

use mcp_sansio::{OwnedJson, RawJson};
use serde::Deserialize;

use super::reply::Failure;

/// What the client answered to a question. [`to`](Self::to) makes of it the result that belongs to
/// what was asked: an [`ElicitResult`](mcp_sansio::types::ElicitResult) for an elicitation, and so
/// on.
#[derive(Clone)]
pub struct InputResponse {
    pub(super) key: String,
    pub(super) json: OwnedJson,
}

impl InputResponse {
    /// The answer as one of these types, borrowing from it.
    ///
    /// # Errors
    /// [`Failure::invalid_input_response`] when it is something else.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Failure> {
        self.json.to().map_err(|error| {
            Failure::invalid_input_response(format!(
                "The answer {} cannot be used: {error}",
                self.key
            ))
        })
    }

    /// The answer as it came.
    #[must_use]
    pub fn as_raw(&self) -> RawJson<'_> {
        self.json.as_raw()
    }
}

impl fmt::Debug for InputResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.json.as_raw())
    }
}
