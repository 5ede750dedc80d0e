//! The four loads and the target of each.

use std::fmt;

use crate::options::Transport;
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
    pub limits: Limits,
}

/// The targets of a load. The fields are maximum values of ours.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    /// CPU time a request as a multiple of the floor's, for one in flight also the median latency.
    pub floor: Option<f64>,
    /// System calls a request more than the floor.
    pub syscalls: Option<f64>,
    /// CPU time a request as a fraction of that of a rival: which of them, in the order of the
    /// report.
    pub rival: Option<(usize, f64)>,
}

pub const SHORT: usize = 64;
pub const LONG: usize = 64 * 1024;

/// Returns all four, in the order of the report.
pub fn all(era: Era, transport: Transport) -> [Scenario; 4] {
    let floor = |limit| Limits { floor: Some(limit), ..Limits::default() };
    let short_limits = Limits { syscalls: Some(1.2), rival: Some((0, 0.25)), ..floor(1.5) };
    let fastest = Limits { rival: Some((1, 1.0)), ..Limits::default() };
    let [short, short_ping, long, long_ping] = match transport {
        Transport::Stdio => [floor(2.5), floor(1.3), floor(1.3), floor(1.3)],
        Transport::Http => [short_limits, Limits::default(), Limits::default(), fastest],
        Transport::Tcp => [Limits::default(); 4],
    };
    let scenario =
        |mode, text_length, calls, limits| Scenario { mode, era, text_length, calls, limits };
    [
        scenario(Mode::Pipelined, SHORT, 200_000, short),
        scenario(Mode::PingPong, SHORT, 50_000, short_ping),
        scenario(Mode::Pipelined, LONG, 20_000, long),
        scenario(Mode::PingPong, LONG, 5_000, long_ping),
    ]
}
