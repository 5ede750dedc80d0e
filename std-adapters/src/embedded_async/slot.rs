//! Places of running requests, and what their handlers send.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::task::{self, Poll, Waker};

use mcp_sansio::{
    ErrorCode, Instant, Link, Request, RequestHandle, RequestMemory, RpcError, SendError, Server,
    Tx,
};

use super::Handler;
use super::seat::{self, Seat};
use super::serve::Connection;
use super::wire::{CHUNK, until};

/// The place of a request and of its handler.
pub(super) struct Slot<const REQUEST: usize> {
    /// Borrowed while the request is handled. Empty if there was not enough room for it.
    request: RefCell<RequestMemory<REQUEST>>,
    handle: Cell<Option<RequestHandle>>,
    /// The handler, if it waits for room.
    waiting: RefCell<Option<Waker>>,
    /// Number of the response that waits for room. The lowest is the next to be sent.
    response: Cell<Option<u64>>,
}

impl<const REQUEST: usize> Slot<REQUEST> {
    pub(super) const fn new() -> Self {
        Self {
            request: RefCell::new(RequestMemory::new()),
            handle: Cell::new(None),
            waiting: RefCell::new(None),
            response: Cell::new(None),
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.borrow().is_some()
    }

    pub(super) fn wake(&self) {
        self.waiting.borrow().iter().for_each(Waker::wake_by_ref);
    }

    pub(super) fn reset(&self) {
        self.waiting.take();
        self.response.take();
        self.handle.take();
        self.request.borrow_mut().clear();
    }
}

impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Connection<'_, H, RX, TX, N, S, REQUEST>
{
    /// Copies a request into a free slot. There are as many as requests in flight, and the slots
    /// see after each event which requests are over, so there is one.
    pub(super) fn begin(&self, request: &Request<'_>) {
        if let Some(slot) = self.slots.iter().find(|slot| slot.handle.get().is_none()) {
            let _ = slot.request.borrow_mut().keep(request);
            slot.handle.set(Some(request.handle));
        }
    }

    /// A future of the handler waits for room, or does not wait any more.
    fn wait(&self, slot: &Slot<REQUEST>, waker: Option<&Waker>) {
        let other = slot.waiting.replace(waker.cloned());
        // Another future of the same handler waits, too, or the responses of others wait for this.
        if let Some(other) = other
            && waker.is_none_or(|waker| !other.will_wake(waker))
        {
            self.wire.poll_again();
            other.wake();
        }
    }

    /// Handles requests in one slot, one after the other.
    pub(super) async fn run(&self, slot: &Slot<REQUEST>) -> Infallible {
        loop {
            let handle = until(|| slot.handle.get()).await;
            self.handle(handle, slot).await;
            slot.reset();
            self.wire.touch();
        }
    }

    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "the slot is not used for another request meanwhile"
    )]
    async fn handle(&self, handle: RequestHandle, slot: &Slot<REQUEST>) {
        let (request, place) = (slot.request.borrow(), Place { connection: self, slot });
        match request.as_request() {
            Some(request) => {
                seat::handle(&self.handler, self.catalog.as_ref(), &request, &place).await;
            }
            None => seat::fail(&place, handle, &TOO_LONG).await,
        }
    }

    /// Makes one attempt of a call. A frame that has begun is gone on with between any two steps of
    /// the core, which would break it off.
    pub(super) fn attempt(
        &self,
        has_begun: &mut bool,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        // It is borrowed if an `Encode` of the program tries to send.
        let Ok(mut core) = self.core.try_borrow_mut() else { return Err(SendError::Full) };
        let pending = core.tx().pending().len();
        // Each attempt serializes the frame anew.
        let is_in_vain = if *has_begun { pending > CHUNK } else { core.waits_for_room() };
        if is_in_vain {
            return Err(SendError::Full);
        }
        let mut turn = core.turn(self.wire.now.get());
        let (server, tx) = turn.parts();
        let sent = call(server, tx);
        *has_begun = sent == Err(SendError::Full) && tx.is_mid_frame();
        if sent != Err(SendError::Full) || tx.pending().len() != pending {
            self.wire.touch();
        }
        sent
    }
}

/// The slot of a connection where a request is handled.
struct Place<C, S> {
    connection: C,
    slot: S,
}

impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Seat for Place<&Connection<'_, H, RX, TX, N, S, REQUEST>, &Slot<REQUEST>>
{
    fn is_open(&self, request: RequestHandle) -> bool {
        self.connection.core.borrow_mut().machine().is_request_open(request)
    }

    /// The notifications and the earlier responses that wait come before.
    async fn respond(
        &self,
        request: RequestHandle,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let Self { connection, slot } = self;
        let number = connection.responses.get();
        connection.responses.set(number.wrapping_add(1));
        slot.response.set(Some(number));
        let mut has_begun = false;
        let sent = until(|| {
            if !has_begun {
                if !self.is_open(request) {
                    return Some(Ok(()));
                }
                let next = connection.slots.iter().filter_map(|slot| slot.response.get()).min();
                if connection.notifies() || next != Some(number) {
                    connection.core.borrow_mut().hold(true);
                    return None;
                }
            }
            let sent = connection.attempt(&mut has_begun, call);
            let is_waiting = sent == Err(SendError::Full);
            connection.core.borrow_mut().hold(is_waiting && !has_begun);
            (!is_waiting).then_some(sent)
        })
        .await;
        connection.core.borrow_mut().hold(false);
        slot.response.take();
        sent
    }
}

impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Link for Place<&Connection<'_, H, RX, TX, N, S, REQUEST>, &Slot<REQUEST>>
{
    fn now(&self) -> Instant {
        self.connection.wire.now.get()
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        _: RequestHandle,
        place: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Poll<Result<(), SendError>> {
        let mut has_begun = *place == Some(HAS_BEGUN);
        let sent = self.connection.attempt(&mut has_begun, call);
        if sent != Err(SendError::Full) {
            return Poll::Ready(sent);
        }
        self.connection.wait(self.slot, Some(cx.waker()));
        *place = Some(if has_begun { HAS_BEGUN } else { 0 });
        Poll::Pending
    }

    fn leave(&self, _: u64) {
        self.connection.wait(self.slot, None);
    }
}

/// Error of a request that does not fit into its slot.
const TOO_LONG: RpcError<'static> = RpcError::new(
    ErrorCode::InvalidRequest,
    "The parameters are longer than this server's memory for them",
);
/// The place of a caller whose frame has begun.
const HAS_BEGUN: u64 = 1;
