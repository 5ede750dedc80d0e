//! Streamable HTTP (2025-03-26 and later), and HTTP+SSE (2024-11-05) for old clients.
//!
//! The same [`App`](super::App) that serves streams:
//!
//! ```no_run
//! # use mcp_sansio::{ServerFeatures, ServerConfig, types::Implementation};
//! # use mcp_sansio_adapters::asynchronous::{App, Context, Failure, Reply};
//! use std::net::TcpListener;
//!
//! use async_io::Async;
//! use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
//!
//! # static CONFIG: ServerConfig = ServerConfig::new(Implementation::new("x", "1"), ServerFeatures::TOOLS);
//! # async fn greet(ctx: Context) -> Result<Reply, Failure> { Err(Failure::tool("")) }
//! # fn main() -> std::io::Result<()> {
//! let app = App::new(&CONFIG, greet);
//! let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 8080))?;
//! async_io::block_on(http::serve(&app, listener, HttpOptions::new()))
//! # }
//! ```
//!
//! # What is served
//!
//! One path, `/mcp`, for all revisions at once. A request that says its version in its metadata
//! (2026-07-28) stands alone: when its connection is lost, its handler is dropped. An `initialize`
//! opens a session: what happens in it goes on when a connection is lost, and is replayed to a
//! client that asks for it, as far as [`HttpOptions::replay`] has room. A session ends by `DELETE`, or
//! after [`HttpOptions::idle_timeout`] in which nobody was connected and nothing under way.
//!
//! # Who may come
//!
//! [`HttpOptions::new`] accepts requests whose `Host` and `Origin` are of this machine, so that no web
//! page reaches the server under another name. A server for others says who they are:
//! [`HttpOptions::access`]. Bearer tokens are for [`HttpOptions::authorize`] to check.
//!
//! # Limits
//!
//! A client that neither sends nor reads for [`HttpOptions::read_timeout`] is let go. Whatever clients
//! make the server keep has a limit:
//!
//! | what | limit, default | bytes of one | at the limit |
//! | --- | --- | --- | --- |
//! | connections | [`App::max_connections`](super::App::max_connections), 1,024 | about 7 KB idle; up to 64 KiB sent ahead | more wait in the queue of the system |
//! | head of a request | 64 KiB | its length, twice | 431 |
//! | body of a request | [`App::max_line`](super::App::max_line), 4 MiB; no more than the next | its length, and as much for the copy that handlers have | 413 |
//! | bodies together, those of handlers included | [`HttpOptions::body_budget`], 64 MiB; bodies up to 4 KiB do not count | | bodies are not read on; 503 after [`HttpOptions::read_timeout`] |
//! | answers that a client has not read | [`App::max_pending`](super::App::max_pending) of each exchange, 1 MiB, and as much on its way out | its length | handlers wait in `progress` and `log`; answers go out in pieces |
//! | sessions | [`HttpOptions::max_sessions`], 1,000 | about 1 KB, 210 for each of `N` (128): 28 KB; its events and its requests | the oldest without `initialized` ends; else 503 |
//! | sessions of a principal | [`HttpOptions::max_sessions_per_principal`], 100 | | the oldest of its own without `initialized` ends; else 503 |
//! | streams of HTTP+SSE | as sessions, beside them | as a session, without events | 503 |
//! | events of a session for replay | [`HttpOptions::replay`], 64 KiB | 12 and its length | the oldest are forgotten |
//! | requests taken in of a session; of a request that stands alone | [`App::max_in_flight`](super::App::max_in_flight), 128; 1 | its parameters | the next waits; JSON-RPC error -32603 after [`App::full_timeout`](super::App::full_timeout) |
//! | parameters of the requests of a session | [`App::max_params`](super::App::max_params), 16 MiB | | as before |
//! | handlers under way of a session | [`App::max_running`](super::App::max_running), 64 | the handler and its answer | requests wait for their turn |
//! | exchanges of a session | connections and requests in flight | about 200 and what has not been read | |
//! | requests that stand alone (2026-07-28), their `subscriptions/listen` included | connections | about 2 KB and the handler | |
//! | subscribed URIs of a session or a listen | [`App`](super::App)'s `S`, 64 | 16 | JSON-RPC error |
//! | changes that subscribers have yet to be told | `S` + 4 of each session or stream | 24 and the URI | each is told once, and only what is subscribed to |
//! | wakers of those that wait: handlers, streams, bodies | one for each future | about 24 | |
//! | those that the [`Broadcaster`](super::Broadcaster) tells | connections, sessions, streams of HTTP+SSE, requests that stand alone | about 32 | |
//!
//! # TLS
//!
//! Belongs in front, or into the [`Listener`](super::Listener): any stream will do.

pub use super::server::http::{
    AuthorizationError, Credentials, HttpOptions, ProtectedResource, serve,
};
