//! An HTTP site as a value: everything that a server over HTTP does between the socket and its
//! handlers, for any HTTP library and any runtime.
//!
//! A [`Site`] holds the sessions, exchanges and streams of one endpoint, for all revisions:
//! requests of 2026-07-28, sessions of 2025-03-26 to 2025-11-25 with streams that can be resumed,
//! and HTTP+SSE (2024-11-05). It is a plain `&mut` value without lock, waker, socket or clock. Its
//! tables grow on the heap up to the limits of [`SiteOptions`].
//!
//! | what happens | what the program calls |
//! | --- | --- |
//! | the head of a request has arrived | [`Site::open`], which names the exchange |
//! | the whole request has arrived | [`Site::open_whole`] alone; after `next`, [`Site::response`] at once |
//! | a piece of its body, its end | [`Site::feed_body`] while [`Site::wants_body`], [`Site::end_of_body`] (also without a body) |
//! | anything of all this, or [`SiteStep::Wait`] is over | [`Site::next`], until it says `Wait` |
//! | [`SiteStep::Authorize`] | [`Site::authorized`], at once or later |
//! | [`SiteStep::Permit`] | [`Site::permitted`] |
//! | [`SiteStep::Event`] | the handler; its outcome with [`SiteTurn::answer`], later with [`Site::answer`] |
//! | [`SiteStep::Room`] | what was [`Full`](mcp_sansio::SendError::Full), again, in a [`Site::turn`] |
//! | [`SiteStep::Ready`] | [`Site::response`] once, then [`Site::body`] and [`Site::wrote`] until it is `Pending` or at its end |
//! | [`SiteStep::Ended`] | nothing; it drops the handlers of this server |
//! | the response is sent, or the connection is lost | [`Site::close`] |
//! | something has changed | [`Site::publish`], in a fleet [`Site::announce`], too |
//! | [`SiteStep::Publish`], to others of a fleet | [`Site::deliver`] there; after losses [`Site::missed`] |
//! | the program ends | [`Site::shut_down`], then as before until [`Site::is_over`] |
//!
//! ```
//! use mcp_sansio_engine::site::{OwnedHead, Site, SiteBody, SiteOptions, SiteStep};
//! use mcp_sansio::types::{Implementation, TextResult};
//! use mcp_sansio::*;
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
//!
//! /// Outcomes of requests: this program has one kind.
//! struct Said(&'static str);
//!
//! impl Outcome<Server<'_>> for Said {
//!     fn send(
//!         &self,
//!         server: &mut Server<'_>,
//!         request: RequestHandle,
//!         tx: &mut Tx<'_>,
//!     ) -> Result<(), SendError> {
//!         server.respond(request, &TextResult::new(self.0), tx)
//!     }
//! }
//!
//! # fn random() -> [u8; 16] { [7; 16] }
//! let mut site = Site::new(&CONFIG, SiteOptions::new(), random);
//! let now = Instant::from_millis(0);
//! // As parsed by any HTTP library.
//! let fields = [
//!     ("Host", "localhost:8080"),
//!     ("Content-Type", "application/json"),
//!     ("Accept", "application/json, text/event-stream"),
//!     ("MCP-Protocol-Version", "2026-07-28"),
//!     ("Mcp-Method", "tools/call"),
//!     ("Mcp-Name", "say"),
//! ];
//! let exchange = site.open(now, OwnedHead::new("POST", "/mcp", fields), None);
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! for piece in body.chunks(100) {
//!     assert_eq!(site.feed_body(exchange, piece), piece.len());
//! }
//! site.end_of_body(now, exchange);
//! let mut sent = Vec::new();
//! loop {
//!     match site.next(now) {
//!         SiteStep::Event(ServerEvent::Request(request), mut turn) => {
//!             turn.answer(request.handle, Said("hello"));
//!         }
//!         SiteStep::Ready(exchange) => {
//!             let Some(head) = site.response(exchange) else { continue };
//!             assert_eq!(head.status(), 200);
//!             while let SiteBody::Piece(piece) = site.body(exchange) {
//!                 sent.extend_from_slice(piece); // to the connection of this exchange
//!                 let n = piece.len();
//!                 site.wrote(now, exchange, n);
//!             }
//!             if site.body(exchange) == SiteBody::End {
//!                 site.close(now, exchange);
//!             }
//!         }
//!         SiteStep::Wait(_) => break, // for a connection, a handler, or this time
//!         _ => {}
//!     }
//! }
//! assert!(sent.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":"));
//! ```
//!
//! # Threads
//!
//! A site can be put behind a mutex that is locked for one call, never while something is awaited;
//! `now` is read while it is locked. Handlers do not run inside: a program keeps those that take
//! time, and hands in their outcomes. [`SiteStep::Ready`] names the exchange whose connection to
//! wake.
//!
//! # Connections that are lost
//!
//! [`Site::close`] ends a request that stands alone, and its stream of HTTP+SSE: its server is
//! reported as [`SiteStep::Ended`], and its handlers should be dropped. In a session, requests go
//! on; what they send is recorded, and a GET with `Last-Event-ID` resumes it. Without a stream that
//! was begun, a response is lost; [`SiteTurn::release`] begins one.
//!
//! # Work
//!
//! A step costs as much as the message that it handles. Responses longer than
//! [`SiteOptions::max_pending`] are written in parts as the connection takes them. Linear in the
//! size of a table are [`Site::publish`] and opening a session (all servers), and finding out that
//! a response is complete (the open requests of its session).

mod bus;
mod challenge;
pub mod credentials;
mod exchange;
mod instance;
mod permit;
mod principal;
mod protected_resource;
mod schedule;
mod session_id;
mod step;

pub use crate::input_requests::Destination;
pub use bus::{Topic, UnknownEnvelope};
pub use challenge::AuthorizationError;
pub use exchange::{HeadMemory, OwnedHead, SiteBody, SiteResponse};
pub use mcp_sansio::http::{Operation, Operations, Principal};
pub use permit::Scopes;
pub use principal::{Denied, Holder, Unpermitted};
pub use protected_resource::ProtectedResource;
pub use session_id::{ForeignSession, InvalidNode, SiteNode};
pub use step::{number_of_session, with_number};

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::http::server::{Endpoint, HostPolicy, OutgoingResponse};
use mcp_sansio::{
    Change, ExchangeId, Instant, Outcome, RequestHandle, Revision, SendError, SendResult, Server,
    ServerConfig, ServerEvent, TxBuffer,
};

use crate::input_requests::{Attempt, Outputs};
use crate::observer::Disconnect;
use crate::places::{CountPlaces, PlaceLimit, Places};
use bus::Fleet;
use exchange::{Bodies, Exchange, Spare, Stage};
use instance::{Instance, InstanceKind, Stream, touch};
use schedule::{Schedule, Slab, SlabKey, Work};

/// All sessions, exchanges and streams of one MCP endpoint.
///
/// `O` is the type of the [outcomes](Outcome) that are handed in to be sent when there is room.
#[must_use]
pub struct Site<'c, O = Infallible> {
    config: &'c ServerConfig<'c>,
    options: SiteOptions<'c>,
    endpoint: Endpoint<'c>,
    /// No other of the process has it.
    number: usize,
    random: Box<dyn FnMut() -> [u8; 16] + Send + 'c>,
    exchanges: Slab<Exchange>,
    counts: SiteCounts,
    instances: Slab<Box<Instance<O>>>,
    /// That of a request which has ended, for the next one.
    spare: Option<Box<Instance<O>>>,
    /// Sessions, and streams of HTTP+SSE, by numbers of their ids, which are compared in constant
    /// time.
    by_id: BTreeMap<u64, SlabKey>,
    fleet: Option<Box<Fleet>>,
    /// Requests for sessions of the fleet that this node does not go on with, to be reported.
    foreign: VecDeque<(SlabKey, ForeignSession)>,
    /// Number of sessions opened so far.
    opened: u64,
    bodies: Bodies,
    spare_body: Spare,
    spare_long_body: Spare,
    spare_output: Spare,
    spare_stream: Option<Box<Stream<O>>>,
    /// The documents that are served beside the endpoint, by path.
    documents: Vec<(String, Vec<u8>)>,
    schedule: Schedule,
    /// Instances that have ended, to be reported.
    ended: VecDeque<(SlabKey, Disconnect<'static>)>,
    /// Set by [`shut_down`](Self::shut_down).
    closing: Option<Instant>,
    /// Whether the bus of the fleet is there.
    is_connected: bool,
}

/// The counts behind the limits of a [`Site`]. Default: its own.
///
/// Sites that have them in common serve one endpoint on several threads. When places of
/// `body_bytes` or `body_reserve` are given back, the others look again whether a body of theirs
/// has room: [`Site::release_bytes`]. `sessions` [reclaims](CountPlaces::reclaim) by
/// [`Site::replace_session`].
pub struct SiteCounts {
    /// Exchanges: [`SiteOptions::max_exchanges`].
    pub exchanges: Box<dyn CountPlaces<Holder>>,
    /// Those that are event streams: [`SiteOptions::max_streams`].
    pub streams: Box<dyn CountPlaces<Holder>>,
    /// Bytes of bodies: [`SiteOptions::body_budget`].
    pub body_bytes: Box<dyn CountPlaces<Holder>>,
    /// The one body that may use what is reserved for the greatest.
    pub body_reserve: Box<dyn CountPlaces<Holder>>,
    /// Sessions, and streams of HTTP+SSE: [`SiteOptions::max_sessions`].
    pub sessions: Box<dyn CountPlaces<Holder>>,
}

impl Default for SiteCounts {
    fn default() -> Self {
        let own = || Box::new(Places::new());
        Self {
            exchanges: own(),
            streams: own(),
            body_bytes: own(),
            body_reserve: own(),
            sessions: own(),
        }
    }
}

/// The key of an exchange: a request and its response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExchangeKey(SlabKey);

/// The key of a server: that of a session, of a stream of HTTP+SSE, or of one request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServerKey(SlabKey);

impl ServerKey {
    /// The key of no server: for calls that go on here after their server has gone.
    pub const NONE: Self = Self(SlabKey::from_number(u64::MAX));
}

/// A request of a client, unique in its site: [`SiteTurn::request_key`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteRequest {
    /// The server of the request.
    pub server: ServerKey,
    /// The handle of the request at this server.
    pub request: RequestHandle,
}

