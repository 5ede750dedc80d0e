//! A server with its streams: a session, a stream of HTTP+SSE, or a request that stands alone.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter;
use core::time::Duration;

use mcp_sansio::http::Principal;
use mcp_sansio::http::server::{
    BodyKind, EventId, OutgoingResponse, RecordedPart, ReplayBuffer, ReplayCursor, StreamRecorder,
};
use mcp_sansio::http::sse::ControlEvent;
use mcp_sansio::internal::{Outbox, PendingOutcome, SessionSetting};
use mcp_sansio::{
    ExchangeId, GrowingServerState, Instant, Outcome, RequestHandle, Revision, Server,
    ServerConfig, ServerEvent, TxBuffer,
};

use super::bus::{Fleet, Then};
use super::exchange::{Exchange, KEPT_OUTPUT, SiteBody, SiteResponse, Stage, Untaken};
use super::schedule::{Schedule, SlabKey, Work};
use super::session_id::Id;
use super::{ExchangeKey, Holder, Site, SiteOptions};
use crate::observer::Disconnect;
use crate::places::PeerAddress;

/// A server, and the output of its exchanges.
pub(super) struct Instance<O> {
    pub(super) state: GrowingServerState,
    pub(super) kind: InstanceKind,
    pub(super) principal: Option<Arc<Principal>>,
    /// The address from which a session was opened.
    pub(super) peer: Option<PeerAddress>,
    pub(super) streams: Streams<O>,
    /// The streams with new output, or whose requests may have ended.
    pub(super) touched: Vec<ExchangeId>,
    /// The exchange of the request in each entry of the server's table.
    origins: Vec<ExchangeId>,
    /// The exchanges whose next request waits for the end of another.
    pub(super) awaiting_entry: VecDeque<SlabKey>,
    /// Whether there is room that the application waits for.
    pub(super) has_room: bool,
    /// Whether a timeout waits for room.
    pub(super) is_blocked: bool,
    pub(super) is_unresponsive: bool,
    /// Whether the client has sent `notifications/initialized`.
    pub(super) is_initialized: bool,
}

pub(super) enum InstanceKind {
    /// Ends with its exchange.
    Alone,
    /// HTTP+SSE: ends with the exchange of the stream.
    Sse(Id),
    Session(Session),
}

/// The part of a session that outlives its connections.
pub(super) struct Session {
    /// `None` until `initialize` has succeeded.
    pub(super) id: Option<Id>,
    pub(super) replay: ReplayBuffer<Vec<u8>>,
    /// Position in the replay buffer of the stream of messages that belong to no request.
    pub(super) own_cursor: ReplayCursor,
    /// The latest exchange that took that stream.
    pub(super) holder: Option<SlabKey>,
    /// The exchanges that read the replay buffer, or that of another node.
    pub(super) readers: Vec<SlabKey>,
    pub(super) active: Instant,
    /// The number of the session, in the order of opening.
    pub(super) number: u64,
    /// The number of the stream of messages that belong to no request. No other node of a fleet
    /// has it.
    own_stream: u32,
    last_stream: u32,
    /// The number before that of its first call to the client.
    first_call: u32,
    /// The streams that are resumed at other nodes.
    remote: Vec<RemoteReader>,
    /// The time at which the client has made up for what was passed on to other nodes.
    passed_until: Instant,
    /// The time to send all settings to other nodes: it was too soon for some of them.
    settings_at: Option<Instant>,
}

impl Session {
    /// Copies the output of a stream for the exchange of another node that sends it: it may be
    /// longer than what is recorded.
    fn copy_to_nodes(&mut self, id: ExchangeId, is_own: bool, output: &[u8]) {
        let own_stream = self.own_stream;
        let readers = self.remote.iter_mut().filter(|reader| match is_own {
            _ if reader.is_lost => false,
            true => reader.stream == own_stream,
            false => ExchangeId::new(reader.stream) == id,
        });
        readers.for_each(|reader| reader.events.extend_from_slice(output));
    }
}

impl<O> Instance<O> {
    pub(super) fn new(
        options: &SiteOptions<'_>,
        kind: InstanceKind,
        own: Stream<O>,
        principal: Option<Arc<Principal>>,
    ) -> Self {
        Self {
            state: GrowingServerState::new(options.max_in_flight, options.max_subscriptions),
            kind,
            principal,
            peer: None,
            streams: Streams { own, posts: BTreeMap::new() },
            touched: Vec::new(),
            origins: Vec::new(),
            awaiting_entry: VecDeque::new(),
            has_room: false,
            is_blocked: false,
            is_unresponsive: false,
            is_initialized: false,
        }
    }

    /// Creates the server of a request that stands alone.
    pub(super) fn alone(options: &SiteOptions<'_>) -> Self {
        let own = Stream::new(response_buffer(options, Vec::new()), 0, None);
        Self::new(options, InstanceKind::Alone, own, None)
    }

    /// Begins anew for another request that stands alone. Memory of tables is all that is left.
    pub(super) fn renew(&mut self) {
        let Self {
            state,
            kind,
            principal,
            peer,
            streams,
            touched,
            origins,
            awaiting_entry,
            has_room,
            is_blocked,
            is_unresponsive,
            is_initialized,
        } = self;
        state.renew();
        (*kind, *principal, *peer) = (InstanceKind::Alone, None, None);
        streams.own.clear();
        touched.clear();
        origins.clear();
        awaiting_entry.clear();
        (*has_room, *is_blocked) = (false, false);
        (*is_unresponsive, *is_initialized) = (false, false);
    }

