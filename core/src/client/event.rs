//! Events that a client reports to its application.

use super::input::InputRequired;
use crate::handle::{Call, RequestHandle};
#[cfg(feature = "http")]
use crate::http::client::HttpFailure;
use crate::json::{JsonStr, RawJson, ReadError};
use crate::lifecycle::{Revision, ServerFeatures};
use crate::message::Params;
use crate::printable::Printable;
use crate::rpc::PeerError;
use crate::types::meta::{SERVER_INFO, is_modern_only};
use crate::types::{InputRequest, ServerCapabilities};
use crate::violation::Violation;

/// Event of a client. Borrows the frame, never the client.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ClientEvent<'f> {
    /// The server responded to `initialize` or `server/discover`: calls can be made.
    Connected(Connected<'f>),
    /// The connection cannot be established: close the transport.
    ConnectFailed(ConnectError<'f>),
    /// A call ended. Each call ends once: with this event, or with
    /// [`cancel_call`](super::Client::cancel_call).
    CallFinished {
        /// The call that ended.
        call: Call,
        /// Result, error, or reason.
        outcome: CallOutcome<'f>,
    },
    /// The server reported the progress of a call.
    Progress {
        /// The call.
        call: Call,
        /// A [`ProgressParams`](crate::types::ProgressParams).
        params: RawJson<'f>,
    },
    /// The server reported the progress of a task, with the progress token of the call that created
    /// it (2025-11-25, basic/utilities/progress).
    #[cfg(feature = "tasks")]
    TaskProgress {
        /// Id of the task.
        task_id: JsonStr<'f>,
        /// A [`ProgressParams`](crate::types::ProgressParams).
        params: RawJson<'f>,
    },
    /// The server acknowledged a `subscriptions/listen`.
    Listening {
        /// The `subscriptions/listen` call.
        call: Call,
        /// The [`SubscriptionFilter`](crate::types::SubscriptionFilter) that the server honours, a
        /// subset of the requested one; [`is_subset`](crate::types::SubscriptionFilter::is_subset)
        /// compares them.
        filter: RawJson<'f>,
    },
    /// Data of the server changed: cached copies are stale.
    Changed {
        /// The `subscriptions/listen` that the notification belongs to; `None` from a legacy
        /// server, and where a modern server does not name it.
        listen: Option<Call>,
        /// The list or the resource that changed.
        what: Changed<'f>,
    },
    /// A log message.
    Log {
        /// A [`LoggingMessageParams`](crate::types::LoggingMessageParams).
        params: RawJson<'f>,
    },
    /// A request of a legacy server: respond to it, at once or later. A modern server requires
    /// input with [`CallOutcome::InputRequired`] instead.
    Request(ServerRequest<'f>),
    /// The server cancelled its request; a response to it would not be written.
    RequestCancelled {
        /// The request.
        request: RequestHandle,
        /// The reason that the server gave.
        reason: Option<JsonStr<'f>>,
    },
    /// A request of the server took longer than
    /// [`request_timeout`](super::ClientConfig::request_timeout); an error was sent as the
    /// response.
    RequestTimedOut {
        /// The request.
        request: RequestHandle,
    },
    /// The client responded to a ping in a batch. A ping outside of a batch is no event; in a batch
    /// it ends the call, because one call writes at most one frame.
    Pinged,
    /// The server did not respond to a ping within
    /// [`ping_timeout`](super::ClientConfig::ping_timeout): the connection is probably lost.
    Unresponsive,
    /// A modern server responded to the probe after the client had taken it for a legacy server:
    /// increase [`probe_timeout`](super::ClientConfig::probe_timeout), or [set its
    /// era](super::Client::set_era).
    UnexpectedDiscovery(RawJson<'f>),
    /// Any other notification, e.g. `notifications/elicitation/complete`.
    Notification {
        /// The method.
        method: JsonStr<'f>,
        /// The parameters.
        params: Params<'f>,
    },
    /// An error response of the server without an id.
    PeerError(PeerError<'f>),
    /// The server violated the protocol, or the line has noise. An error response was sent where
    /// JSON-RPC allows one.
    Violation(Violation),
}

/// Result of `initialize` (legacy) or `server/discover` (modern).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Connected<'f> {
    /// The revision that client and server use.
    pub revision: Revision,
    /// The capabilities of the server that this library knows.
    pub capabilities: ServerFeatures,
    /// The whole result: an [`InitializeResult`](crate::types::InitializeResult) or a
    /// [`DiscoverResult`](crate::types::DiscoverResult).
    pub result: RawJson<'f>,
}

impl<'f> Connected<'f> {
    pub(super) fn new(revision: Revision, result: RawJson<'f>) -> Self {
        let declared =
            result.get("capabilities").and_then(|raw| raw.to::<ServerCapabilities<'_>>().ok());
        let mut capabilities =
            declared.map_or(ServerFeatures::NONE, |declared| declared.features(revision));
        if revision == Revision::V2024_11_05 {
            // This revision has no capability for completions.
            capabilities = capabilities.with(ServerFeatures::COMPLETIONS);
        }
        Self { revision, capabilities, result }
    }

    /// Returns the settings of an extension that the server declared. The client does not store
    /// them: read here what is needed later.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<RawJson<'f>> {
        let declared = self.result.get("capabilities")?.get("extensions")?;
        let mut members = declared
            .members()
            .filter(|(key, _)| self.revision.is_modern() || !is_modern_only(*key));
        members
            .find(|(key, _)| *key == id)
            .map(|(_, settings)| settings)
            .filter(|settings| settings.is_object())
    }

    /// Returns the [`Implementation`](crate::types::Implementation) that the server reports. For
    /// display only: it is not authenticated.
    #[must_use]
    pub fn server_info(&self) -> Option<RawJson<'f>> {
        self.result.get("serverInfo").or_else(|| self.result.get("_meta")?.get(SERVER_INFO))
    }

    /// Returns the instructions for the model.
    #[must_use]
    pub fn instructions(&self) -> Option<JsonStr<'f>> {
        self.result.get("instructions").and_then(RawJson::as_string)
    }
}

/// Reason why the connection was not established.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ConnectError<'f> {
    /// The server responded with an error.
    Refused(PeerError<'f>),
    /// Client and server have no revision in common. Contains the revisions of the server, if it
    /// reported them: a string, or an array of strings.
    NoCommonRevision(Option<RawJson<'f>>),
    /// The response is not a valid result.
    Invalid(Violation),
    /// The server did not respond in time.
    TimedOut,
    /// The request failed in HTTP.
    #[cfg(feature = "http")]
    Http(HttpFailure<'f>),
}

impl core::fmt::Display for ConnectError<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => match error.message() {
                Some(message) => write!(
                    f,
                    "the server rejected the connection: {} (code {})",
                    Printable::new(message),
                    error.code()
                ),
                None => write!(f, "the server rejected the connection (code {})", error.code()),
            },
            Self::NoCommonRevision(Some(theirs)) => {
                write!(f, "no common revision: the server supports {}", Printable::new(theirs))
            }
            Self::NoCommonRevision(None) => f.write_str("no common revision"),
            Self::Invalid(violation) => {
                write!(f, "the response of the server is invalid: {violation}")
            }
            Self::TimedOut => f.write_str("the server did not respond in time"),
            #[cfg(feature = "http")]
            Self::Http(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for ConnectError<'_> {}

/// Outcome of a call, for [`ClientEvent`] and [`ServerEvent`](crate::ServerEvent).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CallOutcome<'f> {
    /// The peer responded with a result. A client gets an object, to be read as the result type of
    /// the method; [`CacheHint`](crate::types::CacheHint) tells for how long it may be cached
    /// (2026-07-28).
    Result(RawJson<'f>),
    /// The peer responded with an error.
    Error(PeerError<'f>),
    /// The server needs input before it can respond with a result:
    /// [`retry`](super::Client::retry) the request with the input, or give it up (2026-07-28,
    /// basic/patterns/mrtr). Clients only.
    InputRequired(InputRequired<'f>),
    /// The server runs the call as a task: a valid [`Task`](crate::types::Task), whose result comes
    /// with further requests; [`TaskPoll`](crate::TaskPoll) says which. In 2026-07-28 only if the
    /// client declared [`TASKS`](crate::ClientFeatures::TASKS), in 2025-11-25 only with
    /// [`CallOptions::task`](super::CallOptions::task). Clients only.
    #[cfg(feature = "tasks")]
    Task(RawJson<'f>),
    /// The response is invalid: unknown `resultType`, longer than the receive buffer, or an input
    /// request that needs a capability that the client did not declare. Clients only.
    Invalid(Violation),
    /// The server ended a `subscriptions/listen` with `notifications/cancelled`. Clients only.
    EndedByServer,
    /// No response arrived in time. `notifications/cancelled` has been sent to the peer.
    TimedOut,
    /// The request that a server's call belonged to ended, so the call was cancelled. Servers only.
    Cancelled,
    /// The connection was closed. Clients only.
    Closed,
    /// The request failed in HTTP: [`Client::fail`](super::Client::fail). Clients only.
    #[cfg(feature = "http")]
    Http(HttpFailure<'f>),
}

impl<'f> CallOutcome<'f> {
    /// The result, if there is one.
    #[must_use]
    pub const fn result(&self) -> Option<RawJson<'f>> {
        if let Self::Result(result) = self { Some(*result) } else { None }
    }
}

/// Data of the server that changed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Changed<'f> {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// A resource, or a part of it.
    Resource {
        /// Its URI.
        uri: JsonStr<'f>,
    },
    /// The state of a task: a valid [`Task`](crate::types::Task).
    #[cfg(feature = "tasks")]
    Task(RawJson<'f>),
}

impl Changed<'_> {
    /// Whether the change makes a cached result of this request stale (2026-07-28,
    /// server/utilities/caching).
    #[must_use]
    pub fn concerns(&self, method: &str, params: RawJson<'_>) -> bool {
        match self {
            Self::Tools => method == "tools/list",
            Self::Prompts => method == "prompts/list",
            Self::Resources => matches!(method, "resources/list" | "resources/templates/list"),
            Self::Resource { uri } => {
                method == "resources/read"
                    && params
                        .get("uri")
                        .and_then(RawJson::as_string)
                        .is_some_and(|read| read == *uri)
            }
            // The state of a task is never cached.
            #[cfg(feature = "tasks")]
            Self::Task(_) => false,
        }
    }
}

/// Request of a legacy server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerRequest<'f> {
    /// Identifies the request in responses.
    pub handle: RequestHandle,
    /// `sampling/createMessage`, `roots/list` or `elicitation/create`. The client declared the
    /// capability; other requests are rejected before.
    pub method: JsonStr<'f>,
    /// Whether the server wants progress notifications.
    pub wants_progress: bool,
    /// The task that the server asks for, if the client declared that it runs such requests as
    /// tasks: respond with one ([`Tasks`](crate::tasks::Tasks)). Such a client also gets the
    /// requests `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` (2025-11-25).
    #[cfg(feature = "tasks")]
    pub task: Option<crate::types::TaskMetadata>,
    /// The parameters.
    pub params: Params<'f>,
}

impl<'f> ServerRequest<'f> {
    /// Returns the request as the type that modern servers use in their results
    /// ([`InputRequired::requests`]), so that one function handles both.
    ///
    /// # Errors
    /// The parameters are invalid: respond with -32602.
    pub fn input_request(&self) -> Result<InputRequest<'f>, ReadError> {
        InputRequest::from_parts(self.method, self.params.given())
    }
}
