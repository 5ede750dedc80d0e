//! When a new program is whole, as a value.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// The time and the length of a file.
type Look = Option<(SystemTime, u64)>;

/// The files of a server, as they are looked at again and again.
#[derive(Default)]
pub(crate) struct Build {
    /// Those that the server was started from.
    running: Option<Vec<Look>>,
    /// Those that were seen last, and since when they have been the same.
    seen: Option<(Vec<Look>, Instant)>,
}

impl Build {
    /// Whether to start what is there now: it differs from what runs, and nobody writes to it.
    pub(crate) fn is_due(&mut self, now: Instant, looks: Vec<Look>) -> bool {
        let since = match &self.seen {
            Some((seen, since)) if *seen == looks => *since,
            _ => now,
        };
        let is_whole = looks.iter().all(|look| look.is_some_and(|(_, length)| length > 0));
        let is_new = self.running.as_ref() != Some(&looks);
        self.seen = Some((looks, since));
        is_whole && is_new && now.saturating_duration_since(since) >= SETTLED
    }

    /// Notes that what was seen last has been started.
    pub(crate) fn started(&mut self) {
        self.running = self.seen.as_ref().map(|(looks, _)| looks.clone());
    }
}

/// Looks at files.
pub(crate) fn look(files: &[PathBuf]) -> Vec<Look> {
    let look = |file: &PathBuf| {
        let metadata = file.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(look).collect()
}

/// Time for which a file has to be unchanged: linkers write in steps.
const SETTLED: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn of(second: u64, length: u64) -> Vec<Look> {
        vec![Some((SystemTime::UNIX_EPOCH + Duration::from_secs(second), length))]
    }

    #[test]
    fn a_program_is_started_once_when_nobody_writes_to_it_any_more() {
        let (mut build, mut now) = (Build::default(), Instant::now());
        let mut after = |milliseconds, looks| {
            now += Duration::from_millis(milliseconds);
            let is_due = build.is_due(now, looks);
            if is_due {
                build.started();
            }
            is_due
        };
        assert!(!after(0, of(1, 9)) && !after(299, of(1, 9)) && after(1, of(1, 9)));
        assert!(!after(10_000, of(1, 9)));
        // The linker removes the file, creates it, and writes: nothing is whole before the end.
        assert!(!after(100, vec![None]) && !after(1000, vec![None]));
        assert!(!after(100, of(2, 0)) && !after(1000, of(2, 0)));
        assert!(!after(100, of(2, 4)) && !after(200, of(2, 8)) && !after(200, of(3, 8)));
        assert!(!after(299, of(3, 8)) && after(1, of(3, 8)));
        // The same program as before, written again.
        assert!(!after(100, of(4, 8)) && after(300, of(4, 8)));
        assert!(!after(1000, of(4, 8)));
    }

    #[test]
    fn a_program_that_could_not_be_started_stays_due() {
        let (mut build, now) = (Build::default(), Instant::now());
        assert!(!build.is_due(now, of(1, 9)));
        for later in [300, 400, 500] {
            assert!(build.is_due(now + Duration::from_millis(later), of(1, 9)));
        }
    }
}
