//! The server over HTTP without an allocator: two endpoints, one virtual clock, no sockets.

mod app;
mod connections;
mod net;
#[path = "../embedded_async/port.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod port;
#[path = "../embedded/received.rs"]
mod received;
mod requests;
mod subscriptions;
