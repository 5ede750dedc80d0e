//! Clients over Streamable HTTP (2025-03-26 and later), or HTTP+SSE (2024-11-05), whichever the
//! server supports.
//!
//! An [`HttpTransport`] is connected as any stream is:
//!
#![cfg_attr(feature = "smol", doc = "```no_run")]
#![cfg_attr(not(feature = "smol"), doc = "```ignore")]
//! use mcp_sansio::types::{CallToolParams, Implementation};
//! use mcp_sansio::{CallOptions, ClientFeatures, ClientConfig};
//! use mcp_sansio_adapters::asynchronous::client::Connector;
//! use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
//!
//! static CONFIG: ClientConfig =
//!     ClientConfig::new(Implementation::new("visitor", "0.1.0"), ClientFeatures::NONE);
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     async_io::block_on(async {
//!         let http = HttpTransport::new("http://127.0.0.1:8000/mcp")?.bearer("a-token");
//!         let (client, connection) = Connector::new(&CONFIG).connect(http);
//!         let call = async {
//!             client
//!                 .request("tools/call", &CallToolParams::new("greet"), CallOptions::new())
//!                 .await
//!         };
//!         println!("{:?}", connection.drive(call).await?);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! # Protocol
//!
//! Each message is sent in a POST request. The era of the server is detected as on any stream; if
//! it rejects both `server/discover` and `initialize`, HTTP+SSE is tried. In a session of
//! 2025-03-26 to 2025-11-25 a GET stream is opened if the server offers one, interrupted streams
//! are resumed from their last event, and closing ends the session with a DELETE. If the server has
//! ended the session, a new one is opened and the message is sent again; a
//! [diagnostic](HttpTransport::on_diagnostic) reports that subscriptions and the log level are
//! lost. In 2026-07-28 dropping a call closes its exchange, arguments with `x-mcp-header` are
//! mirrored in header fields, tools with invalid annotations are removed from lists, and a call
//! whose header fields no longer match the tool is sent again after the list of tools has been read
//! anew.
//!
//! The response to a request of the server has no effect twice. It is sent again, up to five times
//! within eight seconds, if the connection is lost, or if the server or a proxy says 502, 503 or
//! 504.
//!
//! If a request fails on the HTTP level, its call ends with
//! [`CallError::Http`](super::CallError::Http), which says what happened; if that happens while
//! connecting, all calls end with [`ConnectError::Http`](super::ConnectError::Http).
//!
//! # Connections
//!
//! Up to [`MAX_IDLE_CONNECTIONS`] connections are kept for the next request, each for some seconds.
//! TCP is that of the [`Runtime`](crate::asynchronous::Runtime). URLs that start with `https://`
//! need the feature `tls`, whose `Tls` is rustls with the certificates that the operating system
//! trusts. For any other stream implement [`Connect`] and pass it to
//! [`HttpTransport::with_connector`]; a [`Dial`] tells it what the first request is for.
//!
//! # Memory
//!
//! Each POST in flight takes its body, a buffer for heads (16 to 64 KiB) and one for the response,
//! up to [`HttpLimits::max_message`]. Their number is limited: those of requests by
//! [`ClientLimits::max_in_flight`](crate::asynchronous::client::ClientLimits::max_in_flight), those
//! without a response by [`MAX_ONE_WAY_POSTS`]; in addition there is one GET stream.
//!
//! | kept | limit |
//! | --- | --- |
//! | messages that wait to be sent | 256, or 1 MiB and one message; then the messages of the next row wait |
//! | messages that wait for a place among those | 16, or [`ClientLimits::max_pending`](crate::asynchronous::client::ClientLimits::max_pending) and one message; then calls wait |
//! | messages that the client has not handled | 1 MiB and one message; then the streams wait, and the server with them |
//! | an event | [`HttpLimits::max_message`]; a stream is closed after 16 times that without an event |
//! | input schemas whose annotations are mirrored in header fields | 10,000 tools, 4 MiB in all; other tools are called without |
//! | idle connections | [`MAX_IDLE_CONNECTIONS`] |
//! | messages that open another session | 2 |
//!
//! # Panics
//!
//! A panic of an application's function ([`Connect`], [`HttpTransport::authorize`],
//! [`HttpTransport::on_diagnostic`]) fails the operation that it was called for, and nothing else.

pub(crate) mod authorize;
pub(crate) mod connector;
#[cfg(feature = "auth")]
pub(crate) mod fetch;
pub(crate) mod link;
#[cfg(feature = "tls")]
mod tls;
mod wire;

#[cfg(feature = "auth")]
pub use crate::auth::login as oauth;
pub use crate::runtime::{BoxedStream, ReadWrite};
pub use connector::{Connect, Dial, HttpTransport, MAX_IDLE_CONNECTIONS, Purpose, TcpConnector};
#[cfg(feature = "auth")]
pub(crate) use connector::{Connector, boxed};
#[cfg(feature = "tls")]
pub use futures_rustls::rustls;
#[cfg(all(feature = "blocking", feature = "smol"))]
pub(crate) use link::HttpLink;
pub use mcp_sansio_engine::{AUTHORIZATION_LIMIT, Diagnostic, HttpLimits, MAX_ONE_WAY_POSTS};
#[cfg(feature = "tls")]
pub use tls::Tls;
