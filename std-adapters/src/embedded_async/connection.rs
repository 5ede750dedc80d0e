//! A connection, which its futures share. Each borrows a part of it for the duration of a call.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};
use core::time::Duration;

use mcp_sansio::{
    Catalog, Change, Connection as CoreConnection, Delivery, Instant, LogMessage, Progress,
    RequestHandle, RxBuffer, SendError, Server, ServerConfig, ServerState, Spare, Turn, Tx,
    TxBuffer,
};

use super::chunk::{CHUNK, Chunk};
use super::handler::{Context, ContextBackend, Handler};

/// A server on a port. Parameters: `RX` is the maximum length of a line and `TX` the size of the
/// transmit buffer, in bytes, `N` the maximum number of requests in flight and of running handlers,
/// `S` the maximum number of subscribed URIs.
///
/// The value is large: build it in a `StaticCell`, or in a task that never ends. See the
/// [module](super).
pub struct Connection<
    'c,
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize = 4,
    const S: usize = 4,
> {
    pub(super) handler: H,
    pub(super) catalog: Option<&'c Catalog<'c>>,
    pub(super) line_timeout: Option<Duration>,
    /// Borrowed for a call, or until a response that borrows from its request is sent.
    pub(super) core: RefCell<Core<'c, H::Response<'static>, RX, TX, N, S>>,
    /// The bytes read last. Borrowed while the driver reads.
    pub(super) input: RefCell<Chunk>,
    /// The bytes to write next. Borrowed while the driver writes.
    pub(super) output: RefCell<Chunk>,
    /// A job that no handler runs yet.
    pub(super) job: RefCell<Option<(RequestHandle, H::Job)>>,
    pub(super) changes: RefCell<[Option<Change<'static>>; MAX_CHANGES]>,
    /// The change of which not all subscribers have been notified.
    pub(super) change: Cell<Option<Change<'static>>>,
    /// Handlers that wait for room.
    waiting: RefCell<[Option<Waker>; N]>,
    /// Waker of the task that serves.
    sleeper: RefCell<Option<Waker>>,
    pub(super) now: Cell<Instant>,
    /// Time at which bytes were read last.
    pub(super) last_read: Cell<Instant>,
    /// Time until which there is nothing to do.
    pub(super) due: Cell<Option<Instant>>,
    /// Whether something was done for which another future may wait.
    pub(super) is_touched: Cell<bool>,
    pub(super) is_in_use: Cell<bool>,
    pub(super) input_ended: Cell<bool>,
    /// Whether more is to be written after the output's chunk.
    pub(super) has_more: Cell<bool>,
    /// Whether the driver has written and flushed everything.
    pub(super) is_flushed: Cell<bool>,
}

/// The connection without the port.
pub(super) type Core<'c, O, const RX: usize, const TX: usize, const N: usize, const S: usize> =
    CoreConnection<'c, ServerState<N, S>, [u8; RX], [u8; TX], O, N>;

impl<'c, H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Connection<'c, H, RX, TX, N, S>
{
    /// Creates a server with this configuration and application.
    // Inlined, so that the value is built in place and not on the stack.
    #[inline(always)]
    #[must_use]
    pub const fn new(config: &'c ServerConfig<'c>, handler: H) -> Self {
        let (rx, tx) = (RxBuffer::new([0; RX]), TxBuffer::new([0; TX]));
        Self {
            handler,
            catalog: None,
            line_timeout: None,
            core: RefCell::new(CoreConnection::new(config, ServerState::new(), rx, tx)),
            input: RefCell::new(Chunk::new()),
            output: RefCell::new(Chunk::new()),
            job: RefCell::new(None),
            changes: RefCell::new([None; MAX_CHANGES]),
            change: Cell::new(None),
            waiting: RefCell::new([const { None }; N]),
            sleeper: RefCell::new(None),
            now: Cell::new(Instant::from_millis(0)),
            last_read: Cell::new(Instant::from_millis(0)),
            due: Cell::new(None),
            is_touched: Cell::new(false),
            is_in_use: Cell::new(false),
            input_ended: Cell::new(false),
            has_more: Cell::new(false),
            is_flushed: Cell::new(true),
        }
    }

    /// Sets the catalog, which responds to list requests and unknown names. Without one, the
    /// handler gets every request.
    #[must_use]
    pub const fn catalog(mut self, catalog: &'c Catalog<'c>) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// Sets after how long a silence an unfinished line is ended. Default: never, as with
    /// `Duration::MAX`. Some seconds are right for people who type, less for programs.
    #[must_use]
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// Returns the application.
    #[must_use]
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
        self.touch();
        if let Some(sleeper) = &*self.sleeper.borrow() {
            sleeper.wake_by_ref();
        }
        true
    }

    /// Waits until another future of this connection has changed the state. Needs no waker, since a
    /// change makes `serve` poll all futures again.
    pub(super) fn until<T>(mut look: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
        poll_fn(move |_| look().map_or(Poll::Pending, Poll::Ready))
    }

    /// Repeats a call of the server until it finds room. Input is read meanwhile.
    pub(super) fn send<'p, A>(
        &self,
        turn: &mut Turn<'p, Server<'p>, H::Response<'static>>,
        mut call: impl FnMut(&mut Server<'p>, &mut Tx<'_>) -> Result<A, SendError>,
    ) -> impl Future<Output = Result<A, SendError>> {
        let mut is_blocked = false;
        poll_fn(move |_| {
            let (bytes, spare) = turn.io();
            // Each attempt serializes the frame anew.
            if is_blocked && bytes.len() > CHUNK {
                let written = self.exchange(bytes, spare);
                turn.wrote(written);
                return Poll::Pending;
            }
            let pump = |bytes: &[u8], spare: &mut Spare<'p>| match self.exchange(bytes, spare) {
                0 => Err(None),
                written => Ok(written),
            };
            match turn.send(pump, &mut call) {
                Err(None) => {
                    is_blocked = true;
                    Poll::Pending
                }
                Err(Some(error)) => Poll::Ready(Err(error)),
                Ok(sent) => Poll::Ready(Ok(sent)),
            }
        })
    }

    /// Moves bytes from and into the chunks. Returns how many of those to write it has taken.
    pub(super) fn exchange(&self, write: &[u8], read: &mut Spare<'_>) -> usize {
        if let Ok(mut input) = self.input.try_borrow_mut() {
            let taken = input.take(read.spare());
            if taken > 0 {
                read.commit(taken);
                self.last_read.set(self.now.get());
                self.touch();
            }
        }
        let taken = self.output.try_borrow_mut().map_or(0, |mut output| output.put(write));
        self.has_more.set(taken < write.len());
        if taken > 0 {
            self.is_flushed.set(false);
            self.touch();
        }
        taken
    }

    /// Returns whether bytes were read that the core has not got.
    pub(super) fn has_input(&self) -> bool {
        self.input.try_borrow().is_ok_and(|input| !input.is_empty())
    }

    /// Returns whether a notification waits for room: of a change, or of a handler.
    pub(super) fn notifies(&self) -> bool {
        self.change.get().is_some()
            || self.changes.borrow().iter().any(Option::is_some)
            || self.waiting.borrow().iter().any(Option::is_some)
    }

    /// Lets all futures be polled again.
    pub(super) fn touch(&self) {
        self.is_touched.set(true);
        self.waiting.borrow().iter().flatten().for_each(Waker::wake_by_ref);
    }

    pub(super) fn is_polled_by(&self, waker: &Waker) {
        let sleeper = &mut *self.sleeper.borrow_mut();
        if !sleeper.as_ref().is_some_and(|sleeper| sleeper.will_wake(waker)) {
            *sleeper = Some(waker.clone());
        }
    }

    /// Resets everything for a new connection.
    pub(super) fn reset(&self) {
        self.core.borrow_mut().reset();
        *self.input.borrow_mut() = Chunk::new();
        *self.output.borrow_mut() = Chunk::new();
        self.job.take();
        self.changes.replace([None; MAX_CHANGES]);
        self.change.set(None);
        self.waiting.borrow_mut().fill(None);
        self.sleeper.take();
        self.due.set(None);
        self.is_in_use.set(false);
        self.input_ended.set(false);
        self.is_flushed.set(true);
    }

    /// Makes one attempt to send a notification of a handler.
    fn notify(
        &self,
        call: impl for<'p> FnOnce(
            &mut Turn<'p, Server<'p>, H::Response<'static>>,
        ) -> Result<Delivery, SendError>,
    ) -> Result<Delivery, SendError> {
        let Ok(mut core) = self.core.try_borrow_mut() else { return Err(SendError::Full) };
        if core.waits_for_room() {
            return Err(SendError::Full);
        }
        let sent = call(&mut core.turn(self.now.get()));
        if !matches!(sent, Err(SendError::Full)) {
            self.touch();
        }
        sent
    }
}

