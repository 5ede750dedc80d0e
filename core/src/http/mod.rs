//! Streamable HTTP (2025-03-26 and later) and HTTP+SSE (2024-11-05) without I/O.
//!
//! Two independent layers: the rules of MCP over request heads and bodies, for use with any HTTP
//! server or client; and [`codec`], a small HTTP/1.1 parser and writer for programs that have only
//! a socket.

pub mod client;
pub(crate) mod head;
pub(crate) mod origin;
pub mod param_headers;
pub mod server;
#[cfg(feature = "alloc")]
pub mod site;
pub mod sse;

pub use head::{Fields, RequestHead, ResponseHead, SingleValue};
