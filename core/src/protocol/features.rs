//! Capabilities as bit sets: one row each, with the revisions that define it.

use super::Revision;
use crate::encode::Encoder;
#[cfg(feature = "tasks")]
use crate::encode::object;
use crate::json::{JsonStr, RawJson};
#[cfg(feature = "skills")]
use crate::types::meta::SKILLS;
#[cfg(feature = "tasks")]
use crate::types::meta::TASKS;

/// Declares a bit set with the row `NAME = BITS, FIRST..=LAST;` for each capability. `BITS`
/// contains the bits of the capability that it refines. The rows behind `with "FEATURE"`
/// exist with this feature only.
macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$bit_doc:meta])* $bit:ident = $value:expr, $first:ident..=$last:ident;)*
        $(; with $feature:literal {
            $($(#[$extra_doc:meta])* $extra:ident = $extra_value:expr,
                $extra_first:ident..=$extra_last:ident;)*
        })*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(u16);

        impl $name {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*
            $($($(#[$extra_doc])* #[cfg(feature = $feature)]
            pub const $extra: Self = Self($extra_value);)*)*

            /// The members that each revision defines, oldest revision first.
            const DEFINED: [u16; 5] = {
                let mut defined = [0; 5];
                $({
                    let mut revision = Revision::$first as usize;
                    while revision <= Revision::$last as usize {
                        defined[revision] |= $value;
                        revision += 1;
                    }
                })*
                $($({
                    let mut revision = Revision::$extra_first as usize;
                    while revision <= Revision::$extra_last as usize {
                        defined[revision] |= $extra_value;
                        revision += 1;
                    }
                })*)*
                defined
            };

            /// Returns the members that `revision` defines.
            #[must_use]
            pub const fn known_in(self, revision: Revision) -> Self {
                Self(self.0 & Self::DEFINED[revision as usize])
            }

            /// Returns the union of both sets.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Whether the set contains all of `other`.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns the set without the members of `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Whether the set is empty.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut set = f.debug_set();
                $(if self.contains(Self::$bit) {
                    set.entry(&format_args!(stringify!($bit)));
                })*
                $($(#[cfg(feature = $feature)]
                if self.contains(Self::$extra) {
                    set.entry(&format_args!(stringify!($extra)));
                })*)*
                set.finish()
            }
        }
    };
}

bit_set! {
    /// Capabilities of a client that a server acts on. Unknown ones stay readable in the request's
    /// `_meta` or in the `initialize` event.
    ClientFeatures {
        /// `roots`.
        ROOTS = 1, V2024_11_05..=V2026_07_28;
        /// `roots.listChanged`, until 2025-11-25.
        ROOTS_LIST_CHANGED = 1 << 1 | 1, V2024_11_05..=V2025_11_25;
        /// `sampling`.
        SAMPLING = 1 << 2, V2024_11_05..=V2026_07_28;
        /// `sampling.tools`, since 2025-11-25.
        SAMPLING_TOOLS = 1 << 3 | 1 << 2, V2025_11_25..=V2026_07_28;
        /// `sampling.context`, since 2025-11-25.
        SAMPLING_CONTEXT = 1 << 4 | 1 << 2, V2025_11_25..=V2026_07_28;
        /// `elicitation` in form mode, since 2025-06-18; an empty `elicitation` object means this.
        ELICITATION_FORM = 1 << 5, V2025_06_18..=V2026_07_28;
        /// `elicitation.url`, since 2025-11-25.
        ELICITATION_URL = 1 << 6, V2025_11_25..=V2026_07_28;
        ; with "tasks" {
            /// The extension `io.modelcontextprotocol/tasks`: the client takes a task for the
            /// result of a call. In 2025-11-25 this needs no capability.
            TASKS = 1 << 7, V2026_07_28..=V2026_07_28;
            /// `tasks.requests.sampling.createMessage`: the client samples as a task. 2025-11-25.
            TASKS_SAMPLING = 1 << 8, V2025_11_25..=V2025_11_25;
            /// `tasks.requests.elicitation.create`: the client elicits as a task. 2025-11-25.
            TASKS_ELICITATION = 1 << 9, V2025_11_25..=V2025_11_25;
            /// `tasks.list` of a client. 2025-11-25.
            TASKS_LIST = 1 << 10, V2025_11_25..=V2025_11_25;
            /// `tasks.cancel` of a client. 2025-11-25.
            TASKS_CANCEL = 1 << 11, V2025_11_25..=V2025_11_25;
        }
    }
}

