//! Tools: functions of a server that a model may call.

use super::macros::{names, page, payload};
use super::{ContentBlock, InputResponses, List, TaskMetadata, Text};
use crate::encode::{Encode, Encoder, Gate, With, object};
use crate::json::RawJson;
use crate::protocol::Revision;

payload! {
    #![rendered]
    /// A tool that a server offers. Schema type `Tool`.
    ///
    /// ```
    /// use mcp_sansio::RawJson;
    /// use mcp_sansio::types::{Tool, ToolAnnotations};
    ///
    /// const SCHEMA: RawJson = RawJson::from_static(
    ///     r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#,
    /// );
    /// const TOOL: Tool = Tool::new("get_weather", SCHEMA)
    ///     .title("Weather")
    ///     .description("Returns the current temperature in a city.")
    ///     .annotations(ToolAnnotations::new().read_only_hint(true));
    /// assert_eq!(TOOL.name, "get_weather");
    /// ```
    pub struct Tool<'a> {
        /// Name for programmatic use, unique within the server: 1 to 128 letters, digits, `_`,
        /// `-` and `.`, all ASCII.
        "name" name: text;
        /// JSON Schema of the arguments; its root must have `"type": "object"`. Written
        /// unchanged, unknown keywords included.
        "inputSchema" input_schema: object;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
        /// Description of what the tool does, for the model.
        "description" description: text;
        /// Icons for user interfaces. Since 2025-11-25.
        "icons" icons: icons, since V2025_11_25;
        /// JSON Schema of `structuredContent` in the results. Since 2025-06-18; not written
        /// before 2026-07-28 unless its root has `"type": "object"`.
        "outputSchema" output_schema: object => when knows_output_schema, since V2025_06_18;
        /// Hints about the effects of the tool. Since 2025-03-26.
        "annotations" annotations: of(ToolAnnotations<'a>), since V2025_03_26;
        /// The ways to execute the tool. 2025-11-25 only.
        "execution" execution: of(ToolExecution), only V2025_11_25;
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

/// The revisions that allow the output schema: before 2026-07-28 its root type is `object`.
const fn knows_output_schema(schema: &RawJson<'_>) -> Gate {
    if schema.is_object_schema() { Gate::ALL } else { Gate::since(Revision::V2026_07_28) }
}

payload! {
    #![rendered]
    /// Hints about the effects of a tool, not guarantees: a client must not rely on those of an
    /// untrusted server. Since 2025-03-26, schema type `ToolAnnotations`.
    pub struct ToolAnnotations<'a> {
        optional:
        /// Display name for user interfaces.
        "title" title: text;
        /// Whether the tool leaves its environment unmodified. Default: false.
        "readOnlyHint" read_only_hint: of(bool);
        /// Whether the tool may perform destructive updates, not only additive ones. Default:
        /// true.
        "destructiveHint" destructive_hint: of(bool);
        /// Whether repeated calls with the same arguments have no additional effect. Default:
        /// false.
        "idempotentHint" idempotent_hint: of(bool);
        /// Whether the tool interacts with external entities, as a web search does. Default:
        /// true.
        "openWorldHint" open_world_hint: of(bool);
    }
}

payload! {
    #![rendered]
    /// The ways to execute a tool. 2025-11-25 only, schema type `ToolExecution`.
    pub struct ToolExecution {
        optional:
        /// Whether the tool can be executed as a task. Default: forbidden.
        "taskSupport" task_support: of(TaskSupport);
    }
}

names! {
    /// Whether a tool can be executed as a task: `taskSupport` of schema type `ToolExecution`.
    /// 2025-11-25 only.
    pub enum TaskSupport {
        /// The tool cannot be executed as a task.
        Forbidden = "forbidden",
        /// The client chooses.
        Optional = "optional",
        /// The tool must be executed as a task.
        Required = "required",
    }
}

page! {
    /// Result of `tools/list`. Schema type `ListToolsResult`.
    pub struct ListToolsResult<'a> {
        /// The tools of this page.
        "tools" tools: Tool<'a>;
    }
}

