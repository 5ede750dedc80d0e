//! The four loads and the target of each.

use std::fmt;

use crate::wire::Era;

#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    /// Many requests in flight; the server has a CPU of its own.
    Pipelined,
    /// One request in flight. Server and driver share a CPU: otherwise the wake-up of the other CPU
    /// would dominate.
    PingPong,
}

impl Mode {
    /// Number of requests in flight.
    pub fn window(self) -> u64 {
        match self {
            Self::Pipelined => 64,
            Self::PingPong => 1,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Pipelined => "pipelined",
            Self::PingPong => "ping-pong",
        })
    }
}

pub struct Scenario {
    pub mode: Mode,
    pub era: Era,
    pub text_length: usize,
    pub calls: u64,
    /// Maximum ratio of our cost to the floor's.
    pub limit: f64,
}

pub const SHORT: usize = 64;
pub const LONG: usize = 64 * 1024;

/// Returns all four, in the order of the report.
pub fn all(era: Era) -> [Scenario; 4] {
    let scenario =
        |mode, text_length, calls, limit| Scenario { mode, era, text_length, calls, limit };
    [
        scenario(Mode::Pipelined, SHORT, 200_000, 2.5),
        scenario(Mode::PingPong, SHORT, 50_000, 1.3),
        scenario(Mode::Pipelined, LONG, 20_000, 1.3),
        scenario(Mode::PingPong, LONG, 5_000, 1.3),
    ]
}
