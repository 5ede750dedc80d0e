//! Errors on our side. Violations by the peer are [`Violation`](crate::Violation)s.

use core::fmt;

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
    /// (client/sampling, "Message Content Constraints").
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

impl core::error::Error for SendError {}
impl core::error::Error for InvalidPayload {}
impl core::error::Error for NotAllowed {}

impl From<InvalidPayload> for SendError {
    fn from(rule: InvalidPayload) -> Self {
        Self::Invalid(rule)
    }
}

impl From<NotAllowed> for SendError {
    fn from(rule: NotAllowed) -> Self {
        Self::NotAllowed(rule)
    }
}

/// Mistake in a configuration, found by [`ServerConfig::check`](crate::ServerConfig::check) or
/// [`ClientConfig::check`](crate::ClientConfig::check).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Experimental => "experimental capabilities must be an object of objects",
            Self::Extensions => "extensions must be an object of objects",
            Self::ExtensionId => "an extension id must be a prefix, a slash and a name",
            Self::TooManyExtensions => "at most 16 extensions of the client are supported",
        })
    }
}

impl core::error::Error for ConfigError {}
