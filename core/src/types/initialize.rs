//! `initialize` and `server/discover`.

use core::fmt;

use super::common::Source;
use super::macros::{Writer, payload, wrong};
use super::meta::{SKILLS, TASKS, is_modern_only};
use super::{CacheScope, List, Text, ui};
use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use crate::protocol::{ClientFeatures, Revision, Revisions, ServerFeatures};
use serde::{Deserialize, Deserializer};

// `initialize`, up to 2025-11-25.

payload! {
    /// Parameters of `initialize`. Up to 2025-11-25, schema type `InitializeRequestParams`.
    pub struct InitializeParams<'a> {
        new {
            /// Protocol version that the client proposes: the latest that it supports.
            "protocolVersion" protocol_version: version;
            /// Capabilities of the client.
            "capabilities" capabilities: of(ClientCapabilities<'a>);
            /// Name and version of the client.
            "clientInfo" client_info: of(Implementation<'a>);
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

payload! {
    /// Result of `initialize`. Up to 2025-11-25, schema type `InitializeResult`.
    pub struct InitializeResult<'a> {
        new {
            /// Protocol version of the session.
            "protocolVersion" protocol_version: version;
            /// Capabilities of the server.
            "capabilities" capabilities: of(ServerCapabilities<'a>);
            /// Name and version of the server.
            "serverInfo" server_info: of(Implementation<'a>);
        }
        with {
            /// Instructions for the model on how to use the server.
            "instructions" instructions: text;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

// `server/discover` of 2026-07-28.

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

// Capabilities of clients and servers.

macro_rules! capabilities {
    ($(#[$meta:meta])* $name:ident of $features:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name<'a>(Source<Declared<'a, $features>, RawJson<'a>>);

        impl<'a> $name<'a> {
            /// Declares `features` and nothing else.
            #[must_use]
            pub const fn new(features: $features) -> Self {
                Self::declared(features, None, None)
            }

            pub(crate) const fn declared(
                features: $features,
                experimental: Option<RawJson<'a>>,
                extensions: Option<DeclaredExtensions<'a>>,
            ) -> Self {
                Self(Source::Own(Declared { features, experimental, extensions }))
            }

            /// Sets the member `experimental`: an object of objects, keyed by the name of a
            /// capability that the protocol does not define. No effect on received capabilities.
            #[must_use]
            pub const fn experimental(mut self, experimental: RawJson<'a>) -> Self {
                if let Source::Own(own) = &mut self.0 {
                    own.experimental = Some(experimental);
                }
                self
            }

            /// Sets the member `extensions`: an object of settings, keyed by the id of the
            /// extension. Since 2025-06-18; `io.modelcontextprotocol/tasks` is written for
            /// 2026-07-28 only. No effect on received capabilities.
            #[must_use]
            pub const fn extensions(mut self, extensions: RawJson<'a>) -> Self {
                if let Source::Own(own) = &mut self.0 {
                    own.extensions = Some(DeclaredExtensions::new(extensions));
                }
                self
            }

            /// Returns the received object, which may have members unknown to this library.
            #[must_use]
            pub const fn as_json(&self) -> Option<RawJson<'a>> {
                self.0.received()
            }

            /// Returns the settings of the extension `id`, if it is declared. Reads received
            /// capabilities of every revision, since an older peer may declare extensions, too.
            #[must_use]
            pub fn extension(&self, id: &str) -> Option<RawJson<'a>> {
                let extensions = match self.0 {
                    Source::Own(own) => own.extensions.map(|extensions| extensions.as_json()),
                    Source::Received(raw) => raw.get("extensions"),
                };
                extensions?.get(id)
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match &self.0 {
                    Source::Own(own) => own.features.fmt(f),
                    Source::Received(raw) => fmt::Debug::fmt(raw, f),
                }
            }
        }

        impl Encode for $name<'_> {
            fn encode(&self, to: &mut Encoder<'_>) {
                match &self.0 {
                    Source::Own(own) => {
                        to.begin_object();
                        own.features.write_members(to.revision(), to);
                        object!(@member to "experimental"?: own.experimental);
                        let (tasks, skills) = (own.features.has_tasks(), own.features.skills());
                        write_extensions(own.extensions, tasks, skills, to);
                        to.end_object();
                    }
                    Source::Received(raw) => to.raw(*raw),
                }
            }
        }

        impl<'de: 'a, 'a> Deserialize<'de> for $name<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = RawJson::deserialize(deserializer)?;
                if raw.is_object() { Ok(Self(Source::Received(raw))) } else { Err(wrong(&"an object")) }
            }
        }

        impl From<$features> for $name<'_> {
            fn from(features: $features) -> Self {
                Self::new(features)
            }
        }
    };
}

capabilities! {
    /// Capabilities of a client. Schema type `ClientCapabilities`.
    ///
    /// Created from [`ClientFeatures`], of which those are written that the peer's revision
    /// defines; or received, and then written unchanged.
    ClientCapabilities of ClientFeatures
}

capabilities! {
    /// Capabilities of a server. Schema type `ServerCapabilities`.
    ///
    /// Created from [`ServerFeatures`], of which those are written that the peer's revision
    /// defines; or received, and then written unchanged.
    ServerCapabilities of ServerFeatures
}

impl<'a> ClientCapabilities<'a> {
    /// Returns the declared features that this library knows, as `revision` defines them.
    #[must_use]
    pub fn features(&self, revision: Revision) -> ClientFeatures {
        match self.0 {
            Source::Own(own) => own.features,
            Source::Received(raw) => ClientFeatures::read(raw, revision),
        }
    }

    /// Returns the settings of a client that supports pages (MCP Apps).
    #[must_use]
    pub fn ui(&self) -> Option<ui::ClientCapabilities<'a>> {
        self.extension(ui::EXTENSION_ID)?.to().ok()
    }
}

impl ServerCapabilities<'_> {
    /// Returns the declared features that this library knows, as `revision` defines them.
    #[must_use]
    pub fn features(&self, revision: Revision) -> ServerFeatures {
        match self.0 {
            Source::Own(own) => own.features,
            Source::Received(raw) => ServerFeatures::read(raw, revision),
        }
    }
}

#[derive(Clone, Copy)]
struct Declared<'a, F> {
    features: F,
    experimental: Option<RawJson<'a>>,
    extensions: Option<DeclaredExtensions<'a>>,
}

