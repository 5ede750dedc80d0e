//! The client of Streamable HTTP (2025-03-26 and later, basic/transports), and of HTTP+SSE
//! (2024-11-05), without I/O.
//!
//! The core's [`Client`](crate::Client) speaks the protocol; what is here says how its messages
//! travel. Each message that the client writes is the body of a request of its own, and what comes
//! back, one message or a stream of them, goes into the same client.
//!
//! ```
//! use mcp_sansio::http::client::{OutgoingMessage, ResponseKind, HttpSession};
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
//! let mut client: Client = Client::new(&CONFIG);
//! client.set_era(Some(Era::Modern));
//! let mut session = HttpSession::new();
//! client.connect(now, &mut TxBuffer::new([0; 16])).unwrap();
//!
//! // A message: the body of a request, whose head repeats some of it.
//! let mut body = TxBuffer::new([0; 512]);
//! client
//!     .request(now, "tools/call", &CallToolParams::new("greet"), CallOptions::new(), &mut body)
//!     .unwrap();
//! let post = OutgoingMessage::parse(body.pending()).unwrap();
//! let mut exchange = session.begin_post(&post);
//! let mut out = [0; 512];
//! let mut head = HeadWriter::request(&mut out, "POST", "/mcp").field("host", "localhost:8000");
//! session.post_fields(&post, None, &mut |name, value| head.push_field(name, value)).unwrap();
//! let len = head.finish(BodyLength::Known(body.pending().len() as u64)).unwrap();
//! let head = core::str::from_utf8(&out[..len]).unwrap();
//! assert!(head.contains("mcp-method: tools/call\r\nmcp-name: greet\r\n"));
//!
//! // The answer.
//! let fields = [("content-type", "application/json")];
//! assert_eq!(session.classify_response(&mut exchange, &ResponseHead::new(200, &fields)), ResponseKind::Message);
//! let frame = Frame::Complete(
//!     br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
//! );
//! session.observe(&mut exchange, frame);
//! assert!(exchange.has_response());
//! let event = client.next_event(now, &mut Messages::new(frame), &mut body).unwrap();
//! assert!(matches!(event, Some(ClientEvent::CallFinished { outcome: CallOutcome::Result(_), .. })));
//! ```
//!
//! # Who does what
//!
//! | what happens | what is done |
//! | --- | --- |
//! | the client has written a message | [`OutgoingMessage::parse`] it, [`HttpSession::begin_post`] an exchange, write the head's [fields](HttpSession::post_fields), send both. A [cancellation](OutgoingMessage::cancelled_request) of a modern request is not sent: its exchange is dropped |
//! | the head of the response | [`HttpSession::classify_response`] says what its body is, or what went wrong |
//! | a message in it, or in an [event](super::sse::EventReader) | [`HttpSession::observe`], then [`Client::next_event`](crate::Client::next_event): into an output buffer that is no body of an exchange's, since what the client answers is posted, too |
//! | the body has ended | [`Exchange::end_of_body`]: over, or to be [resumed](HttpSession::get_fields), or lost |
//! | an exchange is lost, or refused | [`HttpFailure`], as the answer to its request |
//! | a session is over (404) | another `initialize`: [`HttpSession::new`] |
//! | no server of ours, but perhaps an older one | GET; the first event is the [`Endpoint`](super::sse::EventKind::Endpoint), to be [resolved](Origin::resolve) |

mod challenge;
mod exchange;
mod failure;
mod message;
mod origin;
mod session;

pub use challenge::{Challenge, challenges};
pub use exchange::{Exchange, MIN_RETRY, NextStep};
pub use failure::{HTTP_FAILURE_CODE, HttpFailure};
pub use message::OutgoingMessage;
pub use origin::{Origin, ResolvedTarget, UrlError};
pub use session::{HttpSession, MAX_SESSION_ID, ResponseKind};
