//! Session of a legacy client. It outlives connections.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Instant;

use mcp_sansio::http::server::{
    BodyKind, EventId, ReplayBuffer, ReplayCursor, SessionId, StreamRecorder,
};
use mcp_sansio::{ExchangeId, Revision, TxBuffer};

use super::super::app::App;
use super::super::context::Context;
use super::super::driver_waker::WakerSet;
use super::super::reply::IntoReply;
use super::options::HttpOptions;
use super::server_instance::ServerInstance;
use super::stateless::poll_timer;
use crate::asynchronous::timer::{LazyTimer, later};

pub(super) struct Session<F> {
    pub(super) id: SessionId,
    pub(super) principal: Option<Arc<str>>,
    pub(super) instance: ServerInstance<F>,
    streams: Mutex<Streams>,
}

/// Streams of a session: one for each open exchange, with the same number, and the standalone GET
/// stream, which has number 0.
pub(super) struct Streams {
    pub(super) replay: ReplayBuffer<Vec<u8>>,
    pub(super) lines: BTreeMap<ExchangeId, Line>,
    own: StreamRecorder,
    /// Position of the GET stream in the replay buffer.
    pub(super) own_cursor: ReplayCursor,
    /// Number of the latest connection that took the GET stream.
    pub(super) holder: u64,
    /// Connections that wait for recorded events: at most one waker each.
    pub(super) readers: WakerSet,
    /// Number of connections.
    pub(super) attached: usize,
    /// Time of the last activity.
    active: Instant,
    exchanges: u32,
    pub(super) is_over: bool,
}

/// Stream of an exchange.
pub(super) struct Line {
    pub(super) recording: StreamRecorder,
    /// Whether its connection is gone, so that output is only recorded.
    pub(super) is_detached: bool,
    pub(super) waker: Option<Waker>,
}

impl<F> Session<F> {
    pub(super) fn new<H>(
        app: &App<H>,
        options: &HttpOptions,
        id: SessionId,
        principal: Option<Arc<str>>,
    ) -> Self {
        let replay = ReplayBuffer::with_limit(Vec::new(), options.replay);
        let streams = Streams {
            own_cursor: replay.read_stream(0),
            replay,
            lines: BTreeMap::new(),
            own: StreamRecorder::new(0),
            holder: 0,
            readers: WakerSet::default(),
            attached: 0,
            active: Instant::now(),
            exchanges: 0,
            is_over: false,
        };
        let tx = TxBuffer::for_http_response(Vec::new(), app.max_pending).with_event_ids(0);
        Self {
            id,
            instance: ServerInstance::new(app, tx, principal.clone()),
            principal,
            streams: Mutex::new(streams),
        }
    }

    /// Never locked before the state of `inner`, where both are needed.
    pub(super) fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an exchange.
    pub(super) fn open_exchange(&self, max_pending: usize, options: &HttpOptions) -> ExchangeId {
        let mut state = self.instance.inner.lock();
        let mut streams = self.streams();
        // Wraps after four billion requests, when the first ones are long finished.
        streams.exchanges = streams.exchanges.checked_add(1).unwrap_or(1);
        let stream = streams.exchanges;
        let exchange = ExchangeId::new(stream);
        let tx = TxBuffer::for_http_response(Vec::new(), max_pending);
        let tx = match state.server().legacy_revision() {
            Some(Revision::V2025_11_25) => tx.with_priming_event(stream, options.retry),
            _ => tx.with_event_ids(stream),
        };
        state.outputs.open(exchange, tx);
        streams.lines.insert(
            exchange,
            Line { recording: StreamRecorder::new(stream), is_detached: false, waker: None },
        );
        exchange
    }

    /// Detaches the connection of an exchange, which is lost or has written everything.
    pub(super) fn leave_exchange(&self, exchange: ExchangeId) {
        let mut state = self.instance.inner.lock();
        let mut streams = self.streams();
        streams.active = Instant::now();
        let is_over = state.server().open_requests_of(exchange) == 0
            && state
                .outputs
                .of_exchange(exchange)
                .is_none_or(|output| output.tx.pending().is_empty() && !output.tx.is_mid_frame());
        if is_over && exchange != ExchangeId::SESSION {
            state.outputs.close(exchange);
            streams.lines.remove(&exchange);
            // Connections that replay the exchange reach its end.
            streams.readers.take().for_each(Waker::wake);
            return;
        }
        if let Some(line) = streams.lines.get_mut(&exchange) {
            (line.is_detached, line.waker) = (true, None);
        }
        // The driver removes exchanges that are over.
        state.notify_driver();
    }

