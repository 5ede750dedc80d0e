//! Outcomes of tools as values, and `?` in a function that makes one.

pub(crate) mod context;
pub(crate) mod typed;

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use alloc::string::{String, ToString as _};
#[cfg(feature = "alloc")]
use core::error;
use core::fmt;

use crate::buffers::tx::Tx;
use crate::catalog::SchemaError;
#[cfg(feature = "alloc")]
use crate::catalog::{Catalog, Entry, Target};
use crate::connection::Outcome;
#[cfg(feature = "alloc")]
use crate::encode::OwnedJson;
use crate::encode::{Encode, Encoder, JsonText, is_object, object};
#[cfg(feature = "alloc")]
use crate::json::{JsonStr, RawJson};
use crate::protocol::ClientFeatures;
#[cfg(feature = "alloc")]
use crate::protocol::error::ErrorCode;
use crate::protocol::error::{SendError, SendResult};
#[cfg(feature = "alloc")]
use crate::protocol::{Method, Revision};
#[cfg(feature = "alloc")]
use crate::rpc::OwnedRpcError;
use crate::rpc::RpcError;
use crate::rpc::inflight::RequestHandle;
#[cfg(feature = "alloc")]
use crate::server::{Request, ResponseKind};
use crate::server::{Server, ToolErrorKind};
#[cfg(feature = "alloc")]
use crate::text::Printable;
use crate::typed::Faults;
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoOutput {}

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
    pub const fn text(text: &'a str) -> Self {
        Self::Text(Text::new(text))
    }

    /// Creates a result with structured content of any type, as [`Structured`](Self::Structured):
    /// for programs whose tools return several types.
    #[cfg(feature = "alloc")]
    pub fn boxed(content: impl Encode + Send + 'a) -> Self {
        Self::Boxed(BoxedContent(Box::new(content)))
    }
}

/// Structured content of any type.
#[cfg(feature = "alloc")]
pub struct BoxedContent<'a>(Box<dyn Encode + Send + 'a>);

