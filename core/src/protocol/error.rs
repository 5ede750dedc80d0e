//! Errors on our side, violations by the peer, and the codes of error responses.

use core::fmt;

use super::Revision;
use crate::text::{Words, words};

/// Error of a call that sends a message. The call has changed nothing and sent nothing, except as
/// said at [`Full`](Self::Full).
///
/// After [`Full`](Self::Full) the [`TxBuffer`](crate::TxBuffer) is drained and the same call
/// repeated until it returns something else ([`TxBuffer::send`](crate::TxBuffer::send) does both).
/// All other errors are final.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The output buffer has no room now: drain it, and repeat the call with the same arguments.
    ///
    /// A frame that is longer than the buffer is written in parts: then
    /// [`is_mid_frame`](crate::TxBuffer::is_mid_frame) holds, each repetition writes the next part,
    /// and every other call is `Full` until the last part is written. A caller that gives up in
    /// mid-frame has to abort the frame ([`Server::fail`](crate::Server::fail),
    /// [`Client::abort_frame`](crate::Client::abort_frame)) or to close the connection. Otherwise a
    /// call that was `Full` can be dropped: it changed nothing.
    Full,
    /// The frame does not fit even an empty buffer. Only for frames that are not written in parts:
    /// progress and log messages, which may be dropped, and copies ([`to_slice`](crate::to_slice)).
    TooLarge,
    /// The payload is invalid, which is a bug of the caller. If that is found only after the
    /// beginning of a long frame was sent, the frame is aborted: the peer receives an invalid
    /// message.
    Invalid(InvalidPayload),
    /// The protocol, or the state of the connection, does not allow this message now.
    NotAllowed(NotAllowed),
    /// The table of open calls is full: wait until a call ends, or enlarge the table.
    TooManyCalls,
}

/// The rule that a payload breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum InvalidPayload {
    /// The value cannot be written as JSON: its `Serialize` or `Display` returned an error, it
    /// wrote nothing, or a key of a map is neither a string nor a number.
    Serialize,
    /// The value is not the same as when the beginning of its frame was written.
    Changed,
    /// The value is not a JSON object. `params` and `result` are objects (basic, "Messages").
    NotAnObject,
    /// The value has a private type of another data format, e.g. a TOML date, which is not JSON.
    PrivateType,
    /// The parameters contain a member that the library writes itself: `progressToken` or another
    /// key of `_meta` (basic, "_meta"), `inputResponses` or `requestState` (2026-07-28,
    /// basic/patterns/mrtr). Use the option or the function for it.
    ReservedMember,
    /// The result has neither an input request nor a request state (2026-07-28,
    /// basic/patterns/mrtr), or the list of URLs is empty (2025-11-25, client/elicitation).
    Empty,
    /// Two input requests have the same key (2026-07-28, basic/patterns/mrtr).
    DuplicateKey,
    /// The method of an input request is not `elicitation/create`, `sampling/createMessage` or
    /// `roots/list`, or its parameters cannot be read (2026-07-28, basic/patterns/mrtr).
    Method,
    /// The form is not a flat object of primitive fields, or has a multi-select list, which
    /// 2025-06-18 does not have (client/elicitation, "Requested Schema").
    Form,
    /// The URL is invalid, or there is no `elicitationId`, which 2025-11-25 requires
    /// (client/elicitation, "URL Mode").
    Url,
    /// The URI of a [`Root`](crate::types::Root) is not [valid](crate::types::Root::is_valid)
    /// (client/roots, "Security Considerations").
    RootUri,
    /// A message with a `tool_use` is not followed by one that has exactly its `tool_result`s
    /// (client/sampling, "Message Content Constraints"), or has more than
    /// [`MAX_TOOL_USES`](crate::types::MAX_TOOL_USES).
    ToolResults,
    /// The HTTP head is invalid: a method or a field name that is not a token, a target or a field
    /// value with invalid bytes, or a status that does not have three digits (RFC 9110, sections 5
    /// and 15; RFC 9112, section 3).
    HttpHead,
}

/// The reason why a message is not allowed now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NotAllowed {
    /// The peer did not declare the capability that the message requires. For notifications: this
    /// side did not (basic/lifecycle, "Operation"; 2026-07-28, basic/patterns/mrtr).
    Capability,
    /// The revision of the connection, or of the request, does not have this message.
    Revision,
    /// The client is not connected, or the server's session is not initialized yet
    /// (basic/lifecycle, "Initialization").
    NotOpen,
    /// The client is connected or connecting already: close it first.
    AlreadyOpen,
    /// The method cannot be used with this function: it has a function of its own, or belongs to
    /// the library (`initialize`, for example). In a response: it may not require input, as only
    /// `tools/call`, `prompts/get` and `resources/read` may (2026-07-28, basic/patterns/mrtr).
    Method,
    /// The request is a `subscriptions/listen`, which ends with
    /// [`end_listen`](crate::Server::end_listen), or is not one where that is required.
    RequestKind,
    /// The [parent](crate::ClientRequest::parent) of the call is no longer open.
    ParentGone,
    /// A response that is written in parts requires, in this order,
    /// [`begin_response`](crate::Server::begin_response),
    /// [`write_response`](crate::Server::write_response) and
    /// [`finish_response`](crate::Server::finish_response), and no other response in between.
    OutOfOrder,
    /// The HTTP exchange has a response already.
    AlreadyResponded,
}

