//! Validation of tool use in sampling messages (client/sampling, "Tool Use"), and what older
//! revisions get instead.

use core::fmt;

use super::{UNKNOWN, show_file, show_use};
use crate::encode::{Encode, Encoder, object};
use crate::json::{RawJson, ReadError, hash_str, hash_text};
use crate::protocol::Revision;
use crate::types::common::Source;
use crate::types::content::{FallbackText, show_link};
use crate::types::macros::wrong;
use crate::types::{
    ContentBlock, CreateMessageParams, List, Role, SamplingMessage, SamplingMessageContent,
    SamplingMessageContentBlock, Text,
};
use serde::de;

/// The reason why the messages of a [`CreateMessageParams`] are invalid.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplingError {
    /// A message with tool results contains other content, or is not a user message.
    MixedToolResults {
        /// Index of the message.
        message: usize,
    },
    /// A tool use has no tool result in the next message.
    MissingToolResult {
        /// Index of the message.
        message: usize,
    },
    /// A tool result refers to no tool use in the previous message, or a user message contains a
    /// tool use.
    UnknownToolUse {
        /// Index of the message.
        message: usize,
    },
    /// A message has more than [`MAX_TOOL_USES`] tool uses.
    TooManyToolUses {
        /// Index of the message.
        message: usize,
    },
    /// A message or block is invalid.
    Read(ReadError),
}

/// Maximum number of tool uses of a message. Validation takes 8 bytes of stack for each.
pub const MAX_TOOL_USES: usize = 128;

impl CreateMessageParams<'_> {
    /// Validates tool use: a message with tool results contains nothing else, the next message has
    /// the results of all tool uses of a message, and each result refers to a tool use of the
    /// previous message (client/sampling, "Message Content Constraints"). A client responds to a
    /// violation with error -32602.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), SamplingError> {
        self.check_with(|block| block.to::<SamplingMessageContentBlock<'_>>().map(|_| ()))
    }

    /// Does the same before sending. Of blocks that are JSON only `type` and the ids are read, so
    /// that a server links no code to read whole messages.
    pub(crate) fn validate_tool_results(&self) -> Result<(), SamplingError> {
        self.check_with(|block| match block.get("type").and_then(RawJson::as_string) {
            Some(_) => Ok(()),
            None => Err(de::Error::missing_field("type")),
        })
    }

    fn check_with(&self, read: ReadBlock) -> Result<(), SamplingError> {
        let own = self.messages.as_slice().unwrap_or_default().iter().map(|message| {
            Ok(Message { role: message.role, content: Content::Own(&message.content) })
        });
        let read_before =
            self.messages.as_json().unwrap_or(RawJson::NULL).elements().map(Message::from_json);
        let mut before = None;
        let mut count = 0;
        for message in own.chain(read_before) {
            let message = message.map_err(SamplingError::Read)?;
            check_pair(before, Some(message), count, read)?;
            before = Some(message);
            count += 1;
        }
        check_pair(before, None, count, read)
    }
}

/// Validates a block that is JSON.
type ReadBlock = fn(RawJson<'_>) -> Result<(), ReadError>;

/// The parts of a message that matter for tool use.
#[derive(Clone, Copy)]
struct Message<'x, 'a> {
    role: Role,
    content: Content<'x, 'a>,
}

impl<'a> Message<'_, 'a> {
    fn from_json(message: RawJson<'a>) -> Result<Self, ReadError> {
        let role = message
            .get("role")
            .ok_or(de::Error::missing_field("role"))?
            .as_string()
            .and_then(Role::from_json);
        let content = message.get("content").filter(|content| !content.is_null());
        let content = content.ok_or(de::Error::missing_field("content"))?;
        Ok(Self { role: role.ok_or_else(|| wrong(&"a role"))?, content: Content::Json(content) })
    }
}

