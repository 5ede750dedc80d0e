//! The state of a connection, which its futures share. Each borrows it for the duration of a call.

use core::cell::RefCell;
use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};
use core::time::Duration;

use mcp_sansio::{
    Catalog, Change, Delivery, Instant, LogMessage, Messages, Progress, RequestHandle, RxBuffer,
    SendError, Server, ServerConfig, ServerEvent, ServerState, Tx, TxBuffer,
};

use super::handler::{Context, ContextBackend, Handler};
use super::read_buffer::ReadBuffer;

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
    config: &'c ServerConfig<'c>,
    /// Borrowed while a port is served. Not in the future that serves, since that is moved.
    pub(super) rx: RefCell<RxBuffer<[u8; RX]>>,
    /// Borrowed for the duration of a call of the core, never while the application is called.
    pub(super) state: RefCell<State<'c, H::Job, TX, N, S>>,
}

/// The server, its output, input that has not been handled, and running requests.
pub(super) struct State<'c, J, const TX: usize, const N: usize, const S: usize> {
    memory: ServerState<N, S>,
    config: &'c ServerConfig<'c>,
    pub(super) tx: TxBuffer<[u8; TX]>,
    pub(super) read_buffer: ReadBuffer,
    pub(super) slots: [Slot<J>; N],
    pub(super) changes: [Option<Change<'static>>; MAX_CHANGES],
    /// The writer that found no room. Until it has some, no other may write, so that short
    /// responses cannot delay a long one for ever.
    writer: Option<Writer>,
    /// Maximum number of pending bytes at which `writer` tries again, since each attempt serializes
    /// its frame anew.
    enough: usize,
    /// Handlers that wait for room.
    waiting: [Option<Waker>; N],
    /// Waker of the task that polls the connection.
    sleeper: Option<Waker>,
    /// Whether something was done for which another future may wait.
    pub(super) is_touched: bool,
    pub(super) is_in_use: bool,
    /// Whether complete lines may be in the receive buffer.
    pub(super) has_lines: bool,
    /// Whether bytes have been taken from `tx` that are not written yet.
    pub(super) is_writing: bool,
    pub(super) is_unresponsive: bool,
    pub(super) now: Instant,
}

/// A user of the transmit buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    /// The handling of lines, and responses that are sent at once.
    Lines,
    /// Timeouts that are due.
    Timeouts,
    /// Changes for subscribers.
    Changes,
    /// The handler in this slot, and its response.
    Slot(usize),
}

/// A slot for a running request. There are as many as requests can be in flight.
pub(super) enum Slot<J> {
    Idle,
    /// Not started yet.
    Queued(RequestHandle, J),
    Running(RequestHandle),
    Responding(RequestHandle),
}

