//! Calls that the server runs as tasks, in both dialects.

use std::time::Duration;

use mcp_sansio::types::TaskStatus;
use mcp_sansio::{CallOptions, Revision, TaskGone};
use mcp_sansio_engine::{CallError, Cancelled, Detached, Limits, TaskRef};
use serde_json::{Value, json};

use crate::scene::{
    D, E, Scene, answer, content, created, error, form, methods, notification, ok, state,
};

/// Makes a call that is a task now.
fn begin(scene: &mut Scene) -> mcp_sansio_engine::CallId {
    let options = match scene.engine.asks_for_task("slow") {
        true => CallOptions::new().progress(true).task(Some(Duration::from_secs(60))),
        false => CallOptions::new().progress(true),
    };
    let call = scene.call("tools/call", json!({"name": "slow"}), options);
    let request = scene.responds(created(scene.revision));
    assert_eq!(request["params"].get("task").is_some(), !scene.revision.is_modern());
    assert_eq!(scene.engine.task_status(call), Some(TaskStatus::Working));
    call
}

fn begun(revision: Revision) -> (Scene, mcp_sansio_engine::CallId) {
    let mut scene = Scene::new(revision);
    let call = begin(&mut scene);
    (scene, call)
}

/// Waits for the next request.
fn next(scene: &mut Scene, method: &str) -> Value {
    if scene.revision.is_modern() || method != "tasks/result" {
        let waited = scene.until_next();
        assert!((100..115).contains(&waited), "{waited}");
    }
    let request = scene.sent_one();
    assert_eq!((&request["method"], &request["params"]["taskId"]), (&json!(method), &json!("t-1")));
    request
}

/// Responds to the next request for the state of the task.
fn polls(scene: &mut Scene, status: &str, more: Value) {
    let poll = next(scene, "tasks/get");
    scene.gets(&ok(&poll, state(scene.revision, status, more)));
}

/// Lets the task ask this.
fn asks(scene: &mut Scene, requests: Value) {
    polls(scene, "input_required", json!({ "inputRequests": requests }));
}

/// Lets the task end with the result of a call.
fn completes(scene: &mut Scene, text: &str) {
    let result = content(scene.revision, text);
    if scene.revision.is_modern() {
        return polls(scene, "completed", json!({ "result": result }));
    }
    polls(scene, "completed", json!({}));
    let request = next(scene, "tasks/result");
    scene.gets(&ok(&request, result));
}

#[test]
fn tex_02_tex_11_tex_12_tsk_25_tsk_26_a_call_waits_for_its_task() {
    for revision in [D, E] {
        let (mut scene, call) = begun(revision);
        polls(&mut scene, "working", json!({"statusMessage": "step 1"}));
        assert_eq!(scene.engine.task_message(call), Some("step 1"));
        assert_eq!(scene.log(), ["progress 0 step 1 of a call"]);
        completes(&mut scene, "done");
        assert_eq!(scene.take(call).unwrap()["content"][0]["text"], "done");
        assert!(scene.sent().is_empty());
    }
}

#[test]
fn tsk_05_tsk_07_a_tool_that_is_refused_without_a_task_is_called_as_one_once() {
    let mut scene = Scene::new(D);
    let (call, first) = scene.tool("slow");
    scene.gets(&error(&first, -32601));
    let second = scene.sent_one();
    assert!(first["params"].get("task").is_none() && second["params"].get("task").is_some());
    scene.gets(&error(&second, -32601));
    assert!(matches!(scene.take(call), Err(CallError::Server(error)) if error.code == -32601));
    // The list says so before.
    let list = scene.call("tools/list", json!({}), CallOptions::new());
    let tool = |name: &str, support: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}});
    let plain = json!({"name": "plain", "inputSchema": {"type": "object"}});
    scene.responds(json!({"tools": [tool("slow", "required"), tool("quick", "forbidden"), plain]}));
    scene.take(list).unwrap();
    // A result is no list, whatever it contains.
    let mut result = content(D, "plain");
    result["tools"] = json!([tool("quick", "required")]);
    scene.tool_gets("quick", result);
    assert!(scene.tool("slow").1["params"].get("task").is_some());
    assert!(!scene.engine.asks_for_task("quick") && scene.engine.asks_for_task("other"));
    // An error does not turn it round, until the list has changed.
    for (name, is_task) in [("slow", true), ("quick", false), ("plain", false)] {
        let (call, request) = scene.tool(name);
        assert_eq!(request["params"].get("task").is_some(), is_task);
        scene.gets(&error(&request, -32601));
        assert!(matches!(scene.take(call), Err(CallError::Server(error)) if error.code == -32601));
        assert!(scene.sent().is_empty());
    }
    scene.gets(&notification("notifications/tools/list_changed", json!({})));
    let (_, request) = scene.tool("quick");
    scene.gets(&error(&request, -32601));
    assert!(scene.sent_one()["params"].get("task").is_some());
}

