//! `server/discover` of 2026-07-28.

use core::fmt;

use serde::{Deserialize, Deserializer};

use crate::encode::{Encode, Encoder};
use crate::lifecycle::{Revision, Revisions};
use crate::types::common::Source;
use crate::types::macros::payload;
use crate::types::{CacheScope, List, ServerCapabilities, Text};

payload! {
    /// Result of `server/discover`. 2026-07-28, schema type `DiscoverResult`. Name and version of
    /// the server are in `_meta`, as in every result.
    pub struct DiscoverResult<'a> {
        new {
            /// Protocol versions that the server supports.
            "supportedVersions" supported_versions: versions;
            /// Capabilities of the server.
            "capabilities" capabilities: of(ServerCapabilities<'a>);
        }
        with {
            /// Instructions for the model on how to use the server.
            "instructions" instructions: text;
            /// Time that the result stays fresh, in milliseconds; 0 if missing or negative.
            "ttlMs" ttl_ms: millis = 0;
            /// Whether caches may share the result between users; private if missing.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

/// Protocol versions that a server supports: `supportedVersions` of schema type `DiscoverResult`.
#[derive(Clone, Copy)]
pub struct SupportedVersions<'a>(Source<Revisions, List<'a, Text<'a>>>);

impl<'a> SupportedVersions<'a> {
    /// Creates the list of these revisions.
    #[must_use]
    pub const fn new(revisions: Revisions) -> Self {
        Self(Source::Own(revisions))
    }

    /// Returns whether `revision` is in the list.
    #[must_use]
    pub fn contains(&self, revision: Revision) -> bool {
        match self.0 {
            Source::Own(revisions) => revisions.contains(revision),
            Source::Received(list) => {
                list.iter().flatten().any(|version| version == revision.as_str())
            }
        }
    }

    /// Returns the received list, which may contain versions unknown to this library.
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

impl Encode for SupportedVersions<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(revisions) => to.array(revisions.iter().map(Revision::as_str)),
            Source::Received(list) => list.encode(to),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SupportedVersions<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        List::deserialize(deserializer).map(|list| Self(Source::Received(list)))
    }
}