/// The next operation of a [`Site`], for its program to carry out: [`Site::next`].
#[derive(Debug)]
#[must_use]
// It is taken apart at once, and a box would be an allocation for each event.
#[expect(clippy::large_enum_variant)]
pub enum SiteStep<'p, O> {
    /// An event of a server, and that server.
    Event(ServerEvent<'p>, SiteTurn<'p, O>),
    /// A request has to be authorized, at once or later: [`Site::authorized`].
    Authorize {
        /// The exchange of the request.
        exchange: ExchangeKey,
        /// Its head; see [`bearer_token`](credentials::bearer_token).
        head: RequestHead<'p>,
    },
    /// A POST with its whole body has to be permitted, at once or later: [`Site::permitted`]. Only
    /// with [`SiteOptions::checks_operations`].
    Permit(Unpermitted),
    /// There is something to do for the connection of this exchange: its response can be read
    /// ([`Site::response`], [`Site::body`]), or more of its body ([`Site::wants_body`]).
    Ready(ExchangeKey),
    /// A session, or a request without one, has ended before its requests had a response. Drop what
    /// belongs to it; outcomes of its requests are ignored. Why is for logs.
    Ended(ServerKey, Disconnect<'static>),
    /// A request of this exchange names a session of the [fleet](Site::node), which this node does
    /// not go on with: its client gets 404. For logs: a fleet whose nodes have several rings loses
    /// all its sessions.
    Foreign(ExchangeKey, ForeignSession),
    /// An envelope for other nodes of the fleet, which they [`deliver`](Site::deliver). It is at
    /// most 128 bytes longer than 1 MiB or than [`replay`](SiteOptions::replay), and not encrypted.
    /// Only if the node is [on a bus](SiteNode::on_bus).
    Publish {
        /// The nodes that need it.
        topic: Topic,
        /// The bytes of the envelope.
        envelope: Vec<u8>,
    },
    /// There is room for output of this server: [`SiteTurn::await_room`].
    Room(ServerKey),
    /// Something was done without the application: call [`Site::next`] again.
    Again,
    /// Nothing is left to do until this time, or until one of the other functions was called.
    Wait(Option<Instant>),
}

