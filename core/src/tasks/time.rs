//! Time stamps as RFC 3339 writes them.

use core::fmt;

use crate::time::Instant;

/// The current time: of the caller's clock, by which tasks expire, and of the calendar, which their
/// stamps show.
///
/// A device without a calendar may count from 1970-01-01 on: its stamps then show how long it has
/// run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskTime {
    /// Time since an arbitrary zero. It never goes back.
    pub now: Instant,
    /// Milliseconds since 1970-01-01 00:00 UTC.
    pub unix_ms: u64,
}

impl TaskTime {
    /// Creates a time.
    #[must_use]
    pub const fn new(now: Instant, unix_ms: u64) -> Self {
        Self { now, unix_ms }
    }

    /// Creates the time of a device without a calendar.
    #[must_use]
    pub const fn without_calendar(now: Instant) -> Self {
        Self { now, unix_ms: now.as_millis() }
    }
}

/// A time stamp as text, for example `2026-07-28T12:00:00.000Z`.
pub(super) struct Stamp([u8; 24]);

impl Stamp {
    pub(super) fn new(unix_ms: u64) -> Self {
        let (seconds, millis) = divide(unix_ms.min(LATEST), 1000);
        let (days, second) = divide(seconds, 86_400);
        let (year, month, day) = date(days as u32);
        let (minute, second) = divide(second.into(), 60);
        let (hour, minute) = divide(minute, 60);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (end, value) in [
            (4, year),
            (7, month),
            (10, day),
            (13, hour as u32),
            (16, minute),
            (19, second),
            (23, millis),
        ] {
            let mut rest = u64::from(value);
            let digits = text.get_mut(..end).unwrap_or_default().iter_mut().rev();
            for byte in digits.take_while(|byte| byte.is_ascii_digit()) {
                let digit;
                (rest, digit) = divide(rest, 10);
                *byte = b'0' + digit as u8;
            }
        }
        Self(text)
    }

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the quotient and the rest.
fn divide(value: u64, by: u32) -> (u64, u32) {
    let by = u64::from(by.max(1));
    if cfg!(not(small)) {
        return (value / by, (value % by) as u32);
    }
    // A Cortex-M0 cannot divide.
    let (mut quotient, mut rest) = (0, 0);
    for bit in (0..u64::BITS).rev() {
        rest = rest << 1 | (value >> bit & 1);
        if rest >= by {
            rest -= by;
            quotient |= 1 << bit;
        }
    }
    (quotient, rest as u32)
}

/// The last millisecond of the year 9999.
const LATEST: u64 = 253_402_300_799_999;

/// Returns year, month and day of a number of days since 1970-01-01, by the algorithm
/// `civil_from_days` of Howard Hinnant: a year begins in March, so that its last day is the leap
/// day.
fn date(days: u32) -> (u32, u32, u32) {
    let split = |value: u32, by: u32| {
        let (quotient, rest) = divide(value.into(), by);
        (quotient as u32, rest)
    };
    // Days since 0000-03-01.
    let (era, of_era) = split(days + 719_468, 146_097);
    let leaps = split(of_era, 1460).0 + split(of_era, 146_096).0 - split(of_era, 36_524).0;
    let year = split(of_era - leaps, 365).0;
    let of_year = of_era - (365 * year + split(year, 4).0 - split(year, 100).0);
    let month = split(5 * of_year + 2, 153).0;
    let day = of_year - split(153 * month + 2, 5).0 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_rfc_3339() {
        for (unix_ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (86_399_999, "1970-01-01T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (1_785_240_000_123, "2026-07-28T12:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (LATEST, "9999-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Stamp::new(unix_ms).as_str(), text);
        }
    }
}
