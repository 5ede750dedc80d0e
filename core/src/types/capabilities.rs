//! Capabilities of clients and servers, and the extensions that they declare.

use core::fmt;

use super::common::Source;
use super::macros::wrong;
use super::meta::{SKILLS, TASKS, is_modern_only};
use super::ui;
use crate::encode::{Encode, Encoder, object};
use crate::json::{JsonStr, RawJson};
use crate::protocol::{ClientFeatures, Revision, ServerFeatures};
use serde::{Deserialize, Deserializer};

macro_rules! capabilities {
    ($(#[$meta:meta])* $name:ident of $features:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[must_use]
        pub struct $name<'a>(Source<Declared<'a, $features>, RawJson<'a>>);

        impl<'a> $name<'a> {
            /// Declares `features` and nothing else.
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
            pub const fn experimental(mut self, experimental: RawJson<'a>) -> Self {
                if let Source::Own(own) = &mut self.0 {
                    own.experimental = Some(experimental);
                }
                self
            }

            /// Sets the member `extensions`: an object of settings, keyed by the id of the
            /// extension. Since 2025-06-18; `io.modelcontextprotocol/tasks` is written for
            /// 2026-07-28 only. No effect on received capabilities.
            pub const fn extensions(mut self, extensions: RawJson<'a>) -> Self {
                if let Source::Own(own) = &mut self.0 {
                    own.extensions = Some(DeclaredExtensions::new(extensions));
                }
                self
            }

            /// Returns the received object, which may have members unknown to this library.
            pub const fn as_json(&self) -> Option<RawJson<'a>> {
                self.0.received()
            }

            /// Returns the settings of the extension `id`, if it is declared. Reads received
            /// capabilities of every revision, since an older peer may declare extensions, too.
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
    pub fn features(&self, revision: Revision) -> ClientFeatures {
        match self.0 {
            Source::Own(own) => own.features,
            Source::Received(raw) => ClientFeatures::read(raw, revision),
        }
    }

    /// Returns the settings of a client that supports pages (MCP Apps).
    pub fn ui(&self) -> Option<ui::ClientCapabilities<'a>> {
        self.extension(ui::EXTENSION_ID)?.to().ok()
    }
}

impl ServerCapabilities<'_> {
    /// Returns the declared features that this library knows, as `revision` defines them.
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
    let has_tasks = has_tasks && to.revision().is_modern();
    let skills = skills.filter(|_| to.revision() >= Revision::V2025_06_18);
    match extensions {
        Some(DeclaredExtensions { object, write }) => write(object, has_tasks, skills, to),
        None if (has_tasks || skills.is_some()) && to.key("extensions") => {
            to.begin_object();
            write_own_extensions(has_tasks, skills, to);
            to.end_object();
        }
        None => {}
    }
}

fn write_own_extensions(has_tasks: bool, skills: Option<RawJson<'_>>, to: &mut Encoder<'_>) {
    if has_tasks {
        to.member(TASKS, &RawJson::EMPTY);
    }
    if let Some(skills) = skills {
        to.member(SKILLS, &skills);
    }
}

// The extensions that capabilities declare.

/// The object `extensions` of declared capabilities: settings, keyed by the id of the extension.
/// Since 2025-06-18.
#[derive(Clone, Copy)]
pub struct DeclaredExtensions<'a> {
    object: RawJson<'a>,
    /// Function pointer, so that the code is linked only where extensions are declared.
    write: fn(RawJson<'_>, bool, Option<RawJson<'_>>, &mut Encoder<'_>),
}

impl<'a> DeclaredExtensions<'a> {
    /// Creates it from the object.
    pub const fn new(object: RawJson<'a>) -> Self {
        Self { object, write: write_extension_object }
    }

    /// Returns the object.
    pub const fn as_json(&self) -> RawJson<'a> {
        self.object
    }
}

impl fmt::Debug for DeclaredExtensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

