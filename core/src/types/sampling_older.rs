//! Conversations for revisions that know neither lists of blocks nor tools in them (before 2025-11-25).
//!
//! Blocks that are JSON already are taken by what they have, not read as types: whoever writes a conversation need not be able to read one.

use core::fmt;

use serde::ser::{SerializeSeq, SerializeStruct as _};
use serde::{Serialize, Serializer};

use super::older::{Notice, OrElse};
use super::sampling_content::{UNKNOWN, show_file};
use super::{List, SamplingContent, SamplingContents, SamplingMessage, Text};
use crate::json::RawJson;

/// The block, if there is one; all as one text, if there are several.
pub(super) struct AsOneBlock<'x, 'a>(pub(super) &'x SamplingContents<'a>);

impl Serialize for AsOneBlock<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut blocks = Block::all(self.0);
        match (blocks.next(), blocks.next()) {
            (Some(block), None) => block.serialize(serializer),
            _ => Notice { text: self, annotations: None }.serialize(serializer),
        }
    }
}

/// All blocks as text, each on lines of its own.
impl fmt::Display for AsOneBlock<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, block) in Block::all(self.0).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fmt::Display::fmt(&block, f)?;
        }
        Ok(())
    }
}

/// A message for each block.
pub(super) struct OneBlockEach<'x, 'a>(pub(super) &'x List<'a, SamplingMessage<'a>>);

impl Serialize for OneBlockEach<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for message in self.0.own() {
            for content in Block::all(&message.content) {
                seq.serialize_element(&Spoken { role: message.role.as_str().into(), content })?;
            }
        }
        for message in self.0.as_json().unwrap_or(RawJson::NULL).elements() {
            let role = message.get("role").and_then(RawJson::as_string).map(Text::from_json).unwrap_or_default();
            for content in Block::all_json(message.get("content").unwrap_or(RawJson::NULL)) {
                seq.serialize_element(&Spoken { role, content })?;
            }
        }
        seq.end()
    }
}

struct Spoken<'x, 'a> {
    role: Text<'a>,
    content: Block<'x, 'a>,
}

impl Serialize for Spoken<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("SamplingMessage", 2)?;
        object.serialize_field("role", &self.role)?;
        object.serialize_field("content", &self.content)?;
        object.end()
    }
}

/// A block of the application's, or of a message.
enum Block<'x, 'a> {
    Own(&'x SamplingContent<'a>),
    Json(RawJson<'a>),
}

impl<'x, 'a> Block<'x, 'a> {
    fn all(contents: &'x SamplingContents<'a>) -> impl Iterator<Item = Self> {
        let (own, json) = match contents {
            SamplingContents::One(block) => (core::slice::from_ref(block), RawJson::NULL),
            SamplingContents::Many(blocks) => (blocks.own(), blocks.as_json().unwrap_or(RawJson::NULL)),
        };
        own.iter().map(Self::Own).chain(json.elements().map(Self::Json))
    }

    fn all_json(content: RawJson<'a>) -> impl Iterator<Item = Self> {
        let alone = content.is_object().then_some(content);
        alone.into_iter().chain(content.elements()).map(Self::Json)
    }
}

impl Serialize for Block<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Own(block) => block.serialize(serializer),
            Self::Json(raw) => match text(*raw, "type") {
                Some(kind) if kind == "tool_use" || kind == "tool_result" => {
                    OrElse("$mcp?DE", raw, &Notice { text: self, annotations: None }).serialize(serializer)
                }
                Some(kind) if kind == "audio" => {
                    OrElse("$mcp?BE", raw, &Notice { text: self, annotations: None }).serialize(serializer)
                }
                _ => raw.serialize(serializer),
            },
        }
    }
}

impl fmt::Display for Block<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(block) => fmt::Display::fmt(block, f),
            Self::Json(raw) => match text(*raw, "type") {
                Some(kind) if kind == "tool_use" => {
                    f.write_str("[use of tool ")?;
                    fmt::Display::fmt(&text(*raw, "name").unwrap_or_default(), f)?;
                    f.write_str(": ")?;
                    fmt::Display::fmt(&raw.get("input").unwrap_or(RawJson::EMPTY), f)?;
                    f.write_str("]")
                }
                Some(kind) if kind == "tool_result" => {
                    f.write_str("[tool result:")?;
                    for block in raw.get("content").unwrap_or(RawJson::NULL).elements() {
                        f.write_str(" ")?;
                        show(block, f)?;
                    }
                    f.write_str("]")
                }
                _ => show(*raw, f),
            },
        }
    }
}

/// Shows a block in which there are no others.
pub(super) fn show(block: RawJson<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let get = |key| text(block, key).unwrap_or_default();
    let kind = get("type");
    if kind == "text" {
        fmt::Display::fmt(&get("text"), f)
    } else if kind == "image" {
        show_file(get("mimeType"), "image", f)
    } else if kind == "audio" {
        show_file(get("mimeType"), "audio", f)
    } else if kind == "resource" {
        fmt::Display::fmt(&block.get("resource").and_then(|resource| text(resource, "uri")).unwrap_or_default(), f)
    } else if kind == "resource_link" {
        f.write_str("[resource ")?;
        fmt::Display::fmt(&get("name"), f)?;
        f.write_str(": ")?;
        fmt::Display::fmt(&get("uri"), f)?;
        f.write_str("]")
    } else {
        f.write_str(UNKNOWN)
    }
}

fn text<'a>(object: RawJson<'a>, key: &str) -> Option<Text<'a>> {
    object.get(key).and_then(RawJson::as_string).map(Text::from_json)
}