    /// Creates a session that `initialize` has yet to open.
    ///
    /// `own_stream` is the number of its first stream, and `first_call` that before its first call.
    pub(super) fn new_session(
        options: &SiteOptions<'_>,
        now: Instant,
        principal: Option<Arc<Principal>>,
        (own_stream, first_call): (u32, u32),
    ) -> Self {
        let replay = ReplayBuffer::with_limit(Vec::new(), options.replay);
        let session = Session {
            id: None,
            own_cursor: replay.read_stream(own_stream),
            replay,
            holder: None,
            readers: Vec::new(),
            active: now,
            number: 0,
            own_stream,
            last_stream: own_stream,
            first_call,
            remote: Vec::new(),
            passed_until: now,
            settings_at: None,
        };
        let tx = response_buffer(options, Vec::new()).with_event_ids(own_stream);
        let own = Stream::new(tx, own_stream, None);
        Self::new(options, InstanceKind::Session(session), own, principal)
    }

    /// Returns the number of a session, once it has an id.
    pub(super) fn session_number(&self) -> Option<u64> {
        Some(self.session()?.id.as_ref()?.number)
    }

    pub(super) const fn session(&self) -> Option<&Session> {
        if let InstanceKind::Session(session) = &self.kind { Some(session) } else { None }
    }

    /// Returns whether the client may send so many bytes to other nodes, and counts them: all nodes
    /// open each envelope.
    pub(super) fn may_pass(&mut self, now: Instant, len: usize) -> bool {
        let InstanceKind::Session(session) = &mut self.kind else { return false };
        let takes = Duration::from_micros(len as u64).saturating_add(PASS_INTERVAL);
        let until = session.passed_until.max(now).saturating_add(takes);
        let may_pass = until <= now.saturating_add(MAX_AHEAD);
        if may_pass {
            session.passed_until = until;
        }
        may_pass
    }

    /// Sends what the client has set to other nodes, or later all that is set by then.
    pub(super) fn tell_setting(
        &mut self,
        now: Instant,
        fleet: &mut Fleet,
        setting: Option<SessionSetting>,
    ) {
        let Some(number) = self.session_number() else { return };
        if self.may_pass(now, size_of::<SessionSetting>()) {
            fleet.send_settings(number, setting.into_iter());
        } else if let InstanceKind::Session(session) = &mut self.kind {
            session.settings_at.get_or_insert(now.saturating_add(SETTINGS_DELAY));
        }
    }

    /// Returns whether the call of this number is one of this server, open or not.
    pub(super) fn has_made(&mut self, config: &ServerConfig<'_>, call: u32) -> bool {
        let last = self.state.server(config).calls_made();
        self.session().is_some_and(|session| session.first_call < call && call <= last)
    }

    /// Returns whether some event of a stream is here, or will be.
    pub(super) fn has_stream(&self, stream: u32) -> bool {
        let post = self.streams.posts.get(&ExchangeId::new(stream));
        self.session().is_some_and(|session| {
            stream == session.own_stream
                || post.is_some_and(|stream| stream.has_events())
                || session.replay.has_stream(stream)
        })
    }

    /// Returns whose share a session counts in.
    pub(super) fn holder(&self) -> Option<Holder> {
        Holder::of(self.principal.as_ref(), self.peer)
    }

    /// Returns whether it has all that it is known by: not a session before `initialize`.
    pub(super) const fn is_open(&self) -> bool {
        !matches!(&self.kind, InstanceKind::Session(session) if session.id.is_none())
    }

    /// Opens the stream of a POST request, in memory that may be empty.
    pub(super) fn open_stream(
        &mut self,
        config: &ServerConfig<'_>,
        options: &SiteOptions<'_>,
        exchange: SlabKey,
        (memory, spare): (Vec<u8>, Option<Box<Stream<O>>>),
    ) -> ExchangeId {
        let revision = self.state.server(config).legacy_revision();
        let InstanceKind::Session(session) = &mut self.kind else { return ExchangeId::SESSION };
        // Wraps after four billion requests, when the first ones are long finished.
        session.last_stream = session.last_stream.checked_add(1).unwrap_or(1);
        let number = session.last_stream;
        let tx = response_buffer(options, memory);
        let tx = match revision {
            Some(Revision::V2025_11_25) => tx.with_priming_event(number, options.retry),
            _ => tx.with_event_ids(number),
        };
        let id = ExchangeId::new(number);
        let stream = match spare {
            Some(mut stream) => {
                stream.begin(tx, number, Some(exchange));
                stream
            }
            None => Box::new(Stream::new(tx, number, Some(exchange))),
        };
        self.streams.posts.insert(id, stream);
        id
    }

    /// Returns whether an exchange still sends its stream.
    fn sends(&self, id: ExchangeId, exchange: SlabKey) -> bool {
        self.streams.get(id).exchange == Some(exchange)
    }

    pub(super) fn touch(&mut self, id: ExchangeId) {
        touch(&mut self.touched, id);
    }