/// The result of a function that writes.
pub type SendResult<T = ()> = Result<T, SendError>;

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the output buffer is full: drain it and call again",
            Self::TooLarge => {
                "the message does not fit the output buffer: shorten it or enlarge the buffer"
            }
            Self::Invalid(rule) => return fmt::Display::fmt(rule, f),
            Self::NotAllowed(rule) => return fmt::Display::fmt(rule, f),
            Self::TooManyCalls => "too many open calls: wait until one ends, or enlarge the table",
        })
    }
}

impl fmt::Display for InvalidPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serialize => "invalid payload: pass a value that serializes as JSON",
            Self::Changed => "invalid payload: keep a value as it is until its frame is written",
            Self::NotAnObject => "invalid payload: pass a value that is a JSON object",
            Self::PrivateType => "invalid payload: convert types of other formats to JSON first",
            Self::ReservedMember => {
                "invalid payload: remove the member that the library writes itself"
            }
            Self::Empty => "invalid payload: add an input request, a request state or a URL",
            Self::DuplicateKey => "invalid payload: give each input request a key of its own",
            Self::Method => {
                "invalid payload: use an elicitation, sampling or roots request as input request"
            }
            Self::Form => "invalid payload: use only form fields that the revision has, not nested",
            Self::Url => "invalid payload: pass a valid URL and, in 2025-11-25, an elicitationId",
            Self::RootUri => "invalid payload: pass a file: URI without path traversal",
            Self::ToolResults => {
                "invalid payload: add the tool results right after the message with the tool use"
            }
            Self::HttpHead => "invalid HTTP head: remove the bytes that are not allowed there",
        })
    }
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capability => "not allowed: check the declared capabilities first",
            Self::Revision => "not allowed: check first whether the revision has this message",
            Self::NotOpen => "not allowed: connect, or wait for the initialization, first",
            Self::AlreadyOpen => "not allowed: close the client first",
            Self::Method => "not allowed: use the function that this method has",
            Self::RequestKind => "not allowed: use end_listen for subscriptions/listen only",
            Self::ParentGone => "not allowed: drop the call, its parent request has ended",
            Self::OutOfOrder => "not allowed: begin, write and finish a response in this order",
            Self::AlreadyResponded => "not allowed: send one response in an HTTP exchange",
        })
    }
}

/// Returns the error unless the rule holds.
#[inline(always)]
pub(crate) fn require<E>(holds: bool, otherwise: E) -> Result<(), E> {
    if holds { Ok(()) } else { Err(otherwise) }
}

impl core::error::Error for SendError {}
impl core::error::Error for InvalidPayload {}
impl core::error::Error for NotAllowed {}

crate::text::wraps!(SendError { Invalid(InvalidPayload), NotAllowed(NotAllowed) });

/// Mistake in a configuration, found by [`ServerConfig::check`](crate::ServerConfig::check) or
/// [`ClientConfig::check`](crate::ClientConfig::check).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigError {
    /// `experimental` is not an object of objects.
    Experimental,
    /// `extensions` is not an object of objects.
    Extensions,
    /// An extension id has no prefix, or breaks the grammar of `_meta` keys (2026-07-28, basic).
    ExtensionId,
    /// More than [`MAX_EXTENSIONS`](crate::MAX_EXTENSIONS) extensions of the client.
    TooManyExtensions,
}

crate::text::error_type!(ConfigError {
    Experimental => "experimental capabilities must be an object of objects",
    Extensions => "extensions must be an object of objects",
    ExtensionId => "an extension id must be a prefix, a slash and a name",
    TooManyExtensions => "at most 16 extensions of the client are supported",
});

// Protocol violations of the peer.

