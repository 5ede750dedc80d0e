//! What the blocking and the asynchronous client share, beside the engine.

pub(crate) mod child;
mod stderr;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_sansio::Instant;
use mcp_sansio::tasks::{TaskId, TaskTime};

#[cfg(feature = "http")]
pub use mcp_sansio_engine::HttpError;
#[cfg(feature = "http")]
pub(crate) use mcp_sansio_engine::internal::Cursors;
#[cfg(feature = "blocking")]
pub(crate) use mcp_sansio_engine::internal::PageParams;
pub(crate) use mcp_sansio_engine::internal::{
    FollowedTask, HostedReply, HostedStep, HostedTasks, Named, Pager, TaskOutcome, ToolSupport,
    check_skill, of_task, server_name, verified,
};
pub use mcp_sansio_engine::{
    ConnectError, List, ListError, ListKind, MAX_LIST, MAX_PAGES, MAX_TASK_INPUTS, Prompts,
    ResourceTemplates, Resources, ServerError, Skills, TaskRef, ToolCallError, Tools, TypedResult,
};
pub use stderr::{LineFn, Stderr, StderrLines};

/// Returns a random number, for the time between two requests.
pub(crate) fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

/// Returns an id for a task, which nobody guesses.
pub(crate) fn task_id() -> TaskId {
    let random = RandomState::new();
    let half = |number: u8| u128::from(random.hash_one(number));
    TaskId::new((half(0) << 64 | half(1)).to_le_bytes())
}

/// Returns the milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(unix.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time with that of the calendar.
pub(crate) fn task_time(now: Instant) -> TaskTime {
    TaskTime::new(now, unix_ms())
}
