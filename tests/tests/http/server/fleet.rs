//! Nodes of a fleet: sessions that another node goes on with.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::types::Implementation;
use mcp_sansio::{Change, ServerConfig, ServerFeatures};
use mcp_sansio_engine::KeyRing;
use mcp_sansio_engine::site::{
    ExchangeKey, ForeignSession, InvalidNode, SiteNode, SiteOptions, SiteRequest, UnknownEnvelope,
    number_of_session,
};
use mcp_sansio_tests::random::Random;

use super::host::{
    Answer, CONFIG, Host, PING, Reply, bare, cancelled, ids, in_session, initialize, modern, post,
    resume, tool_call, with_token,
};

const RING: KeyRing = KeyRing::new([7; 32]);

const LEVEL: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}"#;

/// The clock of all nodes, in seconds.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    fn node(&self, name: &str, ring: KeyRing) -> SiteNode {
        let seconds = Arc::clone(&self.0);
        SiteNode::new(name, ring, move || Duration::from_secs(seconds.load(Ordering::Relaxed)))
            .unwrap()
    }
}

/// One session, whose address may have all.
fn limited(it: &mut SiteOptions<'_>) {
    (it.max_sessions, it.address_share) = (1, 100);
}

fn node(node: SiteNode) -> Host {
    Host::new().in_fleet(node)
}

#[test]
fn a_session_goes_on_at_another_node_when_its_own_is_gone() {
    let clock = Clock::default();
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut first = node(clock.node("a", RING));
        let id = first.open(version);
        assert!(id.starts_with("a-0-"), "{id}");
        assert_eq!(id.len(), "a-0-".len() + 86);
        assert_eq!(first.tool(&id, 2, "echo").status, 200);
        drop(first);
        let mut second = node(clock.node("b", RING));
        let version_field = ("MCP-Protocol-Version", version);
        let fields = [("Mcp-Session-Id", id.as_str()), version_field];
        let answer = second.send(&post(&fields, PING));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(second.site.sessions(), 1);
        assert!(second.tool(&id, 3, "echo").body.contains("done"));
        // What the client can do, the second node knows: it has declared elicitation.
        let asked = second.tool(&id, 4, "ask");
        let can_ask = version != "2025-03-26";
        assert_eq!(asked.body.contains("elicitation/create"), can_ask, "{asked:?}");
        assert_eq!(asked.body.contains("cannot ask"), !can_ask, "{asked:?}");
        // Nothing is told twice, and a stream of the session can be opened.
        let stream = second.send(&bare("GET", &fields));
        assert!(stream.body.contains("notifications/tools/list_changed"), "{stream:?}");
        assert_eq!(second.site.sessions(), 1);
        // It is deleted here, and does not come back.
        assert_eq!(second.send(&bare("DELETE", &fields)).status, 204);
        assert_eq!(second.send(&post(&fields, PING)).error(), (404, -32001));
        assert_eq!(second.site.sessions(), 0);
    }
}

#[test]
fn only_an_unchanged_id_of_the_ring_opens_a_session() {
    let clock = Clock::default();
    let id = node(clock.node("a", RING)).open("2025-11-25");
    let refused = |host: &mut Host, id: &str| {
        assert_eq!(host.call(id, PING).error(), (404, -32001), "{id}");
        assert_eq!(host.site.sessions(), 0);
    };
    let mut second = node(clock.node("b", RING));
    for at in 0..id.len() {
        let mut changed = id.clone().into_bytes();
        changed[at] = if changed[at] == b'b' { b'c' } else { b'b' };
        refused(&mut second, std::str::from_utf8(&changed).unwrap());
        refused(&mut second, &id[..at]);
    }
    refused(&mut second, &format!("{id}A"));
    refused(&mut second, &format!("x{id}"));
    // A change in the name of the key makes it that of another.
    assert!(second.foreign.iter().all(|why| *why == ForeignSession::OtherKey));
    let mut stranger = node(clock.node("b", KeyRing::new([8; 32])));
    refused(&mut stranger, &id);
    assert_eq!(stranger.foreign, [ForeignSession::OtherKey]);
    assert!(ForeignSession::OtherKey.to_string().ends_with("need one KeyRing"));
    let mut alone = Host::new();
    refused(&mut alone, &id);
    assert_eq!(alone.foreign, []);
    // A key that has been replaced opens what it has sealed.
    let mut newer =
        node(clock.node("b", KeyRing { previous: Some([7; 32]), ..KeyRing::new([8; 32]) }));
    assert_eq!(newer.call(&id, PING).status, 200);
    assert_eq!(second.call(&id, PING).status, 200);
    // A program that knows other extensions reads other bits.
    static OTHER: ServerConfig<'static> =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS_LIST_CHANGED)
            .client_extensions(&["org.example/other"]);
    refused(&mut Host::of(&OTHER, |_| {}).in_fleet(clock.node("c", RING)), &id);
}

