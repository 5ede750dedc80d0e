//! Capabilities as bit sets: one row each, with the revisions that define it.

use super::revision::Revision;
use crate::encode::{Encoder, object};
use crate::json::{JsonStr, RawJson};

/// Declares a bit set with the row `NAME = BITS, FIRST..=LAST;` for each capability. `BITS`
/// contains the bits of the capability that it refines.
macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$bit_doc:meta])* $bit:ident = $value:expr, $first:ident..=$last:ident;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(u16);

        impl $name {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

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
    }
}

impl ClientFeatures {
    /// Reads a `ClientCapabilities` object by the rules of `revision`.
    #[must_use]
    pub fn read(declared: RawJson<'_>, revision: Revision) -> Self {
        let mut set = Self::NONE;
        let has = |value: RawJson<'_>, member| value.get(member).is_some_and(RawJson::is_object);
        for (key, value) in declared.members().filter(|(_, value)| value.is_object()) {
            if key == "roots" {
                let list_changed = value.get("listChanged").and_then(RawJson::as_bool);
                let with_changes = list_changed == Some(true);
                set = set.with(if with_changes { Self::ROOTS_LIST_CHANGED } else { Self::ROOTS });
            } else if key == "sampling" {
                set = set.with(Self::SAMPLING);
                if has(value, "tools") {
                    set = set.with(Self::SAMPLING_TOOLS);
                }
                if has(value, "context") {
                    set = set.with(Self::SAMPLING_CONTEXT);
                }
            } else if key == "elicitation" {
                // Before 2025-11-25 there is one mode, whatever the members are.
                let url = revision >= Revision::V2025_11_25 && has(value, "url");
                if !url || value.get("form").is_some() {
                    set = set.with(Self::ELICITATION_FORM);
                }
                if url {
                    set = set.with(Self::ELICITATION_URL);
                }
            }
        }
        set.known_in(revision)
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

    /// Writes the set as a `ClientCapabilities` object, for the data of a missing-capability error.
    pub(crate) fn encode(self, to: &mut Encoder<'_>) {
        let object = |bit| self.contains(bit).then_some(RawJson::EMPTY);
        let sampling = object!({
            "tools"?: object(Self::SAMPLING_TOOLS),
            "context"?: object(Self::SAMPLING_CONTEXT),
        });
        let elicitation = object!({
            "form"?: object(Self::ELICITATION_FORM),
            "url"?: object(Self::ELICITATION_URL),
        });
        let has_elicitation =
            self.contains(Self::ELICITATION_FORM) || self.contains(Self::ELICITATION_URL);
        object!(to, {
            "roots"?: object(Self::ROOTS),
            "sampling"?: self.contains(Self::SAMPLING).then_some(sampling),
            "elicitation"?: has_elicitation.then_some(elicitation),
        });
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
    }
}
