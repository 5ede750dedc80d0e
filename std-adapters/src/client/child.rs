//! The end of a child process.

use std::process::Child;
use std::time::Duration;

/// Waits for the exit of a process whose input is closed, and then makes it exit.
pub(crate) fn end(mut child: Child, [after_input, after_sigterm]: [Duration; 2]) {
    if exits(&mut child, after_input) || terminate(&child) && exits(&mut child, after_sigterm) {
        return;
    }
    // It has exited meanwhile if this fails.
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits for the exit of a process. Returns `false` after `limit`.
fn exits(child: &mut Child, limit: Duration) -> bool {
    let begun = std::time::Instant::now();
    let mut pause = Duration::from_millis(1);
    while let Ok(None) = child.try_wait() {
        let left = limit.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    true
}

/// Sends SIGTERM to a process that has not been waited for. Returns `false` where that does not
/// exist.
#[cfg(unix)]
pub(crate) fn terminate(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    // The process has not been reaped, so the id is still its own.
    kill_process(Pid::from_child(child), Signal::TERM).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn terminate(_: &Child) -> bool {
    false
}

/// Default time to exit after the end of its input, and after SIGTERM.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time between two looks at whether a process has exited.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(16);
