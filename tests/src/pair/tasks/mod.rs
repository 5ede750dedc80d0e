//! Tasks between our client and our server: calls that outlive their connections, on one virtual
//! clock, over wires that lose and double lines.
//!
//! The server's [`Program`] and the calls that the client follows survive each connection; the two
//! machines, their buffers and what is in transit do not.

mod client;
mod program;
mod server;
mod wire;
mod world;

pub use client::{Followed, Report};
pub use program::{Ended, Program, Work};
pub use wire::Fate;
pub use world::{Setting, World};

use mcp_sansio::Instant;

/// Returns a time of the virtual clock.
const fn at(now: u64) -> Instant {
    Instant::from_millis(now)
}

/// The question that a task asks.
fn question(label: u64, number: u32) -> String {
    format!("{label}.{number}?")
}
