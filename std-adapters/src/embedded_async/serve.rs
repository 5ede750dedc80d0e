//! A connection, and the loop that polls all its futures.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use ::embassy_futures::join::join_array;
use ::embedded_io_async::ErrorKind::{
    BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected,
};
use ::embedded_io_async::{Read, Write};
use mcp_sansio::{
    Catalog, Change, Connection as CoreConnection, ErrorCode, Instant, Link, Request,
    RequestHandle, RequestMemory, RpcError, RxBuffer, SendError, Server, ServerConfig, ServerEvent,
    ServerState, Spare, Step, Tx, TxBuffer,
};

use super::wire::{AtEnd, CHUNK, Wire, until};
use super::{Clock, Error, Handler, Seat};

/// The end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The client closed it. A serial line never ends.
    Closed,
    /// The client did not respond to a ping: see
    /// [`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval).
    Unresponsive,
}

/// Makes a step of the core. Not inlined, so that its stack is freed before the event is handled.
#[inline(never)]
fn next_step<'p, const RX: usize, const TX: usize, const N: usize, const S: usize>(
    core: &'p mut Core<'_, RX, TX, N, S>,
    catches_up: bool,
    now: Instant,
) -> Step<'p, ServerEvent<'p>, Server<'p>> {
    if catches_up { core.catch_up(now) } else { core.next(now) }
}

// A connection, which its futures share. Each borrows a part of it for the duration of a call.

/// A server on a port. Parameters: `RX` is the maximum length of a line and `TX` the size of the
/// transmit buffer, in bytes, `N` the maximum number of requests in flight and of running handlers,
/// `S` the maximum number of subscribed URIs, `REQUEST` the memory for the parameters of a running
/// request, in bytes.
///
/// The value is large: build it in a `StaticCell`, or in a task that never ends. See the
/// [module](super).
#[must_use]
pub struct Connection<
    'c,
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize = 4,
    const S: usize = 4,
    const REQUEST: usize = RX,
