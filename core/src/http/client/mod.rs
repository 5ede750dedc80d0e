//! Client side of Streamable HTTP (2025-03-26 and later, basic/transports) and HTTP+SSE
//! (2024-11-05), without I/O.
//!
//! The [`Client`](crate::Client) handles the messages, this module their transport. Each message
//! that the client writes is the body of an HTTP request; the messages of the response, one or a
//! stream of them, are passed to the same client.
//!
//! ```
//! use mcp_sansio::http::client::{HttpSession, ResponseKind};
//! use mcp_sansio::http::{
//!     ResponseHead,
//!     codec::{BodyLength, HeadWriter},
//! };
//! use mcp_sansio::types::{CallToolParams, Implementation};
//! use mcp_sansio::*;
//!
//! static CONFIG: ClientConfig =
//!     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
//! let now = Instant::from_millis(0);
//! let mut state: ClientState = ClientState::new();
//! let mut client = state.client(&CONFIG);
//! client.set_era(Some(Era::Modern));
//! let mut session = HttpSession::new();
//! client.connect(now, &mut TxBuffer::new([0; 16])).unwrap();
//!
//! // The message is the body of a request, whose head repeats parts of it.
//! let mut body = TxBuffer::for_http_requests([0; 512], 0);
//! client
//!     .request(now, "tools/call", &CallToolParams::new("greet"), CallOptions::new(), &mut body)
//!     .unwrap();
//! let post = body.post().unwrap();
//! let mut exchange = session.begin_post(&post);
//! let mut out = [0; 512];
//! let mut head = HeadWriter::request(&mut out, "POST", "/mcp").field("host", "localhost:8000");
//! session.post_fields(&post, None, &mut |name, value| head.push_field(name, value)).unwrap();
//! let len = head.finish(BodyLength::Known(body.pending().len() as u64)).unwrap();
//! let head = core::str::from_utf8(&out[..len]).unwrap();
//! assert!(head.contains("mcp-method: tools/call\r\nmcp-name: greet\r\n"));
//!
//! body.advance(usize::MAX);
//!
//! // The response.
//! let fields = [("content-type", "application/json")];
//! let head = ResponseHead::new(200, &fields);
//! assert_eq!(session.classify_response(&mut exchange, &head), ResponseKind::Message);
//! let frame = Frame::Complete(
//!     br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
//! );
//! session.observe(&mut exchange, frame);
//! assert!(exchange.has_response());
//! let event = client.next_event(now, &mut Messages::new(frame), &mut body).unwrap();
//! let Some(ClientEvent::CallFinished { outcome: CallOutcome::Result(_), .. }) = event else {
//!     panic!()
//! };
//! ```
//!
//! # Steps
//!
//! | what happens | what to do |
//! | --- | --- |
//! | the client has written a message | [look at it](crate::TxBuffer::post), [begin an exchange](HttpSession::begin_post), write the [header fields](HttpSession::post_fields), send head and message. Do not send the [cancellation](OutgoingMessage::cancelled_request) of a modern request: close its exchange instead |
//! | the head of the response arrives | [`HttpSession::classify_response`] returns the kind of its body, or the error |
//! | a message of the body, or an [event](super::sse::EventReader), arrives | [`HttpSession::observe`], then [`Client::next_event`](crate::Client::next_event) with an output buffer for new messages, since the client's own responses are sent by POST too |
//! | the body ends | [`Exchange::end_of_body`]: done, [resume](HttpSession::get_fields), or lost |
//! | an exchange is lost or rejected | [`Client::fail`](crate::Client::fail) ends the call |
//! | the session has ended (404) | start over with [`HttpSession::new`] and `initialize` |
//! | the URL may be of a server of HTTP+SSE | GET; the first event is the [`Endpoint`](super::sse::EventKind::Endpoint), to be [resolved](Origin::resolve) |

mod challenge;
mod exchange;
mod failure;
mod message;
pub(in crate::http) mod origin;
mod session;
mod tx_buffer;

pub use challenge::{Challenge, challenges};
pub use exchange::{Exchange, MIN_RETRY, NextStep};
pub use failure::HttpFailure;
pub use message::OutgoingMessage;
#[cfg(feature = "alloc")]
pub use message::Post;
pub use origin::{Origin, ResolvedTarget, UrlError};
pub use session::{HttpSession, MAX_SESSION_ID, ResponseKind};