    /// Remembers the exchange of a request, to find it after its request has ended.
    pub(super) fn opened(&mut self, request: RequestHandle, id: ExchangeId) {
        let index = usize::from(request.index());
        if self.origins.len() <= index {
            self.origins.resize(index + 1, ExchangeId::SESSION);
        }
        if let Some(origin) = self.origins.get_mut(index) {
            *origin = id;
        }
    }

    /// A request has ended without a response of the application.
    pub(super) fn ended(&mut self, request: RequestHandle) {
        let origin = self.origins.get(usize::from(request.index())).copied();
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
            let _ = self.streams.get_mut(id).outbox.keep(request, outcome);
            self.touch(id);
        }
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
            let stream = self.streams.get_mut(id);
            touch(&mut self.touched, id);
            if server.end_listen(listen, &mut stream.outbox.tx).is_err() {
                break;
            }
        }
        if self.state.has_changes() {
            touch(&mut self.touched, ExchangeId::SESSION);
            // Messages that find no room are sent later.
            let _ = self.state.send_changes(config, &mut self.streams.own.outbox.tx);
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
        let outbox = &mut self.streams.get_mut(id).outbox;
        let event = outbox.handle_timeout(&mut server, now, false);
        self.is_blocked = outbox.has_blocked_timeout();
        event
    }

    /// Sends outcomes to the streams that were touched, and records what has no connection. Tells
    /// the exchanges that may go on. Returns whether there is more to do at once: an outcome goes
    /// on, or there is room for what waited.
    pub(super) fn distribute(&mut self, config: &ServerConfig<'_>, schedule: &mut Schedule) -> bool
    where
        O: for<'m> Outcome<Server<'m>>,
    {
        let Self { state, kind, streams, touched, has_room, .. } = self;
        let mut server = state.server(config);
        let mut has_recorded = false;
        touched.retain(|&id| {
            let is_own = streams.is_own(id);
            let stream = streams.get_mut(id);
            let (goes_on, waits) = stream.outbox.send(&mut server);
            let has_output = !stream.outbox.tx.pending().is_empty();
            let is_recorded = stream.exchange.is_none() && has_output;
            if is_recorded {
                if let InstanceKind::Session(session) = kind {
                    session.copy_to_nodes(id, is_own, stream.outbox.tx.pending());
                }
                stream.advance(usize::MAX, kind);
                has_recorded = true;
                stream.waiting.drain(..).for_each(|key| schedule.turn(Work::Exchange(key)));
            }
            if stream.is_awaited && stream.outbox.tx.room() >= stream.outbox.tx.pending().len() {
                (stream.is_awaited, *has_room) = (false, true);
            }
            let is_over = || stream.is_over(|| server.open_requests_of(id));
            let is_cut = stream.is_released || stream.outbox.tx.is_truncated();
            match stream.exchange {
                Some(exchange) if has_output || is_own || is_cut || is_over() => {
                    schedule.ready(exchange);
                }
                None if !is_own && is_over() => {
                    streams.posts.remove(&id);
                    has_recorded = true;
                }
                _ => {}
            }
            goes_on || is_recorded && waits
        });
        if let (InstanceKind::Session(session), true) = (kind, has_recorded) {
            session.readers.iter().for_each(|reader| schedule.ready(*reader));
        }
        !self.touched.is_empty() || has_recorded && (self.is_blocked || self.state.has_changes())
    }

    /// Returns whether a session, or a stream of HTTP+SSE, has nothing left to do.
    pub(super) fn is_unused(&mut self, config: &ServerConfig<'_>) -> bool {
        self.state.server(config).open_requests() == 0
            && self.streams.posts.is_empty()
            && match &self.kind {
                InstanceKind::Alone => false,
                InstanceKind::Sse(_) => self.streams.own.outbox.tx.is_idle(),
                InstanceKind::Session(session) => session.readers.is_empty(),
            }
    }

    /// Begins to send a stream to an exchange: the recorded events, then what follows. Returns the
    /// reader, and the exchange that sent the stream until now.
    pub(super) fn read(
        &mut self,
        key: SlabKey,
        after: Option<EventId>,
    ) -> Option<(Reader, Option<SlabKey>)> {
        let after = after.filter(|after| self.has_stream(after.stream));
        let InstanceKind::Session(session) = &mut self.kind else { return None };
        session.readers.push(key);
        let (stream, cursor) = match after {
            Some(after) => (after.stream, session.replay.read_after(after)),
            None => (session.own_stream, session.own_cursor),
        };
        // The client has one connection for each stream.
        session.remote.retain(|other| other.stream != stream);
        let before = match self.streams.posts.get_mut(&ExchangeId::new(stream)) {
            Some(post) => {
                post.is_released = false;
                post.exchange.replace(key)
            }
            None if stream == session.own_stream => session.holder.replace(key),
            // Nothing follows.
            None => None,
        };
        Some((Reader { stream, cursor, part: None, is_ending: false, has_ended: false }, before))
    }

    /// Returns whether another exchange has begun to send the stream of a reader.
    fn is_replaced(&self, key: SlabKey, reader: &Reader) -> bool {
        match (self.streams.posts.get(&ExchangeId::new(reader.stream)), self.session()) {
            (Some(post), _) => post.exchange != Some(key),
            (None, Some(session)) if reader.stream == session.own_stream => {
                session.holder != Some(key)
            }
            (None, _) => false,
        }
    }

    /// Looks for the next recorded part. Returns the stream of a request if there is none, so that
    /// the exchange goes on with what the server writes: a response may be longer than what is
    /// recorded.
    fn catch_up(&mut self, key: SlabKey, reader: &mut Reader) -> Option<ExchangeId> {
        let InstanceKind::Session(session) = &mut self.kind else { return None };
        if reader.part.is_none() {
            let part = session.replay.find_part(&mut reader.cursor).ok()?;
            reader.part = part.map(|part| (part, 0));
        }
        let id = ExchangeId::new(reader.stream);
        let post = self.streams.posts.get(&id).filter(|post| post.exchange == Some(key))?;
        // If the start of an event is recorded no more, nothing can be made of its rest.
        let is_next =
            reader.part.is_none() && reader.cursor.is_mid_event() == post.recorder.is_mid_event();
        if is_next {
            session.readers.retain(|reader| *reader != key);
        }
        is_next.then_some(id)
    }

    /// Begins to send the recorded events of a stream to an exchange of another node, if the stream
    /// is here. Returns the exchange that has sent it.
    pub(super) fn read_for(&mut self, node: u64, exchange: u64, after: EventId) -> Option<SlabKey> {
        if !self.has_stream(after.stream) {
            return None;
        }
        let InstanceKind::Session(session) = &mut self.kind else { return None };
        if session.remote.iter().any(|other| (other.node, other.exchange) == (node, exchange)) {
            return None;
        }
        let (stream, mut cursor) = (after.stream, session.replay.read_after(after));
        let mut events = Vec::new();
        while let Ok(Some(parts)) = session.replay.next_part(&mut cursor) {
            parts.iter().for_each(|part| events.extend_from_slice(part));
        }
        let goes_on = self.streams.of_number(stream, session.own_stream);
        let is_mid_event = goes_on.is_some_and(|stream| stream.recorder.is_mid_event());
        // If the start of an event is recorded no more, nothing can be made of its rest.
        let is_lost = is_mid_event != cursor.is_mid_event();
        // The client has one connection for each stream.
        session.remote.retain(|other| other.stream != stream);
        let reader =
            RemoteReader { node, exchange, stream, events, sent: 0, is_lost, has_ended: false };
        session.remote.push(reader);
        if stream == session.own_stream {
            return None;
        }
        // The stream of a request goes on without its exchange.
        let id = ExchangeId::new(stream);
        touch(&mut self.touched, id);
        self.streams.posts.get_mut(&id).and_then(|stream| stream.exchange.take())
    }

    /// Sends the events that other nodes have asked for, in envelopes of at most so many bytes, and
    /// all settings if it is time. Returns that time.
    pub(super) fn send_to_nodes(
        &mut self,
        config: &ServerConfig<'_>,
        now: Instant,
        fleet: &mut Fleet,
        limit: usize,
    ) -> Option<Instant> {
        let number = self.session_number()?;
        let InstanceKind::Session(session) = &mut self.kind else { return None };
        let Session { replay, remote, own_stream, own_cursor, settings_at, .. } = session;
        if settings_at.take_if(|at| *at <= now).is_some() {
            let server = self.state.server(config);
            let all = iter::once(SessionSetting::NONE).chain(SessionSetting::all_of(&server));
            fleet.send_settings(number, all);
        }
        for reader in &mut *remote {
            if reader.events.len() > limit {
                // The client asks for what is left.
                reader.events.clear();
                reader.is_lost = true;
            }
            let then = match self.streams.of_number(reader.stream, *own_stream) {
                None => Then::Ended,
                Some(_) if reader.is_lost => Then::Ended,
                Some(stream) if stream.recorder.is_mid_event() => continue,
                Some(_) if reader.stream == *own_stream => {
                    while let Ok(Some(_)) = replay.find_part(own_cursor) {}
                    Then::Own
                }
                Some(_) => Then::More,
            };
            reader.has_ended = !matches!(then, Then::More);
            if reader.has_ended || reader.sent == 0 || !reader.events.is_empty() {
                fleet.send_events(number, reader, then);
            }
        }
        remote.retain(|reader| !reader.has_ended);
        *settings_at
    }

    /// An exchange no longer sends a stream of a request.
    fn stop_sending(&mut self, key: SlabKey, stream: u32) {
        let id = ExchangeId::new(stream);
        if let Some(stream) = self.streams.posts.get_mut(&id) {
            stream.exchange.take_if(|exchange| *exchange == key);
            touch(&mut self.touched, id);
        }
    }

    /// An exchange no longer reads the recorded events.
    fn stop_reading(&mut self, key: SlabKey, now: Instant) {
        if let InstanceKind::Session(session) = &mut self.kind {
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

    const fn ends(&self) -> bool {
        self.is_ending && !self.is_mid_event()
    }
}

/// An exchange of another node that sends a stream.
pub(super) struct RemoteReader {
    pub(super) node: u64,
    /// The key of the exchange there.
    pub(super) exchange: u64,
    stream: u32,
    /// Those that are not sent yet, the last one perhaps in part.
    pub(super) events: Vec<u8>,
    /// Number of envelopes so far.
    pub(super) sent: u64,
    /// Whether it lacks an event, or the start of one.
    is_lost: bool,
    has_ended: bool,
}

/// Creates the buffer of a response, in memory that may be empty.
pub(super) fn response_buffer(options: &SiteOptions<'_>, memory: Vec<u8>) -> TxBuffer<Vec<u8>> {
    TxBuffer::for_http_response(memory, options.max_pending)
}

pub(super) fn touch(touched: &mut Vec<ExchangeId>, id: ExchangeId) {
    if touched.last() != Some(&id) {
        touched.push(id);
    }
}

/// The output of a server, by exchange.
pub(super) struct Streams<O> {
    /// The only stream, except in a session: there, that of messages that belong to no request.
    pub(super) own: Stream<O>,
    /// The streams of the POST requests of a session. In boxes, since the map keeps memory for
    /// several entries.
    posts: BTreeMap<ExchangeId, Box<Stream<O>>>,
}

impl<O> Streams<O> {
    /// Returns the stream of an exchange.
    pub(super) fn get(&self, id: ExchangeId) -> &Stream<O> {
        self.posts.get(&id).map_or(&self.own, |stream| stream)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> &mut Stream<O> {
        self.posts.get_mut(&id).map_or(&mut self.own, |stream| stream)
    }

    /// Returns the stream of a number that was given out, unless it has ended. `own` is the number
    /// of that which belongs to no request.
    fn of_number(&self, number: u32, own: u32) -> Option<&Stream<O>> {
        let post = self.posts.get(&ExchangeId::new(number)).map(|stream| &**stream);
        post.or((number == own).then_some(&self.own))
    }

    /// Returns whether the output of an exchange goes to the stream that belongs to no request.
    pub(super) fn is_own(&self, id: ExchangeId) -> bool {
        !self.posts.contains_key(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream<O>> {
        self.posts.values().map(|stream| &**stream).chain([&self.own])
    }
}

pub(super) struct Stream<O> {
    pub(super) outbox: Outbox<Vec<u8>, VecDeque<PendingOutcome<O>>>,
    pub(super) recorder: StreamRecorder,
    /// The exchange that sends it. `None`: it is only recorded.
    pub(super) exchange: Option<SlabKey>,
    /// The exchanges whose messages wait for room.
    pub(super) waiting: Vec<SlabKey>,
    /// The one whose message has a response that is written in part.
    pub(super) writer: Option<SlabKey>,
    /// Whether all messages of its exchange have been handled.
    pub(super) is_taken: bool,
    /// Whether its connection is to be closed although it goes on.
    pub(super) is_released: bool,
    /// Whether the application waits for room.
    pub(super) is_awaited: bool,
}

impl<O> Stream<O> {
    pub(super) fn new(tx: TxBuffer<Vec<u8>>, number: u32, exchange: Option<SlabKey>) -> Self {
        Self {
            outbox: Outbox::new(tx),
            recorder: StreamRecorder::new(number),
            exchange,
            waiting: Vec::new(),
            writer: None,
            is_taken: false,
            is_released: false,
            is_awaited: false,
        }
    }

    /// Forgets all but memory.
    pub(super) fn clear(&mut self) {
        self.outbox.clear();
        self.waiting.clear();
        (self.exchange, self.writer) = (None, None);
        (self.is_taken, self.is_released, self.is_awaited) = (false, false, false);
    }

    /// Begins anew after [`clear`](Self::clear).
    pub(super) fn begin(&mut self, tx: TxBuffer<Vec<u8>>, number: u32, exchange: Option<SlabKey>) {
        self.outbox.tx = tx;
        (self.recorder, self.exchange) = (StreamRecorder::new(number), exchange);
    }

    /// Returns whether its response is an event stream.
    fn has_events(&self) -> bool {
        self.outbox.tx.http_response().is_some_and(|head| head.body == BodyKind::EventStream)
    }

    /// Removes bytes that were sent, and records them if they can be resumed.
    pub(super) fn advance(&mut self, n: usize, kind: &mut InstanceKind) {
        if let (InstanceKind::Session(session), true) = (kind, self.has_events()) {
            let pending = self.outbox.tx.pending();
            session.replay.record(&mut self.recorder, pending.get(..n).unwrap_or(pending));
        }
        self.outbox.tx.advance(n);
    }

    /// Returns whether there is no more output, and will be none. `open` counts the open requests:
    /// outcomes of others are not sent.
    pub(super) fn is_over(&self, open: impl FnOnce() -> usize) -> bool {
        self.is_taken
            && (self.outbox.tx.is_idle() && open() == 0
                || self.outbox.tx.is_truncated() && self.outbox.tx.pending().is_empty())
    }
}

// Output of an exchange, and its end.

impl<O> Site<'_, O> {
    /// Returns the head of the response, once it is decided.
    pub fn response(&mut self, exchange: ExchangeKey) -> Option<SiteResponse<'_>> {
        let key = exchange.0;
        let exchange = self.exchanges.get_mut(key)?;
        if exchange.sent.is_none() {
            exchange.sent = match &exchange.stage {
                Stage::Reply(head, body) => Some((*head, Some(body.len()))),
                Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                    match self.instances.get_mut(*owner) {
                        Some(instance) if instance.sends(*id, key) => {
                            instance.decided(self.config, *id, exchange.has_fault)
                        }
                        // It has a turn in which it is refused, or ends.
                        None if matches!(exchange.stage, Stage::Messages(..)) => None,
                        // Ended, or another exchange has resumed the stream.
                        _ => Some((OutgoingResponse::EVENT_STREAM, None)),
                    }
                }
                Stage::Replay(..) | Stage::Relay(..) | Stage::Ended => {
                    Some((OutgoingResponse::EVENT_STREAM, None))
                }
                _ => None,
            };
        }
        if exchange.sent.is_none() {
            let stream = exchange.stage.stream();
            await_output(&mut self.schedule, key, stream, &mut exchange.is_asked);
        }
        let (head, length) = exchange.sent?;
        Some(SiteResponse { head, length, fields: &exchange.fields })
    }

    /// Returns the next part of the body. It may be empty from the beginning.
    pub fn body(&mut self, exchange: ExchangeKey) -> SiteBody<'_> {
        let key = exchange.0;
        let Self { config, options, exchanges, instances, schedule, closing, .. } = self;
        let Some(exchange) = exchanges.get_mut(key) else { return SiteBody::End };
        let Exchange { stage, control, untaken, is_asked, sent, .. } = exchange;
        if let Stage::Replay(owner, reader) = stage
            && let Some(instance) = instances.get_mut(*owner)
        {
            reader.is_ending |= closing.is_some() || instance.is_replaced(key, reader);
            if !reader.ends()
                && let Some(id) = instance.catch_up(key, reader)
            {
                *stage = Stage::Stream(*owner, id);
            }
        }
        let stream = stage.stream();
        let body = match stage {
            _ if !control.is_empty() => SiteBody::Piece(control),
            Stage::Reply(_, body) if body.is_empty() => SiteBody::End,
            Stage::Reply(_, body) => SiteBody::Piece(body),
            Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                match instances.get_mut(*owner) {
                    Some(found) if found.sends(*id, key) => found.streamed(config, *id),
                    _ => ended(*sent),
                }
            }
            Stage::Replay(owner, reader) => match instances.get_mut(*owner) {
                None => SiteBody::End,
                Some(instance) => {
                    let ends = reader.ends();
                    let is_first = ends && !core::mem::replace(&mut reader.has_ended, true);
                    let revision = instance.state.server(config).legacy_revision();
                    if is_first && revision == Some(Revision::V2025_11_25) {
                        let retry = u32::try_from(options.retry.as_millis()).unwrap_or(u32::MAX);
                        *control = self::control(ControlEvent::Retry(retry));
                        SiteBody::Piece(control)
                    } else if ends {
                        SiteBody::End
                    } else if instance.is_replaced(key, reader) {
                        // The other one sends the whole event.
                        SiteBody::Cut
                    } else {
                        instance.replayed(key, reader)
                    }
                }
            },
            Stage::Relay(owner, _) if instances.get(*owner).is_none() => SiteBody::End,
            Stage::Ended => ended(*sent),
            _ => SiteBody::Pending,
        };
        if !matches!(body, SiteBody::Piece(_)) {
            *untaken = None;
        }
        if body == SiteBody::Pending {
            await_output(schedule, key, stream, is_asked);
        }
        body
    }

    /// Records that the first `n` bytes of the last [`SiteBody::Piece`] were sent.
    pub fn wrote(&mut self, now: Instant, exchange: ExchangeKey, n: usize) {
        let key = exchange.0;
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.silent_until = now.saturating_add(self.options.keep_alive);
        if let Some(untaken) = &mut exchange.untaken {
            untaken.taken = untaken.taken.saturating_add(n);
            if untaken.taken >= LEAST_TAKEN {
                *untaken = Untaken::new(now, &self.options);
            }
        }
        if !exchange.control.is_empty() {
            exchange.control.drain(..n.min(exchange.control.len()));
            return;
        }
        let is_asked = exchange.is_asked;
        match &mut exchange.stage {
            Stage::Reply(_, body) => drop(body.drain(..n.min(body.len()))),
            Stage::Replay(owner, reader) => {
                if let Some((part, sent)) = &mut reader.part {
                    *sent = sent.saturating_add(n);
                    if *sent >= part.len {
                        reader.part = None;
                    }
                }
                if let Some(instance) = self.instances.get_mut(*owner) {
                    instance.keep_position(key, reader);
                }
            }
            Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                let (owner, id) = (*owner, *id);
                let Some(instance) = self.instances.get_mut(owner) else { return };
                if !instance.sends(id, key) {
                    // The other exchange sends them.
                    return;
                }
                let Instance { streams, kind, .. } = &mut **instance;
                let stream = streams.get_mut(id);
                stream.advance(n, kind);
                let is_awaited = stream.is_awaited || stream.outbox.has_blocked_outcome();
                let waiting = core::mem::take(&mut stream.waiting);
                let was_blocked = core::mem::take(&mut instance.is_blocked);
                let waits = is_awaited || was_blocked || instance.state.has_changes();
                if waits || !is_asked || self.closing.is_some() {
                    instance.touch(id);
                    self.schedule.turn(Work::Instance(owner));
                }
                waiting.into_iter().for_each(|key| self.schedule.turn(Work::Exchange(key)));
            }
            _ => {}
        }
    }

    /// Begins to measure how long the output of an exchange waits for its connection.
    pub(super) fn await_taking(&mut self, key: SlabKey, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let is_measured = self.options.write_timeout < Duration::MAX
            && exchange.untaken.is_none()
            && !exchange.stage.is_awaited();
        if is_measured {
            let untaken = exchange.untaken.insert(Untaken::new(now, &self.options));
            let until = untaken.until;
            self.schedule.wake_at(Work::Exchange(key), until);
        }
    }

    /// Forgets an exchange: its response is sent, or its connection is lost. Then a request that
    /// stands alone is cancelled, and one of a session goes on, with the rest of its batch: its
    /// client can resume the stream.
    pub fn close(&mut self, now: Instant, exchange: ExchangeKey) {
        let key = exchange.0;
        if self.goes_on(key, now, true) {
            return;
        }
        self.leave(key, now);
        self.free_body(key);
        self.leave_streams(key);
        let Some(exchange) = self.exchanges.remove(key) else { return };
        self.schedule.set_timer(Work::Exchange(key), None);
        if exchange.has_place {
            self.counts.exchanges.give_back(1, exchange.holder.as_ref());
        }
    }

    /// Lets messages of a session that are yet to be handled have no connection, and one of
    /// HTTP+SSE that has begun: it is closed, or does not take the output. Returns whether there
    /// are any.
    pub(super) fn goes_on(&mut self, key: SlabKey, now: Instant, is_closed: bool) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        let Stage::Messages(owner, id) = exchange.stage else { return false };
        let Some(instance) = self.instances.get_mut(owner) else { return false };
        match &mut instance.kind {
            InstanceKind::Session(Session { id: Some(_), active, .. }) => *active = now,
            InstanceKind::Sse(_) if exchange.is_begun => {}
            _ => return false,
        }
        let id = id.unwrap_or(ExchangeId::SESSION);
        exchange.is_unconnected = is_closed;
        (exchange.is_asked, exchange.untaken) = (false, None);
        instance.streams.get_mut(id).exchange.take_if(|exchange| *exchange == key);
        instance.touch(id);
        self.schedule.ready(key);
        self.schedule.turn(Work::Instance(owner));
        true
    }

    /// Separates an exchange from its instance.
    pub(super) fn leave(&mut self, key: SlabKey, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let was = core::mem::replace(&mut exchange.stage, Stage::Ended);
        match was {
            Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                let Some(instance) = self.instances.get_mut(owner) else { return };
                let InstanceKind::Session(Session { id: Some(_), active, readers, .. }) =
                    &mut instance.kind
                else {
                    return self.end_instance(owner, Disconnect::Closed);
                };
                *active = now;
                let is_read = !readers.is_empty();
                if let Some(stream) = instance.streams.posts.get_mut(&id) {
                    stream.exchange.take_if(|exchange| *exchange == key);
                    (stream.is_taken, stream.is_released) = (true, false);
                }
                let is_over = !instance.streams.is_own(id) && instance.is_over(self.config, id);
                if is_over && !is_read && self.closing.is_none() {
                    if let Some(mut stream) = instance.streams.posts.remove(&id) {
                        stream.clear();
                        self.spare_output.keep(stream.outbox.tx.take_storage(), KEPT_OUTPUT);
                        self.spare_stream = Some(stream);
                    }
                    let idle = now.saturating_add(self.options.idle_timeout);
                    self.schedule.wake_at(Work::Instance(owner), idle);
                } else {
                    instance.touch(id);
                    self.schedule.turn(Work::Instance(owner));
                }
            }
            Stage::Refused(owner) => self.end_instance(owner, Disconnect::Closed),
            Stage::Replay(owner, _) | Stage::Relay(owner, _) => {
                if let Some(instance) = self.instances.get_mut(owner) {
                    if let Stage::Replay(_, reader) = was {
                        instance.stop_sending(key, reader.stream);
                    }
                    instance.stop_reading(key, now);
                    self.schedule.turn(Work::Instance(owner));
                }
            }
            _ => {}
        }
    }

    /// Adds a comment to a silent event stream, and sets the timer for the next one.
    pub(super) fn keep_alive(&mut self, key: SlabKey, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        if exchange.silent_until <= now {
            exchange.silent_until = now.saturating_add(self.options.keep_alive);
            let is_between_events = match &exchange.stage {
                Stage::Stream(owner, id) => self
                    .instances
                    .get(*owner)
                    .is_some_and(|found| found.streams.get(*id).outbox.tx.is_idle()),
                Stage::Replay(_, reader) => !reader.is_mid_event(),
                Stage::Relay(..) => true,
                _ => false,
            };
            let is_events =
                exchange.sent.is_some_and(|(head, _)| head.body == BodyKind::EventStream);
            if is_between_events && is_events && exchange.control.is_empty() {
                exchange.control = control(ControlEvent::Comment);
                self.schedule.ready(key);
            }
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        // What lasts has no memory that it does not need.
        if let Stage::Stream(owner, id) = exchange.stage
            && let Some(instance) = self.instances.get_mut(owner)
            && let tx = &mut instance.streams.get_mut(id).outbox.tx
            && tx.is_idle()
        {
            self.spare_output.keep(tx.take_storage(), KEPT_OUTPUT);
        }
        let untaken = exchange.untaken.as_ref().map(|untaken| untaken.until);
        let relay = match &exchange.stage {
            Stage::Relay(_, relay) => Some(relay.until),
            _ => None,
        };
        let due = [exchange.expires, untaken, relay].into_iter().flatten();
        let due = due.fold(exchange.silent_until, Instant::min);
        self.schedule.set_timer(Work::Exchange(key), Some(due));
    }
}

