//! The published revisions of the protocol.

use serde::{Serialize, Serializer};

use crate::json::JsonStr;

/// A published revision of the Model Context Protocol, oldest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Revision {
    /// 2024-11-05, legacy era.
    V2024_11_05,
    /// 2025-03-26, legacy era; the only one with JSON-RPC batches.
    V2025_03_26,
    /// 2025-06-18, legacy era.
    V2025_06_18,
    /// 2025-11-25, legacy era.
    V2025_11_25,
    /// 2026-07-28, modern era.
    V2026_07_28,
}

/// The way in which a revision opens a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Era {
    /// With an `initialize` handshake that opens a session.
    // Not 0, which is `None`: the memory of a client is all zeros.
    Legacy = 1,
    /// Without a handshake: each request carries its own version and capabilities.
    Modern,
}

impl Era {
    /// Both eras, the older first.
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Modern];
}

impl Revision {
    /// All revisions, newest first: the order in which `server/discover` lists them.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision with an `initialize` handshake: the response to an unknown version in
    /// `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// Returns the date, as on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the revision with this date.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Returns the revision with this date, from a received string.
    #[must_use]
    pub fn from_json(text: JsonStr<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| text == *revision.as_str())
    }

    /// Returns the era of the revision.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// Whether the revision is of the modern era.
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }
}

impl core::fmt::Display for Revision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of revisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Revisions(u8);

impl Revisions {
    /// All revisions.
    pub const ALL: Self = Self(0b1_1111);
    /// Revisions with an `initialize` handshake.
    pub const LEGACY: Self = Self(0b0_1111);
    /// Revisions without it.
    pub const MODERN: Self = Self(0b1_0000);

    /// Creates a set of one revision.
    #[must_use]
    pub const fn only(revision: Revision) -> Self {
        Self(1 << revision as u8)
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set contains `revision`.
    #[must_use]
    pub const fn contains(self, revision: Revision) -> bool {
        self.0 & Self::only(revision).0 != 0
    }

    /// Returns the revisions, newest first.
    pub fn iter(self) -> impl Iterator<Item = Revision> {
        Revision::ALL.into_iter().filter(move |revision| self.contains(*revision))
    }

    /// Returns the newest revision with an `initialize` handshake.
    #[must_use]
    pub fn newest_legacy(self) -> Option<Revision> {
        self.iter().find(|revision| !revision.is_modern())
    }
}

/// Serializes as an array of dates, newest first.
impl Serialize for Revisions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Revision::as_str))
    }
}