/// Writes the member, if the revision has any of them: without those that exist in 2026-07-28 only
/// where it is older, and without those that follow.
fn write_extension_object(
    object: RawJson<'_>,
    has_tasks: bool,
    skills: Option<RawJson<'_>>,
    to: &mut Encoder<'_>,
) {
    let revision = to.revision();
    let is_kept = |id: JsonStr<'_>| {
        let is_known = revision.is_modern() || !is_modern_only(id);
        is_known && !(has_tasks && id == TASKS) && !(skills.is_some() && id == SKILLS)
    };
    let has_own = has_tasks || skills.is_some();
    let is_whole = !has_own && object.members().all(|(id, _)| is_kept(id));
    let has_any = has_own || is_whole || object.members().any(|(id, _)| is_kept(id));
    if !has_any || revision < Revision::V2025_06_18 || !to.key("extensions") {
        return;
    }
    if is_whole {
        return to.raw(object);
    }
    to.begin_object();
    for (id, settings) in object.members().filter(|(id, _)| is_kept(*id)) {
        if to.key_json(id) {
            to.raw(settings);
        }
    }
    write_own_extensions(has_tasks, skills, to);
    to.end_object();
}

impl ClientFeatures {
    const ROWS: [Row; 8] = [
        Row("roots", RowKind::Capability, Self::ROOTS.0),
        Row("listChanged", RowKind::Flag, Self::ROOTS_LIST_CHANGED.0),
        Row("sampling", RowKind::Capability, Self::SAMPLING.0),
        Row("tools", RowKind::Object, Self::SAMPLING_TOOLS.0),
        Row("context", RowKind::Object, Self::SAMPLING_CONTEXT.0),
        Row("elicitation", RowKind::Capability, Self::ELICITATION_FORM.0 | Self::ELICITATION_URL.0),
        Row("form", RowKind::Object, Self::ELICITATION_FORM.0),
        Row("url", RowKind::Object, Self::ELICITATION_URL.0),
    ];

    /// Reads a `ClientCapabilities` object by the rules of `revision`.
    pub fn read(declared: RawJson<'_>, revision: Revision) -> Self {
        // Each request of 2026-07-28 declares them, and most clients have none.
        if cfg!(not(small)) && declared.as_str() == "{}" {
            return Self::NONE;
        }
        let mut set = Self(read_rows(&Self::ROWS, declared));
        if set.contains(Self::ELICITATION_FORM) {
            let modes = declared.get("elicitation").unwrap_or(RawJson::EMPTY);
            // Before 2025-11-25 there is one mode, whatever the members are.
            let url = revision >= Revision::V2025_11_25
                && modes.get("url").is_some_and(RawJson::is_object);
            if !url {
                set = set.without(Self::ELICITATION_URL);
            } else if modes.get("form").is_none() {
                set = set.without(Self::ELICITATION_FORM);
            }
        }
        #[cfg(feature = "tasks")]
        let set = set.with(read_client_tasks(declared, revision));
        set.known_in(revision)
    }

    /// A client does not declare the extension for skills.
    pub(crate) const fn skills(self) -> Option<RawJson<'static>> {
        None
    }

    /// Writes the members of a `ClientCapabilities` object, but `extensions`.
    pub(crate) fn write_members(self, revision: Revision, to: &mut Encoder<'_>) {
        write_rows(&Self::ROWS, self.known_in(revision).0, revision, to);
        #[cfg(feature = "tasks")]
        write_client_tasks(self.known_in(revision), to);
    }
}

impl ServerFeatures {
    const ROWS: [Row; 9] = [
        Row("tools", RowKind::Capability, Self::TOOLS.0),
        Row("listChanged", RowKind::Flag, Self::TOOLS_LIST_CHANGED.0),
        Row("resources", RowKind::Capability, Self::RESOURCES.0),
        Row("subscribe", RowKind::Flag, Self::RESOURCES_SUBSCRIBE.0),
        Row("listChanged", RowKind::Flag, Self::RESOURCES_LIST_CHANGED.0),
        Row("prompts", RowKind::Capability, Self::PROMPTS.0),
        Row("listChanged", RowKind::Flag, Self::PROMPTS_LIST_CHANGED.0),
        Row("completions", RowKind::Capability, Self::COMPLETIONS.0),
        Row("logging", RowKind::Capability, Self::LOGGING.0),
    ];

