use mcp_sansio::{JsonStr, OwnedJson, RawJson, Revision, ServerFeatures};

/// Result of `initialize` (legacy) or `server/discover` (modern): an owned
/// [`Connected`](mcp_sansio::Connected) of the core.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connected {
    /// Protocol revision of the connection.
    pub revision: Revision,
    /// Capabilities of the server. `None` if the [era was known](super::Connector::set_era) and the
    /// server was not asked.
    pub capabilities: Option<ServerFeatures>,
    /// The whole result: an [`InitializeResult`](mcp_sansio::types::InitializeResult) or a
    /// [`DiscoverResult`](mcp_sansio::types::DiscoverResult).
    pub result: Option<OwnedJson>,
}

impl Connected {
    /// Returns the server's instructions for the model.
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
