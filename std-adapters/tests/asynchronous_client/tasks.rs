//! Calls that the server runs as tasks, in both dialects, against a server that is a script.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::{Implementation, TaskStatus};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, OwnedJson, RawJson, Revision, Revisions,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector, TaskRef};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::pipe::pipe;
use crate::script::{play_on, speak, text};
use crate::task_script::{D, E, content, methods, numbers, ok, open, slow};

const FEATURES: ClientFeatures = ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS);
const CLIENT: ClientConfig<'_> = ClientConfig::new(Implementation::new("client", "1"), FEATURES);
static OLD: ClientConfig<'_> = CLIENT.revisions(Revisions::only(D));
static HOST: ClientConfig<'_> = ClientConfig::new(
    Implementation::new("client", "1"),
    FEATURES
        .with(ClientFeatures::TASKS_ELICITATION)
        .with(ClientFeatures::TASKS_LIST)
        .with(ClientFeatures::TASKS_CANCEL),
)
.revisions(Revisions::only(D));
static NEW: ClientConfig<'_> = CLIENT.revisions(Revisions::only(E));

/// Runs a client against a script. Returns what it did, and what the server has seen.
fn play<R>(
    revision: Revision,
    script: impl FnMut(&Value) -> Vec<Value>,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, Vec<(String, Value)>) {
    let config = if revision.is_modern() { &NEW } else { &OLD };
    play_with(Connector::new(config), revision, script, work)
}

fn play_with<R>(
    connector: Connector,
    revision: Revision,
    mut script: impl FnMut(&Value) -> Vec<Value>,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, Vec<(String, Value)>) {
    // The messages of the client, by method and parameters; `-` for responses.
    let seen = RefCell::new(Vec::new());
    // Requests that open a connection are responded to here.
    let answer = |message: &Value| {
        open(revision, message).unwrap_or_else(|| {
            let name = message["method"].as_str().unwrap_or("-").to_owned();
            seen.borrow_mut().push((name, message["params"].clone()));
            script(message)
        })
    };
    let server = |pipe| speak(pipe, answer);
    let (result, _) = play_on(connector, pipe(1 << 20, 1 << 20), server, work);
    (result, seen.into_inner())
}

