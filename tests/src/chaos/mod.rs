//! Random scripts against a server, a client, both together, both with tasks, and a client that
//! logs in.
//!
//! The seeded test (`tests/tests/scripted/chaos.rs`) and the fuzzer (`tests/fuzz`) call the same
//! functions.

mod client;
mod login;
mod pair;
pub(crate) mod script;
mod server;
mod tasks;

pub use client::client_survives;
pub use login::login_survives;
pub use pair::pair_survives;
pub use server::server_survives;
pub use tasks::tasks_survive;
