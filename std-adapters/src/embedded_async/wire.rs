//! A port, its clock and what the futures of a connection know of each other: the parts that lines
//! and HTTP have in common.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::future::{Future, poll_fn};
use core::task::{Context, Poll, Waker};

use ::embassy_futures::select::{Either, select};
use ::embassy_futures::yield_now;
use ::embedded_io_async::{Error as _, ErrorKind, Read, Write};
use mcp_sansio::{Instant, SendError, Server, Tx};

use super::{Clock, Error};

/// The bytes on their way, and the time. `OUT` is the maximum number of bytes that are written at
/// once.
pub(super) struct Wire<const OUT: usize> {
    /// The bytes read last. Borrowed while the driver reads.
    pub(super) input: RefCell<Chunk<CHUNK>>,
    /// The bytes to write next. Borrowed while the driver writes.
    pub(super) output: RefCell<Chunk<OUT>>,
    /// Waker of the task that serves.
    sleeper: RefCell<Option<Waker>>,
    pub(super) now: Cell<Instant>,
    /// Time until which there is nothing to do.
    pub(super) due: Cell<Option<Instant>>,
    /// Whether the futures are to be polled again.
    is_polled_again: Cell<bool>,
    /// Whether something was done for which a handler may wait.
    is_touched: Cell<bool>,
    pub(super) is_in_use: Cell<bool>,
    pub(super) input_ended: Cell<bool>,
    /// Whether more is to be written after the output's chunk.
    pub(super) has_more: Cell<bool>,
    /// Whether the driver has written and flushed everything.
    pub(super) is_flushed: Cell<bool>,
}

impl<const OUT: usize> Wire<OUT> {
    pub(super) const fn new() -> Self {
        Self {
            input: RefCell::new(Chunk::new()),
            output: RefCell::new(Chunk::new()),
            sleeper: RefCell::new(None),
            now: Cell::new(Instant::from_millis(0)),
            due: Cell::new(None),
            is_polled_again: Cell::new(false),
            is_touched: Cell::new(false),
            is_in_use: Cell::new(false),
            input_ended: Cell::new(false),
            has_more: Cell::new(false),
            is_flushed: Cell::new(true),
        }
    }

    /// Lets all futures be polled again, and handlers that wait.
    pub(super) fn touch(&self) {
        self.is_touched.set(true);
        self.poll_again();
    }

    /// Lets all futures be polled again.
    pub(super) fn poll_again(&self) {
        self.is_polled_again.set(true);
    }

    /// Makes one attempt of a call. `has_begun` says whether a part of its frame is written.
    pub(super) fn attempt(
        &self,
        (server, tx): (&mut Server<'_>, &mut Tx<'_>),
        has_begun: &mut bool,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let pending = tx.pending().len();
        // Each attempt serializes the frame anew.
        if *has_begun && pending > CHUNK {
            return Err(SendError::Full);
        }
        let sent = call(server, tx);
        *has_begun = sent == Err(SendError::Full) && tx.is_mid_frame();
        if sent != Err(SendError::Full) || tx.pending().len() != pending {
            self.touch();
        }
        sent
    }

    /// Lets all futures be polled again, from another task.
    pub(super) fn wake(&self) {
        self.touch();
        if let Some(sleeper) = &*self.sleeper.borrow() {
            sleeper.wake_by_ref();
        }
    }

    /// Resets everything for a new connection.
    pub(super) fn reset(&self) {
        *self.input.borrow_mut() = Chunk::new();
        *self.output.borrow_mut() = Chunk::new();
        self.sleeper.take();
        self.due.set(None);
        self.is_in_use.set(false);
        self.input_ended.set(false);
        self.is_flushed.set(true);
    }

    /// Returns whether bytes were read that nobody has got.
    pub(super) fn has_input(&self) -> bool {
        self.input.try_borrow().is_ok_and(|input| !input.is_empty())
    }

