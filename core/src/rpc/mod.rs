//! JSON-RPC errors and message envelopes.

pub(crate) mod id;
pub(crate) mod inflight;

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use alloc::string::String;
use core::fmt;

#[cfg(feature = "alloc")]
use crate::encode::OwnedJson;
use crate::encode::{Encode, Encoder, With, object};
#[cfg(all(feature = "alloc", feature = "tasks"))]
use crate::json::ReadError;
use crate::json::{JsonStr, RawJson};
use crate::protocol::error::ErrorCode;
use crate::protocol::{ClientFeatures, Revision, Revisions};
use crate::text::Printable;
#[cfg(all(feature = "alloc", feature = "tasks"))]
use crate::types::ErrorObject;
use crate::types::{ClientCapabilities, SupportedVersions};

/// Error of an error response.
///
/// `code` is symbolic: the number on the wire depends on the revision of the request.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RpcError<'e> {
    /// The code.
    pub code: ErrorCode,
    /// One short sentence.
    pub message: &'e str,
    data: Data<'e>,
}

impl<'e> RpcError<'e> {
    /// Creates an error with a message.
    pub const fn new(code: ErrorCode, message: &'e str) -> Self {
        Self { code, message, data: Data::None }
    }

    /// Creates an error -32602: invalid parameters.
    pub const fn invalid_params(message: &'e str) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// Creates an error -32602 that there is no such entry; the message ends with its name.
    pub(crate) fn unknown(what: &'static str, name: Option<JsonStr<'e>>) -> Self {
        let name = name.filter(|name| name.as_json().as_str().len() <= MAX_NAME);
        Self { data: name.map_or(Data::None, Data::Name), ..Self::invalid_params(what) }
    }

    /// Creates an error -32603: internal error.
    pub const fn internal(message: &'e str) -> Self {
        Self::new(ErrorCode::InternalError, message)
    }

    /// Creates an error for an unknown resource; `data` contains the URI.
    pub const fn resource_not_found(uri: JsonStr<'e>) -> Self {
        let error = Self::new(ErrorCode::ResourceNotFound, "Resource not found");
        Self { data: Data::Uri(uri), ..error }
    }

    /// Creates an error for a request that needs a capability which the client did not declare
    /// (-32021 from 2026-07-28 on).
    pub const fn missing_capability(required: ClientFeatures) -> Self {
        Self {
            code: ErrorCode::MissingClientCapability,
            message: "The request needs a client capability that was not declared",
            data: Data::Required(required, |required, to| {
                ClientCapabilities::new(required).encode(to)
            }),
        }
    }

    pub(crate) const fn unsupported_version(supported: Revisions, requested: RawJson<'e>) -> Self {
        let error =
            Self::new(ErrorCode::UnsupportedProtocolVersion, "Unsupported protocol version");
        Self { data: Data::Supported { supported, requested }, ..error }
    }

    /// Returns the error with another message.
    pub const fn message(self, message: &'e str) -> Self {
        let data = if let Data::Name(_) = self.data { Data::None } else { self.data };
        Self { message, data, ..self }
    }

    /// Returns the error with `data`.
    pub const fn data(self, data: RawJson<'e>) -> Self {
        Self { data: Data::Raw(data), ..self }
    }

    /// Writes the message as text.
    pub(crate) fn write_message(&self, to: &mut impl fmt::Write) -> fmt::Result {
        to.write_str(self.message)?;
        let Data::Name(name) = self.data else { return Ok(()) };
        to.write_str(": ")?;
        name.chars().try_for_each(|c| to.write_char(c))
    }
}

impl fmt::Display for RpcError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)?;
        let Data::Name(name) = self.data else { return Ok(()) };
        write!(f, ": {}", Printable::new(name))
    }
}

impl core::error::Error for RpcError<'_> {}

/// Maximum length of a name that an error repeats, in bytes: a longer one is no name of a tool.
const MAX_NAME: usize = 128;

/// Writes the error object.
impl Encode for RpcError<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let code = i64::from(self.code.number(to.revision()));
        let data = (!matches!(self.data, Data::None | Data::Name(_))).then_some(self.data);
        to.begin_object();
        to.member("code", &code);
        if to.key("message") {
            match self.data {
                // The name is JSON text already, which takes less flash than words do.
                Data::Name(name) => {
                    to.put(b"\"");
                    to.put_escaped(self.message.as_bytes());
                    to.put(b": ");
                    to.put(name.inner_bytes());
                    to.put(b"\"");
                }
                _ => to.string(self.message),
            }
        }
        if let Some(data) = data {
            to.member("data", &data);
        }
        to.end_object();
    }
}

