//! `WriterId`: who writes a frame, since only the same writer may continue it.

/// Identifies the writer of an open frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WriterId {
    /// Bits of the kind, and the slot if there is one.
    kind: u32,
    number: u32,
}

impl WriterId {
    /// A response that the state machine sends on its own when it receives a request.
    pub(crate) const AUTOMATIC_RESPONSE: Self = Self::new(0, 1);
    /// A keep-alive ping.
    pub(crate) const PING: Self = Self::new(0, 2);
    /// `initialize` or `server/discover`.
    pub(crate) const CONNECT: Self = Self::new(0, 3);
    /// The writer of no frame, while `Tx::hold` prevents all of them.
    pub(super) const HOLD: Self = Self::new(0, 4);
    pub(super) const UNKEYED: Self = Self::new(0, 0);

    const fn new(kind: u32, number: u32) -> Self {
        Self { kind, number }
    }

    /// A message that the application sends. `hash` distinguishes messages, so that two senders
    /// that take turns do not write into one frame.
    pub(crate) const fn application(hash: u32) -> Self {
        Self::new(1, hash)
    }

    pub(super) const fn is_application(self) -> bool {
        self.kind == 1
    }

    /// The notifications of a `subscriptions/listen` request before its result.
    pub(crate) const fn subscription(slot: u16, serial: u32) -> Self {
        Self::new(1 << 28 | slot as u32, serial)
    }

    /// Returns whether the frame is a response; otherwise it is a notification or a call.
    pub(super) const fn is_response(self) -> bool {
        self.kind >= 1 << 30 || self.kind == 0 && self.number == Self::AUTOMATIC_RESPONSE.number
    }

    /// The `notifications/cancelled` of the call with this number.
    pub(crate) const fn cancel(number: u32) -> Self {
        Self::new(1 << 29, number)
    }

    /// The `notifications/cancelled` of a call that timed out. Its reason differs from the
    /// application's.
    pub(crate) const fn timeout_cancel(number: u32) -> Self {
        Self::new(1 << 29 | 1 << 28, number)
    }

    /// The error response to the request in this slot when it times out.
    pub(crate) const fn timeout_error(slot: u16, serial: u32) -> Self {
        Self::new(1 << 30 | slot as u32, serial)
    }

    /// The response to the request in this slot.
    pub(crate) const fn response(slot: u16, serial: u32) -> Self {
        Self::new(1 << 31 | slot as u32, serial)
    }

    /// The error response in place of a response that was abandoned.
    pub(crate) const fn replacement(slot: u16, serial: u32) -> Self {
        Self::new(1 << 31 | 1 << 30 | slot as u32, serial)
    }
}
