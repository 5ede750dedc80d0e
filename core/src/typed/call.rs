//! Calls of tools by a client, with types.

use core::fmt;

use super::faults::Faults;
use super::input::InputObject;
use super::output::OutputObject;
use crate::client::{CallOptions, Client};
use crate::encode::{Encode, Encoder};
use crate::error::SendError;
use crate::handle::Call;
use crate::json::{RawJson, ReadError};
use crate::time::Instant;
use crate::tx::Tx;
use crate::types::{CallToolResult, Text};

/// A tool as its client sees it: the value is the arguments. Derive it.
///
/// ```
/// use mcp_sansio::RawJson;
/// use mcp_sansio::typed::{Input, Output, OutputError, ToolCall};
///
/// #[derive(Output, ToolCall)]
/// #[tool(name = "divide", returns = Quotient)]
/// struct Divide {
///     dividend: i64,
///     divisor: i64,
/// }
///
/// #[derive(Input, Debug)]
/// #[input(open)]
/// struct Quotient {
///     quotient: i64,
/// }
///
/// // What a server sends.
/// let result = RawJson::from_static(
///     r#"{"content":[{"type":"text","text":"3"}],"structuredContent":{"quotient":3}}"#,
/// );
/// assert_eq!(Divide::output(result)?.quotient, 3);
///
/// let failed = RawJson::from_static(
///     r#"{"content":[{"type":"text","text":"a number cannot be divided by 0"}],"isError":true}"#,
/// );
/// let error = Divide::output(failed).unwrap_err();
/// assert_eq!(error.to_string(), "the tool failed: a number cannot be divided by 0");
/// # Ok::<(), OutputError<'_>>(())
/// ```
///
/// `#[tool(name = "..")]` is the name of the tool; otherwise it is that of the struct in
/// `snake_case`. `returns` is the type of the structured content: one that derives
/// [`Input`](super::Input), with the lifetime `'static` if it has one.
pub trait ToolCall: OutputObject {
    /// The name of the tool.
    const NAME: &'static str;

    /// The structured content of its result.
    type Output<'a>: InputObject<'a>;

    /// Checks the result of a call and reads its structured content.
    ///
    /// # Errors
    /// If the tool failed, or the structured content is missing or invalid. Servers before
    /// 2025-06-18 send none.
    fn output(result: RawJson<'_>) -> Result<Self::Output<'_>, OutputError<'_>> {
        let result: CallToolResult<'_> = result.to().map_err(OutputError::Invalid)?;
        if result.is_error == Some(true) {
            let texts = result.content.iter().filter_map(|block| block.ok()?.as_text());
            return Err(OutputError::Failed(texts.into_iter().next().unwrap_or_default()));
        }
        let content = result.structured_content.ok_or(OutputError::Missing)?;
        InputObject::parse(content).map_err(OutputError::Faults)
    }
}

/// Reason why a call has no output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OutputError<'a> {
    /// The tool failed (`isError`), with this text.
    Failed(Text<'a>),
    /// The result has no structured content.
    Missing,
    /// The structured content is not of its type.
    Faults(Faults<'a>),
    /// The result is no [`CallToolResult`].
    Invalid(ReadError),
}

impl fmt::Display for OutputError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) => write!(f, "the tool failed: {text}"),
            Self::Missing => f.write_str("the result of the tool has no structured content"),
            Self::Faults(faults) => write!(f, "the structured content is invalid: {faults}"),
            Self::Invalid(error) => write!(f, "the result of the tool is invalid: {error}"),
        }
    }
}

impl core::error::Error for OutputError<'_> {}

/// The parameters of a call.
struct Params<'x, T>(&'x T);

impl<T: ToolCall> Encode for Params<'_, T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("name", T::NAME);
        to.member("arguments", self.0);
        to.end_object();
    }
}

impl Client<'_> {
    /// Calls a tool with typed arguments: [`request`](Self::request) with `tools/call`. Read the
    /// result with [`ToolCall::output`].
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn call_tool<T: ToolCall>(
        &mut self,
        now: Instant,
        arguments: &T,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        self.request(now, "tools/call", &Params(arguments), options, tx)
    }
}
