//! A client on blocking input and output: of a server that it starts as a child process, or behind
//! any reader and writer.
//!
//! ```no_run
//! use mcp_sansio::types::{Implementation, TextContent, Tool};
//! use mcp_sansio::{ClientFeatures, ClientConfig, RawJson};
//! use mcp_sansio_adapters::blocking::client::{Client, Error};
//! use std::process::Command;
//!
//! static CONFIG: ClientConfig =
//!     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
//!
//! fn main() -> Result<(), Error> {
//!     let mut server = Client::spawn(&CONFIG, Command::new("echo-server"))?;
//!     for tool in server.list_tools()?.iter::<Tool<'_>>() {
//!         println!("{}", tool?.name);
//!     }
//!     let answer = server.call_tool("echo", &RawJson::from_static(r#"{"text": "hello"}"#))?;
//!     println!("{}", answer.as_raw());
//!     server.close().map(|_| ())
//! }
//! ```
//!
//! # Connection
//!
//! The server is asked what it speaks, with `server/discover`; one that does not know that is
//! greeted with `initialize`, and one that ends over it is started once more and greeted at once.
//! From then on both eras look the same: what a server asks in between, in either way, goes to one
//! [`Handler`].
//!
//! # PendingCall
//!
//! [`call`](Client::call) waits for its answer, [`start`](Client::start) does not:
//! [`wait`](Client::wait) for it later, while others are in flight. Whatever else comes is attended
//! to while anything is waited for, and only then: an application that has nothing to ask for long
//! calls [`run_for`](Client::run_for). Reading never waits for writing, so two sides that write much
//! at once cannot stop each other.
//!
//! # Time
//!
//! Each request has a time limit ([`CallOptions`](mcp_sansio::CallOptions),
//! [`ClientConfig`](mcp_sansio::ClientConfig)), which progress prolongs up to a hard one. Time that
//! the handler takes to answer questions is not counted ([`Handler`]). A list of many pages may
//! take ten times as long as one call. [`Duration::MAX`](std::time::Duration::MAX) stands for
//! never. A server that sends without a pause, reads nothing, or sends byte after byte changes none
//! of that: each turn reads and writes once, at most 64 KiB, and then looks at the time.
//!
//! # Memory
//!
//! A line has at most [`Connector::max_line`] bytes ([`MAX_LINE`], 16 MiB). InputResponses that the server
//! does not read stop the reading when they have 1 MiB; a request waits while as much waits to be
//! sent. A list has at most [`MAX_PAGES`] pages and [`MAX_LIST`] bytes, one answer at most 100
//! questions. Of standard error ten lines of 8 KiB are kept. [`IN_FLIGHT`] requests can be in
//! flight; results stay until they are [waited](Client::wait) for.
//!
//! # Framing
//!
//! One JSON-RPC message a line, in UTF-8. What is no message is reported as a
//! [`Violation`](mcp_sansio::Violation) to the handler and skipped, as is a line longer than
//! [`Connector::max_line`].
//!
//! # Cancellation
//!
//! By `notifications/cancelled` with the id of the request, in both eras: when
//! [`cancel`](Client::cancel) gives it up, or its time is over. What the server still answers is
//! ignored. `initialize` is never cancelled.
//!
//! # End
//!
//! [`close`](Client::close), or dropping the client, ends a process in the order that the
//! specification wants ([`Process`]). When it ends unexpectedly, all calls fail with its exit
//! status and last words, and [`reconnect`](Client::reconnect) starts it again.

mod calls;
mod connector;
mod driver;
mod error;
mod event_loop;
mod handler;
#[cfg(feature = "http")]
mod http;
mod list;
mod methods;
mod pending_calls;
#[cfg(unix)]
mod polled;
mod process;
mod stderr;
mod threaded;
mod transport;

pub use calls::{CallResult, Client};
pub use connector::{Clock, Connector, Direction, Trace};
pub use error::{Error, ServerError};
pub use handler::{Handler, InputResponse, ReceivedInputRequest};
#[cfg(feature = "http")]
pub use http::BlockingHttpTransport;
pub use list::List;
#[cfg(unix)]
pub use polled::PolledStreams;
pub use process::Process;
pub use stderr::{LineFn, Stderr};
pub use threaded::ThreadedStreams;
pub use transport::{ConnectionEnd, Shutdown, Transferred, Transport};

/// A request of a [`Client`]'s, whatever number of attempts it takes. Worth something only on the
/// client that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(u64);

/// The longest line accepted, in bytes, unless the [`Connector`] says otherwise. Memory is taken as
/// lines need it.
pub const MAX_LINE: usize = 16 << 20;
/// Pages of a list.
pub const MAX_PAGES: usize = 10_000;
/// Bytes of all pages of a list together. While it is read, its cursors are kept a second time.
pub const MAX_LIST: usize = 64 << 20;
/// Requests in flight.
pub const IN_FLIGHT: usize = 64;
