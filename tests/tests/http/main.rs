//! HTTP in both roles: the codec, event streams, and the rules of the transport.

mod client;
mod codec;
mod codec_edges;
mod posts;
mod server;
mod server_parts;
mod session;
mod sse;
mod sse_room;
