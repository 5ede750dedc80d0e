//! The application on an async [`Connection`](mcp_sansio_adapters::embedded_async::Connection):
//! each request is a future.

use core::cell::RefCell;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use embedded_io_async::ErrorKind;
use mcp_sansio::{
    Instant, Outcome, Progress, RequestHandle, SendError, Server, ServerEvent, Target, ToolContext,
    Tx,
};
use mcp_sansio_adapters::embedded_async::{Clock, Handler};

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
    fn begin<'a>(&self, target: Target<'a>, ctx: ToolContext<'a>) -> Begun<'a> {
        let mut app = self.app.borrow_mut();
        let begun = app.begin(target, ctx.request(), self.clock.now());
        if app.reset_due().is_some()
            && let Some(keeper) = self.keeper.take()
        {
            keeper.wake();
        }
        begun
    }

    async fn sweep(&self, mut sweep: Sweep, ctx: ToolContext<'_>) -> Reply<'static> {
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
    type Response<'a>
        = Reply<'a>
    where
        Self: 'a;

    async fn on_request<'a>(&'a self, target: Target<'a>, ctx: ToolContext<'a>) -> Reply<'a> {
        let reply = match self.begin(target, ctx) {
            Begun::Reply(reply) => reply,
            Begun::Job(sweep) => self.sweep(sweep, ctx).await,
        };
        if let Some(text) = reply.log {
            let _ = ctx.log(&log_message(text)).await;
        }
        if let Some(change) = reply.change {
            let _ = ctx.publish(change).await;
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