impl<'c, O> Site<'c, O> {
    /// Creates a site. `random` returns bytes for the ids of sessions that cannot be guessed: from
    /// the operating system or from hardware, not from an ordinary generator.
    pub fn new(
        config: &'c ServerConfig<'c>,
        options: SiteOptions<'c>,
        random: impl FnMut() -> [u8; 16] + Send + 'c,
    ) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let endpoint = Endpoint::new(config.revisions).host_policy(options.host_policy);
        Self {
            config,
            options,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            endpoint: if options.has_sessions { endpoint } else { endpoint.without_sessions() },
            random: Box::new(random),
            exchanges: Slab::new(),
            counts: SiteCounts::default(),
            instances: Slab::new(),
            spare: None,
            by_id: BTreeMap::new(),
            fleet: None,
            foreign: VecDeque::new(),
            opened: 0,
            bodies: Bodies::new(options.body_budget, options.max_body),
            spare_body: Spare::default(),
            spare_long_body: Spare::default(),
            spare_output: Spare::default(),
            spare_stream: None,
            documents: Vec::new(),
            schedule: Schedule::default(),
            ended: VecDeque::new(),
            closing: None,
            is_connected: true,
        }
    }

    /// Counts in common with other sites, so that limits and shares are those of all together. Call
    /// it before the first [`open`](Self::open).
    pub fn counts(mut self, counts: SiteCounts) -> Self {
        self.counts = counts;
        self
    }

    /// Makes the site a node of a fleet: the ids of its sessions are sealed values of 90 to 114
    /// characters, which name node and site, and every node with the same ring goes on with a
    /// session that it does not have. What it knows of the session is what `initialize` has agreed
    /// on; the client is told that all lists have changed.
    ///
    /// Without a [bus](SiteNode::on_bus) the level of log messages is that of the configuration
    /// there and nothing is subscribed, and a session that was deleted at another node, or before
    /// this one began, can be opened again here until its id has [expired](SiteNode::age).
    pub fn node(mut self, node: SiteNode) -> Self {
        self.fleet = Some(Box::new(Fleet::new(node, (self.random)())));
        self
    }

    /// Returns what is to be done next. Exchanges and servers are served in turns, one message at a
    /// time.
    pub fn next(&mut self, now: Instant) -> SiteStep<'_, O>
    where
        O: for<'m> Outcome<Server<'m>>,
    {
        if let Some((ended, how)) = self.ended.pop_front() {
            return SiteStep::Ended(ServerKey(ended), how);
        }
        if let Some((exchange, why)) = self.foreign.pop_front() {
            return SiteStep::Foreign(ExchangeKey(exchange), why);
        }
        if let Some((topic, envelope)) = self.fleet.as_mut().and_then(|it| it.next_outgoing(now)) {
            return SiteStep::Publish { topic, envelope };
        }
        while let Some(key) = self.schedule.next_ready() {
            if let Some(exchange) = self.exchanges.get(key) {
                if exchange.is_unconnected {
                    if !matches!(exchange.stage, Stage::Messages(..)) {
                        self.close(now, ExchangeKey(key));
                    }
                    continue;
                }
                self.await_taking(key, now);
                return SiteStep::Ready(ExchangeKey(key));
            }
        }
        match self.schedule.next_turn(now) {
            Some(Work::Exchange(key)) => self.run_exchange(key, now),
            Some(Work::Instance(key)) => self.run_instance(key, now),
            None => SiteStep::Wait(self.schedule.next_timeout()),
        }
    }

    /// Returns a server, for what no event has caused. `None` if it has ended.
    pub fn turn(&mut self, now: Instant, server: ServerKey) -> Option<SiteTurn<'_, O>> {
        let instance = self.instances.get_mut(server.0)?;
        Some(SiteTurn {
            config: self.config,
            instance,
            schedule: &mut self.schedule,
            key: server.0,
            now,
            head: None,
            principal: None,
        })
    }

    /// Returns whether the response to a request is still awaited.
    pub fn is_open(&mut self, request: SiteRequest) -> bool {
        let instance = self.instances.get_mut(request.server.0);
        instance.is_some_and(|instance| {
            instance.state.server(self.config).is_request_open(request.request)
        })
    }

    /// Serves a JSON document on a path to GET and HEAD, without credentials and whatever the host
    /// and the origin: the metadata of a protected resource (RFC 9728). It is kept as long as the
    /// site; their number is not limited.
    pub fn add_document(&mut self, path: impl Into<String>, json: impl Into<Vec<u8>>) {
        self.documents.push((path.into(), json.into()));
    }

    /// Counts bytes that the program keeps of a body, for example in the copy for a handler, in the
    /// [budget of all bodies](SiteOptions::body_budget) and in the share of their client, whether
    /// or not there is room. Give them back with [`release_bytes`](Self::release_bytes).
    pub fn keep_bytes(&mut self, n: usize, holder: Option<&Holder>) {
        // They are in memory already, so they count even beyond the limit.
        let _ = self.counts.body_bytes.take(n, holder, PlaceLimit::UNLIMITED);
    }

    /// Gives bytes back that were [kept](Self::keep_bytes), and lets the body that has waited
    /// longest look for room.
    pub fn release_bytes(&mut self, n: usize, holder: Option<&Holder>) {
        self.counts.body_bytes.give_back(n, holder);
        let next = self.bodies.first();
        self.wake_body(next);
    }

    /// Hands in the outcome of a request, which is sent as its client takes it. If it is not valid,
    /// the request gets an internal error (-32603). Nothing happens if the request has ended.
    pub fn answer(&mut self, request: SiteRequest, outcome: O) {
        let key = request.server.0;
        if let Some(instance) = self.instances.get_mut(key) {
            instance.answer(self.config, request.request, outcome);
            self.schedule.turn(Work::Instance(key));
        }
    }

    /// Tells all subscribers of all servers about a change. What a client has not read yet is not
    /// repeated. Looks at each open session and `subscriptions/listen`.
    pub fn publish(&mut self, change: &Change<'_>) {
        if let Some(fleet) = &mut self.fleet {
            fleet.changed(change);
        }
        for (key, instance) in self.instances.iter_mut() {
            if instance.state.keep_change(self.config, change) {
                self.schedule.turn(Work::Instance(key));
            }
        }
    }

    /// Shuts the site down: requests that come later get 503, subscriptions and streams end, open
    /// requests go on until `until`, and bodies that are not complete then get 503.
    /// [`is_over`](Self::is_over) says when all of it has ended.
    pub fn shut_down(&mut self, until: Instant) {
        self.closing = Some(until);
        let all: Vec<_> = self.exchanges.iter_mut().map(|(key, _)| key).collect();
        for key in all {
            self.schedule.wake_at(Work::Exchange(key), until);
            if self.exchanges.get(key).is_some_and(|it| matches!(it.stage, Stage::Relay(..))) {
                self.schedule.turn(Work::Exchange(key));
            }
        }
        let all: Vec<_> = self.instances.iter_mut().map(|(key, _)| key).collect();
        all.into_iter().for_each(|key| self.schedule.turn(Work::Instance(key)));
    }

    /// Returns whether the site was shut down, and no request is open any more.
    pub fn is_over(&self) -> bool {
        self.closing.is_some() && self.instances.len() == 0
    }

    /// Sets what the [health](SiteOptions::health) of the site says of its bus.
    pub fn set_connected(&mut self, is_connected: bool) {
        self.is_connected = is_connected;
    }

    /// Returns the number of exchanges that are not closed.
    pub fn exchanges(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns the number of sessions and streams of HTTP+SSE.
    pub fn sessions(&self) -> usize {
        self.by_id.len()
    }
}

