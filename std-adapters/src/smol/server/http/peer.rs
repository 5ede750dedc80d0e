//! A client's server and its handlers, whichever connections its messages come on.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use mcp_sansio::{Messages, ServerEvent, TxBuffer};

use super::super::app::App;
use super::super::context;
use super::super::hub::Hub;
use super::super::link::Link;
use super::super::reply::{Failure, Reply};
use super::super::work::Work;

pub(super) struct Peer<F, const N: usize, const S: usize> {
    pub(super) link: Arc<Link<N, S>>,
    work: Mutex<Work<F>>,
    hub: Hub,
    ticket: u64,
}

/// How taking messages in went.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// Whether all of them are.
    pub(super) is_all: bool,
    /// Whether something was wrong with one.
    pub(super) has_fault: bool,
}

impl<F, const N: usize, const S: usize> Peer<F, N, S> {
    /// `tx` is for what belongs to no exchange.
    pub(super) fn new<H>(app: &App<H, N, S>, tx: TxBuffer<Vec<u8>>, principal: Option<Arc<str>>) -> Self {
        let link = Arc::new(Link::new(app.config, tx, principal));
        let weak = Arc::downgrade(&link);
        let hub = app.hub().clone();
        Self { link, work: Mutex::new(Work::new()), ticket: hub.join_beside(weak), hub }
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work<F>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is there any more: handlers are dropped.
    pub(super) fn close(&self) {
        self.work().drop_all();
        self.link.close();
        self.hub.leave(self.ticket);
    }
}

impl<F: Future<Output = Result<Reply, Failure>>, const N: usize, const S: usize> Peer<F, N, S> {
    /// Takes messages in, as far as there is room for what the core answers by itself.
    pub(super) fn take_in<H>(&self, app: &App<H, N, S>, exchange: u32, messages: &mut Messages<'_>, taken: &mut Taken)
    where
        H: Fn(context::Context<N, S>) -> F,
    {
        if taken.is_all {
            return;
        }
        let waker = Waker::from(Arc::clone(&self.link.alarm));
        let mut cx = Context::from_waker(&waker);
        let mut work = self.work();
        work.is_closing = self.hub.is_shutting_down();
        loop {
            let event = self.link.lock().next_event_of(exchange, self.link.now(), messages);
            match event {
                Ok(Some(event)) => {
                    taken.has_fault |= matches!(event, ServerEvent::Violation(_));
                    work.event(&event, app, &self.link, &mut cx);
                }
                Ok(None) => {
                    taken.is_all = true;
                    break;
                }
                Err(_) => break,
            }
        }
        work.run(app, &self.link, &mut cx);
        work.send(app, &self.link);
        drop(work);
        // Whoever drives it looks after time limits, and after what belongs to other exchanges.
        self.link.alarm.touch();
    }

    /// Has everything go on that can. `false` when nothing did.
    pub(super) fn round<H>(&self, app: &App<H, N, S>) -> bool
    where
        H: Fn(context::Context<N, S>) -> F,
    {
        let waker = Waker::from(Arc::clone(&self.link.alarm));
        let mut cx = Context::from_waker(&waker);
        let mut work = self.work();
        work.is_closing = self.hub.is_shutting_down();
        let moved = work.run(app, &self.link, &mut cx) | work.handle_timeouts(app, &self.link, &mut cx);
        work.send(app, &self.link);
        moved
    }
}

impl<F, const N: usize, const S: usize> Drop for Peer<F, N, S> {
    fn drop(&mut self) {
        self.close();
    }
}
