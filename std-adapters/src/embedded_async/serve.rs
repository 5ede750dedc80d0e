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
    Instant, Messages, Remaining, Request, RequestHandle, RpcError, ServerEvent, Spare, Target,
};

use super::connection::{Connection, Slot, Writer};
use super::error::Error;
use super::handler::{Action, Clock, Context, Handler, Response as _};

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
        if core::mem::replace(&mut self.state.borrow_mut().is_in_use, true) {
            return Err(Error::InUse);
        }
        let _serving = Serving(self);
        // Pinned one by one: they are large, and a future that contains them all would be moved.
        let mut read = pin!(self.read(reader));
        let mut write = pin!(self.write(writer));
        let mut lines = pin!(self.handle_lines());
        let mut timeouts = pin!(self.handle_timeouts(clock));
        let mut changes = pin!(self.publish_changes());
        let mut slots = pin!(join_array::<_, N>(array::from_fn(|slot| self.run_jobs(slot))));
        poll_fn(|cx| {
            self.state.borrow_mut().is_polled_by(cx.waker());
            for _ in 0..ROUNDS {
                self.state.borrow_mut().begin_round(clock.now());
                if let Poll::Ready(ended) = read.as_mut().poll(cx) {
                    return Poll::Ready(ended.map(|()| ConnectionEnd::Closed).map_err(Error::Read));
                }
                if let Poll::Ready(Err(error)) = write.as_mut().poll(cx) {
                    return Poll::Ready(Err(error));
                }
                let _: Poll<Infallible> = lines.as_mut().poll(cx);
                let _: Poll<Infallible> = timeouts.as_mut().poll(cx);
                let _: Poll<Infallible> = changes.as_mut().poll(cx);
                let _: Poll<[Infallible; N]> = slots.as_mut().poll(cx);
                let state = self.state.borrow();
                if state.is_unresponsive {
                    return Poll::Ready(Ok(ConnectionEnd::Unresponsive));
                }
                // Polls again, since a future may wait for what another has done.
                if !state.is_touched {
                    return Poll::Pending;
                }
            }
            // Lets other tasks run.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Handles lines one after the other. Reading continues meanwhile into the room behind the
    /// line.
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "nobody else borrows it: a connection serves one port at a time"
    )]
    async fn handle_lines(&self) -> Infallible {
        let rx = &mut *self.rx.borrow_mut();
        loop {
            match rx.next_messages_and_spare() {
                (Some(mut messages), mut spare) => {
                    select(self.handle_line(&mut messages), self.fill(&mut spare)).await;
                }
                (None, mut spare) => {
                    {
                        let state = &mut *self.state.borrow_mut();
                        (state.has_lines, state.is_touched) = (false, true);
                    }
                    let read = Self::until(|| self.take_bytes(spare.spare())).await;
                    spare.commit(read);
                }
            }
        }
    }

    async fn fill(&self, spare: &mut Spare<'_>) -> Infallible {
        loop {
            let read = Self::until(|| self.take_bytes(spare.spare())).await;
            spare.commit(read);
        }
    }

    async fn handle_line(&self, messages: &mut Messages<'_>) {
        loop {
            Self::until(|| self.state.borrow_mut().may_take().then_some(())).await;
            // An error means that there is no room now.
            let event = Self::until(|| self.state.borrow_mut().next_event(messages).ok());
            let Some(event) = event.await else { return };
            self.handle_event(&event);
            if let ServerEvent::Request(request) = event {
                self.handle_request(&request).await;
            }
        }
    }

    fn handle_event(&self, event: &ServerEvent<'_>) {
        self.handler.on_event(event);
        let state = &mut *self.state.borrow_mut();
        state.is_unresponsive |= matches!(event, ServerEvent::Unresponsive);
        // A request may be over.
        state.is_touched = true;
    }

    async fn handle_request(&self, request: &Request<'_>) {
        let target = match self.catalog {
            None => Target::Other,
            Some(catalog) => match self
                .send(Writer::Lines, |server, _, tx| catalog.respond(server, request, tx))
                .await
            {
                Ok(Target::Responded) | Err(_) => return,
                Ok(target) => target,
            },
        };
        match self.handler.on_request(request, target) {
            Action::Respond(mut response) => {
                self.respond(Writer::Lines, request.handle, &mut response).await
            }
            Action::Run(job) => {
                let state = &mut *self.state.borrow_mut();
                if let Some(slot) = state.slots.iter_mut().find(|slot| slot.is_idle()) {
                    *slot = Slot::Queued(request.handle, job);
                }
                state.is_touched = true;
            }
        }
    }

    /// Sends a response, or an internal error if the core rejects it.
    async fn respond(
        &self,
        writer: Writer,
        request: RequestHandle,
        response: &mut H::Response<'_>,
    ) {
        if let Err(error) =
            self.send(writer, |server, _, tx| response.send(server, request, tx)).await
        {
            self.handler.on_send_error(error);
            let error = RpcError::internal("The response cannot be sent");
            let _ =
                self.send(writer, |server, _, tx| server.respond_error(request, &error, tx)).await;
        }
    }

    /// Handles timeouts.
    async fn handle_timeouts(&self, clock: &impl Clock) -> Infallible {
        loop {
            let due = Self::until(|| self.due()).await;
            let is_earlier = Self::until(|| self.due().filter(|other| *other < due));
            if let Either::Second(_) = select(clock.sleep_until(due), is_earlier).await {
                continue;
            }
            let now = clock.now();
            if now < due {
                // The clock was set back, or its timer is early: lets other tasks run before the
                // next attempt.
                yield_now().await;
                continue;
            }
            self.state.borrow_mut().now = now;
            if self.line_due().is_some_and(|due| due <= now) {
                self.put_bytes(b"\n").await;
            }
            while let Ok(Some(event)) =
                self.send(Writer::Timeouts, |server, now, tx| server.handle_timeout(now, tx)).await
            {
                self.handle_event(&event);
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        let timeout = self.state.borrow_mut().server().poll_timeout();
        [timeout, self.line_due()].into_iter().flatten().min()
    }

    /// Returns when an unfinished line is ended.
    fn line_due(&self) -> Option<Instant> {
        let state = self.state.borrow();
        let is_waiting =
            state.read_buffer.is_mid_line() && state.read_buffer.is_empty() && !state.has_lines;
        self.line_timeout
            .filter(|_| is_waiting)
            .and_then(|timeout| due_after(state.read_buffer.last_put(), timeout))
    }

    /// Notifies subscribers of changes.
    async fn publish_changes(&self) -> Infallible {
        loop {
            let mut change =
                Self::until(|| self.state.borrow_mut().changes.iter_mut().find_map(Option::take))
                    .await;
            while let Ok(Remaining::More) =
                self.send(Writer::Changes, |server, _, tx| server.publish(&mut change, tx)).await
            {
            }
        }
    }

    /// Runs jobs in one slot, one after the other.
    async fn run_jobs(&self, slot: usize) -> Infallible {
        loop {
            let (request, job) =
                Self::until(|| self.state.borrow_mut().slots.get_mut(slot)?.take()).await;
            let work = self.handler.run(job, Context { connection: self, request, slot });
            let is_over = Self::until(|| self.state.borrow_mut().is_over(slot).then_some(()));
            let ended = select(is_over, work).await;
            if let Either::Second(mut response) = ended {
                self.set_slot(slot, Slot::Responding(request));
                self.respond(Writer::Slot(slot), request, &mut response).await;
            }
            self.set_slot(slot, Slot::Idle);
        }
    }

    fn set_slot(&self, at: usize, new: Slot<H::Job>) {
        let state = &mut *self.state.borrow_mut();
        if let Some(slot) = state.slots.get_mut(at) {
            *slot = new;
        }
        state.is_touched = true;
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

/// Returns the end of a timeout. `None` if it is beyond the range of the clock.
fn due_after(moment: Instant, timeout: Duration) -> Option<Instant> {
    Some(moment.saturating_add(timeout)).filter(|due| due.as_millis() != u64::MAX)
}

/// Number of times in a row that the futures are polled before other tasks run.
const ROUNDS: usize = 32;
