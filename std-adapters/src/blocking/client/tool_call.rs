//! Calls of tools with types.

use std::fmt;
use std::marker::PhantomData;

use mcp_sansio::typed::{InputObject as _, OutputError, ToolCall};
use mcp_sansio::types::CallToolResult;
use mcp_sansio::{OwnedJson, RawJson};

use super::{Client, Error};

impl Client<'_> {
    /// Calls a tool with typed arguments, and checks the structured content of its result.
    ///
    /// ```no_run
    /// use mcp_sansio::typed::{Input, Output, ToolCall};
    /// use mcp_sansio_adapters::blocking::client::{Client, Error};
    ///
    /// #[derive(Output, ToolCall)]
    /// #[tool(returns = Quotient)]
    /// struct Divide {
    ///     dividend: i64,
    ///     divisor: i64,
    /// }
    ///
    /// #[derive(Input)]
    /// struct Quotient {
    ///     quotient: i64,
    /// }
    ///
    /// fn seventh(client: &mut Client<'_>, dividend: i64) -> Result<i64, Error> {
    ///     let divided = client.call(&Divide { dividend, divisor: 7 })?;
    ///     Ok(divided.output()?.quotient)
    /// }
    /// ```
    ///
    /// A server before 2025-06-18 has no structured content: then the JSON of the first text block
    /// is read, if it is an object.
    ///
    /// # Errors
    /// As [`request`](Self::request). [`Error::ToolFailed`] if the tool failed, and
    /// [`Error::InvalidOutput`] if the structured content is missing or not of its type.
    pub fn call<T: ToolCall>(&mut self, arguments: &T) -> Result<TypedResult<T>, Error> {
        let result = self.call_tool(T::NAME, arguments)?;
        let output = match T::output(result.as_raw()) {
            Err(OutputError::Missing) => json_text(&result.to()?),
            _ => None,
        };
        let typed = TypedResult { result, output, call: PhantomData };
        typed.output()?;
        Ok(typed)
    }
}

/// Returns the structured content that is only in the first block of text.
fn json_text(result: &CallToolResult<'_>) -> Option<OwnedJson> {
    let text = result.content.iter().next()?.ok()?.as_text()?.to_string();
    Some(OwnedJson::from(RawJson::parse(&text).ok().filter(|json| json.is_object())?))
}

/// The result of a call with types: see [`Client::call`].
pub struct TypedResult<T> {
    result: OwnedJson,
    /// The structured content, if it is not in the result.
    output: Option<OwnedJson>,
    call: PhantomData<fn() -> T>,
}

impl<T: ToolCall> TypedResult<T> {
    /// Reads the structured content, which may borrow from the result.
    ///
    /// # Errors
    /// None after [`Client::call`], which has checked it.
    pub fn output(&self) -> Result<T::Output<'_>, Error> {
        let read = match &self.output {
            Some(output) => T::Output::parse(output.as_raw()).map_err(OutputError::Faults),
            None => T::output(self.result.as_raw()),
        };
        read.map_err(|error| match error {
            OutputError::Failed(text) => Error::ToolFailed { why: text.to_string() },
            error => Error::InvalidOutput { tool: T::NAME, why: error.to_string() },
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

impl<T> fmt::Debug for TypedResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedResult").field(&self.result).finish()
    }
}
