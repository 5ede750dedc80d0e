//! The parts that the blocking and the asynchronous client share, beside the engine. Both export
//! all that is public here.

pub(crate) mod child;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_sansio::{ClientEvent, Instant, OwnedJson};
use mcp_sansio_engine::Limits;

use crate::panics::caught;
pub(crate) use mcp_sansio::internal::Named;
#[cfg(feature = "http")]
pub use mcp_sansio_engine::HttpError;
pub(crate) use mcp_sansio_engine::internal::{Pager, check_skill, verified};
pub use mcp_sansio_engine::{
    Before, Cache, CallError, ConnectError, Connected, InputRefusal, InputResponse, List,
    ListError, ListKind, MAX_LIST, MAX_PAGES, MAX_TASK_INPUTS, Middleware, OutgoingCall,
    OwnedInputRequest, Prompts, ResourceTemplates, Resources, ServerError, Skills, TaskRef,
    ToolCallError, Tools, TypedResult,
};

/// A middleware whose panics are caught: the call goes on as if there were none.
pub(crate) struct Caught<M>(pub(crate) M);

impl<M: Middleware> Middleware for Caught<M> {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        caught(|| self.0.before(call)).unwrap_or(Before::Send)
    }

    fn after(
        &mut self,
        call: &OutgoingCall<'_>,
        result: &mut Result<OwnedJson, CallError>,
    ) -> Option<Duration> {
        caught(|| self.0.after(call, result)).unwrap_or(None)
    }

    fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        let _ = caught(|| self.0.event(now, event));
    }

    fn connecting(&mut self) {
        let _ = caught(|| self.0.connecting());
    }
}

/// Returns the number of changes of the access token so far.
pub(crate) type Changes = Arc<dyn Fn() -> u32 + Send + Sync>;

/// Returns a random number, for the time between two requests.
pub(crate) fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

/// Returns the milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(unix.as_millis()).unwrap_or(u64::MAX)
}

/// Limits of a client, blocking or asynchronous:
/// `connector.limits(ClientLimits { max_line: 1 << 20, ..ClientLimits::new() })`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientLimits {
    /// Maximum number of requests in flight, and of open requests of the server, from 1 to 65,534.
    /// Each takes about 200 bytes, and its parameters. Default: 64.
    pub max_in_flight: u16,
    /// Maximum length of a received line, in bytes, at least 1,024. The buffer grows as lines need
    /// it. Messages over HTTP have a limit of their own. Default: 16 MiB.
    pub max_line: usize,
    /// Number of bytes that wait to be written with which calls wait; at least 1,024 in an
    /// asynchronous client. Default: 1 MiB.
    pub max_pending: usize,
    /// Maximum size of a list that is collected, in bytes of all its pages. Default: [`MAX_LIST`].
    pub max_list: usize,
    /// Maximum time that the server takes to close its side after an asynchronous client has closed
    /// its own. `Duration::MAX`: no limit. Default: 2 s.
    pub close_timeout: Duration,
    /// Time in which the server reads nothing, although output is pending, after which the
    /// connection of an asynchronous client ends; calls of a blocking one have their own time
    /// limits. `Duration::MAX`: no limit. Default: 60 s.
    pub stall_timeout: Duration,
}

impl ClientLimits {
    /// Creates the default limits.
    pub const fn new() -> Self {
        Self {
            max_in_flight: 64,
            max_line: 16 << 20,
            max_pending: 1 << 20,
            max_list: MAX_LIST,
            close_timeout: Duration::from_secs(2),
            stall_timeout: Duration::from_secs(60),
        }
    }

    /// Returns the limits of the engine that are the same in both clients.
    pub(crate) fn of_engine(&self) -> Limits {
        Limits {
            max_in_flight: self.max_in_flight.max(1),
            max_line: self.max_line.max(MIN_BUFFER),
            ..Limits::new()
        }
    }
}

mcp_sansio::default_is_new!(ClientLimits);

/// Smallest buffer: every response that the core writes fits, including the id.
pub(crate) const MIN_BUFFER: usize = 1024;