mcp_sansio::opaque_debug!([O] Site<'_, O> |it| {
    exchanges: it.exchanges(), sessions: it.sessions()
});

/// Access rules and limits of a [`Site`]. New versions add fields, so a value ends with
/// `..SiteOptions::new()`.
#[derive(Clone, Copy, Debug)]
pub struct SiteOptions<'c> {
    /// The accepted hosts and origins. Default: [`HostPolicy::LOOPBACK`].
    pub host_policy: HostPolicy<'c>,
    /// The path; 404 for others. Default: none, every path is served.
    pub path: Option<&'c str>,
    /// The path on which HTTP+SSE is served for clients that know only 2024-11-05. Default: none.
    pub sse_path: Option<&'c str>,
    /// The path on which GET says whether the site can be used, to anyone, in `status` of a JSON
    /// object: `ok`, with 503 `shutting down`, or `degraded` while the [bus](SiteNode::on_bus) is
    /// [not connected](Site::set_connected). Default: none.
    pub health: Option<&'c str>,
    /// Whether legacy clients get sessions. Without, no state is kept between their requests, so
    /// nothing can be requested from them. Default: true.
    pub has_sessions: bool,
    /// Whether each request is reported as [`SiteStep::Authorize`].
    /// Default: false.
    pub authorizes: bool,
    /// Whether each POST is reported as [`SiteStep::Permit`] before any of
    /// its messages is handled. They are read twice then. Default: false.
    pub checks_operations: bool,
    /// Maximum number of exchanges at a time; further requests get 503. Each takes about 1 KiB
    /// beside its head, its body and its output. Default: 10,000.
    pub max_exchanges: usize,
    /// Maximum number of event streams that have no end of their own: `subscriptions/listen`, GET
    /// of a session, and HTTP+SSE; further ones get 503. The rest of
    /// [`max_exchanges`](Self::max_exchanges) is left to calls. Default: 7,500.
    pub max_streams: usize,
    /// The part of exchanges, of event streams and of the budget of bodies that the requests of one
    /// principal may have, in percent; further ones get 503. Default: 25.
    pub principal_share: u8,
    /// The same for all requests without a principal from one [address][`OwnedHead::peer`], and
    /// their part of [`max_sessions`](Self::max_sessions). Behind a proxy all have one address:
    /// then set 100. Default: 75.
    ///
    /// [`OwnedHead::peer`]: OwnedHead::peer
    pub address_share: u8,
    /// Maximum number of sessions and of streams of HTTP+SSE together. At the limit, a new one
    /// replaces the oldest whose client has not sent `notifications/initialized`, else the one
    /// without a request or stream for longest, of those that had none for a minute; if there is
    /// none, the request gets 503. Each takes about 1 KiB, and up to [`replay`](Self::replay).
    /// Opening a session looks at all of them. Default: 1,000.
    pub max_sessions: usize,
    /// The same for the sessions of one principal. Default: 100.
    pub max_sessions_per_principal: usize,
    /// Maximum number of open requests of one session, and of one request body (a batch). Each
    /// takes about 300 bytes. Default: 1,024.
    pub max_in_flight: u16,
    /// Time that a request waits while [`max_in_flight`](Self::max_in_flight) is reached; then it
    /// is refused with -32603. While the server itself waits for the response to a call, requests
    /// beyond the limit are refused at once, since the response may be behind them. Default: 30
    /// seconds.
    pub full_timeout: Duration,
    /// Maximum number of URIs to which one session, or one `subscriptions/listen`, subscribes; 8
    /// bytes each. Default: 64.
    pub max_subscriptions: usize,
    /// Maximum number of bytes of a request body; 413 for longer ones. Default: 4 MiB.
    pub max_body: usize,
    /// Maximum number of bytes of all bodies longer than 4 KiB together, from their first byte
    /// until their messages are handled. Without room, a body is not read further. Default: 64 MiB.
    pub body_budget: usize,
    /// Maximum number of bytes that wait to be sent in one response; longer messages are written in
    /// parts. Default: 64 KiB.
    pub max_pending: usize,
    /// Maximum number of bytes of sent events that a session keeps for
    /// [replay](mcp_sansio::http::server::ReplayBuffer). Default: 64 KiB.
    pub replay: usize,
    /// Time after which an unused session ends. Default: 30 minutes.
    pub idle_timeout: Duration,
    /// Time after which a body that is not complete gets 408, or 503 if it waits for room. Default:
    /// 30 seconds.
    pub read_timeout: Duration,
    /// Time after which a response is cut off, and its memory freed, if its connection takes
    /// neither 4 KiB in this time nor all there is. [`Duration::MAX`]: no limit, for a program that
    /// closes such connections itself. Default: 30 seconds.
    pub write_timeout: Duration,
    /// Time without output after which an event stream gets a comment, so that proxies keep it
    /// open. Default: 15 seconds.
    pub keep_alive: Duration,
    /// The time that clients of 2025-11-25 wait before they resume a stream. Default: 1 second.
    pub retry: Duration,
}

