//! Client state machine for all revisions.

mod call;
mod event;
mod receive;
#[cfg(feature = "tasks")]
mod task;

pub use call::{InputRequired, InputResponseParams};
pub use event::{
    CallOptions, CallOutcome, Changed, ClientConfig, ClientEvent, ConnectError, Connected,
    ServerRequest,
};
#[cfg(feature = "tasks")]
pub use task::{PollStep, TaskGone, TaskPoll};

use core::time::Duration;

use crate::buffers::tx::{Tx, WriterId};
use crate::encode::object;
use crate::json::RawJson;
use crate::message::{Id, OwnedId};
use crate::progress::Reported;
use crate::protocol::error::{ErrorCode, NotAllowed, SendError, SendResult, Violation, require};
use crate::protocol::{ClientFeatures, Era, Revision, Revisions, ServerFeatures};
#[cfg(feature = "alloc")]
use crate::rpc::inflight::GrowingTable;
use crate::rpc::inflight::{Call, Keyed, RequestHandle, Slot, Table, TableState};
use crate::rpc::{PeerError, RpcError, write_error};
use crate::time::Instant;
use call::NewCall;

/// The client's side of one connection: a view of its [`ClientState`], made with
/// [`ClientState::client`] for one call or for many.
///
/// [`connect`](Self::connect) finds out which revision the server uses and reports
/// [`ClientEvent::Connected`]; from then on [`request`](Self::request) sends calls.
#[derive(Debug)]
pub struct Client<'s> {
    config: &'s ClientConfig<'s>,
    calls: Table<'s, InflightCall>,
    requests: Table<'s, InflightRequest>,
    /// Ids of abandoned calls: responses to them are ignored.
    abandoned_ids: AbandonedIds<'s>,
    peer: &'s mut Peer,
}

/// Facts about the server that the connection has established.
#[derive(Debug)]
struct Peer {
    phase: Phase,
    /// The revision of the `initialize` that is partly written.
    offering: Revision,
    /// Era of the server, found out or set. Outlives the connection.
    era: Option<Era>,
    /// The id of the latest call. Never decreases, not even with a new connection.
    calls_made: u32,
    /// Time of the last message of the server.
    last_received: Instant,
}

impl Peer {
    const UNKNOWN: Self = Self {
        phase: Phase::Closed,
        offering: Revision::V2024_11_05,
        era: None,
        calls_made: 0,
        last_received: Instant::from_millis(0),
    };
}

/// State of the connection. The first one is all zeros.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Phase {
    Closed,
    /// `server/discover` was sent.
    Probing,
    /// `initialize` was sent, with this revision.
    Initializing(Revision),
    Open(Connection),
}

/// Result of `initialize` or `server/discover`.
#[derive(Clone, Copy, Debug)]
struct Connection {
    revision: Revision,
    /// Of the server; `None` if the era was set and the server not probed.
    capabilities: Option<ServerFeatures>,
}

impl<'s> Client<'s> {
    /// Returns a shorter-lived view, for a function that takes a client by value.
    pub fn reborrow(&mut self) -> Client<'_> {
        Client {
            config: self.config,
            calls: self.calls.reborrow(),
            requests: self.requests.reborrow(),
            abandoned_ids: AbandonedIds(self.abandoned_ids.0),
            peer: self.peer,
        }
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &'s ClientConfig<'s> {
        self.config
    }

    /// Whether the client is connected, so that calls can be made.
    pub fn is_open(&self) -> bool {
        self.connection().is_some()
    }

    /// Returns the revision in use; `None` while the client is not connected.
    pub fn revision(&self) -> Option<Revision> {
        self.connection().map(|session| session.revision)
    }

    /// Returns the capabilities that the server declared. `None` while the client is not connected,
    /// and if the era was [set](Self::set_era) and the server not probed.
    pub fn server_capabilities(&self) -> Option<ServerFeatures> {
        self.connection()?.capabilities
    }