impl<H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize> ContextBackend
    for Connection<'_, H, RX, TX, N, S>
{
    fn progress(&self, ctx: &Context<'_>, progress: &Progress<'_>) -> Result<Delivery, SendError> {
        self.notify(|turn| turn.progress(ctx.request, progress))
    }

    fn log(&self, ctx: &Context<'_>, message: &LogMessage<'_, str>) -> Result<Delivery, SendError> {
        self.notify(|turn| turn.log(ctx.request, message))
    }

    fn publish(&self, change: Change<'static>) -> bool {
        self.publish(change)
    }

    fn wait(&self, slot: usize, waker: Option<&Waker>) {
        let mut waiting = self.waiting.borrow_mut();
        let Some(waiting) = waiting.get_mut(slot) else { return };
        let other = core::mem::replace(waiting, waker.cloned());
        // Another future of the same handler waits, too, or the responses of others wait for this.
        if let Some(other) = other
            && waker.is_none_or(|waker| !other.will_wake(waker))
        {
            self.is_touched.set(true);
            other.wake();
        }
    }
}

impl<H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize> fmt::Debug
    for Connection<'_, H, RX, TX, N, S>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("core", &self.core).finish_non_exhaustive()
    }
}

/// Maximum number of queued changes.
const MAX_CHANGES: usize = 8;
