//! A server, its output and its slots: what all parts of a connection share, each for the length of a
//! call.

use core::cell::RefCell;
use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};
use core::time::Duration;

use mcp_sansio::{
    Catalog, Change, Delivery, Instant, LogMessage, Messages, Progress, RequestHandle, RxBuffer,
    SendError, Server, ServerConfig, ServerEvent, Tx, TxBuffer,
};

use super::handler::{Context, ContextBackend, Handler};
use super::read_buffer::ReadBuffer;

/// A server on a port: `RX` bytes for the longest line it takes, `TX` bytes to write through, `N`
/// requests in flight and as many handlers, `S` subscribed URIs.
///
/// Large, so build it where it stays: in a `StaticCell`, or in the task that never ends. See the
/// [module](super).
pub struct Connection<
    'c,
    H: Handler<N, S>,
    const RX: usize,
    const TX: usize,
    const N: usize = 4,
    const S: usize = 4,
> {
    pub(super) handler: H,
    pub(super) catalog: Option<&'c Catalog<'c>>,
    pub(super) line_timeout: Option<Duration>,
    config: &'c ServerConfig<'c>,
    /// Borrowed as long as a port is served. Not in the future that serves, which is moved to
    /// where it stays.
    pub(super) rx: RefCell<RxBuffer<[u8; RX]>>,
    /// Borrowed for the length of a call of the core, never while the application is called.
    pub(super) state: RefCell<State<'c, H::Job, TX, N, S>>,
}

/// What goes out, what has come in and not been taken, and what is worked on.
pub(super) struct State<'c, J, const TX: usize, const N: usize, const S: usize> {
    pub(super) server: Server<'c, N, S>,
    pub(super) tx: TxBuffer<[u8; TX]>,
    pub(super) read_buffer: ReadBuffer,
    pub(super) slots: [Slot<J>; N],
    pub(super) changes: [Option<Change<'static>>; MAX_CHANGES],
    /// Who found no room; until it has some, nobody else writes: a long answer is not kept waiting
    /// by short ones for ever.
    writer: Option<Writer>,
    /// How much may still be pending when that one tries again: each attempt formats its frame
    /// anew.
    enough: usize,
    /// Handlers that wait for room.
    waiting: [Option<Waker>; N],
    /// Of whoever polls the connection.
    sleeper: Option<Waker>,
    /// Whether something was done that another part may have waited for.
    pub(super) is_touched: bool,
    pub(super) is_in_use: bool,
    /// Whether lines may wait that have not been taken.
    pub(super) has_lines: bool,
    /// Whether bytes have left `tx` and not yet the port.
    pub(super) is_writing: bool,
    pub(super) is_unresponsive: bool,
    pub(super) now: Instant,
}

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    /// What takes lines in: what is answered at once.
    Lines,
    /// What is due.
    Timeouts,
    /// Changes that subscribers are told of.
    Changes,
    /// The handler of this place, and its answer.
    Slot(usize),
}

/// One of the slots for handlers, of which there are as many as requests may be in flight.
pub(super) enum Slot<J> {
    Idle,
    /// Not looked at yet.
    Queued(RequestHandle, J),
    Running(RequestHandle),
    Responding(RequestHandle),
}

impl<'c, H: Handler<N, S>, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Connection<'c, H, RX, TX, N, S>
{
    /// A server with this configuration, and this application.
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

    /// Answers lists and unknown names from this catalog. Without one, the handler gets everything.
    #[must_use]
    pub const fn catalog(mut self, catalog: &'c Catalog<'c>) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// Ends a line where it is after this silence in the middle of it. Default: never, as with
    /// `Duration::MAX`. Some seconds are right, or less where no person types.
    #[must_use]
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// The application.
    #[must_use]
    pub const fn handler(&self) -> &H {
        &self.handler
    }

