//! A client's server and its handlers, whichever connections its messages come on.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Waker};

use mcp_sansio::{Instant, Messages, ServerEvent, TxBuffer};

use super::super::app::App;
use super::super::broadcast::{Broadcaster, Member};
use super::super::context::{self, Held};
use super::super::link::Link;
use super::super::reply::{Failure, Reply};
use super::super::work::Work;

/// `M` requests in flight, of whatever number the handlers know.
pub(super) struct Peer<F, const M: usize, const S: usize> {
    pub(super) link: Arc<Link<M, S>>,
    work: Mutex<Work<F>>,
    broadcaster: Broadcaster,
    ticket: OnceLock<u64>,
    /// Whether the client has sent `initialized`.
    is_initialized: AtomicBool,
}

/// How taking messages in went.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// Whether all of them are.
    pub(super) is_all: bool,
    /// Whether something was wrong with one.
    pub(super) has_fault: bool,
    /// Whether the next is a request that waits until there are fewer.
    pub(super) is_held: bool,
}

impl<F, const M: usize, const S: usize> Peer<F, M, S> {
    /// `tx` is for what belongs to no exchange.
    pub(super) fn new<H, const N: usize>(
        app: &App<H, N, S>,
        tx: TxBuffer<Vec<u8>>,
        principal: Option<Arc<str>>,
    ) -> Self {
        let link = Arc::new(Link::new(app.config, tx, principal));
        Self {
            link,
            work: Mutex::new(Work::new()),
            ticket: OnceLock::new(),
            broadcaster: app.broadcaster().clone(),
            is_initialized: AtomicBool::new(false),
        }
    }

    /// From now on it is told of changes, and of the end. Whoever is done at once need not be.
    /// `true` the first time: the end may have come before.
    pub(super) fn join(&self) -> bool {
        let mut is_new = false;
        self.ticket.get_or_init(|| {
            is_new = true;
            let link: Weak<dyn Member> = Arc::<Link<M, S>>::downgrade(&self.link);
            self.broadcaster.join_beside(link)
        });
        is_new
    }

    /// Whether the client has sent `notifications/initialized`.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized.load(Ordering::Relaxed)
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work<F>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is there any more: handlers are dropped.
    pub(super) fn close(&self) {
        self.work().drop_all();
        self.link.close();
        if let Some(ticket) = self.ticket.get() {
            self.broadcaster.leave(*ticket);
        }
    }
}

impl<F: Future<Output = Result<Reply, Failure>>, const M: usize, const S: usize> Peer<F, M, S> {
    /// Takes messages in, as far as there is room for what the core answers by itself. `held` is
    /// kept as long as the handlers that they begin.
    pub(super) fn take_in<H, const N: usize>(
        &self,
        app: &App<H, N, S>,
        exchange: u32,
        messages: &mut Messages<'_>,
        held: Option<&Held>,
        taken: &mut Taken,
    ) where
        H: Fn(context::Context<N, S>) -> F,
    {
        if taken.is_all {
            return;
        }
        let waker = Waker::from(Arc::clone(&self.link.alarm));
        let mut cx = Context::from_waker(&waker);
        let mut work = self.work();
        if taken.is_held && work.still_holds_back(app, &self.link) {
            return;
        }
        work.is_closing = self.broadcaster.is_shutting_down();
        work.held = held.cloned();
        let (was_still, due) = self.is_still(&work);
        loop {
            taken.is_held = work.holds_back(app, &self.link, messages);
            if taken.is_held {
                break;
            }
            let event = self.link.lock().next_event_of(exchange, self.link.now(), messages);
            match event {
                Ok(Some(event)) => {
                    if matches!(event, ServerEvent::Initialized) {
                        self.is_initialized.store(true, Ordering::Relaxed);
                    }
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
        work.held = None;
        work.run(app, &self.link, &mut cx);
        work.send(app, &self.link);
        let (is_still, next_due) = self.is_still(&work);
        drop(work);
        let is_sooner = next_due.is_some_and(|next| due.is_none_or(|due| next < due));
        // Whoever drives it looks after time limits, and after what belongs to other exchanges.
        // Where all was answered at once there is neither.
        if !(was_still && is_still) || is_sooner {
            self.link.alarm.touch();
        }
    }

    /// Whether nothing is under way, and when something is due nevertheless.
    fn is_still(&self, work: &Work<F>) -> (bool, Option<Instant>) {
        let is_idle = work.is_sent() && work.is_idle(&self.link);
        let mut state = self.link.lock();
        (is_idle && state.is_silent(), state.server.poll_timeout())
    }

    /// Has everything go on that can. `false` when nothing did.
    pub(super) fn round<H, const N: usize>(&self, app: &App<H, N, S>) -> bool
    where
        H: Fn(context::Context<N, S>) -> F,
    {
        let waker = Waker::from(Arc::clone(&self.link.alarm));
        let mut cx = Context::from_waker(&waker);
        let mut work = self.work();
        work.is_closing = self.broadcaster.is_shutting_down();
        let moved =
            work.run(app, &self.link, &mut cx) | work.handle_timeouts(app, &self.link, &mut cx);
        work.send(app, &self.link);
        moved
    }
}

impl<F, const M: usize, const S: usize> Drop for Peer<F, M, S> {
    fn drop(&mut self) {
        self.close();
    }
}
