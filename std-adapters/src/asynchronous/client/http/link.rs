//! HTTP as the input and output of a connection: drives the client over HTTP, whose exchanges are
//! futures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as SystemInstant};
use std::{fmt, io};

use mcp_sansio::Instant;
use mcp_sansio_engine::{ClientEngine, Driver, HttpExchangeId, HttpStep};

use super::builder::HttpTransport;
use super::exchange::TransportState;
use crate::asynchronous::client::inner::Session;
use crate::asynchronous::client::transport::{IntoLink, Link};
use crate::client::HttpError;
use crate::runtime;
use crate::runtime::tasks::Tasks;
use crate::runtime::timer::LazyTimer;

/// The requests to a server behind a URL. They make progress in [`work`](Self::work).
pub struct HttpLink {
    shared: Arc<TransportState>,
    exchanges: Tasks<HttpExchangeId, Running>,
    timer: LazyTimer,
    /// Start of the time in which messages were pending and none was accepted.
    waits_since: Option<SystemInstant>,
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl HttpLink {
    pub(crate) fn new(http: HttpTransport) -> Self {
        Self {
            shared: Arc::new(TransportState::new(http)),
            exchanges: Tasks::new(),
            timer: LazyTimer::new(),
            waits_since: None,
        }
    }

    /// Polls every exchange that was woken, once. One that wakes itself waits until others have
    /// run, on this transport and elsewhere.
    pub(crate) fn work(&mut self, cx: &Context<'_>) {
        self.step();
        for _ in 0..self.exchanges.ready().min(ROUNDS) {
            self.poll_one(cx);
            self.step();
        }
        let mut timer_cx = Context::from_waker(cx.waker());
        while let Some(due) = self.shared.next_timeout()
            && self.timer.poll(&mut timer_cx, due)
        {
            self.shared.with(|http, now| http.handle_timeout(now));
            self.step();
        }
        // The last poll registers the waker.
        if self.exchanges.ready() > 0 || self.poll_one(cx) {
            cx.waker().wake_by_ref();
        }
    }

    /// Returns `false` if no exchange was woken.
    fn poll_one(&mut self, cx: &Context<'_>) -> bool {
        let polled = self.exchanges.poll_next(cx);
        if let Poll::Ready(Some((id, Err(_)))) = polled {
            let error = HttpError::Invalid("the exchange panicked".to_owned());
            self.shared.with(|http, now| http.end(now, id, Err(error)));
        }
        polled.is_ready()
    }

    /// Takes the steps of the client.
    fn step(&mut self) {
        let mut closed = Vec::new();
        while let Some(step) = self.shared.with(|http, now| http.next_step(now)) {
            match step {
                HttpStep::Send { exchange, method, target } => {
                    let shared = Arc::clone(&self.shared);
                    let run = async move { shared.exchange(exchange, method, &target).await };
                    self.exchanges.insert(exchange, Box::pin(run));
                }
                HttpStep::Close(exchange) => closed.push(exchange),
                HttpStep::Report(diagnostic) => self.shared.report(diagnostic),
            }
        }
        if !closed.is_empty() {
            self.exchanges.drop_where(|exchange| closed.contains(exchange));
        }
    }

    /// Takes the messages that the client has written, as far as they may wait here. Returns their
    /// number.
    pub(crate) fn take_posts(&self, client: &mut ClientEngine<'_>) -> usize {
        self.shared.with(|http, now| http.take_posts(now, client))
    }

    /// Whether there is something to [deliver](Self::deliver), or an [error](Self::check).
    pub(crate) fn has_received(&self) -> bool {
        self.shared.with(|http, _| http.has_received())
    }

    /// Hands what was received to the client, as far as it reads. Returns whether there was
    /// anything.
    pub(crate) fn deliver(
        &self,
        client: &mut ClientEngine<'_>,
        now: Instant,
        driver: &mut impl Driver,
    ) -> bool {
        // Before the next responses: tasks may be unknown in another session.
        client.set_session(self.shared.with(|http, _| http.sessions()));
        let mut moved = false;
        // The rest is handled in the next round. The responses to the messages need room.
        for _ in 0..MESSAGES {
            if !client.reads() {
                break;
            }
            let Some(received) = self.shared.with(|http, _| http.next_received()) else { break };
            received.hand_to(client, now, driver);
            moved = true;
        }
        self.shared.wake();
        moved
    }

    /// Whether the connection has ended, and everything has been received.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.with(|http, _| http.has_ended())
    }

    /// # Errors
    /// If the server cannot be used any more.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.shared.with(|http, _| http.take_failure()) {
            Some(HttpError::Invalid(reason)) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, reason))
            }
            Some(error) => Err(io::Error::other(error)),
            None => Ok(()),
        }
    }

    /// Sends what needs no response, and ends the session.
    pub(crate) fn poll_end(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.shared.with(|http, now| http.close(now));
        self.work(cx);
        if self.shared.with(|http, _| http.is_closed()) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl IntoLink for HttpTransport {
    type Link = HttpLink;

    fn url_for_posts(&self) -> Option<String> {
        Some(self.url())
    }

    fn into_link(self) -> HttpLink {
        HttpLink::new(self)
    }
}

impl Link for HttpLink {
    fn read(&mut self, _: &mut Session, cx: &mut Context<'_>) -> io::Result<bool> {
        self.work(cx);
        self.check().map(|()| false)
    }

    fn handle(&mut self, session: &mut Session, now: Instant) -> bool {
        let Session { engine, app, .. } = session;
        let moved = engine.step(now, app);
        self.deliver(engine, now, app) || moved
    }

    fn write(
        &mut self,
        session: &mut Session,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> io::Result<bool> {
        let moved = self.take_posts(&mut session.engine) > 0;
        let is_logging_in = self.shared.with(|http, _| http.is_logging_in());
        session.engine.set_logging_in(now, is_logging_in);
        let is_waiting = !session.engine.posts().is_empty();
        self.waits_since = match self.waits_since {
            _ if moved || !is_waiting || is_logging_in => None,
            Some(since) => Some(since),
            None => Some(runtime::now()),
        };
        self.work(cx);
        Ok(moved || self.has_received() && session.engine.reads())
    }

    fn has_ended(&self, _: &mut Session) -> bool {
        self.is_over()
    }

    fn discard(&mut self, _: &mut Session) {
        self.shared.with(|http, _| http.discard());
        self.shared.wake();
    }

    fn poll_close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool {
        session.engine.posts().is_empty() && self.poll_end(cx).is_ready()
    }

    fn stalls_at(&self, timeout: Duration) -> Option<SystemInstant> {
        self.waits_since?.checked_add(timeout)
    }
}

impl fmt::Debug for HttpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLink").field("url", &self.shared.url()).finish_non_exhaustive()
    }
}

/// Messages in a row before the other sources are processed.
const MESSAGES: usize = 256;
/// Number of exchanges that are polled before the transport yields.
const ROUNDS: usize = 64;
