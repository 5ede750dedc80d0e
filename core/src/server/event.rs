//! Events that a server reports to its application.

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
use crate::types::ui;
use crate::violation::Violation;

/// An event. Borrows the frame, not the server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ServerEvent<'f> {
    /// A request that the application responds to, at once or later.
    Request(Request<'f>),
    /// The client cancelled the request. Responses to it are no longer written.
    RequestCancelled {
        /// The request.
        request: RequestHandle,
        /// The reason given by the client.
        reason: Option<JsonStr<'f>>,
    },
    /// The request was open longer than [`request_timeout`](super::ServerConfig::request_timeout),
    /// and has been responded to with an error.
    RequestTimedOut {
        /// The request.
        request: RequestHandle,
    },
    /// A legacy client opened a session with `initialize`; its result has been written.
    Initialize {
        /// The negotiated revision.
        revision: Revision,
        /// The parameters: an [`InitializeParams`](crate::types::InitializeParams). The settings of
        /// an extension are `params.to::<InitializeParams>()?.capabilities.extension(id)`.
        params: RawJson<'f>,
    },
    /// `notifications/initialized` arrived: calls to the legacy client are allowed from now on.
    Initialized,
    /// A legacy client set the log level; its request has been responded to.
    LogLevel(LoggingLevel),
    /// A legacy client subscribed to a resource; its request has been responded to.
    Subscribed {
        /// The URI of the resource.
        uri: JsonStr<'f>,
    },
    /// A legacy client unsubscribed from a resource; its request has been responded to.
    Unsubscribed {
        /// The URI of the resource.
        uri: JsonStr<'f>,
    },
    /// A modern client opened a `subscriptions/listen`; the acknowledgement has been written.
    Listening {
        /// The handle for [`end_listen`](super::Server::end_listen).
        request: RequestHandle,
    },
    /// A call ended.
    CallFinished {
        /// The call that ended.
        call: Call,
        /// A result, an error, [`TimedOut`](CallOutcome::TimedOut), or
        /// [`Cancelled`](CallOutcome::Cancelled) because the request that the call belongs to has
        /// ended.
        outcome: CallOutcome<'f>,
    },
    /// A ping inside a batch has been responded to. Outside of batches there is no event; here it
    /// ends the call, because a call writes at most one frame.
    Pinged,
    /// The peer did not respond to a ping ([`ping_interval`](super::ServerConfig::ping_interval))
    /// in time: treat the connection as lost.
    Unresponsive,
    /// Any other notification of a legacy client, e.g. `notifications/roots/list_changed`.
    Notification {
        /// The method.
        method: JsonStr<'f>,
        /// The parameters.
        params: Params<'f>,
    },
    /// An error response without an id.
    PeerError(PeerError<'f>),
    /// A legacy client sent `shutdown`; its request has been responded to. The connection closes at
    /// the end of input.
    Shutdown,
    /// The client violated the protocol; an error has been written where JSON-RPC allows it.
    Violation(Violation),
}

/// A request of the client.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'f> {
    /// The handle to respond with.
    pub handle: RequestHandle,
    /// The method.
    pub method: Method<'f>,
    /// The revision that the response is written in.
    pub revision: Revision,
    /// The capabilities of the client: declared in this request (modern) or by `initialize`
    /// (legacy).
    pub capabilities: ClientFeatures,
    /// Whether the client requested progress notifications.
    pub wants_progress: bool,
    pub(super) extensions: Extensions,
    /// The parameters.
    pub params: Params<'f>,
    #[cfg(feature = "http")]
    pub(crate) transport: crate::message::TransportContext<'f>,
}

#[cfg(feature = "tasks")]
impl<'f> Request<'f> {
    /// Returns a request of a server about the tasks of its client, as if it were one of a client
    /// (2025-11-25).
    pub(crate) fn of_server(request: &crate::client::ServerRequest<'f>) -> Option<Self> {
        Some(Self {
            handle: request.handle,
            method: Method::from_name(&request.method)?,
            revision: Revision::V2025_11_25,
            capabilities: ClientFeatures::NONE,
            wants_progress: false,
            extensions: Extensions { ids: &[], declared: 0 },
            params: request.params,
            #[cfg(feature = "http")]
            transport: crate::message::TransportContext::STREAM,
        })
    }
}

