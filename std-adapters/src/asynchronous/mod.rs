//! Servers with async handlers, and clients, on any [`AsyncRead`](futures_lite::AsyncRead) and
//! [`AsyncWrite`](futures_lite::AsyncWrite): TCP, Unix sockets, pipes of child processes.
//!
//! Clients are in [`client`]; this module is the server.
//!
//! A tool that asks the user for a name, takes some time and reports progress:
//!
#![cfg_attr(feature = "smol", doc = "```no_run")]
#![cfg_attr(not(feature = "smol"), doc = "```ignore")]
//! use std::net::TcpListener;
//! use std::time::Duration;
//!
//! use async_io::{Async, Timer};
//! use mcp_sansio::typed::{Input, Tools};
//! use mcp_sansio::types::{Implementation, InputRequest, Text, TextResult};
//! use mcp_sansio::{Catalog, Progress, ServerConfig, ServerFeatures};
//! use mcp_sansio_adapters::asynchronous::{self, App, Context, HandlerResult, Limits};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("greeter", "0.1.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
//!
//! #[derive(Tools)]
//! enum Call {
//!     /// Greets the user.
//!     Greet,
//! }
//!
//! #[derive(Input)]
//! struct Guest<'a> {
//!     /// Your name
//!     #[arg(length = 1..)]
//!     name: Text<'a>,
//! }
//!
//! async fn greet(ctx: Context) -> HandlerResult {
//!     let request = ctx.request()?;
//!     let tool = ctx.tool(&request);
//!     let question = InputRequest::form::<Guest>("What is your name?");
//!     let response = tool.request_input("guest", question).await?;
//!     let Some(guest) = response.to_form::<Guest>()? else {
//!         return ctx.reply(&TextResult::new("Hello"));
//!     };
//!     for step in 1..=3 {
//!         Timer::after(Duration::from_millis(100)).await;
//!         tool.progress(&Progress::of(step).total(3)).await?;
//!     }
//!     ctx.reply(&TextResult::new(&format!("Hello, {}", guest.name)))
//! }
//!
//! fn main() -> std::io::Result<()> {
//!     let limits = Limits { max_connections: 500, ..Limits::new() };
//!     let app = App::new(&CONFIG, greet).catalog(&CATALOG).limits(limits);
//!     let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 8080))?;
//!     async_io::block_on(asynchronous::serve(&app, &listener))
//! }
//! ```
//!
//! On tokio, with the feature `tokio`: a listener of tokio is a [`Listener`], any stream of tokio
//! becomes one of these in a `TokioStream`.
//! [`ChildProcess`] is a server as a child process, for both runtimes.
//!
//! ```ignore
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! asynchronous::serve(&app, &listener).await
//! ```
//!
//! # Handlers
//!
//! An [`App`] is a configuration and a handler, and serves any number of connections. The handler
//! is called for each request that the catalog does not respond to (it responds to lists, unknown
//! names and invalid arguments), and returns the result, which the connection sends. The handlers
//! of a connection run concurrently; pings, cancellations and other requests are processed
//! meanwhile. When its request is cancelled or times out, or its connection ends, the handler's
//! future is dropped, which also cancels its input requests. Put cleanup into a `Drop`.
//!
//! Handlers share state by capturing it: `App::new(&CONFIG, |ctx| handle(ctx, &state))`, or a clone
//! of an `Arc` if the app must be `'static`. Tools that are types need no handler of their own:
//! `|ctx| ctx.call_tool(&tools)`, or [`Context::call_async_tool`] if they take time.
//!
//! # Input requests, in both eras
//!
//! [`ToolContext::request_input`] requests elicitation, sampling or roots from the client. Up to
//! 2025-11-25 it sends a request and waits for the response. In 2026-07-28 the input requests are
//! the result of the handler's own request: if one has no response yet, `request_input` fails, `?`
//! ends the attempt, and the client sends its request again with the input responses. So there the
//! handler runs **from its start** in each round: everything before a `request_input` must be
//! repeatable, or be kept with [`ToolContext::set_request_state_as`]. Input responses of earlier
//! rounds are kept.
//!
//! [`ToolContext::request_input`]: mcp_sansio::ToolContext::request_input
//! [`ToolContext::set_request_state_as`]: mcp_sansio::ToolContext::set_request_state_as
//!
//! # Runtimes
//!
//! Timers, sockets and threads are those of the runtime that polls a future: with the feature
//! `tokio` that of tokio, whose time must be enabled; with the feature `smol`, where tokio polls
//! nothing, async-io and `blocking`. Any other is a [`Runtime`] of yours, [`within`] which you poll
//! servers, connections and calls; neither feature is needed then.
//!
//! Time limits are measured by the clock of the timers, so a test that pauses tokio's
//! (`start_paused`), or has a clock of its own, waits for none of them.
//!
//! # Threads
//!
//! [`serve`] serves all connections in the future that it returns. A [`Connection`] is a future as
//! well, so each can be spawned on its own; see [`accept`]. Handlers need not be `Send`; a
//! connection is if its handlers are. Blocking work belongs on a thread (`smol::unblock`); a
//! [`Context`] can be moved there.
//!
//! # Panics
//!
//! A panic of a handler ends its own request: the client gets -32603, an [`Observer`] gets
//! the message, and everything else continues. The same holds for a panic while the future is
//! dropped; panics of the observer itself are ignored. State that handlers share may be left half
//! changed, as after a panic on another thread. With `panic = "abort"` none of this holds.
//!
//! [`Observer`]: crate::observer::Observer
//!
//! # Connections
//!
//! As on standard input and output, there is one JSON-RPC message a line, both eras are served on
//! one stream, and `notifications/cancelled` cancels requests. Reading and writing never wait for
//! each other. After the end of the input requests in flight finish, for at most
//! [`Limits::end_of_input_timeout`]; then the rest is cancelled and the connection ends. The same
//! happens after [`Broadcaster::shut_down`], with [`Limits::shutdown_timeout`]. It also ends after
//! [`Limits::idle_timeout`].
//!
//! # Memory
//!
//! Each connection takes about 1 KB; 200 bytes for each request in flight
//! ([`Limits::max_in_flight`]) and its parameters ([`Limits::max_params`]); 8 bytes for each of
//! [`Limits::max_subscriptions`], if the configuration declares subscriptions; two buffers, which
//! start with 1 KB each and grow to the [`Limits`] as messages need it; and the futures of its
//! running handlers ([`Limits::max_running`]), or their responses if the client does not read.

pub mod client;
mod server;

pub use crate::client::child::{LineFn, Stderr, StderrLines};
#[cfg(feature = "smol")]
pub use crate::runtime::Socket;
#[cfg(feature = "tokio")]
pub use crate::runtime::TokioStream;
pub use crate::runtime::{
    BoxedListener, BoxedStream, ChildProcess, JoinedIo, LocalFuture, ReadWrite, Runtime,
    RuntimeFuture, within,
};
#[cfg(feature = "http")]
pub use server::http;
pub use server::{
    Accepted, App, BoxedHandler, Broadcaster, Connection, ConnectionEnd, Context, HandlerResult,
    Incoming, IntoReply, Limits, Listener, MAX_INPUT_RESPONSES, Reply, TaskOptions, accept, boxed,
    serve,
};
