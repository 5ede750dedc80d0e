//! Our client and our server in one process, on one virtual clock, without a socket.

mod audit;
mod client_side;
mod line;
pub mod script;
mod server_side;
mod stage;

pub use audit::{Audit, Speaker};
pub use client_side::ClientSide;
pub use line::Line;
pub use server_side::ServerSide;
pub use stage::{CLIENT, SERVER, Stage};