    /// Returns the era of the server, once it is known. Applications may store it and
    /// [set](Self::set_era) it next time.
    pub fn era(&self) -> Option<Era> {
        self.peer.era
    }

    /// Sets the era of the server, so that [`connect`](Self::connect) does not probe it
    /// (2026-07-28, basic/versioning: the result of a probe may be kept). `None`: probe. The
    /// capabilities of a modern server stay unknown then. If the server turns out to be of the
    /// other era, set that and connect again.
    pub fn set_era(&mut self, era: Option<Era>) {
        self.peer.era = era;
    }

    /// Returns the number of calls in flight, those that open the connection included.
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of requests of the server that have no response yet.
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether the call is still in flight.
    pub fn is_call_open(&self, call: Call) -> bool {
        self.calls.get(call.0).is_some()
    }

    /// Whether the request of the server has no response yet.
    pub fn is_request_open(&self, request: RequestHandle) -> bool {
        self.requests.get(request.0).is_some()
    }

    /// Returns the id of the call on the wire, which is its progress token too.
    pub fn id(&self, call: Call) -> Option<u32> {
        self.calls.get(call.0).map(|outgoing| outgoing.number)
    }

    fn connection(&self) -> Option<Connection> {
        if let Phase::Open(session) = self.peer.phase { Some(session) } else { None }
    }

    /// Revision that the next message is written in.
    fn current_revision(&self) -> Revision {
        match self.peer.phase {
            Phase::Open(session) => session.revision,
            Phase::Initializing(offered) => offered,
            Phase::Closed | Phase::Probing => Revision::LATEST,
        }
    }

    /// Capabilities that were declared to the server, as far as its revision has them.
    fn declared(&self) -> ClientFeatures {
        self.config.capabilities.known_in(self.current_revision())
    }
}

/// The memory of a [`Client`]: up to `N` open calls, and up to `N` open requests of the server.
///
/// One value is one id space: use one per child process, connection or server URL. It is all zeros
/// at first, so that a `static` takes no flash.
///
/// ```
/// # use mcp_sansio::{ClientConfig, ClientFeatures, ClientState, types::Implementation};
/// static CONFIG: ClientConfig =
///     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
/// let mut state: ClientState<2> = ClientState::new();
/// let client = state.client(&CONFIG);
/// assert!(!client.is_open());
/// ```
///
/// Memory on a 32-bit target: about 210 bytes for each of `N`, and 60 more.
#[derive(Debug)]
pub struct ClientState<const N: usize = 8> {
    calls: TableState<InflightCall, N>,
    requests: TableState<InflightRequest, N>,
    abandoned_ids: [u32; N],
    peer: Peer,
}

impl<const N: usize> ClientState<N> {
    /// Creates the memory of a client that is not connected.
    pub const fn new() -> Self {
        Self {
            calls: TableState::new(),
            requests: TableState::new(),
            abandoned_ids: [0; N],
            peer: Peer::UNKNOWN,
        }
    }

    /// Returns the client. Each view of a state must have the same configuration.
    #[inline]
    pub fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s> {
        Client {
            config,
            calls: self.calls.table(),
            requests: self.requests.table(),
            abandoned_ids: AbandonedIds(&mut self.abandoned_ids),
            peer: &mut self.peer,
        }
    }
}

crate::text::default_is_new!([const N: usize] ClientState<N>);

/// The memory of a [`Client`] on the heap, which grows up to a limit. For the rest as
/// [`ClientState`].
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct GrowingClientState {
    calls: GrowingTable<InflightCall>,
    requests: GrowingTable<InflightRequest>,
    abandoned_ids: alloc::vec::Vec<u32>,
    peer: Peer,
}