impl<'f> Request<'f> {
    /// Returns the header fields of the HTTP request that contained this request. `None` for a copy
    /// ([`OwnedRequest`](crate::OwnedRequest)).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http_fields(&self) -> Option<&'f dyn crate::head::Fields> {
        self.transport.fields()
    }

    /// Returns `params.name`. For `tools/call` and `prompts/get` it is `Some`: requests without it
    /// are rejected.
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.params.name()
    }

    /// Returns `params.arguments`: an object, empty if absent.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        self.params.arguments()
    }

    /// Returns `params.uri`. For `resources/read` it is `Some`: requests without it are rejected.
    #[must_use]
    pub fn uri(&self) -> Option<JsonStr<'f>> {
        self.params.get("uri").and_then(RawJson::as_string)
    }

    /// Returns `params.cursor` of a list request.
    #[must_use]
    pub fn cursor(&self) -> Option<JsonStr<'f>> {
        self.params.get("cursor").and_then(RawJson::as_string)
    }

    /// Returns the client's response to the input request `key` of an earlier attempt (2026-07-28,
    /// basic/patterns/mrtr).
    #[must_use]
    pub fn input_response(&self, key: &str) -> Option<RawJson<'f>> {
        self.params.get("inputResponses")?.get(key)
    }

    /// Returns the `requestState` of an earlier attempt. It comes from the client and is untrusted:
    /// verify it.
    #[must_use]
    pub fn request_state(&self) -> Option<JsonStr<'f>> {
        self.params.get("requestState").and_then(RawJson::as_string)
    }

    /// Returns whether the client declared an extension: with this request (modern), or in the
    /// `initialize` of its session if the [configuration](super::ServerConfig::client_extensions)
    /// names the extension (legacy).
    #[must_use]
    pub fn has_extension(&self, id: &str) -> bool {
        self.extensions.contains(id) || self.extension(id).is_some()
    }

    /// Returns the client's settings of an extension, which are part of this request (2026-07-28).
    /// A session only stores that the extension was declared
    /// ([`has_extension`](Self::has_extension)), not its settings: read those from
    /// [`ServerEvent::Initialize`].
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<RawJson<'f>> {
        let declared =
            self.params.meta().filter(|_| self.revision.is_modern())?.get(CLIENT_CAPABILITIES)?;
        declared.get("extensions")?.get(id).filter(|settings| settings.is_object())
    }

    /// Returns the settings of a client that supports pages (MCP Apps), which are part of this
    /// request (2026-07-28); of a session, [`has_extension`](Self::has_extension) with
    /// [`ui::EXTENSION_ID`] says that it does.
    #[must_use]
    pub fn ui(&self) -> Option<ui::ClientCapabilities<'f>> {
        self.extension(ui::EXTENSION_ID)?.to().ok()
    }

    /// Returns `_meta.traceparent` if it is valid and written without escapes. An invalid one is
    /// ignored; the request is not traced.
    #[must_use]
    pub fn traceparent(&self) -> Option<&'f str> {
        self.trace(TRACEPARENT).filter(|text| trace::is_traceparent(text))
    }

    /// Returns `_meta.tracestate`, under the same conditions. It has no meaning without a
    /// [`traceparent`](Self::traceparent).
    #[must_use]
    pub fn tracestate(&self) -> Option<&'f str> {
        self.trace(TRACESTATE).filter(|text| trace::is_tracestate(text))
    }

    /// Returns `_meta.baggage`, under the same conditions.
    #[must_use]
    pub fn baggage(&self) -> Option<&'f str> {
        self.trace(BAGGAGE).filter(|text| trace::is_baggage(text))
    }

    fn trace(&self, key: &str) -> Option<&'f str> {
        self.params.meta()?.get(key)?.as_string()?.as_plain()
    }
}
