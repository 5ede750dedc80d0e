//! What a server tells its application.

use super::extensions::Extensions;
use crate::client::CallOutcome;
use crate::handle::{Call, RequestHandle};
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{ClientFeatures, Method, Revision};
use crate::message::{Arguments, Params};
use crate::rpc::PeerError;
use crate::trace;
use crate::types::LoggingLevel;
use crate::types::meta::{BAGGAGE, CLIENT_CAPABILITIES, TRACEPARENT, TRACESTATE};
use crate::violation::Violation;

/// What happened. Borrows the frame, never the server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ServerEvent<'f> {
    /// A request to be answered, at once or later.
    Request(Request<'f>),
    /// The request was cancelled by the client; a response to it would not be written.
    RequestCancelled {
        /// Which.
        request: RequestHandle,
        /// The client's words.
        reason: Option<JsonStr<'f>>,
    },
    /// The request took longer than the configuration allows and was answered with an error.
    RequestTimedOut {
        /// Which.
        request: RequestHandle,
    },
    /// A legacy client's `initialize` was answered.
    Initialize {
        /// What was agreed on.
        revision: Revision,
        /// The client's parameters, an [`InitializeParams`](crate::types::InitializeParams). The
        /// settings of an extension are
        /// `params.to::<InitializeParams>()?.capabilities.extension(id)`.
        params: RawJson<'f>,
    },
    /// `notifications/initialized`: from now on the legacy client may be sent requests.
    Initialized,
    /// A legacy client said which log messages it wants; answered.
    LogLevel(LoggingLevel),
    /// A legacy client subscribed to a resource; answered.
    Subscribed {
        /// The resource.
        uri: JsonStr<'f>,
    },
    /// A legacy client gave a subscription up; answered.
    Unsubscribed {
        /// The resource.
        uri: JsonStr<'f>,
    },
    /// A modern client opened `subscriptions/listen`; acknowledged.
    Listening {
        /// Its handle, for [`end_listen`](super::Server::end_listen).
        request: RequestHandle,
    },
    /// A call ended.
    CallFinished {
        /// The call that ended.
        call: Call,
        /// A result, an error, [`TimedOut`](CallOutcome::TimedOut), or
        /// [`Cancelled`](CallOutcome::Cancelled) because the request that the call belongs to ended.
        outcome: CallOutcome<'f>,
    },
    /// A ping inside a batch was answered. Outside of one that is no event: here it ends the call,
    /// which writes at most one frame.
    Pinged,
    /// A ping that the configuration asked for was not answered: the connection is as good as lost.
    Unresponsive,
    /// Any other notification of a legacy client, as `notifications/roots/list_changed`.
    Notification {
        /// Its method.
        method: JsonStr<'f>,
        /// Its parameters.
        params: Params<'f>,
    },
    /// An error of the client's that names no request.
    PeerError(PeerError<'f>),
    /// A legacy client asked for a shutdown; answered. The end of input closes.
    Shutdown,
    /// The client did something wrong; answered where JSON-RPC allows it.
    Violation(Violation),
}

/// A request: what is asked, by whom, under which rules.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'f> {
    /// What it is answered with.
    pub handle: RequestHandle,
    /// What is asked.
    pub method: Method<'f>,
    /// The revision that its answer is written in.
    pub revision: Revision,
    /// What the client can do: of this request in the modern era, of its session before.
    pub capabilities: ClientFeatures,
    /// Whether the client wants progress notifications.
    pub wants_progress: bool,
    pub(super) extensions: Extensions,
    /// The parameters.
    pub params: Params<'f>,
    #[cfg(feature = "http")]
    pub(crate) carrier: crate::message::Carrier<'f>,
}

impl<'f> Request<'f> {
    /// The head of the HTTP request that it came with. Not of a copy
    /// ([`OwnedRequest`](crate::OwnedRequest)), which outlives it.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http_head(&self) -> Option<&'f crate::http::RequestHead<'f>> {
        self.carrier.head()
    }

    /// `params.name`, of `tools/call` and `prompts/get`: a string there for certain.
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.params.name()
    }

    /// `params.arguments`: an object, empty when there was none.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        self.params.arguments()
    }

    /// `params.uri`, of `resources/read`: a string there for certain.
    #[must_use]
    pub fn uri(&self) -> Option<JsonStr<'f>> {
        self.params.get("uri").and_then(RawJson::as_string)
    }

    /// `params.cursor`, of the lists.
    #[must_use]
    pub fn cursor(&self) -> Option<JsonStr<'f>> {
        self.params.get("cursor").and_then(RawJson::as_string)
    }

    /// The answer to the input request `key` of an earlier attempt (2026-07-28,
    /// basic/patterns/mrtr).
    #[must_use]
    pub fn input_response(&self, key: &str) -> Option<RawJson<'f>> {
        self.params.get("inputResponses")?.get(key)
    }

    /// The `requestState` of an earlier attempt. It comes from the client: trust it only as far as
    /// you can verify it.
    #[must_use]
    pub fn request_state(&self) -> Option<JsonStr<'f>> {
        self.params.get("requestState").and_then(RawJson::as_string)
    }

    /// Whether the client declared an extension: with this request in the modern era; in the
    /// `initialize` of its session before, if the
    /// [configuration](super::ServerConfig::client_extensions) names the extension.
    #[must_use]
    pub fn has_extension(&self, id: &str) -> bool {
        self.extensions.contains(id) || self.extension(id).is_some()
    }

    /// The client's settings of an extension, which came with this request (2026-07-28). A session
    /// remembers that the extension was declared ([`has_extension`](Self::has_extension)), not its
    /// settings: take those out of [`ServerEvent::Initialize`].
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<RawJson<'f>> {
        let declared =
            self.params.meta().filter(|_| self.revision.is_modern())?.get(CLIENT_CAPABILITIES)?;
        declared.get("extensions")?.get(id).filter(|settings| settings.is_object())
    }

    /// `_meta.traceparent`, where it is well formed and written without escapes. What is not is no
    /// fault of the request's: it is only not traced.
    #[must_use]
    pub fn traceparent(&self) -> Option<&'f str> {
        self.trace(TRACEPARENT).filter(|text| trace::is_traceparent(text))
    }

    /// `_meta.tracestate`, likewise. It means nothing without a [`traceparent`](Self::traceparent).
    #[must_use]
    pub fn tracestate(&self) -> Option<&'f str> {
        self.trace(TRACESTATE).filter(|text| trace::is_tracestate(text))
    }

    /// `_meta.baggage`, likewise.
    #[must_use]
    pub fn baggage(&self) -> Option<&'f str> {
        self.trace(BAGGAGE).filter(|text| trace::is_baggage(text))
    }

    fn trace(&self, key: &str) -> Option<&'f str> {
        self.params.meta()?.get(key)?.as_string()?.as_plain()
    }
}
