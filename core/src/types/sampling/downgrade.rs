//! Downgrades of sampling messages for revisions before 2025-11-25, which define neither arrays of
//! blocks nor tool use.
//!
//! Of blocks that are JSON, only the needed members are read, so that a server links no code to
//! read whole messages.

use core::fmt;

use super::content::{UNKNOWN, show_file};
use crate::encode::tell::{Object, Tell, Teller};
use crate::json::RawJson;
use crate::types::content::Notice;
use crate::types::{
    List, SamplingMessage, SamplingMessageContent, SamplingMessageContentBlock, Text,
};

/// The block if there is exactly one, otherwise one text block for all.
pub(super) struct AsOneBlock<'x, 'a>(pub(super) &'x SamplingMessageContent<'a>);

impl Tell for AsOneBlock<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        let mut blocks = Block::all(self.0);
        match (blocks.next(), blocks.next()) {
            (Some(block), None) => block.tell(to),
            _ => Notice { text: self, annotations: None }.tell(to),
        }
    }
}

/// The text of all blocks, joined by line feeds.
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

/// Splits each message into messages of one block.
pub(super) struct OneBlockEach<'x, 'a>(pub(super) &'x List<'a, SamplingMessage<'a>>);

impl Tell for OneBlockEach<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.open(b'[');
        for message in self.0.as_slice().unwrap_or_default() {
            for block in Block::all(&message.content) {
                to.item(&Object { names: "role,content,", members: &[&message.role, &block] });
            }
        }
        for message in self.0.as_json().unwrap_or(RawJson::NULL).elements() {
            let role = message.get("role").unwrap_or(RawJson::NULL);
            for block in Block::all_json(message.get("content").unwrap_or(RawJson::NULL)) {
                to.item(&Object { names: "role,content,", members: &[&role, &block] });
            }
        }
        to.close();
    }
}

/// A block of the application, or received JSON.
enum Block<'x, 'a> {
    Own(&'x SamplingMessageContentBlock<'a>),
    Json(RawJson<'a>),
}

impl<'x, 'a> Block<'x, 'a> {
    fn all(contents: &'x SamplingMessageContent<'a>) -> impl Iterator<Item = Self> {
        let (own, json) = match contents {
            SamplingMessageContent::One(block) => (core::slice::from_ref(block), RawJson::NULL),
            SamplingMessageContent::Many(blocks) => {
                (blocks.as_slice().unwrap_or_default(), blocks.as_json().unwrap_or(RawJson::NULL))
            }
        };
        own.iter().map(Self::Own).chain(json.elements().map(Self::Json))
    }

    fn all_json(content: RawJson<'a>) -> impl Iterator<Item = Self> {
        let alone = content.is_object().then_some(content);
        alone.into_iter().chain(content.elements()).map(Self::Json)
    }
}

impl Tell for Block<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        let notice = Notice { text: self, annotations: None };
        match self {
            Self::Own(block) => block.tell(to),
            Self::Json(raw) => match text(*raw, "type") {
                Some(kind) if kind == "tool_use" || kind == "tool_result" => {
                    to.or_else("$mcp?DE", raw, &notice)
                }
                Some(kind) if kind == "audio" => to.or_else("$mcp?BE", raw, &notice),
                _ => to.json(*raw),
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

/// Writes the description of a block that contains no other blocks.
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
        fmt::Display::fmt(
            &block.get("resource").and_then(|resource| text(resource, "uri")).unwrap_or_default(),
            f,
        )
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