impl ClientFeatures {
    const ROWS: [Row; 8] = [
        Row("roots", Kind::Capability, Self::ROOTS.0),
        Row("listChanged", Kind::Flag, Self::ROOTS_LIST_CHANGED.0),
        Row("sampling", Kind::Capability, Self::SAMPLING.0),
        Row("tools", Kind::Object, Self::SAMPLING_TOOLS.0),
        Row("context", Kind::Object, Self::SAMPLING_CONTEXT.0),
        Row("elicitation", Kind::Capability, Self::ELICITATION_FORM.0 | Self::ELICITATION_URL.0),
        Row("form", Kind::Object, Self::ELICITATION_FORM.0),
        Row("url", Kind::Object, Self::ELICITATION_URL.0),
    ];

    /// Reads a `ClientCapabilities` object by the rules of `revision`.
    #[must_use]
    pub fn read(declared: RawJson<'_>, revision: Revision) -> Self {
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
        let set = set.with(of_client(declared, revision));
        set.known_in(revision)
    }

    /// Whether the extension for tasks is declared in 2026-07-28.
    pub(crate) const fn has_tasks(self) -> bool {
        #[cfg(feature = "tasks")]
        return self.contains(Self::TASKS);
        #[cfg(not(feature = "tasks"))]
        false
    }

    /// A client does not declare the extension for skills.
    pub(crate) const fn skills(self) -> Option<RawJson<'static>> {
        None
    }

    /// Writes the members of a `ClientCapabilities` object, but `extensions`.
    pub(crate) fn write_members(self, revision: Revision, to: &mut Encoder<'_>) {
        write_rows(&Self::ROWS, self.known_in(revision).0, revision, to);
        #[cfg(feature = "tasks")]
        write_client(self.known_in(revision), to);
    }

    /// Returns the capability that a request to the client needs; `None` for a method that no
    /// revision has.
    pub(crate) fn needed_for(method: JsonStr<'_>, params: Option<RawJson<'_>>) -> Option<Self> {
        let param = |key| params.and_then(|params| params.get(key));
        if method == "roots/list" {
            Some(Self::ROOTS)
        } else if method == "sampling/createMessage" {
            let tools = param("tools").is_some() || param("toolChoice").is_some();
            Some(if tools { Self::SAMPLING_TOOLS } else { Self::SAMPLING })
        } else if method == "elicitation/create" {
            let url = param("mode").and_then(RawJson::as_string).is_some_and(|mode| mode == "url");
            Some(if url { Self::ELICITATION_URL } else { Self::ELICITATION_FORM })
        } else {
            None
        }
    }
}