#[cfg(feature = "alloc")]
crate::text::opaque_debug!(BoxedContent<'_> {});

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
    fn send(&self, server: &mut Server<'_>, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
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

impl Encode for NoOutput {
    fn encode(&self, _: &mut Encoder<'_>) {
        match *self {}
    }
}

/// Reason why a tool has no result, and the part of it that the client is told.
///
/// `?` makes one of a `&str` or a `String`, which are the words of the program: the tool failed.
/// For errors of other code, [`OrToolError`] says who may read them. `Display` writes all that is
/// known, for a log.
#[derive(Clone)]
pub struct ToolError<'a> {
    kind: ToolErrorKind,
    why: Why<'a>,
}

/// An error stands beside the function that encodes it, so that a program which makes no such error
/// does not link its words.
#[derive(Clone, Debug)]
enum Why<'a> {
    Text(Text<'a>),
    #[cfg(feature = "alloc")]
    String(String),
    Schema(SchemaError<'a>, fn(&SchemaError<'_>, &mut Encoder<'_>)),
    Faults(Faults<'a>, fn(&Faults<'_>, &mut Encoder<'_>)),
    Error(RpcError<'a>),
    #[cfg(feature = "alloc")]
    OwnedError(Box<OwnedRpcError>),
    Send(SendError),
    Gone,
    #[cfg(feature = "alloc")]
    InputRequired,
}

/// Text of an internal error for the client.
const INTERNAL: &str = "Internal error";

impl<'a> ToolError<'a> {
    /// The tool ran and failed: a result with `isError`, for the model to read.
    pub const fn failed(why: &'a str) -> Self {
        Self { kind: ToolErrorKind::Failed, why: Why::Text(Text::new(why)) }
    }

    /// The arguments are invalid: see [`Server::respond_invalid_arguments`].
    pub const fn invalid_arguments(why: &'a str) -> Self {
        Self { kind: ToolErrorKind::InvalidArguments, why: Why::Text(Text::new(why)) }
    }

    /// The client's response to an input request is invalid: see
    /// [`or_input_response`](OrToolError::or_input_response).
    #[cfg(feature = "alloc")]
    pub const fn invalid_input_response(why: &'a str) -> Self {
        Self { kind: ToolErrorKind::InvalidInputResponse, why: Why::Text(Text::new(why)) }
    }

    /// An error that the client is not told more about: -32603.
    pub const fn internal(why: &'a str) -> Self {
        Self { kind: ToolErrorKind::Error, why: Why::Text(Text::new(why)) }
    }

    /// The client did not declare a capability that the request needs (-32021 from 2026-07-28 on).
    pub const fn missing_capability(needed: ClientFeatures) -> Self {
        Self { kind: ToolErrorKind::Error, why: Why::Error(RpcError::missing_capability(needed)) }
    }

    /// The response is no longer awaited: the request was cancelled or has timed out, or its
    /// connection has ended.
    pub const GONE: Self = Self { kind: ToolErrorKind::Error, why: Why::Gone };

    /// Returns whether the error is [`GONE`](Self::GONE), which is no fault of the program.
    pub const fn is_gone(&self) -> bool {
        matches!(self.why, Why::Gone)
    }

    /// The attempt ends here, because the client has to respond to input requests first
    /// (2026-07-28). For adapters, which send those in place of an error.
    #[cfg(feature = "alloc")]
    pub const INPUT_REQUIRED: Self = Self { kind: ToolErrorKind::Error, why: Why::InputRequired };

    /// Returns whether the error is [`INPUT_REQUIRED`](Self::INPUT_REQUIRED).
    #[cfg(feature = "alloc")]
    pub const fn is_input_required(&self) -> bool {
        matches!(self.why, Why::InputRequired)
    }

    /// Returns the error with copies of its texts, so that it can outlive the request.
    #[cfg(feature = "alloc")]
    pub fn into_owned(self) -> ToolError<'static> {
        let why = match self.why {
            Why::Text(_) | Why::Schema(..) | Why::Faults(..) => Why::String(self.to_string()),
            Why::Error(error) => Why::OwnedError(Box::new(error.into())),
            Why::String(text) => Why::String(text),
            Why::OwnedError(error) => Why::OwnedError(error),
            Why::Send(error) => Why::Send(error),
            Why::Gone => Why::Gone,
            Why::InputRequired => Why::InputRequired,
        };
        ToolError { kind: self.kind, why }
    }

    /// Returns the kind of the response that a client of this revision gets.
    #[cfg(feature = "alloc")]
    pub fn response_kind(&self, revision: Revision) -> ResponseKind {
        if self.kind.is_result(revision) {
            return ResponseKind::ToolFailed;
        }
        let code = match (self.kind, &self.why) {
            (ToolErrorKind::Error, Why::Error(error)) => error.code,
            (ToolErrorKind::Error, Why::OwnedError(error)) => error.as_error().code,
            (ToolErrorKind::Error, _) => ErrorCode::InternalError,
            _ => ErrorCode::InvalidParams,
        };
        ResponseKind::Error(code.number(revision))
    }

    /// Returns how a task ends with this error: a result with `isError`, or a JSON-RPC error.
    ///
    /// # Errors
    /// The JSON-RPC error.
    #[cfg(all(feature = "alloc", feature = "tasks"))]
    pub fn task_result(&self, revision: Revision) -> Result<OwnedJson, OwnedRpcError> {
        let owned = |error: RpcError<'_>| OwnedRpcError::from(error);
        match (self.response_kind(revision), &self.why) {
            (ResponseKind::ToolFailed, why) => {
                let block = object!({ "type" = "text", "text": why });
                let result = object!({ "content": [&block], "isError": true });
                OwnedJson::new(&result, revision).map_err(|_| owned(RpcError::internal(INTERNAL)))
            }
            (_, Why::Error(error)) => Err(owned(*error)),
            (_, Why::OwnedError(error)) => Err((**error).clone()),
            // The client does not read the cause of an internal error.
            (ResponseKind::Error(code), why) if self.kind != ToolErrorKind::Error => {
                let text = OwnedJson::new(why, revision).ok();
                let text = text.as_ref().and_then(|text| text.as_json().as_string());
                let text: String = text.into_iter().flat_map(JsonStr::chars).collect();
                Err(owned(RpcError::new(ErrorCode::from_number(code), &text)))
            }
            _ => Err(owned(RpcError::internal(INTERNAL))),
        }
    }

    /// Returns the error for a request other than `tools/call`, whose result has no `isError`: if
    /// the tool failed it is -32603, if the arguments or an input response are invalid -32602, both
    /// with the text.
    #[cfg(feature = "alloc")]
    pub fn into_rpc_error(self) -> ToolError<'static> {
        let text = self.to_string();
        match self.kind {
            ToolErrorKind::Error => self.into_owned(),
            ToolErrorKind::Failed => ToolError::from(RpcError::internal(&text)).into_owned(),
            ToolErrorKind::InvalidArguments | ToolErrorKind::InvalidInputResponse => {
                ToolError::from(RpcError::invalid_params(&text)).into_owned()
            }
        }
    }
}

impl fmt::Display for ToolError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Text(text) => fmt::Display::fmt(text, f),
            #[cfg(feature = "alloc")]
            Why::String(text) => f.write_str(text),
            Why::Schema(error, _) => fmt::Display::fmt(error, f),
            Why::Faults(faults, _) => fmt::Display::fmt(faults, f),
            Why::Error(error) => error.write_message(f),
            #[cfg(feature = "alloc")]
            Why::OwnedError(error) => f.write_str(error.as_error().message),
            Why::Send(error) => fmt::Display::fmt(error, f),
            Why::Gone => f.write_str("the response is no longer awaited"),
            #[cfg(feature = "alloc")]
            Why::InputRequired => f.write_str("input is required first"),
        }
    }
}