#[cfg(feature = "alloc")]
impl GrowingClientState {
    /// Creates the memory of a client with up to `calls` open calls, and as many open requests of
    /// the server: at most 65,534.
    pub const fn new(calls: u16) -> Self {
        Self {
            calls: GrowingTable::new(calls),
            requests: GrowingTable::new(calls),
            abandoned_ids: alloc::vec::Vec::new(),
            peer: Peer::UNKNOWN,
        }
    }

    /// Returns the client, whose tables have room for one more call and one more request, if the
    /// limit allows. Each view of a state must have the same configuration.
    #[inline]
    pub fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s> {
        let calls = self.calls.table(2);
        if self.abandoned_ids.len() < calls.capacity() {
            self.abandoned_ids.resize(calls.capacity(), 0);
        }
        Client {
            config,
            calls,
            requests: self.requests.table(2),
            abandoned_ids: AbandonedIds(&mut self.abandoned_ids),
            peer: &mut self.peer,
        }
    }
}

// Entries of the tables: calls to the server and requests of the server.

/// A call in flight.
#[derive(Clone, Copy, Debug)]
struct InflightCall {
    /// The id, and the progress token.
    number: u32,
    kind: CallKind,
    /// Number of retries with input.
    round: u8,
    may_require_input: bool,
    wants_progress: bool,
    /// Whether the result may be a task.
    #[cfg(feature = "tasks")]
    task_result: task::TaskResult,
    /// Time without progress after which the call is cancelled.
    timeout: Duration,
    /// Time at which the call is cancelled whatever its progress.
    limit: Instant,
}

impl InflightCall {
    /// Whether the result may create a task.
    const fn may_create_task(&self) -> bool {
        #[cfg(feature = "tasks")]
        return matches!(self.task_result, task::TaskResult::Optional | task::TaskResult::Always);
        #[cfg(not(feature = "tasks"))]
        return false;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallKind {
    /// A call of the application.
    Application,
    /// `subscriptions/listen`.
    Listen { acknowledged: bool },
    /// `server/discover` or `initialize`.
    Connect,
    /// `ping`.
    KeepAlive,
}

impl Keyed for InflightCall {
    const EMPTY: Self = Self {
        number: 0,
        // `Application` is not zero.
        kind: CallKind::Listen { acknowledged: false },
        round: 0,
        may_require_input: false,
        wants_progress: false,
        #[cfg(feature = "tasks")]
        task_result: task::TaskResult::Never,
        timeout: Duration::ZERO,
        limit: Instant::from_millis(0),
    };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}

/// A request of the server.
#[derive(Debug)]
struct InflightRequest {
    id: OwnedId,
    /// Empty when the server did not request progress notifications.
    token: OwnedId,
    reported: Reported,
}

impl Keyed for InflightRequest {
    const EMPTY: Self =
        Self { id: OwnedId::EMPTY, token: OwnedId::EMPTY, reported: Reported::EMPTY };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.matches(&self.id)
    }
}

/// Ids of the latest abandoned calls, whose responses are ignored. Zero where empty: no call has
/// that id. Where there are tasks, the lowest bit says whether the call may create one.
#[derive(Debug)]
struct AbandonedIds<'s>(&'s mut [u32]);

impl AbandonedIds<'_> {
    const TASK_BIT: u32 = cfg!(feature = "tasks") as u32;

    /// Adds an id, in place of the oldest, which is the smallest.
    fn add(&mut self, number: u32, may_be_task: bool) {
        if let Some(oldest) = self.0.iter_mut().min() {
            *oldest = number << Self::TASK_BIT | u32::from(may_be_task);
        }
    }

    /// Removes an id. Returns whether its result may be a task; `None` when it is not there.
    fn remove(&mut self, number: u32) -> Option<bool> {
        let id = number << Self::TASK_BIT;
        let is_it = |place: &&mut u32| **place & !Self::TASK_BIT == id && id != 0;
        let found = self.0.iter_mut().find(is_it)?;
        Some(core::mem::take(found) != id)
    }
}

// Timeouts, pings, and the end of a connection.

