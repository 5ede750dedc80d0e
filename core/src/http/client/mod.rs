//! The client of Streamable HTTP (2025-03-26 and later, basic/transports), and of HTTP+SSE
//! (2024-11-05), without I/O.
//!
//! The core's [`Client`](crate::Client) speaks the protocol; what is here says how its messages
//! travel. Each message that the client writes is the body of a request of its own, and what comes
//! back, one message or a stream of them, goes into the same client.
//!
//! ```
//! use mcp_sansio::http::client::{Post, Reply, Session};
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
//! let mut session = Session::new();
//! client.connect(now, &mut TxBuffer::new([0; 16])).unwrap();
//!
//! // A message: the body of a request, whose head repeats some of it.
//! let mut body = TxBuffer::new([0; 512]);
//! client
//!     .request(now, "tools/call", &CallToolParams::new("greet"), CallOptions::new(), &mut body)
//!     .unwrap();
//! let post = Post::read(body.pending()).unwrap();
//! let mut exchange = session.begin(&post);
//! let mut out = [0; 512];
//! let mut head = HeadWriter::request(&mut out, "POST", "/mcp").field("host", "localhost:8000");
//! session.post_fields(&post, None, &mut |name, value| head.push(name, value)).unwrap();
//! let len = head.finish(BodyLength::Known(body.pending().len() as u64)).unwrap();
//! let head = core::str::from_utf8(&out[..len]).unwrap();
//! assert!(head.contains("mcp-method: tools/call\r\nmcp-name: greet\r\n"));
//!
//! // The answer.
//! let fields = [("content-type", "application/json")];
//! assert_eq!(session.reply(&mut exchange, &ResponseHead::new(200, &fields)), Reply::Message);
//! let frame = Frame::Complete(
//!     br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
//! );
//! session.received(&mut exchange, frame);
//! assert!(exchange.is_answered());
//! let event = client.next_event(now, &mut Messages::new(frame), &mut body).unwrap();
//! assert!(matches!(event, Some(ClientEvent::CallFinished { outcome: Outcome::Result(_), .. })));
//! ```
//!
//! # Who does what
//!
//! | what happens | what is done |
//! | --- | --- |
//! | the client has written a message | [`Post::read`] it, [`Session::begin`] an exchange, write the head's [fields](Session::post_fields), send both. A [cancellation](Post::cancels) of a modern request is not sent: its exchange is dropped |
//! | the head of the response | [`Session::reply`] says what its body is, or what went wrong |
//! | a message in it, or in an [event](super::sse::EventReader) | [`Session::received`], then [`Client::next_event`](crate::Client::next_event): into an output buffer that is no body of an exchange's, since what the client answers is posted, too |
//! | the body has ended | [`Exchange::ended`]: over, or to be [resumed](Session::get_fields), or lost |
//! | an exchange is lost, or refused | [`Failure`], as the answer to its request |
//! | a session is over (404) | another `initialize`: [`Session::new`] |
//! | no server of ours, but perhaps an older one | GET; the first event is the [`Endpoint`](super::sse::EventKind::Endpoint), to be [resolved](Origin::resolve) |

mod challenge;
mod exchange;
mod failure;
mod origin;
mod post;
mod session;

pub use challenge::{Challenge, challenges};
pub use exchange::{After, Exchange, MIN_RETRY};
pub use failure::{FAILED, Failure};
pub use origin::{Origin, Resolved, UrlError};
pub use post::Post;
pub use session::{MAX_SESSION_ID, Reply, Session};
