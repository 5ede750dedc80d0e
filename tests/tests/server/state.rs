//! Requests and connections are independent, unless an id connects them.

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, ClientRequest, Frame, Instant, Messages, RawJson, Server, ServerConfig, ServerEvent,
    ServerFeatures, Target, TxBuffer, entries,
};
use mcp_sansio_tests::memory::new_server;
use mcp_sansio_tests::transcript::{self, Transcript};

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
            assert_eq!(
                play(Transcript::parse_for(name, text, client_info)),
                usual,
                "{name} with {client_info}"
            );
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
    let alone: Vec<Vec<String>> = conversations
        .iter()
        .map(|lines| lines.iter().flat_map(|line| Peer::new().say(line)).collect())
        .collect();
    let mut together = Peer::new();
    let mut answers = vec![Vec::new(); 3];
    for turn in [0, 1, 0, 2, 2, 1, 0, 0, 2, 1, 1, 0, 2, 2, 1] {
        let done = answers[turn].len();
        answers[turn].extend(together.say(&conversations[turn][done]));
    }
    assert_eq!(answers, alone);
    assert_ne!(alone[0][1], alone[1][1].replace("\"b", "\"a"));
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
    let mut first = Peer::new();
    let asked = first.say(&call(1, ""));
    assert!(asked[0].contains(r#""resultType":"input_required""#), "{asked:?}");
    let here = first.say(&retry);
    let elsewhere = Peer::new().say(&retry);
    assert_eq!(here, elsewhere);
    assert!(here[0].contains("went on from 7"), "{here:?}");
    // Without the request state it starts again, also on the connection of the first attempt.
    let again = first.say(&call(1, ""));
    assert_eq!(again, asked);
}

#[test]
fn sta_06_lists_are_the_same_on_all_connections_and_at_any_time() {
    let list = |meta: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"L","method":"tools/list","params":{{{meta}}}}}"#)
    };
    let first = Peer::new().say(&list(&meta("{}")));
    let mut other = Peer::new();
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
struct Peer {
    server: Server<'static>,
}

impl Peer {
    fn new() -> Self {
        Self { server: new_server::<8, 8>(&CONFIG) }
    }

    /// Returns the response to a line.
    fn say(&mut self, line: &str) -> Vec<String> {
        let mut tx = TxBuffer::new([0; 8192]);
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        while let Some(event) =
            self.server.next_event(Instant::from_millis(0), &mut messages, &mut tx).expect("room")
        {
            let ServerEvent::Request(request) = event else { continue };
            let target = CATALOG.respond(&mut self.server, &request, &mut tx).expect("room");
            if matches!(target, Target::Responded) {
                continue;
            }
            let answered = match (request.name(), request.request_state()) {
                (Some(name), None) if name == "ask" => {
                    let questions = [("k", ClientRequest::roots())];
                    match self.server.input_required(request.handle, &questions, Some("7"), &mut tx)
                    {
                        Err(mcp_sansio::SendError::NotAllowed(_)) => self.server.respond(
                            request.handle,
                            &TextResult::error("cannot ask"),
                            &mut tx,
                        ),
                        other => other,
                    }
                }
                (_, Some(state)) => {
                    let text =
                        format!("went on from {state} with {:?}", request.input_response("k"));
                    self.server.respond(request.handle, &TextResult::new(&text), &mut tx)
                }
                _ => self.server.respond(request.handle, &TextResult::new("plain"), &mut tx),
            };
            assert_eq!(answered, Ok(()));
        }
        let sent = String::from_utf8(tx.pending().to_vec()).expect("UTF-8");
        sent.lines().map(Into::into).collect()
    }
}