/// Writes the text for the client.
impl Encode for Why<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Text(text) => text.encode(to),
            #[cfg(feature = "alloc")]
            Self::String(text) => to.string(text),
            Self::Schema(error, encode) => encode(error, to),
            Self::Faults(faults, encode) => encode(faults, to),
            _ => to.string(INTERNAL),
        }
    }
}

crate::text::error_type!(ToolError<'_>);

impl Outcome<Server<'_>> for ToolError<'_> {
    fn send(&self, server: &mut Server<'_>, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
        match (self.kind, &self.why) {
            (ToolErrorKind::Error, Why::Error(error)) => server.respond_error(request, error, tx),
            #[cfg(feature = "alloc")]
            (ToolErrorKind::Error, Why::OwnedError(error)) => {
                server.respond_error(request, &error.as_error(), tx)
            }
            (ToolErrorKind::Error, _) => {
                server.respond_error(request, &RpcError::internal(INTERNAL), tx)
            }
            (kind, why) => server.refuse_call(request, kind, why, tx),
        }
    }
}

/// Errors of which `?` makes a [`ToolError`], because it is known who may read them. An error type
/// of a program can implement it, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say who may read it",
    label = "say who may read the error: with `.or_tool()?` the model, with `.or_internal()?` only \
             the log (`use mcp_sansio::OrToolError as _`)"
)]
pub trait IntoToolError<'a> {
    /// Returns the error of the tool.
    fn into_tool_error(self) -> ToolError<'a>;
}

impl<'a, E: IntoToolError<'a>> From<E> for ToolError<'a> {
    fn from(error: E) -> Self {
        error.into_tool_error()
    }
}

/// The tool failed, in the words of the program.
impl<'a> IntoToolError<'a> for &'a str {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError::failed(self)
    }
}

