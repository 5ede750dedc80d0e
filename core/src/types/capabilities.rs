//! What each side declares that it can do.

use core::fmt;

use super::macros::with_serde;
use super::value::{Flags, Object, Payload, Value};
use crate::json::{RawJson, ReadError};
use crate::lifecycle::{ClientCapability, Revision, ServerCapability};

macro_rules! capabilities {
    ($(#[$meta:meta])* $name:ident of $bits:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name<'a>(Form<'a, $bits>);

        impl<'a> $name<'a> {
            /// These, and nothing else.
            #[must_use]
            pub const fn new(bits: $bits) -> Self {
                Self(Form::Own(Own { bits, experimental: None, extensions: None, tasks: None }))
            }

            /// With an object `experimental`. Without effect on what was read.
            #[must_use]
            pub const fn with_experimental(mut self, experimental: Option<RawJson<'a>>) -> Self {
                if let Form::Own(own) = &mut self.0 {
                    own.experimental = experimental;
                }
                self
            }

            /// With an object `extensions`: settings by the id of the extension. 2026-07-28. Without effect on what was read.
            #[must_use]
            pub const fn with_extensions(mut self, extensions: Option<RawJson<'a>>) -> Self {
                if let Form::Own(own) = &mut self.0 {
                    own.extensions = extensions;
                }
                self
            }

            /// With an object `tasks`. 2025-11-25 only. Without effect on what was read.
            #[must_use]
            pub const fn with_tasks(mut self, tasks: Option<RawJson<'a>>) -> Self {
                if let Form::Own(own) = &mut self.0 {
                    own.tasks = tasks;
                }
                self
            }

            /// The object, where it was read: with the members that this library does not know.
            #[must_use]
            pub const fn as_json(&self) -> Option<RawJson<'a>> {
                match self.0 {
                    Form::Own(_) => None,
                    Form::Json(raw) => Some(raw),
                }
            }

            /// Capabilities outside of the protocol, by name.
            #[must_use]
            pub fn experimental(&self) -> Option<RawJson<'a>> {
                match self.0 {
                    Form::Own(own) => own.experimental,
                    Form::Json(raw) => raw.get("experimental"),
                }
            }

            /// Settings of an extension, when it is declared. 2026-07-28.
            #[must_use]
            pub fn extension(&self, id: &str) -> Option<RawJson<'a>> {
                self.extensions()?.get(id)
            }

            /// Settings by the id of the extension. 2026-07-28.
            #[must_use]
            pub fn extensions(&self) -> Option<RawJson<'a>> {
                match self.0 {
                    Form::Own(own) => own.extensions,
                    Form::Json(raw) => raw.get("extensions"),
                }
            }

            /// What of tasks is supported. 2025-11-25 only.
            #[must_use]
            pub fn tasks(&self) -> Option<RawJson<'a>> {
                match self.0 {
                    Form::Own(own) => own.tasks,
                    Form::Json(raw) => raw.get("tasks"),
                }
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match &self.0 {
                    Form::Own(own) => own.bits.fmt(f),
                    Form::Json(raw) => fmt::Debug::fmt(raw, f),
                }
            }
        }

        impl<'a> Payload<'a> for $name<'a> {
            fn value(&self) -> Value<'_> {
                match &self.0 {
                    Form::Own(own) => Value::Object(own),
                    Form::Json(raw) => Value::Raw(*raw),
                }
            }

            fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
                if raw.is_object() { Ok(Self(Form::Json(raw))) } else { Err(ReadError::wrong("an object")) }
            }
        }

        with_serde! { $name<'a> }

        impl From<$bits> for $name<'_> {
            fn from(bits: $bits) -> Self {
                Self::new(bits)
            }
        }
    };
}

capabilities! {
    /// What a client can do. Schema type `ClientCapabilities`.
    ///
    /// Made of [`ClientCapability`] bits, of which each revision gets those that it knows, or read: then written again as it was.
    ClientCapabilities of ClientCapability
}

capabilities! {
    /// What a server can do. Schema type `ServerCapabilities`.
    ///
    /// Made of [`ServerCapability`] bits, of which each revision gets those that it knows, or read: then written again as it was.
    ServerCapabilities of ServerCapability
}

impl ClientCapabilities<'_> {
    /// Those that this library knows, as `revision` means them.
    #[must_use]
    pub fn bits(&self, revision: Revision) -> ClientCapability {
        match self.0 {
            Form::Own(own) => own.bits,
            Form::Json(raw) => ClientCapability::read(raw, revision),
        }
    }
}

