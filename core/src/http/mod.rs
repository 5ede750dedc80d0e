//! Streamable HTTP (2025-03-26 and later) and HTTP+SSE (2024-11-05) without I/O.
//!
//! Two layers that can be used apart: the rules of the protocol over "a request head and a body",
//! behind any HTTP server or client; and [`codec`], a small HTTP/1.1, for those who have nothing
//! but a socket.

pub mod client;
pub mod codec;
mod head;
pub mod param_headers;
pub mod server;
pub mod sse;

pub use head::{Fields, RequestHead, ResponseHead, SingleValue};