#[test]
fn tex_21_tex_24_tex_25_tex_28_a_task_asks_and_each_question_is_answered_once() {
    let mut scene = Scene::with_late_answers(E);
    let call = begin(&mut scene);
    asks(&mut scene, json!({"a": form("Who?")}));
    asks(&mut scene, json!({"a": form("Who?")}));
    assert_eq!(scene.log(), ["asked Who?"]);
    scene.answers(0, Ok(answer("Who?")));
    let update = scene.responds(json!({"resultType": "complete"}));
    assert_eq!(update["method"], "tasks/update");
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(update["params"]["inputResponses"], json!({ "a": ada }));
    let poll = match scene.sent().pop() {
        Some(poll) => poll,
        None => next(&mut scene, "tasks/get"),
    };
    let again = json!({"inputRequests": {"a": form("Who?")}});
    scene.gets(&ok(&poll, state(E, "input_required", again)));
    assert!(scene.log().is_empty(), "it was answered");
    completes(&mut scene, "done");
    scene.take(call).unwrap();
}

#[test]
fn a_question_is_withdrawn_when_the_task_goes_on_without_it() {
    let mut scene = Scene::with_late_answers(E);
    begin(&mut scene);
    asks(&mut scene, json!({"a": form("Who?")}));
    polls(&mut scene, "working", json!({}));
    assert_eq!(scene.log(), ["asked Who?", "withdrawn Who?"]);
}

#[test]
fn canc_10_tex_23_a_refusal_and_the_end_of_its_time_cancel_the_task() {
    let (mut scene, call) = begun(E);
    asks(&mut scene, json!({"a": form("refuse me")}));
    assert!(matches!(scene.take(call), Err(CallError::InputRefused { .. })));
    assert_eq!(methods(&scene.sent()), ["tasks/cancel"]);
    for revision in [D, E] {
        let mut scene = Scene::new(revision);
        let options = CallOptions::new().limit(Duration::from_millis(150));
        let options = if revision.is_modern() { options } else { options.task(None) };
        let call = scene.call("tools/call", json!({"name": "slow"}), options);
        scene.responds(created(revision));
        polls(&mut scene, "working", json!({}));
        scene.until_next();
        assert_eq!(scene.now.as_millis(), 150);
        assert!(matches!(scene.take(call), Err(CallError::TimedOut)));
        assert_eq!(methods(&scene.sent()), ["tasks/cancel"]);
    }
}

#[test]
fn canc_10_tex_33_a_call_that_is_cancelled_names_its_task() {
    for revision in [D, E] {
        let (mut scene, call) = begun(revision);
        let cancelled = scene.cancel(call);
        let Some(Cancelled::Task(task)) = cancelled else { panic!("{cancelled:?}") };
        assert!(scene.sent().is_empty());
        scene.engine.cancel_task(scene.now, task, &mut scene.person);
        let request = scene.responds(state(revision, "cancelled", json!({})));
        assert_eq!(request["params"]["taskId"], "t-1");
        assert!(!scene.engine.has_calls());
    }
}

