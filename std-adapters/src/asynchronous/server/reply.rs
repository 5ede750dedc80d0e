//! Results of handlers.

use std::fmt;

use mcp_sansio::{ClientFeatures, ErrorCode, OwnedJson, Printable, RpcError};

/// The serialized result of a request: see [`Context::reply`](super::Context::reply).
#[derive(Debug)]
pub struct Reply(pub(super) OwnedJson);

/// The reason why a handler has no result, and the error that its client gets.
///
/// `?` converts every error into one, as [`Failure::tool`] does.
pub struct Failure(pub(super) Why);

#[derive(Debug)]
pub(super) enum Why {
    Tool(String),
    Arguments(String),
    InputResponse(String),
    Error {
        code: ErrorCode,
        message: String,
        data: Option<OwnedJson>,
    },
    Missing(ClientFeatures),
    /// Input requests have no response yet (2026-07-28).
    Asked,
    Gone,
}

impl Failure {
    /// The tool ran and failed: a result with `isError`, for the model to read. Requests other than
    /// `tools/call` get -32603.
    pub fn tool(why: impl Into<String>) -> Self {
        Self(Why::Tool(why.into()))
    }

    /// The arguments are invalid: see
    /// [`Server::respond_invalid_arguments`](mcp_sansio::Server::respond_invalid_arguments).
    /// Requests other than `tools/call` get -32602.
    pub fn invalid_arguments(why: impl Into<String>) -> Self {
        Self(Why::Arguments(why.into()))
    }

    /// The client's response to an input request is invalid. In 2026-07-28 that is an error of the
    /// request, -32602. In older revisions the request itself was valid, and the failure is the
    /// tool's (`isError`).
    pub fn invalid_input_response(why: impl Into<String>) -> Self {
        Self(Why::InputResponse(why.into()))
    }

    /// A JSON-RPC error.
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Why::Error { code, message: message.into(), data: None })
    }

    /// A JSON-RPC error with `data`.
    pub fn error_with_data(code: ErrorCode, message: impl Into<String>, data: OwnedJson) -> Self {
        Self(Why::Error { code, message: message.into(), data: Some(data) })
    }

    /// The client did not declare a capability that the request needs.
    #[must_use]
    pub const fn missing_capability(needed: ClientFeatures) -> Self {
        Self(Why::Missing(needed))
    }

    /// The request has been cancelled, or has timed out, or its connection has ended.
    pub(super) const GONE: Self = Self(Why::Gone);
    pub(super) const ASKED: Self = Self(Why::Asked);

    /// Returns whether the failure only means that the response is no longer awaited: the request
    /// was cancelled or has timed out, or its connection has ended.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        matches!(self.0, Why::Gone)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::tool(error.to_string())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A panic of the application's code: see [`App::panic_observer`](super::App::panic_observer).
/// Control characters are escaped as by [`Printable`], and each text is cut after
/// [`MAX_PANIC_TEXT`] characters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PanicReport {
    /// Method of the request; empty if the panic was not in a handler.
    pub method: String,
    /// Name of the tool or prompt, as in the catalog; empty for other requests.
    pub name: String,
    /// Message of the panic; empty if its payload was not a string.
    pub message: String,
}

impl PanicReport {
    pub(super) fn new(method: &str, name: &str, message: &str) -> Self {
        let [method, name, message] = [method, name, message].map(|text| {
            let end = text.char_indices().nth(MAX_PANIC_TEXT).map_or(text.len(), |(at, _)| at);
            Printable::new(&text[..end]).to_string()
        });
        Self { method, name, message }
    }
}

impl fmt::Display for PanicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.name.is_empty() { "" } else { " " };
        let method = if self.method.is_empty() { "a connection" } else { &self.method };
        write!(f, "{method}{separator}{} panicked: {}", self.name, self.message)
    }
}

/// Maximum number of characters of each text of a [`PanicReport`], before escaping.
pub const MAX_PANIC_TEXT: usize = 256;

impl Why {
    /// Returns the JSON-RPC error, for the variants that are one.
    pub(super) fn as_error(&self) -> Option<RpcError<'_>> {
        match self {
            Self::Error { code, message, data: None } => Some(RpcError::new(*code, message)),
            Self::Error { code, message, data: Some(data) } => {
                Some(RpcError::new(*code, message).with_data(data.as_raw()))
            }
            Self::Missing(needed) => Some(RpcError::missing_capability(*needed)),
            _ => None,
        }
    }
}
