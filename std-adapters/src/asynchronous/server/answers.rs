use std::fmt;

use mcp_sansio::{OwnedJson, RawJson};
use serde::Deserialize;

use super::reply::Failure;

/// The response of a client to an input request. [`to`](Self::to) reads it as the result type of
/// the request: [`ElicitResult`](mcp_sansio::types::ElicitResult) for an elicitation,
/// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) for sampling,
/// [`ListRootsResult`](mcp_sansio::types::ListRootsResult) for roots.
#[derive(Clone)]
pub struct InputResponse {
    pub(super) key: String,
    pub(super) json: OwnedJson,
}

impl InputResponse {
    /// Reads the response as a result type that borrows from it.
    ///
    /// # Errors
    /// [`Failure::invalid_input_response`] if it is not of this type.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Failure> {
        self.json.to().map_err(|error| {
            Failure::invalid_input_response(format!(
                "Invalid response to input request {}: {error}",
                self.key
            ))
        })
    }

    /// Returns the response as JSON, as received.
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