/// The kind of a block, with the id of the tool use.
enum BlockKind<'a> {
    Use(Text<'a>),
    Result(Text<'a>),
    Other,
}

/// Checks two consecutive messages, of which `message` has the index `index`. Compares hashes of
/// ids, so that the blocks of a hostile message are read twice at most.
fn check_pair(
    before: Option<Message<'_, '_>>,
    message: Option<Message<'_, '_>>,
    index: usize,
    read: ReadBlock,
) -> Result<(), SamplingError> {
    let previous = index.saturating_sub(1);
    let (mut uses, mut len, mut answered) = ([0; MAX_TOOL_USES], 0, 0u128);
    for block in before.iter().flat_map(|before| before.content.blocks()) {
        if let BlockKind::Use(id) = block.kind() {
            let too_many = SamplingError::TooManyToolUses { message: previous };
            *uses.get_mut(len).ok_or(too_many)? = hash(id);
            len += 1;
        }
    }
    if let Some(message) = message {
        let (mut results, mut others) = (false, false);
        for block in message.content.blocks() {
            if let Block::Json(json) = block {
                read(json).map_err(SamplingError::Read)?;
            }
            let is_known = match block.kind() {
                BlockKind::Result(id) => {
                    results = true;
                    let id = hash(id);
                    let of_uses = uses.iter().take(len).enumerate();
                    let found = of_uses.filter(|(_, used)| **used == id);
                    let found = found.fold(0, |found, (at, _)| found | 1 << at);
                    answered |= found;
                    found != 0
                }
                BlockKind::Use(_) if message.role == Role::User => false,
                _ => {
                    others = true;
                    true
                }
            };
            if !is_known {
                return Err(SamplingError::UnknownToolUse { message: index });
            }
        }
        if results && (others || message.role != Role::User) {
            return Err(SamplingError::MixedToolResults { message: index });
        }
    }
    if answered.count_ones() as usize != len {
        return Err(SamplingError::MissingToolResult { message: previous });
    }
    Ok(())
}

fn hash(id: Text<'_>) -> u64 {
    match id.source() {
        Source::Own(text) => hash_str(text),
        Source::Received(text) => hash_text(text),
    }
}

impl fmt::Display for SamplingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MixedToolResults { message } => {
                write!(f, "message {message} mixes tool results with other content")
            }
            Self::MissingToolResult { message } => {
                write!(f, "a tool use in message {message} has no result in the next message")
            }
            Self::UnknownToolUse { message } => {
                write!(
                    f,
                    "message {message} has a tool result without a tool use in the previous \
                     message, or a tool use of the user"
                )
            }
            Self::TooManyToolUses { message } => {
                write!(f, "message {message} has more than {MAX_TOOL_USES} tool uses")
            }
            Self::Read(error) => error.fmt(f),
        }
    }
}

crate::text::error_type!(SamplingError);

// Downgrades of sampling messages for revisions before 2025-11-25, which define neither arrays of
// blocks nor tool use.
//
// Of blocks that are JSON, only the needed members are read, so that a server links no code to
// read whole messages.

/// Content of one block, for revisions before 2025-11-25: the block if there is exactly one,
/// otherwise one text block for all.
pub(super) struct AsOneBlock<'x, 'a>(pub(super) &'x SamplingMessageContent<'a>);

impl Encode for AsOneBlock<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if to.revision() >= Revision::V2025_11_25 {
            return self.0.encode(to);
        }
        let mut blocks = Content::Own(self.0).blocks();
        match (blocks.next(), blocks.next()) {
            (Some(block), None) => block.encode(to),
            _ => FallbackText { text: self, annotations: None }.encode(to),
        }
    }
}

/// The text of all blocks, joined by line feeds.
impl fmt::Display for AsOneBlock<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, block) in Content::Own(self.0).blocks().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fmt::Display::fmt(&block, f)?;
        }
        Ok(())
    }
}

