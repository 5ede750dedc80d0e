//! Calls: several at once, with progress, cancelled.

use std::cell::RefCell;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::CallToolParams;
use mcp_sansio::{
    CallOptions, ErrorCode, InvalidPayload, NotAllowed, Progress, RawJson, RequestHandle, RpcError,
    SendError, ServerEvent,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, ClientLimits, Connector, ListError};

use crate::script::{NOW, Session, call, play, play_on, serve, text, tool};
use crate::{CLIENT, LEGACY, MODERN, pipe};

#[test]
fn concurrent_calls_get_their_own_responses_in_any_order() {
    for config in [&MODERN, &LEGACY] {
        let mut kept: Vec<(RequestHandle, String)> = Vec::new();
        let script = |event: &ServerEvent<'_>, session: &mut Session| {
            let ServerEvent::Request(request) = event else { return };
            kept.push((request.handle, tool(request)));
            if kept.len() == 3 {
                kept.drain(..).rev().for_each(|(handle, name)| session.text(handle, &name));
            }
        };
        let (all, _) = play(Connector::new(&CLIENT), config, script, async |client| {
            let other = client.clone();
            future::zip(future::zip(call(&client, "a"), call(&other, "b")), call(&client, "c"))
                .await
        });
        let ((a, b), c) = all;
        assert_eq!([a, b, c].map(|result| text(&result.unwrap())), ["a", "b", "c"]);
    }
}

#[test]
fn a_call_whose_future_is_dropped_is_cancelled_and_its_slot_is_free() {
    for config in [&MODERN, &LEGACY] {
        let seen = RefCell::new(Vec::new());
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::Request(request) if tool(request) == "wait" => {
                seen.borrow_mut().push("wait")
            }
            ServerEvent::Request(request) => session.text(request.handle, "done"),
            ServerEvent::RequestCancelled { .. } => seen.borrow_mut().push("cancelled"),
            _ => {}
        };
        // The table has one entry, so the second call waits for the first.
        let server = |pipe| serve(pipe, config, script);
        let (result, _) = play_on(
            Connector::new(&CLIENT)
                .limits(ClientLimits { max_in_flight: 1, ..ClientLimits::DEFAULT }),
            pipe::pipe(1 << 16, 1 << 16),
            server,
            async |client| {
                let gone = async {
                    while seen.borrow().is_empty() {
                        future::yield_now().await;
                    }
                };
                future::or(async { drop(call(&client, "wait").await) }, gone).await;
                call(&client, "next").await
            },
        );
        assert_eq!(text(&result.unwrap()), "done");
        assert_eq!(*seen.borrow(), ["wait", "cancelled"]);
    }
}

#[test]
fn more_calls_than_there_are_places_wait_for_their_turn() {
    let mut most = 0;
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        if let ServerEvent::Request(request) = event {
            most = most.max(session.server.open_requests());
            session.text(request.handle, &tool(request));
        }
    };
    let server = |pipe| serve(pipe, &MODERN, script);
    let (results, _) = play_on(
        Connector::new(&CLIENT).limits(ClientLimits { max_in_flight: 2, ..ClientLimits::DEFAULT }),
        pipe::pipe(1 << 16, 1 << 16),
        server,
        async |client| {
            let executor = smol::LocalExecutor::new();
            let calls: Vec<_> = (0..50)
                .map(|number| {
                    let client = client.clone();
                    executor.spawn(async move { call(&client, &number.to_string()).await })
                })
                .collect();
            executor
                .run(async {
                    let mut results = Vec::new();
                    for call in calls {
                        results.push(text(&call.await.unwrap()));
                    }
                    results
                })
                .await
        },
    );
    assert_eq!(results, (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
    assert!((1..=2).contains(&most), "{most}");
}

#[test]
fn a_new_call_waits_behind_those_that_wait_for_a_place() {
    let mut seen = Vec::new();
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        if let ServerEvent::Request(request) = event {
            seen.push(tool(request));
            session.text(request.handle, "done");
        }
    };
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_in_flight: 1, ..ClientLimits::DEFAULT });
    play(connector, &MODERN, script, async |client| {
        let first = async {
            call(&client, "first").await.unwrap();
            call(&client, "new").await.unwrap();
        };
        future::zip(first, call(&client, "waiting")).await.1.unwrap();
    });
    assert_eq!(seen, ["first", "waiting", "new"]);
}

#[test]
fn progress_is_reported_as_it_arrives_and_before_the_result() {
    for config in [&MODERN, &LEGACY] {
        let script = |event: &ServerEvent<'_>, session: &mut Session| {
            let ServerEvent::Request(request) = event else { return };
            for step in 1..=3 {
                let progress = Progress::of(step).total(3).message("on it");
                let _ = session
                    .server
                    .progress(NOW, request.handle, &progress, &mut session.tx)
                    .unwrap();
            }
            session.text(request.handle, "done");
        };
        let (told, _) = play(Connector::new(&CLIENT), config, script, async |client| {
            let mut told = Vec::new();
            let options = CallOptions::new();
            let made = client.call_tool_with("steps", &RawJson::EMPTY, options, |progress| {
                told.push((
                    progress.progress.as_i64().unwrap(),
                    progress.message.unwrap().to_string(),
                ));
            });
            assert_eq!(text(&made.await.unwrap()), "done");
            // Without a progress token there is no progress.
            assert_eq!(text(&call(&client, "steps").await.unwrap()), "done");
            told
        });
        assert_eq!(told, [1, 2, 3].map(|step| (step, "on it".to_owned())));
    }
}

