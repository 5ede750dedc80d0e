//! A client's server and its handlers, whichever connections its messages come on.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Waker};

use mcp_sansio::{Instant, Messages, ServerEvent, TxBuffer};

use super::super::app::App;
use super::super::broadcast::{Broadcaster, Receiver};
use super::super::context::{self, BodyReservation};
use super::super::dispatcher::Dispatcher;
use super::super::inner::ConnectionInner;
use super::super::reply::{Failure, Reply};

/// `M` requests in flight, of whatever number the handlers know.
pub(super) struct ServerInstance<F, const M: usize, const S: usize> {
    pub(super) inner: Arc<ConnectionInner<M, S>>,
    dispatcher: Mutex<Dispatcher<F>>,
    broadcaster: Broadcaster,
    receiver_id: OnceLock<u64>,
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

impl<F, const M: usize, const S: usize> ServerInstance<F, M, S> {
    /// `tx` is for what belongs to no exchange.
    pub(super) fn new<H, const N: usize>(
        app: &App<H, N, S>,
        tx: TxBuffer<Vec<u8>>,
        principal: Option<Arc<str>>,
    ) -> Self {
        let inner = Arc::new(ConnectionInner::new(app.config, tx, principal));
        Self {
            inner,
            dispatcher: Mutex::new(Dispatcher::new()),
            receiver_id: OnceLock::new(),
            broadcaster: app.broadcaster().clone(),
            is_initialized: AtomicBool::new(false),
        }
    }

    /// From now on it is told of changes, and of the end. Whoever is done at once need not be.
    /// `true` the first time: the end may have come before.
    pub(super) fn join(&self) -> bool {
        let mut is_new = false;
        self.receiver_id.get_or_init(|| {
            is_new = true;
            let inner: Weak<dyn Receiver> = Arc::<ConnectionInner<M, S>>::downgrade(&self.inner);
            self.broadcaster.add_uncounted(inner)
        });
        is_new
    }

    /// Whether the client has sent `notifications/initialized`.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized.load(Ordering::Relaxed)
    }

    pub(super) fn dispatcher(&self) -> MutexGuard<'_, Dispatcher<F>> {
        self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is there any more: handlers are dropped.
    pub(super) fn close(&self) {
        self.dispatcher().drop_all();
        self.inner.close();
        if let Some(receiver_id) = self.receiver_id.get() {
            self.broadcaster.remove(*receiver_id);
        }
    }
}

impl<F: Future<Output = Result<Reply, Failure>>, const M: usize, const S: usize>
    ServerInstance<F, M, S>
{
    /// Takes messages in, as far as there is room for what the core answers by itself. `held` is
    /// kept as long as the handlers that they begin.
    pub(super) fn take_in<H, const N: usize>(
        &self,
        app: &App<H, N, S>,
        exchange: u32,
        messages: &mut Messages<'_>,
        held: Option<&BodyReservation>,
        taken: &mut Taken,
    ) where
        H: Fn(context::Context<N, S>) -> F,
    {
        if taken.is_all {
            return;
        }
        let waker = Waker::from(Arc::clone(&self.inner.driver));
        let mut cx = Context::from_waker(&waker);
        let mut dispatcher = self.dispatcher();
        if taken.is_held && dispatcher.still_holds_back(app, &self.inner) {
            return;
        }
        dispatcher.is_closing = self.broadcaster.is_shutting_down();
        dispatcher.held = held.cloned();
        let (was_still, due) = self.is_still(&dispatcher);
        loop {
            taken.is_held = dispatcher.holds_back(app, &self.inner, messages);
            if taken.is_held {
                break;
            }
            let event = self.inner.lock().next_exchange_event(exchange, self.inner.now(), messages);
            match event {
                Ok(Some(event)) => {
                    if matches!(event, ServerEvent::Initialized) {
                        self.is_initialized.store(true, Ordering::Relaxed);
                    }
                    taken.has_fault |= matches!(event, ServerEvent::Violation(_));
                    dispatcher.event(&event, app, &self.inner, &mut cx);
                }
                Ok(None) => {
                    taken.is_all = true;
                    break;
                }
                Err(_) => break,
            }
        }
        dispatcher.held = None;
        dispatcher.run(app, &self.inner, &mut cx);
        dispatcher.send(app, &self.inner);
        let (is_still, next_due) = self.is_still(&dispatcher);
        drop(dispatcher);
        let is_sooner = next_due.is_some_and(|next| due.is_none_or(|due| next < due));
        // Whoever drives it looks after time limits, and after what belongs to other exchanges.
        // Where all was answered at once there is neither.
        if !(was_still && is_still) || is_sooner {
            self.inner.driver.notify();
        }
    }

    /// Whether nothing is under way, and when something is due nevertheless.
    fn is_still(&self, dispatcher: &Dispatcher<F>) -> (bool, Option<Instant>) {
        let is_idle = dispatcher.is_sent() && dispatcher.is_idle(&self.inner);
        let mut state = self.inner.lock();
        (is_idle && state.is_silent(), state.server.poll_timeout())
    }

    /// Has everything go on that can. `false` when nothing did.
    pub(super) fn round<H, const N: usize>(&self, app: &App<H, N, S>) -> bool
    where
        H: Fn(context::Context<N, S>) -> F,
    {
        let waker = Waker::from(Arc::clone(&self.inner.driver));
        let mut cx = Context::from_waker(&waker);
        let mut dispatcher = self.dispatcher();
        dispatcher.is_closing = self.broadcaster.is_shutting_down();
        let moved = dispatcher.run(app, &self.inner, &mut cx)
            | dispatcher.handle_timeouts(app, &self.inner, &mut cx);
        dispatcher.send(app, &self.inner);
        moved
    }
}

impl<F, const M: usize, const S: usize> Drop for ServerInstance<F, M, S> {
    fn drop(&mut self) {
        self.close();
    }
}
