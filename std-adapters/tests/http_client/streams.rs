//! Event streams: contents, interruptions, resumption.

use mcp_sansio::RawJson;
use mcp_sansio::types::ElicitResult;
use mcp_sansio_adapters::asynchronous::client::{
    CallError, ConnectionEnd, Connector, InputResponse, OwnedInputRequest,
};
use serde_json::json;

use crate::scene::{Response, Seen, answer, call, event, legacy, older, play, play_with, text};
use crate::{CHUNKS, CLIENT, LEGACY};

/// Accepts every elicitation.
async fn agree(question: OwnedInputRequest) -> InputResponse {
    question.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
}

#[test]
fn http_07_http_09_the_response_to_a_servers_request_is_a_post_of_its_own_while_the_stream_is_open()
{
    for chunk in CHUNKS {
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
                ("GET", _, Some(_)) => {
                    Response::events(&event(&answer(called.as_ref().unwrap(), &text("thank you"))))
                }
                _ => legacy(seen),
            },
            async |client| call(&client, "ask").await,
        );
        assert_eq!(played.result.unwrap(), "thank you");
        // They are sent side by side.
        let answers = played.seen.iter().filter(|seen| seen.message() == "answer");
        let mut answers: Vec<_> =
            answers.map(|seen| (&seen.body["id"], &seen.body["result"])).collect();
        answers.sort_by_key(|(id, _)| id.is_string());
        let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
        assert_eq!(answers, [(&json!(7), &json!({})), (&json!("q"), &accepted)]);
    }
}

#[test]
fn tol_12_a_call_says_that_its_stream_was_cut_off() {
    let answer = |seen: &Seen| match seen.message() {
        "tools/call" => Response::events("retry: 1\ndata:\n\n").cut(),
        _ => legacy(seen),
    };
    let played = play(&LEGACY, 64, answer, async |client| call(&client, "slow").await);
    let Err(CallError::Http(why)) = played.result else { panic!("{:?}", played.result) };
    let said = "the connection ended before the response: repeat the call unless that does harm";
    assert_eq!(why.to_string(), said);
}

#[test]
fn the_end_of_the_stream_of_a_server_of_2024_11_05_is_the_end_of_everything() {
    let mut posts = 0;
    let answer = move |seen: &Seen| match seen.method.as_str() {
        "GET" => older(),
        _ => {
            posts += 1;
            Response::status(if posts < 3 { 404 } else { 202 })
        }
    };
    let played = play(&CLIENT, 64, answer, async |client| call(&client, "a").await);
    assert!(matches!(played.result, Err(CallError::Closed)), "{:?}", played.result);
    assert!(matches!(played.end, Ok(ConnectionEnd::ServerClosed)), "{:?}", played.end);
}