    /// Returns the settings of the extension for skills, if it is declared.
    pub(crate) const fn skills(self) -> Option<RawJson<'static>> {
        #[cfg(feature = "skills")]
        return skills_settings(self);
        #[cfg(not(feature = "skills"))]
        None
    }

    /// Reads a `ServerCapabilities` object. Only those for tasks depend on `revision`: methods
    /// that are older than their capability are offered by declaring it.
    #[cfg_attr(not(feature = "tasks"), expect(unused_variables))]
    pub(crate) fn read(declared: RawJson<'_>, revision: Revision) -> Self {
        let set = Self(read_rows(&Self::ROWS, declared));
        #[cfg(feature = "tasks")]
        let set = set.with(read_server_tasks(declared, revision));
        #[cfg(feature = "skills")]
        let set = if set.contains(Self::RESOURCES) { set.with(read_skills(declared)) } else { set };
        set
    }

    /// Writes the members of a `ServerCapabilities` object, but `extensions`.
    pub(crate) fn write_members(self, revision: Revision, to: &mut Encoder<'_>) {
        write_rows(&Self::ROWS, self.known_in(revision).0, revision, to);
        #[cfg(feature = "tasks")]
        write_server_tasks(self.known_in(revision), to);
    }
}

/// A member of a capabilities object, or of the capability in the row above it, with its bits.
struct Row(&'static str, RowKind, u16);

#[derive(Clone, Copy, PartialEq)]
enum RowKind {
    /// An object, whose members are the rows below.
    Capability,
    /// `true`, if declared.
    Flag,
    /// An empty object. Since 2025-11-25.
    Object,
}

/// Reads an object once, and each capability in it once: most declare few of them.
fn read_rows(rows: &[Row], declared: RawJson<'_>) -> u16 {
    let mut set = 0;
    for (key, value) in declared.members().filter(|(_, value)| value.is_object()) {
        let mut rest = rows.iter();
        let Some(Row(_, _, bits)) =
            rest.find(|Row(name, kind, _)| *kind == RowKind::Capability && key == **name)
        else {
            continue;
        };
        set |= bits;
        for (key, value) in value.members() {
            for Row(name, kind, bits) in rest.clone() {
                match kind {
                    RowKind::Capability => break,
                    RowKind::Flag if key == **name && value.as_str() == "true" => set |= bits,
                    RowKind::Object if key == **name && value.is_object() => set |= bits,
                    _ => {}
                }
            }
        }
    }
    set
}

/// Writes the members that `set` contains; of a capability, any of its bits.
fn write_rows(rows: &[Row], set: u16, revision: Revision, to: &mut Encoder<'_>) {
    let mut is_open = false;
    for Row(name, kind, bits) in rows {
        match kind {
            RowKind::Capability => {
                if is_open {
                    to.end_object();
                }
                is_open = set & bits != 0 && to.key(name);
                if is_open {
                    to.begin_object();
                }
            }
            RowKind::Flag if is_open && set & bits == *bits => {
                to.member(name, const { &RawJson::from_static("true") });
            }
            RowKind::Object
                if is_open && set & bits == *bits && revision >= Revision::V2025_11_25 =>
            {
                to.member(name, &RawJson::EMPTY);
            }
            _ => {}
        }
    }
    if is_open {
        to.end_object();
    }
}

// Capabilities for tasks: the member `tasks` in 2025-11-25, an extension in 2026-07-28.

#[cfg(feature = "tasks")]
fn read_client_tasks(declared: RawJson<'_>, revision: Revision) -> ClientFeatures {
    use ClientFeatures as C;
    let paths: [(&[&str], C); 5] = [
        (&["extensions", TASKS], C::TASKS),
        (&["tasks", "requests", "sampling", "createMessage"], C::TASKS_SAMPLING),
        (&["tasks", "requests", "elicitation", "create"], C::TASKS_ELICITATION),
        (&["tasks", "list"], C::TASKS_LIST),
        (&["tasks", "cancel"], C::TASKS_CANCEL),
    ];
    let known = paths.into_iter().filter(|(_, feature)| *feature == feature.known_in(revision));
    let found = known.filter(|(path, _)| has_object(declared, path));
    found.fold(C::NONE, |set, (_, feature)| set.with(feature))
}

#[cfg(feature = "tasks")]
fn read_server_tasks(declared: RawJson<'_>, revision: Revision) -> ServerFeatures {
    use ServerFeatures as S;
    if revision.is_modern() {
        return if has_object(declared, &["extensions", TASKS]) { S::TASKS } else { S::NONE };
    }
    if !has_object(declared, &["tasks", "requests", "tools", "call"]) {
        return S::NONE;
    }
    let features = [("list", S::TASKS_LIST), ("cancel", S::TASKS_CANCEL)];
    let found = features.into_iter().filter(|(key, _)| has_object(declared, &["tasks", key]));
    found.fold(S::TASKS, |set, (_, feature)| set.with(feature))
}

#[cfg(feature = "tasks")]
fn write_client_tasks(set: ClientFeatures, to: &mut Encoder<'_>) {
    use ClientFeatures as C;
    if !set.contains(C::TASKS_SAMPLING) && !set.contains(C::TASKS_ELICITATION) {
        return;
    }
    let has = |feature| set.contains(feature).then_some(RawJson::EMPTY);
    let sampling = object!({ "createMessage": RawJson::EMPTY });
    let elicitation = object!({ "create": RawJson::EMPTY });
    let requests = object!({
        "sampling"?: set.contains(C::TASKS_SAMPLING).then_some(&sampling),
        "elicitation"?: set.contains(C::TASKS_ELICITATION).then_some(&elicitation),
    });
    object!(@member to "tasks": object!({
        "list"?: has(C::TASKS_LIST),
        "cancel"?: has(C::TASKS_CANCEL),
        "requests": requests,
    }));
}

#[cfg(feature = "tasks")]
fn write_server_tasks(set: ServerFeatures, to: &mut Encoder<'_>) {
    use ServerFeatures as S;
    if !set.contains(S::TASKS) {
        return;
    }
    let has = |feature| set.contains(feature).then_some(RawJson::EMPTY);
    let tools = object!({ "call": RawJson::EMPTY });
    let requests = object!({ "tools": tools });
    let tasks = object!({
        "list"?: has(S::TASKS_LIST),
        "cancel"?: has(S::TASKS_CANCEL),
        "requests": requests,
    });
    object!(@member to "tasks" only V2025_11_25: tasks);
}

/// Whether the members on this path are objects.
#[cfg(feature = "tasks")]
fn has_object(declared: RawJson<'_>, path: &[&str]) -> bool {
    let found = path.iter().try_fold(declared, |object, key| object.get(key));
    found.is_some_and(RawJson::is_object)
}

// The capability of the extension `io.modelcontextprotocol/skills`.

#[cfg(feature = "skills")]
fn read_skills(declared: RawJson<'_>) -> ServerFeatures {
    let extensions = declared.get("extensions").unwrap_or(RawJson::EMPTY);
    let Some(settings) = extensions.get(SKILLS).filter(|settings| settings.is_object()) else {
        return ServerFeatures::NONE;
    };
    let directories = settings.get("directoryRead").and_then(RawJson::as_bool) == Some(true);
    if directories { ServerFeatures::SKILLS_DIRECTORIES } else { ServerFeatures::SKILLS }
}

/// Returns the settings to declare.
#[cfg(feature = "skills")]
const fn skills_settings(declared: ServerFeatures) -> Option<RawJson<'static>> {
    if declared.contains(ServerFeatures::SKILLS_DIRECTORIES) {
        Some(const { RawJson::from_static(r#"{"directoryRead":true}"#) })
    } else if declared.contains(ServerFeatures::SKILLS) {
        Some(RawJson::EMPTY)
    } else {
        None
    }
}
