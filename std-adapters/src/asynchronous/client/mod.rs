//! Clients on any [`AsyncRead`](futures_lite::AsyncRead) and
//! [`AsyncWrite`](futures_lite::AsyncWrite): TCP, Unix sockets, pipes of child processes.
//!
//! List the tools of a server, call one of them, and respond to its elicitation requests:
//!
#![cfg_attr(feature = "smol", doc = "```no_run")]
#![cfg_attr(not(feature = "smol"), doc = "```ignore")]
//! use async_io::Async;
//! use mcp_sansio::types::{CallToolParams, ElicitResult, Implementation, InputRequest};
//! use mcp_sansio::{CallOptions, ClientFeatures, ClientConfig, RawJson};
//! use mcp_sansio_adapters::asynchronous::client::{
//!     CallError, Client, Connector, InputRefusal, InputResponse, OwnedInputRequest,
//! };
//! use std::net::TcpStream;
//!
//! static CONFIG: ClientConfig = ClientConfig::new(
//!     Implementation::new("visitor", "0.1.0"),
//!     ClientFeatures::ELICITATION_FORM,
//! );
//!
//! async fn elicit(request: OwnedInputRequest) -> InputResponse {
//!     let InputRequest::Elicit(_) = request.as_input_request() else {
//!         return Err(InputRefusal::unsupported());
//!     };
//!     request.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
//! }
//!
//! async fn visit(client: Client) -> Result<(), CallError> {
//!     for tool in client.list_tools().await?.iter().flatten() {
//!         println!("{}", tool.name);
//!     }
//!     let params = CallToolParams::new("greet");
//!     let call =
//!         client.request_with_progress("tools/call", &params, CallOptions::new(), |step| {
//!             println!("{:?}", step.progress)
//!         });
//!     println!("{:?}", call.await?);
//!     Ok(())
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     async_io::block_on(async {
//!         let stream = Async::<TcpStream>::connect(([127, 0, 0, 1], 8080)).await?;
//!         let connector = Connector::new(&CONFIG).on_input_request(elicit);
//!         let (client, connection) = connector.connect(stream);
//!         Ok(connection.drive(visit(client)).await?)
//!     })
//! }
//! ```
//!
//! # Connection and clients
//!
//! [`Connector::connect`] returns two values: the [`Connection`], a future that reads, writes and
//! handles timeouts, to be spawned, awaited or [driven](Connection::drive); and a [`Client`], whose
//! clones make requests from any task and any thread. The connection closes when the last clone is
//! dropped or one calls [`close`](Client::close). [`Client::reconnect`] returns the next one.
//!
//! The era of the server is detected when the connection starts. Calls that are made before it is
//! open wait.
//!
//! # Cancellation
//!
//! Dropping a call's future cancels it: the server is notified, its input requests are dropped, and
//! a late response is ignored. The core enforces time limits
//! ([`CallOptions`](mcp_sansio::CallOptions), [`ClientConfig`](mcp_sansio::ClientConfig)).
//!
//! # Input requests, in both eras
//!
//! One handler responds to input requests ([`Connector::on_input_request`]). A legacy server gets
//! each response as soon as it is ready. For a modern server all input requests of a result are
//! handled concurrently, and the request is sent again with the responses, as often as the
//! configuration allows. Other calls continue meanwhile.
//!
//! # Threads
//!
//! Everything is `Send` and clients are `Sync`, as the executor of `smol` requires. The lock that
//! this costs is held for the duration of a call of the core and never across an await. The futures
//! of input handlers must be `Send` as well.
//!
//! # Flow control
//!
//! Reading and writing never wait for each other. Requests are sent in the order in which they were
//! made; while the table or the buffer is full they wait. A request longer than
//! [`ClientLimits::max_pending`] is written in pieces, and is cut off if its future is dropped in
//! the middle: the server then receives an invalid line.
//!
//! # Memory
//!
//! Each connection takes about 200 bytes for each request in flight, and two buffers, which start
//! empty and grow to the [`ClientLimits`] as messages need it. Everything that a server
//! sends is limited:
//!
//! | kept | limit |
//! | --- | --- |
//! | unprocessed input | [`ClientLimits::max_line`], 16 MiB; then reading stops |
//! | unsent output | [`ClientLimits::max_pending`], 1 MiB; then messages that need a response wait, and the server behind them |
//! | open requests of the server | [`ClientLimits::max_in_flight`], 64; more are rejected (-32603) |
//! | input requests in a result (2026-07-28) | 64; more end the call with [`CallError::InputRefused`] |
//! | progress reports and changes that a call has not read | 64 for each call, and 64 KiB; older reports are dropped, changes become [`Change::Missed`] |
//! | a list | [`MAX_PAGES`] pages and [`ClientLimits::max_list`], 64 MiB; then [`CallError::List`] |
//! | results | one for each call, up to [`ClientLimits::max_line`] |
//!
//! # Panics
//!
//! Where panics unwind, a panic of the [input handler](Connector::on_input_request) ends its own
//! input request with -32603, and one of [`on_event`](Connector::on_event) ends nothing.

mod connection;
mod connector;
mod handle;
#[cfg(feature = "http")]
pub mod http;
mod task;
mod transport;

pub use crate::client::*;
pub use connection::{Connection, ConnectionEnd};
pub use connector::Connector;
pub use handle::{Client, Subscription};
pub use mcp_sansio_engine::Change;
pub use task::ToolTask;
pub use transport::Transport;
