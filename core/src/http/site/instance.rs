//! A server with its streams: a session, a stream of HTTP+SSE, or a request that stands alone.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::options::SiteOptions;
use super::principal::Principal;
use super::slab::Key;
use super::stream::{Stream, Streams};
use crate::PeerAddress;
use crate::connection::Outcome;
use crate::handle::{ExchangeId, RequestHandle};
use crate::http::server::{EventId, RecordedPart, ReplayBuffer, ReplayCursor, SessionId};
use crate::lifecycle::Revision;
use crate::server::{Change, GrowingServerState, Server, ServerConfig, ServerEvent};
use crate::time::Instant;
use crate::tx::{Tx, TxBuffer};

/// A server, and the output of its exchanges.
pub(super) struct Instance<O> {
    pub(super) state: GrowingServerState,
    pub(super) kind: Kind,
    pub(super) principal: Option<Arc<Principal>>,
    /// The address from which a session was opened.
    pub(super) peer: Option<PeerAddress>,
    pub(super) streams: Streams<O>,
    /// The streams with new output, or whose requests may have ended.
    pub(super) touched: Vec<ExchangeId>,
    /// The exchange of the request in each entry of the server's table.
    origins: Vec<ExchangeId>,
    /// The exchanges whose next request waits for the end of another.
    pub(super) awaiting_entry: VecDeque<Key>,
    pub(super) is_queued: bool,
    /// Whether there is room that the application waits for.
    pub(super) has_room: bool,
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

impl<O> Instance<O> {
    pub(super) fn new(
        options: &SiteOptions<'_>,
        kind: Kind,
        own: Stream<O>,
        principal: Option<Arc<Principal>>,
    ) -> Self {
        Self {
            state: GrowingServerState::new(options.in_flight, options.subscriptions),
            kind,
            principal,
            peer: None,
            streams: Streams::new(own),
            touched: Vec::new(),
            origins: Vec::new(),
            awaiting_entry: VecDeque::new(),
            is_queued: false,
            has_room: false,
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
        principal: Option<Arc<Principal>>,
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

    /// Returns whether an exchange still sends its stream.
    pub(super) fn sends(&self, id: ExchangeId, exchange: Key) -> bool {
        self.streams.get(id).exchange == Some(exchange)
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
        (server, self.streams.get_mut(id))
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
        let Self { state, streams, .. } = self;
        streams.get(id).is_over(|| {
            let server = state.server(config);
            if streams.is_own(id) { server.open_requests() } else { server.open_requests_of(id) }
        })
    }

    pub(super) fn answer(&mut self, config: &ServerConfig<'_>, request: RequestHandle, outcome: O) {
        let server = self.state.server(config);
        if server.is_request_open(request) {
            let id = server.exchange(request);
            let _ = self.streams.get_mut(id).outcomes.keep(request, outcome);
            self.touch(id);
        }
    }

    /// Keeps a change until it is sent. One that waits already is sent once.
    pub(super) fn change(&mut self, config: &ServerConfig<'_>, change: &Change<'_>) -> bool {
        self.state.keep_change(config, change)
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
        while is_closing && let Some(listen) = server.next_listen() {
            let id = server.exchange(listen);
            let line = self.streams.get_mut(id);
            touch(&mut self.touched, id);
            if server.end_listen(listen, &mut line.tx).is_err() {
                break;
            }
        }
        if self.state.has_changes() {
            touch(&mut self.touched, ExchangeId::SESSION);
            // Messages that find no room are sent later.
            let _ = self.state.send_changes(config, &mut self.streams.own.tx);
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
        let line = self.streams.get_mut(id);
        let handled = server.handle_timeout(now, &mut line.tx);
        self.is_blocked = handled.is_err();
        handled.ok().flatten()
    }

    /// Sends outcomes to the streams that were touched, and records what has no connection. Calls
    /// `ready` for the exchanges that may go on. Returns whether there is more to do at once: an
    /// outcome goes on, or there is room for what waited.
    pub(super) fn distribute(
        &mut self,
        config: &ServerConfig<'_>,
        mut ready: impl FnMut(Key),
    ) -> bool
    where
        O: for<'m> Outcome<Server<'m>>,
    {
        let Self { state, kind, streams, touched, has_room, .. } = self;
        let mut server = state.server(config);
        let (mut has_recorded, mut going_on) = (false, Vec::new());
        for id in touched.drain(..) {
            let is_own = streams.is_own(id);
            let line = streams.get_mut(id);
            let goes_on = Tx::in_slices(&mut line.tx, |tx| {
                line.outcomes.send(&mut server, tx);
            });
            let is_recorded = line.exchange.is_none() && !line.tx.pending().is_empty();
            if is_recorded {
                line.advance(usize::MAX, kind);
                has_recorded = true;
            }
            if goes_on || is_recorded && !line.outcomes.is_empty() {
                going_on.push(id);
            }
            if line.is_awaited && line.tx.room() >= line.tx.pending().len() {
                (line.is_awaited, *has_room) = (false, true);
            }
            match line.exchange {
                Some(exchange) => ready(exchange),
                None if !is_own && line.is_over(|| server.open_requests_of(id)) => {
                    streams.remove(id);
                    has_recorded = true;
                }
                None => {}
            }
        }
        if let (Kind::Session(session), true) = (kind, has_recorded) {
            session.readers.iter().copied().for_each(ready);
        }
        self.touched = going_on;
        !self.touched.is_empty() || has_recorded && (self.is_blocked || self.state.has_changes())
    }

    /// Returns whether a session, or a stream of HTTP+SSE, has nothing left to do.
    pub(super) fn is_unused(&mut self, config: &ServerConfig<'_>) -> bool {
        self.state.server(config).open_requests() == 0
            && self.streams.is_only_own()
            && match &self.kind {
                Kind::Alone => false,
                Kind::Sse(_) => self.streams.own.tx.is_idle(),
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
                || !self.streams.is_own(ExchangeId::new(after.stream))
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
                self.streams.of_post(id).and_then(|line| line.exchange.take())
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