bit_set! {
    /// Capabilities of a server. Methods of undeclared capabilities are rejected with -32601.
    ServerFeatures {
        /// `tools`.
        TOOLS = 1, V2024_11_05..=V2026_07_28;
        /// `tools.listChanged`.
        TOOLS_LIST_CHANGED = 1 << 1 | 1, V2024_11_05..=V2026_07_28;
        /// `resources`.
        RESOURCES = 1 << 2, V2024_11_05..=V2026_07_28;
        /// `resources.subscribe`.
        RESOURCES_SUBSCRIBE = 1 << 3 | 1 << 2, V2024_11_05..=V2026_07_28;
        /// `resources.listChanged`.
        RESOURCES_LIST_CHANGED = 1 << 4 | 1 << 2, V2024_11_05..=V2026_07_28;
        /// `prompts`.
        PROMPTS = 1 << 5, V2024_11_05..=V2026_07_28;
        /// `prompts.listChanged`.
        PROMPTS_LIST_CHANGED = 1 << 6 | 1 << 5, V2024_11_05..=V2026_07_28;
        /// `completions`; declared since 2025-03-26.
        COMPLETIONS = 1 << 7, V2025_03_26..=V2026_07_28;
        /// `logging`.
        LOGGING = 1 << 8, V2024_11_05..=V2026_07_28;
        ; with "tasks" {
            /// Tools run as tasks: `tasks.requests.tools.call` in 2025-11-25, the extension
            /// `io.modelcontextprotocol/tasks` in 2026-07-28.
            TASKS = 1 << 9, V2025_11_25..=V2026_07_28;
            /// `tasks.list`, 2025-11-25. A server that cannot tell its clients apart should not
            /// declare it.
            TASKS_LIST = 1 << 10 | 1 << 9, V2025_11_25..=V2025_11_25;
            /// `tasks.cancel`, 2025-11-25.
            TASKS_CANCEL = 1 << 11 | 1 << 9, V2025_11_25..=V2025_11_25;
        }
        ; with "skills" {
            /// The extension `io.modelcontextprotocol/skills`, since 2025-06-18. It contains
            /// `resources`, without which a server may not declare it.
            SKILLS = 1 << 12 | 1 << 2, V2025_06_18..=V2026_07_28;
            /// The setting `directoryRead` of this extension: `resources/directory/read`.
            SKILLS_DIRECTORIES = 1 << 13 | 1 << 12 | 1 << 2, V2025_06_18..=V2026_07_28;
        }
    }
}

impl ServerFeatures {
    const ROWS: [Row; 9] = [
        Row("tools", Kind::Capability, Self::TOOLS.0),
        Row("listChanged", Kind::Flag, Self::TOOLS_LIST_CHANGED.0),
        Row("resources", Kind::Capability, Self::RESOURCES.0),
        Row("subscribe", Kind::Flag, Self::RESOURCES_SUBSCRIBE.0),
        Row("listChanged", Kind::Flag, Self::RESOURCES_LIST_CHANGED.0),
        Row("prompts", Kind::Capability, Self::PROMPTS.0),
        Row("listChanged", Kind::Flag, Self::PROMPTS_LIST_CHANGED.0),
        Row("completions", Kind::Capability, Self::COMPLETIONS.0),
        Row("logging", Kind::Capability, Self::LOGGING.0),
    ];

    /// Whether a client can subscribe to changes.
    pub(crate) const fn has_changes(self) -> bool {
        self.contains(Self::TOOLS_LIST_CHANGED)
            || self.contains(Self::RESOURCES_SUBSCRIBE)
            || self.contains(Self::RESOURCES_LIST_CHANGED)
            || self.contains(Self::PROMPTS_LIST_CHANGED)
            || self.has_tasks()
    }

    /// Whether clients can subscribe to something that a text names: a resource, or a task.
    #[cfg(feature = "alloc")]
    pub(crate) const fn has_names(self) -> bool {
        self.contains(Self::RESOURCES_SUBSCRIBE) || self.has_tasks()
    }

    /// Whether the extension for tasks is declared in 2026-07-28.
    pub(crate) const fn has_tasks(self) -> bool {
        #[cfg(feature = "tasks")]
        return self.contains(Self::TASKS);
        #[cfg(not(feature = "tasks"))]
        false
    }

    /// Returns the settings of the extension for skills, if it is declared.
    pub(crate) const fn skills(self) -> Option<RawJson<'static>> {
        #[cfg(feature = "skills")]
        return settings(self);
        #[cfg(not(feature = "skills"))]
        None
    }

    /// Reads a `ServerCapabilities` object. Only those for tasks depend on `revision`: methods
    /// that are older than their capability are offered by declaring it.
    #[cfg_attr(not(feature = "tasks"), expect(unused_variables))]
    pub(crate) fn read(declared: RawJson<'_>, revision: Revision) -> Self {
        let set = Self(read_rows(&Self::ROWS, declared));
        #[cfg(feature = "tasks")]
        let set = set.with(of_server(declared, revision));
        #[cfg(feature = "skills")]
        let set = if set.contains(Self::RESOURCES) { set.with(read(declared)) } else { set };
        set
    }

    /// Writes the members of a `ServerCapabilities` object, but `extensions`.
    pub(crate) fn write_members(self, revision: Revision, to: &mut Encoder<'_>) {
        write_rows(&Self::ROWS, self.known_in(revision).0, revision, to);
        #[cfg(feature = "tasks")]
        write_server(self.known_in(revision), to);
    }
}

