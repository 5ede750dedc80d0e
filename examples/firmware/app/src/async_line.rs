//! The application on an async [`Connection`](mcp_sansio_adapters::embedded_async::Connection):
//! each slow call is a future.

use core::cell::RefCell;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use embedded_io_async::ErrorKind;
use mcp_sansio::{
    Instant, Progress, Request, RequestHandle, SendError, Server, ServerEvent, Target, Tx,
};
use mcp_sansio_adapters::embedded_async::{Action, Clock, Context, Handler, Response};

use crate::{App, Board, Reply, Stepped, Sweep, app};

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

impl<B: Board, C: Clock> Handler for AsyncApp<B, C> {
    type Job = Sweep;
    type Response<'f> = Reply<'f>;

    fn on_request<'f>(
        &self,
        request: &Request<'f>,
        target: Target<'f>,
    ) -> Action<Sweep, Reply<'f>> {
        let mut app = self.app.borrow_mut();
        let begun = match app.begin(target, request, self.clock.now()) {
            app::Begun::Reply(reply) => Action::Respond(reply),
            app::Begun::Job(sweep) => Action::Run(sweep),
        };
        if app.reset_due().is_some()
            && let Some(keeper) = self.keeper.take()
        {
            keeper.wake();
        }
        begun
    }

    async fn run(&self, mut sweep: Sweep, ctx: Context<'_>) -> Reply<'static> {
        loop {
            self.clock.sleep_until(sweep.due()).await;
            let stepped = self.app.borrow_mut().step(&mut sweep, self.clock.now());
            match stepped {
                Some(Stepped::Progress { done, total }) => {
                    ctx.progress(&Progress::of(u32::from(done)).total(u32::from(total))).await
                }
                Some(Stepped::Finished(reply)) => return reply,
                None => {}
            }
        }
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

impl Response for Reply<'_> {
    fn send(
        &mut self,
        server: &mut Server<'_>,
        _: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        Reply::send(self, server, tx)
    }
}
