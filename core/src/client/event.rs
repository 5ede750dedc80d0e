//! What a client tells its application.

use super::input::InputRequired;
use crate::handle::{Call, RequestHandle};
use crate::json::{JsonStr, RawJson, ReadError};
use crate::lifecycle::{Revision, ServerFeatures};
use crate::message::Params;
use crate::printable::Printable;
use crate::rpc::PeerError;
use crate::types::meta::{SERVER_INFO, is_modern_only};
use crate::types::{InputRequest, ServerCapabilities};
use crate::violation::Violation;

/// What happened. Borrows the frame, never the client.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ClientEvent<'f> {
    /// The server answered; requests can be made.
    Connected(Connected<'f>),
    /// There is no way to speak with this server: close the transport.
    ConnectFailed(ConnectError<'f>),
    /// A call ended. Each call ends once: with this event, or with
    /// [`cancel_call`](super::Client::cancel_call).
    CallFinished {
        /// The call that ended.
        call: Call,
        /// Result, error, or reason.
        outcome: CallOutcome<'f>,
    },
    /// How far a request of ours has come.
    Progress {
        /// Which.
        call: Call,
        /// A [`ProgressParams`](crate::types::ProgressParams).
        params: RawJson<'f>,
    },
    /// A `subscriptions/listen` was acknowledged.
    Listening {
        /// Which.
        call: Call,
        /// What will be told: a [`SubscriptionFilter`](crate::types::SubscriptionFilter), the part
        /// of ours that the server honours. Whether that is all,
        /// [`is_subset`](crate::types::SubscriptionFilter::is_subset) says.
        filter: RawJson<'f>,
    },
    /// Something of the server's is not what it was: what was kept of it is stale.
    Changed {
        /// The `subscriptions/listen` that brought it; none from a legacy server, or from a modern
        /// one that forgot to say.
        listen: Option<Call>,
        /// What.
        what: Changed<'f>,
    },
    /// A log message.
    Log {
        /// A [`LoggingMessageParams`](crate::types::LoggingMessageParams).
        params: RawJson<'f>,
    },
    /// A legacy server asks for something: answer it, at once or later. A modern one asks with
    /// [`CallOutcome::InputRequired`].
    Request(ServerRequest<'f>),
    /// A request of the server's was cancelled; a response to it would not be written.
    RequestCancelled {
        /// Which.
        request: RequestHandle,
        /// The server's words.
        reason: Option<JsonStr<'f>>,
    },
    /// A request of the server's took longer than the configuration allows and was answered with an
    /// error.
    RequestTimedOut {
        /// Which.
        request: RequestHandle,
    },
    /// A ping inside a batch was answered. Outside of one that is no event: here it ends the call,
    /// which writes at most one frame.
    Pinged,
    /// A ping that the configuration asked for was not answered: the connection is as good as lost.
    Unresponsive,
    /// A modern server answered the probe after it had been taken for a legacy one: give it more
    /// time ([`probe_timeout`](super::ClientConfig::probe_timeout)), or
    /// [assume](super::Client::set_era) its era.
    UnexpectedDiscovery(RawJson<'f>),
    /// Any other notification, as `notifications/elicitation/complete`.
    Notification {
        /// Its method.
        method: JsonStr<'f>,
        /// Its parameters.
        params: Params<'f>,
    },
    /// An error of the server's that names no request.
    PeerError(PeerError<'f>),
    /// The server did something wrong, or there is noise on the line; answered where JSON-RPC
    /// allows it.
    Violation(Violation),
}

/// A session with a legacy server, or the acquaintance of a modern one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Connected<'f> {
    /// What will be spoken.
    pub revision: Revision,
    /// What the server can do, as far as this library knows it.
    pub capabilities: ServerFeatures,
    /// The whole: an [`InitializeResult`](crate::types::InitializeResult) or a
    /// [`DiscoverResult`](crate::types::DiscoverResult).
    pub result: RawJson<'f>,
}

impl<'f> Connected<'f> {
    pub(super) fn new(revision: Revision, result: RawJson<'f>) -> Self {
        let declared =
            result.get("capabilities").and_then(|raw| raw.to::<ServerCapabilities<'_>>().ok());
        let mut capabilities =
            declared.map_or(ServerFeatures::NONE, |declared| declared.features());
        if revision == Revision::V2024_11_05 {
            // There was nothing to declare.
            capabilities = capabilities.with(ServerFeatures::COMPLETIONS);
        }
        Self { revision, capabilities, result }
    }

    /// The server's settings of an extension, when it declared it. Kept nowhere: take here what is
    /// needed later.
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

    /// Who the server says it is: an [`Implementation`](crate::types::Implementation). To be shown,
    /// not to be trusted.
    #[must_use]
    pub fn server_info(&self) -> Option<RawJson<'f>> {
        self.result.get("serverInfo").or_else(|| self.result.get("_meta")?.get(SERVER_INFO))
    }

    /// How a model should use the server.
    #[must_use]
    pub fn instructions(&self) -> Option<JsonStr<'f>> {
        self.result.get("instructions").and_then(RawJson::as_string)
    }
}

/// Why a server cannot be spoken with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ConnectError<'f> {
    /// It refused.
    Refused(PeerError<'f>),
    /// It speaks no revision that we speak. These are its own: a string, or a list of strings,
    /// where it said so.
    NoCommonRevision(Option<RawJson<'f>>),
    /// Its answer is none.
    Invalid(Violation),
    /// It did not answer in time.
    TimedOut,
}

impl core::fmt::Display for ConnectError<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => match error.message() {
                Some(message) => write!(
                    f,
                    "the server refused to begin: {} (code {})",
                    Printable::new(message),
                    error.code()
                ),
                None => write!(f, "the server refused to begin (code {})", error.code()),
            },
            Self::NoCommonRevision(Some(theirs)) => {
                write!(f, "no common revision: the server speaks {}", Printable::new(theirs))
            }
            Self::NoCommonRevision(None) => f.write_str("no common revision"),
            Self::Invalid(violation) => write!(f, "the server's answer is invalid: {violation}"),
            Self::TimedOut => f.write_str("the server did not answer in time"),
        }
    }
}

impl core::error::Error for ConnectError<'_> {}

/// How a call ended, for [`ClientEvent`] and [`ServerEvent`](crate::ServerEvent).
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
}

impl<'f> CallOutcome<'f> {
    /// The result, if there is one.
    #[must_use]
    pub const fn result(&self) -> Option<RawJson<'f>> {
        if let Self::Result(result) = self { Some(*result) } else { None }
    }
}

/// What is not what it was.
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
}

impl Changed<'_> {
    /// Whether it makes what was kept of the answer to this request stale (2026-07-28,
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
        }
    }
}

/// A request of a legacy server: what is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerRequest<'f> {
    /// What it is answered with.
    pub handle: RequestHandle,
    /// `sampling/createMessage`, `roots/list` or `elicitation/create`: declared, for certain.
    pub method: JsonStr<'f>,
    /// Whether the server wants progress notifications.
    pub wants_progress: bool,
    /// The parameters.
    pub params: Params<'f>,
}

impl<'f> ServerRequest<'f> {
    /// The question: the same type as in a modern server's results ([`InputRequired::requests`]),
    /// so that one function answers both.
    ///
    /// # Errors
    /// What in the parameters does not fit: answer it with -32602.
    pub fn input_request(&self) -> Result<InputRequest<'f>, ReadError> {
        InputRequest::from_parts(self.method, self.params.given())
    }
}
