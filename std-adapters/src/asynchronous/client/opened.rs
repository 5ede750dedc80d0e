//! What is known of a server.

use mcp_sansio::{JsonStr, OwnedJson, RawJson, Revision, ServerFeatures};

/// A session with a legacy server, or the acquaintance of a modern one: what the core's
/// [`Connected`](mcp_sansio::Connected) says, kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connected {
    /// What is spoken.
    pub revision: Revision,
    /// What the server can do. `None` where it was [not asked](super::Connector::set_era).
    pub capabilities: Option<ServerFeatures>,
    /// The whole: an [`InitializeResult`](mcp_sansio::types::InitializeResult) or a
    /// [`DiscoverResult`](mcp_sansio::types::DiscoverResult).
    pub result: Option<OwnedJson>,
}

impl Connected {
    /// How a model should use the server.
    #[must_use]
    pub fn instructions(&self) -> Option<JsonStr<'_>> {
        self.result.as_ref()?.as_raw().get("instructions").and_then(RawJson::as_string)
    }
}

impl From<mcp_sansio::Connected<'_>> for Connected {
    fn from(opened: mcp_sansio::Connected<'_>) -> Self {
        Self {
            revision: opened.revision,
            capabilities: Some(opened.capabilities),
            result: Some(opened.result.into()),
        }
    }
}
