//! Events that a server reports to its application, and requests: of the client, and to it.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use super::config::Extensions;
use crate::client::CallOutcome;
use crate::encode::{Encode, Encoder, object};
use crate::json::{JsonStr, RawJson};
use crate::message::{Arguments, ParamPositions, Params, PeerViolation};
use crate::protocol::error::{InvalidPayload, require};
use crate::protocol::{ClientFeatures, Method, Revision};
use crate::rpc::PeerError;
use crate::rpc::inflight::{Call, RequestHandle};
use crate::text::utf8;
use crate::trace;
use crate::types::meta::{BAGGAGE, CLIENT_CAPABILITIES, TRACEPARENT, TRACESTATE};
#[cfg(feature = "tasks")]
use crate::types::task::TaskId;
use crate::types::{
    CreateMessageParams, ElicitFormParams, ElicitParams, ElicitUrlParams, InputRequest,
    LoggingLevel, ui,
};

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
    Violation(PeerViolation<'f>),
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
    pub(crate) fn from_server_request(request: &crate::client::ServerRequest<'f>) -> Option<Self> {
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
    pub fn http_fields(&self) -> Option<&'f dyn crate::http::head::Fields> {
        self.transport.fields()
    }

    /// Returns `params.name`. For `tools/call` and `prompts/get` it is `Some`: requests without it
    /// are rejected.
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.params.name()
    }

    /// Returns `params.arguments`: an object, empty if absent.
    pub fn arguments(&self) -> Arguments<'f> {
        self.params.arguments()
    }

    /// Returns `params.uri`. For `resources/read` it is `Some`: requests without it are rejected.
    pub fn uri(&self) -> Option<JsonStr<'f>> {
        self.params.get("uri").and_then(RawJson::as_string)
    }

    /// Returns `params.cursor` of a list request.
    pub fn cursor(&self) -> Option<JsonStr<'f>> {
        self.params.get("cursor").and_then(RawJson::as_string)
    }

    /// Returns the client's response to the input request `key` of an earlier attempt (2026-07-28,
    /// basic/patterns/mrtr).
    pub fn input_response(&self, key: &str) -> Option<RawJson<'f>> {
        self.params.get("inputResponses")?.get(key)
    }

    /// Returns the `requestState` of an earlier attempt. It comes from the client and is untrusted:
    /// verify it.
    pub fn request_state(&self) -> Option<JsonStr<'f>> {
        self.params.get("requestState").and_then(RawJson::as_string)
    }

    /// Returns whether the client declared an extension: with this request (modern), or in the
    /// `initialize` of its session if the [configuration](super::ServerConfig::client_extensions)
    /// names the extension (legacy).
    pub fn has_extension(&self, id: &str) -> bool {
        self.extensions.contains(id) || self.extension(id).is_some()
    }

    /// Returns the client's settings of an extension, which are part of this request (2026-07-28).
    /// A session only stores that the extension was declared
    /// ([`has_extension`](Self::has_extension)), not its settings: read those from
    /// [`ServerEvent::Initialize`].
    pub fn extension(&self, id: &str) -> Option<RawJson<'f>> {
        let declared =
            self.params.meta().filter(|_| self.revision.is_modern())?.get(CLIENT_CAPABILITIES)?;
        declared.get("extensions")?.get(id).filter(|settings| settings.is_object())
    }

    /// Returns the settings of a client that supports pages (MCP Apps), which are part of this
    /// request (2026-07-28); of a session, [`has_extension`](Self::has_extension) with
    /// [`ui::EXTENSION_ID`] says that it does.
    pub fn ui(&self) -> Option<ui::ClientCapabilities<'f>> {
        self.extension(ui::EXTENSION_ID)?.to().ok()
    }

    /// Returns `_meta.traceparent` if it is valid and written without escapes. An invalid one is
    /// ignored; the request is not traced.
    pub fn traceparent(&self) -> Option<&'f str> {
        self.trace(TRACEPARENT).filter(|text| trace::is_traceparent(text))
    }

    /// Returns `_meta.tracestate`, under the same conditions. It has no meaning without a
    /// [`traceparent`](Self::traceparent).
    pub fn tracestate(&self) -> Option<&'f str> {
        self.trace(TRACESTATE).filter(|text| trace::is_tracestate(text))
    }

    /// Returns `_meta.baggage`, under the same conditions.
    pub fn baggage(&self) -> Option<&'f str> {
        self.trace(BAGGAGE).filter(|text| trace::is_baggage(text))
    }

    fn trace(&self, key: &str) -> Option<&'f str> {
        self.params.meta()?.get(key)?.as_string()?.as_plain()
    }
}