impl ServerCapabilities<'_> {
    /// Those that this library knows.
    #[must_use]
    pub fn bits(&self) -> ServerCapability {
        use ServerCapability as C;
        let raw = match self.0 {
            Form::Own(own) => return own.bits,
            Form::Json(raw) => raw,
        };
        let mut bits = C::NONE;
        for (name, bit, flags) in [
            ("tools", C::TOOLS, [("listChanged", C::TOOLS_LIST_CHANGED), ("", C::NONE)]),
            ("resources", C::RESOURCES, [("listChanged", C::RESOURCES_LIST_CHANGED), ("subscribe", C::RESOURCES_SUBSCRIBE)]),
            ("prompts", C::PROMPTS, [("listChanged", C::PROMPTS_LIST_CHANGED), ("", C::NONE)]),
            ("completions", C::COMPLETIONS, [("", C::NONE); 2]),
            ("logging", C::LOGGING, [("", C::NONE); 2]),
        ] {
            let Some(declared) = raw.get(name).filter(|value| value.is_object()) else { continue };
            bits = bits.and(bit);
            for (flag, bit) in flags {
                if declared.get(flag).and_then(RawJson::as_bool) == Some(true) {
                    bits = bits.and(bit);
                }
            }
        }
        bits
    }
}

#[derive(Clone, Copy)]
enum Form<'a, B> {
    Own(Own<'a, B>),
    Json(RawJson<'a>),
}

#[derive(Clone, Copy)]
struct Own<'a, B> {
    bits: B,
    experimental: Option<RawJson<'a>>,
    extensions: Option<RawJson<'a>>,
    tasks: Option<RawJson<'a>>,
}

/// A member that is there when its bit is: an object with flags.
struct Group {
    bit: u16,
    flags: Flags,
}

const fn group(bit: u16, first: u16, names: &'static str, objects: bool) -> Group {
    Group { bit, flags: Flags { names, first, objects } }
}

fn value(group: &'static Group, bits: u16) -> Value<'static> {
    if bits & group.bit != 0 { Value::Flags(&group.flags, bits) } else { Value::Absent }
}

/// The place of each capability in the masks of this module.
const SERVER: [ServerCapability; 9] = {
    use ServerCapability as C;
    [
        C::TOOLS,
        C::TOOLS_LIST_CHANGED,
        C::RESOURCES,
        C::RESOURCES_SUBSCRIBE,
        C::RESOURCES_LIST_CHANGED,
        C::PROMPTS,
        C::PROMPTS_LIST_CHANGED,
        C::COMPLETIONS,
        C::LOGGING,
    ]
};

static SERVER_GROUPS: [Group; 5] = [
    group(1, 1 << 1, "listChanged", false),
    group(1 << 2, 1 << 3, "subscribe listChanged", false),
    group(1 << 5, 1 << 6, "listChanged", false),
    group(1 << 7, 0, "", false),
    group(1 << 8, 0, "", false),
];

impl Object for Own<'_, ServerCapability> {
    fn keys(&self) -> &'static str {
        "tools resources prompts completions:BE logging experimental tasks:DD extensions:EE"
    }

    fn field(&self, index: usize) -> Value<'_> {
        match SERVER_GROUPS.get(index) {
            Some(group) => value(group, mask(SERVER.iter().map(|bit| self.bits.contains(*bit)))),
            None => self.rest(index.wrapping_sub(SERVER_GROUPS.len())),
        }
    }
}

/// The place of each capability in the masks of this module.
const CLIENT: [ClientCapability; 7] = {
    use ClientCapability as C;
    [
        C::ROOTS,
        C::ROOTS_LIST_CHANGED,
        C::SAMPLING,
        C::SAMPLING_TOOLS,
        C::SAMPLING_CONTEXT,
        C::ELICITATION_FORM,
        C::ELICITATION_URL,
    ]
};
const FORM: u16 = 1 << 5;
const MODES: &str = "form:DE url:DE";

static CLIENT_GROUPS: [Group; 4] = [
    // Gone in 2026-07-28, as there is no notification any more.
    group(1, 1 << 1, "listChanged:AD", false),
    group(1 << 2, 1 << 3, "tools:DE context:DE", true),
    group(FORM, FORM, MODES, true),
    group(1 << 6, FORM, MODES, true),
];

impl Object for Own<'_, ClientCapability> {
    fn keys(&self) -> &'static str {
        // 2025-06-18 knows forms only, and no modes: it must not hear of one who has nothing but pages.
        "roots sampling elicitation:CE elicitation:DE experimental tasks:DD extensions:EE"
    }

    fn field(&self, index: usize) -> Value<'_> {
        let bits = mask(CLIENT.iter().map(|bit| self.bits.contains(*bit)));
        match CLIENT_GROUPS.get(index) {
            Some(_) if index == 3 && bits & FORM != 0 => Value::Absent,
            Some(group) => value(group, bits),
            None => self.rest(index.wrapping_sub(CLIENT_GROUPS.len())),
        }
    }
}

fn mask(bits: impl Iterator<Item = bool>) -> u16 {
    bits.enumerate().fold(0, |mask, (place, set)| mask | u16::from(set) << place)
}

impl<B> Own<'_, B> {
    fn rest(&self, index: usize) -> Value<'_> {
        let value = match index {
            0 => self.experimental,
            1 => self.tasks,
            _ => self.extensions,
        };
        value.map_or(Value::Absent, Value::Raw)
    }
}