impl<'c, H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Connection<'c, H, RX, TX, N, S>
{
    /// Creates a server with this configuration and application.
    #[inline(always)]
    #[must_use]
    pub const fn new(config: &'c ServerConfig<'c>, handler: H) -> Self {
        let rx = RefCell::new(RxBuffer::new([0; RX]));
        Self {
            handler,
            catalog: None,
            line_timeout: None,
            config,
            rx,
            state: RefCell::new(State::new(config)),
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
        // Borrowed only while a response is sent, which may publish a change itself.
        let Ok(mut state) = self.state.try_borrow_mut() else { return false };
        if state.changes.contains(&Some(change)) {
            return true;
        }
        let Some(free) = state.changes.iter_mut().find(|changes| changes.is_none()) else {
            return false;
        };
        *free = Some(change);
        state.touch();
        true
    }

    /// Waits until another future of this connection has changed the state. Needs no waker, since a
    /// change makes `serve` poll all futures again.
    pub(super) fn until<T>(mut look: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
        poll_fn(move |_| look().map_or(Poll::Pending, Poll::Ready))
    }

    /// Makes any call of the server. Repeats it while the buffer is full.
    pub(super) fn send<R>(
        &self,
        writer: Writer,
        mut call: impl FnMut(&mut Server<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> impl Future<Output = Result<R, SendError>> {
        Self::until(move || match self.state.borrow_mut().attempt(writer, &mut call) {
            Err(SendError::Full) => None,
            done => Some(done),
        })
    }

    /// Resets everything for a new connection. Not inlined, so that its stack is freed.
    #[inline(never)]
    pub(super) fn reset(&self) {
        *self.rx.borrow_mut() = RxBuffer::new([0; RX]);
        let mut state = self.state.borrow_mut();
        *state = State::new(self.config);
    }
}

impl<'c, J, const TX: usize, const N: usize, const S: usize> State<'c, J, TX, N, S> {
    // Inlined, so that the value is built in place and not on the stack.
    #[inline(always)]
    const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self {
            memory: ServerState::new(),
            config,
            tx: TxBuffer::new([0; TX]),
            read_buffer: ReadBuffer::new(),
            slots: [const { Slot::Idle }; N],
            changes: [None; MAX_CHANGES],
            writer: None,
            enough: 0,
            waiting: [const { None }; N],
            sleeper: None,
            is_touched: false,
            is_in_use: false,
            has_lines: false,
            is_writing: false,
            is_unresponsive: false,
            now: Instant::from_millis(0),
        }
    }

    /// Makes a call of the server. Returns `Full` also while another writer has priority.
    pub(super) fn attempt<R>(
        &mut self,
        writer: Writer,
        call: impl FnOnce(&mut Server<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        if !self.may_write(writer) {
            return Err(SendError::Full);
        }
        let done = call(&mut self.memory.server(self.config), self.now, &mut self.tx);
        let is_full = matches!(&done, Err(SendError::Full));
        self.writer = is_full.then_some(writer);
        self.enough = if self.tx.is_mid_frame() { 0 } else { self.tx.pending().len() / 2 };
        self.is_touched |= !matches!(&done, Err(SendError::Full));
        done
    }

    /// Returns the next event of a line, also while another writer has priority: most events write
    /// nothing, and a cancellation must be handled while responses wait.
    pub(super) fn next_event<'f>(
        &mut self,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let other = self.writer.take_if(|writer| *writer != Writer::Lines);
        let enough = self.enough;
        let event =
            self.attempt(Writer::Lines, |server, now, tx| server.next_event(now, messages, tx));
        if other.is_some() {
            (self.writer, self.enough) = (other, enough);
        }
        event
    }

    pub(super) fn may_write(&self, writer: Writer) -> bool {
        self.writer.is_none_or(|next| next == writer && self.tx.pending().len() <= self.enough)
    }

    /// Returns whether the request of this slot is over: it was cancelled or timed out, or its
    /// client has connected again.
    pub(super) fn is_over(&mut self, slot: usize) -> bool {
        let request = self.slots.get(slot).and_then(Slot::request);
        request.is_some_and(|request| !self.server().is_request_open(request))
    }

    pub(super) fn server(&mut self) -> Server<'_> {
        self.memory.server(self.config)
    }

    /// Returns whether the next message may be handled: there is a free slot, or handlers run in
    /// all of them. New slots are looked at before the next message, so jobs that complete at once
    /// get their responses at once and in order.
    pub(super) fn may_take(&mut self) -> bool {
        let is_unsettled =
            |slot| self.is_over(slot) || self.slots.get(slot).is_some_and(Slot::is_queued);
        !(0..N).any(is_unsettled)
            && (self.slots.iter().any(Slot::is_idle) || !self.slots.iter().any(Slot::has_answer))
    }

    /// Returns whether no response is left that needs neither further input nor waiting.
    pub(super) fn is_through(&self) -> bool {
        !self.has_lines
            && self.read_buffer.is_empty()
            && self.tx.is_idle()
            && !self.is_writing
            && !self.slots.iter().any(Slot::has_answer)
    }

    /// Wakes handlers that wait for room.
    pub(super) fn drained(&mut self) {
        self.is_touched = true;
        for waiting in &mut self.waiting {
            if let Some(waker) = waiting.take() {
                waker.wake();
            }
        }
    }

    /// Wakes the task that polls the connection.
    pub(super) fn touch(&mut self) {
        self.is_touched = true;
        if let Some(sleeper) = &self.sleeper {
            sleeper.wake_by_ref();
        }
    }

    pub(super) fn begin_round(&mut self, now: Instant) {
        (self.now, self.is_touched) = (now, false);
    }

    pub(super) fn is_polled_by(&mut self, waker: &Waker) {
        if !self.sleeper.as_ref().is_some_and(|sleeper| sleeper.will_wake(waker)) {
            self.sleeper = Some(waker.clone());
        }
    }
}

impl<J> Slot<J> {
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    pub(super) const fn is_queued(&self) -> bool {
        matches!(self, Self::Queued(..))
    }

    /// Returns whether the slot has a response to send, or may have one once it is polled.
    pub(super) const fn has_answer(&self) -> bool {
        matches!(self, Self::Queued(..) | Self::Responding(_))
    }

    pub(super) const fn request(&self) -> Option<RequestHandle> {
        match self {
            Self::Idle => None,
            Self::Queued(request, _) | Self::Running(request) | Self::Responding(request) => {
                Some(*request)
            }
        }
    }

    /// Takes the job of a queued slot.
    pub(super) fn take(&mut self) -> Option<(RequestHandle, J)> {
        let working = Self::Running(self.request().filter(|_| self.is_queued())?);
        match core::mem::replace(self, working) {
            Self::Queued(request, job) => Some((request, job)),
            _ => None,
        }
    }
}

impl<H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize> ContextBackend
    for Connection<'_, H, RX, TX, N, S>
{
    fn progress(&self, ctx: &Context<'_>, progress: &Progress<'_>) -> Result<Delivery, SendError> {
        let writer = Writer::Slot(ctx.slot);
        self.state
            .borrow_mut()
            .attempt(writer, |server, now, tx| server.progress(now, ctx.request, progress, tx))
    }

    fn log(&self, ctx: &Context<'_>, message: &LogMessage<'_, str>) -> Result<Delivery, SendError> {
        self.state
            .borrow_mut()
            .attempt(Writer::Slot(ctx.slot), |server, _, tx| server.log(ctx.request, message, tx))
    }

    fn publish(&self, change: Change<'static>) -> bool {
        self.publish(change)
    }

    fn wait(&self, slot: usize, waker: &Waker) {
        if let Some(waiting) = self.state.borrow_mut().waiting.get_mut(slot)
            && let Some(other) = waiting.replace(waker.clone())
            && !other.will_wake(waker)
        {
            other.wake();
        }
    }

    fn release(&self, writer: Writer) {
        let mut state = self.state.borrow_mut();
        if state.writer == Some(writer) && !state.tx.is_mid_frame() {
            state.writer = None;
            state.touch();
        }
    }
}

impl<H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize> fmt::Debug
    for Connection<'_, H, RX, TX, N, S>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("config", self.config).finish_non_exhaustive()
    }
}

/// Maximum number of queued changes.
const MAX_CHANGES: usize = 8;
