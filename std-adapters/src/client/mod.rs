//! What the blocking and the asynchronous client share, beside the engine.

pub(crate) mod child;
mod input;
mod limits;
mod stderr;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_sansio::{JsonStr, OwnedJson, RawJson, Revision, ServerFeatures};
use mcp_sansio_engine::ClientEngine;

pub use input::OwnedInputRequest;
pub use limits::ClientLimits;
#[cfg(feature = "asynchronous")]
pub(crate) use limits::MIN_BUFFER;
pub(crate) use mcp_sansio::internal::Named;
#[cfg(feature = "http")]
pub use mcp_sansio_engine::HttpError;
pub(crate) use mcp_sansio_engine::internal::{Pager, check_skill, verified};
pub use mcp_sansio_engine::{
    CallError, ConnectError, InputRefusal, InputResponse, List, ListError, ListKind, MAX_LIST,
    MAX_PAGES, MAX_TASK_INPUTS, Prompts, ResourceTemplates, Resources, ServerError, Skills,
    TaskRef, ToolCallError, Tools, TypedResult,
};
pub use stderr::{LineFn, Stderr, StderrLines};

/// Returns a random number, for the time between two requests.
pub(crate) fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

/// Returns the milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(unix.as_millis()).unwrap_or(u64::MAX)
}

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
