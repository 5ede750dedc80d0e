//! What a server writes to standard error. It is no sign of an error (2025-11-25,
//! basic/transports).

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::blocking::panics::catch;

/// What becomes of a server's standard error. It is always read, whatever the client does: a server
/// never waits for it.
#[derive(Default)]
#[non_exhaustive]
pub enum Stderr {
    /// The last ten lines are kept for error messages, of at most 8 KiB each (24 KiB of what is not
    /// UTF-8); the rest is forgotten.
    #[default]
    Keep,
    /// It is that of this process, with every control character that the server writes. Error
    /// messages cannot repeat it.
    Inherit,
    /// It is thrown away.
    Null,
    /// Each line is passed on as it comes, from a thread of its own, and the last are kept.
    /// [`Stderr::lines`] makes one.
    Lines(Arc<Mutex<LineFn>>),
}

/// What takes lines.
pub type LineFn = dyn FnMut(&str) + Send;

impl Stderr {
    /// Each line is passed on as it comes, from a thread of its own. What is not UTF-8 is replaced;
    /// a line longer than 8 KiB comes in pieces. [`Printable`](mcp_sansio::Printable) makes it
    /// harmless for a terminal or a log.
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

    /// Begins to read.
    pub(super) fn read(&self, pipe: Option<ChildStderr>) -> StderrTail {
        let (done, ended) = channel();
        let last = Arc::<Mutex<VecDeque<String>>>::default();
        let stderr_tail = StderrTail { last: Arc::clone(&last), ended };
        let Some(pipe) = pipe else { return stderr_tail };
        let each = if let Self::Lines(each) = self { Some(Arc::clone(each)) } else { None };
        thread::spawn(move || {
            // Dropped at the end, which whoever waits for it sees.
            let _done = done;
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe
                .by_ref()
                .take(LONGEST)
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']);
                if let Some(each) = &each {
                    // A server must not wait for its standard error to be read because this has
                    // panicked.
                    let _ = catch(|| each.lock().unwrap_or_else(PoisonError::into_inner)(text));
                }
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.len() == KEPT {
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

/// The last words of a process.
#[derive(Debug)]
pub(super) struct StderrTail {
    last: Arc<Mutex<VecDeque<String>>>,
    /// Disconnected when the pipe has ended.
    ended: Receiver<()>,
}

impl StderrTail {
    /// What they were. The process has ended; its pipe ends with it, unless a child of its own
    /// holds it.
    pub(super) fn last(&self) -> Vec<String> {
        let _ = self.ended.recv_timeout(A_MOMENT);
        self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Lines that are kept.
const KEPT: usize = 10;
/// Bytes of a line that are passed on at once.
const LONGEST: u64 = 8 << 10;
const A_MOMENT: Duration = Duration::from_millis(200);
