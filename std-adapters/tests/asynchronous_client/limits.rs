//! Everything that a server can make the client keep, filled to the limit; time limits of
//! `Duration::MAX`; panics of the application's code.

use std::cell::Cell;
use std::time::Duration;

use futures_lite::future::poll_once;
use futures_lite::{AsyncReadExt, AsyncWriteExt, StreamExt, future};
use mcp_sansio::types::{CallToolParams, SubscriptionFilter};
use mcp_sansio::{CallOptions, ClientConfig, Era, RawJson};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, Change, Client, ClientLimits, ConnectionEnd, Connector, InputRefusal, MAX_PAGES,
    OwnedInputRequest, Tools,
};
use serde_json::{Value, json};

use crate::CLIENT;
use crate::pipe::pipe;
use crate::script::{call, play_on, run, speak, text};
use crate::task_script::{content, ok};

fn said(request: &Value, what: &str) -> Value {
    ok(request, content(what))
}

fn initialized(request: &Value) -> Value {
    let capabilities = json!({"tools": {}, "resources": {"subscribe": true}});
    let info = json!({"name": "server", "version": "1"});
    ok(
        request,
        json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}),
    )
}

/// Runs a client against such a server.
fn play<R>(
    connector: Connector,
    era: Era,
    answer: impl FnMut(&Value) -> Vec<Value>,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, ConnectionEnd) {
    let server = |pipe| speak(pipe, answer);
    play_on(connector.era(era), pipe(1 << 16, 1 << 16), server, work)
}

