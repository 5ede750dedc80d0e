//! A child process: its standard error, and its end.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use crate::lock::lock;
use crate::panics::caught;

/// Destination of a server's standard error. It is always read, so a server never blocks on it.
#[derive(Default)]
#[non_exhaustive]
pub enum Stderr {
    /// The last ten lines are kept for error messages, at most 8 KiB of each (24 KiB if it is not
    /// UTF-8), without the frames of a stack trace, which would displace the words above it; the
    /// rest is discarded.
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
    pub fn lines(each: impl FnMut(&str) + Send + 'static) -> Self {
        Self::Lines(Arc::new(Mutex::new(each)))
    }

    fn stdio(&self) -> Stdio {
        match self {
            Self::Keep | Self::Lines(_) => Stdio::piped(),
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
        }
    }

    /// Starts to read the pipe.
    fn read(&self, pipe: Option<ChildStderr>) -> StderrLines {
        let lines = StderrLines::default();
        let Some(pipe) = pipe else { return lines };
        lines.tail().is_open = true;
        let kept = lines.clone();
        let each = if let Self::Lines(each) = self { Some(Arc::clone(each)) } else { None };
        thread::spawn(move || {
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
                    let mut each = lock(each);
                    let _ = caught(|| each(text));
                }
                if !is_stack_frame(text) {
                    let mut tail = kept.tail();
                    if tail.lines.len() == KEPT_LINES {
                        tail.lines.pop_front();
                    }
                    tail.lines.push_back(text.to_owned());
                }
                line.clear();
            }
            kept.tail().is_open = false;
            kept.0.1.notify_all();
        });
        lines
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

/// The last lines of the standard error of a process, if they are kept ([`Stderr`]). Clones share
/// them, also after the process has ended.
#[derive(Clone, Debug, Default)]
pub struct StderrLines(Arc<(Mutex<Tail>, Condvar)>);

#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<String>,
    /// Whether the pipe is being read.
    is_open: bool,
}

impl StderrLines {
    /// Returns the last lines so far, at most ten. The last ones of a process that has just ended
    /// may come some milliseconds later.
    pub fn last(&self) -> Vec<String> {
        self.tail().lines.iter().cloned().collect()
    }

    /// Returns the lines of a process that has exited. Its pipe ends with it, unless a child of the
    /// process holds it.
    #[cfg(feature = "blocking")]
    pub(crate) fn wait(&self) -> Vec<String> {
        let limit = Duration::from_millis(200);
        let _ = self.0.1.wait_timeout_while(self.tail(), limit, |tail| tail.is_open);
        self.last()
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        lock(&self.0.0)
    }
}

/// Whether a line is indented and begins with `at` or a number and a colon, as the lines of a stack
/// trace of Rust, Node and Java do.
fn is_stack_frame(line: &str) -> bool {
    let text = line.trim_start();
    let frame = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.len() < line.len()
        && (text.starts_with("at ") || frame.len() < text.len() && frame.starts_with(':'))
}

/// Number of lines that are kept.
const KEPT_LINES: usize = 10;
/// Maximum number of bytes that are passed on at once.
const MAX_PIECE: u64 = 8 << 10;

/// The means by which a server was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(not(feature = "blocking"), expect(unreachable_pub, reason = "only blocking tells"))]
pub enum Shutdown {
    /// It exited by itself, or when its input ended.
    #[default]
    Graceful,
    /// By SIGTERM. Only on Unix.
    Terminated,
    /// By SIGKILL, or its equivalent on other systems.
    Killed,
}

/// Starts a process with pipes for its standard streams.
pub(crate) fn spawn(
    command: &mut Command,
    stderr: &Stderr,
) -> io::Result<(Child, ChildStdout, ChildStdin, StderrLines)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr.stdio());
    let mut child = command.spawn()?;
    let lines = stderr.read(child.stderr.take());
    match (child.stdout.take(), child.stdin.take()) {
        (Some(output), Some(input)) => Ok((child, output, input, lines)),
        _ => Err(ErrorKind::BrokenPipe.into()),
    }
}

/// Ends a process whose input has ended: it may exit within the first time, then it gets SIGTERM,
/// and after the second time SIGKILL. `pause` waits for as long as it is told. The status is
/// unknown where the program ignores SIGCHLD, since the system keeps none then.
pub(crate) fn end(
    child: &mut Child,
    [after_input, after_sigterm]: [Duration; 2],
    mut pause: impl FnMut(Duration),
) -> io::Result<(Shutdown, Option<ExitStatus>)> {
    if let Some(status) = exit(child, after_input, &mut pause) {
        return Ok((Shutdown::Graceful, status));
    }
    if terminate(child)
        && let Some(status) = exit(child, after_sigterm, &mut pause)
    {
        return Ok((Shutdown::Terminated, status));
    }
    child.kill()?;
    Ok((Shutdown::Killed, child.wait().ok()))
}

/// Waits for the exit of a process, at most as long as `limit`. Returns its status, if that is
/// known.
fn exit(
    child: &mut Child,
    limit: Duration,
    pause: &mut impl FnMut(Duration),
) -> Option<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut longest = Duration::from_millis(1);
    loop {
        // An error says that there is no such child any more.
        let exited = child.try_wait().map_or(Some(None), |status| status.map(Some));
        let left = limit.saturating_sub(begun.elapsed());
        if exited.is_some() || left.is_zero() {
            return exited;
        }
        pause(longest.min(left));
        longest = (longest * 2).min(LONGEST_PAUSE);
    }
}

/// Sends SIGTERM to a process that has not been waited for. Returns `false` where that does not
/// exist.
#[cfg(unix)]
fn terminate(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    // The process has not been reaped, so the id is still its own.
    kill_process(Pid::from_child(child), Signal::TERM).is_ok()
}

#[cfg(not(unix))]
fn terminate(_: &Child) -> bool {
    false
}

/// Default time to exit after the end of its input, and after SIGTERM.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time between two looks at whether a process has exited.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_stack_trace_are_told_from_what_it_is_about() {
        for frame in [
            "   0: rust_begin_unwind",
            "             at /rustc/0/library/std/src/panicking.rs:697:5",
            "  13:     0x55d1c0 - main",
            "    at Object.<anonymous> (/srv/index.js:1:7)",
            "\tat org.example.Main.main(Main.java:3)",
        ] {
            assert!(is_stack_frame(frame), "{frame}");
        }
        for text in [
            "thread 'main' (7) panicked at src/main.rs:3:5:",
            "stack backtrace:",
            "at the end",
            "10: ten",
            "  File \"server.py\", line 1, in <module>",
            "  : no number",
            "",
        ] {
            assert!(!is_stack_frame(text), "{text}");
        }
    }
}
