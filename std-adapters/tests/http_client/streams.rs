//! Event streams: contents, interruptions, resumption.

use std::sync::{Arc, Mutex};

use mcp_sansio::RawJson;
use mcp_sansio::types::ElicitResult;
use mcp_sansio_adapters::asynchronous::client::{Connector, InputResponse, OwnedInputRequest};
use serde_json::{Value, json};

use crate::scene::{Response, Seen, answer, call, error, event, legacy, play, play_with, text};
use crate::{CHUNKS, LEGACY};

/// Accepts every elicitation.
async fn agree(question: OwnedInputRequest) -> InputResponse {
    question.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
}

#[test]
fn http_07_http_09_the_response_to_a_servers_request_is_a_post_of_its_own_while_the_stream_is_open()
{
    for chunk in CHUNKS {
        let answered = Arc::new(Mutex::new(None::<Value>));
        let kept = Arc::clone(&answered);
        let mut called = None;
        let played = play_with(
            Connector::new(&LEGACY).on_input_request(agree),
            |http| http,
            chunk,
            move |seen| match (seen.method.as_str(), seen.message(), seen.field("last-event-id")) {
                (_, "tools/call", _) => {
                    called = Some(seen.clone());
                    let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}});
                    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
                    Response::events(&format!(
                        "id: 1\nretry: 30\n{}{}",
                        event(&question),
                        event(&ping)
                    ))
                }
                (_, "answer", _) => {
                    if seen.body["id"] == "q" {
                        *kept.lock().unwrap() = Some(seen.body["result"].clone());
                    }
                    Response::status(202)
                }
                ("GET", _, Some(_)) => {
                    Response::events(&event(&answer(called.as_ref().unwrap(), &text("thank you"))))
                }
                _ => legacy(seen),
            },
            async |client| call(&client, "ask", &json!({})).await,
        );
        assert_eq!(played.result.unwrap(), "thank you");
        assert_eq!(
            answered.lock().unwrap().take().unwrap(),
            json!({"action": "accept", "content": {"name": "Ada"}})
        );
        let answers: Vec<_> = played
            .seen
            .iter()
            .filter(|seen| seen.message() == "answer")
            .map(|seen| seen.body["id"].clone())
            .collect();
        assert!(
            answers.contains(&json!("q")) && answers.contains(&json!(7)) && answers.len() == 2,
            "{answers:?}"
        );
    }
}

#[test]
fn tol_12_a_call_says_that_its_stream_was_cut_off() {
    let answer = |seen: &Seen| match seen.message() {
        "tools/call" => Response::events("retry: 1\ndata:\n\n").cut(),
        _ => legacy(seen),
    };
    let played =
        play(&LEGACY, 64, answer, async |client| error(call(&client, "slow", &json!({})).await));
    let why = "the connection ended before the response: repeat the call unless that does harm";
    assert_eq!(played.result, (0, why.to_owned()));
}
