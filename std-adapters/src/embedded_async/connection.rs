//! A connection, which its futures share. Each borrows a part of it for the duration of a call.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};
use core::time::Duration;

use mcp_sansio::{
    Catalog, Change, Connection as CoreConnection, Instant, RxBuffer, ServerConfig, ServerState,
    Spare, TxBuffer,
};

use super::chunk::Chunk;
use super::handler::Handler;
use super::slot::Slot;

/// A server on a port. Parameters: `RX` is the maximum length of a line and `TX` the size of the
/// transmit buffer, in bytes, `N` the maximum number of requests in flight and of running handlers,
/// `S` the maximum number of subscribed URIs, `REQUEST` the memory for the parameters of a running
/// request, in bytes.
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
    const REQUEST: usize = RX,
> {
    pub(super) handler: H,
    pub(super) catalog: Option<Catalog<'c>>,
    pub(super) line_timeout: Option<Duration>,
    /// Borrowed for a call.
    pub(super) core: RefCell<Core<'c, RX, TX, N, S>>,
    /// The bytes read last. Borrowed while the driver reads.
    pub(super) input: RefCell<Chunk>,
    /// The bytes to write next. Borrowed while the driver writes.
    pub(super) output: RefCell<Chunk>,
    pub(super) slots: [Slot<REQUEST>; N],
    /// Number of responses so far.
    pub(super) responses: Cell<u64>,
    pub(super) changes: RefCell<[Option<Change<'static>>; MAX_CHANGES]>,
    /// The change of which not all subscribers have been notified.
    pub(super) change: Cell<Option<Change<'static>>>,
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

/// The connection without the port. Its place for an outcome is never taken: it lets the responses
/// of handlers [hold](CoreConnection::hold) what the connection itself would write.
pub(super) type Core<'c, const RX: usize, const TX: usize, const N: usize, const S: usize> =
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
            slots: [const { Slot::new() }; N],
            responses: Cell::new(0),
            changes: RefCell::new([None; MAX_CHANGES]),
            change: Cell::new(None),
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
        let catalog = &catalog.checked_when_read();
        self.catalog = Some(*catalog);
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
            || self.slots.iter().any(Slot::is_waiting)
    }

    /// Lets all futures be polled again.
    pub(super) fn touch(&self) {
        self.is_touched.set(true);
        self.slots.iter().for_each(Slot::wake);
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
        self.slots.iter().for_each(Slot::reset);
        self.changes.replace([None; MAX_CHANGES]);
        self.change.set(None);
        self.sleeper.take();
        self.due.set(None);
        self.is_in_use.set(false);
        self.input_ended.set(false);
        self.is_flushed.set(true);
    }
}

impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> fmt::Debug for Connection<'_, H, RX, TX, N, S, REQUEST>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("core", &self.core).finish_non_exhaustive()
    }
}

/// Maximum number of queued changes.
const MAX_CHANGES: usize = 8;
