//! `initialize` and `server/discover`.

use core::fmt;

use super::common::Source;
use super::macros::{Writer, payload};
#[cfg(not(small))]
use super::rendered::{Const, Renderer};
use super::{CacheScope, ClientCapabilities, List, ServerCapabilities, Text};
use crate::encode::{Encode, Encoder, object};
use crate::protocol::{Revision, Revisions};
use serde::{Deserialize, Deserializer};

// `initialize`, up to 2025-11-25.

payload! {
    /// Parameters of `initialize`. Up to 2025-11-25, schema type `InitializeRequestParams`.
    pub struct InitializeParams<'a> {
        /// Protocol version that the client proposes: the latest that it supports.
        "protocolVersion" protocol_version: version;
        /// Capabilities of the client.
        "capabilities" capabilities: of(ClientCapabilities<'a>);
        /// Name and version of the client.
        "clientInfo" client_info: of(Implementation<'a>);
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Result of `initialize`. Up to 2025-11-25, schema type `InitializeResult`.
    pub struct InitializeResult<'a> {
        /// Protocol version of the session.
        "protocolVersion" protocol_version: version;
        /// Capabilities of the server.
        "capabilities" capabilities: of(ServerCapabilities<'a>);
        /// Name and version of the server.
        "serverInfo" server_info: of(Implementation<'a>);
        optional:
        /// Instructions for the model on how to use the server.
        "instructions" instructions: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

// `server/discover` of 2026-07-28.

payload! {
    /// Result of `server/discover`. 2026-07-28, schema type `DiscoverResult`. Name and version of
    /// the server are in `_meta`, as in every result.
    pub struct DiscoverResult<'a> {
        /// Protocol versions that the server supports.
        "supportedVersions" supported_versions: versions;
        /// Capabilities of the server.
        "capabilities" capabilities: of(ServerCapabilities<'a>);
        optional:
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

/// Protocol versions that a server supports: `supportedVersions` of schema type `DiscoverResult`.
#[derive(Clone, Copy)]
pub struct SupportedVersions<'a>(Source<Revisions, List<'a, Text<'a>>>);

impl<'a> SupportedVersions<'a> {
    /// Creates the list of these revisions.
    pub const fn new(revisions: Revisions) -> Self {
        Self(Source::Own(revisions))
    }

    /// Returns whether `revision` is in the list.
    pub fn contains(&self, revision: Revision) -> bool {
        match self.0 {
            Source::Own(revisions) => revisions.contains(revision),
            Source::Received(list) => {
                list.iter().flatten().any(|version| version == revision.as_str())
            }
        }
    }

    /// Returns the received list, which may contain versions unknown to this library.
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

payload! {
    /// Name and version of a client or server. Schema type `Implementation`.
    pub struct Implementation<'a> {
        /// Name for programmatic use.
        "name" name: text;
        /// Version of the program.
        "version" version: text;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
        /// Description of what the program does. Since 2025-11-25.
        "description" description: text, since V2025_11_25;
        /// Icons for user interfaces. Since 2025-11-25.
        "icons" icons: icons, since V2025_11_25;
        /// URL of the website of the program. Since 2025-11-25.
        "websiteUrl" website_url: text, since V2025_11_25;
    }
}

/// The [`Implementation`] of a configuration, with the code that writes it. While a constant is
/// compiled it is known whether that includes the code for icons and other rare members.
#[derive(Clone, Copy)]
pub(crate) struct Info<'a> {
    pub(crate) value: Implementation<'a>,
    writer: Writer<fn(&Implementation<'_>, &mut Encoder<'_>)>,
    /// The members that complete a result of 2026-07-28, and their length: zero if they do not fit.
    #[cfg(not(small))]
    tail: ([u8; TAIL], usize),
}

impl fmt::Debug for Info<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<'a> Info<'a> {
    pub(crate) const fn new(value: Implementation<'a>) -> Self {
        let Implementation { name: _, version: _, title: _, description, icons, website_url } =
            value;
        let is_short = description.is_none() && icons.is_none() && website_url.is_none();
        let writer: fn(&Implementation<'_>, &mut Encoder<'_>) =
            if is_short { write_short } else { |info, to| info.encode(to) };
        Self {
            value,
            writer: Writer(writer),
            #[cfg(not(small))]
            tail: if is_short && value.title.is_none() { tail(&value) } else { ([0; TAIL], 0) },
        }
    }

    /// Returns the members that complete a result of 2026-07-28 as text, which was rendered while
    /// compiling; empty if it was not.
    #[cfg(not(small))]
    pub(crate) fn tail(&self) -> &[u8] {
        self.tail.0.get(..self.tail.1).unwrap_or_default()
    }
}

/// Memory for a tail, in bytes: name and version have 77 of them.
#[cfg(not(small))]
const TAIL: usize = 168;

#[cfg(not(small))]
const fn tail(info: &Implementation<'_>) -> ([u8; TAIL], usize) {
    let mut tail = [0; TAIL];
    let mut to = Renderer::new(&mut tail);
    to.put(br#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"#);
    Const(&info.name).render(&mut to);
    to.put(br#","version":"#);
    Const(&info.version).render(&mut to);
    to.put(b"}}");
    let len = to.len();
    (tail, if len > TAIL { 0 } else { len })
}

fn write_short(info: &Implementation<'_>, to: &mut Encoder<'_>) {
    object!(to, {
        "name": info.name,
        "version": info.version,
        "title"? since V2025_06_18: info.title,
    });
}

impl Encode for Info<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (self.writer.0)(&self.value, to);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::encode::to_slice;
    use crate::protocol::Revision;
    use crate::types::Icon;

    #[test]
    fn the_info_of_a_configuration_has_all_members() {
        let plain = Implementation::new("n", "1");
        for value in [
            plain,
            plain.title("t"),
            plain.description("d"),
            plain.icons(&[Icon::new("https://example.com/i")]),
            plain.website_url("https://example.com"),
            plain.title("t").description("d"),
        ] {
            for revision in [Revision::V2024_11_05, Revision::V2025_06_18, Revision::LATEST] {
                let (mut own, mut all) = ([0; 128], [0; 128]);
                let own = to_slice(&Info::new(value), revision, &mut own).expect("it fits");
                let all = to_slice(&value, revision, &mut all).expect("it fits");
                assert_eq!(own.as_str(), all.as_str());
            }
        }
    }

    #[test]
    #[cfg(not(small))]
    fn the_rendered_members_of_a_result_are_those_that_are_written() {
        let long = "n".repeat(TAIL);
        for (name, is_rendered) in [("n", true), ("\"\n\u{e9}", true), (&long, false)] {
            let info = Info::new(Implementation::new(name, "1"));
            let meta = object!({ "io.modelcontextprotocol/serverInfo": info });
            let all = object!({ "resultType": "complete", "_meta": meta });
            let mut out = [0; 512];
            let all = to_slice(&all, Revision::LATEST, &mut out).expect("it fits");
            let members = &all.as_str().as_bytes()[1..all.as_str().len() - 1];
            assert_eq!(info.tail(), if is_rendered { members } else { b"" });
        }
    }
}
