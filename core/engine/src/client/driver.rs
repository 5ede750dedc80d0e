//! The border between a client and its adapter: the trait of the adapter, limits, and the results
//! of calls.

use alloc::string::String;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{ClientEvent, Encode, Encoder, Instant, JsonStr, OwnedJson, RawJson, Revision};

use super::CallId;
use crate::errors::{CallError, ConnectError, InputResponse};
use crate::tasks::TaskRef;

/// The part of an adapter in a [`ClientEngine`](crate::ClientEngine): the calendar, random numbers,
/// and the application.
pub trait Driver {
    /// Returns the milliseconds since 1970-01-01 00:00 UTC.
    fn unix_ms(&mut self) -> u64;

    /// Returns a random number, which nobody guesses.
    fn random(&mut self) -> u32;

    /// A question for the application. Returns the answer if it is there at once; otherwise
    /// [`ClientEngine::answer`](crate::ClientEngine::answer) takes it.
    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse>;

    /// A question does not need an answer any more.
    fn withdrawn(&mut self, input: InputId) {
        let _ = input;
    }

    /// A call has a [result](crate::ClientEngine::take), or the server runs it as a task, or has
    /// acknowledged the subscription.
    fn updated(&mut self, call: CallId) {
        let _ = call;
    }

    /// Progress, a log message, a change, or any other event that the engine has not handled
    /// itself. The progress of a task is that of its call.
    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        let _ = (about, event);
    }

    /// Whether [`frame`](Self::frame) sees what is sent and received.
    fn traces(&self) -> bool {
        false
    }

    /// A message, without its line end: sent, when it is queued, or received, invalid lines
    /// included. Of a line that is too long only the beginning.
    fn frame(&mut self, is_sent: bool, frame: &[u8]) {
        let _ = (is_sent, frame);
    }
}

/// Id of a question for the application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InputId(pub(super) u64);

/// A question of the server to the application. As JSON it is an object with the members `method`
/// and `params`, as received.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Question<'q> {
    /// Its id.
    pub id: InputId,
    /// The call that needs the answer. `None` for a request of a legacy server.
    pub about: Option<CallId>,
    /// The typed question.
    pub request: InputRequest<'q>,
    /// The revision of the connection.
    pub revision: Revision,
    pub(super) method: JsonStr<'q>,
    pub(super) params: RawJson<'q>,
}

impl Encode for Question<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("method", &self.method);
        to.member("params", &self.params);
        to.end_object();
    }
}

/// Limits of the memory of a client.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Limits {
    /// Number of calls in flight, and of requests of the server. Default: 64.
    pub in_flight: u16,
    /// Bytes of a line of the server. Default: 16 MiB.
    pub max_line: usize,
    /// Bytes that wait to be written; over HTTP, one message more. Default: no limit.
    pub max_output: usize,
    /// Number of messages that wait to be posted. Default: no limit.
    pub max_posts: usize,
    /// Number of calls that wait for room in the output, or for others to end. More are refused
    /// with `SendError::Full` or `SendError::TooManyCalls`. Default: none.
    pub max_pending: usize,
    /// Number of questions in one result. Default: 64.
    pub max_inputs: usize,
}

impl Limits {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        in_flight: 64,
        max_line: 16 << 20,
        max_output: isize::MAX as usize,
        max_posts: usize::MAX,
        max_pending: 0,
        max_inputs: 64,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A call that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Its id.
    pub id: CallId,
    /// Its method.
    pub method: String,
    /// The time at which it was made, later by the time that logins took.
    pub started: Instant,
    /// Its result.
    pub result: Result<OwnedJson, CallError>,
}

/// The state of a call that [`ClientEngine::cancel`](crate::ClientEngine::cancel) has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// The call was over, and its result is dropped.
    Over,
    /// The call is cancelled.
    Call,
    /// The call was a task with this id, which
    /// [`ClientEngine::cancel_task`](crate::ClientEngine::cancel_task) cancels.
    Task(String),
}

/// The state of a call that [`ClientEngine::detach`](crate::ClientEngine::detach) was to leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Detached {
    /// The task, which the server goes on with.
    Task(TaskRef),
    /// The call is over, or its result was taken.
    Over,
    /// The server has not said whether the call is a task.
    Undecided,
}

/// The progress of connecting.
#[derive(Clone, Debug)]
pub enum ConnectState {
    /// The server has not responded.
    Connecting,
    /// Calls can be made.
    Connected,
    /// The server cannot be used.
    Failed(ConnectError),
}