#[test]
fn tex_02_tex_12_a_call_waits_for_the_end_of_its_task() {
    for revision in [D, E] {
        let (reports, seen) = play(revision, slow(revision), async |client| {
            let mut reports = Vec::new();
            let params = OwnedJson::new(&RawJson::from_static(r#"{"name":"slow"}"#), E).unwrap();
            let result = client
                .request_with_progress("tools/call", &params, CallOptions::new(), |progress| {
                    reports.extend(progress.message.map(|text| text.chars().collect::<String>()));
                })
                .await
                .unwrap();
            assert_eq!(text(&result), "done");
            reports
        });
        assert_eq!(reports[..2], ["step 1", "step 2"], "{revision}");
        let calls = methods(&seen);
        let polls = ["tasks/get"; 3];
        if revision.is_modern() {
            assert_eq!(calls, [&["tools/call"], &polls[..]].concat());
        } else {
            // The tool needs a task, which the client learns from the refusal.
            assert_eq!(calls, [&["tools/call"; 2], &polls[..], &["tasks/result"]].concat());
            assert_eq!(seen[1].1["task"], json!({}));
        }
    }
}

#[test]
fn a_call_that_is_no_task_is_not_detached() {
    let script = |message: &Value| vec![ok(message, content("plain"))];
    play(E, script, async |client| {
        let mut quick = client.call_tool_as_task("quick", &RawJson::EMPTY, None).await.unwrap();
        assert_eq!((text(&quick.wait().await.unwrap()), quick.status()), ("plain".into(), None));
        assert_eq!(quick.detach(), None);
    });
    let ((), seen) = play(D, slow(D), async |client| {
        let ttl = Some(Duration::from_secs(9));
        let task = client.call_tool_as_task("slow", &RawJson::EMPTY, ttl).await.unwrap();
        assert_eq!(task.status(), Some(TaskStatus::Working));
        task.cancel().await.unwrap();
    });
    assert_eq!(methods(&seen), ["tools/call", "tasks/cancel"]);
    assert_eq!(seen[0].1["task"], json!({"ttl": 9000}));
}

#[test]
fn cap_23_a_server_that_cannot_cancel_a_task_is_not_told() {
    let (mut work, seen) = (slow(D), RefCell::new(Vec::new()));
    let answer = |message: &Value| {
        let Some(mut opened) = open(D, message) else {
            seen.borrow_mut().push(message["method"].clone());
            return work(message);
        };
        for response in &mut opened {
            let tasks = &mut response["result"]["capabilities"]["tasks"];
            tasks.as_object_mut().unwrap().remove("cancel");
        }
        opened
    };
    let server = |pipe| speak(pipe, answer);
    let bus = pipe(1 << 20, 1 << 20);
    let (cancelled, _) = play_on(Connector::new(&OLD), bus, server, async |client| {
        client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap().cancel().await
    });
    assert!(cancelled.is_ok(), "{cancelled:?}");
    assert_eq!(seen.into_inner(), ["tools/call"]);
}

#[test]
fn canc_10_tex_33_a_call_that_is_dropped_cancels_its_task() {
    for revision in [D, E] {
        let ((), seen) = play(revision, slow(revision), async |client| {
            let call = client.call_tool("slow", &RawJson::EMPTY);
            let call = async { Some(call.await) };
            let late = async {
                sleep(Duration::from_millis(150)).await;
                None
            };
            assert!(future::or(call, late).await.is_none());
        });
        // The connection closes right after, and the server is told all the same.
        let calls = methods(&seen);
        assert_eq!(calls.iter().filter(|call| **call == "tasks/cancel").count(), 1, "{calls:?}");
        assert_eq!(calls.last(), Some(&"tasks/cancel"));
        let (_, params) = seen.last().unwrap();
        assert_eq!(params["taskId"], "t-1");
    }
}

#[test]
fn canc_10_tex_33_a_cancellation_that_is_dropped_is_sent() {
    for revision in [D, E] {
        let ((), seen) = play(revision, slow(revision), async |client| {
            let task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
            assert!(future::poll_once(Box::pin(task.cancel())).await.is_none());
        });
        // Its first request is cancelled with it.
        assert_eq!(methods(&seen).last(), Some(&"tasks/cancel"));
    }
}

#[test]
fn tex_13_a_task_is_resumed_by_another_connection() {
    for revision in [D, E] {
        let (kept, seen) = play(revision, slow(revision), async |client| {
            let task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
            task.detach().unwrap()
        });
        assert_eq!(methods(&seen), ["tools/call"], "nothing is cancelled");
        assert_eq!((kept.server(), kept.tool(), kept.task_id()), ("lab", "slow", "t-1"));
        assert!(kept.expires().unwrap() > std::time::SystemTime::now());
        let stored = kept.to_json();
        assert!(!format!("{kept:?}").contains("t-1"));
        let (done, seen) = play(revision, slow(revision), async |client| {
            let kept = TaskRef::from_json(&stored).unwrap();
            let mut task = client.resume(&kept).await.unwrap();
            let mut told = Vec::new();
            let done = task.wait_with_progress(|step| told.push(numbers(step))).await.unwrap();
            assert_eq!(told, [("step 1".into(), 1, Some(2)), ("step 2".into(), 2, Some(2))]);
            done
        });
        assert_eq!(text(&done), "done");
        assert_eq!(methods(&seen)[..2], ["tasks/get"; 2]);
        // Not by a connection of another revision.
        let other = if revision == D { E } else { D };
        play(other, slow(other), async |client| {
            let resumed = client.resume(&TaskRef::from_json(&stored).unwrap()).await;
            assert!(matches!(resumed, Err(CallError::OtherServer)), "{resumed:?}");
        });
    }
}

#[test]
fn a_wait_that_is_dropped_can_be_repeated() {
    let ((), seen) = play(E, slow(E), async |client| {
        let mut task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
        for _ in 0..3 {
            let wait = async { Some(task.wait().await) };
            let late = async {
                sleep(Duration::from_millis(60)).await;
                None
            };
            assert!(future::or(wait, late).await.is_none());
        }
        assert_eq!(text(&task.wait().await.unwrap()), "done");
    });
    assert!(!methods(&seen).contains(&"tasks/cancel"));
}

#[test]
fn tsk_60_the_handler_of_a_task_of_a_client_ends_when_it_is_cancelled_or_its_time_is_over() {
    for (ttl, method) in [(60_000, "tasks/cancel"), (5000, "tasks/result")] {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let connector = Connector::new(&HOST).on_input_request(move |_| {
            let held = Arc::clone(&held);
            async move {
                let _held = held;
                std::future::pending().await
            }
        });
        let mut start = Value::Null;
        let script = move |message: &Value| {
            if message["method"] == "own/start" {
                start = message.clone();
                let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}, "task": {"ttl": ttl}});
                return vec![
                    json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}),
                ];
            }
            let task = &message["result"]["task"];
            if task.is_object() {
                let params = json!({"taskId": task["taskId"]});
                return vec![
                    json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}),
                ];
            }
            if method == "tasks/cancel" {
                assert_eq!(message["result"]["status"], "cancelled", "{message}");
            } else {
                assert_eq!(message["error"]["code"], -32603, "{message}");
            }
            vec![ok(&start, json!({}))]
        };
        play_with(connector, D, script, async |client| {
            let began = Instant::now();
            client.request("own/start", &RawJson::EMPTY, CallOptions::new()).await.unwrap();
            // Nothing but the clock ends the second one.
            let lasts = if method == "tasks/result" { ttl } else { 0 };
            assert_eq!(began.elapsed(), Duration::from_millis(lasts));
            // Those of the test and of the connector are left.
            assert_eq!(Arc::strong_count(&alive), 2);
        });
    }
}
