//! The part of a state machine that the harnesses need, in either role.

use mcp_sansio::{
    Client, ClientEvent, Instant, Messages, RequestHandle, Revision, SendError, Server,
    ServerEvent, Tx,
};

/// A [`Server`] or a [`Client`].
pub trait Endpoint {
    /// [`ServerEvent`] or [`ClientEvent`].
    type Event<'f>;

    /// Handles the next message of a frame.
    ///
    /// # Errors
    /// Those of [`Server::next_event`].
    fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Self::Event<'f>>, SendError>;

    /// Handles one deadline that has passed.
    ///
    /// # Errors
    /// Those of [`Server::handle_timeout`].
    fn handle_timeout(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Self::Event<'static>>, SendError>;

    /// Returns the earliest deadline.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether a request of the peer waits for a response.
    fn is_request_open(&self, request: RequestHandle) -> bool;

    /// Number of the peer's requests that wait for a response.
    fn open_requests(&self) -> usize;

    /// Number of this endpoint's calls that wait for a response.
    fn open_calls(&self) -> usize;

    /// The revision of the session, if one is open.
    fn session_revision(&self) -> Option<Revision>;
}

macro_rules! endpoint {
    ($machine:ty, $event:ident, $revision:ident) => {
        impl Endpoint for $machine {
            type Event<'f> = $event<'f>;

            fn next_event<'f>(
                &mut self,
                now: Instant,
                messages: &mut Messages<'f>,
                tx: &mut Tx<'_>,
            ) -> Result<Option<$event<'f>>, SendError> {
                Self::next_event(self, now, messages, tx)
            }

            fn handle_timeout(
                &mut self,
                now: Instant,
                tx: &mut Tx<'_>,
            ) -> Result<Option<$event<'static>>, SendError> {
                Self::handle_timeout(self, now, tx)
            }

            fn poll_timeout(&self) -> Option<Instant> {
                Self::poll_timeout(self)
            }

            fn is_request_open(&self, request: RequestHandle) -> bool {
                Self::is_request_open(self, request)
            }

            fn open_requests(&self) -> usize {
                Self::open_requests(self)
            }

            fn open_calls(&self) -> usize {
                Self::open_calls(self)
            }

            fn session_revision(&self) -> Option<Revision> {
                Self::$revision(self)
            }
        }
    };
}

endpoint!(Server<'_>, ServerEvent, legacy_revision);
endpoint!(Client<'_>, ClientEvent, revision);
