//! A client over Streamable HTTP (2025-03-26 and later), or HTTP+SSE (2024-11-05), whichever the
//! server speaks.
//!
//! [`HttpTransport`] makes a [`HttpStream`] of messages out of a URL, and everything else is as with any other
//! stream:
//!
//! ```no_run
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
//!         let stream = HttpTransport::new("http://127.0.0.1:8000/mcp")?.bearer("a-token").connect();
//!         let (client, connection) = Connector::new(&CONFIG).connect(stream);
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
//! # What it does
//!
//! Each message is a POST of its own. The era of the server is found out as on any stream; a server
//! that refuses both `server/discover` and `initialize` is asked whether it speaks HTTP+SSE. In a
//! session of 2025-03-26 to 2025-11-25 a GET stream is opened where the server offers one, streams
//! that break off are taken up again from their last event, and closing ends the session with a
//! DELETE. A session that the server has ended is begun again, and the message sent once more: the
//! [diagnostic](HttpTransport::on_diagnostic) tells that subscriptions and the level of the log are gone with it. In
//! 2026-07-28 a call that is dropped ends its exchange, arguments with `x-mcp-header` are repeated
//! in heads, tools whose annotations break the rules are taken out of lists, and a call whose head
//! does not fit the tool any more is sent again when the list of tools has been read anew.
//!
//! What HTTP does not answer is answered with an error of the code
//! [`HTTP_FAILURE_CODE`](mcp_sansio::http::client::HTTP_FAILURE_CODE); where the opening fails over it, the connection
//! ends with an [`io::Error`](std::io::Error) that says why.
//!
//! # Connections
//!
//! Up to [`MAX_IDLE_CONNECTIONS`] connections are kept for the next request, each for some seconds. Others than
//! TCP, TLS among them, are made by a [`Connect`] of yours: [`HttpTransport::with_connector`].
//!
//! # Memory
//!
//! For each post under way its body, a buffer for heads (16 to 64 KiB) and one for what comes, up
//! to [`HttpTransport::max_message`]. Posts under way are limited: those of requests by the `N` of the
//! [`Connector`](crate::asynchronous::client::Connector), those that have no answer by [`MAX_ONE_WAY_POSTS`];
//! beside them there is one GET stream.
//!
//! | what is kept | at most |
//! | --- | --- |
//! | messages that wait to be posted | 256, or 1 MiB and one message; then the client waits |
//! | messages that wait to be read by the client | 1 MiB and one message, and as much again; then the streams wait, and with them the server |
//! | an event | [`HttpTransport::max_message`]; a stream is cut off after 16 times that without an event |
//! | input schemas whose annotations are repeated in heads | 10,000 tools, 4 MiB in all; the others are called without |
//! | connections that wait for the next request | [`MAX_IDLE_CONNECTIONS`] |
//! | messages to open another session with | 2 |
//!
//! # Panics
//!
//! Where a function of the application's panics ([`Connect`], [`HttpTransport::authorize`],
//! [`HttpTransport::on_diagnostic`]), what it was called for fails, and nothing else.

mod builder;
mod connector;
mod exchange;
mod inbox;
mod jobs;
mod listen;
mod post;
mod queue;
mod reconnect;
mod stream;
mod tools;
mod transport_state;
mod wire;

pub use builder::{HttpTransport, MAX_IDLE_CONNECTIONS, MAX_MESSAGE};
pub use connector::{Address, Connect, TcpConnector};
pub use queue::MAX_ONE_WAY_POSTS;
pub use stream::HttpStream;
pub use transport_state::Diagnostic;
