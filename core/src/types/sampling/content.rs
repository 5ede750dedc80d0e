//! Content of sampling messages.

use core::fmt;

use serde::{Deserialize, Deserializer, de};

use super::downgrade;
use crate::encode::{Encode, Encoder};
use crate::json::{RawJson, ReadError};
use crate::lifecycle::Revision;
use crate::types::content::FallbackText;
use crate::types::macros::{encode_one_of, payload};
use crate::types::tool::knows_structured_content;
use crate::types::{AudioContent, ContentBlock, ImageContent, List, ListIter, Text, TextContent};

/// A content block of a sampling message. Schema type `SamplingMessageContentBlock`.
///
/// A block that the peer's revision does not define is written as a text block that describes it:
/// audio in 2024-11-05, tool use and tool results before 2025-11-25. A block of an unknown `type`
/// is written unchanged.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock<'a> {
    /// Type `text`.
    Text(TextContent<'a>),
    /// Type `image`.
    Image(ImageContent<'a>),
    /// Type `audio`. Since 2025-03-26.
    Audio(AudioContent<'a>),
    /// Type `tool_use`: the model calls a tool. Since 2025-11-25.
    ToolUse(ToolUseContent<'a>),
    /// Type `tool_result`: the result of a tool call. Since 2025-11-25.
    ToolResult(ToolResultContent<'a>),
    /// Unknown type, as JSON.
    Other(RawJson<'a>),
}

encode_one_of! {
    SamplingMessageContentBlock<'_> {
        Self::Text(content) => content,
        Self::Image(content) => content,
        Self::Audio(content) => content,
        Self::ToolUse(content) => content,
        Self::ToolResult(content) => content,
        Self::Other(content) => content,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SamplingMessageContentBlock<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(RawJson::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<'a> SamplingMessageContentBlock<'a> {
    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        let Some(kind) = raw.get("type").and_then(RawJson::as_string) else {
            return Err(de::Error::missing_field("type"));
        };
        if kind == "text" {
            raw.to().map(Self::Text)
        } else if kind == "image" {
            raw.to().map(Self::Image)
        } else if kind == "audio" {
            raw.to().map(Self::Audio)
        } else if kind == "tool_use" {
            raw.to().map(Self::ToolUse)
        } else if kind == "tool_result" {
            raw.to().map(Self::ToolResult)
        } else {
            Ok(Self::Other(raw))
        }
    }

    /// Returns the text of a text block.
    #[must_use]
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
        new {
            /// Id of the tool call, to which the result refers.
            "id" id: text;
            /// Name of the tool.
            "name" name: text;
            /// Arguments of the tool, by name.
            "input" input: object;
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta). Clients should keep it when they
            /// send the message again.
            "_meta" meta: object;
        }
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
        f.write_str("[use of tool ")?;
        fmt::Display::fmt(&self.name, f)?;
        f.write_str(": ")?;
        fmt::Display::fmt(&self.input, f)?;
        f.write_str("]")
    }
}

payload! {
    /// Result of a tool call. Since 2025-11-25, schema type `ToolResultContent`.
    pub struct ToolResultContent<'a> {
        tag "type" = "tool_result";
        writer write_or_describe;
        new {
            /// Id of the tool call: `id` of its [`ToolUseContent`].
            "toolUseId" tool_use_id: text;
            /// Content for the model; empty if missing.
            "content" content: list(ContentBlock<'a>) = List::EMPTY;
        }
        with {
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
        f.write_str("[tool result:")?;
        for block in self.content.as_slice().unwrap_or_default() {
            f.write_str(" ")?;
            match block {
                ContentBlock::Text(content) => fmt::Display::fmt(&content.text, f)?,
                ContentBlock::ResourceLink(link) => fmt::Display::fmt(&link, f)?,
                ContentBlock::Image(content) => show_file(content.mime_type, "image", f)?,
                ContentBlock::Audio(content) => show_file(content.mime_type, "audio", f)?,
                ContentBlock::Resource(content) => fmt::Display::fmt(&content.resource.uri, f)?,
                ContentBlock::Other(_) => f.write_str(UNKNOWN)?,
            }
        }
        for block in self.content.as_json().unwrap_or(RawJson::NULL).elements() {
            f.write_str(" ")?;
            downgrade::show(block, f)?;
        }
        f.write_str("]")
    }
}

/// Writes the description of an image or audio file.
pub(super) fn show_file(
    mime_type: Text<'_>,
    kind: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str("[")?;
    fmt::Display::fmt(&mime_type, f)?;
    f.write_str(" ")?;
    f.write_str(kind)?;
    f.write_str("]")
}

/// Description of a block of an unknown type.
pub(super) const UNKNOWN: &str = "[content of an unknown type]";

/// Content of a sampling message: one block or, since 2025-11-25, several. The member `content` of
/// schema type `SamplingMessage`.
#[derive(Clone, Copy, Debug)]
pub enum SamplingMessageContent<'a> {
    /// One block: an object.
    One(SamplingMessageContentBlock<'a>),
    /// Several blocks: an array. Since 2025-11-25.
    Many(List<'a, SamplingMessageContentBlock<'a>>),
}

impl<'a> SamplingMessageContent<'a> {
    /// Creates content of one text block.
    #[must_use]
    pub const fn text(text: &'a str) -> Self {
        Self::One(SamplingMessageContentBlock::Text(TextContent::new(text)))
    }

    /// Creates content of several blocks. Since 2025-11-25.
    #[must_use]
    pub const fn many(blocks: &'a [SamplingMessageContentBlock<'a>]) -> Self {
        Self::Many(List::new(blocks))
    }

    /// Iterates over the blocks. An invalid block is an `Err` item.
    #[must_use]
    pub fn iter(&self) -> SamplingMessageContentIter<'a> {
        match self {
            Self::One(block) => {
                SamplingMessageContentIter { one: Some(*block), many: List::EMPTY.iter() }
            }
            Self::Many(blocks) => SamplingMessageContentIter { one: None, many: blocks.iter() },
        }
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
#[derive(Clone, Debug)]
pub struct SamplingMessageContentIter<'a> {
    one: Option<SamplingMessageContentBlock<'a>>,
    many: ListIter<'a, SamplingMessageContentBlock<'a>>,
}

impl<'a> Iterator for SamplingMessageContentIter<'a> {
    type Item = Result<SamplingMessageContentBlock<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.one.take() {
            Some(one) => Some(Ok(one)),
            None => self.many.next(),
        }
    }
}

encode_one_of! {
    SamplingMessageContent<'_> {
        Self::One(block) => block,
        Self::Many(blocks) => blocks,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SamplingMessageContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match List::from_json(raw) {
            Some(blocks) => Ok(Self::Many(blocks)),
            None => {
                SamplingMessageContentBlock::read(raw).map(Self::One).map_err(de::Error::custom)
            }
        }
    }
}
