//! Servers over Streamable HTTP (2025-03-26 and later), and HTTP+SSE (2024-11-05) for older
//! clients.
//!
//! An [`App`](super::App) is served over HTTP as it is over streams:
//!
#![cfg_attr(feature = "smol", doc = "```no_run")]
#![cfg_attr(not(feature = "smol"), doc = "```ignore")]
//! # use mcp_sansio::{ServerFeatures, ServerConfig, types::Implementation};
//! # use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
//! use std::net::TcpListener;
//!
//! use async_io::Async;
//! use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
//!
//! # static CONFIG: ServerConfig =
//! #     ServerConfig::new(Implementation::new("x", "1"), ServerFeatures::TOOLS);
//! # async fn greet(ctx: Context) -> HandlerResult { Err("".into()) }
//! # fn main() -> std::io::Result<()> {
//! let app = App::new(&CONFIG, greet);
//! let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 8080))?;
//! async_io::block_on(http::serve(&app, listener, HttpOptions::new()))
//! # }
//! ```
//!
//! # Endpoint and sessions
//!
//! All revisions are served on one path, `/mcp`. A request with its version in `_meta` (2026-07-28)
//! is stateless: when its connection is lost, its handler is dropped. `initialize` opens a session:
//! its requests continue when a connection is lost, and their events are replayed to a client that
//! resumes the stream, as far as [`HttpOptions::replay`] has room. A session ends by `DELETE`, or
//! after [`HttpOptions::idle_timeout`] without a connection and without an open request.
//!
//! # Access
//!
//! [`HttpOptions::new`] accepts requests whose `Host` and `Origin` are loopback addresses, which
//! prevents DNS rebinding by web pages. For other clients set [`HttpOptions::host_policy`].
//! [`HttpOptions::authorize`] checks tokens; with the feature `auth`, `tokens` has such checks.
//!
//! # Any HTTP library
//!
//! [`serve`] accepts connections and speaks HTTP/1.1 itself. [`HttpServer`] is the same server
//! without sockets, behind any HTTP library and in any async runtime. With the feature `tower`
//! it is a service of tower, for axum and hyper.
//!
//! # All cores
//!
//! [`serve_on_all_cores`] serves on a thread for each core, and [`HttpShards`] is an [`HttpServer`]
//! on several threads. Both may serve a request on another thread than that of its connection;
//! limits are of all threads together.
//!
//! # Limits
//!
//! A connection whose client neither sends nor reads for [`HttpOptions::read_timeout`] is closed; a
//! body that is not complete by then gets 408. Everything that a client can make the server keep is
//! limited:
//!
//! | kept | limit, default | bytes each | at the limit |
//! | --- | --- | --- | --- |
//! | connections | [`Limits::max_connections`](super::Limits::max_connections), 1,024 | about 2 KB idle; up to 64 KiB of pipelined input | 503, and the connection is closed |
//! | exchanges | [`HttpOptions::max_exchanges`], 10,000, and at most the connections | about 1 KiB beside head, body and output | 503 |
//! | event streams: `subscriptions/listen`, GET, HTTP+SSE | [`HttpOptions::max_streams`], three quarters of the exchanges | | 503 |
//! | requests with handlers, or with responses of more than 4 KiB that wait for room, of all sessions | [`HttpOptions::max_handlers`], 10,000 | about 500, the parameters, and the handler or the response | JSON-RPC error -32603 at once |
//! | of these four and of bodies, what one principal has | [`HttpOptions::principal_share`], 25 %; without principals one address [`Limits::address_share`](super::Limits::address_share), 75 % | about 50 | 503; JSON-RPC error -32603 |
//! | head of a request | 64 KiB | its length, twice; kept as long as its handler | 431 |
//! | body of a request | [`Limits::max_line`](super::Limits::max_line), 4 MiB; at most the body budget | its length, and as much for the copy of the handlers | 413 |
//! | all bodies, the copies of handlers included | [`HttpOptions::body_budget`], 64 MiB; bodies up to 4 KiB do not count | | reading of bodies stops; 503 after [`HttpOptions::read_timeout`] |
//! | output that a client has not read | [`Limits::max_pending`](super::Limits::max_pending) of each exchange, 1 MiB, and as much being written | its length | handlers wait in `progress` and `log`; responses are written in pieces |
//! | sessions and streams of HTTP+SSE | [`HttpOptions::max_sessions`], 1,000 | about 1 KiB, 200 for each request in flight; its events and its requests | the oldest without `initialized` ends, else the one unused for longest and a minute; else 503 |
//! | those of a principal | [`HttpOptions::max_sessions_per_principal`], 100 | | the same, of its own |
//! | events of a session for replay | [`HttpOptions::replay`], 64 KiB | 12 and its length | the oldest are dropped |
//! | requests in flight of a session; of a stateless request | [`Limits::max_in_flight`](super::Limits::max_in_flight), 1,024; 1 | 200 and its parameters | the next waits; JSON-RPC error -32603 after [`Limits::full_timeout`](super::Limits::full_timeout) |
//! | parameters of the requests of a session | [`Limits::max_params`](super::Limits::max_params), 16 MiB | | JSON-RPC error -32603 at once |
//! | running handlers of a session, and its responses of more than 4 KiB that wait for room | [`Limits::max_running`](super::Limits::max_running), 64 | the handler or the response | requests wait in order |
//! | stateless requests (2026-07-28), `subscriptions/listen` included | exchanges | about 1 KiB, and the handler or the response | |
//! | subscribed URIs of a session or a listen | [`Limits::max_subscriptions`](super::Limits::max_subscriptions), 64 | 8 | JSON-RPC error |
//! | changes that subscribers have not been notified of | as many and 4 more of each session or stream | 24 and the URI; states of tasks together 64 KiB | each is kept once, and only if subscribed to; clients poll tasks |
//!
//! # TLS
//!
//! Terminate TLS in a reverse proxy, or in a [`Listener`](super::Listener) with TLS streams.

mod authorizer;
mod connection;
mod exchange;
mod options;
mod places;
mod serve;
mod server;
mod shared;
#[cfg(feature = "tower")]
mod tower;
mod wire;

pub use authorizer::{Authorizer, Credentials};
pub use exchange::{HttpExchange, HttpResponse, Interrupted};
pub use options::{AccessControl, HttpOptions};
pub(crate) use places::Held;
pub use serve::{HttpShards, listeners, serve, serve_on_all_cores, serve_on_threads};
pub use server::HttpServer;
#[cfg(feature = "tower")]
pub use tower::ResponseBody;

#[cfg(feature = "auth")]
pub use crate::auth::tokens;
pub use mcp_sansio_engine::PeerAddress;
pub use mcp_sansio_engine::site::credentials::Scheme;
pub use mcp_sansio_engine::site::{
    AuthorizationError, Operation, OwnedHead, Principal, ProtectedResource,
};
