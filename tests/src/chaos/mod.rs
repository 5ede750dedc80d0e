//! Random scripts against a server, a client, and both together.
//!
//! The seeded test (`tests/tests/scripted/chaos.rs`) and the fuzzer (`tests/fuzz`) call the same
//! functions.

mod client;
mod pair;
mod script;
mod server;

pub use client::client_survives;
pub use pair::pair_survives;
pub use server::server_survives;