impl Request<'_> {
    /// Returns the path of `params.uri` if it is a `file:` URI: absolute, percent-decoded, at the
    /// beginning of `out`.
    ///
    /// Returns `None` for any other URI, for another host, for a path longer than `out`, and for an
    /// ambiguous path: with `.` or `..` as a segment, or a percent-encoded slash, backslash or NUL.
    /// The caller checks whether the client may read the path, and the file system that no symbolic
    /// link leads out of the permitted directory. Drive letters are kept: `/C:/x`. 2026-07-28,
    /// server/resources: paths are sanitized against traversal.
    pub fn file_path<'o>(&self, out: &'o mut [u8]) -> Option<&'o str> {
        let mut chars = self.uri()?.chars();
        for expected in "file:".chars() {
            if chars.next()?.to_ascii_lowercase() != expected {
                return None;
            }
        }
        let mut len = 0;
        let mut put = |byte: u8| {
            *out.get_mut(len)? = byte;
            len += 1;
            Some(())
        };
        while let Some(c) = chars.next() {
            match c {
                '?' | '#' | '\\' | '\0' => return None,
                '%' => {
                    let (high, low) = (chars.next()?.to_digit(16)?, chars.next()?.to_digit(16)?);
                    match u8::try_from(high << 4 | low).ok()? {
                        b'/' | b'\\' | 0 => return None,
                        byte => put(byte)?,
                    }
                }
                c => {
                    for byte in utf8(c, &mut [0; 4]) {
                        put(*byte)?;
                    }
                }
            }
        }
        let path = core::str::from_utf8(out.get(..len)?).ok()?;
        // Two slashes precede the host.
        let path = match path.strip_prefix("//") {
            Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
            None => path,
        };
        let is_safe = path.starts_with('/')
            && !path.starts_with("//")
            && !path.split('/').any(|segment| matches!(segment, "." | ".."));
        is_safe.then_some(path)
    }
}

/// A request to the client: a call to a legacy client ([`request`](super::Server::request)), or an
/// input request in a result for a modern one ([`input_required`](super::Server::input_required)).
/// Made of the parameters of an elicitation or of sampling with [`From`], so that a program links
/// only the types that it uses.
#[derive(Clone, Copy)]
#[must_use]
pub struct ClientRequest<'a> {
    pub(super) method: &'static str,
    pub(super) params: RequestParams<'a>,
    pub(super) needs: ClientFeatures,
    /// Whether the parameters have the member `task`.
    pub(super) wants_task: bool,
    pub(super) parent: Option<RequestHandle>,
    pub(super) timeout: Option<Duration>,
    #[cfg(feature = "tasks")]
    pub(super) task: Option<TaskId>,
}

