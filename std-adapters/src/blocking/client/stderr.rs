//! The standard error of a server. Output there does not mean that there was an error (2025-11-25,
//! basic/transports).

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::blocking::handler::catch_panic;

/// Destination of a server's standard error. It is always read, so a server never blocks on it.
#[derive(Default)]
#[non_exhaustive]
pub enum Stderr {
    /// The last ten lines are kept for error messages, at most 8 KiB of each (24 KiB if it is not
    /// UTF-8); the rest is discarded.
    #[default]
    Keep,
    /// It goes to the standard error of this process, control characters included. Error messages
    /// do not contain it.
    Inherit,
    /// It is discarded.
    Null,
    /// Each line is passed to a function, on a thread of its own, and the last lines are kept. See
    /// [`Stderr::lines`].
    Lines(Arc<Mutex<LineFn>>),
}

/// Function that gets each line.
pub type LineFn = dyn FnMut(&str) + Send;

impl Stderr {
    /// Passes each line to a function, on a thread of its own. Invalid UTF-8 is replaced; a line
    /// longer than 8 KiB comes in pieces. [`Printable`](mcp_sansio::Printable) escapes control
    /// characters for a terminal or a log.
    #[must_use]
    pub fn lines(each: impl FnMut(&str) + Send + 'static) -> Self {
        Self::Lines(Arc::new(Mutex::new(each)))
    }

    pub(super) fn stdio(&self) -> Stdio {
        match self {
            Self::Keep | Self::Lines(_) => Stdio::piped(),
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
        }
    }

    /// Starts to read the pipe.
    pub(super) fn read(&self, pipe: Option<ChildStderr>) -> StderrTail {
        let (done, ended) = channel();
        let last = Arc::<Mutex<VecDeque<String>>>::default();
        let stderr_tail = StderrTail { last: Arc::clone(&last), ended };
        let Some(pipe) = pipe else { return stderr_tail };
        let each = if let Self::Lines(each) = self { Some(Arc::clone(each)) } else { None };
        thread::spawn(move || {
            // Dropped at the end, which wakes `StderrTail::last`.
            let _done = done;
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe
                .by_ref()
                .take(MAX_PIECE)
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']);
                if let Some(each) = &each {
                    // Reading goes on after a panic, or the server would block.
                    let _ =
                        catch_panic(|| each.lock().unwrap_or_else(PoisonError::into_inner)(text));
                }
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.len() == KEPT_LINES {
                    last.pop_front();
                }
                last.push_back(text.to_owned());
                line.clear();
            }
        });
        stderr_tail
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "Keep",
            Self::Inherit => "Inherit",
            Self::Null => "Null",
            Self::Lines(_) => "Lines",
        })
    }
}

/// The last lines of a process.
#[derive(Debug)]
pub(super) struct StderrTail {
    last: Arc<Mutex<VecDeque<String>>>,
    /// Disconnected when the pipe has ended.
    ended: Receiver<()>,
}

impl StderrTail {
    /// Returns the lines of a process that has exited. Its pipe ends with it, unless a child of the
    /// process holds it.
    pub(super) fn last(&self) -> Vec<String> {
        let _ = self.ended.recv_timeout(PIPE_END_TIMEOUT);
        self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Number of lines that are kept.
const KEPT_LINES: usize = 10;
/// Maximum number of bytes that are passed on at once.
const MAX_PIECE: u64 = 8 << 10;
const PIPE_END_TIMEOUT: Duration = Duration::from_millis(200);
