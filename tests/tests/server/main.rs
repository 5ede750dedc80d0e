//! The server on a stream: sessions, requests, capabilities and the buffers below them.

mod buffers;
mod config;
mod errors;
mod extensions;
mod features;
mod frames;
mod notifications;
mod peer;
mod peer_limits;
mod races;
mod settings;
mod sockets;
mod state;
mod streaming;
mod tasks;
mod tx;