/// A member of a capabilities object, or of the capability in the row above it, with its bits.
struct Row(&'static str, Kind, u16);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
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
            rest.find(|Row(name, kind, _)| *kind == Kind::Capability && key == **name)
        else {
            continue;
        };
        set |= bits;
        for (key, value) in value.members() {
            for Row(name, kind, bits) in rest.clone() {
                match kind {
                    Kind::Capability => break,
                    Kind::Flag if key == **name && value.as_str() == "true" => set |= bits,
                    Kind::Object if key == **name && value.is_object() => set |= bits,
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
            Kind::Capability => {
                if is_open {
                    to.end_object();
                }
                is_open = set & bits != 0 && to.key(name);
                if is_open {
                    to.begin_object();
                }
            }
            Kind::Flag if is_open && set & bits == *bits => {
                to.member(name, const { &RawJson::from_static("true") });
            }
            Kind::Object if is_open && set & bits == *bits && revision >= Revision::V2025_11_25 => {
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
fn of_client(declared: RawJson<'_>, revision: Revision) -> ClientFeatures {
    use ClientFeatures as C;
    let paths: [(&[&str], C); 5] = [
        (&["extensions", TASKS], C::TASKS),
        (&["tasks", "requests", "sampling", "createMessage"], C::TASKS_SAMPLING),
        (&["tasks", "requests", "elicitation", "create"], C::TASKS_ELICITATION),
        (&["tasks", "list"], C::TASKS_LIST),
        (&["tasks", "cancel"], C::TASKS_CANCEL),
    ];
    let known = paths.into_iter().filter(|(_, feature)| *feature == feature.known_in(revision));
    let found = known.filter(|(path, _)| has(declared, path));
    found.fold(C::NONE, |set, (_, feature)| set.with(feature))
}

#[cfg(feature = "tasks")]
fn of_server(declared: RawJson<'_>, revision: Revision) -> ServerFeatures {
    use ServerFeatures as S;
    if revision.is_modern() {
        return if has(declared, &["extensions", TASKS]) { S::TASKS } else { S::NONE };
    }
    if !has(declared, &["tasks", "requests", "tools", "call"]) {
        return S::NONE;
    }
    let features = [("list", S::TASKS_LIST), ("cancel", S::TASKS_CANCEL)];
    let found = features.into_iter().filter(|(key, _)| has(declared, &["tasks", key]));
    found.fold(S::TASKS, |set, (_, feature)| set.with(feature))
}

#[cfg(feature = "tasks")]
fn write_client(set: ClientFeatures, to: &mut Encoder<'_>) {
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
fn write_server(set: ServerFeatures, to: &mut Encoder<'_>) {
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
fn has(declared: RawJson<'_>, path: &[&str]) -> bool {
    let found = path.iter().try_fold(declared, |object, key| object.get(key));
    found.is_some_and(RawJson::is_object)
}

// The capability of the extension `io.modelcontextprotocol/skills`.

/// Reads a `ServerCapabilities` object.
#[cfg(feature = "skills")]
fn read(declared: RawJson<'_>) -> ServerFeatures {
    let extensions = declared.get("extensions").unwrap_or(RawJson::EMPTY);
    let Some(settings) = extensions.get(SKILLS).filter(|settings| settings.is_object()) else {
        return ServerFeatures::NONE;
    };
    let directories = settings.get("directoryRead").and_then(RawJson::as_bool) == Some(true);
    if directories { ServerFeatures::SKILLS_DIRECTORIES } else { ServerFeatures::SKILLS }
}

/// Returns the settings to declare.
#[cfg(feature = "skills")]
const fn settings(declared: ServerFeatures) -> Option<RawJson<'static>> {
    if declared.contains(ServerFeatures::SKILLS_DIRECTORIES) {
        Some(const { RawJson::from_static(r#"{"directoryRead":true}"#) })
    } else if declared.contains(ServerFeatures::SKILLS) {
        Some(RawJson::EMPTY)
    } else {
        None
    }
}