    /// Resumes a lost stream.
    pub(super) fn resume(&self, after: EventId) -> Option<ReplayCursor> {
        let mut streams = self.streams();
        let cursor = streams.replay.read_after(after);
        let is_known = after.stream == 0
            || streams.lines.contains_key(&ExchangeId::new(after.stream))
            || streams.replay.has_stream(after.stream);
        if let Some(line) = streams.lines.get_mut(&ExchangeId::new(after.stream)) {
            line.is_detached = true;
            if let Some(waker) = line.waker.take() {
                waker.wake();
            }
        }
        is_known.then_some(cursor)
    }

    /// Ends the session: handlers are dropped.
    pub(super) fn end(&self) {
        let mut streams = self.streams();
        streams.is_over = true;
        let lines = std::mem::take(&mut streams.lines);
        let wakers: Vec<Waker> = lines
            .into_values()
            .filter_map(|line| line.waker)
            .chain(streams.readers.take())
            .collect();
        drop(streams);
        wakers.into_iter().for_each(Waker::wake);
        self.instance.close();
        self.instance.inner.driver.notify();
    }

    /// Records output without a connection, and wakes the connections of the rest. Returns whether
    /// anything was recorded.
    fn distribute(&self) -> bool {
        let mut state = self.instance.inner.lock();
        let mut streams = self.streams();
        let streams = &mut *streams;
        let mut moved = false;
        let tx = &mut state.outputs.own().tx;
        if !tx.pending().is_empty() {
            streams.replay.record(&mut streams.own, tx.pending());
            tx.advance(usize::MAX);
            moved = true;
        }
        let state = &mut *state;
        streams.lines.retain(|exchange, line| {
            let is_open = state.server().open_requests_of(*exchange) > 0;
            let output = state.outputs.at(*exchange);
            let has_more = !output.tx.pending().is_empty();
            if line.is_detached {
                if has_more
                    && output
                        .tx
                        .http_response()
                        .is_some_and(|reply| reply.body == BodyKind::EventStream)
                {
                    streams.replay.record(&mut line.recording, output.tx.pending());
                }
                moved |= has_more;
                output.tx.advance(usize::MAX);
                let is_over = !is_open && !output.tx.is_mid_frame();
                if is_over {
                    state.outputs.close(*exchange);
                    moved = true;
                }
                return !is_over;
            }
            if (has_more || !is_open || output.is_released)
                && let Some(waker) = line.waker.take()
            {
                waker.wake();
            }
            true
        });
        if moved {
            streams.readers.take().for_each(Waker::wake);
        }
        moved
    }

    /// Returns the time at which an unused session ends.
    fn ends_at(&self, options: &HttpOptions) -> Option<Instant> {
        let is_used = self.instance.inner.lock().server().open_requests() > 0;
        let streams = self.streams();
        if is_used || streams.attached > 0 || !streams.lines.is_empty() {
            None
        } else {
            streams.active.checked_add(options.idle_timeout)
        }
    }
}

impl<F: Future<Output: IntoReply>> Session<F> {
    /// Drives the handlers and timeouts of the session until it ends.
    pub(super) async fn drive<H>(&self, app: &App<H>, options: &HttpOptions)
    where
        H: Fn(Context) -> F,
    {
        let mut timer = LazyTimer::new();
        poll_fn(|cx| {
            self.instance.inner.driver.begin_round();
            for _ in 0..ROUNDS {
                let mut moved = self.instance.round(app) | self.distribute();
                let is_closing = app.broadcaster().is_shutting_down();
                let is_done = {
                    let dispatcher = self.instance.dispatcher();
                    dispatcher.is_unresponsive
                        || is_closing && dispatcher.is_idle(&self.instance.inner)
                };
                let ends_at = self.ends_at(options);
                if is_done || ends_at.is_some_and(|at| at <= Instant::now()) {
                    self.end();
                }
                if self.streams().is_over {
                    return Poll::Ready(());
                }
                if is_closing {
                    self.streams().readers.take().for_each(Waker::wake);
                }
                let far = later(Instant::now(), options.idle_timeout);
                moved |= poll_timer(app, &mut timer, cx, &self.instance, ends_at.unwrap_or(far));
                if !moved && self.instance.inner.driver.register(cx.waker()) {
                    return Poll::Pending;
                }
            }
            // Yields: a handler whose client has gone is never stopped by a full buffer.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// Rounds in a row before the task yields.
const ROUNDS: usize = 16;
