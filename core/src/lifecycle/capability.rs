//! Capabilities as bit sets, and how each revision declares them.

use super::revision::Revision;
use crate::encode::{WriteError, Writer};
use crate::json::{JsonStr, RawJson};

macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$bit_doc:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(u16);

        impl $name {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

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
                $(if !Self::$bit.is_empty() && self.contains(Self::$bit) { set.entry(&format_args!(stringify!($bit))); })*
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
        ROOTS = 1;
        /// `roots.listChanged`, legacy.
        ROOTS_LIST_CHANGED = 1 << 1 | 1;
        /// `sampling`.
        SAMPLING = 1 << 2;
        /// `sampling.tools` (2025-11-25 on).
        SAMPLING_TOOLS = 1 << 3 | 1 << 2;
        /// `sampling.context` (2025-11-25 on).
        SAMPLING_CONTEXT = 1 << 4 | 1 << 2;
        /// `elicitation` in form mode (2025-06-18 on); an empty `elicitation` object means this.
        ELICITATION_FORM = 1 << 5;
        /// `elicitation.url` (2025-11-25 on).
        ELICITATION_URL = 1 << 6;
    }
}

impl ClientFeatures {
    /// Reads a `ClientCapabilities` object by the rules of `revision`.
    #[must_use]
    pub fn read(declared: RawJson<'_>, revision: Revision) -> Self {
        let mut set = Self::NONE;
        let refined = revision >= Revision::V2025_11_25;
        for (key, value) in declared.members().filter(|(_, value)| value.is_object()) {
            if key == "roots" {
                let list_changed = !revision.is_modern()
                    && value.get("listChanged").and_then(RawJson::as_bool) == Some(true);
                set = set.with(if list_changed { Self::ROOTS_LIST_CHANGED } else { Self::ROOTS });
            } else if key == "sampling" {
                set = set.with(Self::SAMPLING);
                if refined && value.get("tools").is_some_and(RawJson::is_object) {
                    set = set.with(Self::SAMPLING_TOOLS);
                }
                if refined && value.get("context").is_some_and(RawJson::is_object) {
                    set = set.with(Self::SAMPLING_CONTEXT);
                }
            } else if key == "elicitation" && revision >= Revision::V2025_06_18 {
                let url = refined && value.get("url").is_some_and(RawJson::is_object);
                if !url || value.get("form").is_some() {
                    set = set.with(Self::ELICITATION_FORM);
                }
                if url {
                    set = set.with(Self::ELICITATION_URL);
                }
            }
        }
        set
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

    /// Returns the capabilities of the set that `revision` has.
    pub(crate) const fn known_in(self, revision: Revision) -> Self {
        const EVERYWHERE: ClientFeatures =
            ClientFeatures::ROOTS_LIST_CHANGED.with(ClientFeatures::SAMPLING);
        const IN_MOST: ClientFeatures = EVERYWHERE.with(ClientFeatures::ELICITATION_FORM);
        let known = match revision {
            Revision::V2024_11_05 | Revision::V2025_03_26 => EVERYWHERE.0,
            Revision::V2025_06_18 => IN_MOST.0,
            Revision::V2025_11_25 => u16::MAX,
            Revision::V2026_07_28 => !(Self::ROOTS_LIST_CHANGED.0 & !Self::ROOTS.0),
        };
        Self(self.0 & known)
    }

    /// Writes the set as a `ClientCapabilities` object, for the data of a missing-capability error.
    pub(crate) fn write(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let mut first = true;
        let mut group = |writer: &mut Writer<'_>, head: &[u8], members: &[(Self, &[u8])]| {
            if !core::mem::take(&mut first) {
                writer.put(b",")?;
            }
            writer.put(head)?;
            let mut first = true;
            for (_, member) in members.iter().filter(|(bit, _)| self.contains(*bit)) {
                if !core::mem::take(&mut first) {
                    writer.put(b",")?;
                }
                writer.put(member)?;
            }
            writer.put(b"}")
        };
        writer.put(b"{")?;
        if self.contains(Self::ROOTS) {
            group(writer, b"\"roots\":{", &[])?;
        }
        if self.contains(Self::SAMPLING) {
            let members: &[(Self, &[u8])] = &[
                (Self::SAMPLING_TOOLS, b"\"tools\":{}"),
                (Self::SAMPLING_CONTEXT, b"\"context\":{}"),
            ];
            group(writer, b"\"sampling\":{", members)?;
        }
        if self.contains(Self::ELICITATION_FORM) || self.contains(Self::ELICITATION_URL) {
            let members: &[(Self, &[u8])] =
                &[(Self::ELICITATION_FORM, b"\"form\":{}"), (Self::ELICITATION_URL, b"\"url\":{}")];
            group(writer, b"\"elicitation\":{", members)?;
        }
        writer.put(b"}")
    }
}

bit_set! {
    /// Capabilities of a server. Methods of undeclared capabilities are rejected with -32601.
    ServerFeatures {
        /// `tools`.
        TOOLS = 1;
        /// `tools.listChanged`.
        TOOLS_LIST_CHANGED = 1 << 1 | 1;
        /// `resources`.
        RESOURCES = 1 << 2;
        /// `resources.subscribe`.
        RESOURCES_SUBSCRIBE = 1 << 3 | 1 << 2;
        /// `resources.listChanged`.
        RESOURCES_LIST_CHANGED = 1 << 4 | 1 << 2;
        /// `prompts`.
        PROMPTS = 1 << 5;
        /// `prompts.listChanged`.
        PROMPTS_LIST_CHANGED = 1 << 6 | 1 << 5;
        /// `completions` (declared from 2025-03-26 on).
        COMPLETIONS = 1 << 7;
        /// `logging`.
        LOGGING = 1 << 8;
    }
}