#[derive(Clone, Copy)]
pub(super) enum RequestParams<'a> {
    /// Of a method that a result can carry as an input request.
    Input(Option<&'a dyn InputParams>),
    /// Of any other method.
    Other(Option<&'a dyn Encode>),
}

/// Parameters that are validated before they are sent.
pub(super) trait InputParams: Encode {
    /// Checks what is not checked while the parameters are written.
    fn validate(&self, _: Revision) -> Result<(), InvalidPayload> {
        Ok(())
    }
}

impl<'a> ClientRequest<'a> {
    /// `roots/list`. Deprecated since 2026-07-28.
    pub const fn roots() -> Self {
        Self::with("roots/list", RequestParams::Input(None), ClientFeatures::ROOTS)
    }

    /// `ping`. For legacy clients only.
    pub const fn ping() -> Self {
        Self::new("ping", None, ClientFeatures::NONE)
    }

    /// Creates a request with any method, for legacy clients only. `needs` are the capabilities
    /// that the client must have declared.
    pub const fn new(
        method: &'static str,
        params: Option<&'a dyn Encode>,
        needs: ClientFeatures,
    ) -> Self {
        Self::with(method, RequestParams::Other(params), needs)
    }

    const fn with(method: &'static str, params: RequestParams<'a>, needs: ClientFeatures) -> Self {
        Self {
            method,
            params,
            needs,
            wants_task: false,
            parent: None,
            timeout: None,
            #[cfg(feature = "tasks")]
            task: None,
        }
    }

    /// Says which task asks (`_meta` of 2025-11-25). An input request has no use for it.
    #[cfg(feature = "tasks")]
    pub const fn related_task(self, task: TaskId) -> Self {
        Self { task: Some(task), ..self }
    }

    /// Makes the call part of this request: the request's timeout pauses until the call ends, and
    /// the call is cancelled when the request ends. An input request has no use for it.
    pub const fn parent(self, parent: RequestHandle) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Sets the timeout of the call, instead of the configured
    /// [`call_timeout`](super::ServerConfig::call_timeout). An input request has no use for it.
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    pub(super) fn validate(&self, revision: Revision) -> Result<(), InvalidPayload> {
        match self.params {
            // The method of `InputRequest::Other` is unknown.
            _ if self.method.is_empty() => Err(InvalidPayload::Method),
            RequestParams::Input(Some(params)) => params.validate(revision),
            RequestParams::Input(None) | RequestParams::Other(_) => Ok(()),
        }
    }
}

crate::text::opaque_debug!(ClientRequest<'_> { method });

/// `elicitation/create`
impl<'a> From<&'a ElicitParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a ElicitParams<'_>) -> Self {
        match params {
            ElicitParams::Form(form) => form.into(),
            ElicitParams::Url(page) => page.into(),
        }
    }
}

/// `elicitation/create` in form mode
impl<'a> From<&'a ElicitFormParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a ElicitFormParams<'_>) -> Self {
        let needs = ClientFeatures::ELICITATION_FORM;
        let request = Self::with("elicitation/create", RequestParams::Input(Some(params)), needs);
        Self { wants_task: params.task.is_some(), ..request }
    }
}

/// `elicitation/create` in URL mode
impl<'a> From<&'a ElicitUrlParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a ElicitUrlParams<'_>) -> Self {
        let needs = ClientFeatures::ELICITATION_URL;
        let request = Self::with("elicitation/create", RequestParams::Input(Some(params)), needs);
        Self { wants_task: params.task.is_some(), ..request }
    }
}

/// `sampling/createMessage`. Deprecated since 2026-07-28.
impl<'a> From<&'a CreateMessageParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a CreateMessageParams<'_>) -> Self {
        let needs = params.required_capabilities();
        let input = RequestParams::Input(Some(params));
        let request = Self::with("sampling/createMessage", input, needs);
        Self { wants_task: params.task.is_some(), ..request }
    }
}

/// Any of them; links all of them. [`InputRequest::Other`] cannot be sent.
impl<'a> From<&'a InputRequest<'_>> for ClientRequest<'a> {
    fn from(request: &'a InputRequest<'_>) -> Self {
        match request {
            InputRequest::Elicit(params) => params.into(),
            InputRequest::CreateMessage(params) => params.into(),
            InputRequest::ListRoots => Self::roots(),
            InputRequest::Other(_) => Self::new("", None, ClientFeatures::NONE),
        }
    }
}

/// An input request, as [`InputRequest`] writes it.
impl Encode for ClientRequest<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let params = match self.params {
            RequestParams::Input(params) => params,
            RequestParams::Other(_) => None,
        };
        object!(to, { "method": self.method, "params"?: params });
    }
}

/// Forms may not be nested (client/elicitation).
impl InputParams for ElicitFormParams<'_> {
    fn validate(&self, revision: Revision) -> Result<(), InvalidPayload> {
        require(self.requested_schema.is_valid_for(revision), InvalidPayload::Form)
    }
}

