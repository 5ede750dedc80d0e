//! Tools: what a model can have a server do.

use serde::{Serialize, Serializer};

use super::encode::macros::{Tag, names, payload};
use super::encode::older::{Absent, OrElse};
use super::encode::tell::{Object, Tell, Teller, payload_told};
use super::encode::told::Told;
use super::{CacheScope, ContentBlock, Icon, InputResponses, List, TaskMetadata, Text};
use crate::json::RawJson;
use crate::lifecycle::Revision;

payload! {
    /// A tool. Schema type `Tool`.
    pub struct Tool<'a> {
        new {
            /// Unique within the server: at most 128 of `A-Z a-z 0-9 _ - .`.
            "name" name: text;
            /// JSON Schema of the arguments, with `"type": "object"`. Kept as it is, unknown keywords included.
            "inputSchema" input_schema: object;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
            /// What it does, for the model.
            "description" description: text;
            /// Pictures of it. From 2025-11-25 on.
            "icons" icons: list(Icon<'a>), in DE;
            /// JSON Schema of the structured result. From 2025-06-18 on; before 2026-07-28 only one with `"type": "object"`.
            "outputSchema" output_schema: object, in CE, via ObjectSchema;
            /// What it does to the world. From 2025-03-26 on.
            "annotations" annotations: of(ToolAnnotations<'a>), in BE;
            /// How it can be run. 2025-11-25 only.
            "execution" execution: of(ToolExecution), in DD;
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

/// A schema that before 2026-07-28 had to be one of an object, and is left out where it is not.
struct ObjectSchema<'x, 'a>(&'x RawJson<'a>);

impl Serialize for ObjectSchema<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known =
            self.0.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object");
        if known {
            self.0.serialize(serializer)
        } else {
            OrElse("$mcp?EE", self.0, &Absent).serialize(serializer)
        }
    }
}

impl Tell for ObjectSchema<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        let known =
            self.0.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object");
        if known { to.json(*self.0) } else { to.or_else("$mcp?EE", self.0, &Absent) }
    }
}

payload! {
    /// What a tool says it does to the world: hints, not to be trusted. From 2025-03-26 on, schema type `ToolAnnotations`.
    pub struct ToolAnnotations<'a> {
        new {}
        with {
            /// The name for people.
            "title" title: text;
            /// It changes nothing. Default: false.
            "readOnlyHint" read_only_hint: of(bool);
            /// It may destroy something. Default: true.
            "destructiveHint" destructive_hint: of(bool);
            /// Calling it again with the same arguments changes nothing more. Default: false.
            "idempotentHint" idempotent_hint: of(bool);
            /// It deals with things outside of the server. Default: true.
            "openWorldHint" open_world_hint: of(bool);
        }
    }
}

payload! {
    /// How a tool can be run. 2025-11-25 only, schema type `ToolExecution`.
    pub struct ToolExecution {
        new {}
        with {
            /// Whether as a task. Default: forbidden.
            "taskSupport" task_support: of(TaskSupport);
        }
    }
}

names! {
    /// Whether a tool runs as a task. 2025-11-25 only.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum TaskSupport {
        /// Never.
        Forbidden = "forbidden",
        /// If the client wants it.
        Optional = "optional",
        /// Always.
        Required = "required",
    }
}

