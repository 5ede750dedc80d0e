//! The application on an async [`Connection`](mcp_sansio_adapters::embedded_async::Connection):
//! each slow call is a future.

use core::cell::RefCell;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use embedded_io_async::ErrorKind;
use mcp_sansio::{
    Instant, Outcome, Progress, Request, RequestHandle, SendError, Server, ServerEvent, Target, Tx,
};
use mcp_sansio_adapters::embedded_async::{Action, Clock, Context, Handler};

use crate::reply::log_message;
use crate::{App, Begun, Board, Reply, Stepped, Sweep};

/// The firmware on a board and a clock.
#[derive(Debug)]
pub struct AsyncApp<B, C> {
    /// Never borrowed across an `await`.
    app: RefCell<App<B>>,
    clock: C,
    /// Waker of [`housekeeping`](Self::housekeeping).
    keeper: RefCell<Option<Waker>>,
}

/// Work that goes on beside other requests.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is no allocator to box it with")]
pub enum Job {
    /// Announce the change and respond.
    Reply(Reply<'static>),
    /// Make the steps of a sweep.
    Sweep(Sweep),
}

impl<B: Board, C: Clock> AsyncApp<B, C> {
    /// Creates the firmware in the state after a reset.
    pub const fn new(board: B, clock: C) -> Self {
        Self { app: RefCell::new(App::new(board)), clock, keeper: RefCell::new(None) }
    }

    /// Resets the board when a client has requested that. Never completes.
    pub async fn housekeeping(&self) {
        loop {
            let due: Instant = poll_fn(|cx| match self.app.borrow().reset_due() {
                Some(due) => Poll::Ready(due),
                None => {
                    self.keeper.replace(Some(cx.waker().clone()));
                    Poll::Pending
                }
            })
            .await;
            self.clock.sleep_until(due).await;
            self.app.borrow_mut().reset_if_due(self.clock.now());
        }
    }
}

impl<B: Board, C: Clock> AsyncApp<B, C> {
    async fn sweep(&self, mut sweep: Sweep, ctx: Context<'_>) -> Reply<'static> {
        loop {
            self.clock.sleep_until(sweep.due()).await;
            let stepped = self.app.borrow_mut().step(&mut sweep, self.clock.now());
            match stepped {
                Some(Stepped::Progress { done, total }) => {
                    let progress = Progress::of(u32::from(done)).total(u32::from(total));
                    let _ = ctx.progress(&progress).await;
                }
                Some(Stepped::Finished(reply)) => return reply,
                None => {}
            }
        }
    }
}

impl<B: Board, C: Clock> Handler for AsyncApp<B, C> {
    type Job = Job;
    type Response<'f> = Reply<'f>;

    fn on_request<'f>(&self, request: &Request<'f>, target: Target<'f>) -> Action<Job, Reply<'f>> {
        let mut app = self.app.borrow_mut();
        let begun = match app.begin(target, request, self.clock.now()) {
            Begun::Reply(reply) => Action::Respond(reply),
            Begun::Changed(reply) => Action::Run(Job::Reply(reply)),
            Begun::Job(sweep) => Action::Run(Job::Sweep(sweep)),
        };
        if app.reset_due().is_some()
            && let Some(keeper) = self.keeper.take()
        {
            keeper.wake();
        }
        begun
    }

    async fn run(&self, job: Job, ctx: Context<'_>) -> Reply<'static> {
        let reply = match job {
            Job::Reply(reply) => reply,
            Job::Sweep(sweep) => self.sweep(sweep, ctx).await,
        };
        if let Some(text) = reply.log {
            let _ = ctx.log(&log_message(text)).await;
        }
        if let Some(change) = reply.change {
            ctx.publish(change);
        }
        reply
    }

    fn on_event(&self, event: &ServerEvent<'_>) {
        if let ServerEvent::Violation(_) = event {
            self.app.borrow_mut().refused();
        }
    }

    fn on_read_error(&self, _: ErrorKind) {
        self.app.borrow_mut().fault();
    }
}

/// Sends the response. What the reply announces, the job has sent before.
impl Outcome<Server<'_>> for Reply<'_> {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.body.send(request, server, tx)
    }
}