impl Untaken {
    const fn new(now: Instant, options: &SiteOptions<'_>) -> Self {
        Self { until: now.saturating_add(options.write_timeout), taken: 0 }
    }
}

/// Does for an exchange with a single call what the handling of the next message does for others,
/// since it lasts: its body is freed, and its stream kept alive.
fn await_output(
    schedule: &mut Schedule,
    key: SlabKey,
    stream: Option<SlabKey>,
    is_asked: &mut bool,
) {
    if core::mem::take(is_asked)
        && let Some(owner) = stream
    {
        schedule.turn(Work::Instance(owner));
        schedule.turn(Work::Exchange(key));
    }
}

/// Returns the end of a response of which nothing more comes. An event stream may end at any time.
fn ended(sent: Option<(OutgoingResponse, Option<usize>)>) -> SiteBody<'static> {
    match sent {
        Some((head, _)) if head.body == BodyKind::Json => SiteBody::Cut,
        _ => SiteBody::End,
    }
}

impl<O> Instance<O> {
    /// Returns the head of a response that a server writes, once it is decided.
    fn decided(
        &mut self,
        config: &ServerConfig<'_>,
        id: ExchangeId,
        has_fault: bool,
    ) -> Option<(OutgoingResponse, Option<usize>)> {
        if matches!(&self.kind, InstanceKind::Session(session) if session.id.is_none())
            && self.state.server(config).legacy_revision().is_some()
        {
            // The id of the session is yet to be added.
            return None;
        }
        let tx = &self.streams.get(id).outbox.tx;
        match tx.http_response() {
            Some(head) => {
                let is_whole =
                    head.body == BodyKind::Json && !tx.is_mid_frame() && !tx.is_truncated();
                Some((head, is_whole.then_some(tx.pending().len())))
            }
            None if !self.is_over(config, id) => None,
            None if has_fault => Some((OutgoingResponse::empty(400), Some(0))),
            None => Some((OutgoingResponse::ACCEPTED, Some(0))),
        }
    }

