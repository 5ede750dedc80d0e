//! Server side of Streamable HTTP and HTTP+SSE: rules over request heads and bodies, whichever HTTP
//! library parsed them.
//!
//! [`Endpoint::route`] decides where a request goes; an ordinary [`Server`](crate::Server) reads
//! its messages and writes into a [buffer of the exchange](crate::TxBuffer::for_http_response). The
//! first frame decides status and content type:
//! [`TxBuffer::http_response`](crate::TxBuffer::http_response).
//!
//! ```
//! use mcp_sansio::http::RequestHead;
//! use mcp_sansio::http::server::{Endpoint, OutgoingResponse, Route};
//! use mcp_sansio::types::{Implementation, TextResult, Tool};
//! use mcp_sansio::{
//!     Catalog, ExchangeId, Frame, Instant, Messages, RawJson, ServerConfig, ServerEvent,
//!     ServerFeatures, ServerState, Target, TxBuffer, entries,
//! };
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new("say", SCHEMA)]);
//! const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
//!
//! # fn main() -> Result<(), mcp_sansio::SendError> {
//! // As parsed by any HTTP library, or by `codec`.
//! let fields = [
//!     ("Host", "localhost:8080"),
//!     ("Content-Type", "application/json"),
//!     ("Accept", "application/json, text/event-stream"),
//!     ("MCP-Protocol-Version", "2026-07-28"),
//!     ("Mcp-Method", "tools/call"),
//!     ("Mcp-Name", "say"),
//! ];
//! let head = RequestHead::new("POST", "/mcp", &fields);
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//!
//! let mut messages = Messages::over_http(Frame::Complete(body), &head, ExchangeId::new(1));
//! let route = Endpoint::new(CONFIG.revisions).route(&head, &messages);
//! let Route::Stateless = route else { panic!() };
//! let mut state: ServerState<1, 1> = ServerState::new(); // ends with the request
//! let mut server = state.server(&CONFIG);
//! let mut tx = TxBuffer::for_http_response([0; 512], 0);
//! while let Some(event) = server.next_event(Instant::from_millis(0), &mut messages, &mut tx)? {
//!     let ServerEvent::Request(request) = event else { continue };
//!     if let Target::Tool(_) = CATALOG.respond(&mut server, &request, &mut tx)? {
//!         let _ = server.respond(request.handle, &TextResult::new("hello"), &mut tx)?;
//!     }
//! }
//! // Status and fields; the body is in `tx`.
//! let response = tx.http_response().unwrap_or(OutgoingResponse::ACCEPTED);
//! assert_eq!(
//!     (response.status, response.fields().next()),
//!     (200, Some(("content-type", "application/json")))
//! );
//! assert!(tx.pending().starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":"));
//! # Ok(())
//! # }
//! ```
//!
//! # What the transport has to do
//!
//! | what happens | what to do |
//! | --- | --- |
//! | a client of 2026-07-28 closes its connection | drop the server of that request and its handler |
//! | a client of a session closes its connection | go on reading what the exchange writes, and [`record`](ReplayBuffer::record) it |
//! | the server of a session sends a message | select the buffer by [`exchange`](crate::Server::exchange), [`exchange_of_call`](crate::Server::exchange_of_call) and [`due_exchange`](crate::Server::due_exchange): [`ExchangeId::SESSION`](crate::ExchangeId::SESSION) is the standalone GET stream |
//! | an exchange has no open request ([`open_requests_of`](crate::Server::open_requests_of)) and its buffer is empty | end the response; if there is no [`http_response`](crate::TxBuffer::http_response), send [`OutgoingResponse::ACCEPTED`], or 400 after a [`Violation`](crate::Violation) |
//! | a GET arrives | [`Route::Stream`]: send what the [`ReplayBuffer`] holds, then what it records |
//! | a body is [truncated](crate::TxBuffer::is_truncated) | close the connection without ending the body |
//! | a session is unused for long | drop it; later requests with its id get 404 |
//!
//! With `alloc`, [`Site`](super::site::Site) does all of this for any HTTP library. `HttpServer` of
//! the crate `mcp-sansio-adapters` implements it on asynchronous streams.

mod endpoint;
mod host_policy;
mod replay;
mod response;
mod session_id;
mod tx_buffer;

pub use crate::framing::{EventId, InvalidEventId};
#[cfg(feature = "alloc")]
pub(in crate::http) use endpoint::check_content_type;
pub use endpoint::{Endpoint, HttpMethod, Route};
pub use host_policy::HostPolicy;
#[cfg(feature = "alloc")]
pub(crate) use replay::RecordedPart;
pub use replay::{Overwritten, ReplayBuffer, ReplayCursor, StreamRecorder};
pub use response::{BodyKind, OutgoingResponse, Rejection};
pub use session_id::SessionId;