impl InputParams for ElicitUrlParams<'_> {}

/// Every `tool_use` must be followed by a message that holds only its `tool_result`s
/// (client/sampling).
impl InputParams for CreateMessageParams<'_> {
    fn validate(&self, _: Revision) -> Result<(), InvalidPayload> {
        self.validate_tool_results().map_err(|_| InvalidPayload::ToolResults)
    }
}

// Requests that outlive their frames.

/// A request without its text: a space, since position 0 means "missing", the parameters, and the
/// name of a method that is not known.
#[derive(Clone, Debug)]
struct OwnedHead {
    handle: RequestHandle,
    method: Option<Method<'static>>,
    revision: Revision,
    capabilities: ClientFeatures,
    wants_progress: bool,
    extensions: Extensions,
    params: ParamPositions,
    /// Length of the space and the parameters.
    params_len: usize,
}

impl OwnedHead {
    /// Returns the request without its text, and the parts of that.
    fn new<'f>(request: &Request<'f>) -> (Self, [&'f str; 3]) {
        let (method, name) = match request.method.known() {
            Ok(method) => (Some(method), ""),
            Err(name) => (None, name.as_json().as_str()),
        };
        // In a batch the parameters are a small part of the frame.
        let params = request.params.given().map_or("", RawJson::as_str);
        let kept = Self {
            handle: request.handle,
            method,
            revision: request.revision,
            capabilities: request.capabilities,
            wants_progress: request.wants_progress,
            extensions: request.extensions,
            params: request.params.positions(),
            params_len: params.len() + 1,
        };
        (kept, [" ", params, name])
    }

    fn request<'a>(&self, text: &'a str) -> Request<'a> {
        let (params, name) = text.split_at_checked(self.params_len).unwrap_or_default();
        Request {
            handle: self.handle,
            method: self.method.unwrap_or(Method::Other(JsonStr::scanned(name))),
            revision: self.revision,
            capabilities: self.capabilities,
            wants_progress: self.wants_progress,
            extensions: self.extensions,
            params: self.params.params(params),
            #[cfg(feature = "http")]
            transport: crate::message::TransportContext::STREAM,
        }
    }
}

/// A copy of a [`Request`], for a handler that responds later. It contains the parameters and no
/// other part of the frame. Indexed members stay indexed.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct OwnedRequest {
    kept: OwnedHead,
    text: Box<str>,
}

#[cfg(feature = "alloc")]
impl OwnedRequest {
    /// Returns the request.
    pub fn as_request(&self) -> Request<'_> {
        self.kept.request(&self.text)
    }
}

#[cfg(feature = "alloc")]
impl From<&Request<'_>> for OwnedRequest {
    fn from(request: &Request<'_>) -> Self {
        let (kept, parts) = OwnedHead::new(request);
        Self { kept, text: parts.concat().into() }
    }
}

/// Memory for a copy of a [`Request`] without an allocator. `N` is its size in bytes: one more than
/// the longest parameters.
pub struct RequestMemory<const N: usize> {
    kept: Option<OwnedHead>,
    len: usize,
    text: [u8; N],
}

impl<const N: usize> RequestMemory<N> {
    /// Creates empty memory.
    pub const fn new() -> Self {
        Self { kept: None, len: 0, text: [0; N] }
    }

    /// Copies the parameters of a request, and no other part of its frame, in place of the request
    /// that was here before. Returns `false`, and stays empty, if they are too long.
    pub fn keep(&mut self, request: &Request<'_>) -> bool {
        self.clear();
        let (kept, parts) = OwnedHead::new(request);
        let mut rest = self.text.as_mut_slice();
        for part in parts {
            let Some((to, behind)) = rest.split_at_mut_checked(part.len()) else { return false };
            to.copy_from_slice(part.as_bytes());
            rest = behind;
            self.len += part.len();
        }
        self.kept = Some(kept);
        true
    }

    /// Returns the request that was copied last.
    pub fn as_request(&self) -> Option<Request<'_>> {
        let text = str::from_utf8(self.text.get(..self.len)?).ok()?;
        Some(self.kept.as_ref()?.request(text))
    }

    /// Returns whether there is no request.
    pub const fn is_empty(&self) -> bool {
        self.kept.is_none()
    }

    /// Forgets the request.
    pub fn clear(&mut self) {
        (self.kept, self.len) = (None, 0);
    }
}

