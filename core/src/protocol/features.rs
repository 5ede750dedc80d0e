//! Capabilities as bit sets: one row each, with the revisions that define it.

use super::Revision;
use crate::json::{JsonStr, RawJson};

/// Declares a bit set with the row `NAME = BITS, FIRST..=LAST;` for each capability. `BITS`
/// contains the bits of the capability that it refines. A row with `in "FEATURE"` exists with this
/// feature only.
macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$bit_doc:meta])* $bit:ident $(in $feature:literal)? = $value:expr,
            $first:ident..=$last:ident;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[must_use]
        pub struct $name(pub(crate) u16);

        impl $name {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* $(#[cfg(feature = $feature)])?
            pub const $bit: Self = Self($value);)*

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
                defined
            };

            /// Returns the members that `revision` defines.
            pub const fn known_in(self, revision: Revision) -> Self {
                Self(self.0 & Self::DEFINED[revision as usize])
            }

            /// Returns the union of both sets.
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Whether the set contains all of `other`.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns the set without the members of `other`.
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Whether the set is empty.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns a number for [`from_bits`](Self::from_bits) of the same version.
            pub const fn bits(self) -> u32 {
                self.0 as u32
            }

            /// Returns the set of a number that [`bits`](Self::bits) has returned.
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits as u16)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut set = f.debug_set();
                $($(#[cfg(feature = $feature)])?
                if self.contains(Self::$bit) {
                    set.entry(&format_args!(stringify!($bit)));
                })*
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
        /// The extension `io.modelcontextprotocol/tasks`: the client takes a task for the
        /// result of a call. In 2025-11-25 this needs no capability.
        TASKS in "tasks" = 1 << 7, V2026_07_28..=V2026_07_28;
        /// `tasks.requests.sampling.createMessage`: the client samples as a task. 2025-11-25.
        TASKS_SAMPLING in "tasks" = 1 << 8, V2025_11_25..=V2025_11_25;
        /// `tasks.requests.elicitation.create`: the client elicits as a task. 2025-11-25.
        TASKS_ELICITATION in "tasks" = 1 << 9, V2025_11_25..=V2025_11_25;
        /// `tasks.list` of a client. 2025-11-25.
        TASKS_LIST in "tasks" = 1 << 10, V2025_11_25..=V2025_11_25;
        /// `tasks.cancel` of a client. 2025-11-25.
        TASKS_CANCEL in "tasks" = 1 << 11, V2025_11_25..=V2025_11_25;
    }
}

impl ClientFeatures {
    /// Whether the extension for tasks is declared in 2026-07-28.
    pub(crate) const fn has_tasks(self) -> bool {
        #[cfg(feature = "tasks")]
        return self.contains(Self::TASKS);
        #[cfg(not(feature = "tasks"))]
        false
    }

    /// Returns what a request that needs these capabilities also needs to be executed as a task
    /// (2025-11-25).
    pub(crate) const fn for_task(self, is_asked: bool) -> Self {
        #[cfg(feature = "tasks")]
        if is_asked {
            let samples = self.contains(Self::SAMPLING);
            return self.with(if samples { Self::TASKS_SAMPLING } else { Self::TASKS_ELICITATION });
        }
        let _ = is_asked;
        self
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
        /// Tools run as tasks: `tasks.requests.tools.call` in 2025-11-25, the extension
        /// `io.modelcontextprotocol/tasks` in 2026-07-28.
        TASKS in "tasks" = 1 << 9, V2025_11_25..=V2026_07_28;
        /// `tasks.list`, 2025-11-25. A server that cannot tell its clients apart should not
        /// declare it.
        TASKS_LIST in "tasks" = 1 << 10 | 1 << 9, V2025_11_25..=V2025_11_25;
        /// `tasks.cancel`, 2025-11-25.
        TASKS_CANCEL in "tasks" = 1 << 11 | 1 << 9, V2025_11_25..=V2025_11_25;
        /// The extension `io.modelcontextprotocol/skills`, since 2025-06-18. It contains
        /// `resources`, without which a server may not declare it.
        SKILLS in "skills" = 1 << 12 | 1 << 2, V2025_06_18..=V2026_07_28;
        /// The setting `directoryRead` of this extension: `resources/directory/read`.
        SKILLS_DIRECTORIES in "skills" = 1 << 13 | 1 << 12 | 1 << 2, V2025_06_18..=V2026_07_28;
    }
}

impl ServerFeatures {
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
}
