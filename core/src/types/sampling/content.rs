//! What is said in a conversation with a model.

use core::fmt;

use serde::{Deserialize, Deserializer, de};

use super::downgrade as older;
use crate::json::{RawJson, ReadError};
use crate::types::encode::macros::payload;
use crate::types::encode::older::{Notice, OrElse};
use crate::types::encode::tell::tell_one_of;
use crate::types::tool::StructuredContent;
use crate::types::{AudioContent, ContentBlock, ImageContent, List, ListIter, Text, TextContent};

/// A block of what is said in a conversation with a model. Schema type
/// `SamplingMessageContentBlock`.
///
/// What the peer's revision does not know is written as a text block that says what is missing:
/// audio in 2024-11-05, the use of tools before 2025-11-25. A block of an unknown `type` is kept as
/// it is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock<'a> {
    /// Text.
    Text(TextContent<'a>),
    /// A picture.
    Image(ImageContent<'a>),
    /// Sound. From 2025-03-26 on.
    Audio(AudioContent<'a>),
    /// The model wants to use a tool. From 2025-11-25 on.
    ToolUse(ToolUseContent<'a>),
    /// What the tool gave. From 2025-11-25 on.
    ToolResult(ToolResultContent<'a>),
    /// Of a type that is not known.
    Other(RawJson<'a>),
}

tell_one_of! {
    SamplingMessageContentBlock<'_> {
        Self::Text(content) => content,
        Self::Image(content) => content,
        Self::Audio(content) => content.or_notice(&content.notice()),
        Self::ToolUse(content) => OrElse("$mcp?DE", content, &Notice { text: content, annotations: None }),
        Self::ToolResult(content) => OrElse("$mcp?DE", content, &Notice { text: content, annotations: None }),
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

    /// The text, when it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self {
            Self::Text(content) => Some(content.text),
            _ => None,
        }
    }
}

/// The text, or what is said in its place where only text is known.
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
    /// The model wants to use a tool. From 2025-11-25 on, schema type `ToolUseContent`.
    pub struct ToolUseContent<'a> {
        tag "type" = "tool_use";
        new {
            /// By which the result refers to it.
            "id" id: text;
            /// The tool.
            "name" name: text;
            /// Its arguments.
            "input" input: object;
        }
        with {
            /// To be kept when the conversation goes on.
            "_meta" meta: object;
        }
    }
}

/// What is said in its place where it is not known.
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
    /// What a tool gave. From 2025-11-25 on, schema type `ToolResultContent`.
    pub struct ToolResultContent<'a> {
        tag "type" = "tool_result";
        new {
            /// Which use of a tool.
            "toolUseId" tool_use_id: text;
            /// For the model.
            "content" content: list(ContentBlock<'a>) = List::EMPTY;
        }
        with {
            /// For programs. In 2025-11-25 only an object. `null` is a value.
            "structuredContent" structured_content: any, via StructuredContent;
            /// The tool failed.
            "isError" is_error: of(bool);
            /// To be kept when the conversation goes on.
            "_meta" meta: object;
        }
    }
}

/// What is said in its place where it is not known: its text.
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
            older::show(block, f)?;
        }
        f.write_str("]")
    }
}

/// What is said in the place of a file.
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

/// What is said in the place of what nobody knows.
pub(super) const UNKNOWN: &str = "[content of an unknown type]";

/// One block, or several (from 2025-11-25 on).
#[derive(Clone, Copy, Debug)]
pub enum SamplingMessageContent<'a> {
    /// One.
    One(SamplingMessageContentBlock<'a>),
    /// Several.
    Many(List<'a, SamplingMessageContentBlock<'a>>),
}

impl<'a> SamplingMessageContent<'a> {
    /// One block of text.
    #[must_use]
    pub const fn text(text: &'a str) -> Self {
        Self::One(SamplingMessageContentBlock::Text(TextContent::new(text)))
    }

    /// Several blocks.
    #[must_use]
    pub const fn many(blocks: &'a [SamplingMessageContentBlock<'a>]) -> Self {
        Self::Many(List::new(blocks))
    }

    /// The blocks, be it one or several.
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

/// SamplingMessageContentIter of a message: see [`SamplingMessageContent::iter`].
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

tell_one_of! {
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