/// Generates [`Violation`] from one row per variant: `Variant => code, HTTP status, message`.
///
/// Rows below `reported` have no message of their own on the wire. Only `Display` has words for
/// them, so that the firmware of a server does not link them.
macro_rules! table {
    (sent { $($(#[$doc:meta])* $variant:ident => $code:ident, $status:expr, $message:literal;)* }
     reported {
        $($(#[$own_doc:meta])* $own:ident => $own_code:ident, $own_status:expr, $words:literal;)*
     }) => {
        /// Violation of the protocol by the peer: reported in an event, not as an error of a call.
        ///
        /// Where JSON-RPC allows a response, the machine has sent it already; the connection goes
        /// on.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Violation {
            $($(#[$doc])* $variant,)*
            $($(#[$own_doc])* $own,)*
        }

        impl Violation {
            /// Returns the code of the error response.
            pub const fn code(self) -> ErrorCode {
                match self {
                    $(Self::$variant => ErrorCode::$code,)*
                    $(Self::$own => ErrorCode::$own_code,)*
                }
            }

            /// Returns the status of the HTTP response: an error status when the request cannot be
            /// read or is not allowed, 200 for errors of a request that was understood.
            pub const fn http_status(self, revision: Revision) -> u16 {
                let status = match self {
                    $(Self::$variant => $status,)*
                    $(Self::$own => $own_status,)*
                };
                match status {
                    Status::Fixed(status) => status,
                    Status::NotFoundIfModern if revision.is_modern() => 404,
                    Status::NotFoundIfModern => 200,
                }
            }

            /// Returns the message of the error response.
            pub const fn message(self) -> &'static str {
                match MESSAGES.get(self as usize) {
                    Some(message) => message,
                    None => "Invalid request",
                }
            }
        }

        /// In the order of the variants.
        const MESSAGES: Words = words![$($message),*];

        impl core::fmt::Display for Violation {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    $(Self::$own => $words,)*
                    sent => sent.message(),
                })
            }
        }

        impl core::error::Error for Violation {}
    };
}

/// The message of every error of a machine that is configured to be terse.
pub(crate) const TERSE: &str = "Refused";

/// HTTP status of a violation.
enum Status {
    Fixed(u16),
    /// 404 in 2026-07-28, 200 before.
    NotFoundIfModern,
}

const OK: Status = Status::Fixed(200);
const BAD_REQUEST: Status = Status::Fixed(400);
const CONTENT_TOO_LARGE: Status = Status::Fixed(413);
const NOT_FOUND: Status = Status::NotFoundIfModern;

table! {
    sent {
        /// The frame is not UTF-8.
        NotUtf8 => ParseError, BAD_REQUEST, "Parse error: the message is not UTF-8";
        /// The frame is not JSON: noise, a log line, or a truncated message.
        NotJson => ParseError, BAD_REQUEST, "Parse error: the message is not JSON: on a stream it takes one line";
        /// Arrays and objects are nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
        TooDeep => InvalidRequest, BAD_REQUEST, "Arrays and objects are nested too deeply";
        /// The line is longer than the receive buffer.
        TooLong => InvalidRequest, CONTENT_TOO_LARGE,
            "The message is longer than this peer's receive buffer: see its max_line";
        /// The frame is JSON, but not a request, a notification or a response.
        NotAMessage => InvalidRequest, BAD_REQUEST,
            "Not a request, notification or response";
        /// A member of the message occurs twice.
        DuplicateKey => InvalidRequest, BAD_REQUEST, "A member of the message appears twice";
        /// `jsonrpc` is missing or not `"2.0"`.
        WrongJsonRpcVersion => InvalidRequest, BAD_REQUEST, "The member jsonrpc must be \"2.0\"";
        /// The id is not a string or an integer.
        InvalidId => InvalidRequest, BAD_REQUEST, "The id must be a string or an integer";
        /// The id or the progress token is longer than [`MAX_ID`](crate::MAX_ID) bytes.
        IdTooLong => InvalidRequest, BAD_REQUEST, "The id or progress token is too long";
        /// The id belongs to a request that is still in flight. The error response has no id: with
        /// it, the response would end that request.
        IdInUse => InvalidRequest, BAD_REQUEST,
            "The id belongs to a request that is still in flight";
        /// A batch in a revision without batches (all but 2025-03-26), or before `initialize`.
        BatchNotAllowed => InvalidRequest, BAD_REQUEST,
            "Batches exist only in protocol version 2025-03-26, after initialize";
        /// The batch is empty.
        EmptyBatch => InvalidRequest, BAD_REQUEST, "The batch is empty";
        /// `initialize` in a batch.
        InitializeInBatch => InvalidRequest, BAD_REQUEST, "initialize may not be part of a batch";
        /// A second `initialize`.
        AlreadyInitialized => InvalidRequest, BAD_REQUEST, "The session is initialized already";
        /// A legacy request before `initialize`.
        NotInitialized => InvalidParams, BAD_REQUEST,
            "Not initialized: send initialize, or set io.modelcontextprotocol/protocolVersion and clientCapabilities in params._meta";
        /// The server does not support the version in `_meta`.
        UnsupportedVersion => UnsupportedProtocolVersion, BAD_REQUEST,
            "Unsupported protocol version";
        /// A member of `_meta` that 2026-07-28 requires is missing or invalid.
        InvalidMeta => InvalidParams, BAD_REQUEST,
            "params._meta must hold io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities";
        /// The revision does not have the method, or its capability was not declared.
        UnknownMethod => MethodNotFound, NOT_FOUND, "Method not found";
        /// The parameters are invalid for the method.
        InvalidParams => InvalidParams, OK, "Invalid params";
        /// The table of requests in flight is full.
        TooManyRequests => InternalError, OK, "Too many requests in flight";
        /// A response to an unknown request: never sent, responded to already, or in a revision
        /// that does not allow it.
        UnexpectedResponse => InvalidRequest, BAD_REQUEST, "Response to an unknown request";
    }
    reported {
        /// The result is not an object, or a required member is missing.
        InvalidResult => InvalidRequest, BAD_REQUEST, "Invalid result";
        /// The `resultType` is unknown (2026-07-28).
        UnknownResultType => InvalidRequest, BAD_REQUEST, "Unknown resultType";
        /// The server requires input for a method that does not allow it, or input that needs a
        /// capability which the client did not declare (2026-07-28).
        InputNotAllowed => InvalidRequest, BAD_REQUEST,
            "Input required that the method or the client's capabilities do not allow";
        /// The server has required input more than
        /// [`max_rounds`](crate::ClientConfig::max_rounds) times, or a task has more input requests
        /// at once than the client keeps (2026-07-28).
        TooManyRounds => InvalidRequest, BAD_REQUEST, "Input required too many times";
        /// A request from a modern server, which may not send any.
        UnexpectedRequest => InvalidRequest, BAD_REQUEST, "Request from a modern server";
        /// The header fields of an HTTP request contradict its body, or a required one is missing
        /// (2026-07-28).
        HeaderMismatch => HeaderMismatch, BAD_REQUEST,
            "HTTP header fields do not match the message";
    }
}

/// Error code: JSON-RPC 2.0 section 5.1, and the codes that MCP revisions add.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorCode {
    /// -32700
    ParseError,
    /// -32600
    InvalidRequest,
    /// -32601
    MethodNotFound,
    /// -32602
    InvalidParams,
    /// -32603
    InternalError,
    /// -32002 up to 2025-11-25, -32602 from 2026-07-28 on.
    ResourceNotFound,
    /// -32042, in 2025-11-25 only; -32602 elsewhere.
    UrlElicitationRequired,
    /// -32021 in 2026-07-28, -32602 before.
    MissingClientCapability,
    /// -32022 in 2026-07-28, -32602 before.
    UnsupportedProtocolVersion,
    /// -32020 in 2026-07-28, -32602 before.
    HeaderMismatch,
    /// Code of the application. It should be outside of -32768..=-32000: 2026-07-28 reserves that
    /// range, so a code inside is sent as -32603 there.
    Application(i32),
}

impl ErrorCode {
    /// Returns the number that is sent to a peer of `revision`.
    pub const fn number(self, revision: Revision) -> i32 {
        let modern = revision.is_modern();
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::ResourceNotFound if !modern => -32002,
            Self::UrlElicitationRequired if matches!(revision, Revision::V2025_11_25) => -32042,
            Self::MissingClientCapability if modern => -32021,
            Self::UnsupportedProtocolVersion if modern => -32022,
            Self::HeaderMismatch if modern => -32020,
            Self::Application(code) if !(modern && code >= -32768 && code <= -32000) => code,
            Self::InternalError | Self::Application(_) => -32603,
            _ => -32602,
        }
    }

    /// Returns the code for a number of the latest revision, which is also -32042 and -32002 of
    /// older ones.
    pub const fn from_number(number: i32) -> Self {
        match number {
            -32700 => Self::ParseError,
            -32600 => Self::InvalidRequest,
            -32601 => Self::MethodNotFound,
            -32602 => Self::InvalidParams,
            -32603 => Self::InternalError,
            -32002 => Self::ResourceNotFound,
            -32042 => Self::UrlElicitationRequired,
            -32021 => Self::MissingClientCapability,
            -32022 => Self::UnsupportedProtocolVersion,
            -32020 => Self::HeaderMismatch,
            other => Self::Application(other),
        }
    }

    /// Whether only modern servers send this number.
    pub(crate) const fn is_modern(number: i64) -> bool {
        matches!(number, -32022..=-32020)
    }

    /// Returns the status of an HTTP response that begins with this error. 2026-07-28 requires 400
    /// or 404 for some codes; all others are sent with 200.
    pub const fn http_status(self, revision: Revision) -> u16 {
        match self {
            Self::MethodNotFound if revision.is_modern() => 404,
            Self::MissingClientCapability
            | Self::UnsupportedProtocolVersion
            | Self::HeaderMismatch
                if revision.is_modern() =>
            {
                400
            }
            _ => 200,
        }
    }
}
