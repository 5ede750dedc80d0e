//! Event streams: contents, interruptions, resumption.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::ElicitResult;
use mcp_sansio::{CallOptions, ClientEvent, Json, RawJson};
use mcp_sansio_adapters::asynchronous::client::http::HttpLimits;
use mcp_sansio_adapters::asynchronous::client::{Connector, InputResponse, OwnedInputRequest};
use serde_json::{Value, json};

use crate::scene::{Response, answer, call, error, event, legacy, modern, play, play_with, text};
use crate::{CHUNKS, CLIENT, LEGACY, MODERN};

#[test]
fn sse_03_sse_05_sse_08_sse_09_sse_10_tol_13_a_broken_stream_is_resumed_by_get_after_retry() {
    for chunk in CHUNKS {
        for cut in [false, true] {
            let called = Mutex::new(None);
            let played = play(
                &LEGACY,
                chunk,
                move |seen| match (
                    seen.method.as_str(),
                    seen.message(),
                    seen.field("last-event-id"),
                ) {
                    (_, "tools/call", _) => {
                        *called.lock().unwrap() = Some(seen.clone());
                        let reply =
                            Response::events("id: e-1\nretry: 250\ndata: \n\ndata: half a mess");
                        if cut { reply.cut() } else { reply }
                    }
                    ("GET", _, Some(last)) => {
                        assert_eq!(last, "e-1");
                        let called = called.lock().unwrap().take().unwrap();
                        Response::events(&format!(
                            "id: e-2\n{}",
                            event(&answer(&called, &text("at last")))
                        ))
                    }
                    _ => legacy(seen),
                },
                async |client| {
                    client.connected().await?;
                    let begun = tokio::time::Instant::now();
                    call(&client, "slow", &json!({})).await.map(|text| (text, begun.elapsed()))
                },
            );
            let (text, elapsed) = played.result.unwrap();
            assert_eq!(text, "at last", "{chunk} {cut}");
            assert_eq!(elapsed, Duration::from_millis(250));
            let resumed =
                played.seen.iter().find(|seen| seen.field("last-event-id").is_some()).unwrap();
            assert_eq!(
                (resumed.method.as_str(), resumed.field("accept")),
                ("GET", Some("text/event-stream"))
            );
            assert_eq!(
                (resumed.field("mcp-session-id"), resumed.field("mcp-protocol-version")),
                (Some("s-1"), Some("2025-11-25"))
            );
        }
    }
}

#[test]
fn sse_09_a_stream_is_resumed_after_every_interruption() {
    let mut gets = 0;
    let mut called = None;
    let played = play(
        &LEGACY,
        64,
        move |seen| match (seen.method.as_str(), seen.message(), seen.field("last-event-id")) {
            (_, "tools/call", _) => {
                called = Some(seen.clone());
                Response::events("id: 0\nretry: 1\ndata:\n\n")
            }
            ("GET", _, Some(last)) => {
                assert_eq!(last, gets.to_string());
                gets += 1;
                // Mostly there are no new events.
                let last = if gets < 20 {
                    "data:\n\n".to_owned()
                } else {
                    event(&answer(called.as_ref().unwrap(), &text("done")))
                };
                Response::events(&format!("id: {gets}\n{last}"))
            }
            _ => legacy(seen),
        },
        async |client| call(&client, "slow", &json!({})).await,
    );
    assert_eq!(played.result.unwrap(), "done");
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

#[test]
fn http_40_a_modern_stream_that_breaks_off_is_lost_and_the_call_made_again_has_another_id() {
    for chunk in CHUNKS {
        let mut first = true;
        let played = play(
            &MODERN,
            chunk,
            move |seen| match seen.message() {
                "tools/call" if std::mem::take(&mut first) => {
                    Response::events("id: 1\nretry: 1\ndata:\n\n").cut()
                }
                _ => modern(seen),
            },
            async |client| {
                (
                    error(call(&client, "a", &json!({})).await),
                    call(&client, "a", &json!({})).await.unwrap(),
                )
            },
        );
        assert_eq!(
            played.result,
            ((0, "the connection ended before the response: repeat the call unless that does harm".to_owned()), "called".to_owned())
        );
        let ids: Vec<_> = played
            .seen
            .iter()
            .filter(|seen| seen.message() == "tools/call")
            .map(|seen| &seen.body["id"])
            .collect();
        assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
        assert!(
            played
                .seen
                .iter()
                .all(|seen| seen.method == "POST" && seen.field("last-event-id").is_none())
        );
    }
}

#[test]
fn http_36_sse_11_everything_between_the_messages_is_ignored() {
    for chunk in CHUNKS {
        let played = play(
            &MODERN,
            chunk,
            |seen| match seen.message() {
                "tools/call" => {
                    let message = answer(seen, &text("found")).to_string();
                    let (first, second) = message.split_at(message.find(',').unwrap() + 1);
                    Response::events(&format!(
                        "\u{feff}: comment\r\n\r\n:\n\nevent: ping\ndata: {{}}\n\nunknown: x\n\ndata:\n\nevent: message\r\ndata: {first}\rdata:{second}\r\n\r\n"
                    ))
                }
                _ => modern(seen),
            },
            async |client| call(&client, "a", &json!({})).await,
        );
        assert_eq!(played.result.unwrap(), "found", "{chunk}");
        assert!(played.notices.is_empty());
    }
}

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
fn a_response_that_is_too_long_ends_only_its_call() {
    let long = "x".repeat(50_000);
    for as_events in [false, true] {
        let long = long.clone();
        let played = play_with(
            Connector::new(&CLIENT),
            |http| http.limits(HttpLimits { max_message: 10_000, ..HttpLimits::DEFAULT }),
            4096,
            move |seen| match seen.body["params"]["name"].as_str() {
                Some("long") if as_events => Response::events(&event(&answer(seen, &text(&long)))),
                Some("long") => Response::result(seen, &text(&long)),
                _ => modern(seen),
            },
            async |client| {
                (
                    error(call(&client, "long", &json!({})).await),
                    call(&client, "short", &json!({})).await.unwrap(),
                )
            },
        );
        let ((code, message), short) = played.result;
        assert_eq!((code, short.as_str()), (0, "called"));
        assert!(message.contains("HttpLimits::max_message"), "{message}");
    }
}

#[test]
fn bat_01_a_batch_in_an_event_or_a_body_is_split() {
    static OLD: mcp_sansio::ClientConfig<'_> =
        crate::BOTH.revisions(mcp_sansio::Revisions::only(mcp_sansio::Revision::V2025_03_26));
    for as_events in [false, true] {
        let played = play(
            &OLD,
            7,
            move |seen| match seen.message() {
                "initialize" => Response::result(seen, &crate::scene::initialized("2025-03-26")),
                "tools/call" => {
                    let batch = json!([{"jsonrpc": "2.0", "method": "notifications/x"}, answer(seen, &text("in a batch"))]);
                    if as_events {
                        Response::events(&event(&batch))
                    } else {
                        Response::json(&batch)
                    }
                }
                _ => legacy(seen),
            },
            async |client| call(&client, "a", &json!({})).await,
        );
        assert_eq!(played.result.unwrap(), "in a batch");
    }
}
