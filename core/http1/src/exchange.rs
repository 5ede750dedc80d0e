//! One request and its response, at a server without sessions and without an allocator.

use mcp_sansio::http::server::{
    Endpoint, HostPolicy, HttpMethod, OutgoingResponse, Refusal, Route,
};
use mcp_sansio::http::{RequestHead, SingleValue};
use mcp_sansio::internal::copy;
use mcp_sansio::{
    ErrorCode, ExchangeId, Frame, Instant, Messages, SendError, Server, ServerConfig, ServerEvent,
    ServerState, Storage, Tx, TxBuffer,
};

use super::{IncomingRequest, ResponseWriter};

/// Who may send requests, and where: the path of the endpoint, hosts and origins, and tokens.
#[derive(Clone, Copy)]
#[must_use]
pub struct Access<'c> {
    path: &'c str,
    host_policy: HostPolicy<'c>,
    tokens: Option<&'c [&'c str]>,
}

impl<'c> Access<'c> {
    /// Serves `/mcp` to programs on the same machine, without tokens.
    pub const fn new() -> Self {
        Self { path: "/mcp", host_policy: HostPolicy::LOOPBACK, tokens: None }
    }

    /// Sets the path. Default: `/mcp`.
    pub const fn path(self, path: &'c str) -> Self {
        Self { path, ..self }
    }

    /// Sets the accepted hosts and origins. Default: [`HostPolicy::LOOPBACK`].
    pub const fn host_policy(self, host_policy: HostPolicy<'c>) -> Self {
        Self { host_policy, ..self }
    }

    /// Requires one of these bearer tokens with each request (RFC 6750, 2.1). They are secrets:
    /// at least 16 random bytes each, since nothing limits how often a client tries. Without TLS
    /// whoever sees the network reads them.
    pub const fn tokens(self, tokens: &'c [&'c str]) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    fn check(&self, head: &RequestHead<'_>) -> Result<(), Refusal<'static>> {
        self.host_policy.check(head)?;
        if head.path() != self.path {
            return Err(Refusal::new(
                404,
                ErrorCode::InvalidRequest,
                "There is nothing at this path: see the URL of the server",
            ));
        }
        let Some(tokens) = self.tokens else { return Ok(()) };
        let token = match head.fields.single("authorization") {
            SingleValue::Value(value) => bearer_token(value),
            _ => None,
        };
        match token {
            Some(token) if tokens.iter().fold(false, |is, known| is | is_same(known, token)) => {
                Ok(())
            }
            _ => Err(Refusal::new(
                401,
                ErrorCode::InvalidRequest,
                "The bearer token is missing or wrong",
            )),
        }
    }
}

mcp_sansio::default_is_new!(Access<'_>);

mcp_sansio::opaque_debug!(Access<'_> { path, host_policy });

/// Returns the token of a value of `Authorization`.
fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case("Bearer ").then_some(token.trim_ascii_start())
}

/// Compares in a time that depends only on the lengths.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differing == 0
}