/// The tool failed, in the words of the program.
#[cfg(feature = "alloc")]
impl<'a> IntoToolError<'a> for String {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError { kind: ToolErrorKind::Failed, why: Why::String(self) }
    }
}

/// Any JSON-RPC error.
impl<'a> IntoToolError<'a> for RpcError<'a> {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError { kind: ToolErrorKind::Error, why: Why::Error(self) }
    }
}

/// The arguments are invalid.
impl<'a> IntoToolError<'a> for SchemaError<'a> {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError {
            kind: ToolErrorKind::InvalidArguments,
            why: Why::Schema(self, |error, to| to.display(error)),
        }
    }
}

/// The arguments are invalid.
impl<'a> IntoToolError<'a> for Faults<'a> {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError {
            kind: ToolErrorKind::InvalidArguments,
            why: Why::Faults(self, |faults, to| faults.encode(to)),
        }
    }
}

/// An internal error: the client is not told more.
impl<'a> IntoToolError<'a> for SendError {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError { kind: ToolErrorKind::Error, why: Why::Send(self) }
    }
}

/// An internal error: the client is not told more.
#[cfg(feature = "alloc")]
impl<'a> IntoToolError<'a> for Box<dyn error::Error> {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError::of_kind(ToolErrorKind::Error, &self)
    }
}

/// An internal error: the client is not told more.
#[cfg(feature = "alloc")]
impl<'a> IntoToolError<'a> for Box<dyn error::Error + Send + Sync> {
    fn into_tool_error(self) -> ToolError<'a> {
        ToolError::of_kind(ToolErrorKind::Error, &self)
    }
}

/// Says who may read an error of other code, on any `Result` whose error is `Display`.
///
/// ```
/// use mcp_sansio::{OrToolError as _, ToolError};
/// # #[cfg(feature = "alloc")] {
/// fn lines(path: &str) -> Result<usize, ToolError<'static>> {
///     Ok(std::fs::read_to_string(path).or_internal()?.lines().count())
/// }
/// assert!(lines("/no/such/file").unwrap_err().to_string().contains("No such file"));
/// # }
/// ```
pub trait OrToolError<T> {
    /// The tool failed, and the model reads why: a result with `isError`.
    ///
    /// # Errors
    /// That of the result.
    #[cfg(feature = "alloc")]
    fn or_tool(self) -> Result<T, ToolError<'static>>;

    /// The arguments are invalid, and the model reads why.
    ///
    /// # Errors
    /// That of the result.
    #[cfg(feature = "alloc")]
    fn or_arguments(self) -> Result<T, ToolError<'static>>;

    /// The client's response to an input request is invalid, and the model reads why: from
    /// 2026-07-28 on an error of the request, -32602; before it, where the request itself was
    /// valid, a result with `isError`.
    ///
    /// # Errors
    /// That of the result.
    #[cfg(feature = "alloc")]
    fn or_input_response(self) -> Result<T, ToolError<'static>>;

    /// An internal error (-32603). The client does not read why; with the feature `alloc`,
    /// [`ToolError`] keeps it for a log.
    ///
    /// # Errors
    /// That of the result.
    fn or_internal(self) -> Result<T, ToolError<'static>>;
}

impl<T, E: fmt::Display> OrToolError<T> for Result<T, E> {
    #[cfg(feature = "alloc")]
    fn or_tool(self) -> Result<T, ToolError<'static>> {
        self.map_err(|error| ToolError::of_kind(ToolErrorKind::Failed, &error))
    }

    #[cfg(feature = "alloc")]
    fn or_arguments(self) -> Result<T, ToolError<'static>> {
        self.map_err(|error| ToolError::of_kind(ToolErrorKind::InvalidArguments, &error))
    }

    #[cfg(feature = "alloc")]
    fn or_input_response(self) -> Result<T, ToolError<'static>> {
        self.map_err(|error| ToolError::of_kind(ToolErrorKind::InvalidInputResponse, &error))
    }

    fn or_internal(self) -> Result<T, ToolError<'static>> {
        #[cfg(feature = "alloc")]
        return self.map_err(|error| ToolError::of_kind(ToolErrorKind::Error, &error));
        #[cfg(not(feature = "alloc"))]
        self.map_err(|_| ToolError::internal(INTERNAL))
    }
}

