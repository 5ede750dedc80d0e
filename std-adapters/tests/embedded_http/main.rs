//! The server over HTTP without an allocator: two endpoints, one virtual clock, no sockets.

mod app;
mod connections;
mod net;
mod requests;
mod subscriptions;
