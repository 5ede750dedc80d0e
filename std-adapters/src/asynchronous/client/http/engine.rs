//! Drives the client over HTTP: its exchanges are futures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, io};

use mcp_sansio::http::client::Post;
use mcp_sansio_engine::{ExchangeId, Received, Step};

use super::builder::HttpTransport;
use super::transport_state::TransportState;
use crate::client::HttpError;
use crate::runtime::tasks::Tasks;
use crate::runtime::timer::LazyTimer;

/// The requests to a server behind a URL. They make progress in [`work`](Self::work).
pub(crate) struct HttpEngine {
    shared: Arc<TransportState>,
    exchanges: Tasks<ExchangeId, Running>,
    timer: LazyTimer,
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl HttpEngine {
    pub(crate) fn new(http: HttpTransport) -> Self {
        Self {
            shared: Arc::new(TransportState::new(http)),
            exchanges: Tasks::new(),
            timer: LazyTimer::new(),
        }
    }

    /// Returns how many sessions have begun in place of others.
    pub(crate) fn sessions(&self) -> u32 {
        self.shared.with(|client, _| client.sessions())
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
            self.shared.with(|client, now| client.handle_timeouts(now));
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
            self.shared.with(|client, now| client.end(id, Err(error), now));
        }
        polled.is_ready()
    }

    /// Takes the steps of the client.
    fn step(&mut self) {
        let mut closed = Vec::new();
        while let Some(step) = self.shared.with(|client, now| client.next_step(now)) {
            match step {
                Step::Send { exchange, method, target } => {
                    let shared = Arc::clone(&self.shared);
                    let run = async move { shared.exchange(exchange, method, &target).await };
                    self.exchanges.insert(exchange, Box::pin(run));
                }
                Step::Close(exchange) => closed.push(exchange),
                Step::Report(diagnostic) => self.shared.report(diagnostic),
            }
        }
        if !closed.is_empty() {
            self.exchanges.drop_where(|exchange| closed.contains(exchange));
        }
    }

    /// Whether a request waits for an authorization: a person may be logging in.
    pub(crate) fn is_logging_in(&self) -> bool {
        self.shared.with(|client, _| client.is_logging_in())
    }

    /// Whether the client must wait with other messages.
    pub(crate) fn is_full(&self) -> bool {
        self.shared.with(|client, _| client.is_full())
    }

    /// Sends a message as soon as it may be sent.
    pub(crate) fn send(&mut self, post: Post) {
        self.shared.with(|client, now| client.send(now, post));
    }

    /// Returns what has been received. The end of the connection is `Ready(None)`.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub(crate) fn poll_received(&mut self) -> Poll<io::Result<Option<Received>>> {
        let received = self.shared.with(|client, _| match client.next_received() {
            Some(received) => Poll::Ready(Ok(Some(received))),
            None => match client.take_failure() {
                Some(HttpError::Invalid(reason)) => {
                    Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, reason)))
                }
                Some(error) => Poll::Ready(Err(io::Error::other(error))),
                None if client.has_ended() => Poll::Ready(Ok(None)),
                None => Poll::Pending,
            },
        });
        self.shared.wake();
        received
    }

    /// Whether [`poll_received`](Self::poll_received) is ready.
    pub(crate) fn has_received(&self) -> bool {
        self.shared.with(|client, _| client.has_received())
    }

    /// Whether the connection has ended, and everything has been received.
    pub(crate) fn has_ended(&self) -> bool {
        self.shared.with(|client, _| client.has_ended())
    }

    /// Drops what has been received.
    pub(crate) fn discard(&mut self) {
        self.shared.with(|client, _| client.discard());
        self.shared.wake();
    }

    /// Sends what needs no response, and ends the session.
    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.with(|client, now| client.close(now));
        self.work(cx);
        if self.shared.with(|client, _| client.is_closed()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl fmt::Debug for HttpEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEngine").field("url", &self.shared.url()).finish_non_exhaustive()
    }
}

/// Number of exchanges that are polled before the transport yields.
const ROUNDS: usize = 64;