#[test]
fn an_id_expires_where_its_session_is_not() {
    let clock = Clock::default();
    let short = |name| clock.node(name, RING).age(Duration::from_secs(60));
    let (mut first, mut second) = (node(short("a")), node(short("b")));
    let id = first.open("2025-11-25");
    clock.pass(60);
    assert_eq!(second.call(&id, PING).status, 200);
    clock.pass(1);
    let mut third = node(short("c"));
    assert_eq!(third.call(&id, PING).error(), (404, -32001));
    assert_eq!(third.foreign, [ForeignSession::Expired]);
    assert_eq!(first.call(&id, PING).status, 200, "a session that is there does not end");
    assert_eq!(second.call(&id, PING).status, 200);
}

#[test]
fn a_session_is_of_its_principal_at_each_node() {
    let clock = Clock::default();
    let authorized =
        |name| Host::of(&CONFIG, |it| it.authorizes = true).in_fleet(clock.node(name, RING));
    let (mut first, mut second) = (authorized("a"), authorized("b"));
    let id = first.send(&with_token("ada", &initialize("2025-11-25"))).session();
    let ping = in_session(&id, PING);
    for other in ["bob", "adа", "ad"] {
        assert_eq!(second.send(&with_token(other, &ping)).error(), (404, -32001), "{other}");
    }
    assert_eq!(second.foreign, [ForeignSession::OtherPrincipal; 3]);
    assert_eq!(second.site.sessions(), 0);
    assert_eq!(second.send(&with_token("ada", &ping)).status, 200);
    assert_eq!(second.send(&with_token("bob", &ping)).error(), (404, -32001));
    // Without principals there are other sessions.
    assert_eq!(node(clock.node("c", RING)).send(&ping).error(), (404, -32001));
}

#[test]
fn sessions_of_other_nodes_count_in_the_limit() {
    let clock = Clock::default();
    let mut first = node(clock.node("a", RING));
    let [one, two] = [0, 1].map(|_| first.open("2025-11-25"));
    assert_ne!(one, two);
    let mut second = Host::of(&CONFIG, limited).in_fleet(clock.node("b", RING));
    assert_eq!(second.call(&one, PING).status, 200);
    let refused = second.call(&two, PING);
    assert_eq!((refused.status, refused.field("retry-after")), (503, Some("5")));
    assert_eq!(second.site.sessions(), 1);
    second.wait(SiteOptions::new().idle_timeout);
    assert_eq!(second.site.sessions(), 0, "it was idle");
    assert_eq!(second.call(&two, PING).status, 200);
    assert_eq!(second.call(&one, PING).status, 503);
    second.site.shut_down(second.now);
    second.run();
    assert_eq!(second.call(&one, PING).status, 503);
}