impl Client<'_> {
    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout). It may be early, but
    /// never late.
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.calls.earliest(), self.requests.earliest(), self.ping_due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles one deadline that has passed, and returns its event. Call it until it returns
    /// `None`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'static>>> {
        // Partly written frames go first, whatever else is due.
        if tx.is_open(WriterId::PING) {
            return self.ping(now, tx).map(|()| None);
        }
        let (call, request) = if tx.has_open() { self.partly_written(tx) } else { (None, None) };
        if let Some(slot) = request {
            return self.time_out_request(slot, tx);
        }
        let mut due = call.or_else(|| self.calls.expired(now));
        while let Some(slot) = due {
            if self.is_being_ended(slot, tx) {
                self.calls.set_deadline(slot, None);
            } else if let Some(event) = self.time_out_call(now, slot, tx)? {
                return Ok(Some(event));
            }
            due = self.calls.expired(now);
        }
        while let Some(slot) = self.requests.expired(now) {
            // A partly written response is finished.
            if tx.is_open(WriterId::response(slot.index, slot.serial)) {
                self.requests.set_deadline(slot, None);
                continue;
            }
            return self.time_out_request(slot, tx);
        }
        if self.ping_due().is_some_and(|due| due <= now) {
            self.ping(now, tx)?;
        }
        Ok(None)
    }

    /// Ends the connection: call it when the transport is closed. Returns one event for each call
    /// that ends with it, then `None`: `while let Some(event) = client.close() {}`. The client can
    /// [`connect`](Self::connect) again then; it keeps the [era](Self::era) of the server.
    ///
    /// Requests of the server are dropped without a response. A partly written frame stays
    /// unfinished: the next connection needs new output and receive buffers.
    pub fn close(&mut self) -> Option<ClientEvent<'static>> {
        self.peer.phase = Phase::Closed;
        self.requests.clear();
        loop {
            let slot = self.calls.slots().next()?;
            let outgoing = self.calls.remove(slot)?;
            if matches!(outgoing.kind, CallKind::Application | CallKind::Listen { .. }) {
                return Some(ClientEvent::CallFinished {
                    call: Call(slot),
                    outcome: CallOutcome::Closed,
                });
            }
        }
    }

    /// Returns the call and the request whose cancellation or error response is partly written.
    fn partly_written(&self, tx: &Tx<'_>) -> (Option<Slot>, Option<Slot>) {
        // `initialize` after a probe is finished here; any other opening frame is finished by the
        // method that started it.
        let probing = matches!(self.peer.phase, Phase::Probing) && tx.is_open(WriterId::CONNECT);
        let is_begun = |call: &InflightCall| {
            tx.is_open(WriterId::timeout_cancel(call.number))
                || call.kind == CallKind::Connect && probing
        };
        let expires = |slot: &Slot| tx.is_open(WriterId::timeout_error(slot.index, slot.serial));
        (self.calls.matching(is_begun).next(), self.requests.slots().find(expires))
    }

    /// Whether another method is writing the end of the call, which must be finished.
    fn is_being_ended(&self, slot: Slot, tx: &Tx<'_>) -> bool {
        let replaced =
            matches!(self.peer.phase, Phase::Initializing(_)) && tx.is_open(WriterId::CONNECT);
        self.calls.get(slot).is_some_and(|call| match call.kind {
            CallKind::Connect => replaced,
            _ => tx.is_open(WriterId::cancel(call.number)),
        })
    }

    fn time_out_call(
        &mut self,
        now: Instant,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'static>>> {
        let Some(&InflightCall { kind, number, .. }) = self.calls.get(slot) else {
            return Ok(None);
        };
        if kind == CallKind::Connect {
            return self.connect_timed_out(now, slot, tx);
        }
        self.write_cancelled(WriterId::timeout_cancel(number), number, None, tx)?;
        self.abandon_call(slot);
        Ok(Some(match kind {
            CallKind::KeepAlive => ClientEvent::Unresponsive,
            _ => ClientEvent::CallFinished { call: Call(slot), outcome: CallOutcome::TimedOut },
        }))
    }

    fn time_out_request(
        &mut self,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'static>>> {
        let Some(incoming) = self.requests.get(slot) else { return Ok(None) };
        let error = RpcError::internal("The request timed out");
        let key = WriterId::timeout_error(slot.index, slot.serial);
        tx.frame(key, self.current_revision(), &mut |writer| {
            write_error(writer, Some(incoming.id.as_str()), &error)
        })?;
        self.requests.remove(slot);
        Ok(Some(ClientEvent::RequestTimedOut { request: RequestHandle(slot) }))
    }

    fn ping(&mut self, now: Instant, tx: &mut Tx<'_>) -> SendResult {
        let options = CallOptions::new().timeout(self.config.ping_timeout);
        let new = NewCall::request("ping", &RawJson::EMPTY, self.current_revision());
        self.send_call(now, &NewCall { kind: CallKind::KeepAlive, options, ..new }, tx).map(|_| ())
    }

    /// Time of the next ping. Legacy servers only, one ping at a time.
    fn ping_due(&self) -> Option<Instant> {
        let interval = self.config.ping_interval?;
        let legacy = self.revision().is_some_and(|revision| !revision.is_modern());
        let mut pings = self.calls.matching(|call| call.kind == CallKind::KeepAlive);
        if !legacy || pings.next().is_some() || self.calls.is_full() {
            None
        } else {
            Some(self.peer.last_received.saturating_add(interval))
        }
    }
}

