//! Progress notifications.

#[cfg(feature = "tasks")]
use core::fmt;
use core::time::Duration;

use crate::buffers::tx::Tx;
#[cfg(feature = "tasks")]
use crate::encode::Encode;
use crate::encode::Encoder;
use crate::json::{Decimal, divide_by_ten};
use crate::protocol::Revision;
use crate::protocol::error::SendResult;
use crate::rpc::inflight::Delivery;
use crate::rpc::write_notification_head;
use crate::time::Instant;

/// Progress of a request.
///
/// `Progress::of(3).total(10).message("three of ten")`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Progress<'a> {
    done: Amount,
    total: Option<Amount>,
    message: Option<&'a str>,
}

impl<'a> Progress<'a> {
    /// Creates a progress value. It must increase: a value that is not larger than the last is not
    /// sent.
    pub fn of(done: impl Into<Amount>) -> Self {
        Self { done: done.into(), total: None, message: None }
    }

    /// Sets the total.
    pub fn total(self, total: impl Into<Amount>) -> Self {
        Self { total: Some(total.into()), ..self }
    }

    /// Sets the message (2025-03-26 on).
    pub const fn message(self, message: &'a str) -> Self {
        Self { message: Some(message), ..self }
    }

    /// Returns the value.
    pub const fn done(&self) -> Amount {
        self.done
    }

    /// Returns the total.
    #[cfg(feature = "tasks")]
    pub const fn total_amount(&self) -> Option<Amount> {
        self.total
    }

    /// Returns the numbers without the message.
    #[cfg(feature = "tasks")]
    pub const fn numbers(&self) -> Progress<'static> {
        Progress { done: self.done, total: self.total, message: None }
    }
}

/// Writes the message, or for example `3 of 10`.
#[cfg(feature = "tasks")]
impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = self.message {
            return f.write_str(message);
        }
        fmt::Display::fmt(&self.done, f)?;
        let Some(total) = &self.total else { return Ok(()) };
        f.write_str(" of ")?;
        fmt::Display::fmt(total, f)
    }
}

impl Progress<'_> {
    /// Sends a notification; `more` writes its last members.
    pub(crate) fn send(
        &self,
        token: &str,
        revision: Revision,
        tx: &mut Tx<'_>,
        more: &dyn Fn(&mut Encoder<'_>),
    ) -> SendResult {
        tx.whole_frame(revision, &mut |writer| {
            write_notification_head(writer, "notifications/progress");
            writer.put(b"{\"progressToken\":");
            writer.put(token.as_bytes());
            writer.put(b",\"progress\":");
            self.done.write(&mut |digits| writer.put(digits));
            if let Some(total) = self.total {
                writer.put(b",\"total\":");
                total.write(&mut |digits| writer.put(digits));
            }
            if let Some(message) =
                self.message.filter(|_| writer.revision() >= Revision::V2025_03_26)
            {
                writer.put(b",\"message\":");
                writer.string(message);
            }
            more(writer);
            writer.put(b"}}")
        })
    }
}

/// An amount of progress, not negative, rounded to millionths. Stored as integers, so that firmware
/// needs no floating point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Amount {
    whole: u64,
    millionths: u32,
}

impl From<u64> for Amount {
    fn from(whole: u64) -> Self {
        Self { whole, millionths: 0 }
    }
}

impl From<u32> for Amount {
    fn from(whole: u32) -> Self {
        u64::from(whole).into()
    }
}

impl From<i32> for Amount {
    /// A negative number counts as zero.
    fn from(whole: i32) -> Self {
        u64::try_from(whole).unwrap_or(0).into()
    }
}

impl From<f64> for Amount {
    /// Rounded to the millionth; a negative number counts as zero.
    fn from(value: f64) -> Self {
        let whole = value as u64;
        let millionths = ((value - whole as f64) * 1e6 + 0.5) as u32;
        if millionths >= 1_000_000 {
            Self { whole: whole.saturating_add(1), millionths: 0 }
        } else {
            Self { whole, millionths }
        }
    }
}

#[cfg(feature = "tasks")]
impl Encode for Amount {
    fn encode(&self, to: &mut Encoder<'_>) {
        self.write(&mut |digits| to.put(digits));
    }
}

#[cfg(feature = "tasks")]
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut written = Ok(());
        self.write(&mut |digits| {
            written =
                written.and_then(|()| f.write_str(str::from_utf8(digits).unwrap_or_default()));
        });
        written
    }
}

impl Amount {
    const ZERO: Self = Self { whole: 0, millionths: 0 };

    /// Hands over the digits, without the large code of `core::fmt`.
    fn write(self, put: &mut dyn FnMut(&[u8])) {
        put(Decimal::new(self.whole, false).as_bytes());
        if self.millionths == 0 {
            return;
        }
        let mut digits = *b".000000";
        let mut rest = u64::from(self.millionths);
        for digit in digits.iter_mut().skip(1).rev() {
            let last;
            (rest, last) = divide_by_ten(rest);
            *digit += last;
        }
        let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
        put(digits.get(..digits.len() - zeros).unwrap_or_default());
    }
}

/// The last progress notification of a request.
#[derive(Debug)]
pub(crate) struct Reported {
    done: Amount,
    /// The earliest time of the next notification; [`Instant::NEVER`] before the first one.
    next: Instant,
}

impl Reported {
    /// All zeros, for memory that was never used.
    pub(crate) const EMPTY: Self = Self { done: Amount::ZERO, next: Instant::from_millis(0) };
    pub(crate) const NOTHING: Self = Self { done: Amount::ZERO, next: Instant::NEVER };

    /// Sends a notification for `token` if the progress has increased and the interval has passed.
    pub(crate) fn report(
        &mut self,
        now: Instant,
        interval: Duration,
        token: &str,
        progress: &Progress<'_>,
        revision: Revision,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let last = progress.total == Some(progress.done);
        let has_reported = self.next != Instant::NEVER;
        if has_reported && (progress.done <= self.done || (now < self.next && !last)) {
            return Ok(Delivery::Throttled);
        }
        progress.send(token, revision, tx, &|_| {})?;
        let next = now.saturating_add(interval).min(Instant::from_millis(u64::MAX - 1));
        *self = Self { done: progress.done, next };
        Ok(Delivery::Sent)
    }
}

#[cfg(all(test, feature = "tasks"))]
mod tests {
    extern crate std;
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn progress_is_shown_as_people_write_it() {
        for (progress, text) in [
            (Progress::of(3), "3"),
            (Progress::of(0.5).total(10), "0.5 of 10"),
            (Progress::of(2.250_001).total(u64::MAX), "2.250001 of 18446744073709551615"),
            (Progress::of(3).total(10).message("copies"), "copies"),
        ] {
            assert_eq!(progress.to_string(), text);
        }
    }
}
