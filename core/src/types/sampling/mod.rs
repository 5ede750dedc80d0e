//! Sampling: a server requests a message of the client's model. Deprecated in 2026-07-28, where the
//! request is an [`InputRequest`](crate::types::InputRequest).

mod validation;

pub use validation::{MAX_TOOL_USES, SamplingError};

use core::iter::Chain;
use core::{fmt, option};

use super::content::FallbackText;
use super::macros::{names, one_of, payload};
use super::tool::knows_structured_content;
use super::{
    AudioContent, ContentBlock, ImageContent, List, ListIter, Number, Role, TaskMetadata, Text,
    TextContent, Tool,
};
use crate::encode::{Encode, Encoder};
use crate::json::{RawJson, ReadError};
use crate::protocol::{ClientFeatures, Revision};
use serde::{Deserialize, Deserializer, de};
use validation::{AsOneBlock, OneBlockEach, show_result};

payload! {
    /// Parameters of `sampling/createMessage`. Schema type `CreateMessageRequestParams`.
    ///
    /// Before 2025-11-25, a message has one block: a message of several blocks is written as
    /// several messages.
    ///
    /// ```
    /// use mcp_sansio::types::{CreateMessageParams, ModelHint, ModelPreferences, SamplingMessage};
    ///
    /// let messages = [SamplingMessage::user("What is the capital of France?")];
    /// let hints = [ModelHint::new().name("sonnet")];
    /// let params = CreateMessageParams::new(&messages, 100)
    ///     .system_prompt("Answer in one word.")
    ///     .model_preferences(ModelPreferences::new().hints(&hints));
    /// assert!(params.validate().is_ok());
    /// ```
    pub struct CreateMessageParams<'a> {
        writer write_members;
        /// Messages of the conversation.
        "messages" messages: list(SamplingMessage<'a>) => via OneBlockEach;
        /// Maximum number of tokens that the model may generate.
        "maxTokens" max_tokens: of(u64);
        optional:
        /// Preferences for the choice of a model; the client may ignore them.
        "modelPreferences" model_preferences: of(ModelPreferences<'a>);
        /// System prompt; the client may modify or omit it.
        "systemPrompt" system_prompt: text;
        /// Context that the client should add. Values other than `none` are deprecated and
        /// require the client capability `sampling.context` since 2025-11-25.
        "includeContext" include_context: of(IncludeContext);
        /// Sampling temperature.
        "temperature" temperature: of(Number<'a>);
        /// Sequences at which generation stops.
        "stopSequences" stop_sequences: list(Text<'a>);
        /// Metadata for the provider of the model, in a format of its own.
        "metadata" metadata: object;
        /// Tools that the model may use. Since 2025-11-25, requires the client capability
        /// `sampling.tools`.
        "tools" tools: list(Tool<'a>), since V2025_11_25;
        /// Whether the model may or must use tools. Since 2025-11-25, requires the client
        /// capability `sampling.tools`.
        "toolChoice" tool_choice: of(ToolChoice), since V2025_11_25;
        /// Asks for execution as a task. 2025-11-25 only.
        "task" task: of(TaskMetadata), only V2025_11_25;
        /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
        "_meta" meta: object, until V2025_11_25;
    }
}

impl CreateMessageParams<'_> {
    /// Returns the client capabilities that the request requires.
    pub const fn required_capabilities(&self) -> ClientFeatures {
        let mut features = ClientFeatures::SAMPLING;
        if self.tools.is_some() || self.tool_choice.is_some() {
            features = features.with(ClientFeatures::SAMPLING_TOOLS);
        }
        if matches!(
            self.include_context,
            Some(IncludeContext::ThisServer | IncludeContext::AllServers)
        ) {
            features = features.with(ClientFeatures::SAMPLING_CONTEXT);
        }
        features
    }
}

payload! {
    /// A message of a conversation. Schema type `SamplingMessage`.
    pub struct SamplingMessage<'a> {
        /// Sender of the message.
        "role" role: of(Role);
        /// Content of the message.
        "content" content: of(SamplingMessageContent<'a>) => via AsOneBlock;
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-11-25.
        "_meta" meta: object, since V2025_11_25;
    }
}

impl<'a> SamplingMessage<'a> {
    /// Creates a text message of the user.
    pub const fn user(text: &'a str) -> Self {
        Self::new(Role::User, SamplingMessageContent::text(text))
    }

    /// Creates a text message of the model.
    pub const fn assistant(text: &'a str) -> Self {
        Self::new(Role::Assistant, SamplingMessageContent::text(text))
    }
}

payload! {
    /// Preferences of a server for the choice of a model. Schema type `ModelPreferences`.
    pub struct ModelPreferences<'a> {
        optional:
        /// Names of models, of which the first that matches is taken.
        "hints" hints: list(ModelHint<'a>);
        /// Importance of low cost, from 0 to 1.
        "costPriority" cost_priority: of(Number<'a>);
        /// Importance of low latency, from 0 to 1.
        "speedPriority" speed_priority: of(Number<'a>);
        /// Importance of intelligence and capabilities, from 0 to 1.
        "intelligencePriority" intelligence_priority: of(Number<'a>);
    }
}

payload! {
    /// Hint for the choice of a model. Schema type `ModelHint`.
    pub struct ModelHint<'a> {
        optional:
        /// Part of the name of a model or family of models, e.g. `sonnet`.
        "name" name: text;
    }
}

names! {
    /// Context that a client should add: `includeContext` of schema type
    /// `CreateMessageRequestParams`.
    pub enum IncludeContext {
        /// No context.
        None = "none",
        /// Context of the requesting server. Deprecated.
        ThisServer = "thisServer",
        /// Context of all connected servers. Deprecated.
        AllServers = "allServers",
    }
}

payload! {
    /// Whether a model may or must use tools. Since 2025-11-25, schema type `ToolChoice`.
    pub struct ToolChoice {
        optional:
        /// Mode of tool use. Default: auto.
        "mode" mode: of(ToolChoiceMode);
    }
}

names! {
    /// Mode of tool use: `mode` of schema type `ToolChoice`. Since 2025-11-25.
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// The model must use at least one tool.
        Required = "required",
        /// The model must not use tools.
        None = "none",
    }
}

payload! {
    /// Result of `sampling/createMessage`: the message of the model. Schema type
    /// `CreateMessageResult`.
    ///
    /// Before 2025-11-25, a message has one block: several blocks are written as one text block.
    pub struct CreateMessageResult<'a> {
        writer write_members;
        /// Sender of the message: the assistant.
        "role" role: of(Role);
        /// Content of the message.
        "content" content: of(SamplingMessageContent<'a>) => via AsOneBlock;
        /// Name of the model.
        "model" model: text;
        optional:
        /// The reason why generation stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`
        /// (since 2025-11-25) or another string.
        "stopReason" stop_reason: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

// Content of sampling messages.

one_of! {
    /// A content block of a sampling message. Schema type `SamplingMessageContentBlock`.
    ///
    /// A block that the peer's revision does not define is written as a text block that describes
    /// it: audio in 2024-11-05, tool use and tool results before 2025-11-25. A block of an unknown
    /// `type` is written unchanged.
    #[non_exhaustive]
    pub enum SamplingMessageContentBlock<'a> by "type" {
        /// Type `text`.
        "text" => Text(TextContent<'a>),
        /// Type `image`.
        "image" => Image(ImageContent<'a>),
        /// Type `audio`. Since 2025-03-26.
        "audio" => Audio(AudioContent<'a>),
        /// Type `tool_use`: the model calls a tool. Since 2025-11-25.
        "tool_use" => ToolUse(ToolUseContent<'a>),
        /// Type `tool_result`: the result of a tool call. Since 2025-11-25.
        "tool_result" => ToolResult(ToolResultContent<'a>),
    } else {
        /// Unknown type, as JSON.
        Other(RawJson<'a>),
    }
}

impl<'a> SamplingMessageContentBlock<'a> {
    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self {
            Self::Text(content) => Some(content.text),
            _ => None,
        }
    }
}

/// The text, or a description of any other block.
impl fmt::Display for SamplingMessageContentBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(content) => fmt::Display::fmt(&content.text, f),
            Self::Image(content) => show_file(content.mime_type, "image", f),
            Self::Audio(content) => show_file(content.mime_type, "audio", f),
            Self::ToolUse(content) => fmt::Display::fmt(content, f),
            Self::ToolResult(content) => fmt::Display::fmt(content, f),
            Self::Other(_) => f.write_str(UNKNOWN),
        }
    }
}

payload! {
    /// A tool call of the model. Since 2025-11-25, schema type `ToolUseContent`.
    pub struct ToolUseContent<'a> {
        tag "type" = "tool_use";
        writer write_or_describe;
        /// Id of the tool call, to which the result refers.
        "id" id: text;
        /// Name of the tool.
        "name" name: text;
        /// Arguments of the tool, by name.
        "input" input: object;
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta). Clients should keep it when they
        /// send the message again.
        "_meta" meta: object;
    }
}

impl ToolUseContent<'_> {
    /// Writes the block; before 2025-11-25 a text block that describes it.
    fn write_or_describe(&self, to: &mut Encoder<'_>) {
        if to.revision() < Revision::V2025_11_25 {
            FallbackText { text: self, annotations: None }.encode(to);
        } else {
            self.write_members(to);
        }
    }
}

/// The text that replaces the block for revisions before 2025-11-25.
impl fmt::Display for ToolUseContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_use(self.name, self.input, f)
    }
}

payload! {
    /// Result of a tool call. Since 2025-11-25, schema type `ToolResultContent`.
    pub struct ToolResultContent<'a> {
        tag "type" = "tool_result";
        writer write_or_describe;
        /// Id of the tool call: `id` of its [`ToolUseContent`].
        "toolUseId" tool_use_id: text;
        /// Content for the model; empty if missing.
        "content" content: list(ContentBlock<'a>) = List::EMPTY;
        optional:
        /// JSON value that conforms to the output schema of the tool; an object in 2025-11-25.
        /// `null` is a value.
        "structuredContent" structured_content: any => when knows_structured_content;
        /// Whether the tool failed. Default: false.
        "isError" is_error: of(bool);
        /// Metadata by key: see [`meta`](crate::types::meta). Clients should keep it when they
        /// send the message again.
        "_meta" meta: object;
    }
}

impl ToolResultContent<'_> {
    /// Writes the block; before 2025-11-25 a text block that describes it.
    fn write_or_describe(&self, to: &mut Encoder<'_>) {
        if to.revision() < Revision::V2025_11_25 {
            FallbackText { text: self, annotations: None }.encode(to);
        } else {
            self.write_members(to);
        }
    }
}

/// The text that replaces the block for revisions before 2025-11-25.
impl fmt::Display for ToolResultContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_result(self.content, f)
    }
}

