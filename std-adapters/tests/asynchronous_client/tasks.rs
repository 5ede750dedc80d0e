//! Calls that the server runs as tasks, in both dialects, against a server that is a script.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use mcp_sansio::types::{ElicitResult, Implementation, TaskStatus};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, OwnedJson, RawJson, Revision, Revisions, TaskGone,
};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, Client, Connector, InputRefusal, InputResponse, OwnedInputRequest, TaskRef,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::pipe::{Pipe, pipe};
use crate::script::run;
use crate::task_script::{
    D, E, RELATED, check_hosted, content, created, error, form, hosted, methods, ok, open, slow,
    state, task,
};

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

/// What the client has sent, by method and parameters; `-` for responses.
type Seen = Rc<RefCell<Vec<(String, Value)>>>;
/// Says what the server sends when it gets a message.
type Script<'s> = Box<dyn FnMut(&Value) -> Vec<Value> + 's>;

/// Reads lines and responds to them. What opens a connection is responded to here.
async fn serve(mut pipe: Pipe, revision: Revision, seen: Seen, mut script: Script<'_>) {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = pipe.read(&mut buffer).await.unwrap();
        if read == 0 {
            return;
        }
        text.extend_from_slice(&buffer[..read]);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let message: Value = serde_json::from_slice(&line).unwrap();
            let name = message["method"].as_str().unwrap_or("-").to_owned();
            let said = open(revision, &message).unwrap_or_else(|| {
                seen.borrow_mut().push((name, message["params"].clone()));
                script(&message)
            });
            for message in said {
                let line = format!("{message}\n");
                if pipe.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Runs a client against a script. Returns what it did, and what the server has seen.
fn play<R>(
    revision: Revision,
    script: impl FnMut(&Value) -> Vec<Value>,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, Vec<(String, Value)>) {
    play_as(if revision.is_modern() { &NEW } else { &OLD }, revision, script, work)
}

fn play_as<R>(
    config: &'static ClientConfig<'static>,
    revision: Revision,
    script: impl FnMut(&Value) -> Vec<Value>,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, Vec<(String, Value)>) {
    play_with(Connector::new(config).on_input_request(answer), revision, script, work)
}

fn play_with<R>(
    connector: Connector,
    revision: Revision,
    script: impl FnMut(&Value) -> Vec<Value>,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, Vec<(String, Value)>) {
    let (ours, theirs) = pipe(1 << 20, 1 << 20);
    let seen = Seen::default();
    let (client, connection) = connector.connect(ours);
    let server = serve(theirs, revision, Rc::clone(&seen), Box::new(script));
    let all = future::zip(future::zip(work(client), connection), server);
    let ((result, _), ()) = run(all);
    (result, Rc::try_unwrap(seen).unwrap().into_inner())
}

async fn answer(question: OwnedInputRequest) -> InputResponse {
    if question.as_raw().to_string().contains("refuse me") {
        return Err(InputRefusal::new("no"));
    }
    if question.as_raw().as_str().contains("hold") {
        std::future::pending::<()>().await;
    }
    if question.as_raw().as_str().contains("\"task\"") {
        sleep(Duration::from_millis(100)).await;
    }
    question.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
}

fn text(result: &OwnedJson) -> String {
    crate::script::text(result)
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
fn tsk_05_tsk_07_a_listed_tool_is_called_as_it_must_be() {
    let listed = json!({"tools": [
        {"name": "slow", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
        {"name": "either", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}},
        {"name": "quick", "inputSchema": {"type": "object"}},
    ]});
    let mut slow = slow(D);
    let script = |message: &Value| match message["method"].as_str() {
        Some("tools/list") => vec![ok(message, listed.clone())],
        Some("tools/call") if message["params"].get("task").is_none() => {
            // A result is no list, whatever it contains.
            let mut result = content("plain");
            result["tools"] = json!([{"name": "quick", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}]);
            vec![ok(message, result)]
        }
        _ => slow(message),
    };
    let ((), seen) = play(D, script, async |client| {
        client.list_tools().await.unwrap();
        let call = async |name: &str| text(&client.call_tool(name, &RawJson::EMPTY).await.unwrap());
        assert_eq!(call("slow").await, "done");
        assert_eq!((call("either").await, call("quick").await), ("plain".into(), "plain".into()));
        let ttl = Some(Duration::from_secs(9));
        let mut quick = client.call_tool_as_task("quick", &RawJson::EMPTY, ttl).await.unwrap();
        assert_eq!((text(&quick.wait().await.unwrap()), quick.status()), ("plain".into(), None));
        assert_eq!(quick.detach(), None);
        let either = client.call_tool_as_task("either", &RawJson::EMPTY, ttl).await.unwrap();
        assert_eq!(either.status(), Some(TaskStatus::Working));
        either.cancel().await.unwrap();
    });
    let asks: Vec<Value> = seen
        .iter()
        .filter(|(method, _)| method == "tools/call")
        .map(|(_, params)| params.get("task").cloned().unwrap_or_default())
        .collect();
    let null = Value::Null;
    assert_eq!(asks, [json!({}), null.clone(), null.clone(), null, json!({"ttl": 9000})]);
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
fn canc_10_a_call_that_times_out_cancels_its_task() {
    let ((), seen) = play(E, slow(E), async |client| {
        let options = CallOptions::new().limit(Duration::from_millis(150));
        let params = OwnedJson::new(&RawJson::from_static(r#"{"name":"slow"}"#), E).unwrap();
        let result = client.request("tools/call", &params, options).await;
        assert!(matches!(result, Err(CallError::TimedOut)), "{result:?}");
    });
    assert_eq!(methods(&seen).last(), Some(&"tasks/cancel"));
}

#[test]
fn tex_13_a_task_is_resumed_by_another_connection() {
    for revision in [D, E] {
        let script = |seen_states: &'static [&str]| {
            let mut states = seen_states.iter();
            let mut slow = slow(revision);
            move |message: &Value| match message["method"].as_str() {
                Some("tasks/get") => {
                    let status = states.next().copied().unwrap_or("completed");
                    let result = match status {
                        "completed" => json!({"result": content("late")}),
                        _ => json!({}),
                    };
                    vec![ok(message, state(revision, status, result))]
                }
                Some("tasks/result") => vec![ok(message, content("late"))],
                _ => slow(message),
            }
        };
        let (kept, seen) = play(revision, script(&["working"]), async |client| {
            let task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
            task.detach().unwrap()
        });
        assert_eq!(methods(&seen), ["tools/call"], "nothing is cancelled");
        assert_eq!((kept.server(), kept.tool(), kept.task_id()), ("lab", "slow", "t-1"));
        assert!(kept.expires().unwrap() > std::time::SystemTime::now());
        let stored = kept.to_json();
        assert!(!format!("{kept:?}").contains("t-1"));
        let (done, seen) = play(revision, script(&["working"]), async |client| {
            let kept = TaskRef::from_json(&stored).unwrap();
            let mut task = client.resume(&kept).await.unwrap();
            task.wait().await.unwrap()
        });
        assert_eq!(text(&done), "late");
        assert_eq!(methods(&seen)[..2], ["tasks/get"; 2]);
        // Not by a connection of another revision.
        let other = if revision == D { E } else { D };
        play(other, script(&[]), async |client| {
            let resumed = client.resume(&TaskRef::from_json(&stored).unwrap()).await;
            assert!(matches!(resumed, Err(CallError::OtherServer)), "{resumed:?}");
        });
    }
}

#[test]
fn stored_tasks_are_read_or_refused() {
    let good = r#"{"version":1,"server":"lab","taskId":"t","revision":"2026-07-28","tool":"slow","answered":["1","\u00e9"],"created":1700000000000,"ttl":1000}"#;
    let kept = TaskRef::from_json(good).unwrap();
    assert_eq!(TaskRef::from_json(&kept.to_json()), Some(kept));
    for (from, to) in [
        ("\"version\":1", "\"version\":2"),
        ("\"version\":1,", ""),
        ("2026-07-28", "2027-01-01"),
        ("\"1\"", "1"),
        ("1700000000000", "-1"),
        ("1000}", "\"x\"}"),
        ("}", ""),
    ] {
        assert_eq!(TaskRef::from_json(&good.replacen(from, to, 1)), None, "{from} {to}");
    }
}

#[test]
fn tex_21_tex_24_tex_25_tex_28_the_handler_answers_what_a_task_asks_once() {
    let mut polls = 0;
    let script = move |message: &Value| {
        let asks = |keys: &[&str]| {
            let requests: serde_json::Map<String, Value> =
                keys.iter().map(|key| ((*key).to_owned(), form(key))).collect();
            json!({ "inputRequests": requests })
        };
        vec![match message["method"].as_str().unwrap() {
            "tools/call" => ok(message, created(E)),
            "tasks/get" => {
                polls += 1;
                match polls {
                    // The state shows the answered key still after the update.
                    1 => ok(message, state(E, "input_required", asks(&["1"]))),
                    2 => ok(message, state(E, "input_required", asks(&["1", "2", "3"]))),
                    3 => ok(message, state(E, "input_required", asks(&["3"]))),
                    4 => ok(message, state(E, "working", json!({}))),
                    _ => ok(message, state(E, "completed", json!({"result": content("done")}))),
                }
            }
            "tasks/update" => ok(message, json!({"resultType": "complete"})),
            other => panic!("{other}"),
        }]
    };
    let ((), seen) = play(E, script, async |client| {
        let result = client.call_tool("ask", &RawJson::EMPTY).await.unwrap();
        assert_eq!(text(&result), "done");
    });
    let updates: Vec<&Value> = seen
        .iter()
        .filter(|(method, _)| method == "tasks/update")
        .map(|(_, params)| &params["inputResponses"])
        .collect();
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(updates, [&json!({"1": ada}), &json!({"2": ada, "3": ada})]);
}

#[test]
fn tex_23_input_that_the_handler_refuses_ends_the_call() {
    let script = move |message: &Value| {
        vec![match message["method"].as_str().unwrap() {
            "tools/call" => ok(message, created(E)),
            "tasks/get" => {
                let asks = json!({"inputRequests": {"1": form("refuse me")}});
                ok(message, state(E, "input_required", asks))
            }
            "tasks/cancel" => ok(message, json!({"resultType": "complete"})),
            other => panic!("{other}"),
        }]
    };
    let ((), seen) = play(E, script, async |client| {
        let result = client.call_tool("ask", &RawJson::EMPTY).await;
        assert!(matches!(result, Err(CallError::InputRefused { .. })), "{result:?}");
    });
    assert_eq!(methods(&seen), ["tools/call", "tasks/get", "tasks/cancel"]);
}

#[test]
fn tsk_19_tsk_20_tsk_30_a_request_of_a_task_is_answered_with_its_id() {
    let mut waiting = Value::Null;
    let script = move |message: &Value| match message["method"].as_str() {
        Some("tools/call") if message["params"].get("task").is_none() => {
            vec![error(message, -32601)]
        }
        Some("tools/call") => vec![ok(message, created(D))],
        Some("tasks/get") => vec![ok(message, state(D, "input_required", json!({})))],
        Some("tasks/result") => {
            waiting = message.clone();
            let mut asks = form("Who?");
            asks["params"]["_meta"] = json!({RELATED: {"taskId": "t-1"}});
            (asks["jsonrpc"], asks["id"]) = (json!("2.0"), json!("q"));
            vec![asks]
        }
        None => {
            assert_eq!(message["result"]["_meta"], json!({RELATED: {"taskId": "t-1"}}));
            assert_eq!(message["result"]["content"], json!({"name": "Ada"}));
            vec![ok(&waiting, content("done"))]
        }
        other => panic!("{other:?}"),
    };
    let ((), seen) = play(D, script, async |client| {
        let result = client.call_tool("ask", &RawJson::EMPTY).await.unwrap();
        assert_eq!(text(&result), "done");
    });
    assert_eq!(methods(&seen)[2..], ["tasks/get", "tasks/result", "-"]);
}

#[test]
fn prog_09_progress_of_a_task_goes_to_its_call() {
    let script = move |message: &Value| match message["method"].as_str().unwrap() {
        "tools/call" => vec![ok(message, created(D))],
        "tasks/get" => {
            let report = |token: u32, progress: f64| {
                let meta = json!({RELATED: {"taskId": "t-1"}});
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": progress, "_meta": meta}})
            };
            vec![report(2, 0.5), report(2, 0.75), ok(message, state(D, "completed", json!({})))]
        }
        "tasks/result" => vec![ok(message, content("done"))],
        other => panic!("{other}"),
    };
    let (reports, _) = play(D, script, async |client| {
        let mut task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
        let mut reports = Vec::new();
        let result = task.wait_with_progress(|step| reports.push(step.progress.as_f64())).await;
        assert_eq!(text(&result.unwrap()), "done");
        reports
    });
    assert_eq!(reports, [0.5, 0.75]);
}

#[test]
fn tsk_33_a_notification_ends_the_wait_at_once() {
    // The server suggests an interval of an hour.
    for revision in [D, E] {
        let slowly = |mut task: Value| {
            let names = ["pollInterval", "pollIntervalMs"];
            for name in names {
                if task.get(name).is_some() {
                    task[name] = json!(3_600_000);
                }
            }
            task
        };
        let script = move |message: &Value| match message["method"].as_str().unwrap() {
            "tools/call" => {
                let mut created = created(revision);
                if revision.is_modern() {
                    created = slowly(created);
                } else {
                    created["task"] = slowly(created["task"].take());
                }
                vec![ok(message, created)]
            }
            // Something that the test sends when it waits.
            "own/poke" => {
                let (method, more) = match revision.is_modern() {
                    true => ("notifications/tasks", json!({"result": content("told")})),
                    false => ("notifications/tasks/status", json!({})),
                };
                let task = task(revision, "completed", more);
                let told = json!({"jsonrpc": "2.0", "method": method, "params": task});
                vec![told, ok(message, json!({"resultType": "complete"}))]
            }
            "tasks/result" => vec![ok(message, content("told"))],
            other => panic!("{other}"),
        };
        let ((), seen) = play(revision, script, async |client| {
            let mut task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await.unwrap();
            let poke = async {
                client.request("own/poke", &RawJson::EMPTY, CallOptions::new()).await.unwrap()
            };
            let (result, _) = future::zip(task.wait(), poke).await;
            assert_eq!(text(&result.unwrap()), "told");
        });
        assert!(!methods(&seen).contains(&"tasks/get"));
    }
}

#[test]
fn tsk_43_tex_66_a_task_that_is_gone_is_an_error_of_its_own() {
    for revision in [D, E] {
        let mut slow = slow(revision);
        let script = move |message: &Value| match message["method"].as_str().unwrap() {
            "tasks/get" => vec![error(message, -32602)],
            _ => slow(message),
        };
        let (result, seen) =
            play(revision, script, async |client| client.call_tool("slow", &RawJson::EMPTY).await);
        assert!(matches!(result, Err(CallError::TaskGone(TaskGone::Unknown))), "{result:?}");
        assert!(!methods(&seen).contains(&"tasks/cancel"), "there is nothing to cancel");
    }
}

#[test]
fn tsk_57_a_task_that_others_have_cancelled_is_an_error_of_its_own() {
    for revision in [D, E] {
        let mut slow = slow(revision);
        let script = move |message: &Value| match message["method"].as_str().unwrap() {
            "tasks/get" => vec![ok(message, state(revision, "cancelled", json!({})))],
            _ => slow(message),
        };
        let (result, seen) =
            play(revision, script, async |client| client.call_tool("slow", &RawJson::EMPTY).await);
        assert!(matches!(result, Err(CallError::TaskCancelled)), "{result:?}");
        assert_eq!(methods(&seen).last(), Some(&"tasks/get"));
    }
}

#[test]
fn the_error_of_a_task_that_failed_is_that_of_its_call() {
    for revision in [D, E] {
        let refusal = json!({"code": -32000, "message": "no paper"});
        let mut slow = slow(revision);
        let script = move |message: &Value| match message["method"].as_str().unwrap() {
            "tasks/get" => {
                let failed = state(revision, "failed", json!({"error": refusal}));
                vec![ok(message, failed)]
            }
            "tasks/result" => {
                vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": refusal})]
            }
            _ => slow(message),
        };
        let (result, seen) =
            play(revision, script, async |client| client.call_tool("slow", &RawJson::EMPTY).await);
        let Err(CallError::Server(error)) = result else { panic!("{result:?}") };
        assert_eq!((error.code, error.message.as_str()), (-32000, "no paper"));
        assert!(!methods(&seen).contains(&"tasks/cancel"), "there is nothing to cancel");
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
fn tsk_60_tsk_28_tsk_39_tsk_44_a_client_runs_an_elicitation_as_a_task() {
    let start = async |client: Client| {
        client.request("own/start", &RawJson::EMPTY, CallOptions::new()).await.unwrap()
    };
    let (said, _) = play_as(&HOST, D, hosted(), start);
    let said: Value = serde_json::from_str(said.as_raw().as_str()).unwrap();
    check_hosted(&said, "working");
}

#[test]
fn tsk_60_a_task_of_a_client_is_cancelled() {
    let mut hosted = hosted();
    let mut start = Value::Null;
    let script = move |message: &Value| {
        if message["method"] == "own/start" {
            start = message.clone();
        }
        match message["id"].as_u64() {
            // The task is cancelled while its result is awaited.
            Some(2) if message.get("method").is_none() => {
                let task = json!({"taskId": message["result"]["taskId"]});
                ["tasks/result", "tasks/cancel"]
                    .iter()
                    .zip(10..)
                    .map(|(method, id)| {
                        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": task})
                    })
                    .collect()
            }
            Some(10) if message.get("method").is_none() => {
                assert_eq!(message["error"]["code"], -32603);
                vec![ok(&start, json!({}))]
            }
            Some(11) if message.get("method").is_none() => {
                assert_eq!(message["result"]["status"], "cancelled");
                Vec::new()
            }
            _ => hosted(message),
        }
    };
    play_as(&HOST, D, script, async |client| {
        client.request("own/start", &RawJson::EMPTY, CallOptions::new()).await.unwrap()
    });
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
                let mut asks = form("Who?");
                (asks["jsonrpc"], asks["id"]) = (json!("2.0"), json!(1));
                asks["params"]["task"] = json!({"ttl": ttl});
                return vec![asks];
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

#[test]
fn tsk_31_the_parameter_names_the_task_of_a_client() {
    let (mut start, mut ids) = (Value::Null, Vec::new());
    let script = move |message: &Value| {
        let asks = |id: u32, method: &str, params: Value| {
            let [mut asks, id] = [json!({"jsonrpc": "2.0", "method": method}), json!(id)];
            (asks["id"], asks["params"]) = (id, params);
            asks
        };
        if message["method"] == "own/start" {
            start = message.clone();
            let question = |(id, text): (u32, &str)| {
                let mut params = form(text)["params"].clone();
                params["task"] = json!({});
                asks(id, "elicitation/create", params)
            };
            return [(1, "hold"), (2, "Who?")].map(question).into();
        }
        let result = &message["result"];
        match message["id"].as_u64() {
            Some(1 | 2) => {
                ids.push(result["task"]["taskId"].clone());
                let [held, other] = &ids[..] else { return Vec::new() };
                // The metadata names the other task, which counts for nothing.
                let of = |id: &Value, wrong: &Value| {
                    let meta = json!({RELATED: {"taskId": wrong}});
                    json!({"taskId": id, "_meta": meta})
                };
                return vec![
                    asks(10, "tasks/get", of(held, other)),
                    asks(11, "tasks/cancel", of(held, other)),
                    asks(12, "tasks/result", of(other, held)),
                ];
            }
            Some(10) => {
                assert_eq!((&result["taskId"], &result["status"]), (&ids[0], &json!("working")))
            }
            Some(11) => {
                assert_eq!((&result["taskId"], &result["status"]), (&ids[0], &json!("cancelled")))
            }
            _ => {
                assert_eq!(result["_meta"][RELATED]["taskId"], ids[1], "{message}");
                return vec![ok(&start, json!({}))];
            }
        }
        Vec::new()
    };
    play_as(&HOST, D, script, async |client| {
        client.request("own/start", &RawJson::EMPTY, CallOptions::new()).await.unwrap()
    });
}

#[test]
fn r3_l4_a_client_refuses_a_time_that_is_no_whole_number() {
    let wrong = [json!({"ttl": 1.5}), json!({"ttl": "1"}), json!({"ttl": -1}), json!(5)];
    let (mut start, mut refused) = (Value::Null, 0);
    let script = move |message: &Value| {
        if message["method"] == "own/start" {
            start = message.clone();
            let question = |(id, task): (usize, &Value)| {
                let mut asks = form("Who?");
                (asks["jsonrpc"], asks["id"]) = (json!("2.0"), json!(id));
                asks["params"]["task"] = task.clone();
                asks
            };
            return wrong.iter().enumerate().map(question).collect();
        }
        assert_eq!(message["error"]["code"], -32602, "{message}");
        refused += 1;
        if refused == 4 { vec![ok(&start, json!({}))] } else { Vec::new() }
    };
    play_as(&HOST, D, script, async |client| {
        client.request("own/start", &RawJson::EMPTY, CallOptions::new()).await.unwrap()
    });
}

#[test]
fn tsk_09_a_client_that_runs_no_tasks_ignores_the_wish() {
    let script = {
        let mut start = Value::Null;
        move |message: &Value| {
            if message["method"] == "own/start" {
                start = message.clone();
                let mut asks = form("Who?");
                (asks["jsonrpc"], asks["id"]) = (json!("2.0"), json!(1));
                asks["params"]["task"] = json!({});
                let get = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": "t"}});
                return vec![get, asks];
            }
            if message["id"] == 2 {
                assert_eq!(message["error"]["code"], -32601);
                return Vec::new();
            }
            assert_eq!(message["result"]["action"], "accept");
            vec![ok(&start, json!({}))]
        }
    };
    play(D, script, async |client| {
        client.request("own/start", &RawJson::EMPTY, CallOptions::new()).await.unwrap()
    });
}