/// Writes the member `extensions`: those that the application names, and those of the features.
/// `skills` are the settings of the extension for skills.
fn write_extensions(
    extensions: Option<DeclaredExtensions<'_>>,
    has_tasks: bool,
    skills: Option<RawJson<'_>>,
    to: &mut Encoder<'_>,
) {
    let is_modern = to.revision().is_modern();
    let has_tasks = has_tasks && is_modern;
    let skills = skills.filter(|_| to.revision() >= Revision::V2025_06_18);
    if !has_tasks && skills.is_none() {
        return extensions.map_or((), |extensions| extensions.write_member(to));
    }
    if !to.key("extensions") {
        return;
    }
    let others = extensions.map_or(RawJson::EMPTY, |extensions| extensions.as_json());
    to.begin_object();
    for (id, settings) in others.members() {
        let is_own = (has_tasks && id == TASKS) || (skills.is_some() && id == SKILLS);
        if !is_own && (is_modern || !is_modern_only(id)) && to.key_json(id) {
            to.raw(settings);
        }
    }
    if has_tasks {
        to.member(TASKS, &RawJson::EMPTY);
    }
    if let Some(skills) = skills {
        to.member(SKILLS, &skills);
    }
    to.end_object();
}

// The extensions that capabilities declare.

/// The object `extensions` of declared capabilities: settings, keyed by the id of the extension.
/// Since 2025-06-18.
#[derive(Clone, Copy)]
pub struct DeclaredExtensions<'a> {
    object: RawJson<'a>,
    /// Function pointer, so that the code is linked only where extensions are declared.
    write: fn(RawJson<'_>, &mut Encoder<'_>),
}

impl<'a> DeclaredExtensions<'a> {
    /// Creates it from the object.
    #[must_use]
    pub const fn new(object: RawJson<'a>) -> Self {
        Self { object, write }
    }

    /// Returns the object.
    #[must_use]
    pub const fn as_json(&self) -> RawJson<'a> {
        self.object
    }

    /// Writes the member, if the revision has any of them.
    fn write_member(&self, to: &mut Encoder<'_>) {
        (self.write)(self.object, to);
    }
}

impl fmt::Debug for DeclaredExtensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

fn write(object: RawJson<'_>, to: &mut Encoder<'_>) {
    let is_modern = to.revision().is_modern();
    let mut members = object.members();
    let has_any = object.members().next().is_none()
        || members.any(|(id, _)| is_modern || !is_modern_only(id));
    object!(@member to "extensions"? since V2025_06_18: has_any.then_some(Shown(object)));
}

/// The object, without those that exist in 2026-07-28 only where the revision is older.
struct Shown<'a>(RawJson<'a>);

impl Encode for Shown<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if to.revision().is_modern() || !self.0.members().any(|(id, _)| is_modern_only(id)) {
            return to.raw(self.0);
        }
        to.begin_object();
        for (id, settings) in self.0.members().filter(|(id, _)| !is_modern_only(*id)) {
            if to.key_json(id) {
                to.raw(settings);
            }
        }
        to.end_object();
    }
}

// Name and version of a client or server.

payload! {
    /// Name and version of a client or server. Schema type `Implementation`.
    pub struct Implementation<'a> {
        new {
            /// Name for programmatic use.
            "name" name: text;
            /// Version of the program.
            "version" version: text;
        }
        with {
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
}

/// The [`Implementation`] of a configuration, with the code that writes it. While a constant is
/// compiled it is known whether that includes the code for icons and other rare members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info<'a> {
    pub(crate) value: Implementation<'a>,
    writer: Writer<fn(&Implementation<'_>, &mut Encoder<'_>)>,
}

impl<'a> Info<'a> {
    pub(crate) const fn new(value: Implementation<'a>) -> Self {
        let Implementation { name: _, version: _, title: _, description, icons, website_url } =
            value;
        let is_short = description.is_none() && icons.is_none() && website_url.is_none();
        let writer: fn(&Implementation<'_>, &mut Encoder<'_>) =
            if is_short { write_short } else { |info, to| info.encode(to) };
        Self { value, writer: Writer(writer) }
    }
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
}
