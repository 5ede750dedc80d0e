//! Downgrades of sampling messages for revisions before 2025-11-25, which define neither arrays of
//! blocks nor tool use.
//!
//! Of blocks that are JSON, only the needed members are read, so that a server links no code to
//! read whole messages.

use core::fmt;

use super::content::{UNKNOWN, show_file};
use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use crate::lifecycle::Revision;
use crate::types::content::FallbackText;
use crate::types::{
    List, Role, SamplingMessage, SamplingMessageContent, SamplingMessageContentBlock, Text,
};

/// The block if there is exactly one, otherwise one text block for all.
pub(super) struct AsOneBlock<'x, 'a>(pub(super) &'x SamplingMessageContent<'a>);

impl Encode for AsOneBlock<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let mut blocks = Block::all(self.0);
        match (blocks.next(), blocks.next()) {
            (Some(block), None) => block.encode(to),
            _ => FallbackText { text: self, annotations: None }.encode(to),
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

impl Encode for OneBlockEach<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let own = self.0.as_slice().unwrap_or_default().iter().flat_map(|message| {
            let role = match message.role {
                Role::User => const { RawJson::from_static("\"user\"") },
                Role::Assistant => const { RawJson::from_static("\"assistant\"") },
            };
            Block::all(&message.content).map(move |block| OneBlock { role, block })
        });
        let json = self.0.as_json().unwrap_or(RawJson::NULL).elements().flat_map(|message| {
            let role = message.get("role").unwrap_or(RawJson::NULL);
            let content = message.get("content").unwrap_or(RawJson::NULL);
            Block::all_json(content).map(move |block| OneBlock { role, block })
        });
        to.array(own.chain(json));
    }
}

/// A message of one block.
struct OneBlock<'x, 'a> {
    role: RawJson<'a>,
    block: Block<'x, 'a>,
}

impl Encode for OneBlock<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        object!(to, { "role": self.role, "content": self.block });
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

impl Encode for Block<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let raw = match self {
            Self::Own(block) => return block.encode(to),
            Self::Json(raw) => *raw,
        };
        let since = match text(raw, "type") {
            Some(kind) if kind == "tool_use" || kind == "tool_result" => Revision::V2025_11_25,
            Some(kind) if kind == "audio" => Revision::V2025_03_26,
            _ => Revision::V2024_11_05,
        };
        if to.revision() < since {
            FallbackText { text: self, annotations: None }.encode(to);
        } else {
            to.raw(raw);
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
