//! Streamable HTTP (2025-03-26 and later), and HTTP+SSE (2024-11-05) for old clients.
//!
//! The same [`App`](super::App) that serves streams:
//!
//! ```no_run
//! # use mcp_sansio::{ServerCapability, ServerConfig, types::Implementation};
//! # use mcp_sansio_adapters::smol::{App, Context, Failure, Reply};
//! use std::net::TcpListener;
//!
//! use async_io::Async;
//! use mcp_sansio_adapters::smol::http::{self, Options};
//!
//! # static CONFIG: ServerConfig = ServerConfig::new(Implementation::new("x", "1"), ServerCapability::TOOLS);
//! # async fn greet(ctx: Context) -> Result<Reply, Failure> { Err(Failure::tool("")) }
//! # fn main() -> std::io::Result<()> {
//! let app = App::new(&CONFIG, greet);
//! let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 8080))?;
//! async_io::block_on(http::serve(&app, listener, Options::new()))
//! # }
//! ```
//!
//! # What is served
//!
//! One path, `/mcp`, for all revisions at once. A request that says its version in its metadata (2026-07-28) stands alone: when its connection is lost, its handler is dropped.
//! An `initialize` opens a session: what happens in it goes on when a connection is lost, and is replayed to a client that asks for it, as far as
//! [`Options::replay`] has room. A session ends by `DELETE`, or after [`Options::idle_timeout`] in which nobody was connected and nothing under way.
//!
//! # Who may come
//!
//! [`Options::new`] accepts requests whose `Host` and `Origin` are of this machine, so that no web page reaches the server under another name. A server for others
//! says who they are: [`Options::access`]. Bearer tokens are for [`Options::authorize`] to check.
//!
//! # Limits
//!
//! A body may be as long as a line ([`App::max_line`](super::App::max_line)), a head 64 KiB. What a client does not read is held back up to
//! [`App::max_pending`](super::App::max_pending) for each exchange; longer answers go out in pieces. A client that neither sends nor reads for [`Options::read_timeout`] is let
//! go. There are as many connections as [`App::max_connections`](super::App::max_connections), and [`Options::max_sessions`]. For each session the core's server and the ring for
//! [`Options::replay`]; for each request that stands alone a server as well, as long as it lasts.
//!
//! # TLS
//!
//! Belongs in front, or into the [`Listener`](super::Listener): any stream will do.

pub use super::server::http::{Credentials, Denied, Options, ProtectedResource, serve};
