//! Nodes of a fleet: sessions that another node goes on with.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::types::Implementation;
use mcp_sansio::{ServerConfig, ServerFeatures};
use mcp_sansio_engine::KeyRing;
use mcp_sansio_engine::site::{
    ForeignSession, InvalidNode, SiteNode, SiteOptions, number_of_session,
};

use super::host::{CONFIG, Host, bare, initialize, post};

const RING: KeyRing = KeyRing::new([7; 32]);
const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

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

fn node_of(
    config: &'static ServerConfig<'static>,
    node: SiteNode,
    set: impl Fn(&mut SiteOptions<'static>),
) -> Host {
    Host::of(config, set).in_fleet(node)
}

fn node(node: SiteNode) -> Host {
    node_of(&CONFIG, node, |_| {})
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
    refused(&mut node_of(&OTHER, clock.node("c", RING), |_| {}), &id);
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
    let authorized = |name| node_of(&CONFIG, clock.node(name, RING), |it| it.authorizes = true);
    let by = |token: &str, request: String| {
        request.replacen("Host:", &format!("Authorization: Bearer {token}\r\nHost:"), 1)
    };
    let (mut first, mut second) = (authorized("a"), authorized("b"));
    let opened = first.send(&by("ada", initialize("2025-11-25")));
    let id = opened.field("mcp-session-id").unwrap().to_owned();
    let ping = post(&[("Mcp-Session-Id", &id)], PING);
    for other in ["bob", "adа", "ad"] {
        assert_eq!(second.send(&by(other, ping.clone())).error(), (404, -32001), "{other}");
    }
    assert_eq!(second.foreign, [ForeignSession::OtherPrincipal; 3]);
    assert_eq!(second.site.sessions(), 0);
    assert_eq!(second.send(&by("ada", ping.clone())).status, 200);
    assert_eq!(second.send(&by("bob", ping.clone())).error(), (404, -32001));
    // Without principals there are other sessions.
    assert_eq!(node(clock.node("c", RING)).send(&ping).error(), (404, -32001));
}

#[test]
fn sessions_of_other_nodes_count_in_the_limit() {
    let clock = Clock::default();
    let mut first = node(clock.node("a", RING));
    let [one, two] = [0, 1].map(|_| first.open("2025-11-25"));
    assert_ne!(one, two);
    let limited = |it: &mut SiteOptions<'_>| (it.max_sessions, it.address_share) = (1, 100);
    let mut second = node_of(&CONFIG, clock.node("b", RING), limited);
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
    assert_eq!(format!("{node:?}"), r#"SiteNode { name: "a", shard: 0 }"#);
}
