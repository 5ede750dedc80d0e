//! The server of one client and its handlers, independent of connections.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Waker};

use mcp_sansio::{ExchangeId, Instant, Messages, ServerEvent, TxBuffer};

use super::super::app::App;
use super::super::broadcast::{Broadcaster, Receiver};
use super::super::context::{self, BodyReservation};
use super::super::dispatcher::Dispatcher;
use super::super::inner::ConnectionInner;
use super::super::reply::IntoReply;

/// The server of a session, or of an exchange that stands alone.
pub(super) struct ServerInstance<F> {
    pub(super) inner: Arc<ConnectionInner>,
    dispatcher: Mutex<Dispatcher<F>>,
    broadcaster: Broadcaster,
    receiver_id: OnceLock<u64>,
    /// Whether the client has sent `notifications/initialized`.
    is_initialized: AtomicBool,
}

/// Progress of processing messages.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// Whether all messages have been processed.
    pub(super) is_all: bool,
    /// Whether a message violated the protocol.
    pub(super) has_fault: bool,
    /// Whether the next message is a request that must wait because a limit is reached.
    pub(super) is_held: bool,
}

impl<F> ServerInstance<F> {
    /// `tx` is the buffer for messages that belong to no exchange.
    pub(super) fn new<H>(app: &App<H>, tx: TxBuffer<Vec<u8>>, principal: Option<Arc<str>>) -> Self {
        let inner = Arc::new(ConnectionInner::new(app, tx, principal));
        Self {
            inner,
            dispatcher: Mutex::new(Dispatcher::new()),
            receiver_id: OnceLock::new(),
            broadcaster: app.broadcaster().clone(),
            is_initialized: AtomicBool::new(false),
        }
    }

    /// Registers for changes and shutdown; not needed by requests that complete at once. Returns
    /// `true` the first time: the application may be shutting down already.
    pub(super) fn join(&self) -> bool {
        let mut is_new = false;
        self.receiver_id.get_or_init(|| {
            is_new = true;
            let inner: Weak<dyn Receiver> = Arc::<ConnectionInner>::downgrade(&self.inner);
            self.broadcaster.add_uncounted(inner)
        });
        is_new
    }

    /// Returns whether the client has sent `notifications/initialized`.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized.load(Ordering::Relaxed)
    }

    pub(super) fn dispatcher(&self) -> MutexGuard<'_, Dispatcher<F>> {
        self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops all handlers and closes the server.
    pub(super) fn close(&self) {
        self.dispatcher().drop_all();
        self.inner.close();
        if let Some(receiver_id) = self.receiver_id.get() {
            self.broadcaster.remove(*receiver_id);
        }
    }
}

impl<F: Future<Output: IntoReply>> ServerInstance<F> {
    /// Processes messages, as far as there is room for the responses of the core. `held` is kept as
    /// long as the handlers that they start.
    pub(super) fn take_in<H>(
        &self,
        app: &App<H>,
        exchange: ExchangeId,
        messages: &mut Messages<'_>,
        held: Option<&BodyReservation>,
        taken: &mut Taken,
    ) where
        H: Fn(context::Context) -> F,
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
        // The driver handles timeouts and the output of other exchanges. It need not be woken if
        // everything completed at once.
        if !(was_still && is_still) || is_sooner {
            self.inner.driver.notify();
        }
    }

    /// Returns whether nothing is in flight, and the next timeout.
    fn is_still(&self, dispatcher: &Dispatcher<F>) -> (bool, Option<Instant>) {
        let is_idle = dispatcher.is_sent() && dispatcher.is_idle(&self.inner);
        let mut state = self.inner.lock();
        (is_idle && state.is_silent(), state.server().poll_timeout())
    }

    /// One pass over handlers, timeouts and output. Returns whether there was progress.
    pub(super) fn round<H>(&self, app: &App<H>) -> bool
    where
        H: Fn(context::Context) -> F,
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

impl<F> Drop for ServerInstance<F> {
    fn drop(&mut self) {
        self.close();
    }
}
