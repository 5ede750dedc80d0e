//! Protocol violations of the peer.

use crate::lifecycle::Revision;
use crate::rpc::ErrorCode;
use crate::words::{Words, words};

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
            #[must_use]
            pub const fn code(self) -> ErrorCode {
                match self {
                    $(Self::$variant => ErrorCode::$code,)*
                    $(Self::$own => ErrorCode::$own_code,)*
                }
            }

            /// Returns the status of the HTTP response: an error status when the request cannot be
            /// read or is not allowed, 200 for errors of a request that was understood.
            #[must_use]
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
            #[must_use]
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
        NotJson => ParseError, BAD_REQUEST, "Parse error: the message is not JSON";
        /// Arrays and objects are nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
        TooDeep => InvalidRequest, BAD_REQUEST, "Arrays and objects are nested too deeply";
        /// The line is longer than the receive buffer.
        TooLong => InvalidRequest, CONTENT_TOO_LARGE,
            "The message is longer than this peer's receive buffer";
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