#[test]
fn c7_the_time_limit_applies_to_the_whole_list() {
    let asked = Cell::new(0);
    let (ours, mut theirs) = pipe(1 << 16, 1 << 16);
    let (client, connection) = Connector::new(&CLIENT).era(Era::Modern).connect(ours);
    let (limit, pause) = (Duration::from_millis(200), Duration::from_millis(20));
    // Each page arrives long before the limit, and all of them long after it.
    let server = async {
        while theirs.read(&mut [0; 4096]).await.unwrap() > 0 {
            asked.set(asked.get() + 1);
            tokio::time::sleep(pause).await;
            let page = json!({"jsonrpc": "2.0", "id": asked.get(), "result": {"tools": [], "nextCursor": asked.get().to_string()}});
            if theirs.write_all(format!("{page}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    };
    let list = connection
        .drive(async { client.list::<Tools>(CallOptions::new().limit(limit)).await.map(|_| ()) });
    let (list, ()) = run(future::zip(list, server));
    assert!(matches!(list, Err(CallError::TimedOut)), "{list:?}");
    assert!(asked.get() <= 12 && asked.get() < MAX_PAGES, "{}", asked.get());
}

#[test]
fn c7_reports_of_progress_are_kept_up_to_their_limit_in_bytes() {
    for (length, reports, most) in [(10_000, 20, 6), (70_000, 5, 1), (10, 200, 64)] {
        let message = "x".repeat(length);
        let answer = |request: &Value| {
            let progress = |n: i64| {
                let params =
                    json!({"progressToken": request["id"], "progress": n, "message": message});
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            };
            match request["params"]["name"].as_str() {
                Some("report") => (1..=reports).map(progress).collect(),
                _ => vec![said(request, "done")],
            }
        };
        let (steps, _) = play(Connector::new(&CLIENT), Era::Modern, answer, async |client| {
            client.connected().await.unwrap();
            let mut steps = Vec::new();
            let params = CallToolParams::new("report");
            let mut reporting = Box::pin(client.request_with_progress(
                "tools/call",
                &params,
                CallOptions::new(),
                |progress| {
                    steps.push(progress.progress.as_i64().unwrap());
                },
            ));
            // It is sent, and not polled again before everything has arrived.
            assert!(poll_once(&mut reporting).await.is_none());
            call(&client, "a").await.unwrap();
            assert!(poll_once(&mut reporting).await.is_none());
            drop(reporting);
            steps
        });
        assert_eq!(steps.last(), Some(&reports));
        assert_eq!(steps.len(), most, "{length}");
    }
}

#[test]
fn c7_changes_are_kept_up_to_their_limit_in_bytes() {
    // Two of half the limit are just kept.
    for (length, changes, is_kept) in
        [(32 << 10, 2, true), ((32 << 10) + 1, 2, false), (10_000, 20, false)]
    {
        let uri = |n: u32| format!("test://{n}{}", "x".repeat(length - 8));
        let answer = |request: &Value| match request["method"].as_str().unwrap() {
            "initialize" => vec![initialized(request)],
            "tools/call" => {
                let updated = |n| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri(n)}});
                (0..changes).map(updated).chain([said(request, "done")]).collect()
            }
            "resources/subscribe" => vec![ok(request, json!({}))],
            _ => Vec::new(),
        };
        let (change, _) = play(Connector::new(&CLIENT), Era::Legacy, answer, async |client| {
            let uris = [mcp_sansio::types::Text::new("test://r")];
            let filter = SubscriptionFilter::new().resource_subscriptions(&uris);
            let mut listening = client.listen(&filter, CallOptions::new()).await.unwrap();
            call(&client, "a").await.unwrap();
            listening.next().await
        });
        let first = if is_kept { Change::Resource(uri(0).into()) } else { Change::Missed };
        assert!(change == Some(first), "{length}");
    }
}

#[test]
fn f9_a_handler_that_panics_ends_only_its_own_input_request() {
    for (era, at_once) in
        [(Era::Modern, true), (Era::Modern, false), (Era::Legacy, true), (Era::Legacy, false)]
    {
        let connector = Connector::new(&CLIENT)
            .on_input_request(move |question: OwnedInputRequest| {
                assert!(!at_once, "at once");
                async move {
                    future::yield_now().await;
                    assert!(question.as_json().is_null(), "later");
                    Err(InputRefusal::unsupported())
                }
            })
            .on_event(|_| panic!("at every event"));
        let mut call_id = Value::Null;
        let answer = |message: &Value| match message["method"].as_str() {
            Some("initialize") => vec![initialized(message)],
            Some("tools/call") if message["params"]["name"] == "ask" => {
                call_id = message["id"].clone();
                let question = json!({"method": "roots/list"});
                vec![match era {
                    Era::Modern => ok(
                        message,
                        json!({"resultType": "input_required", "inputRequests": {"q": question}}),
                    ),
                    Era::Legacy => json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}),
                }]
            }
            Some("tools/call") => {
                vec![
                    json!({"jsonrpc": "2.0", "method": "notifications/x"}),
                    said(message, "still here"),
                ]
            }
            None => vec![said(&json!({"id": call_id}), &message["error"]["code"].to_string())],
            _ => Vec::new(),
        };
        let ((asked, after), end) = play(connector, era, answer, async |client| {
            (call(&client, "ask").await, call(&client, "a").await.unwrap())
        });
        match era {
            Era::Modern => {
                assert!(matches!(asked, Err(CallError::InputRefused { .. })), "{asked:?}")
            }
            Era::Legacy => assert_eq!(text(&asked.unwrap()), "-32603"),
        }
        assert_eq!(text(&after), "still here");
        assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
    }
}

const NEVER: Duration = Duration::MAX;
static PATIENT: ClientConfig<'_> = CLIENT
    .probe_timeout(NEVER)
    .call_timeout(NEVER)
    .call_limit(NEVER)
    .request_timeout(NEVER)
    .ping_interval(NEVER)
    .ping_timeout(NEVER)
    .progress_interval(NEVER);

#[test]
fn s8_the_longest_duration_never_passes() {
    for era in [Era::Modern, Era::Legacy] {
        let answer = |request: &Value| match request["method"].as_str() {
            Some("initialize") => vec![initialized(request)],
            Some("tools/list") => vec![ok(request, json!({"tools": []}))],
            Some("tools/call") => vec![said(request, "here")],
            _ => Vec::new(),
        };
        let connector = Connector::new(&PATIENT).limits(ClientLimits {
            close_timeout: NEVER,
            stall_timeout: NEVER,
            ..ClientLimits::new()
        });
        let options = CallOptions::new().timeout(NEVER).limit(NEVER);
        let (called, end) = play(connector, era, answer, async |client| {
            client.list::<Tools>(options).await.unwrap();
            let params = CallToolParams::new("a");
            let waiting = client.request("tools/wait", &RawJson::EMPTY, options);
            assert!(poll_once(Box::pin(waiting)).await.is_none());
            client.request("tools/call", &params, options).await
        });
        assert_eq!(text(&called.unwrap()), "here");
        assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
    }
}
