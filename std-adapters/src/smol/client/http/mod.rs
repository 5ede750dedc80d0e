//! A client over Streamable HTTP (2025-03-26 and later), or HTTP+SSE (2024-11-05), whichever the server speaks.
//!
//! [`Http`] makes a [`Stream`] of messages out of a URL, and everything else is as with any other stream:
//!
//! ```no_run
//! use mcp_sansio::types::{CallToolParams, Implementation};
//! use mcp_sansio::{CallOptions, ClientCapability, ClientConfig};
//! use mcp_sansio_adapters::smol::client::Connector;
//! use mcp_sansio_adapters::smol::client::http::Http;
//!
//! static CONFIG: ClientConfig = ClientConfig::new(Implementation::new("visitor", "0.1.0"), ClientCapability::NONE);
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     async_io::block_on(async {
//!         let stream = Http::new("http://127.0.0.1:8000/mcp")?.bearer("a-token").connect();
//!         let (client, connection) = Connector::new(&CONFIG).connect(stream);
//!         let call = async { client.request("tools/call", &CallToolParams::new("greet"), CallOptions::new()).await };
//!         println!("{:?}", connection.drive(call).await?);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! # What it does
//!
//! Each message is a POST of its own. The era of the server is found out as on any stream; a server that refuses both `server/discover` and `initialize` is
//! asked whether it speaks HTTP+SSE. In a session of 2025-03-26 to 2025-11-25 a GET stream is opened where the server offers one, streams that break off are taken up again
//! from their last event, and closing ends the session with a DELETE. A session that the server has ended is begun again, and the message sent once more: the
//! [notice](Http::on_notice) tells that subscriptions and the level of the log are gone with it. In 2026-07-28 a call that is dropped ends its exchange,
//! arguments with `x-mcp-header` are repeated in heads, tools whose annotations break the rules are taken out of lists, and a call whose head does not fit the
//! tool any more is sent again when the list of tools has been read anew.
//!
//! What HTTP does not answer is answered with an error of the code [`FAILED`](mcp_sansio::http::client::FAILED); where the opening fails over it, the connection
//! ends with an [`io::Error`](std::io::Error) that says why.
//!
//! # Connections
//!
//! Up to [`MAX_IDLE`] connections are kept for the next request, each for some seconds. Others than TCP, TLS among them, are made by a [`Dial`] of yours:
//! [`Http::with_dial`].
//!
//! # Memory
//!
//! For each request under way its body, a buffer for heads and one for what comes, up to [`Http::max_message`].

mod builder;
mod dial;
mod exchange;
mod inbox;
mod jobs;
mod listen;
mod post;
mod renew;
mod shared;
mod stream;
mod tools;
mod wire;

pub use builder::{Http, MAX_IDLE, MAX_MESSAGE};
pub use dial::{Address, Dial, Tcp};
pub use shared::Notice;
pub use stream::Stream;
