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

use super::error::Error;
use super::handler::{Answer as _, Begun, Clock, Context, Handler};
use super::link::{Link, Place, Turn};

/// How serving a port ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum End {
    /// By the client. A serial line never ends.
    Closed,
    /// The client did not answer a ping: see
    /// [`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval).
    Unresponsive,
}

impl<H: Handler<N, S>, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Link<'_, H, RX, TX, N, S>
{
    /// Serves a port until its input ends; then what is answered is written out, and what is still
    /// worked on is dropped. Afterwards, or when the future is dropped, the link can serve the
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
    ) -> Result<End, Error<R::Error, W::Error>> {
        if core::mem::replace(&mut self.desk.borrow_mut().is_in_use, true) {
            return Err(Error::InUse);
        }
        let _serving = Serving(self);
        // One by one, and not in a future that has them all: they are large, and would be moved.
        let mut read = pin!(self.read(reader));
        let mut write = pin!(self.write(writer));
        let mut lines = pin!(self.take_lines());
        let mut clockwork = pin!(self.watch(clock));
        let mut news = pin!(self.tell());
        let mut places = pin!(join_array::<_, N>(array::from_fn(|place| self.work(place))));
        poll_fn(|cx| {
            self.desk.borrow_mut().is_polled_by(cx.waker());
            for _ in 0..ROUNDS {
                self.desk.borrow_mut().begin_round(clock.now());
                if let Poll::Ready(ended) = read.as_mut().poll(cx) {
                    return Poll::Ready(ended.map(|()| End::Closed).map_err(Error::Read));
                }
                if let Poll::Ready(Err(error)) = write.as_mut().poll(cx) {
                    return Poll::Ready(Err(error));
                }
                let _: Poll<Infallible> = lines.as_mut().poll(cx);
                let _: Poll<Infallible> = clockwork.as_mut().poll(cx);
                let _: Poll<Infallible> = news.as_mut().poll(cx);
                let _: Poll<[Infallible; N]> = places.as_mut().poll(cx);
                let desk = self.desk.borrow();
                if desk.is_unresponsive {
                    return Poll::Ready(Ok(End::Unresponsive));
                }
                // One part does what another waits for.
                if !desk.is_touched {
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
        reason = "nobody else borrows it: a link serves one port at a time"
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
                        let desk = &mut *self.desk.borrow_mut();
                        (desk.has_lines, desk.is_touched) = (false, true);
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
            Self::until(|| self.desk.borrow().may_take().then_some(())).await;
            // An error means that there is no room now.
            let event = Self::until(|| self.desk.borrow_mut().next_event(&mut messages).ok());
            let Some(event) = event.await else { return };
            self.event(&event);
            if let ServerEvent::Request(request) = event {
                self.begin(&request).await;
            }
        }
    }

    fn event(&self, event: &ServerEvent<'_>) {
        self.handler.event(event);
        let desk = &mut *self.desk.borrow_mut();
        desk.is_unresponsive |= matches!(event, ServerEvent::Unresponsive);
        // Something may be over.
        desk.is_touched = true;
    }

    async fn begin(&self, request: &Request<'_>) {
        let target = match self.catalog {
            None => Target::Other,
            Some(catalog) => match self
                .send(Turn::Lines, |server, _, tx| catalog.respond(server, request, tx))
                .await
            {
                Ok(Target::Responded) | Err(_) => return,
                Ok(target) => target,
            },
        };
        match self.handler.begin(request, target) {
            Begun::Answer(mut answer) => {
                self.answer(Turn::Lines, request.handle, &mut answer).await
            }
            Begun::Job(job) => {
                let desk = &mut *self.desk.borrow_mut();
                if let Some(place) = desk.places.iter_mut().find(|place| place.is_idle()) {
                    *place = Place::Begun(request.handle, job);
                }
                desk.is_touched = true;
            }
        }
    }

    /// Sends an answer, or that there is none.
    async fn answer(&self, turn: Turn, request: RequestHandle, answer: &mut H::Answer<'_>) {
        if let Err(error) = self.send(turn, |server, _, tx| answer.send(server, request, tx)).await
        {
            self.handler.refused(error);
            let error = RpcError::internal("The answer cannot be sent");
            let _ =
                self.send(turn, |server, _, tx| server.respond_error(request, &error, tx)).await;
        }
    }

    /// Does what time alone brings about.
    async fn watch(&self, clock: &impl Clock) -> Infallible {
        loop {
            let due = Self::until(|| self.due()).await;
            let is_earlier = Self::until(|| self.due().filter(|other| *other < due));
            if let Either::Second(_) = select(clock.until(due), is_earlier).await {
                continue;
            }
            let now = clock.now();
            if now < due {
                // The clock has been set back, or its timer is early. Others want their turn before
                // it is asked again.
                yield_now().await;
                continue;
            }
            self.desk.borrow_mut().now = now;
            if self.line_due().is_some_and(|due| due <= now) {
                self.take_in(b"\n").await;
            }
            while let Ok(Some(event)) =
                self.send(Turn::Deadlines, |server, now, tx| server.handle_timeout(now, tx)).await
            {
                self.event(&event);
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        [self.desk.borrow().server.poll_timeout(), self.line_due()].into_iter().flatten().min()
    }

    /// When an unfinished line is given up.
    fn line_due(&self) -> Option<Instant> {
        let desk = self.desk.borrow();
        let is_waiting = desk.inbox.is_mid_line() && desk.inbox.is_empty() && !desk.has_lines;
        self.line_timeout
            .filter(|_| is_waiting)
            .and_then(|timeout| due_after(desk.inbox.heard(), timeout))
    }

    /// Tells subscribers of changes.
    async fn tell(&self) -> Infallible {
        loop {
            let mut change =
                Self::until(|| self.desk.borrow_mut().news.iter_mut().find_map(Option::take)).await;
            while let Ok(true) =
                self.send(Turn::News, |server, _, tx| server.publish(&mut change, tx)).await
            {
            }
        }
    }

    /// Handles one request after the other, in one place.
    async fn work(&self, place: usize) -> Infallible {
        loop {
            let (request, job) =
                Self::until(|| self.desk.borrow_mut().places.get_mut(place)?.take()).await;
            let work = self.handler.work(job, Context { link: self, request, place });
            let is_over = Self::until(|| self.desk.borrow().is_over(place).then_some(()));
            let ended = select(is_over, work).await;
            if let Either::Second(mut answer) = ended {
                self.put(place, Place::Answering(request));
                self.answer(Turn::Place(place), request, &mut answer).await;
            }
            self.put(place, Place::Idle);
        }
    }

    fn put(&self, at: usize, state: Place<H::Job>) {
        let desk = &mut *self.desk.borrow_mut();
        if let Some(place) = desk.places.get_mut(at) {
            *place = state;
        }
        desk.is_touched = true;
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
>(&'l Link<'c, H, RX, TX, N, S>);

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