/// Writes the description of a use of a tool.
fn show_use(name: Text<'_>, input: RawJson<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[use of tool ")?;
    fmt::Display::fmt(&name, f)?;
    f.write_str(": ")?;
    fmt::Display::fmt(&input, f)?;
    f.write_str("]")
}

/// Writes the description of an image or audio file.
fn show_file(mime_type: Text<'_>, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    fmt::Display::fmt(&mime_type, f)?;
    f.write_str(" ")?;
    f.write_str(kind)?;
    f.write_str("]")
}

/// Description of a block of an unknown type.
const UNKNOWN: &str = "[content of an unknown type]";

one_of! {
    /// Content of a sampling message: one block or, since 2025-11-25, several. The member `content`
    /// of schema type `SamplingMessage`.
    pub enum SamplingMessageContent<'a> {
        /// One block: an object.
        One(SamplingMessageContentBlock<'a>),
        /// Several blocks: an array. Since 2025-11-25.
        Many(List<'a, SamplingMessageContentBlock<'a>>),
    }
}

impl<'a> SamplingMessageContent<'a> {
    /// Creates content of one text block.
    pub const fn text(text: &'a str) -> Self {
        Self::One(SamplingMessageContentBlock::Text(TextContent::new(text)))
    }

    /// Creates content of several blocks. Since 2025-11-25.
    pub const fn many(blocks: &'a [SamplingMessageContentBlock<'a>]) -> Self {
        Self::Many(List::new(blocks))
    }

    /// Iterates over the blocks. An invalid block is an `Err` item.
    pub fn iter(&self) -> SamplingMessageContentIter<'a> {
        let (one, many) = match self {
            Self::One(block) => (Some(Ok(*block)), List::EMPTY),
            Self::Many(blocks) => (None, *blocks),
        };
        one.into_iter().chain(many.iter())
    }
}

