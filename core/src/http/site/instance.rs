//! A server with its streams: a session, a stream of HTTP+SSE, or a request that stands alone.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::options::SiteOptions;
use super::principal::Principal;
use super::slab::Key;
use crate::connection::{Kept, Outcome, Outcomes, Pace};
use crate::error::SendError;
use crate::handle::{ExchangeId, Remaining, RequestHandle};
use crate::http::server::{
    BodyKind, EventId, RecordedPart, ReplayBuffer, ReplayCursor, SessionId, StreamRecorder,
};
use crate::lifecycle::Revision;
use crate::server::{Change, GrowingServerState, Server, ServerConfig, ServerEvent};
use crate::time::Instant;
use crate::tx::TxBuffer;

/// A server, and the output of its exchanges.
pub(super) struct Instance<O> {
    pub(super) state: GrowingServerState,
    pub(super) kind: Kind,
    pub(super) principal: Option<Box<Principal>>,
    /// The only stream, except in a session: there, that of messages that belong to no request.
    pub(super) own: Stream<O>,
    /// The streams of the POST requests of a session.
    pub(super) streams: BTreeMap<ExchangeId, Stream<O>>,
    /// The streams with new output, or whose requests may have ended.
    pub(super) touched: Vec<ExchangeId>,
    /// The exchange of the request in each entry of the server's table.
    origins: Vec<ExchangeId>,
    pub(super) listens: Vec<RequestHandle>,
    changes: VecDeque<PendingChange>,
    pub(super) is_queued: bool,
    /// Whether a timeout waits for room.
    pub(super) is_blocked: bool,
    pub(super) is_unresponsive: bool,
    /// Whether the client has sent `notifications/initialized`.
    pub(super) is_initialized: bool,
    pub(super) due: Option<Instant>,
}

pub(super) enum Kind {
    /// Ends with its exchange.
    Alone,
    /// HTTP+SSE: ends with the exchange of the stream.
    Sse(SessionId),
    Session(Session),
}

/// The part of a session that outlives its connections.
pub(super) struct Session {
    /// `None` until `initialize` has succeeded.
    pub(super) id: Option<SessionId>,
    pub(super) replay: ReplayBuffer<Vec<u8>>,
    /// Position in the replay buffer of the stream of messages that belong to no request.
    pub(super) own_cursor: ReplayCursor,
    /// The latest exchange that took that stream.
    pub(super) holder: Option<Key>,
    /// The exchanges that read the replay buffer.
    pub(super) readers: Vec<Key>,
    pub(super) active: Instant,
    /// The number of the session, in the order of opening.
    pub(super) number: u64,
    last_stream: u32,
}

pub(super) struct Stream<O> {
    pub(super) tx: TxBuffer<Vec<u8>>,
    pub(super) recorder: StreamRecorder,
    /// The exchange that sends it. `None`: it is only recorded.
    pub(super) exchange: Option<Key>,
    outcomes: Outcomes<VecDeque<Kept<O>>>,
    /// When to repeat the handling of the message that found no room.
    pub(super) messages: Pace,
    /// The exchanges whose messages wait for room.
    pub(super) waiting: Vec<Key>,
    /// Whether all messages of its exchange have been handled.
    pub(super) is_taken: bool,
    /// Whether its connection is to be closed although it goes on.
    pub(super) is_released: bool,
}

/// A change that waits for room.
struct PendingChange {
    change: Change<'static>,
    uri: String,
}

impl<O> Stream<O> {
    pub(super) fn new(tx: TxBuffer<Vec<u8>>, number: u32, exchange: Option<Key>) -> Self {
        Self {
            tx,
            recorder: StreamRecorder::new(number),
            exchange,
            outcomes: Outcomes::new(),
            messages: Pace::NEW,
            waiting: Vec::new(),
            is_taken: false,
            is_released: false,
        }
    }

