//! Time of the day, which tokens, assertions and proofs name.

/// Seconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnixTime(u64);

impl UnixTime {
    /// Creates the time `secs` seconds after 1970-01-01 00:00 UTC.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs)
    }

    /// Returns the seconds since 1970-01-01 00:00 UTC.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0
    }
}
