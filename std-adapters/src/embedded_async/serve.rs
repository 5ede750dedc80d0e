//! A connection, and the loop that polls all its futures.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Poll, Waker};
use core::time::Duration;

use ::embassy_futures::join::join_array;
use ::embassy_futures::select::{Either, select};
use ::embassy_futures::yield_now;
use ::embedded_io_async::{Read, Write};
use mcp_sansio::{
    Catalog, Change, Connection as CoreConnection, Instant, RxBuffer, SendError, Server,
    ServerConfig, ServerEvent, ServerState, Spare, Step, TxBuffer,
};

use super::slot::Slot;
use super::{Clock, Error, Handler};

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

/// Calls a function when serving ends or its future is dropped.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
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

/// Returns the end of a timeout. `None` if it is beyond the range of the clock.
fn due_after(moment: Instant, timeout: Duration) -> Option<Instant> {
    Some(moment.saturating_add(timeout)).filter(|due| due.as_millis() != u64::MAX)
}

/// Number of times in a row that the futures are polled before other tasks run.
const ROUNDS: usize = 32;

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
    pub const fn catalog(mut self, catalog: &'c Catalog<'c>) -> Self {
        let catalog = &catalog.checked_when_read();
        self.catalog = Some(*catalog);
        self
    }

    /// Sets after how long a silence an unfinished line is ended. Default: never, as with
    /// `Duration::MAX`. Some seconds are right for people who type, less for programs.
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
        if self.is_in_use.replace(true) {
            return Err(Error::InUse);
        }
        let _serving = AtEnd(|| self.reset());
        // Pinned one by one: they are large, and a future that contains them all would be moved.
        let mut read = pin!(self.read(reader));
        let mut write = pin!(self.write(writer));
        let mut sleep = pin!(self.sleep(clock));
        let mut slots = pin!(join_array(self.slots.each_ref().map(|slot| self.run(slot))));
        let (mut may_read, mut has_begun) = (RX, false);
        poll_fn(|cx| {
            self.is_polled_by(cx.waker());
            for _ in 0..ROUNDS {
                self.now.set(clock.now());
                self.is_touched.set(false);
                if let Poll::Ready(Err(error)) = read.as_mut().poll(cx) {
                    return Poll::Ready(Err(Error::Read(error)));
                }
                if let Poll::Ready(Err(error)) = write.as_mut().poll(cx) {
                    return Poll::Ready(Err(error));
                }
                // The handlers see an event before the next step.
                if self.step(&mut may_read) {
                    return Poll::Ready(Ok(ConnectionEnd::Unresponsive));
                }
                self.publish_next(&mut has_begun);
                let _: Poll<Infallible> = sleep.as_mut().poll(cx);
                let _: Poll<[Infallible; N]> = slots.as_mut().poll(cx);
                // Polls again, since a future may wait for what another has done.
                if !self.is_touched.get() {
                    let has_ended = self.input_ended.get() && self.is_flushed.get();
                    let end = has_ended.then_some(Ok(ConnectionEnd::Closed));
                    return end.map_or(Poll::Pending, Poll::Ready);
                }
            }
            // Lets other tasks run.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Makes a step. Returns whether the client does not respond to a ping.
    ///
    /// A task that comes late may find both a timeout that is due and the response that it waits
    /// for. So what has come is handled first, up to `may_read` bytes.
    fn step(&self, may_read: &mut usize) -> bool {
        let core = &mut *self.core.borrow_mut();
        let now = self.now.get();
        let line_due = self.line_due(core.rx().is_mid_line());
        if line_due.is_some_and(|due| due <= now) {
            core.rx().end_of_input();
        }
        loop {
            let has_input = self.has_input();
            let catches_up = *may_read > 0;
            match next_step(core, catches_up, now) {
                Step::Event(event, _) => {
                    self.touch();
                    self.handler.on_event(&event);
                    match event {
                        ServerEvent::Request(request) => self.begin(&request),
                        ServerEvent::Unresponsive => return true,
                        _ => {}
                    }
                }
                Step::Again => self.touch(),
                Step::Io { write, mut read, until } => {
                    let written = self.exchange(write, &mut read);
                    core.wrote(written);
                    let has_read = has_input && !self.has_input();
                    if catches_up && !has_read {
                        *may_read = 0;
                        // A handler that has begun a frame goes on with it before the next step.
                        if core.tx().is_mid_frame() {
                            self.is_touched.set(true);
                            return false;
                        }
                        continue;
                    }
                    *may_read = if catches_up { may_read.saturating_sub(CHUNK) } else { RX };
                    // A timeout that is due waits for room.
                    let due = [until, line_due].into_iter().flatten().filter(|due| *due > now);
                    self.due.set(due.min());
                }
                Step::Closed => {}
            }
            return false;
        }
    }

    /// Returns when an unfinished line is ended.
    fn line_due(&self, is_mid_line: bool) -> Option<Instant> {
        // Otherwise it waits for room.
        let is_silent = is_mid_line && !self.has_input();
        self.line_timeout
            .filter(|_| is_silent)
            .and_then(|timeout| due_after(self.last_read.get(), timeout))
    }

    /// Lets the task be polled when there is something to do.
    async fn sleep(&self, clock: &impl Clock) -> Infallible {
        loop {
            let due = Self::until(|| self.due.get().filter(|due| *due > self.now.get())).await;
            let is_changed = Self::until(|| (self.due.get() != Some(due)).then_some(()));
            if let Either::First(()) = select(clock.sleep_until(due), is_changed).await {
                // If the clock was set back, or its timer is early, other tasks run before the next
                // attempt.
                yield_now().await;
            }
        }
    }

    /// Notifies subscribers of the change that waits longest, if there is room.
    fn publish_next(&self, has_begun: &mut bool) {
        let queued = || self.changes.borrow_mut().iter_mut().find_map(Option::take);
        let Some(mut change) = self.change.get().or_else(queued) else { return };
        let mut is_more = false;
        let sent = self.attempt(has_begun, &mut |server, tx| {
            is_more = server.publish(&mut change, tx)?.is_more();
            Ok(())
        });
        self.change.set((sent == Err(SendError::Full) || is_more).then_some(change));
    }
}

mcp_sansio::opaque_debug!(
    [H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize,
        const REQUEST: usize]
    Connection<'_, H, RX, TX, N, S, REQUEST> { core }
);

/// Maximum number of queued changes.
const MAX_CHANGES: usize = 8;

// Bytes on their way between a driver and the core's buffers, which may be in use meanwhile.

/// A chunk of bytes. It is filled anew once all its bytes have been taken.
pub(super) struct Chunk {
    pub(super) bytes: [u8; CHUNK],
    from: usize,
    to: usize,
}

impl Chunk {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CHUNK], from: 0, to: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// Returns the bytes that have not been taken.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.from..self.to).unwrap_or_default()
    }

    /// Records that the first `len` bytes of the memory were filled.
    pub(super) const fn filled(&mut self, len: usize) {
        (self.from, self.to) = (0, len);
    }

    /// Records that the first `len` bytes of the rest were taken.
    pub(super) const fn advance(&mut self, len: usize) {
        self.from += len;
    }

    /// Fills an empty chunk and returns the number of bytes taken.
    pub(super) fn put(&mut self, bytes: &[u8]) -> usize {
        if !self.is_empty() {
            return 0;
        }
        let filled = self.bytes.iter_mut().zip(bytes).map(|(to, from)| *to = *from).count();
        self.filled(filled);
        filled
    }

    /// Moves bytes into a slice and returns their number.
    pub(super) fn take(&mut self, into: &mut [u8]) -> usize {
        let taken = into.iter_mut().zip(self.rest()).map(|(to, from)| *to = *from).count();
        self.advance(taken);
        taken
    }
}

/// Maximum number of bytes that are read or written at once.
pub(super) const CHUNK: usize = 64;