> {
    handler: H,
    catalog: Option<Catalog<'c>>,
    line_timeout: Option<Duration>,
    /// Borrowed for a call.
    core: RefCell<Core<'c, RX, TX, N, S>>,
    wire: Wire<CHUNK>,
    slots: [Slot<REQUEST>; N],
    /// Number of responses so far.
    responses: Cell<u64>,
    /// In the order in which they were published.
    changes: RefCell<[Option<Change<'static>>; MAX_CHANGES]>,
    /// The change of which not all subscribers have been notified.
    change: Cell<Option<Change<'static>>>,
    /// Time at which bytes were read last.
    last_read: Cell<Instant>,
}

/// The connection without the port. Its place for an outcome is never taken: it lets the responses
/// of handlers [hold](CoreConnection::hold) what the connection itself would write.
type Core<'c, const RX: usize, const TX: usize, const N: usize, const S: usize> =
    CoreConnection<'c, ServerState<N, S>, [u8; RX], [u8; TX], Infallible, 1>;

impl<
    'c,
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Connection<'c, H, RX, TX, N, S, REQUEST>
{
    /// Creates a server with this configuration and application.
    // Inlined, so that the value is built in place and not on the stack.
    #[inline(always)]
    pub const fn new(config: &'c ServerConfig<'c>, handler: H) -> Self {
        let (rx, tx) = (RxBuffer::new([0; RX]), TxBuffer::new([0; TX]));
        Self {
            handler,
            catalog: None,
            line_timeout: None,
            core: RefCell::new(CoreConnection::new(config, ServerState::new(), rx, tx)),
            wire: Wire::new(),
            slots: [const { Slot::new() }; N],
            responses: Cell::new(0),
            changes: RefCell::new([None; MAX_CHANGES]),
            change: Cell::new(None),
            last_read: Cell::new(Instant::from_millis(0)),
        }
    }

    /// Sets the catalog, which responds to list requests and unknown names. Without one, the
    /// handler gets every request.
    pub const fn catalog(mut self, catalog: &'c Catalog<'c>) -> Self {
        let catalog = &catalog.checked_when_read();
        self.catalog = Some(*catalog);
        self
    }

    /// Sets after how long a silence an unfinished line is ended, and rejected whatever it
    /// contains. Default: never, as with `Duration::MAX`. Some seconds are right for people who
    /// type, less for programs.
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// Returns the application.
    pub const fn handler(&self) -> &H {
        &self.handler
    }

    /// Notifies all subscribers of a change as soon as there is room. A change that is queued
    /// already is not queued twice. Returns `false` and does nothing if eight changes are queued.
    pub fn publish(&self, change: Change<'static>) -> bool {
        let mut changes = self.changes.borrow_mut();
        if changes.contains(&Some(change)) {
            return true;
        }
        let Some(free) = changes.iter_mut().find(|change| change.is_none()) else { return false };
        *free = Some(change);
        self.wire.wake();
        true
    }

    /// Moves bytes from and into the chunks. Returns how many of those to write it has taken.
    fn exchange(&self, write: &[u8], read: &mut Spare<'_>) -> usize {
        if let Ok(mut input) = self.wire.input.try_borrow_mut() {
            let taken = input.take(read.spare());
            if taken > 0 {
                read.commit(taken);
                self.last_read.set(self.wire.now.get());
                self.wire.touch();
            }
        }
        let taken = self.wire.output.try_borrow_mut().map_or(0, |mut output| output.put(write));
        self.wire.has_more.set(taken < write.len());
        if taken > 0 {
            self.wire.is_flushed.set(false);
            self.wire.touch();
        }
        taken
    }

    /// Returns whether a notification waits for room: of a change, or of a handler.
    fn notifies(&self) -> bool {
        self.change.get().is_some()
            || self.changes.borrow().iter().any(Option::is_some)
            || self.slots.iter().any(|slot| slot.waiting.borrow().is_some())
    }

    /// Resets everything for a new connection.
    fn reset(&self) {
        self.core.borrow_mut().reset();
        self.wire.reset();
        self.slots.iter().for_each(Slot::reset);
        self.changes.replace([None; MAX_CHANGES]);
        self.change.set(None);
    }

    // The loop, which polls all futures of the connection.

    /// Serves a port until its input ends. Then responses that exist are written out, and running
    /// requests are dropped. Afterwards the connection can serve the next port.
    ///
    /// Dropping the future drops running requests and resets the connection, which can serve the
    /// next port then.
    ///
    /// # Errors
    /// Errors of writing, and permanent errors of reading. [`Error::InUse`] while it serves another
    /// port.
    pub async fn serve<R: Read, W: Write>(
        &self,
        reader: R,
        writer: W,
        clock: &impl Clock,
    ) -> Result<ConnectionEnd, Error<R::Error, W::Error>> {
        if self.wire.is_in_use.replace(true) {
            return Err(Error::InUse);
        }
        let _serving = AtEnd(|| self.reset());
        let on_error = |kind| {
            // Further reads would fail too.
            if matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected) {
                return false;
            }
            self.core.borrow_mut().rx().lost();
            self.wire.touch();
            self.handler.on_read_error(kind);
            true
        };
        let on_end = || self.core.borrow_mut().end_of_input();
        // Pinned one by one: they are large, and a future that contains them all would be moved.
        let mut read = pin!(self.wire.read(reader, on_error, on_end));
        let mut write = pin!(self.wire.write(writer));
        let mut sleep = pin!(self.wire.sleep(clock));
        let mut slots = pin!(join_array(self.slots.each_ref().map(|slot| self.run(slot))));
        let (mut may_read, mut has_begun) = (RX, false);
        let wake = || self.slots.iter().for_each(Slot::wake);
        let round = |cx: &mut Context<'_>| {
            if let Poll::Ready(Err(error)) = read.as_mut().poll(cx) {
                return Some(Err(Error::Read(error)));
            }
            if let Poll::Ready(Err(error)) = write.as_mut().poll(cx) {
                return Some(Err(error));
            }
            // The handlers see an event before the next step.
            if self.step(&mut may_read) {
                return Some(Ok(ConnectionEnd::Unresponsive));
            }
            self.publish_next(&mut has_begun);
            let _: Poll<Infallible> = sleep.as_mut().poll(cx);
            let _: Poll<[Infallible; N]> = slots.as_mut().poll(cx);
            None
        };
        self.wire.drive(clock, Ok(ConnectionEnd::Closed), wake, round).await
    }

    /// Makes a step. Returns whether the client does not respond to a ping.
    ///
    /// A task that comes late may find both a timeout that is due and the response that it waits
    /// for. So what has come is handled first, up to `may_read` bytes.
    fn step(&self, may_read: &mut usize) -> bool {
        let core = &mut *self.core.borrow_mut();
        let now = self.wire.now.get();
        let line_due = self.line_due(core.rx().is_mid_line());
        if line_due.is_some_and(|due| due <= now) {
            // A checked line would be handled without its checksum.
            core.rx().lost();
            core.rx().end_of_input();
        }
        loop {
            let has_input = self.wire.has_input();
            let catches_up = *may_read > 0;
            match next_step(core, catches_up, now) {
                Step::Event(event, _) => {
                    self.wire.touch();
                    self.handler.on_event(&event);
                    match event {
                        ServerEvent::Request(request) => self.begin(&request),
                        ServerEvent::Unresponsive => return true,
                        _ => {}
                    }
                }
                Step::Again => self.wire.touch(),
                Step::Io { write, mut read, until } => {
                    let written = self.exchange(write, &mut read);
                    core.wrote(written);
                    let has_read = has_input && !self.wire.has_input();
                    if catches_up && !has_read {
                        *may_read = 0;
                        // A handler that has begun a frame goes on with it before the next step.
                        if core.tx().is_mid_frame() {
                            self.wire.poll_again();
                            return false;
                        }
                        continue;
                    }
                    *may_read = if catches_up { may_read.saturating_sub(CHUNK) } else { RX };
                    // A timeout that is due waits for room.
                    let due = [until, line_due].into_iter().flatten().filter(|due| *due > now);
                    self.wire.due.set(due.min());
                }
                Step::Closed => {}
            }
            return false;
        }
    }

    /// Returns when an unfinished line is ended.
    fn line_due(&self, is_mid_line: bool) -> Option<Instant> {
        // Otherwise it waits for room.
        let is_silent = is_mid_line && !self.wire.has_input();
        let timeout = self.line_timeout.filter(|_| is_silent)?;
        Some(self.last_read.get().saturating_add(timeout))
    }

    /// Notifies subscribers of the change that waits longest, if there is room.
    fn publish_next(&self, has_begun: &mut bool) {
        let queued = || {
            let mut changes = self.changes.borrow_mut();
            changes.rotate_left(1);
            changes.last_mut().and_then(Option::take)
        };
        let Some(mut change) = self.change.get().or_else(queued) else { return };
        let mut is_more = false;
        let sent = self.attempt(has_begun, &mut |server, tx| {
            is_more = server.publish(&mut change, tx)?.is_more();
            Ok(())
        });
        self.change.set((sent == Err(SendError::Full) || is_more).then_some(change));
    }

    // Requests in their slots, and what their handlers send.

    /// Copies a request into a free slot. There are as many as requests in flight, and the slots
    /// see after each event which requests are over, so there is one.
    fn begin(&self, request: &Request<'_>) {
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
    async fn run(&self, slot: &Slot<REQUEST>) -> Infallible {
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
                super::handle(&self.handler, self.catalog.as_ref(), &request, &place).await;
            }
            None => super::fail(&place, handle, &TOO_LONG).await,
        }
    }

    /// Makes one attempt of a call. A frame that has begun is gone on with between any two steps of
    /// the core, which would break it off.
    fn attempt(
        &self,
        has_begun: &mut bool,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        // It is borrowed if an `Encode` of the program tries to send.
        let Ok(mut core) = self.core.try_borrow_mut() else { return Err(SendError::Full) };
        if !*has_begun && core.waits_for_room() {
            return Err(SendError::Full);
        }
        self.wire.attempt(core.turn(self.wire.now.get()).parts(), has_begun, call)
    }
}

