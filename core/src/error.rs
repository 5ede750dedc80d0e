//! What can go wrong on our side. The peer's faults are [`Violation`](crate::Violation)s.

/// Reasons why a call did nothing.
///
/// After [`Full`](Self::Full) the [`TxBuffer`](crate::TxBuffer) is drained and the same call
/// repeated until it is through ([`TxBuffer::send`](crate::TxBuffer::send) does both); all others
/// are final.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// No room in the output buffer now: drain it, and repeat the call with the same arguments.
    ///
    /// A frame that is longer than the buffer is written in parts: then
    /// [`is_mid_frame`](crate::TxBuffer::is_mid_frame) holds, each repetition writes the next part,
    /// and every other call is `Full` until the last part is written. A caller who gives up in
    /// mid-frame has to abort the frame ([`Server::fail`](crate::Server::fail),
    /// [`Client::abort_frame`](crate::Client::abort_frame)) or to close the connection; in between
    /// frames a call that was `Full` can be dropped without further ado.
    Full,
    /// It does not fit even an empty buffer. Only for what may be dropped: progress and log
    /// messages.
    TooLarge,
    /// The value cannot be written as JSON, is not an object where the protocol wants one, asks
    /// what no client could answer (a nested form, a page without a URL), is no root, or has what
    /// is not its to say. Or it holds a value that only the serializer of another crate
    /// understands, as a TOML date. A bug in the value.
    Value,
    /// The protocol does not allow it now: the peer did not declare the capability, its revision
    /// does not know the method, or the session is not open yet.
    NotAllowed,
    /// As many requests of our own wait for an answer as the table holds.
    TooMany,
}

impl SendError {
    /// Whether draining and repeating the call is the remedy.
    #[must_use]
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Full)
    }
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Full => "the output buffer is full: drain it and call again",
            Self::TooLarge => "the message does not fit the output buffer: shorten it or enlarge the buffer",
            Self::Value => {
                "the value cannot be written: its Serialize failed, it is not a JSON object, or it holds a type private to another format"
            },
            Self::NotAllowed => "the peer's revision, capabilities or session state do not allow this message",
            Self::TooMany => "too many requests in flight: wait for a response, or enlarge the table",
        })
    }
}

impl core::error::Error for SendError {}

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

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Experimental => "experimental capabilities must be an object of objects",
            Self::Extensions => "extensions must be an object of objects",
            Self::ExtensionId => "an extension id must be a prefix, a slash and a name",
            Self::TooManyExtensions => "at most 16 extensions of the client are supported",
        })
    }
}

impl core::error::Error for ConfigError {}