    /// Removes bytes that were sent, and records them if they can be resumed.
    pub(super) fn advance(&mut self, n: usize, kind: &mut Kind) {
        let is_events =
            self.tx.http_response().is_some_and(|head| head.body == BodyKind::EventStream);
        if let (Kind::Session(session), true) = (kind, is_events) {
            let pending = self.tx.pending();
            session.replay.record(&mut self.recorder, pending.get(..n).unwrap_or(pending));
        }
        self.tx.advance(n);
    }

    /// Returns whether there is no more output, and will be none. `open` is the number of open
    /// requests.
    fn is_over(&self, open: usize) -> bool {
        self.is_taken
            && (self.tx.is_idle() && self.outcomes.is_empty() && open == 0
                || self.tx.is_truncated() && self.tx.pending().is_empty())
    }
}

impl<O> Instance<O> {
    pub(super) fn new(
        options: &SiteOptions<'_>,
        kind: Kind,
        own: Stream<O>,
        principal: Option<Box<Principal>>,
    ) -> Self {
        Self {
            state: GrowingServerState::new(options.in_flight, options.subscriptions),
            kind,
            principal,
            own,
            streams: BTreeMap::new(),
            touched: Vec::new(),
            origins: Vec::new(),
            listens: Vec::new(),
            changes: VecDeque::new(),
            is_queued: false,
            is_blocked: false,
            is_unresponsive: false,
            is_initialized: false,
            due: None,
        }
    }

    /// Creates a session that `initialize` has yet to open.
    pub(super) fn new_session(
        options: &SiteOptions<'_>,
        now: Instant,
        principal: Option<Box<Principal>>,
    ) -> Self {
        let replay = ReplayBuffer::with_limit(Vec::new(), options.replay);
        let session = Session {
            id: None,
            own_cursor: replay.read_stream(0),
            replay,
            holder: None,
            readers: Vec::new(),
            active: now,
            number: 0,
            last_stream: 0,
        };
        let tx = response_buffer(options).with_event_ids(0);
        Self::new(options, Kind::Session(session), Stream::new(tx, 0, None), principal)
    }

    /// Opens the stream of a POST request.
    pub(super) fn open_stream(
        &mut self,
        config: &ServerConfig<'_>,
        options: &SiteOptions<'_>,
        exchange: Key,
    ) -> ExchangeId {
        let revision = self.state.server(config).legacy_revision();
        let Kind::Session(session) = &mut self.kind else { return ExchangeId::SESSION };
        // Wraps after four billion requests, when the first ones are long finished.
        session.last_stream = session.last_stream.checked_add(1).unwrap_or(1);
        let number = session.last_stream;
        let tx = response_buffer(options);
        let tx = match revision {
            Some(Revision::V2025_11_25) => tx.with_priming_event(number, options.retry),
            _ => tx.with_event_ids(number),
        };
        let id = ExchangeId::new(number);
        self.streams.insert(id, Stream::new(tx, number, Some(exchange)));
        id
    }

    /// Returns the stream of an exchange.
    pub(super) fn line(&self, id: ExchangeId) -> &Stream<O> {
        self.streams.get(&id).unwrap_or(&self.own)
    }

    /// Returns whether an exchange still sends its stream.
    pub(super) fn sends(&self, id: ExchangeId, exchange: Key) -> bool {
        self.line(id).exchange == Some(exchange)
    }

    /// Returns the server, and a stream for its output.
    pub(super) fn parts<'p>(
        &'p mut self,
        config: &'p ServerConfig<'p>,
        exchange: impl FnOnce(&mut Server<'_>) -> ExchangeId,
    ) -> (Server<'p>, &'p mut Stream<O>) {
        let mut server = self.state.server(config);
        let id = exchange(&mut server);
        touch(&mut self.touched, id);
        (server, self.streams.get_mut(&id).unwrap_or(&mut self.own))
    }

    pub(super) fn touch(&mut self, id: ExchangeId) {
        touch(&mut self.touched, id);
    }

