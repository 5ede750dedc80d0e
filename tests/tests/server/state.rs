//! Requests and connections are independent, unless an id connects them.

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, ClientRequest, RawJson, Revision, SendError, ServerConfig, ServerEvent,
    ServerFeatures, Target, entries,
};
use mcp_sansio_tests::transcript::{self, Transcript};
use serde_json::{Value, json};

use crate::features::support::Peer;

#[test]
fn meta_15_meta_16_client_info_does_not_change_behaviour() {
    let names = [
        r#"{"name":"c","version":"2"}"#,
        r#"{"name":"admin \"root\" 🦀","version":"","title":"x","websiteUrl":"https://example.org/"}"#,
        r#"{"name":"","version":"0","icons":[{"src":"data:,"}]}"#,
    ];
    let mut compared = 0;
    // Longer lines may be oversized in a small buffer.
    for (name, text) in transcript::texts().iter().filter(|(_, text)| !text.contains("config: rx"))
    {
        let play = |transcript: Result<Transcript, String>| {
            transcript.and_then(|t| transcript::play_once(&t)).unwrap_or_else(|f| panic!("{f}"))
        };
        let usual = play(Transcript::parse(name, text));
        for client_info in names {
            let other = play(Transcript::parse_for(name, text, client_info));
            assert_eq!(other, usual, "{name} with {client_info}");
            compared += usual.len();
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn sta_02_conversations_that_are_interleaved_go_as_if_alone() {
    let conversation = |name: &str, capabilities: &str| -> Vec<String> {
        let meta = meta(capabilities);
        let call = |n: usize, more: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":"{name}{n}","method":"tools/call","params":{{"name":"ask"{more},{meta}}}}}"#
            )
        };
        vec![
            format!(
                r#"{{"jsonrpc":"2.0","id":"{name}0","method":"server/discover","params":{{{meta}}}}}"#
            ),
            call(1, ""),
            call(2, r#","requestState":"2""#),
            format!(
                r#"{{"jsonrpc":"2.0","id":"{name}3","method":"tools/list","params":{{{meta}}}}}"#
            ),
            call(4, r#","inputResponses":{"k":{"roots":[]}},"requestState":"4""#),
        ]
    };
    let conversations = [
        conversation("a", r#"{"roots":{}}"#),
        conversation("b", "{}"),
        conversation("c", r#"{"sampling":{}}"#),
    ];
    let alone: Vec<Vec<Value>> = conversations
        .iter()
        .map(|lines| lines.iter().flat_map(|line| Roots::new().say(line)).collect())
        .collect();
    let mut together = Roots::new();
    let mut answers = vec![Vec::new(); 3];
    for turn in [0, 1, 0, 2, 2, 1, 0, 0, 2, 1, 1, 0, 2, 2, 1] {
        let done = answers[turn].len();
        answers[turn].extend(together.say(&conversations[turn][done]));
    }
    assert_eq!(answers, alone);
    assert_ne!(alone[0][1]["result"], alone[1][1]["result"]);
}

#[test]
fn sta_03_sta_05_a_retry_continues_on_any_connection() {
    let meta = meta(r#"{"roots":{}}"#);
    let call = |id: u32, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"ask"{more},{meta}}}}}"#
        )
    };
    let retry = call(2, r#","inputResponses":{"k":{"roots":[]}},"requestState":"7""#);
    let mut first = Roots::new();
    let asked = first.say(&call(1, ""));
    assert_eq!(asked[0]["result"]["resultType"], "input_required");
    let here = first.say(&retry);
    let elsewhere = Roots::new().say(&retry);
    assert_eq!(here, elsewhere);
    assert!(here[0].to_string().contains("went on from 7"), "{here:?}");
    // Without the request state it starts again, also on the connection of the first attempt.
    let again = first.say(&call(1, ""));
    assert_eq!(again, asked);
}

#[test]
fn sta_06_lists_are_the_same_on_all_connections_and_at_any_time() {
    let list = |meta: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"L","method":"tools/list","params":{{{meta}}}}}"#)
    };
    let first = Roots::new().say(&list(&meta("{}")));
    let mut other = Roots::new();
    let before = other.say(&list(&meta(r#"{"roots":{},"sampling":{},"elicitation":{}}"#)));
    assert_eq!(before, first);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask",{}}}}}"#, meta(r#"{"roots":{}}"#)),
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{{{}}}}}"#, meta("{}")),
        r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#.into(),
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"plain"}}"#.into(),
        "garbage".into(),
    ] {
        other.say(&line);
        assert_eq!(other.say(&list(&meta("{}"))), first, "after {line}");
    }
}

fn meta(capabilities: &str) -> String {
    format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#
    )
}

static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
const SCHEMA: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);
static CATALOG: Catalog<'static> =
    Catalog::new().tools(entries![Tool::new("ask", SCHEMA), Tool::new("plain", SCHEMA)]);

/// A connection whose application requests the roots where it can.
struct Roots(Peer);

impl Roots {
    fn new() -> Self {
        Self(Peer::with_config(Revision::LATEST, &CONFIG, json!({})))
    }

    /// Returns the response to a line.
    fn say(&mut self, line: &str) -> Vec<Value> {
        self.0.say_text(line, |server, event, tx| {
            let ServerEvent::Request(request) = event else { return };
            let target = CATALOG.respond(server, &request, tx).expect("room");
            if matches!(target, Target::Responded) {
                return;
            }
            let answered = match (request.name(), request.request_state()) {
                (Some(name), None) if name == "ask" => {
                    let questions = [("k", ClientRequest::roots())];
                    let asked = server.input_required(request.handle, &questions, Some("7"), tx);
                    match asked {
                        Err(SendError::NotAllowed(_)) => {
                            server.respond(request.handle, &TextResult::error("cannot ask"), tx)
                        }
                        other => other,
                    }
                }
                (_, Some(state)) => {
                    let text =
                        format!("went on from {state} with {:?}", request.input_response("k"));
                    server.respond(request.handle, &TextResult::new(&text), tx)
                }
                _ => server.respond(request.handle, &TextResult::new("plain"), tx),
            };
            assert_eq!(answered, Ok(()));
        })
    }
}
