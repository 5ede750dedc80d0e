//! Outcomes of tools as values, and `?` in a function that makes one.

mod error;

pub use error::{OrToolError, ToolError};

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, string::String};
use core::convert::Infallible;
#[cfg(feature = "alloc")]
use core::fmt;

use crate::connection::Outcome;
use crate::encode::{Encode, Encoder, JsonText, is_object, object};
use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::server::Server;
use crate::tx::Tx;
use crate::types::{CallToolResult, ContentBlock, Text, TextResult};

/// Result of a tool: an [`Outcome`] that any loop sends, and repeats. `T` is the structured
/// content of the program's tools.
///
/// ```
/// use mcp_sansio::{Encode, Encoder, OrToolError as _, ToolOutput, ToolResult};
/// # fn sensor() -> Result<u16, core::fmt::Error> { Ok(412) }
/// struct Light(u16);
///
/// impl Encode for Light {
///     fn encode(&self, to: &mut Encoder<'_>) {
///         to.begin_object();
///         to.member("lux", &self.0);
///         to.end_object();
///     }
/// }
///
/// fn light(room: &str) -> ToolResult<'_, Light> {
///     match room {
///         "" => Err("Which room?")?,                             // for the model: `isError`
///         "hall" => Ok(ToolOutput::text("There is no sensor")),
///         _ => Ok(ToolOutput::Structured(Light(sensor().or_internal()?))), // not for the client
///     }
/// }
/// ```
pub type ToolResult<'a, T = NoOutput> = Result<ToolOutput<'a, T>, ToolError<'a>>;

/// The structured content of tools that have none.
pub type NoOutput = Infallible;

/// The result of a tool that succeeded.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolOutput<'a, T = NoOutput> {
    /// Structured content, and the same JSON as text, for models and for clients of revisions
    /// without structured content. Before 2026-07-28 structured content is an object; any other
    /// value is only written as text then. A type that derives `Output` has the schema, too.
    Structured(T),
    /// Structured content of any type: see [`boxed`](Self::boxed).
    #[cfg(feature = "alloc")]
    Boxed(BoxedContent<'a>),
    /// Text.
    Text(Text<'a>),
    /// Text that was made for this result.
    #[cfg(feature = "alloc")]
    String(String),
    /// Blocks of content.
    Blocks(&'a [ContentBlock<'a>]),
}

impl<'a, T> ToolOutput<'a, T> {
    /// Creates a result with one text block.
    #[must_use]
    pub const fn text(text: &'a str) -> Self {
        Self::Text(Text::new(text))
    }

    /// Creates a result with structured content of any type, as [`Structured`](Self::Structured):
    /// for programs whose tools return several types.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn boxed(content: impl Encode + Send + 'a) -> Self {
        Self::Boxed(BoxedContent(Box::new(content)))
    }
}

/// Structured content of any type.
#[cfg(feature = "alloc")]
pub struct BoxedContent<'a>(Box<dyn Encode + Send + 'a>);

#[cfg(feature = "alloc")]
impl fmt::Debug for BoxedContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxedContent").finish_non_exhaustive()
    }
}

impl<'a, T> From<&'a str> for ToolOutput<'a, T> {
    fn from(text: &'a str) -> Self {
        Self::text(text)
    }
}

impl<'a, T> From<Text<'a>> for ToolOutput<'a, T> {
    fn from(text: Text<'a>) -> Self {
        Self::Text(text)
    }
}

#[cfg(feature = "alloc")]
impl<T> From<String> for ToolOutput<'_, T> {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

/// Writes the result of `tools/call`, as the revision defines it.
impl<T: Encode> Encode for ToolOutput<'_, T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Structured(data) => WithText(data).encode(to),
            #[cfg(feature = "alloc")]
            Self::Boxed(data) => WithText(&*data.0).encode(to),
            Self::Text(text) => TextResult::from(*text).encode(to),
            #[cfg(feature = "alloc")]
            Self::String(text) => TextResult::new(text).encode(to),
            Self::Blocks(blocks) => CallToolResult::new(blocks).encode(to),
        }
    }
}

impl<T: Encode> Outcome<Server<'_>> for ToolOutput<'_, T> {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        server.respond::<dyn Encode>(request, &self, tx)
    }
}

/// Structured content of a result, written once more as its text, so that no copy is needed.
struct WithText<'x>(&'x dyn Encode);

impl Encode for WithText<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let revision = to.revision();
        let content = (revision.is_modern() || is_object(self.0, revision)).then_some(self.0);
        let block = object!({ "type" = "text", "text": JsonText(self.0) });
        object!(to, {
            "content": [block],
            "structuredContent"? since V2025_06_18: content,
        });
    }
}

impl Encode for Infallible {
    fn encode(&self, _: &mut Encoder<'_>) {
        match *self {}
    }
}
