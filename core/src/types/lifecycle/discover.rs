//! `server/discover` of 2026-07-28.

use core::fmt;

use serde::{Deserialize, Deserializer};

use crate::lifecycle::{Revision, Revisions};
use crate::types::common::Source;
use crate::types::encode::macros::payload;
use crate::types::encode::tell::{Tell, Teller, payload_told, serialize_told};
use crate::types::{CacheScope, List, ServerCapabilities, Text};

payload! {
    /// The answer to `server/discover`. 2026-07-28, schema type `DiscoverResult`. Who the server is, is in `_meta` like in any result.
    pub struct DiscoverResult<'a> {
        new {
            /// The revisions that the server speaks.
            "supportedVersions" supported_versions: versions;
            /// What the server can do.
            "capabilities" capabilities: of(ServerCapabilities<'a>);
        }
        with {
            /// How a model should use the server.
            "instructions" instructions: text;
            /// For how many milliseconds it stays fresh.
            "ttlMs" ttl_ms: millis = 0;
            /// Who may share it.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

/// The revisions that a server speaks.
#[derive(Clone, Copy)]
pub struct SupportedVersions<'a>(Source<Revisions, List<'a, Text<'a>>>);

impl<'a> SupportedVersions<'a> {
    /// These.
    #[must_use]
    pub const fn new(revisions: Revisions) -> Self {
        Self(Source::Own(revisions))
    }

    /// Whether this revision is one of them.
    #[must_use]
    pub fn contains(&self, revision: Revision) -> bool {
        match self.0 {
            Source::Own(revisions) => revisions.contains(revision),
            Source::Received(list) => {
                list.iter().flatten().any(|version| version == revision.as_str())
            }
        }
    }

    /// The list, where it was read: with the revisions that this library does not know.
    #[must_use]
    pub const fn as_list(&self) -> Option<List<'a, Text<'a>>> {
        self.0.received()
    }
}

impl From<Revisions> for SupportedVersions<'_> {
    fn from(revisions: Revisions) -> Self {
        Self::new(revisions)
    }
}

impl fmt::Debug for SupportedVersions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Own(revisions) => f.debug_list().entries(revisions.iter()).finish(),
            Source::Received(list) => list.fmt(f),
        }
    }
}

impl Tell for SupportedVersions<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        match self.0 {
            Source::Own(revisions) => {
                to.open(b'[');
                revisions.iter().for_each(|revision| to.item(&revision.as_str()));
                to.close();
            }
            Source::Received(list) => list.tell(to),
        }
    }
}

serialize_told!(SupportedVersions<'_>);

impl<'de: 'a, 'a> Deserialize<'de> for SupportedVersions<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        List::deserialize(deserializer).map(|list| Self(Source::Received(list)))
    }
}

payload_told! { SupportedVersions<'a> }