#[test]
fn ids_name_their_node_and_site() {
    let clock = Clock::default();
    let mut ids = HashSet::new();
    for shard in [0, 3, 4_000_000_000] {
        let mut host = node(clock.node("web1", RING).shard(shard));
        let id = host.open("2025-11-25");
        assert!(id.starts_with(&format!("web1-{shard}-")), "{id}");
        let fields = [("Mcp-Session-Id", &*id)];
        let head = RequestHead { method: "POST", target: "/mcp", fields: &fields };
        assert_eq!(number_of_session(&head, None), Some(shard));
        assert!(ids.insert(id));
    }
    for wrong in ["", "A", "a-b", "a.b", "12345678901234567", "é"] {
        let node = SiteNode::new(wrong, RING, || Duration::ZERO);
        assert_eq!(node.err(), Some(InvalidNode), "{wrong}");
    }
    let node = clock.node("a", RING);
    assert_eq!(format!("{node:?}"), r#"SiteNode { name: "a", shard: 0, .. }"#);
}

// Nodes that are joined by a bus.

/// Nodes with one clock, and a bus that delivers envelopes as its seed says.
#[derive(Default)]
struct Nodes {
    hosts: Vec<Host>,
    clock: Clock,
    /// Envelopes on their way, and the nodes that they go to.
    underway: Vec<(usize, Vec<u8>)>,
    /// `None`: each is delivered once and in order. Otherwise some are lost, some come twice, and
    /// all in any order.
    chaos: Option<Random>,
    /// Number of envelopes so far.
    sent: usize,
}

impl Nodes {
    fn new(n: usize) -> Self {
        let mut nodes = Self::default();
        (0..n).for_each(|_| nodes.start());
        nodes
    }

    /// Starts nodes, and opens a session at the first.
    fn with_session(n: usize) -> (Self, String) {
        let mut nodes = Self::new(n);
        let id = nodes.hosts[0].open("2025-11-25");
        (nodes, id)
    }

    /// Starts one more node.
    fn start(&mut self) {
        self.start_with(|_| {});
    }

    fn start_with(&mut self, set: impl Fn(&mut SiteOptions<'static>)) {
        let seed = self.hosts.len() as u8 + 1;
        let node = self.clock.node(&format!("n{seed}"), RING).on_bus();
        self.hosts.push(Host::with_random(&CONFIG, set, seed).in_fleet(node));
    }

    /// Lets all nodes take steps until the bus is empty.
    fn settle(&mut self) {
        loop {
            for at in 0..self.hosts.len() {
                self.hosts[at].run();
                for envelope in std::mem::take(&mut self.hosts[at].outgoing) {
                    assert!(envelope.len() <= (1 << 20) + 128, "{}", envelope.len());
                    self.sent += 1;
                    // The sender gets it back.
                    let to = 0..self.hosts.len();
                    self.underway.extend(to.map(|to| (to, envelope.clone())));
                }
            }
            let next = match &mut self.chaos {
                _ if self.underway.is_empty() => return,
                None => self.underway.remove(0),
                Some(random) => {
                    let at = random.below(self.underway.len());
                    match random.below(8) {
                        0 => self.underway[at].clone(),
                        1 => {
                            self.underway.swap_remove(at);
                            continue;
                        }
                        _ => self.underway.swap_remove(at),
                    }
                }
            };
            let (to, envelope) = next;
            let host = &mut self.hosts[to];
            host.site.deliver(host.now, &envelope).unwrap();
        }
    }

    /// Sends a request to a node, and returns the response as far as there is one afterwards.
    fn send(&mut self, at: usize, request: &str) -> Answer {
        let mut answer = self.hosts[at].send(request);
        self.settle();
        if let Some(exchange) = answer.exchange {
            let rest = self.hosts[at].rest(exchange);
            answer.status = answer.status.max(rest.status);
            answer.body = answer.body.replace("(open)", "") + &rest.body;
            answer.exchange = rest.exchange;
        }
        answer
    }

    fn post(&mut self, at: usize, session: &str, body: &str) -> Answer {
        self.send(at, &in_session(session, body))
    }

    fn delete(&mut self, at: usize, session: &str) -> Answer {
        self.send(at, &bare("DELETE", &[("Mcp-Session-Id", session)]))
    }

    /// Opens a stream of a session at a node, and returns its exchange and what it sends at first.
    fn listen(&mut self, at: usize, session: &str, after: Option<&str>) -> (ExchangeKey, String) {
        let mut fields = vec![("Mcp-Session-Id", session)];
        fields.extend(after.map(|after| ("Last-Event-ID", after)));
        let connection = self.hosts[at].connect(&bare("GET", &fields));
        let exchange = connection.exchange.unwrap();
        let events = connection.answer.body + &self.read(at, exchange);
        (exchange, events)
    }

    /// Calls the tool `slow` at the first node. Returns the request, which is open, and the id of
    /// the last event that the client has got.
    fn slow(&mut self, session: &str) -> (SiteRequest, String) {
        let call = self.post(0, session, &tool_call(5, "slow"));
        let request = self.hosts[0].open[0];
        self.hosts[0].progress(request, 0);
        (request, last_id(&self.read(0, call.exchange.unwrap())))
    }

    fn close(&mut self, at: usize, exchange: ExchangeKey) {
        let now = self.hosts[at].now;
        self.hosts[at].site.close(now, exchange);
    }

    /// Returns what a node has sent to an exchange since the last time.
    fn read(&mut self, at: usize, exchange: ExchangeKey) -> String {
        self.settle();
        self.hosts[at].rest(exchange).body
    }

    /// Starts a node again.
    fn restart(&mut self, at: usize) {
        self.clock.pass(1);
        let node = self.clock.node(&format!("n{}", at + 1), RING).on_bus();
        self.hosts[at] = Host::with_random(&CONFIG, |_| {}, at as u8 + 101).in_fleet(node);
    }

    fn wait(&mut self, time: Duration) {
        self.hosts.iter_mut().for_each(|host| host.wait(time));
        self.settle();
    }

    fn publish(&mut self, at: usize, change: &Change<'_>) {
        self.hosts[at].site.publish(change);
        self.hosts[at].site.announce(change);
        self.settle();
    }
}

fn subscription(id: u32, verb: &str, uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{verb}","params":{{"uri":"{uri}"}}}}"#
    )
}

fn notification(name: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{name}","params":{params}}}"#)
}

/// Returns the response of a client to the question in a stream.
fn reply_to(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut messages = data.filter_map(|data| serde_json::from_str::<serde_json::Value>(data).ok());
    let asked = messages.rfind(|message| message["method"] == "elicitation/create").unwrap();
    let id = &asked["id"];
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"decline"}}}}"#)
}