payload! {
    /// Parameters of `tools/call`. Schema type `CallToolRequestParams`.
    pub struct CallToolParams<'a> {
        /// Name of the tool.
        "name" name: text;
        optional:
        /// Arguments of the tool, by name.
        "arguments" arguments: object;
        /// Responses to the input requests of an
        /// [`InputRequiredResult`](crate::types::InputRequiredResult), by the same keys. Since
        /// 2026-07-28.
        "inputResponses" input_responses: of(InputResponses<'a>), since V2026_07_28;
        /// The `requestState` of that result, unchanged. Since 2026-07-28.
        "requestState" request_state: text, since V2026_07_28;
        /// Asks for execution as a task. 2025-11-25 only.
        "task" task: of(TaskMetadata), only V2025_11_25;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Result of `tools/call`. Schema type `CallToolResult`.
    ///
    /// ```
    /// use mcp_sansio::RawJson;
    /// use mcp_sansio::types::{CallToolResult, ContentBlock};
    ///
    /// const RESULT: CallToolResult = CallToolResult::new(&[ContentBlock::text("21 degrees")])
    ///     .structured_content(RawJson::from_static(r#"{"celsius": 21}"#));
    /// const FAILURE: CallToolResult =
    ///     CallToolResult::error(&[ContentBlock::text("Unknown city.")]);
    /// assert_eq!(FAILURE.is_error, Some(true));
    /// ```
    pub struct CallToolResult<'a> {
        /// Content for the model; empty if missing.
        "content" content: list(ContentBlock<'a>) = List::EMPTY;
        optional:
        /// JSON value that conforms to the output schema of the tool. Since 2025-06-18; not
        /// written before 2026-07-28 unless it is an object. `null` is a value.
        "structuredContent" structured_content: any => when knows_structured_content, since V2025_06_18;
        /// Whether the tool failed; `content` then explains the error, so that the model can
        /// correct itself. Default: false.
        "isError" is_error: of(bool);
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

impl<'a> CallToolResult<'a> {
    /// Returns the structured content if it is valid in `revision`: an object since 2025-06-18, any
    /// value, `null` included, since 2026-07-28.
    pub fn structured_content_for(&self, revision: Revision) -> Option<RawJson<'a>> {
        self.structured_content.filter(|content| {
            revision.is_modern() || (revision >= Revision::V2025_06_18 && content.is_object())
        })
    }

    /// Creates the result of a tool that failed; `content` explains the error.
    pub const fn error(content: &'a [ContentBlock<'a>]) -> Self {
        Self::new(content).is_error(true)
    }
}

/// The revisions that allow the structured content: before 2026-07-28 it is an object.
pub(crate) fn knows_structured_content(content: &RawJson<'_>) -> Gate {
    if content.is_object() { Gate::ALL } else { Gate::since(Revision::V2026_07_28) }
}

/// Result of `tools/call` with one text block. Needs less code than a [`CallToolResult`], which
/// matters in firmware. Schema type `CallToolResult`.
///
/// ```
/// use mcp_sansio::types::TextResult;
/// use mcp_sansio::{Revision, to_slice};
///
/// let mut buffer = [0; 64];
/// let json = to_slice(&TextResult::new("hi"), Revision::LATEST, &mut buffer).unwrap();
/// assert_eq!(json.as_str(), r#"{"content":[{"type":"text","text":"hi"}]}"#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TextResult<'a> {
    /// Text for the model.
    pub text: Text<'a>,
    /// Whether the tool failed.
    pub is_error: bool,
}

impl<'a> TextResult<'a> {
    /// Creates the result of a tool that succeeded.
    pub const fn new(text: &'a str) -> Self {
        Self { text: Text::new(text), is_error: false }
    }

    /// Creates the result of a tool that failed; `text` explains the error.
    pub const fn error(text: &'a str) -> Self {
        Self { text: Text::new(text), is_error: true }
    }
}

/// Creates the result of a tool that succeeded, for example from a string of the request.
impl<'a> From<Text<'a>> for TextResult<'a> {
    fn from(text: Text<'a>) -> Self {
        Self { text, is_error: false }
    }
}

impl Encode for TextResult<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        // Not a `TextContent`, which would link the code for annotations.
        let block = object!({ "type" = "text", "text": self.text });
        let content = With(|to: &mut Encoder<'_>| {
            if !to.is_inside_plain() {
                return to.array([&block].into_iter());
            }
            to.put(br#"[{"type":"text","text":"#);
            self.text.encode(to);
            to.put(b"}]");
        });
        object!(to, {
            "content": content,
            "isError"?: self.is_error.then_some(true),
        });
    }
}

/// Parameters of `tools/call` and `prompts/get`. The arguments are any value that serializes as an
/// object.
#[derive(Debug)]
pub struct Named<'a, A: ?Sized> {
    /// The name of the tool or the prompt.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: &'a A,
}

impl<A: Encode + ?Sized> Encode for Named<'_, A> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("name", self.name);
        to.member("arguments", self.arguments);
        to.end_object();
    }
}
