//! The server does not allocate: whole conversations of both eras, on arrays, under a counting
//! allocator.

mod peer;
mod tasks;

use allocation_counter::measure;
use mcp_sansio::Change;
use peer::Peer;
use serde_json::Value;

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Messages of a legacy client after its handshake. `!` and a name: an action of the application.
const CONVERSATION: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools\/call","params":{"name":"echo","arguments":{"text":"wi\u0074h \"escapes\" é"}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":7}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"image","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fail"}}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"no such tool"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t7"}}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
    "!progress",
    r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"warning"}}"#,
    "!log",
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"ask"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"42"},"model":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"resources/list"}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"resources/templates/list"}"#,
    r#"{"jsonrpc":"2.0","id":12,"method":"resources/read","params":{"uri":"memory://log/7"}}"#,
    r#"{"jsonrpc":"2.0","id":13,"method":"resources/read","params":{"uri":"memory://none"}}"#,
    r#"{"jsonrpc":"2.0","id":14,"method":"resources/subscribe","params":{"uri":"memory:\/\/blob"}}"#,
    "!publish",
    r#"{"jsonrpc":"2.0","id":15,"method":"resources/unsubscribe","params":{"uri":"memory://blob"}}"#,
    r#"{"jsonrpc":"2.0","id":16,"method":"prompts/list"}"#,
    r#"{"jsonrpc":"2.0","id":17,"method":"prompts/get","params":{"name":"greet","arguments":{"who":"you"}}}"#,
    r#"{"jsonrpc":"2.0","id":18,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"y"}}}"#,
    r#"{"jsonrpc":"2.0","id":19,"method":"no/such/method"}"#,
    r#"{"jsonrpc":"2.0","id":20,"id":20,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":21.5,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":22,"method":"tools/call","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
    "{ this is a line of a log",
    "[]",
    "!oversized",
    // Four fit; the fifth is refused, and the rest time out.
    r#"{"jsonrpc":"2.0","id":30,"method":"tools/call","params":{"name":"slow"}}"#,
    r#"{"jsonrpc":"2.0","id":31,"method":"tools/call","params":{"name":"slow"}}"#,
    r#"{"jsonrpc":"2.0","id":32,"method":"tools/call","params":{"name":"slow"}}"#,
    r#"{"jsonrpc":"2.0","id":33,"method":"tools/call","params":{"name":"ask"}}"#,
    r#"{"jsonrpc":"2.0","id":34,"method":"tools/call","params":{"name":"slow"}}"#,
    "!time",
];

/// The ids that must get one response each. 20 is a duplicate, 21.5 is not an id, and 9 made a call
/// to which the client responded.
const ANSWERED: &[&str] = &[
    "\"p\"",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "8",
    "9",
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
    "16",
    "17",
    "18",
    "19",
    "20",
    "22",
    "\"large\"",
    "30",
    "31",
    "32",
    "33",
    "34",
];

const BATCH: &str = r#"[{"jsonrpc":"2.0","id":40,"method":"ping"},{"jsonrpc":"2.0","id":41,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/x"}]"#;

macro_rules! modern {
    ($id:literal, $method:literal, $params:literal) => {
        concat!(
            r#"{"jsonrpc":"2.0","id":"#,
            $id,
            r#","method":""#,
            $method,
            r#"","params":{"#,
            $params,
            r#""_meta":{"progressToken":1e2,"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/logLevel":"debug"}}}"#,
        )
    };
}

