//! What the blocking and the asynchronous client share, beside the engine.

pub(crate) mod child;
mod connected;
mod limits;
mod stderr;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

pub use connected::Connected;
pub use limits::ClientLimits;
#[cfg(feature = "asynchronous")]
pub(crate) use limits::MIN_BUFFER;
#[cfg(feature = "http")]
pub use mcp_sansio_engine::HttpError;
pub(crate) use mcp_sansio_engine::internal::{Named, Pager, check_skill, verified};
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
