//! The loop, which polls all futures of a connection.

use core::convert::Infallible;
use core::future::{Future as _, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use ::embassy_futures::join::join_array;
use ::embassy_futures::select::{Either, select};
use ::embassy_futures::yield_now;
use ::embedded_io_async::{Read, Write};
use mcp_sansio::{Instant, SendError, Server, ServerEvent, Step};

use super::chunk::CHUNK;
use super::connection::{Connection, Core};
use super::error::Error;
use super::handler::{Clock, Handler};

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

impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Connection<'_, H, RX, TX, N, S, REQUEST>
{
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
        let _serving = Serving(self);
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

/// Resets the connection when serving ends or its future is dropped.
struct Serving<
    'l,
    'c,
    H,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
>(&'l Connection<'c, H, RX, TX, N, S, REQUEST>)
where
    H: Handler;

impl<H, const RX: usize, const TX: usize, const N: usize, const S: usize, const REQUEST: usize> Drop
    for Serving<'_, '_, H, RX, TX, N, S, REQUEST>
where
    H: Handler,
{
    fn drop(&mut self) {
        self.0.reset();
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
