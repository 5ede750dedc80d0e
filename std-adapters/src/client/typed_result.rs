//! Results of tool calls with types.

use std::fmt;
use std::marker::PhantomData;

use mcp_sansio::typed::{InputObject as _, OutputError, ToolCall};
use mcp_sansio::types::CallToolResult;
use mcp_sansio::{OwnedJson, Printable, RawJson};

/// The result of a call with types: of `Client::call`.
pub struct TypedResult<T> {
    result: OwnedJson,
    /// The structured content, if it is not in the result.
    output: Option<OwnedJson>,
    call: PhantomData<fn() -> T>,
}

impl<T: ToolCall> TypedResult<T> {
    /// Checks a result. A server before 2025-06-18 sends no structured content: then the JSON of
    /// the first text block is taken for it, if it is an object.
    pub(crate) fn new(result: OwnedJson) -> Result<Self, ToolCallError> {
        let output = match T::output(result.as_raw()) {
            Err(OutputError::Missing) => json_text(&result),
            _ => None,
        };
        let typed = Self { result, output, call: PhantomData };
        typed.output()?;
        Ok(typed)
    }

    /// Reads the structured content, which may borrow from the result.
    ///
    /// # Errors
    /// None, since the client has checked it.
    pub fn output(&self) -> Result<T::Output<'_>, ToolCallError> {
        let read = match &self.output {
            Some(output) => T::Output::parse(output.as_raw()).map_err(OutputError::Faults),
            None => T::output(self.result.as_raw()),
        };
        read.map_err(|error| match error {
            OutputError::Failed(text) => ToolCallError::Failed { why: text.to_string() },
            error => ToolCallError::InvalidOutput { tool: T::NAME, why: error.to_string() },
        })
    }
}

impl<T> TypedResult<T> {
    /// Returns the whole result: a [`CallToolResult`].
    #[must_use]
    pub const fn result(&self) -> &OwnedJson {
        &self.result
    }
}

/// Returns the structured content that is only in the first block of text.
fn json_text(result: &OwnedJson) -> Option<OwnedJson> {
    let result: CallToolResult<'_> = result.to().ok()?;
    let text = result.content.iter().next()?.ok()?.as_text()?.to_string();
    Some(OwnedJson::from(RawJson::parse(&text).ok().filter(|json| json.is_object())?))
}

impl<T> fmt::Debug for TypedResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedResult").field(&self.result).finish()
    }
}

/// The reason why a tool call with types has a result, but no output.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ToolCallError {
    /// The tool failed (`isError`), with this text for a model.
    Failed {
        /// The first block of text.
        why: String,
    },
    /// The structured content is missing or not of its type.
    InvalidOutput {
        /// The name of the tool.
        tool: &'static str,
        /// Description of the fault.
        why: String,
    },
}

impl fmt::Display for ToolCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { why } => write!(f, "the tool failed: {}", Printable::new(why)),
            Self::InvalidOutput { tool, why } => write!(f, "`{tool}`: {}", Printable::new(why)),
        }
    }
}

impl std::error::Error for ToolCallError {}
