//! Capabilities of clients and servers.

use core::fmt;

use serde::{Deserialize, Deserializer};

use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision, ServerFeatures};
use crate::types::common::Source;
use crate::types::macros::wrong;
use crate::types::meta::is_modern_only;

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
                extensions: Option<RawJson<'a>>,
            ) -> Self {
                Self(Source::Own(Declared { features, experimental, extensions, tasks: None }))
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
                    own.extensions = Some(extensions);
                }
                self
            }

            /// Sets the member `tasks`, an object. 2025-11-25 only. No effect on received
            /// capabilities.
            #[must_use]
            pub const fn tasks(mut self, tasks: RawJson<'a>) -> Self {
                if let Source::Own(own) = &mut self.0 {
                    own.tasks = Some(tasks);
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
                    Source::Own(own) => own.extensions,
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
                    Source::Own(own) => own.encode(to),
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

impl ClientCapabilities<'_> {
    /// Returns the declared features that this library knows, as `revision` defines them.
    #[must_use]
    pub fn features(&self, revision: Revision) -> ClientFeatures {
        match self.0 {
            Source::Own(own) => own.features,
            Source::Received(raw) => ClientFeatures::read(raw, revision),
        }
    }
}

impl ServerCapabilities<'_> {
    /// Returns the declared features that this library knows.
    #[must_use]
    pub fn features(&self) -> ServerFeatures {
        use ServerFeatures as C;
        let raw = match self.0 {
            Source::Own(own) => return own.features,
            Source::Received(raw) => raw,
        };
        let mut features = C::NONE;
        for (name, bit, flags) in [
            ("tools", C::TOOLS, [("listChanged", C::TOOLS_LIST_CHANGED), ("", C::NONE)]),
            (
                "resources",
                C::RESOURCES,
                [("listChanged", C::RESOURCES_LIST_CHANGED), ("subscribe", C::RESOURCES_SUBSCRIBE)],
            ),
            ("prompts", C::PROMPTS, [("listChanged", C::PROMPTS_LIST_CHANGED), ("", C::NONE)]),
            ("completions", C::COMPLETIONS, [("", C::NONE); 2]),
            ("logging", C::LOGGING, [("", C::NONE); 2]),
        ] {
            let Some(declared) = raw.get(name).filter(|value| value.is_object()) else { continue };
            features = features.with(bit);
            for (flag, bit) in flags {
                if declared.get(flag).and_then(RawJson::as_bool) == Some(true) {
                    features = features.with(bit);
                }
            }
        }
        features
    }
}

#[derive(Clone, Copy)]
struct Declared<'a, F> {
    features: F,
    experimental: Option<RawJson<'a>>,
    extensions: Option<RawJson<'a>>,
    tasks: Option<RawJson<'a>>,
}

impl<'a, F> Declared<'a, F> {
    /// Returns `extensions`, if the revision allows any of them.
    fn extensions(&self, revision: Revision) -> Option<Extensions<'a>> {
        let extensions = self.extensions?;
        let is_hidden = |id| !revision.is_modern() && is_modern_only(id);
        let mut members = extensions.members();
        (members.clone().next().is_none() || members.any(|(id, _)| !is_hidden(id)))
            .then_some(Extensions(extensions))
    }
}

/// The object `extensions`, without those that exist in 2026-07-28 only where the revision is
/// older.
struct Extensions<'a>(RawJson<'a>);

impl Encode for Extensions<'_> {
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

/// A capability: an object of those members that are declared.
struct Capability<const M: usize>([(&'static str, Option<RawJson<'static>>); M]);

impl<const M: usize> Encode for Capability<M> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (name, value) in &self.0 {
            if let Some(value) = value {
                to.member(name, value);
            }
        }
        to.end_object();
    }
}

impl Encode for Declared<'_, ServerFeatures> {
    fn encode(&self, to: &mut Encoder<'_>) {
        use ServerFeatures as C;
        let has = |bit| self.features.contains(bit);
        let flag = |bit| has(bit).then_some(const { RawJson::from_static("true") });
        let object = |bit| has(bit).then_some(RawJson::EMPTY);
        object!(to, {
            "tools"?: has(C::TOOLS)
                .then_some(Capability([("listChanged", flag(C::TOOLS_LIST_CHANGED))])),
            "resources"?: has(C::RESOURCES).then_some(Capability([
                ("subscribe", flag(C::RESOURCES_SUBSCRIBE)),
                ("listChanged", flag(C::RESOURCES_LIST_CHANGED)),
            ])),
            "prompts"?: has(C::PROMPTS)
                .then_some(Capability([("listChanged", flag(C::PROMPTS_LIST_CHANGED))])),
            "completions"? since V2025_03_26: object(C::COMPLETIONS),
            "logging"?: object(C::LOGGING),
            "experimental"?: self.experimental,
            "tasks"? only V2025_11_25: self.tasks,
            "extensions"? since V2025_06_18: self.extensions(to.revision()),
        });
    }
}

impl Encode for Declared<'_, ClientFeatures> {
    fn encode(&self, to: &mut Encoder<'_>) {
        use ClientFeatures as C;
        // Older revisions define neither tools and context of sampling nor modes of elicitation.
        let has_modes = to.revision() >= Revision::V2025_11_25;
        let has = |bit| self.features.contains(bit);
        let object = |bit| (has_modes && has(bit)).then_some(RawJson::EMPTY);
        // 2026-07-28 has no `notifications/roots/list_changed`.
        let list_changed = (has(C::ROOTS_LIST_CHANGED) && !to.revision().is_modern())
            .then_some(const { RawJson::from_static("true") });
        let elicitation = has(C::ELICITATION_FORM) || (has_modes && has(C::ELICITATION_URL));
        object!(to, {
            "roots"?: has(C::ROOTS).then_some(Capability([("listChanged", list_changed)])),
            "sampling"?: has(C::SAMPLING).then_some(Capability([
                ("tools", object(C::SAMPLING_TOOLS)),
                ("context", object(C::SAMPLING_CONTEXT)),
            ])),
            "elicitation"? since V2025_06_18: elicitation.then_some(Capability([
                ("form", object(C::ELICITATION_FORM)),
                ("url", object(C::ELICITATION_URL)),
            ])),
            "experimental"?: self.experimental,
            "tasks"? only V2025_11_25: self.tasks,
            "extensions"? since V2025_06_18: self.extensions(to.revision()),
        });
    }
}
