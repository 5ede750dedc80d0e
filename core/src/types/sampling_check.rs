//! Whether a conversation uses tools as the protocol wants it (client/sampling, "Tool Use").

use core::fmt;

use super::{CreateMessageParams, Role, SamplingContent, SamplingMessage, Text};
use crate::json::ReadError;

/// Why a conversation is not one. `message` is the index of the message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SamplingError {
    /// A user's message with results of tools has something else, too; or the model's message has results.
    MixedToolResults {
        /// Which message.
        message: usize,
    },
    /// A use of a tool is not answered in the message behind it.
    Unanswered {
        /// Which message.
        message: usize,
    },
    /// A result belongs to no use of a tool in the message before it, or tools are used by the user.
    UnknownToolUse {
        /// Which message.
        message: usize,
    },
    /// A message or block could not be read.
    Read(ReadError),
}

impl CreateMessageParams<'_> {
    /// Checks the use of tools: a message with results of tools has nothing else (SAMP-03), each use of a tool is answered in the very next
    /// message (SAMP-04), and each result answers one (SAMP-05). A client answers a violation with -32602.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self) -> Result<(), SamplingError> {
        let mut before: Option<SamplingMessage<'_>> = None;
        let mut count = 0;
        for (index, message) in self.messages.iter().enumerate() {
            let message = message.map_err(SamplingError::Read)?;
            check_pair(before.as_ref(), Some(&message), index)?;
            before = Some(message);
            count = index + 1;
        }
        check_pair(before.as_ref(), None, count)
    }
}

/// Two messages in a row, `index` being the place of the second.
fn check_pair(
    before: Option<&SamplingMessage<'_>>,
    message: Option<&SamplingMessage<'_>>,
    index: usize,
) -> Result<(), SamplingError> {
    if let Some(message) = message {
        let (mut results, mut others) = (false, false);
        for block in message.content.iter() {
            match block.map_err(SamplingError::Read)? {
                SamplingContent::ToolResult(result) => {
                    results = true;
                    if !before.is_some_and(|before| uses(before, result.tool_use_id)) {
                        return Err(SamplingError::UnknownToolUse { message: index });
                    }
                }
                SamplingContent::ToolUse(_) if message.role == Role::User => {
                    return Err(SamplingError::UnknownToolUse { message: index });
                }
                _ => others = true,
            }
        }
        if results && (others || message.role != Role::User) {
            return Err(SamplingError::MixedToolResults { message: index });
        }
    }
    for block in before.iter().flat_map(|before| before.content.iter()).flatten() {
        let SamplingContent::ToolUse(used) = block else { continue };
        if !message.is_some_and(|message| answers(message, used.id)) {
            return Err(SamplingError::Unanswered { message: index.saturating_sub(1) });
        }
    }
    Ok(())
}

fn uses(message: &SamplingMessage<'_>, id: Text<'_>) -> bool {
    message.content.iter().flatten().any(|block| matches!(block, SamplingContent::ToolUse(used) if used.id == id))
}

fn answers(message: &SamplingMessage<'_>, id: Text<'_>) -> bool {
    message.content.iter().flatten().any(|block| matches!(block, SamplingContent::ToolResult(result) if result.tool_use_id == id))
}

impl fmt::Display for SamplingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MixedToolResults { message } => write!(f, "message {message} mixes tool results with other content"),
            Self::Unanswered { message } => write!(f, "a tool use in message {message} is not answered in the next"),
            Self::UnknownToolUse { message } => {
                write!(f, "message {message} answers a tool use that the one before does not have")
            }
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SamplingError {}