/// A server for one request at a time, with its response: all of an HTTP server between the
/// [whole request](super::RequestReader::whole) and the bytes to send, without I/O. Clients of
/// 2026-07-28 need no sessions; older ones are served without.
///
/// `S` is the maximum number of URIs in a `subscriptions/listen`, `W` the memory of the output, at
/// least [`MIN_OUTPUT`] bytes. Longer messages leave in parts.
///
/// ```
/// use mcp_sansio::types::{Implementation, TextResult, Tool};
/// use mcp_sansio::{
///     Catalog, Instant, RawJson, ServerConfig, ServerEvent, ServerFeatures, Target, entries,
/// };
/// use mcp_sansio_http1::{Access, Collected, Exchange, MAX_HEAD, RequestReader};
///
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
/// static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new("say", SCHEMA)]);
/// const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
/// # macro_rules! env { ($name:literal) => { "AIXZFw6bbMGpHsCyvPkIJw" } }
/// static ACCESS: Access = Access::new().tokens(&[env!("MCP_TOKEN")]);
///
/// # let body = concat!(
/// #     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","_meta":{"#,
/// #     r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
/// #     r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
/// # );
/// # let length = format!("Content-Length: {}", body.len());
/// # let lines = [
/// #     "POST /mcp HTTP/1.1",
/// #     "Host: localhost",
/// #     "Authorization: Bearer AIXZFw6bbMGpHsCyvPkIJw",
/// #     "Content-Type: application/json",
/// #     "Accept: application/json, text/event-stream",
/// #     "MCP-Protocol-Version: 2026-07-28",
/// #     "Mcp-Method: tools/call",
/// #     "Mcp-Name: say",
/// #     &length,
/// #     "",
/// #     body,
/// # ];
/// # let received = lines.join("\r\n");
/// let mut reader = RequestReader::new([0; 1536]); // the longest request, with its head
/// let mut exchange: Exchange<4, _> = Exchange::new([0; 512]);
/// reader.spare()[..received.len()].copy_from_slice(received.as_bytes()); // from a socket
/// reader.commit(received.len());
/// assert_eq!(reader.collect(), Ok(Collected::Whole));
/// let (head, body) = reader.whole().unwrap();
/// if let Some(mut messages) = exchange.begin(&CONFIG, &ACCESS, &head, body) {
///     let now = Instant::from_millis(0);
///     while let Some(event) = exchange.next_event(&CONFIG, now, &mut messages)? {
///         let ServerEvent::Request(request) = event else { continue };
///         let (mut server, tx) = exchange.parts(&CONFIG);
///         if let Target::Tool(_) = CATALOG.respond(&mut server, &request, tx)? {
///             server.respond(request.handle, &TextResult::new("hello"), tx)?;
///         }
///     }
///     exchange.complete();
/// }
/// let (mut out, mut sent) = ([0; MAX_HEAD], Vec::new());
/// while !exchange.is_done() {
///     let written = exchange.write(&mut out);
///     sent.extend_from_slice(&out[..written]); // to the socket
/// }
/// assert!(sent.starts_with(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"));
/// # assert!(sent.ends_with(b"}"));
/// # Ok::<(), mcp_sansio::SendError>(())
/// ```
///
/// A client of 2026-07-28 that closes its connection cancels its request: forget the exchange then.
/// [`SendError::Full`] means that there is no room until [`write`](Self::write) has taken
/// something.
pub struct Exchange<const S: usize, W: Storage> {
    state: ServerState<1, S>,
    tx: TxBuffer<W>,
    response: ResponseWriter,
    /// A response without a message.
    empty: Option<u16>,
    /// A field beside those of the content.
    field: Option<(&'static str, &'static str)>,
    is_stream: bool,
    has_fault: bool,
    is_complete: bool,
}

impl<const S: usize, W: Storage> Exchange<S, W> {
    /// Creates an exchange for the first request.
    pub const fn new(memory: W) -> Self {
        Self {
            state: ServerState::new(),
            tx: TxBuffer::for_http_response(memory, 0),
            response: ResponseWriter::new(),
            empty: None,
            field: None,
            is_stream: false,
            has_fault: false,
            is_complete: false,
        }
    }