    /// Polls the futures of a connection, which `round` does, as often as they do something for
    /// each other. `wake` is called when handlers may go on. Returns the end of the connection:
    /// what `round` returns, or `closed` once the input has ended and all output is written.
    pub(super) async fn drive<T>(
        &self,
        clock: &impl Clock,
        closed: T,
        wake: impl Fn(),
        mut round: impl FnMut(&mut Context<'_>) -> Option<T>,
    ) -> T {
        let mut closed = Some(closed);
        poll_fn(|cx| {
            let is_known = |sleeper: &Waker| sleeper.will_wake(cx.waker());
            if !self.sleeper.borrow().as_ref().is_some_and(is_known) {
                self.sleeper.replace(Some(cx.waker().clone()));
            }
            for _ in 0..ROUNDS {
                self.now.set(clock.now());
                self.is_polled_again.set(false);
                if let Some(end) = round(cx) {
                    return Poll::Ready(end);
                }
                if self.is_touched.replace(false) {
                    wake();
                }
                // A future may wait for what another has done.
                if !self.is_polled_again.get() {
                    let has_ended = self.input_ended.get() && self.is_flushed.get();
                    let end = closed.take_if(|_| has_ended);
                    return end.map_or(Poll::Pending, Poll::Ready);
                }
            }
            // Lets other tasks run.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Lets the task be polled when there is something to do.
    pub(super) async fn sleep(&self, clock: &impl Clock) -> Infallible {
        // The last millisecond is that of the longest time limits, which never pass.
        let is_ahead = |due: &Instant| *due > self.now.get() && due.as_millis() != u64::MAX;
        loop {
            let due = until(|| self.due.get().filter(is_ahead)).await;
            let is_changed = until(|| (self.due.get() != Some(due)).then_some(()));
            if let Either::First(()) = select(clock.sleep_until(due), is_changed).await {
                // If the clock was set back, or its timer is early, other tasks run before the next
                // attempt.
                yield_now().await;
            }
        }
    }
}

#[expect(
    clippy::await_holding_refcell_ref,
    reason = "who else uses a chunk takes it for empty, or full, while it is borrowed"
)]
impl<const OUT: usize> Wire<OUT> {
    /// Reads. Never completes but with an error. Calls `on_error` after an error, which returns
    /// whether the input goes on behind the gap, and `on_end` at its end.
    pub(super) async fn read<R: Read>(
        &self,
        mut reader: R,
        on_error: impl Fn(ErrorKind) -> bool,
        on_end: impl Fn(),
    ) -> Result<Infallible, R::Error> {
        loop {
            until(|| (!self.has_input()).then_some(())).await;
            let read = {
                let input = &mut *self.input.borrow_mut();
                let read = reader.read(&mut input.bytes).await;
                input.filled(*read.as_ref().unwrap_or(&0));
                read
            };
            match read {
                Ok(0) => {
                    on_end();
                    self.input_ended.set(true);
                    self.touch();
                    return core::future::pending().await;
                }
                Ok(_) => self.touch(),
                // A cut wire may fail at once, again and again: lets other tasks run.
                Err(error) if error.kind() == ErrorKind::Interrupted || on_error(error.kind()) => {
                    yield_now().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes all output. Never completes but with an error.
    pub(super) async fn write<W: Write, R>(
        &self,
        mut writer: W,
    ) -> Result<Infallible, Error<R, W::Error>> {
        loop {
            until(|| (!self.output.borrow().is_empty()).then_some(())).await;
            self.output.borrow_mut().write_to(&mut writer).await?;
            if !self.has_more.get() {
                writer.flush().await.map_err(Error::Write)?;
                self.is_flushed.set(self.output.borrow().is_empty());
            }
            self.touch();
        }
    }
}

/// Waits until another future of the same connection has changed the state. Needs no waker, since a
/// change makes [`Wire::drive`] poll all futures again.
pub(super) fn until<T>(mut look: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
    poll_fn(move |_| look().map_or(Poll::Pending, Poll::Ready))
}

/// Calls a function when serving ends or its future is dropped.
pub(super) struct AtEnd<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Bytes on their way between a driver and the core's buffers, which may be in use meanwhile. A
/// chunk is filled anew once all its bytes have been taken.
#[derive(Debug)]
pub(super) struct Chunk<const SIZE: usize> {
    pub(super) bytes: [u8; SIZE],
    from: usize,
    to: usize,
}

impl<const SIZE: usize> Chunk<SIZE> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; SIZE], from: 0, to: 0 }
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

    /// Writes all bytes.
    pub(super) async fn write_to<W: Write, R>(
        &mut self,
        writer: &mut W,
    ) -> Result<(), Error<R, W::Error>> {
        while !self.is_empty() {
            match writer.write(self.rest()).await {
                Ok(0) => return Err(Error::WriteZero),
                Ok(written) => self.advance(written),
                Err(error) if error.kind() == ErrorKind::Interrupted => yield_now().await,
                Err(error) => return Err(Error::Write(error)),
            }
        }
        Ok(())
    }

    /// Moves bytes into a slice and returns their number.
    pub(super) fn take(&mut self, into: &mut [u8]) -> usize {
        let taken = into.iter_mut().zip(self.rest()).map(|(to, from)| *to = *from).count();
        self.advance(taken);
        taken
    }
}

/// Maximum number of bytes that are read at once, and of a line that are written.
pub(super) const CHUNK: usize = 64;

/// Number of times in a row that the futures are polled before other tasks run.
const ROUNDS: usize = 32;
