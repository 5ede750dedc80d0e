//! A server with async handlers, on any [`AsyncRead`](futures_lite::AsyncRead) and
//! [`AsyncWrite`](futures_lite::AsyncWrite): TCP, Unix sockets, child processes.
//!
//! The other end, a client, is in [`client`].
//!
//! One tool that asks who is there, takes its time and says how far it is, for all clients that
//! connect:
//!
//! ```no_run
//! use std::net::TcpListener;
//! use std::time::Duration;
//!
//! use async_io::{Async, Timer};
//! use mcp_sansio::types::{
//!     ElicitParams, ElicitResult, Field, Implementation, InputRequest, RequestedSchema,
//!     StringSchema, TextResult, Tool,
//! };
//! use mcp_sansio::{Catalog, Progress, RawJson, ServerFeatures, ServerConfig};
//! use mcp_sansio_adapters::asynchronous::{self, App, Context, Failure, Reply};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("greeter", "0.1.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog =
//!     Catalog::new().tools(&[Tool::new("greet", RawJson::from_static(r#"{"type":"object"}"#))]);
//! const WHO: RequestedSchema =
//!     RequestedSchema::new(&[Field::required("name", StringSchema::new().schema())]);
//!
//! async fn greet(ctx: Context) -> Result<Reply, Failure> {
//!     let answer =
//!         ctx.request_input("who", InputRequest::Elicit(ElicitParams::form("Who is there?", WHO))).await?;
//!     let Some(form) = answer.to::<ElicitResult>()?.content else {
//!         return ctx.reply(&TextResult::new("As you like"));
//!     };
//!     let name = form
//!         .get("name")
//!         .and_then(RawJson::as_string)
//!         .ok_or(Failure::tool("There is no name"))?;
//!     for step in 1..=3 {
//!         Timer::after(Duration::from_millis(100)).await;
//!         ctx.progress(&Progress::of(step).total(3)).await?;
//!     }
//!     ctx.reply(&TextResult::new(&format!("Hello, {name}")))
//! }
//!
//! fn main() -> std::io::Result<()> {
//!     let app = App::new(&CONFIG, greet).catalog(&CATALOG).max_connections(1000);
//!     let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 8080))?;
//!     async_io::block_on(asynchronous::serve(&app, &listener))
//! }
//! ```
//!
//! # Handlers
//!
//! An [`App`] is the configuration and one function, and serves any number of connections. The
//! function is called for each request that is not answered without it (lists and unknown names
//! are), and returns the answer: a future never sends its own. It may take as long as it likes. The
//! handlers of a connection run concurrently; ping, cancellation and other requests are attended to
//! meanwhile. When its request is cancelled or expires, or its connection ends, the future is
//! dropped, and with it go the questions that it has asked. What must be tidied up belongs into a
//! `Drop`.
//!
//! State that handlers share is captured: `App::new(&CONFIG, |ctx| handle(ctx, &state))`, or an
//! `Arc` of it, cloned, where the app must be `'static`.
//!
//! # Asking, in both eras
//!
//! [`Context::request_input`] asks the person, the model or for roots. Up to 2025-11-25 that sends a request
//! and waits for the answer. In 2026-07-28 the questions *are* the answer: when one has none yet,
//! `ask` fails, `?` ends the attempt, the client is told what is missing and sends its request
//! again. So there the handler runs **from its start** for each round: what stands before an `ask`
//! must be repeatable, or be kept with [`Context::set_request_state`]. Answers of earlier rounds are carried
//! along.
//!
//! # Threads
//!
//! [`serve`] serves all connections in the future that it returns. A [`Connection`] is a future
//! too, for who wants to spawn each where they like; see [`accept`]. No handler has to be `Send`; a
//! connection is, when its handlers are. Work that blocks belongs on a thread (`smol::unblock`),
//! where a [`Context`] can be taken along.
//!
//! # Panics
//!
//! A handler that panics ends its own call: the client is told -32603, [`App::panic_observer`] is
//! told what it said, and everything else goes on. So it is when its future panics while it is
//! dropped, and with a [`StateProtector`] and [`App::observer`]. What handlers share may be left half
//! changed, as after a panic on another thread. Where panics abort (`panic = "abort"`), none of
//! this holds.
//!
//! # Connection, framing, end
//!
//! As for standard input and output: nothing to set up, one JSON-RPC message a line, both eras on
//! one stream, cancellation by `notifications/cancelled`. Reading and writing never wait for each
//! other. The end of the input ends the connection: what is answered is written out, what is
//! still worked on is dropped. So does silence, where [`App::idle_timeout`] says so, and
//! [`Broadcaster::shut_down`], which lets everything finish first.
//!
//! # Memory
//!
//! For each connection the core's [`Server`](mcp_sansio::Server): 28 KB for the 128 requests and 64
//! subscriptions of [`App::new`], 14 KB for 64 and 64, 2 KB for 8 and 8 ([`App::with_table_sizes`]).
//! Two buffers, which start with 1 KB each and grow to the limits of the [`App`] as messages need
//! it. And the futures that are under way.

pub mod client;
#[cfg(feature = "http")]
pub mod http;
mod server;
mod tasks;

pub use server::{
    App, Broadcaster, Connection, ConnectionEnd, Context, FULL_TIMEOUT, Failure, IDLE_TIMEOUT,
    IN_FLIGHT, InputResponse, JoinedIo, Listener, MAX_CONNECTIONS, MAX_INPUT_RESPONSES, MAX_LINE,
    MAX_PANIC_TEXT, MAX_PARAMS, MAX_PENDING, MAX_RUNNING, PanicReport, Reply, SUBSCRIPTIONS,
    Socket, StateProtector, accept, serve,
};
