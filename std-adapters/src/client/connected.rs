//! What a server has said about itself.

use mcp_sansio::{JsonStr, OwnedJson, RawJson, Revision, ServerFeatures};
use mcp_sansio_engine::ClientEngine;

/// Result of `initialize` (legacy) or `server/discover` (modern): an owned
/// [`Connected`](mcp_sansio::Connected) of the core.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connected {
    /// Protocol revision of the connection.
    pub revision: Revision,
    /// Capabilities of the server. `None` if the era was known and the
    /// server was not asked.
    pub capabilities: Option<ServerFeatures>,
    /// The whole result: an [`InitializeResult`](mcp_sansio::types::InitializeResult) or a
    /// [`DiscoverResult`](mcp_sansio::types::DiscoverResult).
    pub result: Option<OwnedJson>,
}

impl Connected {
    /// Reads what the engine knows of a server, once it is connected.
    pub(crate) fn of(engine: &mut ClientEngine<'_>) -> Option<Self> {
        let result = engine.connect_result().cloned();
        let core = engine.core();
        Some(Self { revision: core.revision()?, capabilities: core.server_capabilities(), result })
    }

    /// Returns the server's instructions for the model.
    #[must_use]
    pub fn instructions(&self) -> Option<JsonStr<'_>> {
        self.result.as_ref()?.as_raw().get("instructions").and_then(RawJson::as_string)
    }
}