#[derive(Clone, Copy, Debug)]
enum Data<'e> {
    None,
    Raw(RawJson<'e>),
    Uri(JsonStr<'e>),
    /// The end of the message.
    Name(JsonStr<'e>),
    /// With its writer as a function pointer, so that programs that do not use it do not link it.
    Required(ClientFeatures, fn(ClientFeatures, &mut Encoder<'_>)),
    Supported {
        supported: Revisions,
        requested: RawJson<'e>,
    },
}

impl Encode for Data<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match *self {
            Self::None | Self::Name(_) => to.null(),
            Self::Raw(raw) => to.raw(raw),
            Self::Uri(uri) => object!(to, { "uri": uri }),
            Self::Required(required, write) => {
                object!(to, { "requiredCapabilities": With(|to: &mut Encoder<'_>| write(required, to)) });
            }
            Self::Supported { supported, requested } => object!(to, {
                "supported": SupportedVersions::new(supported),
                "requested": requested,
            }),
        }
    }
}

/// An [`RpcError`] with texts of its own.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct OwnedRpcError {
    code: ErrorCode,
    message: Box<str>,
    data: Option<OwnedJson>,
    /// The data that depends on the revision.
    required: Data<'static>,
}

#[cfg(feature = "alloc")]
impl OwnedRpcError {
    /// Reads an error object: an [`ErrorObject`](crate::types::ErrorObject).
    ///
    /// # Errors
    /// If it is none.
    #[cfg(feature = "tasks")]
    pub fn from_json(object: RawJson<'_>) -> Result<Self, ReadError> {
        let error: ErrorObject<'_> = object.to()?;
        let code = i32::try_from(error.code).unwrap_or(-32603);
        let message: String = error.message.chars().collect();
        let (code, message) = (ErrorCode::from_number(code), message.into());
        Ok(Self { code, message, data: error.data.map(OwnedJson::from), required: Data::None })
    }

    /// Returns the error.
    pub fn as_error(&self) -> RpcError<'_> {
        let data = self.data.as_ref().map_or(self.required, |data| Data::Raw(data.as_json()));
        RpcError { code: self.code, message: &self.message, data }
    }
}

#[cfg(feature = "alloc")]
impl From<RpcError<'_>> for OwnedRpcError {
    fn from(error: RpcError<'_>) -> Self {
        let (data, required) = match error.data {
            Data::None | Data::Name(_) => (None, Data::None),
            Data::Required(required, write) => (None, Data::Required(required, write)),
            data => (OwnedJson::new(&data, Revision::LATEST).ok(), Data::None),
        };
        let mut message = String::new();
        // Writing to a string does not fail.
        let _ = error.write_message(&mut message);
        Self { code: error.code, message: message.into(), data, required }
    }
}

#[cfg(feature = "alloc")]
impl fmt::Display for OwnedRpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_error(), f)
    }
}

#[cfg(feature = "alloc")]
impl core::error::Error for OwnedRpcError {}

/// Error response of the peer to a call. Its `Display` output is safe for terminals.
#[derive(Clone, Copy, Debug)]
pub struct PeerError<'f>(RawJson<'f>);

impl fmt::Display for PeerError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = self.message() {
            write!(f, "{} ", Printable::new(message))?;
        }
        write!(f, "(code {})", self.code())
    }
}

impl core::error::Error for PeerError<'_> {}

impl<'f> PeerError<'f> {
    pub(crate) const fn new(error: RawJson<'f>) -> Self {
        Self(error)
    }

    /// Takes an error object that was kept as JSON.
    pub const fn from_json(error: RawJson<'f>) -> Self {
        Self(error)
    }

    /// Returns the code; zero when it is missing.
    pub fn code(&self) -> i64 {
        self.0.get("code").and_then(RawJson::as_i64).unwrap_or(0)
    }

    /// Returns the message.
    pub fn message(&self) -> Option<JsonStr<'f>> {
        self.0.get("message").and_then(RawJson::as_string)
    }

    /// Whether the resource is unknown: -32002, which clients of 2026-07-28 should accept too, or
    /// -32602 with a URI in `data`.
    pub fn is_resource_not_found(&self) -> bool {
        let code = self.code();
        code == -32002
            || (code == -32602
                && self
                    .data()
                    .and_then(|data| data.get("uri"))
                    .is_some_and(|uri| uri.as_string().is_some()))
    }

    /// Returns the `data` member.
    pub fn data(&self) -> Option<RawJson<'f>> {
        self.0.get("data")
    }
}

/// Writes the beginning of a message with an id, up to the value of `member`.
#[inline]
pub(crate) fn write_response_head<const L: usize>(
    writer: &mut Encoder<'_>,
    id: &[u8],
    member: &[u8; L],
) {
    writer.put_between(b"{\"jsonrpc\":\"2.0\",\"id\":", id, member);
}

/// Writes an error response. Without an id: null up to 2025-06-18, where a response must have one;
/// omitted later.
pub(crate) fn write_error(writer: &mut Encoder<'_>, id: Option<&str>, error: &RpcError<'_>) {
    #[cfg(feature = "http")]
    writer.set_status(error.code.http_status(writer.revision()));
    match id.filter(|id| id.len() <= MAX_ECHOED) {
        Some(id) => write_response_head(writer, id.as_bytes(), b",\"error\":"),
        None if writer.revision() < Revision::V2025_11_25 => {
            write_response_head(writer, b"null", b",\"error\":");
        }
        None => writer.put(b"{\"jsonrpc\":\"2.0\",\"error\":"),
    }
    error.encode(writer);
    writer.put(b"}");
}

/// Maximum length of received text that an error repeats, in bytes. A longer response would be
/// written in pieces, and each piece reads the received message again.
pub(crate) const MAX_ECHOED: usize = 1024;

/// Writes the beginning of a notification, up to its params.
pub(crate) fn write_notification_head(writer: &mut Encoder<'_>, method: &str) {
    writer.put(b"{\"jsonrpc\":\"2.0\",\"method\":");
    writer.string(method);
    writer.put(b",\"params\":");
}

pub(crate) fn write_notification<P: Encode + ?Sized>(
    writer: &mut Encoder<'_>,
    method: &str,
    params: &P,
) {
    write_notification_head(writer, method);
    params.encode(writer);
    writer.put(b"}");
}
