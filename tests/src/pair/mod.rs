//! A client and a server in one process, on one virtual clock, without a socket.

mod audit;
mod client;
mod end;
pub mod script;
mod server;
mod stage;
pub mod tasks;

pub use audit::{Audit, Speaker};
pub use client::{ClientApp, ClientEnd};
pub use end::{Application, End, Port};
pub use server::{ServerApp, ServerEnd};
pub use stage::{CLIENT, SERVER, Stage};
pub(crate) use stage::{CLIENT_FEATURES, SERVER_FEATURES};