#[test]
fn a_question_of_one_node_is_answered_through_another() {
    let (mut nodes, id) = Nodes::with_session(3);
    nodes.settle();
    // Each node asks, with ids of its own.
    let asked: Vec<_> =
        (0..3).map(|at| nodes.post(at, &id, &tool_call(at as u32 + 2, "ask"))).collect();
    let replies: HashSet<_> = asked.iter().map(|asked| reply_to(&asked.body)).collect();
    assert_eq!(replies.len(), 3, "{asked:?}");
    for (at, asked) in asked.iter().enumerate() {
        let reply = reply_to(&asked.body);
        assert_eq!(nodes.post((at + 1) % 3, &id, &reply).status, 202);
        assert!(nodes.read(at, asked.exchange.unwrap()).contains("answered"), "{at}");
        // Once more, through the third: it is late, and taken.
        assert_eq!(nodes.post((at + 2) % 3, &id, &reply).status, 202);
    }
    // Nobody has asked this.
    let answer = nodes.post(1, &id, r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    assert_eq!(answer.status, 0, "{answer:?}");
    nodes.wait(Duration::from_millis(1999));
    assert_eq!(nodes.hosts[1].rest(answer.exchange.unwrap()).status, 0);
    nodes.wait(Duration::from_millis(1));
    let refused = nodes.hosts[1].rest(answer.exchange.unwrap());
    assert_eq!((refused.status, refused.field("retry-after")), (503, Some("5")));
    assert!(nodes.hosts.iter().all(|host| host.ended.is_empty() && host.site.exchanges() == 0));
}

#[test]
fn a_node_asks_although_the_client_is_initialized_elsewhere() {
    let mut nodes = Nodes::new(1);
    let id = nodes.send(0, &initialize("2025-11-25")).session();
    assert!(nodes.post(0, &id, &tool_call(2, "ask")).body.contains("elicitation/create"));
}

/// As docs/fleet.md says.
#[test]
fn what_requests_cost_on_the_bus() {
    let mut nodes = Nodes::new(3);
    let cost = |nodes: &mut Nodes, of: &str, expected: usize| {
        assert_eq!(std::mem::take(&mut nodes.sent), expected, "{of}");
    };
    let call = modern("tools/call", r#"{"name":"echo","arguments":{}}"#, &[("Mcp-Name", "echo")]);
    assert_eq!(nodes.send(0, &call).status, 200);
    cost(&mut nodes, "a call of 2026-07-28", 0);
    let id = nodes.send(0, &initialize("2025-11-25")).session();
    cost(&mut nodes, "a session", 0);
    for (name, expected) in
        [("initialized", 0), ("x", 0), ("cancelled", 1), ("progress", 1), ("roots/list_changed", 1)]
    {
        assert_eq!(nodes.post(0, &id, &notification(name, "{}")).status, 202);
        cost(&mut nodes, name, expected);
    }
    nodes.post(1, &id, PING);
    cost(&mut nodes, "the first request of a session at another node", 1);
    assert_eq!(nodes.post(1, &id, &tool_call(2, "echo")).status, 200);
    cost(&mut nodes, "a call in a session", 0);
    let asked = nodes.post(1, &id, &tool_call(3, "ask"));
    let reply = reply_to(&asked.body);
    cost(&mut nodes, "a question", 0);
    assert_eq!(nodes.post(0, &id, &reply).status, 202);
    cost(&mut nodes, "a response through another node", 2);
    let asked = nodes.post(1, &id, &tool_call(4, "ask"));
    assert_eq!(nodes.post(1, &id, &reply_to(&asked.body)).status, 202);
    cost(&mut nodes, "a response through the same node", 0);
    assert_eq!(nodes.post(0, &id, &subscription(5, "subscribe", "a:1")).status, 200);
    cost(&mut nodes, "a subscription", 1);
    nodes.publish(2, &Change::resource("a:1"));
    cost(&mut nodes, "a change", 1);
    nodes.post(2, &id, PING);
    cost(&mut nodes, "the first request at a third node, which two others tell what is set", 3);
    nodes.delete(2, &id);
    cost(&mut nodes, "the end of a session", 1);
}

#[test]
fn what_is_longer_than_a_mebibyte_is_not_passed_on() {
    let (mut nodes, id) = Nodes::with_session(2);
    nodes.post(1, &id, PING);
    nodes.sent = 0;
    let long = "x".repeat(1 << 20);
    let response = format!(r#"{{"jsonrpc":"2.0","id":77,"result":{{"a":"{long}"}}}}"#);
    assert_eq!(nodes.post(1, &id, &response).status, 413);
    let told = notification("progress", &format!(r#"{{"a":"{long}"}}"#));
    assert_eq!(nodes.post(1, &id, &told).status, 202);
    assert_eq!(nodes.sent, 0);
}

/// The first node keeps less than that, or nothing.
#[test]
fn sse_09_a_stream_that_another_node_resumes_brings_responses_as_long_as_an_envelope() {
    for (replay, len, arrives) in [
        (64 << 10, 100_000, true),
        (64 << 10, 1_000_000, true),
        (0, 100_000, true),
        (1 << 20, 3 << 20, false),
    ] {
        let mut nodes = Nodes::new(0);
        for _ in 0..2 {
            // Without comments, nodes do not miss each other.
            nodes.start_with(|it| (it.replay, it.keep_alive) = (replay, Duration::MAX));
        }
        let id = nodes.hosts[0].open("2025-11-25");
        let (request, last) = nodes.slow(&id);
        let (resumed, _) = nodes.listen(1, &id, Some(&last));
        let text = "x".repeat(len);
        nodes.hosts[0].site.answer(request, Reply::Text(text.clone()));
        let events = nodes.read(1, resumed);
        assert_eq!(events.contains(&text), arrives, "{replay} {len}");
        assert_eq!(events.is_empty(), !arrives, "{replay} {len}");
        assert_eq!(nodes.hosts[1].site.exchanges(), 0, "otherwise the client asks again");
    }
}

/// 1 MB a second, and no more than 200 envelopes; at once what it may send in 4 seconds.
#[test]
fn a_client_does_not_flood_the_bus() {
    let mut nodes = Nodes::new(2);
    let [ada, bob] = [0, 1].map(|_| nodes.hosts[0].open("2025-11-25"));
    nodes.sent = 0;
    let told = notification("roots/list_changed", "{}");
    for _ in 0..1000 {
        assert_eq!(nodes.post(0, &ada, &told).status, 202, "it is handled here");
    }
    assert_eq!(std::mem::take(&mut nodes.sent), 800);
    nodes.post(0, &bob, &told);
    assert_eq!(std::mem::take(&mut nodes.sent), 1, "each session has its own share");
    nodes.wait(Duration::from_millis(10));
    (0..9).for_each(|_| drop(nodes.post(0, &ada, &told)));
    assert_eq!(std::mem::take(&mut nodes.sent), 2);
    // Responses to questions that nobody has asked.
    nodes.wait(Duration::from_secs(4));
    let long = "x".repeat(1_000_000);
    let response = format!(r#"{{"jsonrpc":"2.0","id":77,"result":{{"a":"{long}"}}}}"#);
    let statuses = [0; 5].map(|_| nodes.post(0, &ada, &response).status);
    assert_eq!(statuses, [0, 0, 0, 503, 503]);
    assert_eq!(nodes.sent, 3);
}

/// The other nodes learn a second later of all that is set too soon, in one envelope.
#[test]
fn a_client_does_not_flood_the_bus_with_settings() {
    let mut nodes = Nodes::new(2);
    let id = nodes.hosts[0].open("2025-03-26");
    nodes.post(1, &id, PING);
    nodes.sent = 0;
    nodes.post(0, &id, &subscription(3, "subscribe", "a:1"));
    let mut batch = vec![LEVEL.to_owned(); 10_000];
    batch.push(LEVEL.replace("error", "debug"));
    batch.push(subscription(4, "unsubscribe", "a:1"));
    batch.push(subscription(5, "subscribe", "a:2"));
    assert_eq!(nodes.post(0, &id, &format!("[{}]", batch.join(","))).status, 200);
    assert_eq!(std::mem::take(&mut nodes.sent), 800);
    nodes.wait(Duration::from_millis(999));
    assert_eq!(std::mem::take(&mut nodes.sent), 0);
    nodes.wait(Duration::from_millis(1));
    assert_eq!(std::mem::take(&mut nodes.sent), 1);
    let call = nodes.post(1, &id, &tool_call(6, "progress"));
    assert!(call.body.contains("notifications/message"), "{call:?}");
    let (stream, _) = nodes.listen(1, &id, None);
    for (uri, is_told) in [("a:1", false), ("a:2", true)] {
        nodes.publish(1, &Change::resource(uri));
        assert_eq!(nodes.read(1, stream).contains(uri), is_told, "{uri}");
    }
}

#[test]
fn a_client_does_not_flood_the_bus_with_streams_that_it_resumes() {
    let (mut nodes, id) = Nodes::with_session(2);
    nodes.post(1, &id, PING);
    nodes.sent = 0;
    for number in 0..1000 {
        let answer = nodes.send(1, &resume(&id, "77-3"));
        assert_eq!(answer.status, if number < 800 { 200 } else { 503 }, "{number}");
    }
    assert_eq!(nodes.sent, 800);
}

#[test]
fn a_client_that_another_node_has_seen_is_initialized() {
    let mut nodes = Nodes::new(0);
    nodes.start_with(limited);
    nodes.start();
    let id = nodes.send(0, &initialize("2025-11-25")).session();
    nodes.post(1, &id, &notification("initialized", "{}"));
    assert_eq!(nodes.send(0, &initialize("2025-11-25")).status, 503, "it is not replaced");
}

#[test]
fn a_call_of_one_node_is_cancelled_through_another() {
    let mut nodes = Nodes::new(2);
    let id = nodes.hosts[0].open("2025-06-18");
    nodes.hosts[0].tool(&id, 5, "slow");
    let request = nodes.hosts[0].open[0];
    assert_eq!(nodes.post(1, &id, &cancelled(5)).status, 202);
    assert!(!nodes.hosts[0].site.is_open(request));
}

#[test]
fn what_a_client_sets_at_one_node_all_nodes_know() {
    let (mut nodes, id) = Nodes::with_session(3);
    nodes.post(1, &id, PING);
    assert_eq!(nodes.post(0, &id, LEVEL).status, 200);
    assert_eq!(nodes.post(1, &id, &subscription(3, "subscribe", "a:1")).status, 200);
    assert_eq!(nodes.post(0, &id, &subscription(4, "subscribe", "a:2")).status, 200);
    // The third node hears of the session only now, and the first has stopped.
    let mut first = nodes.hosts.remove(0);
    let (stream, events) = nodes.listen(1, &id, None);
    assert!(events.contains("tools/list_changed"), "{events}");
    for (at, uri) in [(0, "a:1"), (1, "a:2")] {
        nodes.publish(at, &Change::resource(uri));
        assert!(nodes.read(1, stream).contains(&format!(r#""uri":"{uri}""#)), "{uri}");
    }
    for at in [0, 1] {
        let call = nodes.post(at, &id, &tool_call(5, "progress"));
        assert!(call.body.contains("notifications/progress"), "{call:?}");
        assert!(!call.body.contains("notifications/message"), "{call:?}");
    }
    assert_eq!(nodes.post(0, &id, &subscription(6, "unsubscribe", "a:1")).status, 200);
    nodes.publish(0, &Change::resource("a:1"));
    assert_eq!(nodes.read(1, stream), "");
    nodes.publish(0, &Change::tools());
    assert!(nodes.read(1, stream).contains("tools/list_changed"));
    // What all nodes of a session have forgotten is gone: they have been started again.
    assert!(first.tool(&id, 7, "progress").body.contains("notifications/progress"));
}

#[test]
fn a_change_that_overtakes_a_subscription_on_the_bus_is_told() {
    for (pause, is_told) in [(0, true), (1999, true), (2000, false)] {
        let mut nodes = Nodes::new(3);
        let id = nodes.hosts[0].open("2025-11-25");
        let (stream, _) = nodes.listen(1, &id, None);
        nodes.publish(1, &Change::resource("a:other"));
        // The client has its response, and the other nodes have not heard of it.
        let subscribe = in_session(&id, &subscription(2, "subscribe", "a:1"));
        assert_eq!(nodes.hosts[0].send(&subscribe).status, 200);
        nodes.hosts[0].run();
        let late = std::mem::take(&mut nodes.hosts[0].outgoing);
        assert_eq!(late.len(), 1);
        nodes.publish(2, &Change::resource("a:1"));
        assert_eq!(nodes.read(1, stream), "");
        nodes.wait(Duration::from_millis(pause));
        nodes.hosts[0].outgoing = late;
        let events = nodes.read(1, stream);
        assert_eq!(events.matches("resources/updated").count(), usize::from(is_told), "{events}");
        assert_eq!(events.contains(r#""uri":"a:1""#), is_told);
        // From now on it is known.
        nodes.publish(2, &Change::resource("a:1"));
        assert!(nodes.read(1, stream).contains(r#""uri":"a:1""#));
    }
}

#[test]
fn a_session_that_was_deleted_is_gone_at_all_nodes() {
    let (mut nodes, id) = Nodes::with_session(3);
    assert_eq!(nodes.post(1, &id, PING).status, 200);
    assert_eq!(nodes.delete(1, &id).status, 204);
    for at in 0..3 {
        assert_eq!(nodes.post(at, &id, PING).error(), (404, -32001), "{at}");
        assert_eq!(nodes.hosts[at].site.sessions(), 0);
    }
    // A node that has begun since is told when it asks.
    nodes.start();
    nodes.post(3, &id, PING);
    assert_eq!(nodes.post(3, &id, PING).error(), (404, -32001));
}

fn last_id(events: &str) -> String {
    (*ids(events).last().unwrap()).to_owned()
}

#[test]
fn a_stream_is_resumed_at_another_node() {
    let (mut nodes, id) = Nodes::with_session(3);
    let (request, last) = nodes.slow(&id);
    nodes.hosts[0].progress(request, 1);
    // The connection is lost before the first node knows of it, and then again.
    let (resumed, events) = nodes.listen(1, &id, Some(&last));
    assert!(events.contains(r#""progress":1"#), "{events}");
    nodes.hosts[0].progress(request, 2);
    let events = nodes.read(1, resumed);
    assert!(events.contains(r#""progress":2"#), "{events}");
    let last = last_id(&events);
    nodes.close(1, resumed);
    nodes.hosts[0].progress(request, 3);
    nodes.hosts[0].finish(request);
    let (_, events) = nodes.listen(2, &id, Some(&last));
    assert!(!events.contains(r#""progress":2"#), "{events}");
    assert!(events.contains(r#""progress":3"#) && events.contains("done"), "{events}");
    assert_eq!(nodes.hosts[2].site.exchanges(), 0, "the stream has ended");
}

#[test]
fn http_25_a_stream_that_two_nodes_resume_belongs_to_the_latest_connection() {
    let (mut nodes, id) = Nodes::with_session(2);
    let (request, last) = nodes.slow(&id);
    nodes.hosts[0].progress(request, 1);
    let (own, events) = nodes.listen(0, &id, Some(&last));
    assert!(events.contains(r#""progress":1"#), "{events}");
    let (other, events) = nodes.listen(1, &id, Some(&last));
    assert!(events.contains(r#""progress":1"#), "{events}");
    nodes.hosts[0].progress(request, 2);
    assert_eq!(nodes.read(0, own), "");
    let events = nodes.read(1, other);
    assert!(events.contains(r#""progress":2"#), "{events}");
    let (own, _) = nodes.listen(0, &id, Some(&last_id(&events)));
    nodes.hosts[0].progress(request, 3);
    assert_eq!(nodes.read(1, other), "");
    assert!(nodes.read(0, own).contains(r#""progress":3"#));
}

#[test]
fn a_stream_of_no_request_goes_on_at_another_node() {
    let (mut nodes, id) = Nodes::with_session(2);
    let (stream, _) = nodes.listen(0, &id, None);
    nodes.publish(0, &Change::tools());
    let last = last_id(&nodes.read(0, stream));
    nodes.close(0, stream);
    nodes.publish(0, &Change::tools());
    let (stream, events) = nodes.listen(1, &id, Some(&last));
    let missed = format!("id: {}-1\n", last.split('-').next().unwrap());
    assert!(events.starts_with(&missed), "{last}: {events}");
    nodes.publish(0, &Change::tools());
    let events = nodes.read(1, stream);
    assert!(events.contains("tools/list_changed"), "{events}");
    // It is a stream of this node now, also for its client.
    let last = last_id(&events);
    nodes.close(1, stream);
    nodes.sent = 0;
    nodes.listen(1, &id, Some(&last));
    assert_eq!(nodes.sent, 0);
}

#[test]
fn a_stream_that_no_node_has_becomes_one_of_no_request() {
    let (mut nodes, id) = Nodes::with_session(2);
    let (stream, events) = nodes.listen(1, &id, Some("77-3"));
    assert_eq!(events, "");
    nodes.wait(Duration::from_secs(2));
    assert!(nodes.read(1, stream).contains("tools/list_changed"));
}

#[test]
fn a_client_asks_again_for_a_stream_of_which_events_were_lost() {
    let (mut nodes, id) = Nodes::with_session(2);
    let (request, last) = nodes.slow(&id);
    nodes.hosts[0].progress(request, 1);
    let (resumed, events) = nodes.listen(1, &id, Some(&last));
    let last = last_id(&events);
    nodes.close(1, resumed);
    // The first event behind a gap ends the connection, and so does silence.
    for is_silent in [false, true] {
        let (exchange, events) = nodes.listen(1, &id, Some(&last));
        assert_eq!(events.contains("\"progress\":2"), is_silent, "asked again: {events}");
        assert_eq!(nodes.hosts[1].site.exchanges(), 1);
        nodes.hosts[0].progress(request, 2 + u32::from(is_silent) * 2);
        nodes.hosts[0].run();
        nodes.hosts[0].outgoing.clear();
        if is_silent {
            let keep_alive = SiteOptions::new().keep_alive;
            nodes.wait(keep_alive * 2 - Duration::from_millis(1));
            nodes.hosts[1].rest(exchange);
            assert_eq!(nodes.hosts[1].site.exchanges(), 1);
            nodes.wait(Duration::from_millis(1));
        } else {
            nodes.hosts[0].progress(request, 3);
            nodes.settle();
        }
        assert!(!nodes.hosts[1].rest(exchange).body.contains("progress"));
        assert_eq!(nodes.hosts[1].site.exchanges(), 0);
    }
    nodes.hosts[0].finish(request);
    let (_, events) = nodes.listen(1, &id, Some(&last));
    assert!(["\"progress\":2", "\"progress\":4", "done"].iter().all(|it| events.contains(it)));
}

/// Bob has the exchange with the number that was Ada's, at a node that was started again.
#[test]
fn events_and_receipts_reach_their_own_session_only() {
    let mut nodes = Nodes::new(2);
    let [ada, bob] = [0, 1].map(|_| nodes.hosts[0].open("2025-11-25"));
    let (request, last) = nodes.slow(&ada);
    let (of_ada, _) = nodes.listen(1, &ada, Some(&last));
    nodes.restart(1);
    let (of_bob, _) = nodes.listen(1, &bob, Some("7-0"));
    assert_eq!(of_ada, of_bob);
    assert_eq!(nodes.post(1, &ada, PING).status, 200);
    nodes.hosts[0].progress(request, 1);
    assert_eq!(nodes.read(1, of_bob), "");
    assert_eq!(nodes.hosts[1].site.exchanges(), 1, "it waits for its own");
}

#[test]
fn sessions_of_a_fleet_that_are_used_are_not_replaced() {
    let clock = Clock::default();
    let mut host = Host::of(&CONFIG, limited).in_fleet(clock.node("a", RING));
    let id = host.open("2025-11-25");
    assert_eq!(host.send(&initialize("2025-11-25")).status, 503);
    assert_eq!(host.call(&id, PING).status, 200);
}

#[test]
fn a_session_whose_stream_comes_from_another_node_is_used() {
    let mut nodes = Nodes::new(1);
    nodes.start_with(|it| {
        limited(it);
        it.idle_timeout = Duration::from_secs(50);
    });
    let id = nodes.hosts[0].open("2025-11-25");
    let (request, last) = nodes.slow(&id);
    let (resumed, _) = nodes.listen(1, &id, Some(&last));
    for step in 1..=6 {
        nodes.wait(Duration::from_secs(20));
        nodes.hosts[0].progress(request, step);
        let events = nodes.read(1, resumed);
        assert!(events.contains(&format!(r#""progress":{step}"#)), "{step}: {events}");
    }
    assert_eq!(nodes.send(1, &initialize("2025-11-25")).status, 503);
    // When the stream ends, the session is not used any more.
    nodes.hosts[0].finish(request);
    assert!(nodes.read(1, resumed).contains("done"));
    nodes.wait(Duration::from_secs(49));
    assert_eq!(nodes.hosts[1].site.sessions(), 1);
    nodes.wait(Duration::from_secs(1));
    assert_eq!((nodes.hosts[1].site.sessions(), nodes.hosts[1].site.exchanges()), (0, 0));
}

#[test]
fn a_stream_that_comes_from_another_node_ends_with_its_session() {
    let (mut nodes, id) = Nodes::with_session(2);
    let (_, last) = nodes.slow(&id);
    let (resumed, _) = nodes.listen(1, &id, Some(&last));
    assert_eq!(nodes.delete(0, &id).status, 204);
    nodes.read(1, resumed);
    assert_eq!(nodes.hosts[1].site.exchanges(), 0);
}

#[test]
fn what_was_lost_on_the_bus_is_said() {
    let (mut nodes, id) = Nodes::with_session(2);
    let (stream, _) = nodes.listen(1, &id, None);
    nodes.publish(0, &Change::prompts());
    nodes.read(1, stream);
    // An envelope of the first node is lost.
    nodes.hosts[0].site.announce(&Change::tools());
    nodes.hosts[0].run();
    nodes.hosts[0].outgoing.clear();
    assert_eq!(nodes.read(1, stream), "");
    nodes.publish(0, &Change::prompts());
    assert!(nodes.read(1, stream).contains("tools/list_changed"));
    // The second node was not connected.
    nodes.hosts[0].call(&id, LEVEL);
    nodes.hosts[0].outgoing.clear();
    nodes.hosts[1].site.missed();
    assert!(nodes.read(1, stream).contains("tools/list_changed"));
    let call = nodes.post(1, &id, &tool_call(5, "progress"));
    assert!(!call.body.contains("notifications/message"), "{call:?}");
}

#[test]
fn only_unchanged_envelopes_of_the_ring_are_opened() {
    let mut nodes = Nodes::new(2);
    nodes.hosts[0].site.announce(&Change::resource("a:1"));
    nodes.hosts[0].run();
    let envelope = nodes.hosts[0].outgoing.pop().unwrap();
    let host = &mut nodes.hosts[1];
    for at in 0..envelope.len() {
        let mut changed = envelope.clone();
        changed[at] ^= 1;
        assert_eq!(host.site.deliver(host.now, &changed), Err(UnknownEnvelope), "{at}");
        assert_eq!(host.site.deliver(host.now, &envelope[..at]), Err(UnknownEnvelope), "{at}");
    }
    assert_eq!(host.site.deliver(host.now, &envelope), Ok(None));
    let mut stranger = node(Clock::default().node("b", KeyRing::new([8; 32])).on_bus());
    assert_eq!(stranger.site.deliver(stranger.now, &envelope), Err(UnknownEnvelope));
    assert!(UnknownEnvelope.to_string().ends_with("need one KeyRing"));
    // A site that is no node has no bus.
    let mut alone = Host::new();
    assert_eq!(alone.site.deliver(alone.now, &envelope), Ok(None));
    alone.site.announce(&Change::tools());
    alone.run();
    assert!(alone.outgoing.is_empty());
}

/// Whatever happens to envelopes, no question is answered twice, and what a client was told of
/// (202) has arrived.
#[test]
fn chaos_on_the_bus_loses_nothing_that_was_acknowledged() {
    let (mut taken, mut refused) = (0, 0);
    for seed in 1..=200 {
        let mut nodes = Nodes::new(3);
        let id = nodes.hosts[0].open("2025-11-25");
        nodes.settle();
        nodes.chaos = Some(Random::new(seed));
        let mut random = Random::new(seed + 1000);
        for number in 0..8 {
            let (at, other) = (random.below(3), random.below(3));
            let asked = nodes.post(at, &id, &tool_call(number + 10, "ask"));
            let reply = reply_to(&asked.body);
            let mut answer = nodes.post(other, &id, &reply);
            if let Some(exchange) = answer.exchange {
                nodes.wait(Duration::from_secs(2));
                answer = nodes.hosts[other].rest(exchange);
            }
            let asked = nodes.read(at, asked.exchange.unwrap());
            let results = asked.matches("answered").count();
            match answer.status {
                202 => {
                    assert_eq!(results, 1, "seed {seed}: {asked}");
                    taken += 1;
                }
                503 => {
                    assert!(results <= 1, "seed {seed}: {asked}");
                    refused += 1;
                }
                status => panic!("seed {seed}: {status}"),
            }
            if random.below(3) == 0 {
                nodes.publish(at, &Change::tools());
            }
        }
        assert_eq!(nodes.delete(random.below(3), &id).status, 204);
    }
    assert!(taken > 1000 && refused > 50, "{taken}, {refused}");
}
