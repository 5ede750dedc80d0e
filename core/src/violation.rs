//! What a peer can do wrong.

use crate::lifecycle::Revision;
use crate::rpc::ErrorCode;

/// A fault of the peer: an event, not an error. Where JSON-RPC allows an answer it has been given
/// already; the session goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Violation {
    /// The frame is not UTF-8.
    NotUtf8,
    /// The frame is not JSON: noise, a log line, a cut message.
    NotJson,
    /// Arrays and objects nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    TooDeep,
    /// The line did not fit the receive buffer.
    TooLong,
    /// JSON, but neither a request nor a notification nor a response.
    NotAMessage,
    /// A member of the envelope stands there twice.
    DuplicateKey,
    /// `jsonrpc` is missing or not `"2.0"`.
    WrongJsonRpcVersion,
    /// The id is null, a fraction, or anything else but a string or an integer.
    InvalidId,
    /// The id or the progress token is longer than [`MAX_ID`](crate::MAX_ID) bytes.
    IdTooLong,
    /// The id belongs to a request that is still in flight. Delivery without id, since an answer
    /// with it would end the first one.
    IdInUse,
    /// A batch where the revision has none (all but 2025-03-26), or before `initialize`.
    BatchNotAllowed,
    /// An empty batch.
    EmptyBatch,
    /// `initialize` inside a batch.
    InitializeInBatch,
    /// A second `initialize`.
    AlreadyInitialized,
    /// A request that is neither modern nor preceded by `initialize`.
    NotInitialized,
    /// The version in `_meta` is none that this server speaks.
    UnsupportedVersion,
    /// `_meta` lacks what 2026-07-28 requires, or has it in a wrong form.
    InvalidMeta,
    /// No such method in this revision, or behind a capability that was not declared.
    UnknownMethod,
    /// The parameters are not what the method takes.
    InvalidParams,
    /// The table of requests in flight is full.
    TooManyRequests,
    /// A response to nothing: never asked, answered twice, or not allowed in this revision.
    UnexpectedResponse,
    /// A result that is no object, or lacks what it must have.
    InvalidResult,
    /// A `resultType` that is not known (2026-07-28).
    UnknownResultType,
    /// A server needs input where it may not, or more than the client declared that it can give
    /// (2026-07-28).
    InputNotAllowed,
    /// A server needs input again and again (2026-07-28).
    TooManyRounds,
    /// A request from a modern server, which may make none.
    UnexpectedRequest,
    /// The head of an HTTP request and its body disagree, or the head lacks what it must repeat
    /// (2026-07-28).
    HeaderMismatch,
}

impl Violation {
    /// The code it is answered with.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::NotUtf8 | Self::NotJson => ErrorCode::ParseError,
            Self::UnsupportedVersion => ErrorCode::UnsupportedProtocolVersion,
            Self::NotInitialized | Self::InvalidMeta | Self::InvalidParams => {
                ErrorCode::InvalidParams
            }
            Self::UnknownMethod => ErrorCode::MethodNotFound,
            Self::HeaderMismatch => ErrorCode::HeaderMismatch,
            Self::TooManyRequests => ErrorCode::InternalError,
            _ => ErrorCode::InvalidRequest,
        }
    }

    /// The status of an HTTP response that says so: what cannot be read or has no place is refused
    /// as a whole; what is understood is answered with 200.
    #[must_use]
    pub const fn http_status(self, revision: Revision) -> u16 {
        match self {
            Self::TooLong => 413,
            Self::InvalidParams | Self::TooManyRequests => 200,
            Self::UnknownMethod if revision.is_modern() => 404,
            Self::UnknownMethod => 200,
            _ => 400,
        }
    }

    /// The message it is answered with.
    #[must_use]
    pub const fn message(self) -> &'static str {
        let place = self as usize;
        // A server's faults in what a client does not answer: only Display has words for them, so
        // that firmware that serves has them not. And what HTTP answers in words that say
        // which field.
        if place < MESSAGES.len() { MESSAGES[place] } else { "Invalid request" }
    }
}

/// What is answered, in the order of the variants.
const MESSAGES: [&str; 21] = [
    "Parse error: the message is not UTF-8",
    "Parse error: the message is not JSON",
    "Arrays and objects are nested too deeply",
    "The message is longer than this peer's receive buffer",
    "Neither a request nor a notification nor a response",
    "A member of the message appears twice",
    "The member jsonrpc must be \"2.0\"",
    "The id must be a string or an integer",
    "The id or progress token is too long",
    "The id belongs to a request that is still in flight",
    "Batches exist only in protocol version 2025-03-26, after initialize",
    "The batch is empty",
    "initialize may not be part of a batch",
    "The session is initialized already",
    "Send initialize first, or put io.modelcontextprotocol/protocolVersion and clientCapabilities into params._meta",
    "Unsupported protocol version",
    "params._meta must hold io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities",
    "Method not found",
    "Invalid params",
    "Too many requests in flight",
    "A response to nothing",
];

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::InvalidResult => "The result is not what it must be",
            Self::UnknownResultType => "The result is of an unknown type",
            Self::InputNotAllowed => "The server asks for input that it may not ask for",
            Self::TooManyRounds => "The server asks for input too often",
            Self::UnexpectedRequest => "A modern server may make no requests",
            Self::HeaderMismatch => "The header fields do not agree with the message",
            answered => answered.message(),
        })
    }
}
