//! Servers and clients on top of [`mcp_sansio`]: its state machine with I/O, waiting and timeouts.
//! One module per kind of I/O, each behind a feature:
//!
//! | module | feature | I/O |
//! | --- | --- | --- |
//! | `blocking` | `blocking` (default) | standard input and output, child processes, any `Read` and `Write` |
//! | `asynchronous` | `smol`, `tokio`, or `asynchronous` with a runtime of your own | any `AsyncRead` and `AsyncWrite`, TCP and Unix sockets; async handlers, concurrent calls |
//! | `asynchronous::http`, `asynchronous::client::http` | `http`, mostly with `smol` or `tokio` | Streamable HTTP and HTTP+SSE; with `tower` behind axum and hyper |
//! | `asynchronous::client::http::Tls` | `tls`, mostly with `smol` or `tokio` | HTTPS in the client |
//! | `embedded` | `embedded-io` | ports of `embedded-io`, without an allocator |
//! | `embedded_async` | `embedded-io-async` | ports of `embedded-io-async`, without an allocator; async handlers |
//! | `embedded_async::http` | `embedded-http` | sockets of `embedded-io-async`, without an allocator: HTTP |
//!
//! Tools are types that move unchanged from one module to another:
//! `mcp_sansio::typed::ToolHandler`, served by `call_tool`, and `AsyncToolHandler`, served by
//! `call_async_tool`.
//!
//! `observer` sees what a server does, for logs and metrics; with the feature `tracing`, as events
//! and spans.
//!
//! `store` keeps tasks so that they survive the end of the process, and with the feature `auth`
//! tokens.
//!
//! Programs whose types are serde's and have a `schemars::JsonSchema` take their schemas from
//! `schema_of`, with the feature `schemars`.

#![cfg_attr(
    not(any(feature = "asynchronous", feature = "blocking", feature = "schemars",)),
    no_std
)]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "asynchronous")]
pub mod asynchronous;
#[cfg(feature = "auth")]
mod auth;
#[cfg(feature = "blocking")]
pub mod blocking;
#[cfg(feature = "http")]
pub mod bus;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
#[cfg_attr(
    not(feature = "asynchronous"),
    allow(dead_code, unused_imports, reason = "the blocking client needs less")
)]
mod client;
#[cfg(feature = "embedded-io")]
pub mod embedded;
#[cfg(feature = "embedded-io-async")]
pub mod embedded_async;
#[cfg(feature = "http")]
#[cfg_attr(not(feature = "auth"), allow(dead_code, reason = "a token alone needs less"))]
mod flights;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
mod gone;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
mod lock;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
pub mod observer;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
mod panics;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
#[cfg_attr(not(feature = "asynchronous"), allow(dead_code, reason = "as above"))]
mod rounds;
#[cfg(feature = "asynchronous")]
mod runtime;
#[cfg(feature = "schemars")]
mod schema;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
pub use mcp_sansio_engine::KeyRing;
#[cfg(feature = "schemars")]
pub use schema::schema_of;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
mod shared_catalog;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
pub use shared_catalog::{CatalogSource, SharedCatalog};
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
mod skill_folder;
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
pub use skill_folder::{SkillChanges, SkillFolder, SkillFolderError, SkillLimits};
#[cfg(any(feature = "asynchronous", feature = "blocking"))]
mod stdio;
#[cfg(feature = "asynchronous")]
pub mod store;
#[cfg(all(unix, any(feature = "blocking", feature = "smol")))]
mod waiting;

#[cfg(feature = "http")]
pub use mcp_sansio_http1 as http1;
#[cfg(feature = "auth")]
pub use mcp_sansio_oauth as oauth;