crate::text::default_is_new!([const N: usize] RequestMemory<N>);

impl<const N: usize> fmt::Debug for RequestMemory<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestMemory").field(&self.as_request()).finish()
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::types::Implementation;
    use crate::{
        Frame, Messages, RawJson, ServerConfig, ServerEvent, ServerFeatures, ServerState, TxBuffer,
    };

    const CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("t", "1"), ServerFeatures::TOOLS)
            .methods(&["own/method"]);

    /// Reads a line and compares the request with its copy.
    fn compare(method: &str, members: &str) {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":1,"io.modelcontextprotocol/logLevel":"info","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#;
        let line = alloc::format!(
            r#"{{"params":{{{meta}{members}}},"jsonrpc":"2.0","method":"{method}","id":"x"}}"#
        );
        let mut state: ServerState = ServerState::new();
        let mut server = state.server(&CONFIG);
        let mut tx = TxBuffer::new([0; 512]);
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let event = server.next_event(crate::Instant::from_millis(0), &mut messages, &mut tx);
        let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
        let owned = OwnedRequest::from(&request);
        let length = request.params.as_json().as_str().len();
        let name = request.method.known().map_or_else(|name| name.as_json().as_str().len(), |_| 0);
        let mut memory = RequestMemory::<1024>::new();
        assert!(memory.keep(&request));
        assert_eq!(memory.len, 1 + length + name);
        compare_copy(&request, &memory.as_request().unwrap());
        compare_copy(&request, &owned.as_request());
        assert!(!RequestMemory::<200>::new().keep(&request));
    }

    fn compare_copy(request: &Request<'_>, copy: &Request<'_>) {
        assert_eq!(copy.handle, request.handle);
        assert_eq!(copy.method, request.method);
        assert_eq!((copy.revision, copy.capabilities), (request.revision, request.capabilities));
        assert!(copy.wants_progress && request.wants_progress);
        assert_eq!(copy.params.as_json(), request.params.as_json());
        assert_eq!(copy.arguments().as_json(), request.arguments().as_json());
        let members = "name uri cursor inputResponses requestState arguments _meta other";
        for key in members.split(' ') {
            assert_eq!(copy.params.get(key), request.params.get(key), "{key}");
        }
        for key in ["a", "b", "c", "d", "e", "f", ""] {
            assert_eq!(copy.arguments().get(key), request.arguments().get(key), "{key}");
        }
        assert_eq!(copy.input_response("k"), request.input_response("k"));
        assert!(copy.traceparent().is_some() && copy.traceparent() == request.traceparent());
    }

    #[test]
    fn a_copy_says_what_the_request_said() {
        compare("tools/call", r#","name":"t","arguments":{"a":1,"b":[2],"c":"3","d":{},"e":null}"#);
        compare(
            "tools/call",
            r#","arguments":{"a":1},"name":"t\u0061","inputResponses":{"k":{"action":"accept"}},"requestState":"s""#,
        );
        compare("tools/call", r#","name":"no arguments""#);
        compare("tools\\/list", r#","cursor":"5","other":[{}]"#);
        compare("own/method", "");
    }

    #[test]
    fn a_request_without_params_has_a_copy_without_params() {
        let mut state: ServerState = ServerState::new();
        let mut server = state.server(&CONFIG);
        let mut tx = TxBuffer::new([0; 512]);
        let mut take = |line: &'static str| {
            let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
            server.next_event(crate::Instant::from_millis(0), &mut messages, &mut tx).unwrap()
        };
        take(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        );
        let event = take(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        let owned = OwnedRequest::from(&request);
        let mut memory = RequestMemory::<1>::new();
        assert!(memory.keep(&request));
        for copy in [owned.as_request(), memory.as_request().unwrap()] {
            assert_eq!(copy.params.as_json(), RawJson::EMPTY);
            assert_eq!(copy.params.name(), None);
        }
    }
}
