//! Whether a conversation uses tools as the protocol wants it (client/sampling, "Tool Use").

use core::fmt;

use serde::de;

use crate::json::{RawJson, ReadError};
use crate::types::encode::macros::wrong;
use crate::types::{
    CreateMessageParams, Role, SamplingMessageContent, SamplingMessageContentBlock, Text,
};

/// Why a conversation is not one. `message` is the index of the message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SamplingError {
    /// A user's message with results of tools has something else, too; or the model's message has
    /// results.
    MixedToolResults {
        /// Which message.
        message: usize,
    },
    /// A use of a tool is not answered in the message behind it.
    Unanswered {
        /// Which message.
        message: usize,
    },
    /// A result belongs to no use of a tool in the message before it, or tools are used by the
    /// user.
    UnknownToolUse {
        /// Which message.
        message: usize,
    },
    /// A message or block could not be read.
    Read(ReadError),
}

impl CreateMessageParams<'_> {
    /// Checks the use of tools: a message with results of tools has nothing else (SAMP-03), each
    /// use of a tool is answered in the very next message (SAMP-04), and each result answers
    /// one (SAMP-05). A client answers a violation with -32602.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn validate(&self) -> Result<(), SamplingError> {
        self.check_with(|block| block.to::<SamplingMessageContentBlock<'_>>().map(|_| ()))
    }

    /// The same before it is sent. Of blocks that are JSON already only the type is looked at:
    /// whoever sends need not be able to read.
    pub(crate) fn validate_tool_results(&self) -> Result<(), SamplingError> {
        self.check_with(|block| match block.get("type").and_then(RawJson::as_string) {
            Some(_) => Ok(()),
            None => Err(de::Error::missing_field("type")),
        })
    }

    fn check_with(&self, read: ReadBlock) -> Result<(), SamplingError> {
        let own = self.messages.as_slice().unwrap_or_default().iter().map(|message| {
            Ok(Turn { role: message.role, content: Content::Own(&message.content) })
        });
        let read_before =
            self.messages.as_json().unwrap_or(RawJson::NULL).elements().map(Turn::of_json);
        let mut before = None;
        let mut count = 0;
        for turn in own.chain(read_before) {
            let turn = turn.map_err(SamplingError::Read)?;
            check_pair(before.as_ref(), Some(&turn), count, read)?;
            before = Some(turn);
            count += 1;
        }
        check_pair(before.as_ref(), None, count, read)
    }
}

/// What of a block that is JSON is read before it is believed.
type ReadBlock = fn(RawJson<'_>) -> Result<(), ReadError>;

/// A message, own or read, as far as its use of tools goes.
struct Turn<'m> {
    role: Role,
    content: Content<'m>,
}

enum Content<'m> {
    Own(&'m SamplingMessageContent<'m>),
    Json(RawJson<'m>),
}

/// A block.
enum Part<'m> {
    Use(Text<'m>),
    Result(Text<'m>),
    Other,
}

impl<'m> Turn<'m> {
    fn of_json(message: RawJson<'m>) -> Result<Self, ReadError> {
        let role = message
            .get("role")
            .ok_or(de::Error::missing_field("role"))?
            .as_string()
            .and_then(Role::from_json);
        let content = message.get("content").ok_or(de::Error::missing_field("content"))?;
        Ok(Self { role: role.ok_or(wrong(&"a role"))?, content: Content::Json(content) })
    }

    /// Goes through the blocks until there is an error.
    fn parts(
        &self,
        read: ReadBlock,
        take: &mut dyn FnMut(Part<'m>) -> Result<(), SamplingError>,
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
                SamplingMessageContentBlock::ToolUse(used) => Part::Use(used.id),
                SamplingMessageContentBlock::ToolResult(result) => Part::Result(result.tool_use_id),
                _ => Part::Other,
            })?;
        }
        let alone = (!json.is_array() && !json.is_null()).then_some(json);
        for block in alone.into_iter().chain(json.elements()) {
            read(block).map_err(SamplingError::Read)?;
            let text = |key| block.get(key).and_then(RawJson::as_string).map(Text::from_json);
            let is = |kind| text("type").is_some_and(|written| written == kind);
            take(match (is("tool_use"), is("tool_result")) {
                (true, _) => Part::Use(text("id").unwrap_or_default()),
                (_, true) => Part::Result(text("toolUseId").unwrap_or_default()),
                _ => Part::Other,
            })?;
        }
        Ok(())
    }

    /// Whether one of its blocks is like that.
    fn any(&self, is: &dyn Fn(Part<'m>) -> bool) -> bool {
        let mut found = false;
        let walked = self.parts(|_| Ok(()), &mut |part| {
            found |= is(part);
            Ok(())
        });
        walked.is_ok() && found
    }
}

/// Two messages in a row, `index` being the place of the second.
fn check_pair(
    before: Option<&Turn<'_>>,
    turn: Option<&Turn<'_>>,
    index: usize,
    read: ReadBlock,
) -> Result<(), SamplingError> {
    if let Some(turn) = turn {
        let (mut results, mut others) = (false, false);
        turn.parts(read, &mut |part| {
            let unknown = match part {
                Part::Result(id) => {
                    results = true;
                    !before.is_some_and(|before| {
                        before.any(&|part| matches!(part, Part::Use(used) if used == id))
                    })
                }
                Part::Use(_) if turn.role == Role::User => true,
                _ => {
                    others = true;
                    false
                }
            };
            if unknown { Err(SamplingError::UnknownToolUse { message: index }) } else { Ok(()) }
        })?;
        if results && (others || turn.role != Role::User) {
            return Err(SamplingError::MixedToolResults { message: index });
        }
    }
    let Some(before) = before else { return Ok(()) };
    before.parts(|_| Ok(()), &mut |part| {
        let Part::Use(id) = part else { return Ok(()) };
        match turn {
            Some(turn)
                if turn.any(&|part| matches!(part, Part::Result(answered) if answered == id)) =>
            {
                Ok(())
            }
            _ => Err(SamplingError::Unanswered { message: index.saturating_sub(1) }),
        }
    })
}

impl fmt::Display for SamplingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MixedToolResults { message } => {
                write!(f, "message {message} mixes tool results with other content")
            }
            Self::Unanswered { message } => {
                write!(f, "a tool use in message {message} is not answered in the next")
            }
            Self::UnknownToolUse { message } => {
                write!(f, "message {message} answers a tool use that the one before does not have")
            }
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SamplingError {}