    /// Returns the next part of a stream that the server writes now.
    fn streamed(&mut self, config: &ServerConfig<'_>, id: ExchangeId) -> SiteBody<'_> {
        let stream = self.streams.get(id);
        let tx = &stream.outbox.tx;
        let is_released = stream.is_released && !tx.is_mid_frame();
        match (tx.pending().is_empty(), tx.is_truncated()) {
            (false, _) => SiteBody::Piece(self.streams.get(id).outbox.tx.pending()),
            (true, true) => SiteBody::Cut,
            _ if is_released || self.is_over(config, id) => SiteBody::End,
            _ => SiteBody::Pending,
        }
    }

    /// Returns the next part of what was recorded of a stream.
    fn replayed(&mut self, key: SlabKey, reader: &mut Reader) -> SiteBody<'_> {
        self.keep_position(key, reader);
        let Some(session) = self.session() else { return SiteBody::End };
        let Some((part, sent)) = reader.part else {
            return match session.replay.find_part(&mut reader.cursor) {
                Ok(_) if reader.stream == session.own_stream => SiteBody::Pending,
                // The stream of a request ends with its response.
                Ok(_) if self.streams.is_own(ExchangeId::new(reader.stream)) => SiteBody::End,
                _ => SiteBody::Cut,
            };
        };
        let Ok([one, other]) = session.replay.bytes_of(part) else { return SiteBody::Cut };
        match one.get(sent..) {
            Some(rest) if !rest.is_empty() => SiteBody::Piece(rest),
            _ => other.get(sent - one.len()..).map_or(SiteBody::End, SiteBody::Piece),
        }
    }

    /// Remembers how far the messages that belong to no request were sent, event by event.
    fn keep_position(&mut self, key: SlabKey, reader: &Reader) {
        if let InstanceKind::Session(session) = &mut self.kind
            && reader.stream == session.own_stream
            && session.holder == Some(key)
            && !reader.is_mid_event()
        {
            session.own_cursor = reader.cursor;
        }
    }
}

/// Minimum number of bytes that a connection takes in [`SiteOptions::write_timeout`].
const LEAST_TAKEN: usize = 4 << 10;
/// Time that an envelope of a client takes beside a microsecond for each of its bytes.
const PASS_INTERVAL: Duration = Duration::from_millis(4);
/// How far a client may be ahead with them.
const MAX_AHEAD: Duration = Duration::from_secs(4);
/// Time after which the settings of a client that is too far ahead are sent, all in one envelope.
const SETTINGS_DELAY: Duration = Duration::from_secs(1);

pub(super) fn control(event: ControlEvent<'_>) -> Vec<u8> {
    let text = if let ControlEvent::Endpoint(uri) = event { uri.len() } else { 0 };
    let mut bytes = alloc::vec![0; 64 + text];
    let len = event.write(&mut bytes).unwrap_or(0);
    bytes.truncate(len);
    bytes
}
