//! Capabilities of clients and servers.

use core::fmt;

use serde::{Deserialize, Deserializer};

use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision, ServerFeatures};
use crate::types::common::Source;
use crate::types::lifecycle::DeclaredExtensions;
use crate::types::macros::wrong;
use crate::types::meta::{SKILLS, TASKS, is_modern_only};
use crate::types::ui;

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