    /// Has all subscribers told of a change, as soon as there is room. What waits to be told
    /// already is not told twice. `false` when too many changes wait (eight); then nothing was
    /// noted.
    pub fn publish(&self, change: Change<'static>) -> bool {
        // Borrowed only while an answer is sent, which can tell of a change itself.
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

    /// Waits for something that another part of this connection brings about. Needs no waker: whatever
    /// does so has all parts polled again.
    pub(super) fn until<T>(mut look: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
        poll_fn(move |_| look().map_or(Poll::Pending, Poll::Ready))
    }

    /// Any call of the server that sends: repeated until it is through.
    pub(super) fn send<R>(
        &self,
        writer: Writer,
        mut call: impl FnMut(&mut Server<'c, N, S>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> impl Future<Output = Result<R, SendError>> {
        Self::until(move || match self.state.borrow_mut().attempt(writer, &mut call) {
            Err(error) if error.is_full() => None,
            done => Some(done),
        })
    }

    /// For a new connection: nothing of the last one is left. What it takes of the stack is given
    /// back.
    #[inline(never)]
    pub(super) fn reset(&self) {
        *self.rx.borrow_mut() = RxBuffer::new([0; RX]);
        let mut state = self.state.borrow_mut();
        *state = State::new(self.config);
    }
}

impl<'c, J, const TX: usize, const N: usize, const S: usize> State<'c, J, TX, N, S> {
    // Into its place, and not by way of the stack.
    #[inline(always)]
    const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self {
            server: Server::with_table_sizes(config),
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

    /// A call that sends. `Full` also while it is somebody else's turn.
    pub(super) fn attempt<R>(
        &mut self,
        writer: Writer,
        call: impl FnOnce(&mut Server<'c, N, S>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        if !self.may_write(writer) {
            return Err(SendError::Full);
        }
        let done = call(&mut self.server, self.now, &mut self.tx);
        let is_full = matches!(&done, Err(error) if error.is_full());
        self.writer = is_full.then_some(writer);
        self.enough = if self.tx.is_mid_frame() { 0 } else { self.tx.pending().len() / 2 };
        self.is_touched |= !matches!(&done, Err(SendError::Full));
        done
    }

    /// The next event of a line. Whoever's turn it is: most of them write nothing, and a
    /// cancellation must come through while answers wait.
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

    /// Whether nobody waits for what is done in this place: the request was cancelled, has expired,
    /// or its client has begun anew.
    pub(super) fn is_over(&self, slot: usize) -> bool {
        self.slots
            .get(slot)
            .and_then(Slot::request)
            .is_some_and(|request| !self.server.is_request_open(request))
    }

    /// Whether the next message may be taken in: there is a place for a request, unless handlers
    /// are at work in all of them. Each place is looked at before the next message, so what is
    /// done at once is answered at once, and in this order.
    pub(super) fn may_take(&self) -> bool {
        let is_unsettled =
            |slot| self.is_over(slot) || self.slots.get(slot).is_some_and(Slot::is_queued);
        !(0..N).any(is_unsettled)
            && (self.slots.iter().any(Slot::is_idle) || !self.slots.iter().any(Slot::has_answer))
    }

    /// Whether nothing is left that will be answered without further input and without waiting.
    pub(super) fn is_through(&self) -> bool {
        !self.has_lines
            && self.read_buffer.is_empty()
            && self.tx.is_idle()
            && !self.is_writing
            && !self.slots.iter().any(Slot::has_answer)
    }

    /// Bytes have left.
    pub(super) fn drained(&mut self) {
        self.is_touched = true;
        for waiting in &mut self.waiting {
            if let Some(waker) = waiting.take() {
                waker.wake();
            }
        }
    }

    /// Has the connection look at what was done.
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

    /// Whether there is an answer that has yet to be sent, or may be as soon as somebody looks.
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

    /// Takes what was begun, to work on it.
    pub(super) fn take(&mut self) -> Option<(RequestHandle, J)> {
        let working = Self::Running(self.request().filter(|_| self.is_queued())?);
        match core::mem::replace(self, working) {
            Self::Queued(request, job) => Some((request, job)),
            _ => None,
        }
    }
}

impl<H: Handler<N, S>, const RX: usize, const TX: usize, const N: usize, const S: usize>
    ContextBackend for Connection<'_, H, RX, TX, N, S>
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

impl<H: Handler<N, S>, const RX: usize, const TX: usize, const N: usize, const S: usize> fmt::Debug
    for Connection<'_, H, RX, TX, N, S>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("config", self.config).finish_non_exhaustive()
    }
}

/// Changes that may wait to be told.
const MAX_CHANGES: usize = 8;