#[test]
fn canc_10_tex_33_a_call_that_is_given_up_before_its_response_cancels_the_task() {
    for (revision, times_out) in [(D, false), (D, true), (E, false), (E, true)] {
        let mut scene = Scene::new(revision);
        let options = CallOptions::new().timeout(Duration::from_millis(150));
        let options = if revision.is_modern() { options } else { options.task(None) };
        let call = scene.call("tools/call", json!({"name": "slow"}), options);
        let request = scene.sent_one();
        if times_out {
            assert_eq!(scene.until_next(), 150);
            assert!(matches!(scene.take(call), Err(CallError::TimedOut)));
        } else {
            scene.cancel(call).unwrap();
        }
        assert_eq!(methods(&scene.sent()), ["notifications/cancelled"]);
        scene.gets(&ok(&request, created(revision)));
        let cancel = scene.responds(state(revision, "cancelled", json!({})));
        assert_eq!(
            (&cancel["method"], &cancel["params"]["taskId"]),
            (&json!("tasks/cancel"), &json!("t-1"))
        );
        assert!(scene.sent().is_empty() && scene.log().is_empty());
    }
    // The late state of a task that goes on, of a server that gives it the type `task`.
    let (mut scene, call) = begun(E);
    let poll = next(&mut scene, "tasks/get");
    scene.engine.detach(scene.now, call, &mut scene.person);
    assert_eq!(methods(&scene.sent()), ["notifications/cancelled"]);
    scene.gets(&ok(&poll, created(E)));
    assert!(scene.sent().is_empty());
}

#[test]
fn canc_10_a_task_that_is_created_while_its_cancellation_waits_is_cancelled() {
    let mut scene = Scene::with(E, Limits { max_output: 256, max_pending: 2, ..Limits::new() });
    let (call, request) = scene.tool("slow");
    let long = json!({"name": "print", "arguments": {"text": "x".repeat(5_000)}});
    scene.call("tools/call", long, CallOptions::new());
    scene.cancel(call).unwrap();
    assert_eq!(scene.engine.unsent(), 1);
    scene.gets(&ok(&request, created(E)));
    assert_eq!(methods(&scene.sent()), ["tools/call", "tasks/cancel"]);
}

#[test]
fn canc_10_tex_33_a_task_is_cancelled_over_the_next_connection() {
    for revision in [D, E] {
        let (mut scene, call) = begun(revision);
        scene.end();
        scene.engine.connect(scene.now, &mut scene.person).unwrap();
        let cancelled = scene.cancel(call);
        let Some(Cancelled::Task(task)) = cancelled else { panic!("{cancelled:?}") };
        // The server has not responded to the first request of the connection.
        scene.engine.cancel_task(scene.now, task, &mut scene.person);
        scene.opens();
        let request = scene.sent().pop().unwrap();
        assert_eq!(request["method"], "tasks/cancel");
        assert_eq!(request["params"]["taskId"], "t-1");
    }
}

#[test]
fn tex_13_tsk_43_a_task_is_detached_and_resumed_on_another_connection() {
    for revision in [D, E] {
        let mut scene = Scene::new(revision);
        let (undecided, _) = scene.tool("quick");
        let detached = scene.engine.detach(scene.now, undecided, &mut scene.person);
        assert_eq!(detached, Detached::Undecided);
        let (mut scene, call) = begun(revision);
        // Also when the connection has ended.
        scene.end();
        let detached = scene.engine.detach(scene.now, call, &mut scene.person);
        let Detached::Task(task) = detached else { panic!("{detached:?}") };
        assert!(scene.is_over(call));
        let task = TaskRef::from_json(&task.to_json()).unwrap();
        assert_eq!((task.server(), task.tool(), task.task_id()), ("lab", "slow", "t-1"));
        assert_eq!(task.expires_unix_ms(), Some(1_800_000_060_000));
        scene.connect();
        let call = scene.engine.resume(scene.now, &task, &mut scene.person).unwrap();
        assert_eq!(scene.refuses(-32602)["method"], "tasks/get");
        assert!(matches!(scene.take(call), Err(CallError::TaskGone(TaskGone::Unknown))));
        assert!(scene.sent().is_empty(), "there is nothing to cancel");
        let mut other = Scene::new(if revision == D { E } else { D });
        assert_eq!(other.engine.resume(other.now, &task, &mut other.person), None);
        let renamed = task.to_json().replacen("\"lab\"", "\"other\"", 1);
        let renamed = TaskRef::from_json(&renamed).unwrap();
        assert_eq!(scene.engine.resume(scene.now, &renamed, &mut scene.person), None);
    }
}

