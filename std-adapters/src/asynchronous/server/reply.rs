//! How a handler ends.

use std::fmt;

use mcp_sansio::{ClientFeatures, ErrorCode, OwnedJson, Printable, RpcError};

/// The answer to a request, written down: see [`Context::reply`](super::Context::reply).
#[derive(Debug)]
pub struct Reply(pub(super) OwnedJson);

/// Why a handler has no answer, and what its client is told instead.
///
/// Any error turns into one with `?`, as [`Failure::tool`] does it.
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
    /// A question has no answer yet (2026-07-28).
    Asked,
    Gone,
}

impl Failure {
    /// The tool ran and failed: a result with `isError`, for the model to read. For other requests
    /// -32603.
    pub fn tool(why: impl Into<String>) -> Self {
        Self(Why::Tool(why.into()))
    }

    /// The arguments are not what the tool takes: see
    /// [`Server::respond_invalid_arguments`](mcp_sansio::Server::respond_invalid_arguments). For other requests
    /// -32602.
    pub fn invalid_arguments(why: impl Into<String>) -> Self {
        Self(Why::Arguments(why.into()))
    }

    /// The client's answer to a question is of no use. In 2026-07-28 that is an error of the
    /// request's, -32602; before, the request was right and only the tool came to nothing.
    pub fn invalid_input_response(why: impl Into<String>) -> Self {
        Self(Why::InputResponse(why.into()))
    }

    /// An error of the protocol.
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Why::Error { code, message: message.into(), data: None })
    }

    /// An error of the protocol that says more.
    pub fn error_with_data(code: ErrorCode, message: impl Into<String>, data: OwnedJson) -> Self {
        Self(Why::Error { code, message: message.into(), data: Some(data) })
    }

    /// The client did not declare what the request needs.
    #[must_use]
    pub const fn missing_capability(needed: ClientFeatures) -> Self {
        Self(Why::Missing(needed))
    }

    /// Nobody waits for an answer any more.
    pub(super) const GONE: Self = Self(Why::Gone);
    pub(super) const ASKED: Self = Self(Why::Asked);

    /// Whether it only means that nobody waits for an answer any more: cancelled, expired, or its
    /// connection has ended.
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

/// An application's code that panicked: see [`App::panic_observer`](super::App::panic_observer).
/// All texts are harmless to a log and a terminal, as [`Printable`] makes them, and after
/// [`MAX_PANIC_TEXT`] characters they are cut.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PanicReport {
    /// The method of the request that was worked on; empty where it was none.
    pub method: String,
    /// The name of the tool or prompt, as the catalog has it; empty for anything else.
    pub name: String,
    /// The text of the panic; empty where it carried something else.
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

/// The most characters of a text of [`PanicReport`], before what is escaped of them.
pub const MAX_PANIC_TEXT: usize = 256;

impl Why {
    /// As an error of the protocol, where it is one.
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
