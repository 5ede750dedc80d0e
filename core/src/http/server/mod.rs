//! The server of Streamable HTTP and of HTTP+SSE: its rules over a head and a body, wherever they
//! were parsed.
//!
//! [`Endpoint::route`] says where a request goes; the same [`Server`](crate::Server) as everywhere
//! takes its messages in, and writes into a buffer
//! [for this exchange](crate::TxBuffer::for_http_response). The first frame in it decides what the
//! answer is: [`TxBuffer::reply`](crate::TxBuffer::http_response).
//!
//! ```
//! use core::num::NonZeroU32;
//!
//! use mcp_sansio::http::RequestHead;
//! use mcp_sansio::http::server::{Endpoint, OutgoingResponse, Route};
//! use mcp_sansio::types::{Implementation, TextResult, Tool};
//! use mcp_sansio::{
//!     Catalog, Frame, Instant, Messages, RawJson, Server, ServerFeatures, ServerConfig,
//!     ServerEvent, Target, TxBuffer,
//! };
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog =
//!     Catalog::new().tools(&[Tool::new("say", RawJson::from_static(r#"{"type":"object"}"#))]);
//!
//! # fn main() -> Result<(), mcp_sansio::SendError> {
//! // What any HTTP library, or `codec`, has read.
//! let fields = [
//!     ("Host", "localhost:8080"),
//!     ("Accept", "application/json, text/event-stream"),
//!     ("MCP-Protocol-Version", "2026-07-28"),
//!     ("Mcp-Method", "tools/call"),
//!     ("Mcp-Name", "say"),
//! ];
//! let head = RequestHead::new("POST", "/mcp", &fields);
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//!
//! let mut messages = Messages::over_http(Frame::Complete(body), &head, NonZeroU32::MIN);
//! let Route::Stateless = Endpoint::new(CONFIG.revisions).route(&head, &messages) else { panic!() };
//! let mut server: Server<1, 1> = Server::with_table_sizes(&CONFIG); // ends with the request
//! let mut tx = TxBuffer::for_http_response([0; 512], 0);
//! while let Some(event) = server.next_event(Instant::from_millis(0), &mut messages, &mut tx)? {
//!     let ServerEvent::Request(request) = event else { continue };
//!     if let Target::Tool(_) = CATALOG.respond(&mut server, &request, &mut tx)? {
//!         let _ = server.respond(request.handle, &TextResult::new("hello"), &mut tx)?;
//!     }
//! }
//! let reply = tx.http_response().unwrap_or(OutgoingResponse::ACCEPTED); // status and fields; the body is in `tx`
//! assert_eq!(
//!     (reply.status, reply.fields().next()),
//!     (200, Some(("content-type", "application/json")))
//! );
//! assert!(tx.pending().starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":"));
//! # Ok(())
//! # }
//! ```
//!
//! # What is left to whoever carries the bytes
//!
//! | what happens | what to do |
//! | --- | --- |
//! | a client of 2026-07-28 closes its connection | forget the server of that request, and drop its handler |
//! | a client of a session does | nothing: go on taking what the exchange writes, and [`record`](ReplayBuffer::record) it |
//! | a session's server has something to say | [`exchange`](crate::Server::exchange), [`exchange_of_call`](crate::Server::exchange_of_call) and [`due_exchange`](crate::Server::due_exchange) say into which buffer: 0 is the session's own |
//! | an exchange has no request left ([`open_requests_of`](crate::Server::open_requests_of)) and its buffer is empty | end the response; where there was no [`http_response`](crate::TxBuffer::http_response), with [`OutgoingResponse::ACCEPTED`], or 400 if there was a [`Violation`](crate::Violation) |
//! | a GET comes | [`Route::Stream`]: read from the [`ReplayBuffer`], as far as it goes and as it grows |
//! | a body is cut off ([`is_cut`](crate::TxBuffer::is_cut)) | close the connection without an end of the body |
//! | nobody uses a session any more | forget it; who asks for it gets 404 |
//!
//! The adapter for smol does all of it in about a thousand lines, most of which are sockets.

mod endpoint;
mod exchange;
mod host_policy;
mod replay;
mod response;
mod session_id;

pub use endpoint::{Endpoint, HttpMethod, Route};
pub use exchange::{EventId, InvalidEventId};
pub use host_policy::HostPolicy;
pub use replay::{Overwritten, ReplayBuffer, ReplayCursor, StreamRecorder};
pub use response::{BodyKind, OutgoingResponse, Rejection};
pub use session_id::SessionId;

pub(crate) use exchange::{EventHead, Exchange};
