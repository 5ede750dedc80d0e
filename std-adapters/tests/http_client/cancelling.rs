//! Dropped calls.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_lite::future::poll_once;
use mcp_sansio::types::{Implementation, SubscriptionFilter};
use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures, RawJson, Revision, Revisions};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::{Change, Client, ClientLimits, Connector};
use serde_json::json;
use tokio::time::timeout;

use crate::scene::{Response, Seen, call, event, modern, play, play_with};
use crate::{CHUNKS, MODERN};

/// Responds to a slow call with a silent stream, or not at all.
fn slow(with_head: bool) -> impl FnMut(&Seen) -> Response {
    move |seen| match (seen.method.as_str(), seen.body["params"]["name"].as_str()) {
        (_, Some("slow")) if with_head => Response::events(": begun\n\n").hold(),
        (_, Some("slow")) => Response::silence(),
        _ => modern(seen),
    }
}

/// Starts a slow call, drops it when the server has it, and makes another one.
async fn begin_and_drop(client: Client) -> String {
    client.connected().await.unwrap();
    let mut slow = Box::pin(call(&client, "slow"));
    for _ in 0..20 {
        assert!(poll_once(&mut slow).await.is_none());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(slow);
    call(&client, "fast").await.unwrap()
}

#[test]
fn time_02_canc_14_a_modern_call_is_cancelled_by_ending_its_exchange_and_by_nothing_else() {
    for (chunk, with_head) in CHUNKS.into_iter().flat_map(|chunk| [(chunk, true), (chunk, false)]) {
        let played = play(&MODERN, chunk, slow(with_head), begin_and_drop);
        assert_eq!(played.result, "called");
        played.has("closed: POST /mcp tools/call 2026-07-28 -");
        assert!(!played.trace.iter().any(|line| line.contains("cancelled")), "{:?}", played.trace);
    }
}

#[test]
fn sub_18_a_subscription_is_an_open_exchange_and_dropping_it_closes_it() {
    for chunk in CHUNKS {
        let answer = |seen: &Seen| match seen.message() {
            "subscriptions/listen" => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.body["id"]});
                let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}});
                let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}});
                Response::events(
                    &[event(&acknowledged), event(&changed), ":\n\n".to_owned()].concat(),
                )
                .hold()
            }
            _ => modern(seen),
        };
        let played = play(&MODERN, chunk, answer, async |client| {
            let filter = SubscriptionFilter::new().tools_list_changed(true);
            let mut listening = client.listen(&filter, CallOptions::new()).await.unwrap();
            let change = futures_lite::StreamExt::next(&mut listening).await;
            drop(listening);
            client.request("tools/list", &RawJson::EMPTY, CallOptions::new()).await.unwrap();
            change
        });
        assert_eq!(played.result, Some(Change::Tools));
        played.has("closed: POST /mcp subscriptions/listen 2026-07-28 -");
    }
}

static WITH_TASKS: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::TASKS)
        .revisions(Revisions::only(Revision::LATEST));

/// Responds to calls with tasks. Each response closes its connection.
fn tasks(seen: &Seen) -> Response {
    let time = "2026-01-01T00:00:00Z";
    let task = |kind: &str| json!({"resultType": kind, "taskId": "t-1", "status": "working", "createdAt": time, "lastUpdatedAt": time, "ttlMs": 60_000, "pollIntervalMs": 100});
    let response = match seen.message() {
        "server/discover" => Response::result(
            seen,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}}),
        ),
        "tools/call" => Response::result(seen, &task("task")),
        "tasks/get" => Response::result(seen, &task("complete")),
        _ => modern(seen),
    };
    response.field("Connection", "close")
}

/// Asserts that the last message of a client cancels its task.
fn cancels(work: impl AsyncFn(Client)) {
    for chunk in CHUNKS {
        // The end of the connection waits for nothing else.
        let limits = ClientLimits { close_timeout: Duration::MAX, ..ClientLimits::new() };
        let connector = Connector::new(&WITH_TASKS).limits(limits);
        let played = play_with(connector, |http| http, chunk, tasks, &work);
        let last = played.seen.last().unwrap();
        assert_eq!(
            (last.message(), &last.body["params"]["taskId"]),
            ("tasks/cancel", &json!("t-1"))
        );
    }
}

#[test]
fn tex_33_a_call_that_is_dropped_cancels_its_task_although_the_connection_closes() {
    cancels(async |client| {
        let slow = call(&client, "slow");
        assert!(timeout(Duration::from_millis(150), slow).await.is_err());
    });
}

#[test]
fn tex_33_a_cancellation_that_is_dropped_is_sent_over_http() {
    cancels(async |client| {
        let task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
        assert!(poll_once(Box::pin(task.cancel())).await.is_none());
    });
}

#[test]
fn auth_102_a_message_that_is_refused_while_the_client_closes_asks_for_no_token() {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = |seen: &Seen| match seen.message() {
        "tasks/cancel" => Response::status(401),
        _ => tasks(seen),
    };
    let count = Arc::clone(&asked);
    let authorize = |http: HttpTransport| {
        http.authorize(move |_| {
            count.fetch_add(1, Relaxed);
            ready(None)
        })
    };
    let played =
        play_with(Connector::new(&WITH_TASKS), authorize, 1 << 16, server, async |client| {
            assert!(timeout(Duration::from_millis(150), call(&client, "slow")).await.is_err());
        });
    assert_eq!(played.seen.last().unwrap().message(), "tasks/cancel");
    assert_eq!(asked.load(Relaxed), 0);
}
