//! A client on blocking input and output: of a server that it starts as a child process, or over
//! any reader and writer.
//!
//! ```no_run
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::{ClientConfig, ClientFeatures, RawJson};
//! use mcp_sansio_adapters::blocking::client::{Client, Error};
//! use std::process::Command;
//!
//! static CONFIG: ClientConfig =
//!     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
//!
//! fn main() -> Result<(), Error> {
//!     let mut client = Client::spawn(&CONFIG, Command::new("echo-server"))?;
//!     for tool in client.list_tools()?.iter() {
//!         println!("{}", tool?.name);
//!     }
//!     let result = client.call_tool("echo", &RawJson::from_static(r#"{"text": "hello"}"#))?;
//!     println!("{}", result.as_json());
//!     client.close().map(|_| ())
//! }
//! ```
//!
//! # Connection
//!
//! The client sends `server/discover` to find out the era of the server. If the server does not
//! know that method, it sends `initialize`; if the server exits over it, it starts the server once
//! more and sends `initialize` at once. From then on both eras look the same: elicitation, sampling
//! and roots requests, which each era sends in its own way, go to one [`Handler`].
//!
//! # Waiting
//!
//! [`request`](Client::request) waits for the result. [`start`](Client::start) does not: call
//! [`wait`](Client::wait) later, while other calls are in flight. Everything else that comes is
//! handled while the client waits for something, and only then: an application that makes no calls
//! for a long time calls [`run_for`](Client::run_for). Reading never waits for writing, so two
//! peers that write much at once cannot block each other.
//!
//! # Time
//!
//! Each call has a timeout ([`CallOptions`](mcp_sansio::CallOptions),
//! [`ClientConfig`](mcp_sansio::ClientConfig)), which progress extends up to a hard limit. The time
//! that the handler takes to respond to input requests does not count ([`Handler`]). The hard limit
//! applies to all pages of a list together. [`Duration::MAX`](std::time::Duration::MAX) means no
//! timeout. These limits hold against a server that sends without a pause, reads nothing, or
//! sends byte after byte: each iteration of the loop reads and writes once, at most 64 KiB, and
//! then handles the timeouts.
//!
//! # Memory
//!
//! [`ClientLimits`] has the limits of what is kept. The client stops reading while the server
//! leaves 1 MiB of responses unread. A list has at most [`MAX_PAGES`] pages, one result at most 100
//! input requests. Ten lines of 8 KiB of standard error are kept. More calls at once than
//! [`ClientLimits::max_in_flight`] fail; results are kept until [`wait`](Client::wait) returns
//! them.
//!
//! # Framing
//!
//! One JSON-RPC message per line, in UTF-8. Invalid messages and lines longer than
//! [`ClientLimits::max_line`] are skipped and reported to the handler as a
//! [`Violation`](mcp_sansio::Violation).
//!
//! # Cancellation
//!
//! A call is cancelled by `notifications/cancelled` with its id, in both eras, when
//! [`cancel`](Client::cancel) is called or its timeout is over. A response that still comes is
//! ignored. `initialize` is never cancelled.
//!
//! # End
//!
//! [`close`](Client::close), or dropping the client, shuts a process down in the order that the
//! specification requires ([`Process`]), and ends a session over HTTP. If the process ends
//! unexpectedly, all calls fail with its exit status and the last lines of its standard error;
//! [`reconnect`](Client::reconnect) starts it again.

mod calls;
mod connector;
mod error;
#[cfg(all(feature = "http", feature = "smol"))]
mod http;
mod methods;
mod transport;

#[cfg(unix)]
pub use super::polled::PolledStreams;
pub use crate::client::child::{LineFn, Shutdown, Stderr, StderrLines};
pub use crate::client::*;
pub use calls::{CallResult, Client};
pub use connector::{Clock, Connector, Direction, Handler, Trace};
pub use error::Error;
#[cfg(all(feature = "http", feature = "smol"))]
pub use http::BlockingHttpTransport;
pub use mcp_sansio_engine::CallId;
pub use transport::{ConnectionEnd, Process, ThreadedStreams, Transferred, Transport};
