//! What each side declares that it can do.

use core::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::macros::wrong;
use super::older::{Absent, Known, OrElse};
use crate::json::RawJson;
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

        impl Serialize for $name<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    Form::Own(own) => own.serialize(serializer),
                    Form::Json(raw) => raw.serialize(serializer),
                }
            }
        }

        impl<'de: 'a, 'a> Deserialize<'de> for $name<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = RawJson::deserialize(deserializer)?;
                if raw.is_object() { Ok(Self(Form::Json(raw))) } else { Err(wrong(&"an object")) }
            }
        }

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

impl<B: Copy> Own<'_, B> {
    fn rest<S: serde::ser::SerializeStruct>(&self, object: &mut S) -> Result<(), S::Error> {
        if let Some(experimental) = &self.experimental {
            object.serialize_field("experimental", experimental)?;
        }
        if let Some(tasks) = &self.tasks {
            object.serialize_field("tasks", &Known("$mcp:DD", tasks))?;
        }
        if let Some(extensions) = &self.extensions {
            object.serialize_field("extensions", &Known("$mcp:EE", extensions))?;
        }
        Ok(())
    }
}

/// An object whose members are only there when they are true, or empty objects.
struct Flags<'x>(&'x [(&'static str, Flag)]);

#[derive(Clone, Copy)]
enum Flag {
    Off,
    True,
    Object,
}

const fn flag(on: bool, flag: Flag) -> Flag {
    if on { flag } else { Flag::Off }
}

impl Serialize for Flags<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Capability", 1)?;
        for (name, flag) in self.0 {
            match flag {
                Flag::Off => {}
                Flag::True => object.serialize_field(name, &true)?,
                Flag::Object => object.serialize_field(name, &Flags(&[]))?,
            }
        }
        object.end()
    }
}

impl Serialize for Own<'_, ServerCapability> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use ServerCapability as C;
        let has = |bit| self.bits.contains(bit);
        let mut object = serializer.serialize_struct("ServerCapabilities", 1)?;
        if has(C::TOOLS) {
            object.serialize_field("tools", &Flags(&[("listChanged", flag(has(C::TOOLS_LIST_CHANGED), Flag::True))]))?;
        }
        if has(C::RESOURCES) {
            let subscribe = ("subscribe", flag(has(C::RESOURCES_SUBSCRIBE), Flag::True));
            let list_changed = ("listChanged", flag(has(C::RESOURCES_LIST_CHANGED), Flag::True));
            object.serialize_field("resources", &Flags(&[subscribe, list_changed]))?;
        }
        if has(C::PROMPTS) {
            object.serialize_field("prompts", &Flags(&[("listChanged", flag(has(C::PROMPTS_LIST_CHANGED), Flag::True))]))?;
        }
        if has(C::COMPLETIONS) {
            object.serialize_field("completions", &Known("$mcp:BE", &Flags(&[])))?;
        }
        if has(C::LOGGING) {
            object.serialize_field("logging", &Flags(&[]))?;
        }
        self.rest(&mut object)?;
        object.end()
    }
}

impl Serialize for Own<'_, ClientCapability> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use ClientCapability as C;
        let has = |bit| self.bits.contains(bit);
        let mut object = serializer.serialize_struct("ClientCapabilities", 1)?;
        if has(C::ROOTS) {
            let list_changed = [("listChanged", flag(has(C::ROOTS_LIST_CHANGED), Flag::True))];
            // Gone in 2026-07-28, as there is no notification any more.
            object.serialize_field("roots", &OrElse("$mcp?AD", &Flags(&list_changed), &Flags(&[])))?;
        }
        if has(C::SAMPLING) {
            let tools = ("tools", flag(has(C::SAMPLING_TOOLS), Flag::Object));
            let context = ("context", flag(has(C::SAMPLING_CONTEXT), Flag::Object));
            object.serialize_field("sampling", &OrElse("$mcp?DE", &Flags(&[tools, context]), &Flags(&[])))?;
        }
        let (form, url) = (has(C::ELICITATION_FORM), has(C::ELICITATION_URL));
        if form || url {
            let modes = [("form", flag(form, Flag::Object)), ("url", flag(url, Flag::Object))];
            let modes = Flags(&modes);
            // 2025-06-18 knows forms only, and no modes.
            if form {
                object.serialize_field("elicitation", &Known("$mcp:CE", &OrElse("$mcp?DE", &modes, &Flags(&[]))))?;
            } else {
                object.serialize_field("elicitation", &OrElse("$mcp?DE", &modes, &Absent))?;
            }
        }
        self.rest(&mut object)?;
        object.end()
    }
}