impl SiteOptions<'_> {
    /// Returns a limit with the share of a client: all of it if nothing is known of the client.
    pub const fn limit(&self, total: usize, holder: Option<&Holder>) -> PlaceLimit {
        Holder::limit(holder, total, self.principal_share, self.address_share)
    }

    /// Creates options with the defaults.
    pub const fn new() -> Self {
        Self {
            host_policy: HostPolicy::LOOPBACK,
            path: None,
            sse_path: None,
            health: None,
            has_sessions: true,
            authorizes: false,
            checks_operations: false,
            max_exchanges: 10_000,
            max_streams: 7500,
            principal_share: 25,
            address_share: 75,
            max_sessions: 1000,
            max_sessions_per_principal: 100,
            max_in_flight: 1024,
            full_timeout: Duration::from_secs(30),
            max_subscriptions: 64,
            max_body: 4 << 20,
            body_budget: 64 << 20,
            max_pending: 64 << 10,
            replay: 64 << 10,
            idle_timeout: Duration::from_secs(30 * 60),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
        }
    }
}

mcp_sansio::default_is_new!(SiteOptions<'_>);

// The operations that a handler has on the server of its request.

/// A server of a [`Site`] with the output of its exchanges.
///
/// Comes with an event, and later from [`Site::turn`]. Each message goes to the exchange that it
/// belongs to. A call that is [`Full`](mcp_sansio::SendError::Full) is repeated in a later turn:
/// [`await_room`](Self::await_room). Results of any length are handed in with
/// [`answer`](Self::answer).
pub struct SiteTurn<'p, O> {
    config: &'p ServerConfig<'p>,
    instance: &'p mut Instance<O>,
    schedule: &'p mut Schedule,
    key: SlabKey,
    now: Instant,
    head: Option<OwnedHead>,
    /// That of the request, unless the instance has it.
    principal: Option<Arc<Principal>>,
}

