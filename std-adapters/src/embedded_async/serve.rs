//! The loop: all parts beside each other.

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
    Frame, Instant, Messages, Request, RequestHandle, RpcError, ServerEvent, Spare, Target,
};

use super::connection::{Connection, Slot, Writer};
use super::error::Error;
use super::handler::{Action, Clock, Context, Handler, Response as _};

/// How serving a port ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// By the client. A serial line never ends.
    Closed,
    /// The client did not answer a ping: see
    /// [`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval).
    Unresponsive,
}

impl<H: Handler<N, S>, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Connection<'_, H, RX, TX, N, S>
{
    /// Serves a port until its input ends; then what is answered is written out, and what is still
    /// worked on is dropped. Afterwards, or when the future is dropped, the connection can serve the
    /// next.
    ///
    /// # Errors
    /// Of writing, and of reading where it would fail for ever. [`Error::InUse`] while it serves
    /// another port.
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
        // One by one, and not in a future that has them all: they are large, and would be moved.
        let mut read = pin!(self.read(reader));
        let mut write = pin!(self.write(writer));
        let mut lines = pin!(self.take_lines());
        let mut clockwork = pin!(self.watch(clock));
        let mut changes = pin!(self.tell());
        let mut slots = pin!(join_array::<_, N>(array::from_fn(|slot| self.work(slot))));
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
                let _: Poll<Infallible> = clockwork.as_mut().poll(cx);
                let _: Poll<Infallible> = changes.as_mut().poll(cx);
                let _: Poll<[Infallible; N]> = slots.as_mut().poll(cx);
                let state = self.state.borrow();
                if state.is_unresponsive {
                    return Poll::Ready(Ok(ConnectionEnd::Unresponsive));
                }
                // One part does what another waits for.
                if !state.is_touched {
                    return Poll::Pending;
                }
            }
            // Others want their turn.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Takes lines in, one after the other. Reading goes on meanwhile, as far as there is room
    /// behind the line.
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "nobody else borrows it: a connection serves one port at a time"
    )]
    async fn take_lines(&self) -> Infallible {
        let rx = &mut *self.rx.borrow_mut();
        loop {
            match rx.next_frame_and_spare() {
                Some((frame, mut spare)) => {
                    select(self.take(frame), self.fill(&mut spare)).await;
                }
                None => {
                    {
                        let state = &mut *self.state.borrow_mut();
                        (state.has_lines, state.is_touched) = (false, true);
                    }
                    let read = Self::until(|| self.pour(rx.spare())).await;
                    rx.commit(read);
                }
            }
        }
    }

    async fn fill(&self, spare: &mut Spare<'_>) -> Infallible {
        loop {
            let read = Self::until(|| self.pour(spare.spare())).await;
            spare.commit(read);
        }
    }

    async fn take(&self, frame: Frame<'_>) {
        let mut messages = Messages::new(frame);
        loop {
            Self::until(|| self.state.borrow().may_take().then_some(())).await;
            // An error means that there is no room now.
            let event = Self::until(|| self.state.borrow_mut().next_event(&mut messages).ok());
            let Some(event) = event.await else { return };
            self.on_event(&event);
            if let ServerEvent::Request(request) = event {
                self.begin(&request).await;
            }
        }
    }

    fn on_event(&self, event: &ServerEvent<'_>) {
        self.handler.on_event(event);
        let state = &mut *self.state.borrow_mut();
        state.is_unresponsive |= matches!(event, ServerEvent::Unresponsive);
        // Something may be over.
        state.is_touched = true;
    }

    async fn begin(&self, request: &Request<'_>) {
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
            Action::Respond(mut answer) => {
                self.answer(Writer::Lines, request.handle, &mut answer).await
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

    /// Sends an answer, or that there is none.
    async fn answer(&self, writer: Writer, request: RequestHandle, answer: &mut H::Response<'_>) {
        if let Err(error) =
            self.send(writer, |server, _, tx| answer.send(server, request, tx)).await
        {
            self.handler.on_send_error(error);
            let error = RpcError::internal("The answer cannot be sent");
            let _ =
                self.send(writer, |server, _, tx| server.respond_error(request, &error, tx)).await;
        }
    }

    /// Does what time alone brings about.
    async fn watch(&self, clock: &impl Clock) -> Infallible {
        loop {
            let due = Self::until(|| self.due()).await;
            let is_earlier = Self::until(|| self.due().filter(|other| *other < due));
            if let Either::Second(_) = select(clock.sleep_until(due), is_earlier).await {
                continue;
            }
            let now = clock.now();
            if now < due {
                // The clock has been set back, or its timer is early. Others want their turn before
                // it is asked again.
                yield_now().await;
                continue;
            }
            self.state.borrow_mut().now = now;
            if self.line_due().is_some_and(|due| due <= now) {
                self.take_in(b"\n").await;
            }
            while let Ok(Some(event)) =
                self.send(Writer::Timeouts, |server, now, tx| server.handle_timeout(now, tx)).await
            {
                self.on_event(&event);
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        [self.state.borrow().server.poll_timeout(), self.line_due()].into_iter().flatten().min()
    }

    /// When an unfinished line is given up.
    fn line_due(&self) -> Option<Instant> {
        let state = self.state.borrow();
        let is_waiting =
            state.read_buffer.is_mid_line() && state.read_buffer.is_empty() && !state.has_lines;
        self.line_timeout
            .filter(|_| is_waiting)
            .and_then(|timeout| due_after(state.read_buffer.heard(), timeout))
    }

    /// Tells subscribers of changes.
    async fn tell(&self) -> Infallible {
        loop {
            let mut change =
                Self::until(|| self.state.borrow_mut().changes.iter_mut().find_map(Option::take))
                    .await;
            while let Ok(true) =
                self.send(Writer::Changes, |server, _, tx| server.publish(&mut change, tx)).await
            {
            }
        }
    }

    /// Handles one request after the other, in one place.
    async fn work(&self, slot: usize) -> Infallible {
        loop {
            let (request, job) =
                Self::until(|| self.state.borrow_mut().slots.get_mut(slot)?.take()).await;
            let work = self.handler.run(job, Context { connection: self, request, slot });
            let is_over = Self::until(|| self.state.borrow().is_over(slot).then_some(()));
            let ended = select(is_over, work).await;
            if let Either::Second(mut answer) = ended {
                self.put(slot, Slot::Responding(request));
                self.answer(Writer::Slot(slot), request, &mut answer).await;
            }
            self.put(slot, Slot::Idle);
        }
    }

    fn put(&self, at: usize, new: Slot<H::Job>) {
        let state = &mut *self.state.borrow_mut();
        if let Some(slot) = state.slots.get_mut(at) {
            *slot = new;
        }
        state.is_touched = true;
    }
}

/// Cleans up, when serving ends or is given up.
struct Serving<
    'l,
    'c,
    H: Handler<N, S>,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
>(&'l Connection<'c, H, RX, TX, N, S>);

impl<H: Handler<N, S>, const RX: usize, const TX: usize, const N: usize, const S: usize> Drop
    for Serving<'_, '_, H, RX, TX, N, S>
{
    fn drop(&mut self) {
        self.0.reset();
    }
}

/// When that time is over. `None` for a time that is longer than the clock counts.
fn due_after(moment: Instant, timeout: Duration) -> Option<Instant> {
    Some(moment.saturating_add(timeout)).filter(|due| due.as_millis() != u64::MAX)
}

/// How often in a row the parts are polled before other tasks have their turn.
const ROUNDS: usize = 32;