mcp_sansio::opaque_debug!(
    [H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize,
        const REQUEST: usize]
    Connection<'_, H, RX, TX, N, S, REQUEST> { core }
);

/// Maximum number of queued changes.
const MAX_CHANGES: usize = 8;

// Places of running requests.

/// The place of a request and of its handler.
struct Slot<const REQUEST: usize> {
    /// Borrowed while the request is handled. Empty if there was not enough room for it.
    request: RefCell<RequestMemory<REQUEST>>,
    handle: Cell<Option<RequestHandle>>,
    /// The handler, if it waits for room.
    waiting: RefCell<Option<Waker>>,
    /// Number of the response that waits for room. The lowest is the next to be sent.
    response: Cell<Option<u64>>,
}

impl<const REQUEST: usize> Slot<REQUEST> {
    const fn new() -> Self {
        Self {
            request: RefCell::new(RequestMemory::new()),
            handle: Cell::new(None),
            waiting: RefCell::new(None),
            response: Cell::new(None),
        }
    }

    fn wake(&self) {
        self.waiting.borrow().iter().for_each(Waker::wake_by_ref);
    }

    fn reset(&self) {
        self.waiting.take();
        self.response.take();
        self.handle.take();
        self.request.borrow_mut().clear();
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
        cx: &mut Context<'_>,
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
