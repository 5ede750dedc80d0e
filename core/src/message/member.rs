//! The members of a message that are recorded.

/// A recorded member: those of the message, then those of `_meta`, which only the state machine
/// reads, then those of `params`. [`walk`](super::walk) relies on the order.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(small, allow(dead_code))]
pub(crate) enum Member {
    Version,
    Id,
    Method,
    Result,
    Error,
    Params,
    ProgressToken,
    ProtocolVersion,
    ClientCapabilities,
    LogLevel,
    Arguments,
    Meta,
    Name,
    Uri,
    Cursor,
    InputResponses,
    RequestState,
    /// Any other member, which is not recorded.
    Other,
}

impl Member {
    /// A bit for each member of which a duplicate is rejected; a duplicate of any other member
    /// replaces the first.
    pub(super) const UNIQUE: u32 = !(Self::ProgressToken.bit()
        | Self::ProtocolVersion.bit()
        | Self::ClientCapabilities.bit()
        | Self::LogLevel.bit()
        | Self::Other.bit());

    #[inline]
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}