    /// Remembers the exchange of a request, to find it after its request has ended.
    pub(super) fn opened(&mut self, request: RequestHandle, id: ExchangeId) {
        let index = usize::from(request.0.index);
        if self.origins.len() <= index {
            self.origins.resize(index + 1, ExchangeId::SESSION);
        }
        if let Some(origin) = self.origins.get_mut(index) {
            *origin = id;
        }
    }

    /// A request has ended without a response of the application.
    pub(super) fn ended(&mut self, request: RequestHandle) {
        let origin = self.origins.get(usize::from(request.0.index)).copied();
        self.touch(origin.unwrap_or(ExchangeId::SESSION));
    }

    /// Returns whether the stream of an exchange has no more output.
    pub(super) fn is_over(&mut self, config: &ServerConfig<'_>, id: ExchangeId) -> bool {
        let server = self.state.server(config);
        let (open, line) = match self.streams.get(&id) {
            Some(line) => (server.open_requests_of(id), line),
            None => (server.open_requests(), &self.own),
        };
        line.is_over(open)
    }

    pub(super) fn answer(&mut self, config: &ServerConfig<'_>, request: RequestHandle, outcome: O) {
        let server = self.state.server(config);
        if server.is_request_open(request) {
            let id = server.exchange(request);
            let line = self.streams.get_mut(&id).unwrap_or(&mut self.own);
            let _ = line.outcomes.keep(request, outcome);
            self.touch(id);
        }
    }

    /// Keeps a change until it is sent. One that waits already is sent once.
    pub(super) fn change(&mut self, config: &ServerConfig<'_>, change: &Change<'_>) -> bool {
        let (new, uri) = (change.resume(0).with_uri(""), change.uri().unwrap_or_default());
        let is_new = self.state.server(config).is_subscribed(change)
            && !self.changes.iter().any(|kept| kept.change == new && kept.uri == uri);
        if is_new {
            self.changes.push_back(PendingChange { change: new, uri: uri.into() });
        }
        is_new
    }

