//! A client on any [`AsyncRead`](futures_lite::AsyncRead) and
//! [`AsyncWrite`](futures_lite::AsyncWrite): TCP, Unix sockets, a child's pipes.
//!
//! Lists the tools of a server, calls one of them, and answers what it wants to know:
//!
//! ```no_run
//! use async_io::Async;
//! use mcp_sansio::types::{CallToolParams, ElicitResult, Implementation, InputRequest};
//! use mcp_sansio::{CallOptions, ClientFeatures, ClientConfig, RawJson};
//! use mcp_sansio_adapters::asynchronous::client::{
//!     InputResponse, CallError, Client, Connector, OwnedInputRequest, InputRefusal, Tools,
//! };
//! use std::net::TcpStream;
//!
//! static CONFIG: ClientConfig = ClientConfig::new(
//!     Implementation::new("visitor", "0.1.0"),
//!     ClientFeatures::ELICITATION_FORM,
//! );
//!
//! async fn answer(question: OwnedInputRequest) -> Result<InputResponse, InputRefusal> {
//!     let InputRequest::Elicit(_) = question.as_input_request() else {
//!         return Err(InputRefusal::unsupported());
//!     };
//!     question.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
//! }
//!
//! async fn visit(client: Client) -> Result<(), CallError> {
//!     for tool in client.list::<Tools>(CallOptions::new()).await?.iter().flatten() {
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
//!         let (client, connection) = Connector::new(&CONFIG).on_input_request(answer).connect(stream);
//!         Ok(connection.drive(visit(client)).await?)
//!     })
//! }
//! ```
//!
//! # Connection and clients
//!
//! [`Connector::connect`] gives two things: the [`Connection`], a future that reads, writes and
//! keeps time, to be spawned, awaited or [driven](Connection::drive); and a [`Client`], whose
//! clones make requests, from any task and any thread. The connection closes when the last of them
//! is gone or one says [`close`](Client::close). Who wants to connect again makes a new one, and
//! may say what is [known](Client::era) of the server.
//!
//! The era is found out when the connection begins. Calls that are made before it is open wait.
//!
//! # Cancellation
//!
//! Dropping a call's future cancels it: the server is told, its questions are dropped, its answer
//! is ignored if it still comes. Where there is a time limit
//! ([`CallOptions`](mcp_sansio::CallOptions), [`ClientConfig`](mcp_sansio::ClientConfig)) the core
//! keeps it.
//!
//! # Questions, in both eras
//!
//! One function [answers](Connector::on_input_request). A legacy server's request is answered when the answer
//! is there; a modern server's questions are answered all at once, and the request is sent again
//! with the answers, as often as the configuration allows. Nothing else waits meanwhile.
//!
//! # Threads
//!
//! Everything is `Send`, clients are `Sync`: the executor of `smol` wants it so, and the lock that
//! it costs is held for the length of a call of the core's and never across an await. What answers
//! questions must be `Send` as well.
//!
//! # Flow
//!
//! Reading and writing never wait for each other. Requests go out in the order in which they were
//! made; one that finds the table or the buffer full waits for its turn. A request longer than
//! [`Connector::max_pending`] goes out in pieces, and is cut off when its future is dropped in the
//! middle: the server sees a line of noise.
//!
//! # Memory
//!
//! For each connection the core's [`Client`](mcp_sansio::Client) (sized by `N`, see there), two
//! buffers that start empty and grow to the limits of the [`Connector`] as messages need it.
//! Nothing that a server sends is kept beyond these limits:
//!
//! | what is kept | at most |
//! | --- | --- |
//! | what is read and not taken in yet | [`Connector::max_line`], 16 MiB; then nothing more is read |
//! | what waits to be written | [`Connector::max_pending`], 1 MiB; then what must be answered waits, and behind it the server |
//! | requests of the server's under way | `N`; more are refused (-32603) |
//! | questions in a result (2026-07-28) | 64; the call ends with [`CallError::InputRefused`] |
//! | reports of progress and changes that wait for a call to be looked at | 64 for each call, and 64 KiB; older reports go, changes become [`Change::Missed`] |
//! | a list | [`MAX_PAGES`] pages and [`Connector::max_list`], 64 MiB; then [`CallError::TooManyPages`] or [`CallError::ListTooLong`] |
//! | results | one for each call, up to [`Connector::max_line`] |
//!
//! # Panics
//!
//! A panic in what [answers](Connector::on_input_request) ends its own question with -32603, and one in
//! [`on_event`](Connector::on_event) ends nothing, where panics unwind.

mod call;
mod calls;
mod connection;
mod connector;
mod error;
mod guard;
mod handle;
#[cfg(feature = "http")]
pub mod http;
mod incoming;
mod inner;
mod input;
mod listen;
mod mrtr;
mod opened;
mod outgoing;
mod pages;
mod send_queue;
mod server_requests;
mod timer;

pub use connection::{Connection, ConnectionEnd};
pub use connector::{Connector, IN_FLIGHT, MAX_LINE, MAX_PENDING};
pub use error::{CallError, ConnectError, ServerError};
pub use handle::Client;
pub use input::{InputRefusal, InputResponse, OwnedInputRequest};
pub use listen::{Change, Subscription};
pub use opened::Connected;
pub use pages::{
    ListKind, MAX_LIST, MAX_PAGES, Pages, Prompts, ResourceTemplates, Resources, Tools,
};
