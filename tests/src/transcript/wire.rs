//! The two buffers, and the ways in which they are filled and emptied.

use std::cell::Cell;
use std::fmt;

use mcp_sansio::{SendError, Tx, TxBuffer};

use crate::line::Line;

/// Sizes of reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The input arrives in pieces of this many bytes.
    pub(super) piece: usize,
    /// Size of the output buffer; 0 if it grows.
    tx: usize,
    /// Number of bytes drained when it is full.
    pub(super) drain: usize,
    /// Whether a frame is lent anew when it is full.
    pub(super) anew: bool,
}

/// Each transcript is played in all of these ways.
pub(super) const WAYS: &[Way] = &[
    Way { piece: usize::MAX, tx: 1 << 20, drain: usize::MAX, anew: false },
    Way { piece: 1, tx: 1 << 20, drain: usize::MAX, anew: false },
    Way { piece: 3, tx: 64, drain: usize::MAX, anew: false },
    Way { piece: 7, tx: 64, drain: 11, anew: true },
    Way { piece: usize::MAX, tx: 64, drain: 64, anew: true },
    Way { piece: usize::MAX, tx: 200, drain: 50, anew: false },
    Way { piece: 1, tx: 1, drain: 1, anew: true },
    Way { piece: 7, tx: 0, drain: usize::MAX, anew: false },
];

impl Way {
    /// Whether the output buffer allocates.
    pub(super) fn grows(&self) -> bool {
        self.tx == 0
    }

    pub(super) fn buffer(&self) -> TxBuffer<Vec<u8>> {
        match self.tx {
            0 => TxBuffer::with_limit(Vec::new(), 1 << 20),
            size => TxBuffer::new(vec![0; size]),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.piece {
            usize::MAX => write!(f, "[input at once, "),
            piece => write!(f, "[input by {piece}, "),
        }?;
        match self.tx {
            0 => write!(f, "output grows]"),
            tx => write!(f, "output through {tx}{}]", if self.anew { ", anew" } else { "" }),
        }
    }
}

pub(super) struct Wire {
    line: Line,
    drain: usize,
}

impl Wire {
    pub(super) fn new(way: &Way) -> Self {
        Self { line: Line::through(way.buffer()), drain: way.drain }
    }

    /// The buffer, for one attempt.
    pub(super) fn tx(&mut self) -> &mut Tx<'static> {
        &mut self.line.tx
    }

    /// Repeats a call while the buffer is full, as an adapter does.
    pub(super) fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        for _ in 0..PATIENCE {
            match probed(|| call(&mut self.line.tx)) {
                Err(SendError::Full) => self.drain(),
                // An adapter drops such a message; here it bypasses the small buffer.
                Err(SendError::TooLarge) => {
                    self.line.drain();
                    let mut large = TxBuffer::new(vec![0; 1 << 20]);
                    let result = call(&mut large)?;
                    self.line.sent.extend_from_slice(large.pending());
                    return Ok(result);
                }
                other => return other,
            }
        }
        panic!("a repeated call does not terminate");
    }

    /// Drains some bytes.
    pub(super) fn drain(&mut self) {
        assert!(!self.line.tx.pending().is_empty(), "Full, but nothing is pending");
        self.line.drain_at_most(self.drain);
    }

    /// Returns the lines sent since the last call.
    pub(super) fn take_lines(&mut self) -> Result<Vec<String>, String> {
        let sent = self.line.take();
        match sent.strip_suffix('\n') {
            None if sent.is_empty() => Ok(Vec::new()),
            None => Err(format!("an unfinished line was sent: {sent}")),
            Some(lines) => Ok(lines.split('\n').map(Into::into).collect()),
        }
    }
}

/// Makes a call of a machine.
pub(super) type Probe = fn(&mut dyn FnMut());

thread_local! {
    /// Makes each call of the machines that this thread plays.
    pub(super) static PROBE: Cell<Probe> = const { Cell::new(|call| call()) };
}

pub(super) fn probed<R>(call: impl FnOnce() -> R) -> R {
    let (mut call, mut result) = (Some(call), None);
    PROBE.get()(&mut || result = call.take().map(|call| call()));
    result.expect("a probe makes the call")
}

/// Limit for repetitions of a call: more than any frame has bytes.
pub(super) const PATIENCE: usize = 100_000;