const MODERN: &[&str] = &[
    modern!("1", "server/discover", ""),
    modern!("2", "tools/list", ""),
    modern!("3", "tools/call", r#""name":"echo","arguments":{"text":"hello"},"#),
    modern!("4", "tools/call", r#""name":"ask","#),
    modern!(
        "5",
        "tools/call",
        r#""name":"ask","inputResponses":{"q":{"action":"accept","content":{"name":"n"}}},"requestState":"s","#
    ),
    modern!(
        "6",
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["memory://blob"]},"#
    ),
    "!publish",
    modern!("7", "tools/call", r#""name":"slow","#),
    "!progress",
    "!log",
    "!time",
    "!end listen",
    modern!("8", "resources/read", r#""uri":"memory://blob","#),
    modern!("9", "initialize", ""),
    r#"{"jsonrpc":"2.0","id":10,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"tools/list"}"#,
];
const MODERN_ANSWERED: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"];

#[test]
fn a_legacy_session_allocates_nothing() {
    for revision in LEGACY {
        check(revision, &mut Peer::<8192>::new(), |peer| legacy(peer, revision));
    }
}

#[test]
fn responses_streamed_through_64_bytes_allocate_nothing() {
    for revision in LEGACY {
        check(revision, &mut Peer::<64>::new(), |peer| legacy(peer, revision));
    }
    check("2026-07-28", &mut Peer::<64>::new(), modern);
}

#[test]
fn a_modern_conversation_allocates_nothing() {
    check("2026-07-28", &mut Peer::<8192>::new(), modern);
}

#[test]
fn the_allocation_counter_counts() {
    assert!(measure(|| drop(std::hint::black_box(Box::new(1)))).count_total > 0);
}

fn check<const TX: usize>(
    revision: &str,
    peer: &mut Peer<TX>,
    mut talk: impl FnMut(&mut Peer<TX>),
) {
    let allocations = measure(|| talk(peer));
    assert_eq!(allocations.count_total, 0, "{revision}: {allocations:?}");
    // The conversation took place.
    let modern = revision == "2026-07-28";
    let mut expected: Vec<&str> = if modern { MODERN_ANSWERED } else { ANSWERED }.to_vec();
    if revision == "2025-03-26" {
        expected.extend(["40", "41"]);
    }
    if !modern {
        expected.push("0");
    }
    let lines: Vec<Value> =
        peer.sent().lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let is_answer = |line: &&Value| {
        line.get("method").is_none() && line.get("id").is_some_and(|id| !id.is_null())
    };
    let mut answered: Vec<String> =
        lines.iter().filter(is_answer).map(|line| line["id"].to_string()).collect();
    answered.sort();
    expected.sort_unstable();
    assert_eq!(answered, expected, "{revision}");
    let mut methods = vec!["notifications/resources/updated", "notifications/tools/list_changed"];
    methods.extend(
        if modern { "notifications/subscriptions/acknowledged" } else { "sampling/createMessage" }
            .split(' '),
    );
    if TX > 64 {
        methods.extend(["notifications/progress", "notifications/message"]);
    }
    for method in methods {
        assert!(lines.iter().any(|line| line["method"] == method), "{revision}: no {method}");
    }
}

fn legacy<const TX: usize>(peer: &mut Peer<TX>, revision: &str) {
    const HEAD: &str =
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":""#;
    const REST: &str =
        r#"","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
    peer.hear(HEAD.as_bytes());
    peer.hear(revision.as_bytes());
    peer.line(REST);
    peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    play(peer, CONVERSATION);
    peer.line(BATCH);
}

fn modern<const TX: usize>(peer: &mut Peer<TX>) {
    play(peer, MODERN);
}

fn play<const TX: usize>(peer: &mut Peer<TX>, conversation: &[&str]) {
    for line in conversation {
        match *line {
            "!progress" => peer.progress(),
            "!log" => peer.log(),
            "!time" => peer.pass_time(),
            "!end listen" => peer.end_listen(),
            "!publish" => {
                peer.publish(Change::resource("memory://blob"));
                peer.publish(Change::resource("memory://other"));
                peer.publish(Change::tools());
            }
            "!oversized" => {
                peer.hear(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":""#);
                for _ in 0..100 {
                    peer.hear(b"a long text of many words ");
                }
                peer.line(r#""}},"id":"large"}"#);
            }
            line => peer.line(line),
        }
    }
}
