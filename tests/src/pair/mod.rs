//! Our client and our server in one process, on one virtual clock, without a socket.

mod audit;
mod chaos;
mod client_side;
mod line;
mod noise;
pub mod script;
mod server_side;
mod stage;

pub use audit::{Audit, Speaker};
pub use chaos::pair_survives;
pub use client_side::ClientSide;
pub use line::Line;
pub use noise::client_survives;
pub use server_side::ServerSide;
pub use stage::{CLIENT, SERVER, Stage};