#[test]
fn only_the_latest_unread_progress_is_kept() {
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        let ServerEvent::Request(request) = event else { return };
        for step in 1..=1000 {
            let _ = session
                .server
                .progress(NOW, request.handle, &Progress::of(step), &mut session.tx)
                .unwrap();
        }
        session.text(request.handle, "done");
    };
    let (told, _) = play(Connector::new(&CLIENT), &MODERN, script, async |client| {
        let mut told = Vec::new();
        let params = CallToolParams::new("steps");
        let options = CallOptions::new();
        let made = client.request_with_progress("tools/call", &params, options, |progress| {
            told.push(progress.progress.as_i64().unwrap());
        });
        made.await.unwrap();
        told
    });
    assert!(told.is_sorted() && told.len() < 1000, "{told:?}");
    assert_eq!(told.last(), Some(&1000));
}

#[test]
fn errors_come_from_the_server_or_the_client() {
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        if let ServerEvent::Request(request) = event {
            let data = RawJson::from_static(r#"{"why":"so"}"#);
            let error = RpcError::new(ErrorCode::Application(7), "no such luck").with_data(data);
            session.server.respond_error(request.handle, &error, &mut session.tx).unwrap();
        }
    };
    play(Connector::new(&CLIENT), &MODERN, script, async |client| {
        let Err(CallError::Server(error)) = call(&client, "fail").await else {
            panic!("expected an error of the server")
        };
        assert_eq!((error.code, error.message.as_str()), (7, "no such luck"));
        assert_eq!(error.data.unwrap().as_raw().as_str(), r#"{"why":"so"}"#);
        let complete =
            client.request("completion/complete", &RawJson::EMPTY, CallOptions::new()).await;
        assert!(
            matches!(
                complete,
                Err(CallError::NotSent(SendError::NotAllowed(NotAllowed::Capability)))
            ),
            "{complete:?}"
        );
        let no_object = client.request("tools/call", &1, CallOptions::new()).await;
        assert!(
            matches!(
                no_object,
                Err(CallError::NotSent(SendError::Invalid(InvalidPayload::NotAnObject)))
            ),
            "{no_object:?}"
        );
    });
}

#[test]
fn a_call_that_times_out_is_cancelled() {
    for config in [&MODERN, &LEGACY] {
        let mut cancelled = 0;
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::Request(request) if tool(request) == "next" => {
                session.text(request.handle, "done")
            }
            ServerEvent::RequestCancelled { .. } => cancelled += 1,
            _ => {}
        };
        play(Connector::new(&CLIENT), config, script, async |client| {
            let options = CallOptions::new().timeout(Duration::from_millis(20));
            let late = client.request("tools/call", &CallToolParams::new("wait"), options).await;
            assert!(matches!(late, Err(CallError::TimedOut)), "{late:?}");
            assert_eq!(text(&call(&client, "next").await.unwrap()), "done");
        });
        assert_eq!(cancelled, 1);
    }
}

#[test]
fn all_pages_of_a_list_are_requested() {
    for config in [&MODERN, &LEGACY] {
        let script = |event: &ServerEvent<'_>, session: &mut Session| {
            let ServerEvent::Request(request) = event else { return };
            let page = match request.cursor().map(|cursor| cursor.to_string()).as_deref() {
                None => {
                    r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"\"2\""}"#
                }
                Some("\"2\"") => {
                    r#"{"tools":[{"name":7},{"name":"b","inputSchema":{"type":"object"}}],"nextCursor":"3"}"#
                }
                Some("3") => r#"{"tools":[]}"#,
                other => panic!("{other:?}"),
            };
            session
                .server
                .respond_raw(request.handle, RawJson::parse(page).unwrap(), &mut session.tx)
                .unwrap();
        };
        let (tools, _) = play(Connector::new(&CLIENT), config, script, async |client| {
            client.list_tools().await.unwrap()
        });
        let names: Vec<_> =
            tools.iter().map(|tool| tool.map(|tool| tool.name.to_string()).ok()).collect();
        assert_eq!(names, [Some("a".into()), None, Some("b".into())]);
        assert_eq!(tools.pages().len(), 3);
    }
}

#[test]
fn a_list_without_an_end_is_not_read_to_its_end() {
    let mut asked = 0;
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        let ServerEvent::Request(request) = event else { return };
        asked += 1;
        let page = format!(r#"{{"prompts":[],"nextCursor":"{asked}"}}"#);
        session
            .server
            .respond_raw(request.handle, RawJson::parse(&page).unwrap(), &mut session.tx)
            .unwrap();
    };
    let (prompts, _) =
        play(Connector::new(&CLIENT), &MODERN, script, async |client| client.list_prompts().await);
    assert!(matches!(prompts, Err(CallError::List(ListError::TooManyPages))), "{prompts:?}");
    assert_eq!(asked, mcp_sansio_adapters::asynchronous::client::MAX_PAGES);
}
