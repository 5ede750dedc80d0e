//! The part of a state machine that the harnesses need, in either role.

use mcp_sansio::{
    Client, ClientEvent, Instant, Messages, RequestHandle, Revision, SendResult, Server,
    ServerEvent, Tx,
};

pub trait Endpoint {
    type Event<'f>;

    fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<Self::Event<'f>>>;
    fn handle_timeout(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<Self::Event<'static>>>;
    fn poll_timeout(&self) -> Option<Instant>;
    fn is_request_open(&self, request: RequestHandle) -> bool;
    /// Number of the peer's requests that wait for a response.
    fn open_requests(&self) -> usize;
    /// Number of this endpoint's calls that wait for a response.
    fn open_calls(&self) -> usize;
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
            ) -> SendResult<Option<$event<'f>>> {
                Self::next_event(self, now, messages, tx)
            }
            fn handle_timeout(
                &mut self,
                now: Instant,
                tx: &mut Tx<'_>,
            ) -> SendResult<Option<$event<'static>>> {
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
