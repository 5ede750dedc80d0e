//! Capabilities of clients and servers.

use core::fmt;

use serde::{Deserialize, Deserializer};

use crate::encode::older::{Absent, OrElse};
use crate::encode::tell::{Tell, Teller, serialize_told};
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

        impl Tell for $name<'_> {
            fn tell(&self, to: &mut dyn Teller) {
                match &self.0 {
                    Source::Own(own) => own.tell(to),
                    Source::Received(raw) => to.json(*raw),
                }
            }
        }

        serialize_told!($name<'_>);

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

/// The object `extensions`, without those that exist in 2026-07-28 only where the revision is
/// older.
struct Extensions<'a>(RawJson<'a>);

impl Tell for Extensions<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        if self.0.members().any(|(id, _)| is_modern_only(id)) {
            to.or_else("$mcp?EE", &self.0, &SessionExtensions(self.0));
        } else {
            to.json(self.0);
        }
    }
}

/// The extensions that a session may declare; omitted if there are none.
struct SessionExtensions<'a>(RawJson<'a>);

impl Tell for SessionExtensions<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        let members = self.0.members().filter(|(id, _)| !is_modern_only(*id));
        if members.clone().next().is_none() {
            return;
        }
        to.open(b'{');
        for (id, settings) in members {
            to.item(&RawJson::from(id));
            to.item(&settings);
        }
        to.close();
    }
}

/// An object of optional members.
struct Members<'x>(&'static str, &'x [&'x dyn Tell]);

impl Tell for Members<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.object(self.0, self.1);
    }
}

/// `{}`
const EMPTY: Members<'static> = Members("", &[]);

impl Tell for Declared<'_, ServerFeatures> {
    fn tell(&self, to: &mut dyn Teller) {
        use ServerFeatures as C;
        let has = |bit| self.features.contains(bit);
        let on = |bit| has(bit).then_some(true);
        let object = |bit| has(bit).then_some(EMPTY);
        to.object(
            "tools,resources,prompts,completions:BE,logging,experimental,tasks:DD,extensions:CE,",
            &[
                &has(C::TOOLS).then_some(Members("listChanged,", &[&on(C::TOOLS_LIST_CHANGED)])),
                &has(C::RESOURCES).then_some(Members(
                    "subscribe,listChanged,",
                    &[&on(C::RESOURCES_SUBSCRIBE), &on(C::RESOURCES_LIST_CHANGED)],
                )),
                &has(C::PROMPTS)
                    .then_some(Members("listChanged,", &[&on(C::PROMPTS_LIST_CHANGED)])),
                &object(C::COMPLETIONS),
                &object(C::LOGGING),
                &self.experimental,
                &self.tasks,
                &self.extensions.map(Extensions),
            ],
        );
    }
}

impl Tell for Declared<'_, ClientFeatures> {
    fn tell(&self, to: &mut dyn Teller) {
        use ClientFeatures as C;
        let has = |bit| self.features.contains(bit);
        let object = |bit| has(bit).then_some(EMPTY);
        let (tools, context) = (object(C::SAMPLING_TOOLS), object(C::SAMPLING_CONTEXT));
        let (form, url) = (object(C::ELICITATION_FORM), object(C::ELICITATION_URL));
        // 2025-06-18 defines form mode only, declared by an empty object.
        let modes: [&dyn Tell; 2] = [&form, &url];
        let modes = Members("form,url,", &modes);
        let (with_form, url_only) =
            (OrElse("$mcp?DE", &modes, &EMPTY), OrElse("$mcp?DE", &modes, &Absent));
        to.object(
            "roots,sampling,elicitation:CE,elicitation,experimental,tasks:DD,extensions:CE,",
            &[
                // 2026-07-28 has no `notifications/roots/list_changed`.
                &has(C::ROOTS).then_some(OrElse(
                    "$mcp?AD",
                    &Members("listChanged,", &[&has(C::ROOTS_LIST_CHANGED).then_some(true)]),
                    &EMPTY,
                )),
                &has(C::SAMPLING).then_some(OrElse(
                    "$mcp?DE",
                    &Members("tools,context,", &[&tools, &context]),
                    &EMPTY,
                )),
                &form.is_some().then_some(with_form),
                &(form.is_none() && url.is_some()).then_some(url_only),
                &self.experimental,
                &self.tasks,
                &self.extensions.map(Extensions),
            ],
        );
    }
}