impl<'a> IntoIterator for SamplingMessageContent<'a> {
    type Item = Result<SamplingMessageContentBlock<'a>, ReadError>;
    type IntoIter = SamplingMessageContentIter<'a>;

    fn into_iter(self) -> SamplingMessageContentIter<'a> {
        self.iter()
    }
}

/// Iterator over the blocks of a message, created by [`SamplingMessageContent::iter`].
pub type SamplingMessageContentIter<'a> = Chain<
    option::IntoIter<Result<SamplingMessageContentBlock<'a>, ReadError>>,
    ListIter<'a, SamplingMessageContentBlock<'a>>,
>;

impl<'de: 'a, 'a> Deserialize<'de> for SamplingMessageContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match List::from_json(raw) {
            Some(blocks) => Ok(Self::Many(blocks)),
            None => raw.to().map(Self::One).map_err(de::Error::custom),
        }
    }
}

// Selection of a model by hints.

impl ModelPreferences<'_> {
    /// Returns the index of the model that the hints select: the first model whose name contains
    /// the first matching hint, ASCII case ignored (client/sampling, "Model Preferences"). List the
    /// preferred models first. Returns `None` if no hint matches; the client may then decide by the
    /// priorities.
    ///
    /// ```
    /// use mcp_sansio::types::{ModelHint, ModelPreferences};
    /// let hints = [ModelHint::new().name("sonnet"), ModelHint::new().name("claude")];
    /// let preferences = ModelPreferences::new().hints(&hints);
    /// assert_eq!(preferences.select_model(&["claude-opus", "claude-sonnet"]), Some(1));
    /// ```
    pub fn select_model(&self, models: &[&str]) -> Option<usize> {
        let hints = self.hints.iter().flat_map(|hints| hints.iter()).flatten();
        hints
            .filter_map(|hint| hint.name)
            .find_map(|hint| models.iter().position(|model| contains(model, hint)))
    }
}

/// Returns whether `model` contains `hint`, ASCII case ignored. An empty hint matches nothing.
fn contains(model: &str, hint: Text<'_>) -> bool {
    let starts_with_hint = |rest: &str| {
        let mut rest = rest.chars();
        hint.chars().all(|wanted| rest.next().is_some_and(|c| c.eq_ignore_ascii_case(&wanted)))
    };
    !hint.is_empty()
        && model.char_indices().any(|(at, _)| model.get(at..).is_some_and(starts_with_hint))
}
