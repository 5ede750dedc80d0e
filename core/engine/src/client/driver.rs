//! The border between a client and its adapter: the trait of the adapter, limits, and the results
//! of calls.

use alloc::string::String;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    ClientEvent, Encode, Encoder, Instant, InvalidPayload, JsonStr, OwnedJson, RawJson, Revision,
    SendError, ServerFeatures,
};

use super::{CallId, Middleware};
use crate::errors::{CallError, ConnectError, InputRefusal, InputResponse};
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

    /// Returns the code around all calls: [`Layers`](crate::Layers). Default: none.
    fn middleware(&mut self) -> Option<&mut dyn Middleware> {
        None
    }

    /// Returns a number that is another one after each change of the access token with which
    /// requests are sent, and never one of before: a [`Cache`](crate::Cache) serves no result of
    /// another token (2026-07-28, server/utilities/caching). Default: 0, the token never changes.
    fn authorization(&mut self) -> u32 {
        0
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
        mcp_sansio::object!(to, { "method": self.method, "params": self.params });
    }
}

/// A request of the server for elicitation, sampling or roots.
///
/// It stands for a request of a legacy server, and for an input request in the result of a modern
/// one. The client has declared the capability that it needs.
#[derive(Clone, Debug)]
pub struct OwnedInputRequest {
    /// An object with the members `method` and `params`.
    json: OwnedJson,
    revision: Revision,
}

impl OwnedInputRequest {
    /// Returns the typed request.
    pub fn as_input_request(&self) -> InputRequest<'_> {
        self.json.to().unwrap_or(InputRequest::Other(self.json.as_json()))
    }

    /// Returns the request as JSON: an object with the members `method` and `params`.
    pub fn as_json(&self) -> RawJson<'_> {
        self.json.as_json()
    }

    /// Returns the protocol revision of the connection.
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Serializes the response; return it from the handler. `result` is an
    /// [`ElicitResult`](mcp_sansio::types::ElicitResult), a
    /// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) or a
    /// [`ListRootsResult`](mcp_sansio::types::ListRootsResult), depending on the request.
    ///
    /// # Errors
    /// [`InputRefusal::NotSerializable`] if `Serialize` fails, or the value is not an object.
    pub fn respond<T: Encode + ?Sized>(&self, result: &T) -> InputResponse {
        let json = OwnedJson::new(result, self.revision).map_err(InputRefusal::NotSerializable)?;
        if json.as_json().is_object() {
            return Ok(json);
        }
        let error = SendError::Invalid(InvalidPayload::NotAnObject);
        Err(InputRefusal::NotSerializable(error))
    }

    /// Refuses the request: return it from the handler.
    ///
    /// # Errors
    /// Always [`InputRefusal::Refused`].
    pub const fn refuse(&self) -> InputResponse {
        Err(InputRefusal::Refused)
    }
}

impl TryFrom<&Question<'_>> for OwnedInputRequest {
    type Error = InputRefusal;

    fn try_from(question: &Question<'_>) -> Result<Self, InputRefusal> {
        let json = OwnedJson::new(question, question.revision);
        let json = json.map_err(|_| InputRefusal::unsupported())?;
        Ok(Self { json, revision: question.revision })
    }
}

/// Limits of the memory of a client, written `Limits { max_line: 1 << 20, ..Limits::new() }`.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Limits {
    /// Number of calls in flight, and of requests of the server. Default: 64.
    pub max_in_flight: u16,
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
    /// Creates the default limits.
    pub const fn new() -> Self {
        Self {
            max_in_flight: 64,
            max_line: 16 << 20,
            max_output: isize::MAX as usize,
            max_posts: usize::MAX,
            max_pending: 0,
            max_inputs: 64,
        }
    }
}

mcp_sansio::default_is_new!(Limits);

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
    /// Returns the server's instructions for the model.
    pub fn instructions(&self) -> Option<JsonStr<'_>> {
        self.result.as_ref()?.as_json().get("instructions").and_then(RawJson::as_string)
    }
}
