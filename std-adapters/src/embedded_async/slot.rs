//! Places of running requests, and what their handlers send.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::task::{self, Poll, Waker};

use ::embassy_futures::select::{Either, select};
use mcp_sansio::{
    ErrorCode, Instant, Link, Outcome as _, Request, RequestHandle, RequestMemory, RpcError,
    SendError, Server, Target, ToolContext, Tx,
};

use super::Handler;
use super::serve::{CHUNK, Connection};

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

    /// Handles requests in one slot, one after the other.
    pub(super) async fn run(&self, slot: &Slot<REQUEST>) -> Infallible {
        loop {
            let handle = Self::until(|| slot.handle.get()).await;
            self.handle(handle, slot).await;
            slot.reset();
            self.touch();
        }
    }

    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "the slot is not used for another request meanwhile"
    )]
    async fn handle(&self, handle: RequestHandle, slot: &Slot<REQUEST>) {
        let request = slot.request.borrow();
        let Some(request) = request.as_request() else {
            return self.fail(slot, handle, &TOO_LONG).await;
        };
        let target = match &self.catalog {
            None => Target::Other,
            Some(catalog) => match catalog.target(&request) {
                // It begins even if there is no room for a response.
                Ok(target @ Target::Tool(_)) => target,
                _ => {
                    let mut target = Target::Responded;
                    let mut respond = |server: &mut Server<'_>, tx: &mut Tx<'_>| {
                        target = catalog.respond(server, &request, tx)?;
                        Ok(())
                    };
                    match (self.respond(slot, handle, &mut respond).await, target) {
                        (Err(_), _) | (_, Target::Responded) => return,
                        (Ok(()), target) => target,
                    }
                }
            },
        };
        let work = self.handler.on_request(target, ToolContext::new(&request, self));
        let is_over = Self::until(|| (!self.is_open(handle)).then_some(()));
        let Either::Second(response) = select(is_over, work).await else { return };
        let mut send = |server: &mut Server<'_>, tx: &mut Tx<'_>| response.send(server, handle, tx);
        if let Err(error) = self.respond(slot, handle, &mut send).await {
            self.handler.on_send_error(error);
            let error = RpcError::internal("The response cannot be sent");
            self.fail(slot, handle, &error).await;
        }
    }

    fn is_open(&self, request: RequestHandle) -> bool {
        self.core.borrow_mut().machine().is_request_open(request)
    }

    async fn fail(&self, slot: &Slot<REQUEST>, handle: RequestHandle, error: &RpcError<'_>) {
        let mut fail = |server: &mut Server<'_>, tx: &mut Tx<'_>| server.fail(handle, error, tx);
        // It is valid.
        let _ = self.respond(slot, handle, &mut fail).await;
    }

    /// Sends a response, after the notifications and the earlier responses that wait.
    async fn respond(
        &self,
        slot: &Slot<REQUEST>,
        request: RequestHandle,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let number = self.responses.get();
        self.responses.set(number.wrapping_add(1));
        slot.response.set(Some(number));
        let mut has_begun = false;
        let sent = Self::until(|| {
            if !has_begun {
                if !self.is_open(request) {
                    return Some(Ok(()));
                }
                let next = self.slots.iter().filter_map(|slot| slot.response.get()).min();
                if self.notifies() || next != Some(number) {
                    self.core.borrow_mut().hold(true);
                    return None;
                }
            }
            let sent = self.attempt(&mut has_begun, call);
            let is_waiting = sent == Err(SendError::Full);
            self.core.borrow_mut().hold(is_waiting && !has_begun);
            (!is_waiting).then_some(sent)
        })
        .await;
        self.core.borrow_mut().hold(false);
        slot.response.take();
        sent
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
        let mut turn = core.turn(self.now.get());
        let (server, tx) = turn.parts();
        let sent = call(server, tx);
        *has_begun = sent == Err(SendError::Full) && tx.is_mid_frame();
        if sent != Err(SendError::Full) || tx.pending().len() != pending {
            self.touch();
        }
        sent
    }

    /// Sets or clears the waker of a handler that waits for room.
    fn wait(&self, slot: usize, waker: Option<&Waker>) {
        let Some(slot) = self.slots.get(slot) else { return };
        let other = slot.waiting.replace(waker.cloned());
        // Another future of the same handler waits, too, or the responses of others wait for this.
        if let Some(other) = other
            && waker.is_none_or(|waker| !other.will_wake(waker))
        {
            self.is_touched.set(true);
            other.wake();
        }
    }
}

impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Link for Connection<'_, H, RX, TX, N, S, REQUEST>
{
    fn now(&self) -> Instant {
        self.now.get()
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        request: RequestHandle,
        place: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Poll<Result<(), SendError>> {
        let mut has_begun = place.is_some_and(|place| place & HAS_BEGUN != 0);
        let sent = self.attempt(&mut has_begun, call);
        if sent != Err(SendError::Full) {
            return Poll::Ready(sent);
        }
        let Some(slot) = self.slots.iter().position(|slot| slot.handle.get() == Some(request))
        else {
            return Poll::Ready(Err(SendError::Full));
        };
        self.wait(slot, Some(cx.waker()));
        *place = Some(slot as u64 | if has_begun { HAS_BEGUN } else { 0 });
        Poll::Pending
    }

    fn leave(&self, place: u64) {
        self.wait((place & !HAS_BEGUN) as usize, None);
    }
}

/// Error of a request that does not fit into its slot.
const TOO_LONG: RpcError<'static> = RpcError::new(
    ErrorCode::InvalidRequest,
    "The parameters are longer than this server's memory for them",
);
/// Bit of a place whose frame has begun.
const HAS_BEGUN: u64 = 1 << 63;