// Opening of a connection: the probe, `initialize`, and the responses to them.

impl Client<'_> {
    /// Starts the connection: sends `server/discover` if the server may be a modern one, else
    /// `initialize`. [`ClientEvent::Connected`] or [`ClientEvent::ConnectFailed`] follows. If the
    /// era is [set](Self::set_era) to modern, nothing is sent: the client is connected at once,
    /// without an event.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] when the client is connected or connecting ([`close`](Self::close)
    /// it first), and when the configuration has no revision of the era.
    /// [`SendError::TooManyCalls`] when the table is full. [`SendError::Full`]: drain and call
    /// again.
    pub fn connect(&mut self, now: Instant, tx: &mut Tx<'_>) -> SendResult {
        require(matches!(self.peer.phase, Phase::Closed), NotAllowed::AlreadyOpen)?;
        let ours = self.config.revisions;
        let modern = ours.contains(Revision::LATEST);
        match (self.peer.era, ours.newest_legacy()) {
            (Some(Era::Modern), _) if modern => {
                self.peer.phase =
                    Phase::Open(Connection { revision: Revision::LATEST, capabilities: None });
                Ok(())
            }
            (None, _) if modern => self.probe(now, None, tx),
            (_, Some(offered)) => self.initialize(now, offered, None, tx),
            _ => Err(NotAllowed::Revision.into()),
        }
    }

    /// Sends `server/discover`. 2026-07-28, basic/transports/stdio: a client that may meet a legacy
    /// server probes before it sends anything else.
    fn probe(&mut self, now: Instant, replaces: Option<Slot>, tx: &mut Tx<'_>) -> SendResult {
        let options = CallOptions::new().timeout(self.config.probe_timeout);
        let new = NewCall::request("server/discover", &RawJson::EMPTY, Revision::LATEST);
        self.send_call(now, &NewCall { kind: CallKind::Connect, options, replaces, ..new }, tx)?;
        self.peer.phase = Phase::Probing;
        Ok(())
    }

    /// Sends `initialize` with a legacy revision, in place of the call in `replaces`.
    fn initialize(
        &mut self,
        now: Instant,
        offered: Revision,
        replaces: Option<Slot>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        // A partly written `initialize` keeps its revision.
        let offered = if tx.is_open(WriterId::CONNECT) { self.peer.offering } else { offered };
        self.peer.offering = offered;
        let (capabilities, info) = (self.capabilities(), &self.config.info);
        let params = object!({
            "protocolVersion": offered.as_str(),
            "capabilities": capabilities,
            "clientInfo": info,
        });
        let new = NewCall {
            kind: CallKind::Connect,
            replaces,
            ..NewCall::request("initialize", &params, offered)
        };
        self.send_call(now, &new, tx)?;
        self.peer.phase = Phase::Initializing(offered);
        Ok(())
    }

    /// Handles the response to the probe or to `initialize`.
    fn connect_response<'f>(
        &mut self,
        now: Instant,
        slot: Slot,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        let next = match self.peer.phase {
            Phase::Probing => self.probe_response(outcome, tx),
            Phase::Initializing(offered) => self.initialize_response(offered, outcome),
            // `close` has removed the calls: no response gets here.
            Phase::Closed | Phase::Open(_) => return Ok(None),
        };
        let number = self.calls.get(slot).map_or(0, |outgoing| outgoing.number);
        let event = match next {
            NextStep::Offer(revision) => {
                // The result of a modern server that arrives while `initialize` is partly written.
                let late = outcome.ok().filter(|result| {
                    matches!(self.peer.phase, Phase::Probing)
                        && result
                            .get("supportedVersions")
                            .is_some_and(|theirs| lists(theirs, Revision::LATEST))
                });
                self.initialize(now, revision, Some(slot), tx)?;
                late.map(ClientEvent::UnexpectedDiscovery)
            }
            NextStep::Probe => {
                self.probe(now, Some(slot), tx)?;
                self.peer.era = None;
                None
            }
            NextStep::Open(opened) => {
                let Connected { revision, capabilities, .. } = opened;
                if !revision.is_modern() {
                    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
                        writer
                            .put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
                    })?;
                }
                self.calls.remove(slot);
                self.peer.era = Some(revision.era());
                self.peer.phase =
                    Phase::Open(Connection { revision, capabilities: Some(capabilities) });
                Some(ClientEvent::Connected(opened))
            }
            NextStep::Fail(error) => {
                self.calls.remove(slot);
                self.peer.phase = Phase::Closed;
                Some(ClientEvent::ConnectFailed(error))
            }
        };
        // The replaced call has its response: it is not abandoned.
        self.abandoned_ids.remove(number);
        Ok(event)
    }

    /// Handles the response to the probe. 2026-07-28, basic/versioning and basic/transports/stdio:
    /// any error that modern servers do not send means a legacy server.
    fn probe_response<'f>(
        &self,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
        tx: &Tx<'_>,
    ) -> NextStep<'f> {
        let ours = self.config.revisions;
        let legacy = match ours.newest_legacy() {
            Some(newest) => NextStep::Offer(newest),
            None => NextStep::Fail(ConnectError::NoCommonRevision(None)),
        };
        // The timeout has replaced the probe already, even if `initialize` is only partly written.
        if tx.is_open(WriterId::CONNECT) {
            return legacy;
        }
        let (theirs, error) = match outcome {
            Ok(result) => {
                match result.get("supportedVersions").filter(|versions| versions.is_array()) {
                    Some(_) if !is_complete(result) => {
                        return NextStep::Fail(ConnectError::Invalid(Violation::UnknownResultType));
                    }
                    Some(theirs) if lists(theirs, Revision::LATEST) => {
                        return NextStep::Open(Connected::new(Revision::LATEST, result));
                    }
                    Some(theirs) => (Some(theirs), ConnectError::NoCommonRevision(Some(theirs))),
                    None => return legacy,
                }
            }
            Err(error) if ErrorCode::is_modern(error.code()) => {
                let theirs = error.data().and_then(|data| data.get("supported"));
                match theirs {
                    Some(_) if error.code() == UNSUPPORTED_VERSION => {
                        (theirs, ConnectError::NoCommonRevision(theirs))
                    }
                    _ => (theirs, ConnectError::Refused(error)),
                }
            }
            Err(_) => return legacy,
        };
        match theirs.and_then(|theirs| newest_common(ours, theirs, None)) {
            Some(common) => NextStep::Offer(common),
            None => NextStep::Fail(error),
        }
    }

    /// Handles the response to `initialize`. Legacy, basic/lifecycle: the server selects the
    /// revision; the client disconnects if it does not support it.
    fn initialize_response<'f>(
        &self,
        offered: Revision,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
    ) -> NextStep<'f> {
        let ours = self.config.revisions;
        match outcome {
            Ok(result) => {
                let Some(version) =
                    result.get("protocolVersion").filter(|version| version.as_string().is_some())
                else {
                    return NextStep::Fail(ConnectError::Invalid(Violation::InvalidResult));
                };
                match version.as_string().and_then(Revision::from_json) {
                    Some(revision) if !revision.is_modern() && ours.contains(revision) => {
                        NextStep::Open(Connected::new(revision, result))
                    }
                    _ => NextStep::Fail(ConnectError::NoCommonRevision(Some(version))),
                }
            }
            Err(error) => {
                let theirs = error.data().and_then(|data| data.get("supported"));
                // Over HTTP a modern server refuses it for its header fields, and lists nothing.
                let is_modern = ErrorCode::is_modern(error.code())
                    || theirs.is_some_and(|theirs| lists(theirs, Revision::LATEST));
                let was_legacy = self.peer.era == Some(Era::Legacy);
                match theirs {
                    _ if is_modern && was_legacy && ours.contains(Revision::LATEST) => {
                        NextStep::Probe
                    }
                    Some(theirs) => match newest_common(ours, theirs, Some(offered)) {
                        Some(older) => NextStep::Offer(older),
                        None => NextStep::Fail(ConnectError::NoCommonRevision(Some(theirs))),
                    },
                    None => NextStep::Fail(ConnectError::Refused(error)),
                }
            }
        }
    }

    /// Handles the timeout of the probe or of `initialize`.
    fn connect_timed_out(
        &mut self,
        now: Instant,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'static>>> {
        if let (Phase::Probing, Some(newest)) =
            (self.peer.phase, self.config.revisions.newest_legacy())
        {
            return self.initialize(now, newest, Some(slot), tx).map(|()| None);
        }
        // `notifications/initialized` may be partly written: then the connection opens. Otherwise
        // the buffer drains, and the next call gets here again.
        if tx.has_open() {
            return Err(SendError::Full);
        }
        self.abandon_call(slot);
        self.peer.phase = Phase::Closed;
        Ok(Some(ClientEvent::ConnectFailed(ConnectError::TimedOut)))
    }
}

/// Next step of the connection.
enum NextStep<'f> {
    Offer(Revision),
    Probe,
    Open(Connected<'f>),
    Fail(ConnectError<'f>),
}

/// The number of [`ErrorCode::UnsupportedProtocolVersion`].
const UNSUPPORTED_VERSION: i64 = -32022;

/// 2026-07-28, basic: a result without `resultType` is complete; no other type is valid for a
/// probe.
fn is_complete(result: RawJson<'_>) -> bool {
    result
        .get("resultType")
        .is_none_or(|kind| kind.as_string().is_some_and(|kind| kind == "complete"))
}

fn lists(versions: RawJson<'_>, revision: Revision) -> bool {
    versions
        .elements()
        .any(|version| version.as_string().is_some_and(|version| version == revision.as_str()))
}

/// Returns the newest legacy revision that both support, older than `than`.
fn newest_common(ours: Revisions, theirs: RawJson<'_>, than: Option<Revision>) -> Option<Revision> {
    ours.iter().find(|revision| {
        !revision.is_modern()
            && than.is_none_or(|than| *revision < than)
            && lists(theirs, *revision)
    })
}