/// Splits each message into messages of one block, for revisions before 2025-11-25.
pub(super) struct OneBlockEach<'x, 'a>(pub(super) &'x List<'a, SamplingMessage<'a>>);

impl Encode for OneBlockEach<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if to.revision() >= Revision::V2025_11_25 {
            return self.0.encode(to);
        }
        let own = self.0.as_slice().unwrap_or_default().iter().flat_map(|message| {
            let role = match message.role {
                Role::User => const { RawJson::from_static("\"user\"") },
                Role::Assistant => const { RawJson::from_static("\"assistant\"") },
            };
            Content::Own(&message.content).blocks().map(move |block| OneBlock { role, block })
        });
        let json = self.0.as_json().unwrap_or(RawJson::NULL).elements().flat_map(|message| {
            let role = message.get("role").unwrap_or(RawJson::NULL);
            let content = message.get("content").unwrap_or(RawJson::NULL);
            Content::Json(content).blocks().map(move |block| OneBlock { role, block })
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

/// The content of a message of the application, or of one that is JSON.
#[derive(Clone, Copy)]
enum Content<'x, 'a> {
    Own(&'x SamplingMessageContent<'a>),
    Json(RawJson<'a>),
}

impl<'x, 'a> Content<'x, 'a> {
    fn blocks(self) -> impl Iterator<Item = Block<'x, 'a>> {
        let (own, json) = match self {
            Self::Own(SamplingMessageContent::One(block)) => {
                (core::slice::from_ref(block), RawJson::NULL)
            }
            Self::Own(SamplingMessageContent::Many(blocks)) => {
                (blocks.as_slice().unwrap_or_default(), blocks.as_json().unwrap_or(RawJson::NULL))
            }
            Self::Json(json) => (&[][..], json),
        };
        let alone = (!json.is_array() && !json.is_null()).then_some(json);
        own.iter().map(Block::Own).chain(alone.into_iter().chain(json.elements()).map(Block::Json))
    }
}

/// A block of the application, or received JSON.
#[derive(Clone, Copy)]
enum Block<'x, 'a> {
    Own(&'x SamplingMessageContentBlock<'a>),
    Json(RawJson<'a>),
}

impl<'a> Block<'_, 'a> {
    fn kind(self) -> BlockKind<'a> {
        match self {
            Self::Own(SamplingMessageContentBlock::ToolUse(used)) => BlockKind::Use(used.id),
            Self::Own(SamplingMessageContentBlock::ToolResult(result)) => {
                BlockKind::Result(result.tool_use_id)
            }
            Self::Own(_) => BlockKind::Other,
            Self::Json(block) => match text(block, "type") {
                Some(kind) if kind == "tool_use" => {
                    BlockKind::Use(text(block, "id").unwrap_or_default())
                }
                Some(kind) if kind == "tool_result" => {
                    BlockKind::Result(text(block, "toolUseId").unwrap_or_default())
                }
                _ => BlockKind::Other,
            },
        }
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
                    let name = text(*raw, "name").unwrap_or_default();
                    show_use(name, raw.get("input").unwrap_or(RawJson::EMPTY), f)
                }
                Some(kind) if kind == "tool_result" => {
                    let content = raw.get("content").and_then(List::from_json);
                    show_result(content.unwrap_or_default(), f)
                }
                _ => show(*raw, f),
            },
        }
    }
}

/// Writes the description of a result of a tool.
pub(super) fn show_result(
    content: List<'_, ContentBlock<'_>>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str("[tool result:")?;
    for block in content.as_slice().unwrap_or_default() {
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
    for block in content.as_json().unwrap_or(RawJson::NULL).elements() {
        f.write_str(" ")?;
        show(block, f)?;
    }
    f.write_str("]")
}

/// Writes the description of a block that contains no other blocks.
fn show(block: RawJson<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        show_link(get("name"), get("uri"), f)
    } else {
        f.write_str(UNKNOWN)
    }
}

fn text<'a>(object: RawJson<'a>, key: &str) -> Option<Text<'a>> {
    object.get(key).and_then(RawJson::as_string).map(Text::from_json)
}
