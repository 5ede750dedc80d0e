//! Streamable HTTP (2025-03-26 and later) and HTTP+SSE (2024-11-05) without I/O.
//!
//! The rules of MCP over request heads and bodies, for use with any HTTP server or client. Programs
//! that have only a socket find a small HTTP/1.1 parser and writer in the crate `mcp-sansio-http1`.

pub mod client;
pub(crate) mod head;
pub(crate) mod origin;
pub mod param_headers;
#[cfg(feature = "alloc")]
mod principal;
pub mod server;
pub mod sse;

pub use head::{Fields, RequestHead, ResponseHead, SingleValue};
#[cfg(feature = "alloc")]
pub use principal::{Operation, Operations, Principal};