impl<O> SiteTurn<'_, O> {
    /// Returns the time of the step.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the key of the server.
    pub const fn server_key(&self) -> ServerKey {
        ServerKey(self.key)
    }

    /// Returns the key of a request of this server, to answer it later.
    pub const fn request_key(&self, request: RequestHandle) -> SiteRequest {
        SiteRequest { server: ServerKey(self.key), request }
    }

    /// Returns who made the request; in a turn without an event, who opened the session. The scopes
    /// of a session's requests may differ.
    pub const fn principal(&self) -> Option<&Arc<Principal>> {
        match &self.principal {
            Some(principal) => Some(principal),
            None => self.instance.principal.as_ref(),
        }
    }

    /// Returns a number of the session, the same at all nodes of a fleet, if it has an id.
    pub fn session_number(&self) -> Option<u64> {
        self.instance.session_number()
    }

    /// Returns the head of the HTTP request that has the message of the event. `None` for timeouts,
    /// and in a turn without an event.
    pub const fn head(&self) -> Option<&OwnedHead> {
        self.head.as_ref()
    }

    /// Returns whose share the request of the event counts in.
    pub fn holder(&self) -> Option<Holder> {
        let peer = self.head.as_ref().map_or(self.instance.peer, OwnedHead::peer_address);
        Holder::of(self.principal(), peer)
    }

    /// Returns whether the server is that of a session, or of a stream of HTTP+SSE.
    pub const fn is_session(&self) -> bool {
        !matches!(self.instance.kind, InstanceKind::Alone)
    }

    /// Asks for [`SiteStep::Room`] once the client has taken at least half of what waits for it in
    /// the output of this.
    pub fn await_room(&mut self, of: impl Into<Destination>) {
        self.output(of.into()).1.is_awaited = true;
    }

    /// Returns the server, and an output: of a request for its response, progress, log messages and
    /// calls, of a call for its cancellation, of the session for what belongs to no request.
    pub fn parts(&mut self, of: impl Into<Destination>) -> (Server<'_>, &mut TxBuffer<Vec<u8>>) {
        let (server, stream) = self.output(of.into());
        (server, &mut stream.outbox.tx)
    }

    /// Hands in the outcome of a request, which is sent as its client takes it. If it is not valid,
    /// the request gets an internal error (-32603). Nothing happens if the request has ended.
    pub fn answer(&mut self, request: RequestHandle, outcome: O) {
        self.schedule.turn(Work::Instance(self.key));
        self.instance.answer(self.config, request, outcome);
    }

    /// Closes the connection of a request while the request goes on; its client resumes the stream
    /// after [`SiteOptions::retry`]. Returns `false` where that is not
    /// possible: it needs a session of 2025-11-25.
    pub fn release(&mut self, request: RequestHandle) -> bool {
        let is_session = matches!(self.instance.kind, InstanceKind::Session(_));
        let (server, stream) = self.output(request.into());
        let can_resume = is_session && server.legacy_revision() == Some(Revision::V2025_11_25);
        stream.is_released = can_resume
            && (stream.outbox.tx.http_response() == Some(OutgoingResponse::EVENT_STREAM)
                || stream.outbox.tx.send_priming_event().unwrap_or(false));
        stream.is_released
    }

    /// Returns the server, and a stream for its output, which is looked at afterwards.
    fn output(&mut self, of: Destination) -> (Server<'_>, &mut Stream<O>) {
        self.schedule.turn(Work::Instance(self.key));
        let Instance { state, streams, touched, .. } = &mut *self.instance;
        let server = state.server(self.config);
        let id = match of {
            Destination::Request(request) => server.exchange(request),
            Destination::Call(call) => server.exchange_of_call(call),
            Destination::Session => ExchangeId::SESSION,
        };
        touch(touched, id);
        (server, streams.get_mut(id))
    }
}

impl<O> Outputs for SiteTurn<'_, O> {
    fn send(&mut self, to: Destination, attempt: &mut Attempt<'_>) -> SendResult {
        let (mut server, stream) = self.output(to);
        let sent = attempt(&mut server, &mut stream.outbox.tx);
        stream.is_awaited |= sent == Err(SendError::Full);
        sent
    }
}

mcp_sansio::opaque_debug!([O] SiteTurn<'_, O> |it| { server: it.key });