    /// Begins the response to the next request, and forgets the one before. Returns the messages
    /// of its body, to be handled one after the other; `None` if the request is refused or handled.
    pub fn begin<'f>(
        &mut self,
        config: &ServerConfig<'_>,
        access: &Access<'_>,
        request: &'f IncomingRequest<'f>,
        body: &'f [u8],
    ) -> Option<Messages<'f>> {
        self.clear();
        self.response =
            ResponseWriter::new().http_1_0(request.is_http_1_0).head_only(request.method == "HEAD");
        let head = request.as_head();
        let endpoint = Endpoint::new(config.revisions).without_sessions();
        let mut messages = Messages::over_http(Frame::Complete(body), &head, ExchangeId::new(1));
        let checked = access.check(&head).and_then(|()| endpoint.check_method(&head));
        let route = match checked {
            Ok(HttpMethod::Options) => Route::Options,
            Ok(_) => endpoint.route_post(&head, &messages),
            Err(refused) => Route::Refused(refused),
        };
        match route {
            Route::Stateless => {}
            Route::StatelessRevision(revision) => self.state.server(config).start_legacy(revision),
            Route::Options => {
                self.empty = Some(204);
                self.field = Some(("allow", endpoint.allowed_methods()));
                self.complete();
                return None;
            }
            Route::Refused(refused) => {
                self.refuse(&refused);
                if refused.status() == 405 {
                    self.field = Some(("allow", endpoint.allowed_methods()));
                }
                return None;
            }
            // There are no sessions.
            _ => {
                self.refuse(&Refusal::session_not_found());
                return None;
            }
        }
        // There is one entry, so messages of a batch wait for each other.
        messages.await_entries();
        Some(messages)
    }

    /// Responds to a request that cannot be read, and closes the connection. `is_head` is
    /// [`RequestReader::is_head`](super::RequestReader::is_head).
    pub fn reject(&mut self, refused: &Refusal<'_>, is_head: bool) {
        self.clear();
        self.response = ResponseWriter::new().keep_alive(false).head_only(is_head);
        self.refuse(refused);
    }

    /// Refuses the request that has [begun](Self::begin), before any of it is handled.
    pub fn refuse(&mut self, refused: &Refusal<'_>) {
        if refused.status() == 401 {
            self.field = Some(("www-authenticate", "Bearer"));
        }
        if refused.write(&mut self.tx).is_err() {
            self.tx.next_http_response();
            self.empty = Some(refused.status());
        }
        self.complete();
    }

    /// Forgets the request and its response. Its handle is valid for no later request.
    pub fn clear(&mut self) {
        self.state.renew();
        self.tx.next_http_response();
        self.response = ResponseWriter::new();
        (self.empty, self.field) = (None, None);
        (self.is_stream, self.has_fault, self.is_complete) = (false, false, false);
    }

    /// Closes the connection after the response, whose head says so if it has not been written.
    pub const fn close(&mut self) {
        self.response.close();
    }

    /// Returns the next event: [`Server::next_event`].
    ///
    /// # Errors
    /// As there.
    pub fn next_event<'f>(
        &mut self,
        config: &ServerConfig<'_>,
        now: Instant,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let event = self.state.server(config).next_event(now, messages, &mut self.tx);
        self.has_fault |= matches!(event, Ok(Some(ServerEvent::Violation(_))));
        event
    }

    /// Returns the server and its output, for responses and everything else that it sends.
    pub fn parts<'p>(&'p mut self, config: &'p ServerConfig<'p>) -> (Server<'p>, &'p mut Tx<'p>) {
        (self.state.server(config), &mut self.tx)
    }

    /// Returns the output that [`write`](Self::write) has not taken.
    pub const fn tx(&self) -> &TxBuffer<W> {
        &self.tx
    }

    /// Records that all messages were handled and no request is open: the response ends behind
    /// what is in the output.
    pub const fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Whether the response is [complete](Self::complete), written or not.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Writes the next bytes of the response and returns their number: the head as soon as the
    /// first message has decided it, then what is in the output. `out` is the memory of at least
    /// [`MAX_HEAD`] bytes.
    pub fn write(&mut self, out: &mut [u8]) -> usize {
        if self.response.is_new() {
            return self.write_head(out);
        }
        while !self.tx.pending().is_empty() {
            let pending = self.tx.pending();
            let len = pending.len().min(out.len().saturating_sub(CHUNK_FRAMING));
            let piece = self.response.piece(pending.get(..len).unwrap_or_default());
            let written = put(&piece.parts(), out);
            self.tx.advance(len);
            // Nothing is written of the response to a HEAD.
            if written > 0 || len == 0 {
                return written;
            }
        }
        if !self.is_complete || self.is_done() {
            return 0;
        }
        if self.tx.is_truncated() {
            self.response.cut();
        }
        put(&[self.response.end()], out)
    }

    fn write_head(&mut self, out: &mut [u8]) -> usize {
        let head = match (self.tx.http_response(), self.empty) {
            (_, Some(status)) => OutgoingResponse::empty(status),
            (Some(head), _) => head,
            (None, None) if !self.is_complete => return 0,
            (None, None) if self.has_fault => OutgoingResponse::empty(400),
            (None, None) => OutgoingResponse::ACCEPTED,
        };
        self.is_stream = head == OutgoingResponse::EVENT_STREAM;
        let is_whole = self.is_complete && !self.tx.is_truncated();
        let length = is_whole.then_some(self.tx.pending().len() as u64);
        let written = self.response.head(head.status, head.fields().chain(self.field), length, out);
        written.unwrap_or_else(|_| {
            self.response.cut();
            0
        })
    }

    /// Whether the response is an event stream that goes on.
    pub const fn is_streaming(&self) -> bool {
        self.is_stream && !self.is_complete
    }

    /// Writes a comment into an event stream, if that is between two events: so that the other end
    /// and proxies know that the connection is alive, and its loss is noticed. Returns the number
    /// of bytes.
    pub fn write_comment(&mut self, out: &mut [u8]) -> usize {
        if !self.is_streaming() || !self.tx.is_idle() {
            return 0;
        }
        put(&self.response.piece(b":\n\n").parts(), out)
    }

    /// Whether all of the response has been written, or cannot be.
    pub fn is_done(&self) -> bool {
        self.response.is_done()
    }

    /// Whether the connection can be used for another request: once [done](Self::is_done).
    pub fn keeps_alive(&self) -> bool {
        self.response.keeps_alive()
    }
}

mcp_sansio::opaque_debug!([const S: usize, W: Storage] Exchange<S, W> { response });

/// Writes parts one after the other, if there is room, and returns their length.
fn put(parts: &[&[u8]], out: &mut [u8]) -> usize {
    let mut len = 0;
    for part in parts {
        if let Some(place) = out.get_mut(len..).and_then(|rest| rest.get_mut(..part.len())) {
            copy(part, place);
            len += part.len();
        }
    }
    len
}

/// Room for the head of a response, in bytes: of [`Exchange::write`].
pub const MAX_HEAD: usize = 320;
/// The least memory of the output, in bytes: a message that must leave as a whole, such as
/// progress, may need more.
pub const MIN_OUTPUT: usize = 256;
/// Number of bytes that a chunk has beside its data.
const CHUNK_FRAMING: usize = 20;