    /// Handles a timeout, and writes changes while there is room.
    pub(super) fn run(
        &mut self,
        config: &ServerConfig<'_>,
        now: Instant,
        is_closing: bool,
    ) -> Option<ServerEvent<'static>> {
        let event = self.handle_timeout(config, now);
        match event {
            Some(ServerEvent::Unresponsive) => self.is_unresponsive = true,
            Some(ServerEvent::RequestTimedOut { request }) => self.ended(request),
            _ => {}
        }
        let mut server = self.state.server(config);
        while is_closing && let Some(listen) = self.listens.last() {
            let id = server.exchange(*listen);
            let line = self.streams.get_mut(&id).unwrap_or(&mut self.own);
            touch(&mut self.touched, id);
            match server.end_listen(*listen, &mut line.tx) {
                Ok(Remaining::More) => {}
                Err(SendError::Full) => break,
                _ => {
                    self.listens.pop();
                }
            }
        }
        while let Some(kept) = self.changes.front_mut() {
            let mut change = kept.change.with_uri(&kept.uri);
            let sent = server.publish(&mut change, &mut self.own.tx);
            kept.change = change.with_uri("");
            touch(&mut self.touched, ExchangeId::SESSION);
            match sent {
                Ok(Remaining::More) => {}
                Err(SendError::Full) => break,
                _ => {
                    self.changes.pop_front();
                }
            }
        }
        event
    }

    fn handle_timeout(
        &mut self,
        config: &ServerConfig<'_>,
        now: Instant,
    ) -> Option<ServerEvent<'static>> {
        let mut server = self.state.server(config);
        let id = server.due_exchange(now)?;
        touch(&mut self.touched, id);
        let line = self.streams.get_mut(&id).unwrap_or(&mut self.own);
        let handled = server.handle_timeout(now, &mut line.tx);
        self.is_blocked = handled.is_err();
        handled.ok().flatten()
    }

    /// Sends outcomes to the streams that were touched, and records what has no connection. Calls
    /// `ready` for the exchanges that may go on. Returns whether there is room for what waited.
    pub(super) fn distribute(
        &mut self,
        config: &ServerConfig<'_>,
        mut ready: impl FnMut(Key),
    ) -> bool
    where
        O: for<'m> Outcome<Server<'m>>,
    {
        let Self { state, kind, own, streams, touched, .. } = self;
        let mut server = state.server(config);
        let mut has_recorded = false;
        for id in touched.drain(..) {
            let is_own = !streams.contains_key(&id);
            let line = streams.get_mut(&id).unwrap_or(&mut *own);
            line.outcomes.send(&mut server, &mut line.tx);
            while line.exchange.is_none() && !line.tx.pending().is_empty() {
                line.advance(usize::MAX, kind);
                line.outcomes.send(&mut server, &mut line.tx);
                has_recorded = true;
            }
            match line.exchange {
                Some(exchange) => ready(exchange),
                None if !is_own && line.is_over(server.open_requests_of(id)) => {
                    streams.remove(&id);
                    has_recorded = true;
                }
                None => {}
            }
        }
        if let (Kind::Session(session), true) = (kind, has_recorded) {
            session.readers.iter().copied().for_each(ready);
        }
        has_recorded && (self.is_blocked || !self.changes.is_empty() || !self.listens.is_empty())
    }

    /// Returns whether a session, or a stream of HTTP+SSE, has nothing left to do.
    pub(super) fn is_unused(&mut self, config: &ServerConfig<'_>) -> bool {
        self.state.server(config).open_requests() == 0
            && self.streams.is_empty()
            && match &self.kind {
                Kind::Alone => false,
                Kind::Sse(_) => self.own.tx.is_idle(),
                Kind::Session(session) => session.readers.is_empty(),
            }
    }

    /// Begins to send the recorded events of a stream to an exchange. Returns the reader, and the
    /// exchange that sent the stream until now.
    pub(super) fn read(
        &mut self,
        key: Key,
        after: Option<EventId>,
    ) -> Option<(Reader, Option<Key>)> {
        let Kind::Session(session) = &mut self.kind else { return None };
        let after = after.filter(|after| {
            after.stream == 0
                || self.streams.contains_key(&ExchangeId::new(after.stream))
                || session.replay.has_stream(after.stream)
        });
        session.readers.push(key);
        let (stream, cursor) = match after {
            Some(after) => (after.stream, session.replay.read_after(after)),
            None => (0, session.own_cursor),
        };
        let before = match stream {
            0 => session.holder.replace(key),
            _ => {
                let id = ExchangeId::new(stream);
                touch(&mut self.touched, id);
                self.streams.get_mut(&id).and_then(|line| line.exchange.take())
            }
        };
        Some((Reader { stream, cursor, part: None, is_ending: false, has_ended: false }, before))
    }

    /// An exchange no longer reads the recorded events.
    pub(super) fn stop_reading(&mut self, key: Key, now: Instant) {
        if let Kind::Session(session) = &mut self.kind {
            session.readers.retain(|reader| *reader != key);
            session.holder.take_if(|holder| *holder == key);
            session.active = now;
        }
    }
}

/// The position of an exchange in the recorded events of a stream.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) stream: u32,
    pub(super) cursor: ReplayCursor,
    /// The part that is being sent, and how much of it was sent.
    pub(super) part: Option<(RecordedPart, usize)>,
    /// Whether another exchange has taken the stream, or the site is shut down.
    pub(super) is_ending: bool,
    pub(super) has_ended: bool,
}

impl Reader {
    pub(super) const fn is_mid_event(&self) -> bool {
        self.part.is_some() || self.cursor.is_mid_event()
    }
}

pub(super) fn response_buffer(options: &SiteOptions<'_>) -> TxBuffer<Vec<u8>> {
    TxBuffer::for_http_response(Vec::new(), options.max_pending)
}

fn touch(touched: &mut Vec<ExchangeId>, id: ExchangeId) {
    if touched.last() != Some(&id) {
        touched.push(id);
    }
}
