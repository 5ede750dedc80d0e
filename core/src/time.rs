//! Time of the caller's clock in milliseconds, and dates in texts.

use core::time::Duration;

/// Point in time on the caller's clock: milliseconds since an epoch that the caller chooses.
///
/// The core only compares and adds; it never reads a clock. A clock that goes backwards delays
/// deadlines and does nothing worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// Creates the time `ms` milliseconds after the caller's epoch.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    /// The latest time: no deadline.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// Returns `None` for [`NEVER`](Self::NEVER).
    pub(crate) fn or_none(self) -> Option<Self> {
        (self != Self::NEVER).then_some(self)
    }

    /// Returns the milliseconds since the caller's epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the time after `duration`, rounded up to a millisecond; the latest time on overflow.
    pub const fn saturating_add(self, duration: Duration) -> Self {
        // Not `as_nanos`: a division of 128 bits costs a small processor two kilobytes.
        if duration.as_secs() >= u64::MAX / 1000 {
            return Self::NEVER;
        }
        let ms = duration.as_secs() * 1000 + whole_millis(duration.subsec_nanos()) as u64;
        Self(self.0.saturating_add(ms))
    }

    /// Returns the time since `earlier`; zero when `earlier` is later.
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Returns the milliseconds of less than a second, rounded up.
const fn whole_millis(nanos: u32) -> u32 {
    if cfg!(not(small)) {
        return nanos.div_ceil(1_000_000);
    }
    // A Cortex-M0 cannot divide.
    let (mut rest, mut millis, mut bit) = (nanos + 999_999, 0, 1 << 9);
    while bit > 0 {
        if rest >= bit * 1_000_000 {
            rest -= bit * 1_000_000;
            millis += bit;
        }
        bit >>= 1;
    }
    millis
}

// Dates in texts.

/// Takes a date as `2026-07-28`. Returns its century, the year in that, the month and the day, each
/// of any two digits.
pub(crate) fn date(text: &mut impl Iterator<Item = char>) -> Option<[u32; 4]> {
    let (century, year) = (two_digits(text)?, two_digits(text)?);
    Some([century, year, two_digits_behind('-', text)?, two_digits_behind('-', text)?])
}

pub(crate) fn two_digits(text: &mut impl Iterator<Item = char>) -> Option<u32> {
    Some(text.next()?.to_digit(10)? * 10 + text.next()?.to_digit(10)?)
}

pub(crate) fn two_digits_behind(mark: char, text: &mut impl Iterator<Item = char>) -> Option<u32> {
    if text.next()? == mark { two_digits(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_to_milliseconds() {
        for (nanos, millis) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(whole_millis(nanos), millis, "{nanos}");
            assert_eq!(whole_millis(nanos + 998_000_000), millis + 998, "{nanos}");
        }
        assert_eq!(whole_millis(999_999_999), 1000);
    }
}
