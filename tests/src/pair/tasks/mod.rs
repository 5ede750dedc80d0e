//! Tasks between our client and our server: calls that outlive their connections, on one virtual
//! clock, over wires that lose and double lines.
//!
//! The server's [`Program`] and the calls that the client follows survive each connection; the two
//! machines, their buffers and what is in transit do not.

mod client;
mod program;
mod server;
mod world;

pub use client::{Followed, Report};
pub use program::{Ended, Program, Work};
pub use world::{Fate, Setting, World};

use std::cell::Cell;
use std::rc::Rc;

use mcp_sansio::Instant;
use mcp_sansio::tasks::TaskTime;

/// The virtual clock, which both ends and the program share.
#[derive(Clone)]
struct Clock(Rc<Cell<u64>>);

impl Clock {
    /// The time in milliseconds.
    fn now(&self) -> u64 {
        self.0.get()
    }

    fn at(&self) -> Instant {
        Instant::from_millis(self.now())
    }

    /// The calendar begins with the clock.
    fn time(&self) -> TaskTime {
        TaskTime::without_calendar(self.at())
    }
}

fn question(label: u64, number: u32) -> String {
    format!("{label}.{number}?")
}