#[test]
fn tsk_33_a_notification_ends_the_wait_and_the_request_in_flight() {
    for revision in [D, E] {
        let (mut scene, call) = begun(revision);
        let poll = next(&mut scene, "tasks/get");
        let (method, more) = match revision.is_modern() {
            true => ("notifications/tasks", json!({"result": content(revision, "told")})),
            false => ("notifications/tasks/status", json!({})),
        };
        scene.gets(&notification(method, state(revision, "completed", more)));
        if revision.is_modern() {
            assert_eq!(scene.take(call).unwrap()["content"][0]["text"], "told");
            let cancelled = scene.sent_one();
            assert_eq!(cancelled["params"]["requestId"], poll["id"]);
        }
    }
}

#[test]
fn tsk_57_tex_65_tex_66_a_task_fails_is_cancelled_or_is_over() {
    for revision in [D, E] {
        let (mut scene, call) = begun(revision);
        polls(&mut scene, "cancelled", json!({}));
        assert!(matches!(scene.take(call), Err(CallError::TaskCancelled)));
        assert!(scene.sent().is_empty(), "there is nothing to cancel");
        let call = begin(&mut scene);
        polls(&mut scene, "failed", json!({"error": {"code": -32000, "message": "no paper"}}));
        if !revision.is_modern() {
            let request = next(&mut scene, "tasks/result");
            scene.gets(&error(&request, -32000));
        }
        let result = scene.take(call);
        assert!(matches!(result, Err(CallError::Server(error)) if error.code == -32000));
        assert!(scene.sent().is_empty(), "there is nothing to cancel");
        // A server that never responds.
        let call = begin(&mut scene);
        while scene.now.as_millis() < 200_000 && scene.engine.poll_timeout().is_some() {
            scene.until_next();
            scene.sent();
        }
        assert!(matches!(scene.take(call), Err(CallError::TaskGone(TaskGone::Expired))));
    }
}

#[test]
fn prog_09_progress_of_a_task_is_that_of_its_call() {
    let mut scene = Scene::new(D);
    begin(&mut scene);
    let meta = json!({crate::scene::RELATED: {"taskId": "t-1"}});
    let report = json!({"progressToken": 2, "progress": 0.5, "_meta": meta});
    scene.gets(&notification("notifications/progress", report));
    assert_eq!(scene.log(), ["progress 0.5  of a call"]);
}

#[test]
fn nothing_is_sent_for_a_task_that_is_held() {
    for revision in [D, E] {
        let (mut scene, call) = begun(revision);
        scene.engine.hold(scene.now, call, true, &mut scene.person);
        scene.later(10_000);
        assert!(scene.sent().is_empty());
        let params = state(revision, "working", json!({"statusMessage": "half"}));
        let method =
            if revision.is_modern() { "notifications/tasks" } else { "notifications/tasks/status" };
        scene.gets(&notification(method, params));
        scene.later(10_000);
        assert!(scene.sent().is_empty());
        assert_eq!(scene.engine.task_message(call), Some("half"));
        scene.engine.hold(scene.now, call, false, &mut scene.person);
        let poll = scene.sent_one();
        assert_eq!(poll["method"], "tasks/get");
        // What was asked before is heard; what follows waits.
        scene.engine.hold(scene.now, call, true, &mut scene.person);
        scene.gets(&ok(&poll, state(revision, "working", json!({}))));
        scene.later(10_000);
        assert!(scene.sent().is_empty());
        let kept = scene.engine.task(call).cloned();
        let detached = scene.engine.detach(scene.now, call, &mut scene.person);
        assert_eq!(Some(detached), kept.map(Detached::Task));
    }
}

#[test]
fn a_question_of_several_is_asked_once_and_one_that_is_gone_does_not_block() {
    let mut scene = Scene::with_late_answers(E);
    let call = begin(&mut scene);
    let both = json!({"a": form("1"), "b": form("2")});
    asks(&mut scene, both.clone());
    assert_eq!(scene.log(), ["asked 1", "asked 2"]);
    scene.answers(0, Ok(answer("1")));
    asks(&mut scene, both);
    assert!(scene.log().is_empty(), "both are known");
    asks(&mut scene, json!({"a": form("1"), "c": form("3")}));
    assert_eq!(scene.log(), ["withdrawn 2", "asked 3"]);
    scene.answers(2, Ok(answer("3")));
    let update = scene.sent_one();
    assert_eq!(update["method"], "tasks/update");
    assert!(update["params"]["inputResponses"].as_object().unwrap().keys().eq(["a", "c"]));
    assert!(scene.engine.task_status(call).is_some());
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