payload! {
    /// The answer to `tools/list`. Schema type `ListToolsResult`.
    pub struct ListToolsResult<'a> {
        new {
            /// The tools of this page.
            "tools" tools: list(Tool<'a>);
        }
        with {
            /// Where the next page begins; none when this is the last.
            "nextCursor" next_cursor: text;
            /// For how many milliseconds it stays fresh. From 2026-07-28 on, where it is required.
            "ttlMs" ttl_ms: millis = 0, in EE;
            /// Who may share it. From 2026-07-28 on, where it is required.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// What `tools/call` asks for. Schema type `CallToolRequestParams`.
    pub struct CallToolParams<'a> {
        new {
            /// The tool.
            "name" name: text;
        }
        with {
            /// Its arguments.
            "arguments" arguments: object;
            /// Answers to what the server wanted to know first. From 2026-07-28 on.
            "inputResponses" input_responses: of(InputResponses<'a>), in EE;
            /// What the server wants back, as it was. From 2026-07-28 on.
            "requestState" request_state: text, in EE;
            /// To be run as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), in DD;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// The answer to `tools/call`. Schema type `CallToolResult`.
    pub struct CallToolResult<'a> {
        new {
            /// For the model.
            "content" content: list(ContentBlock<'a>) = List::EMPTY;
        }
        with {
            /// For programs: what the tool's output schema describes. From 2025-06-18 on; before 2026-07-28 only an object. `null` is a value.
            "structuredContent" structured_content: any, in CE, via StructuredContent;
            /// The tool failed; the content says how, for the model to do better.
            "isError" is_error: of(bool);
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

impl<'a> CallToolResult<'a> {
    /// The structured content as `revision` means it: none before 2025-06-18, only an object before
    /// 2026-07-28, and any value from then on; `null` is one.
    #[must_use]
    pub fn structured_content_for(&self, revision: Revision) -> Option<RawJson<'a>> {
        self.structured_content.filter(|content| {
            revision.is_modern() || (revision >= Revision::V2025_06_18 && content.is_object())
        })
    }

    /// The tool failed: `content` says how.
    #[must_use]
    pub const fn error(content: &'a [ContentBlock<'a>]) -> Self {
        Self::new(content).is_error(true)
    }
}

/// A value that before 2026-07-28 had to be an object, and is left out where it is not.
pub(crate) struct StructuredContent<'x, 'a>(pub(crate) &'x RawJson<'a>);

impl Serialize for StructuredContent<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_object() {
            self.0.serialize(serializer)
        } else {
            OrElse("$mcp?EE", self.0, &Absent).serialize(serializer)
        }
    }
}

impl Tell for StructuredContent<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        if self.0.is_object() { to.json(*self.0) } else { to.or_else("$mcp?EE", self.0, &Absent) }
    }
}

/// The answer to `tools/call` in the simplest form: one text. It costs a small program less than a
/// [`CallToolResult`].
#[derive(Clone, Copy, Debug)]
pub struct TextResult<'a> {
    /// For the model.
    pub text: Text<'a>,
    /// Whether the tool failed.
    pub is_error: bool,
}

impl<'a> TextResult<'a> {
    /// What the tool says.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { text: Text::new(text), is_error: false }
    }

    /// The tool failed: `text` says how.
    #[must_use]
    pub const fn error(text: &'a str) -> Self {
        Self { text: Text::new(text), is_error: true }
    }
}

/// For example, a string of the request.
impl<'a> From<Text<'a>> for TextResult<'a> {
    fn from(text: Text<'a>) -> Self {
        Self { text, is_error: false }
    }
}

impl Serialize for TextResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        struct Block<'x, 'a>(&'x Text<'a>);
        impl Serialize for Block<'_, '_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut object = serializer.serialize_struct("TextContent", 2)?;
                object.serialize_field("type", &Tag("text"))?;
                object.serialize_field("text", self.0)?;
                object.end()
            }
        }
        if cfg!(small) {
            return Told(self).serialize(serializer);
        }
        let mut object = serializer.serialize_struct("CallToolResult", 2)?;
        object.serialize_field("content", &[Block(&self.text)])?;
        if self.is_error {
            object.serialize_field("isError", &true)?;
        }
        object.end()
    }
}

impl Tell for TextResult<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        let block = Object { names: "type,text,", members: &[&"text", &self.text] };
        to.object("content,isError,", &[&[block], &self.is_error.then_some(true)]);
    }
}

payload_told! { TextResult<'a> }
