//! The blocking client over HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::{ListRootsResult, ReadResourceParams};
use mcp_sansio::{CallOptions, Instant, RawJson};
use mcp_sansio_adapters::blocking::client::{
    Cache, CallError, Client, Connector, Direction, Error, Handler, InputResponse,
    OwnedInputRequest, Tools,
};
use serde_json::{Value, json};

use crate::scene::{Response, Seen, answer, event, legacy, modern, play_blocking, said, text};
use crate::{LEGACY, MODERN, virtual_time};

/// A person without roots.
struct Rootless;

impl Handler for Rootless {
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        request.respond(&ListRootsResult::new(&[]))
    }
}

#[test]
fn a_blocking_client_calls_and_responds_and_shows_its_messages() {
    for (config, otherwise) in [(&MODERN, modern as fn(&Seen) -> Response), (&LEGACY, legacy)] {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let traced = Arc::clone(&notes);
        let trace = move |way, message: &[u8]| {
            let message: Value = serde_json::from_slice(message).unwrap();
            traced.lock().unwrap().push((way, message));
        };
        let script = move |seen: &Seen| match seen.body["params"]["name"].as_str() {
            Some("ask") => {
                let asks = json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"});
                Response::events(&(event(&asks) + &event(&answer(seen, &text("asked")))))
            }
            Some("broken") => Response::status(500),
            _ => otherwise(seen),
        };
        let is_modern = std::ptr::eq(config, &raw const MODERN);
        let tools = if is_modern { &["a", "broken"][..] } else { &["a", "broken", "ask"] };
        let connector = Connector::new(config).handler(Rootless).trace(trace);
        let (results, seen) = play_blocking(
            connector,
            |http| http,
            script,
            |client| {
                let call = |tool: &&str| client.call_tool(tool, &RawJson::EMPTY);
                tools.iter().map(call).collect::<Vec<_>>()
            },
        );
        assert_eq!(said(results[0].as_ref().unwrap()), "called");
        assert!(
            matches!(results[1], Err(Error::Call { error: CallError::Http(_), .. })),
            "{:?}",
            results[1]
        );
        if !is_modern {
            assert_eq!(said(results[2].as_ref().unwrap()), "asked");
            assert!(seen.iter().any(|seen| seen.body["result"]["roots"] == json!([])), "{seen:?}");
            assert_eq!(seen.last().unwrap().method, "DELETE");
        }
        let (sent, received): (Vec<_>, Vec<_>) = std::mem::take(&mut *notes.lock().unwrap())
            .into_iter()
            .partition(|(way, _)| *way == Direction::Sent);
        // Messages that need no response arrive beside others.
        let sorted = |messages: Vec<Value>| {
            let mut lines: Vec<_> = messages.iter().map(Value::to_string).collect();
            lines.sort();
            lines
        };
        let posts = seen.iter().filter(|seen| seen.method == "POST");
        let posts = posts.map(|seen| seen.body.clone()).collect();
        assert_eq!(sorted(sent.into_iter().map(|sent| sent.1).collect()), sorted(posts));
        let methods: Vec<_> = received.iter().map(|(_, message)| &message["method"]).collect();
        let expected = [
            vec![Value::Null; 2],
            if is_modern { vec![] } else { vec!["roots/list".into(), Value::Null] },
        ]
        .concat();
        assert_eq!(methods, expected.iter().collect::<Vec<_>>());
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_time_of_blocking_calls_and_lists_stands_still_while_a_person_logs_in() {
    let runtime = virtual_time::runtime();
    let _time = runtime.enter();
    let begun = tokio::time::Instant::now();
    let clock = move || Instant::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap());
    let slow = async |_| {
        // So long that the client notices.
        future::yield_now().await;
        future::yield_now().await;
        virtual_time::pass(MINUTE);
        Some("new".to_owned())
    };
    let script = |seen: &Seen| {
        let cursor = seen.body["params"]["cursor"].as_str();
        let is_old = seen.field("authorization") == Some("Bearer old");
        match (seen.message(), cursor) {
            ("x", _) | ("tools/list", Some(_)) if is_old => {
                Response::status(401).field("WWW-Authenticate", "Bearer")
            }
            ("tools/list", None | Some("2")) => {
                let next = if cursor.is_none() { "2" } else { "3" };
                let page = json!({"resultType": "complete", "tools": [], "nextCursor": next});
                Response::result(seen, &page)
            }
            _ => modern(seen),
        }
    };
    let options = CallOptions::new().timeout(MINUTE / 6).limit(MINUTE / 6);
    let played = |work: fn(&mut Client<'_>, CallOptions) -> Result<(), Error>| {
        let (done, seen) = play_blocking(
            Connector::new(&MODERN).clock(clock),
            |http| http.bearer("old").authorize(slow),
            script,
            |client| work(client, options),
        );
        done.unwrap();
        seen
    };
    played(|client, options| {
        let call = client.start("x", &RawJson::EMPTY, options)?;
        client.wait(call).map(drop)
    });
    let seen = played(|client, options| client.list::<Tools>(options).map(drop));
    assert_eq!(seen.iter().filter(|seen| seen.message() == "tools/list").count(), 4);
    assert!(begun.elapsed() >= 2 * MINUTE);
}

#[test]
fn cache_14_another_token_of_the_program_begins_with_an_empty_cache() {
    let script = |seen: &Seen| match (seen.message(), seen.field("authorization")) {
        ("tools/call", Some("Bearer old")) => Response::status(401),
        ("resources/read", _) => {
            let result = json!({"resultType": "complete", "contents": [], "ttlMs": 60_000});
            Response::result(seen, &result)
        }
        _ => modern(seen),
    };
    let (_, seen) = play_blocking(
        Connector::new(&MODERN).middleware(Cache::new(1 << 16)),
        |http| http.bearer("old").authorize(async |_| Some("new".to_owned())),
        script,
        |client| {
            let params = ReadResourceParams::new("a:1");
            for _ in 0..2 {
                for _ in 0..2 {
                    client.request("resources/read", &params, CallOptions::new()).unwrap();
                }
                client.call_tool("a", &RawJson::EMPTY).unwrap();
            }
        },
    );
    let reads = seen.iter().filter(|seen| seen.message() == "resources/read");
    let tokens: Vec<_> = reads.filter_map(|seen| seen.field("authorization")).collect();
    assert_eq!(tokens, ["Bearer old", "Bearer new"]);
}
