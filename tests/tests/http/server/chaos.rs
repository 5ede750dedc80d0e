//! Any calls in any order: nothing panics, nothing is left behind, and others are served.

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_sansio::Change;
use mcp_sansio_tests::random::Random;

use super::host::{
    CONFIG, Connection, Host, INITIALIZED, bare, cancelled, in_session, initialize, listen,
    modern_call, resume, to, tool_call, with_token,
};

const TOOLS: [&str; 6] = ["echo", "progress", "slow", "fails", "long", "nobody"];

/// Returns a request of any kind, of one of the sessions.
fn request(random: &mut Random, sessions: &[String], number: u32) -> String {
    let id = sessions.get(random.below(sessions.len() + 1)).map_or("gone", String::as_str);
    let tool = TOOLS[random.below(TOOLS.len())];
    let own = [("Mcp-Session-Id", id)];
    let send = |body: &str| in_session(id, body);
    let last = format!("{}-{}", random.below(6), random.below(4));
    match random.below(14) {
        0 => initialize(["2025-03-26", "2025-06-18", "2025-11-25"][random.below(3)]),
        1 => bare("GET", &own),
        2 => resume(id, &last),
        3 => to("/sse", &bare("GET", &[])),
        4 if random.below(4) == 0 => bare("DELETE", &own),
        5 => listen(),
        6 => modern_call(tool),
        7 => send(&cancelled(random.below(40))),
        8 => send(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#),
        9 => send(&tool_call(number, "ask")),
        10 => send(&format!("[{},{}]", tool_call(number, tool), tool_call(90, "echo"))),
        11 => send(&"x".repeat(random.below(9000))),
        12 => send(INITIALIZED),
        _ => send(&tool_call(number, tool)),
    }
}

#[test]
fn connections_come_and_go_in_any_order() {
    let (mut handled, mut ended, mut statuses) = (0, 0, BTreeSet::new());
    for seed in 1_u64..150 {
        let mut random = Random::new(seed);
        let mut host = Host::of(&CONFIG, |options| {
            options.sse_path = Some("/sse");
            (options.max_sessions, options.max_exchanges) = (5, 12);
            (options.max_body, options.body_budget) = (8 << 10, 12 << 10);
            (options.max_pending, options.replay) = (700, 2000);
            options.authorizes = seed % 3 == 0;
        });
        host.authorizes_at_once = seed % 2 == 0;
        let mut sessions = Vec::new();
        let mut connections: Vec<Connection> = Vec::new();
        for number in 0..500 {
            match random.below(20) {
                0..6 => {
                    let text = request(&mut random, &sessions, number);
                    let text = with_token(&(seed % 2).to_string(), &text);
                    connections.push(Connection::new(&text));
                }
                6 if !connections.is_empty() => {
                    let at = random.below(connections.len());
                    connections.swap_remove(at).close(&mut host);
                }
                7 => host.site.publish(&Change::tools()),
                8 if !host.open.is_empty() => {
                    let at = random.below(host.open.len());
                    let open = host.open.swap_remove(at);
                    host.finish(open);
                }
                9 if !host.asked.is_empty() => {
                    let at = random.below(host.asked.len());
                    let (exchange, token) = host.asked.swap_remove(at);
                    host.authorize(exchange, token);
                }
                10 => host.wait(Duration::from_millis([1, 500, 16_000][random.below(3)])),
                11 if !host.open.is_empty() => {
                    let open = host.open[random.below(host.open.len())];
                    if let Some(mut turn) = host.site.turn(host.now, open.server) {
                        turn.release(open.request);
                    }
                }
                _ => {
                    let chunk = [1, 30, 1000][random.below(3)];
                    for connection in &mut connections {
                        if random.below(2) == 0 {
                            connection.step(&mut host, chunk);
                        }
                    }
                }
            }
            host.run();
            for connection in &connections {
                let id = connection.answer.field("mcp-session-id").map(str::to_owned);
                sessions.extend(id.filter(|id| !sessions.contains(id)));
            }
            statuses.extend(connections.iter().map(|connection| connection.answer.status));
            connections.retain(|connection| !connection.is_done);
            assert!(host.site.sessions() <= 5);
        }
        // Open exchanges can be served to their end.
        host.authorizes_at_once = true;
        for (exchange, token) in std::mem::take(&mut host.asked) {
            host.authorize(exchange, token);
        }
        for open in std::mem::take(&mut host.open) {
            host.finish(open);
        }
        host.serve(&mut connections);
        host.site.shut_down(host.now.saturating_add(Duration::from_secs(1)));
        host.serve_after(Duration::from_secs(1), &mut connections);
        host.serve_after(Duration::from_secs(30), &mut connections);
        assert!(host.site.is_over(), "{seed} {:?}", host.site);
        connections.retain(|connection| !connection.is_done);
        assert!(connections.is_empty(), "{seed} {connections:?}");
        assert_eq!(host.site.exchanges(), 0, "{seed}");
        (handled, ended) = (handled + host.principals.len(), ended + host.ended.len());
    }
    // Otherwise the test would say little.
    assert!(handled > 1000 && ended > 200, "{handled} {ended}");
    assert!([200, 202, 204, 400, 404, 413, 503].iter().all(|status| statuses.contains(status)));
}
