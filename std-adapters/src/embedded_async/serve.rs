//! The loop, which polls all futures of a connection.

use core::array;
use core::convert::Infallible;
use core::future::{Future as _, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use ::embassy_futures::join::join_array;
use ::embassy_futures::select::{Either, select};
use ::embassy_futures::yield_now;
use ::embedded_io_async::{Read, Write};
use mcp_sansio::{
    Instant, Outcome, Remaining, Request, RequestHandle, RpcError, SendError, Server, ServerEvent,
    Step, Target, Turn, Tx,
};

use super::chunk::CHUNK;
use super::connection::{Connection, Core};
use super::error::Error;
use super::handler::{Action, Clock, Context, Handler};

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The client closed it. A serial line never ends.
    Closed,
    /// The client did not respond to a ping: see
    /// [`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval).
    Unresponsive,
}

impl<H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Connection<'_, H, RX, TX, N, S>
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
        let mut drive = pin!(self.drive());
        let mut sleep = pin!(self.sleep(clock));
        let mut slots = pin!(join_array::<_, N>(array::from_fn(|slot| self.run_jobs(slot))));
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
                if let Poll::Ready(()) = drive.as_mut().poll(cx) {
                    return Poll::Ready(Ok(ConnectionEnd::Unresponsive));
                }
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

    /// Makes the steps of the connection. Completes when the client does not respond to a ping.
    async fn drive(&self) {
        let mut may_read = RX;
        loop {
            Self::until(|| self.job.borrow().is_none().then_some(())).await;
            self.publish_next().await;
            if self.step(&mut may_read).await {
                return;
            }
            // The handlers see the event before the next step.
            let mut is_polled = false;
            Self::until(|| core::mem::replace(&mut is_polled, true).then_some(())).await;
        }
    }

    /// Makes a step. Returns whether the client does not respond to a ping.
    ///
    /// A task that comes late may find both a timeout that is due and the response that it waits
    /// for. So what has come is handled first, up to `may_read` bytes.
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "others wait while a response that borrows from its request is sent"
    )]
    async fn step(&self, may_read: &mut usize) -> bool {
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
                Step::Event(event, mut turn) => {
                    self.touch();
                    self.handler.on_event(&event);
                    match event {
                        ServerEvent::Request(request) => {
                            self.handle_request(&request, &mut turn).await;
                        }
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

    async fn handle_request<'p>(
        &self,
        request: &Request<'p>,
        turn: &mut Turn<'p, Server<'p>, H::Response<'static>>,
    ) {
        let target = match self.catalog {
            None => Target::Other,
            Some(catalog) => {
                match self.send(turn, |server, tx| catalog.respond(server, request, tx)).await {
                    Ok(Target::Responded) | Err(_) => return,
                    Ok(target) => target,
                }
            }
        };
        let request_handle = request.handle;
        match self.handler.on_request(request, target) {
            Action::Respond(response) => {
                let send = |server: &mut Server<'p>, tx: &mut Tx<'_>| {
                    response.send(server, request_handle, tx)
                };
                if let Err(error) = self.send(turn, send).await {
                    self.handler.on_send_error(error);
                    let error = RpcError::internal("The response cannot be sent");
                    let _ =
                        self.send(turn, |server, tx| server.fail(request_handle, &error, tx)).await;
                }
            }
            Action::Run(job) => *self.job.borrow_mut() = Some((request_handle, job)),
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
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "a notification that has begun must be gone on with"
    )]
    async fn publish_next(&self) {
        let core = &mut *self.core.borrow_mut();
        if core.waits_for_room() {
            return;
        }
        let queued = || self.changes.borrow_mut().iter_mut().find_map(Option::take);
        let Some(mut change) = self.change.get().or_else(queued) else { return };
        let mut turn = core.turn(self.now.get());
        let (server, tx) = turn.parts();
        let sent = match server.publish(&mut change, tx) {
            Err(SendError::Full) if tx.is_mid_frame() => {
                self.send(&mut turn, |server, tx| server.publish(&mut change, tx)).await
            }
            sent => sent,
        };
        let is_full = sent == Err(SendError::Full);
        self.change.set((is_full || sent == Ok(Remaining::More)).then_some(change));
        if !is_full {
            self.touch();
        }
    }

    /// Runs jobs in one slot, one after the other.
    async fn run_jobs(&self, slot: usize) -> Infallible {
        loop {
            let (request, job) = Self::until(|| self.job.take()).await;
            let work = self.handler.run(job, Context { connection: self, request, slot });
            let is_over = Self::until(|| {
                let is_open = self.core.try_borrow_mut().ok()?.machine().is_request_open(request);
                (!is_open).then_some(())
            });
            if let Either::Second(response) = select(is_over, work).await {
                let mut response = Some(response);
                Self::until(|| self.respond(request, &mut response)).await;
                self.touch();
            }
        }
    }

    /// Sends the response of a job, or hands it in if it does not fit into the buffer now.
    /// Notifications that wait leave first.
    #[inline(never)]
    fn respond(
        &self,
        request: RequestHandle,
        response: &mut Option<H::Response<'static>>,
    ) -> Option<()> {
        let mut core = self.core.try_borrow_mut().ok()?;
        if !core.machine().is_request_open(request) {
            return Some(());
        }
        if core.waits_for_room() || self.notifies() {
            return None;
        }
        let response = response.take()?;
        let mut turn = core.turn(self.now.get());
        let (server, tx) = turn.parts();
        if let Err(error) = response.send(server, request, tx) {
            if error != SendError::Full {
                self.handler.on_send_error(error);
            }
            // If it is not valid, the client gets an internal error.
            let _ = turn.answer(request, response);
        }
        Some(())
    }
}

/// Resets the connection when serving ends or its future is dropped.
struct Serving<'l, 'c, H, const RX: usize, const TX: usize, const N: usize, const S: usize>(
    &'l Connection<'c, H, RX, TX, N, S>,
)
where
    H: Handler;

impl<H, const RX: usize, const TX: usize, const N: usize, const S: usize> Drop
    for Serving<'_, '_, H, RX, TX, N, S>
where
    H: Handler,
{
    fn drop(&mut self) {
        self.0.reset();
    }
}

/// Makes a step of the core. Not inlined, so that its stack is freed before the event is handled.
#[inline(never)]
fn next_step<'p, O, const RX: usize, const TX: usize, const N: usize, const S: usize>(
    core: &'p mut Core<'_, O, RX, TX, N, S>,
    catches_up: bool,
    now: Instant,
) -> Step<'p, ServerEvent<'p>, Server<'p>, O>
where
    O: for<'m> Outcome<Server<'m>>,
{
    if catches_up { core.catch_up(now) } else { core.next(now) }
}

/// Returns the end of a timeout. `None` if it is beyond the range of the clock.
fn due_after(moment: Instant, timeout: Duration) -> Option<Instant> {
    Some(moment.saturating_add(timeout)).filter(|due| due.as_millis() != u64::MAX)
}

/// Number of times in a row that the futures are polled before other tasks run.
const ROUNDS: usize = 32;
