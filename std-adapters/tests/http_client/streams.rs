//! Event streams: contents, interruptions, resumption.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::ElicitResult;
use mcp_sansio::{CallOptions, ClientEvent, Json, RawJson};
use mcp_sansio_adapters::asynchronous::client::{Connector, InputResponse, OwnedInputRequest};
use serde_json::{Value, json};

use crate::scene::{Response, answer, call, error, event, legacy, modern, play, play_with, text};
use crate::{CHUNKS, LEGACY, MODERN};

#[test]
fn tol_08_tol_14_progress_arrives_before_the_response_on_several_streams_at_once() {
    for config in [&MODERN, &LEGACY] {
        let modernly = std::ptr::eq(config, &MODERN);
        let played = play(
            config,
            7,
            move |seen| match seen.message() {
                "tools/call" => {
                    let token = &seen.body["params"]["_meta"]["progressToken"];
                    let progress = |n| {
                        event(
                            &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": n}}),
                        )
                    };
                    Response::events(
                        &[progress(1), progress(2), event(&answer(seen, &text("done")))].concat(),
                    )
                }
                _ if modernly => modern(seen),
                _ => legacy(seen),
            },
            async |client| {
                let calls = [1, 2, 3].map(|_| async {
                    let mut steps = Vec::new();
                    let params = Json(json!({"name": "a"}));
                    let call = client.request_with_progress(
                        "tools/call",
                        &params,
                        CallOptions::new(),
                        |progress| {
                            steps.push(format!("{:?}", progress.progress));
                        },
                    );
                    call.await.unwrap();
                    steps.len()
                });
                let [a, b, c] = calls;
                let (a, (b, c)) =
                    futures_lite::future::zip(a, futures_lite::future::zip(b, c)).await;
                [a, b, c]
            },
        );
        assert_eq!(played.result, [2, 2, 2]);
    }
}

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
fn tol_10_unrelated_messages_arrive_on_the_get_stream_each_time_it_is_opened() {
    for chunk in CHUNKS {
        let changes = Arc::new(Mutex::new(0));
        let kept = Arc::clone(&changes);
        let connector = Connector::new(&LEGACY).on_event(move |event| {
            *kept.lock().unwrap() += usize::from(matches!(event, ClientEvent::Changed { .. }));
        });
        let mut gets = 0;
        let seen_by_server = Arc::clone(&changes);
        let played = play_with(
            connector,
            |http| http,
            chunk,
            move |seen| match (seen.method.as_str(), seen.message()) {
                ("GET", _) => {
                    gets += 1;
                    let changed = event(
                        &json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
                    );
                    let last = if gets == 1 { None } else { Some("c-1") };
                    assert_eq!(seen.field("last-event-id"), last);
                    match gets {
                        1 | 2 => Response::events(&format!("id: c-1\nretry: 2\n{changed}")),
                        3..12 => Response::events(""),
                        _ => Response::events(&changed).hold(),
                    }
                }
                _ => legacy(seen),
            },
            async |client| {
                call(&client, "a", &json!({})).await.unwrap();
                while *seen_by_server.lock().unwrap() < 3 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            },
        );
        assert_eq!(*changes.lock().unwrap(), 3);
        assert!(
            played.trace.contains(&"closed: GET /mcp - 2025-11-25 s-1".to_owned()),
            "{:?}",
            played.trace
        );
    }
}

#[test]
fn tol_12_a_broken_stream_is_lost_without_ids_or_if_the_server_does_not_resume_it() {
    for (body, refuses) in [("retry: 1\ndata:\n\n", false), ("id: 1\nretry: 1\ndata:\n\n", true)] {
        let played = play(
            &LEGACY,
            64,
            move |seen| match (seen.message(), seen.field("last-event-id")) {
                ("tools/call", _) => Response::events(body).cut(),
                (_, Some(_)) => {
                    assert!(refuses);
                    Response::status(400)
                }
                _ => legacy(seen),
            },
            async |client| error(call(&client, "slow", &json!({})).await),
        );
        assert_eq!(
            played.result,
            (
                0,
                "the connection ended before the response: repeat the call unless that does harm"
                    .to_owned()
            )
        );
    }
}
