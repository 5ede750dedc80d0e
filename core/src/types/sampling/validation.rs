//! Validation of tool use in sampling messages (client/sampling, "Tool Use").

use core::fmt;

use serde::de;

use crate::json::{RawJson, ReadError};
use crate::types::macros::wrong;
use crate::types::{
    CreateMessageParams, Role, SamplingMessageContent, SamplingMessageContentBlock, Text,
};

/// The reason why the messages of a [`CreateMessageParams`] are invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// A message or block is invalid.
    Read(ReadError),
}

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
            check_pair(before.as_ref(), Some(&message), count, read)?;
            before = Some(message);
            count += 1;
        }
        check_pair(before.as_ref(), None, count, read)
    }
}

/// Validates a block that is JSON.
type ReadBlock = fn(RawJson<'_>) -> Result<(), ReadError>;

/// The parts of a message that matter for tool use.
struct Message<'m> {
    role: Role,
    content: Content<'m>,
}

enum Content<'m> {
    Own(&'m SamplingMessageContent<'m>),
    Json(RawJson<'m>),
}

/// The kind of a block, with the id of the tool use.
enum BlockKind<'m> {
    Use(Text<'m>),
    Result(Text<'m>),
    Other,
}

impl<'m> Message<'m> {
    fn from_json(message: RawJson<'m>) -> Result<Self, ReadError> {
        let role = message
            .get("role")
            .ok_or(de::Error::missing_field("role"))?
            .as_string()
            .and_then(Role::from_json);
        let content = message.get("content").ok_or(de::Error::missing_field("content"))?;
        Ok(Self { role: role.ok_or(wrong(&"a role"))?, content: Content::Json(content) })
    }

    /// Calls `take` for each block, until it returns an error.
    fn for_each_block(
        &self,
        read: ReadBlock,
        take: &mut dyn FnMut(BlockKind<'m>) -> Result<(), SamplingError>,
    ) -> Result<(), SamplingError> {
        let (one, json) = match &self.content {
            Content::Own(SamplingMessageContent::One(block)) => {
                (core::slice::from_ref(block), RawJson::NULL)
            }
            Content::Own(SamplingMessageContent::Many(blocks)) => {
                (blocks.as_slice().unwrap_or_default(), blocks.as_json().unwrap_or(RawJson::NULL))
            }
            Content::Json(json) => (&[][..], *json),
        };
        for block in one {
            take(match block {
                SamplingMessageContentBlock::ToolUse(used) => BlockKind::Use(used.id),
                SamplingMessageContentBlock::ToolResult(result) => {
                    BlockKind::Result(result.tool_use_id)
                }
                _ => BlockKind::Other,
            })?;
        }
        let alone = (!json.is_array() && !json.is_null()).then_some(json);
        for block in alone.into_iter().chain(json.elements()) {
            read(block).map_err(SamplingError::Read)?;
            let text = |key| block.get(key).and_then(RawJson::as_string).map(Text::from_json);
            let is = |kind| text("type").is_some_and(|written| written == kind);
            take(match (is("tool_use"), is("tool_result")) {
                (true, _) => BlockKind::Use(text("id").unwrap_or_default()),
                (_, true) => BlockKind::Result(text("toolUseId").unwrap_or_default()),
                _ => BlockKind::Other,
            })?;
        }
        Ok(())
    }

    /// Returns whether `is` holds for a block.
    fn any(&self, is: &dyn Fn(BlockKind<'m>) -> bool) -> bool {
        let mut found = false;
        let walked = self.for_each_block(|_| Ok(()), &mut |block| {
            found |= is(block);
            Ok(())
        });
        walked.is_ok() && found
    }
}

/// Checks two consecutive messages, of which `message` has the index `index`.
fn check_pair(
    before: Option<&Message<'_>>,
    message: Option<&Message<'_>>,
    index: usize,
    read: ReadBlock,
) -> Result<(), SamplingError> {
    if let Some(message) = message {
        let (mut results, mut others) = (false, false);
        message.for_each_block(read, &mut |block| {
            let unknown = match block {
                BlockKind::Result(id) => {
                    results = true;
                    !before.is_some_and(|before| {
                        before.any(&|block| matches!(block, BlockKind::Use(used) if used == id))
                    })
                }
                BlockKind::Use(_) if message.role == Role::User => true,
                _ => {
                    others = true;
                    false
                }
            };
            if unknown { Err(SamplingError::UnknownToolUse { message: index }) } else { Ok(()) }
        })?;
        if results && (others || message.role != Role::User) {
            return Err(SamplingError::MixedToolResults { message: index });
        }
    }
    let Some(before) = before else { return Ok(()) };
    before.for_each_block(|_| Ok(()), &mut |block| {
        let BlockKind::Use(id) = block else { return Ok(()) };
        match message {
            Some(message)
                if message.any(
                    &|block| matches!(block, BlockKind::Result(answered) if answered == id),
                ) =>
            {
                Ok(())
            }
            _ => Err(SamplingError::MissingToolResult { message: index.saturating_sub(1) }),
        }
    })
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
                    "message {message} has a tool result without a tool use in the previous message"
                )
            }
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SamplingError {}
