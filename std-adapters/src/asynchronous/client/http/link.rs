//! HTTP as the input and output of a connection: drives the client over HTTP, whose exchanges are
//! futures.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant as SystemInstant};

use event_listener::Event;
use mcp_sansio::Instant;
use mcp_sansio::http::client::Origin;
use mcp_sansio_engine::{ClientEngine, Driver, HttpClient, HttpExchangeId, HttpStep, Reading};

use super::authorize::{Refused, Tried};
use super::connector::{Connector, Dial, HttpTransport, MAX_IDLE_CONNECTIONS, Purpose};
use super::wire::{self, Wire};
use crate::asynchronous::client::connection::Session;
use crate::asynchronous::client::transport::{IntoLink, Link};
use crate::client::{Changes, HttpError};
use crate::lock::lock;
use crate::panics::{caught, caught_future};
use crate::runtime;
use crate::runtime::tasks::Tasks;
use crate::runtime::timer::{Clock, LazyTimer, Timer};

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
        let HttpTransport { is_secure, authority, host, port, .. } = &http;
        let origin = Origin { is_secure: *is_secure, authority, host, port: *port };
        let client = HttpClient::new(&origin, &http.target, http.limits);
        let state = Mutex::new(State { client, clock: None, idle: Vec::new() });
        Self {
            shared: Arc::new(TransportState { http, state, room: Event::new() }),
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
                HttpStep::Report(diagnostic) => {
                    if let Some(on_diagnostic) = &self.shared.http.on_diagnostic {
                        let _ = caught(|| on_diagnostic(diagnostic));
                    }
                }
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

    /// Whether a request waits for an authorization: a person may be logging in.
    pub(crate) fn is_logging_in(&self) -> bool {
        self.shared.with(|http, _| http.is_logging_in())
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

    /// Sends what needs no response, and ends the session. What comes meanwhile is dropped.
    pub(crate) fn poll_end(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.shared.with(|http, now| http.close(now));
        self.work(cx);
        self.shared.with(|http, _| http.discard());
        // An exchange may have waited for that room.
        self.shared.wake();
        if self.shared.with(|http, _| http.is_closed()) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl IntoLink for HttpTransport {
    type Link = HttpLink;

    fn url_for_posts(&self) -> Option<String> {
        Some(self.url())
    }

    fn changes(&self) -> Option<Changes> {
        self.token_changes()
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
        let is_logging_in = self.is_logging_in();
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

    fn discard(&mut self, session: &mut Session) {
        session.engine.discard();
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

mcp_sansio::opaque_debug!(HttpLink |it| { url: it.shared.url() });

/// Messages in a row before the other sources are processed.
const MESSAGES: usize = 256;
/// Number of exchanges that are polled before the transport yields.
const ROUNDS: usize = 64;

// The exchanges of a transport: each is a request, on an idle connection or a new one, and its
// response. What they share is a [`TransportState`].

/// The part of the transport that its exchanges share.
pub(crate) struct TransportState {
    pub(crate) http: HttpTransport,
    state: Mutex<State>,
    /// Tells the exchanges that wait for room that there is room.
    room: Event,
}

/// The state behind the mutex of the transport.
struct State {
    client: HttpClient,
    /// The clock of the client, which begins when a runtime polls it.
    clock: Option<Clock>,
    idle: Vec<Wire>,
}

impl TransportState {
    /// Locks the client; never held across an await.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut HttpClient, Instant) -> R) -> R {
        let state = &mut *lock(&self.state);
        let clock = *state.clock.get_or_insert_with(Clock::new);
        call(&mut state.client, clock.now())
    }

    /// Returns the time at which the client has something to do.
    pub(crate) fn next_timeout(&self) -> Option<SystemInstant> {
        let state = lock(&self.state);
        Some(state.clock?.real_time(state.client.poll_timeout()?))
    }

    /// Wakes the exchanges that wait for room, if there is room.
    pub(crate) fn wake(&self) {
        if lock(&self.state).client.has_room() {
            self.room.notify(usize::MAX);
        }
    }

    /// Returns the URL, the prefix of error messages.
    pub(crate) fn url(&self) -> String {
        self.http.url_of(lock(&self.state).client.target())
    }

    /// Sends a request, on an idle connection or on a new one.
    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        request: &[u8],
    ) -> Result<Wire, HttpError> {
        // A stream of events takes an idle one, too: while it is dialled, calls would overtake it,
        // and servers drop notifications for which there is no stream.
        while let Some(mut wire) = { lock(&self.state).idle.pop() } {
            if wire.is_fresh() && wire.send(method, request).await.is_ok() {
                return Ok(wire);
            }
        }
        let http = &self.http;
        let dial = Dial {
            host: http.host.clone(),
            port: http.port,
            is_secure: http.is_secure,
            url: http.url_of(target),
            purpose: if method == "GET" { Purpose::Events } else { Purpose::Messages },
            #[cfg(feature = "auth")]
            rules: None,
        };
        let connected = connect(&http.connector, dial, http.limits.connect_timeout).await;
        let mut wire = connected.map_err(|error| HttpError::NotConnected(error.to_string()))?;
        wire.send(method, request).await?;
        Ok(wire)
    }

    /// Keeps a connection whose response has been read.
    pub(crate) fn release(&self, mut wire: Wire) {
        if wire.rest() {
            let idle = &mut lock(&self.state).idle;
            if idle.len() >= MAX_IDLE_CONNECTIONS {
                idle.remove(0);
            }
            idle.push(wire);
        }
    }

    // One exchange.

    /// Sends the request of an exchange, and passes the response to the client.
    pub(super) async fn exchange(&self, id: HttpExchangeId, method: &'static str, target: &str) {
        let result = self.request_and_response(id, method, target).await;
        self.room(id).await;
        self.with(|client, now| client.end(now, id, result));
    }

    async fn request_and_response(
        &self,
        id: HttpExchangeId,
        method: &'static str,
        target: &str,
    ) -> Result<(), HttpError> {
        let mut tried = Tried::default();
        loop {
            let credentials = self.credentials(id, method, target).await?;
            let request = self.with(|client, now| {
                let request = client.request(now, id)?;
                let fields = [&self.http.fields, &credentials.fields, &request.fields];
                let (fields, authority) = (fields.into_iter().flatten(), &self.http.authority);
                Some(wire::request(method, target, authority, fields, request.body))
            });
            let Some(request) = request else { return Ok(()) };
            let request =
                request.ok_or_else(|| HttpError::Invalid(wire::INVALID_FIELD.to_owned()))?;
            let mut wire = self.send(method, target, &request).await?;
            drop(request);
            let refused = wire.head(|head| {
                self.observed(&head.as_head());
                self.with(|client, now| client.response(now, id, &head.as_head()));
                (self.reading(id) == Reading::Refused).then(|| Refused {
                    #[cfg(feature = "auth")]
                    status: head.status,
                    fields: head.fields.into(),
                    generation: credentials.generation,
                })
            });
            let refused = refused.await?;
            let mut piece = Vec::new();
            while self.reading(id) == Reading::Body
                && wire.piece(&mut |bytes| piece.extend_from_slice(bytes)).await?
            {
                self.room(id).await;
                self.with(|client, now| client.body(now, id, &piece));
                piece.clear();
            }
            match self.reading(id) {
                Reading::Body => self.release(wire),
                // The rest is read if it is short, to keep the connection.
                Reading::Rest | Reading::Refused => {
                    match timeout(LINGER, wire.body(MAX_DRAINED)).await {
                        Ok(Ok((_, false))) => self.release(wire),
                        // It does not wait for a login.
                        _ => drop(wire),
                    }
                }
                Reading::Head | Reading::Over => {}
            }
            let Some(refused) = refused else { return Ok(()) };
            if !self.reauthorize(id, &refused, &mut tried).await? {
                return Ok(());
            }
            self.with(|client, _| client.authorized(id));
        }
    }

    fn reading(&self, id: HttpExchangeId) -> Reading {
        self.with(|client, _| client.reading(id))
    }

    /// Waits until there is room for the messages of the response.
    async fn room(&self, id: HttpExchangeId) {
        // The same task makes the room, so that none is made before this listens.
        while self.with(|client, _| client.waits_for_room(id)) {
            self.room.listen().await;
        }
    }
}

/// Makes a connection within this time.
pub(crate) async fn connect(
    connector: &Connector,
    dial: Dial,
    limit: Duration,
) -> io::Result<Wire> {
    let connecting = caught(|| connector(dial)).ok();
    let connecting = async {
        caught_future(connecting)
            .await
            .unwrap_or_else(|| Err(io::Error::other("connector panicked")))
    };
    timeout(limit, connecting).await?.map(Wire::new)
}

/// Limits the time of a future; `Duration::MAX` is no limit.
pub(crate) async fn timeout<R>(
    limit: Duration,
    future: impl Future<Output = R>,
) -> Result<R, io::Error> {
    let (mut future, mut timer) = (pin!(future), Timer::after(limit));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Ok(result)),
        Poll::Pending => pin!(&mut timer).poll(cx).map(|_| Err(io::ErrorKind::TimedOut.into())),
    })
    .await
}

/// Maximum number of bytes of an unneeded response that are read to keep its connection.
const MAX_DRAINED: usize = 64 << 10;
/// Maximum time for that.
const LINGER: Duration = Duration::from_secs(1);