#[cfg(feature = "alloc")]
impl ToolError<'static> {
    fn of_kind(kind: ToolErrorKind, why: &dyn fmt::Display) -> Self {
        Self { kind, why: Why::String(why.to_string()) }
    }
}

#[cfg(feature = "alloc")]
impl Entry<'_> {
    /// Encodes a result of the tool and [checks](Self::check_structured) its structured content. An
    /// error of the tool (`isError`), a result that requires input first, and results before
    /// 2025-06-18 have none; before 2026-07-28 only a schema of objects counts, since clients see
    /// no other. Adapters call it in debug builds, so that tests find what a client would refuse.
    ///
    /// # Errors
    /// -32603, whose message names the tool and the fault.
    pub fn check_result<T: Encode + ?Sized>(
        &self,
        result: &T,
        revision: Revision,
    ) -> Result<(), ToolError<'static>> {
        let is_seen = |schema: RawJson<'_>| revision.is_modern() || schema.is_object_schema();
        if revision < Revision::V2025_06_18 || !self.output_schema().is_some_and(is_seen) {
            return Ok(());
        }
        // Sending reports what cannot be encoded.
        let Ok(result) = OwnedJson::new(result, revision) else { return Ok(()) };
        let result = result.as_json();
        let is_other = |kind: RawJson<'_>| kind.as_string().is_none_or(|kind| kind != "complete");
        if result.get("isError").and_then(RawJson::as_bool) == Some(true)
            || result.get("resultType").is_some_and(is_other)
        {
            return Ok(());
        }
        self.check_structured(result.get("structuredContent")).map_err(|error| {
            let name = Printable::new(self.key());
            let text = alloc::format!("the result of {name} breaks its output schema: {error}");
            ToolError::from(RpcError::internal(&text)).into_owned()
        })
    }
}

#[cfg(feature = "alloc")]
impl Catalog<'_> {
    /// Checks arguments that a catalog [checked when they are read](Self::checked_when_read) has
    /// not, before they are used in another way. `target` is what this catalog has found. For
    /// adapters.
    ///
    /// # Errors
    /// The arguments are invalid: as [`respond`](Self::respond) says it.
    pub fn check_unread(
        &self,
        target: &Target<'_>,
        request: &Request<'_>,
    ) -> Result<(), ToolError<'static>> {
        let Target::Tool(tool) = target else { return Ok(()) };
        let why = self.is_call(tool).then(|| self.refusal_text(tool, request)).flatten();
        why.map_or(Ok(()), |why| Err(ToolError::invalid_arguments(&why).into_owned()))
    }

    /// Returns why [`respond`](Self::respond) refuses a name or the arguments of a call, if it
    /// does. For the logs of adapters.
    pub fn why_refused(&self, request: &Request<'_>) -> Option<String> {
        match self.target(request) {
            Err(error) => Some(error.message.into()),
            Ok(Target::Tool(tool) | Target::InvalidArguments(tool))
                if request.method == Method::ToolsCall =>
            {
                self.refusal_text(tool, request)
            }
            Ok(_) => None,
        }
    }

    fn refusal_text(&self, tool: &Entry<'_>, request: &Request<'_>) -> Option<String> {
        let mut text = None;
        self.refusal(tool, request, &mut |why| {
            let json = OwnedJson::new(why, Revision::LATEST);
            let why = json.iter().filter_map(|json| json.as_json().as_string());
            text = Some(why.flat_map(JsonStr::chars).collect());
        });
        text
    }
}
