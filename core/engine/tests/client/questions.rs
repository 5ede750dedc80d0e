//! Questions of servers: in rounds of a call, as requests, and as tasks that the client runs.

use mcp_sansio::CallOptions;
use mcp_sansio_engine::{CallError, InputRefusal, Limits};
use serde_json::{Value, json};

use crate::scene::{
    ALL, D, E, RELATED, Scene, answer, content, form, form_params, notification, ok, question,
    requires,
};

#[test]
fn a_call_is_sent_again_with_the_answers_of_each_round() {
    let mut scene = Scene::new(E);
    let (call, first) = scene.tool("ask");
    let requests = json!({"a": form("Who?"), "b": {"method": "roots/list"}});
    scene.gets(&ok(&first, requires(requests, "s1")));
    assert_eq!(scene.log(), ["asked Who?", "asked roots"]);
    assert!(scene.person.asked.iter().all(|(_, about, _)| *about == Some(call)));
    let again = json!({"resultType": "input_required", "requestState": "s2"});
    let second = scene.responds(again);
    assert_ne!(second["id"], first["id"]);
    let params = &second["params"];
    assert_eq!((&params["name"], &params["requestState"]), (&json!("ask"), &json!("s1")));
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(params["inputResponses"], json!({"a": ada, "b": {"roots": []}}));
    // A round without questions.
    let third = scene.responds(content(E, "done"));
    assert_eq!(third["params"]["requestState"], "s2");
    assert!(third["params"].get("inputResponses").is_none());
    assert_eq!(scene.take(call).unwrap()["content"][0]["text"], "done");
}

#[test]
fn a_round_waits_for_its_last_answer() {
    let mut scene = Scene::with_late_answers(E);
    let call = scene.tool_gets("ask", requires(json!({"a": form("1"), "b": form("2")}), "s"));
    scene.answers(1, Ok(answer("2")));
    assert!(scene.sent().is_empty());
    // Nothing waits for time: the call is not in flight.
    assert_eq!(scene.engine.poll_timeout(), None);
    scene.answers(0, Ok(answer("1")));
    let second = scene.responds(content(E, "done"));
    assert_eq!(second["params"]["inputResponses"].as_object().unwrap().len(), 2);
    scene.take(call).unwrap();
    // A late answer is nothing.
    scene.answers(0, Ok(answer("1")));
    assert!(scene.sent().is_empty());
}

#[test]
fn the_questions_of_a_call_that_is_cancelled_are_withdrawn_and_those_of_others_stay() {
    let mut scene = Scene::with_late_answers(E);
    let ((call, first), (_, second)) = (scene.tool("a"), scene.tool("b"));
    for (request, text) in [(&first, "1"), (&second, "2")] {
        scene.gets(&ok(request, requires(json!({"q": form(text)}), "s")));
    }
    scene.cancel(call);
    assert_eq!(scene.log(), ["asked 1", "asked 2", "withdrawn 1"]);
    scene.answers(1, Ok(answer("2")));
    assert_eq!(scene.sent_one()["params"]["name"], "b");
}

#[test]
fn a_refusal_ends_the_call_and_the_other_questions() {
    let mut scene = Scene::new(E);
    let call =
        scene.tool_gets("ask", requires(json!({"a": form("refuse me"), "b": form("2")}), "s"));
    assert_eq!(scene.log(), ["asked refuse me"], "the second question is not needed");
    let Err(CallError::InputRefused { refusal: InputRefusal::Refused, result }) = scene.take(call)
    else {
        panic!("it was refused")
    };
    assert!(result.as_json().get("requestState").is_some());
    scene.person.answers_later = true;
    let call = scene.tool_gets("ask", requires(json!({"a": form("1"), "b": form("2")}), "s"));
    scene.answers(2, Err(InputRefusal::Panicked));
    assert_eq!(scene.log(), ["asked 1", "asked 2", "withdrawn 1"]);
    let result = scene.take(call);
    assert!(matches!(result, Err(CallError::InputRefused { refusal: InputRefusal::Panicked, .. })));
    // So does the end of the call.
    let call = scene.tool_gets("ask", requires(json!({"a": form("3")}), "s"));
    scene.cancel(call);
    assert_eq!(scene.log(), ["asked 3", "withdrawn 3"]);
    assert!(scene.sent().is_empty());
}

#[test]
fn too_many_questions_and_those_that_nobody_can_read_end_the_call() {
    let mut scene = Scene::with(E, Limits { max_inputs: 1, ..Limits::new() });
    let call = scene.tool_gets("ask", requires(json!({"a": form("1"), "b": form("2")}), "s"));
    let result = scene.take(call);
    assert!(matches!(result, Err(CallError::InputRefused { refusal: InputRefusal::TooMany, .. })));
    assert!(scene.log().is_empty());
}

#[test]
fn c1_requests_of_a_server_are_refused_when_the_table_is_full() {
    let mut scene = Scene::with_late_answers(D);
    for id in 0..100 {
        scene.gets(&question(id, "roots/list", json!({})));
    }
    let sent = scene.sent();
    assert!(sent.iter().all(|response| response["error"]["code"] == -32603), "{sent:?}");
    assert_eq!((scene.person.asked.len(), sent.len()), (64, 36));
    // A place that is free again is taken.
    scene.answers(0, Ok(answer("roots")));
    scene.gets(&question(100, "roots/list", json!({})));
    assert_eq!((scene.person.asked.len(), &scene.sent_one()["id"]), (65, &json!(0)));
}

#[test]
fn a_legacy_server_asks_with_requests() {
    for revision in [ALL[2], D] {
        let mut scene = Scene::new(revision);
        let sample = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 10});
        scene.gets(&question(1, "elicitation/create", form_params("Who?")));
        scene.gets(&question(2, "sampling/createMessage", sample));
        scene.gets(&question(3, "roots/list", json!({})));
        scene.gets(&question(4, "elicitation/create", form_params("refuse me")));
        scene.gets(&question(5, "elicitation/create", json!({"message": 5})));
        let sent = scene.sent();
        assert_eq!(sent[0]["result"]["content"], json!({"name": "Ada"}));
        assert_eq!(sent[1]["result"]["model"], "m");
        assert_eq!(sent[2]["result"], json!({"roots": []}));
        assert_eq!(sent[3]["error"], json!({"code": -1, "message": "The request was refused"}));
        assert_eq!(sent[4]["error"]["code"], -32602);
        assert_eq!(sent.len(), 5);
    }
}

#[test]
fn a_server_takes_its_request_back() {
    let mut scene = Scene::with_late_answers(D);
    // The person's answer is told.
    scene.gets(&question(3, "elicitation/create", form_params("Why?")));
    scene.answers(0, Err(InputRefusal::new("The person says no")));
    assert_eq!(scene.sent_one()["error"], json!({"code": -1, "message": "The person says no"}));
    scene.person.asked.clear();
    scene.log();
    scene.gets(&question(1, "elicitation/create", form_params("Who?")));
    scene.gets(&notification("notifications/cancelled", json!({"requestId": 1})));
    assert_eq!(scene.log(), ["asked Who?", "withdrawn Who?", "request cancelled"]);
    scene.answers(0, Ok(answer("Who?")));
    assert!(scene.sent().is_empty());
    // The end of the connection takes all back.
    scene.gets(&question(2, "elicitation/create", form_params("When?")));
    scene.end();
    assert_eq!(scene.log(), ["asked When?", "withdrawn When?"]);
}

#[test]
fn tsk_19_tsk_30_an_answer_about_a_task_of_the_server_has_its_id() {
    for is_late in [false, true] {
        let mut scene = Scene::new(D);
        scene.person.answers_later = is_late;
        let mut params = form_params("Who?");
        params["_meta"] = json!({RELATED: {"taskId": "t-1"}});
        scene.gets(&question(1, "elicitation/create", params));
        if is_late {
            scene.answers(0, Ok(answer("Who?")));
        }
        assert_eq!(scene.sent_one()["result"]["_meta"], json!({RELATED: {"taskId": "t-1"}}));
    }
}

/// Returns parameters that name the task of this response.
fn task_of(created: &Value) -> Value {
    json!({"taskId": created["result"]["task"]["taskId"]})
}

#[test]
fn tsk_28_tsk_39_tsk_44_tsk_60_the_client_runs_a_question_as_a_task() {
    let mut scene = Scene::with_late_answers(D);
    let mut params = form_params("Who?");
    params["task"] = json!({"ttl": 60_000});
    let task = scene.asks(1, "elicitation/create", params.clone())["result"]["task"].clone();
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)));
    let id = json!({"taskId": task["taskId"]});
    let listed = &scene.asks(2, "tasks/list", json!({}))["result"]["tasks"][0];
    assert_eq!(listed["taskId"], task["taskId"]);
    scene.gets(&question(3, "tasks/result", id.clone()));
    assert!(scene.sent().is_empty(), "it waits");
    scene.answers(0, Ok(answer("Who?")));
    let result = scene.sent_one();
    assert_eq!((&result["id"], &result["result"]["content"]), (&json!(3), &json!({"name": "Ada"})));
    assert_eq!(result["result"]["_meta"], json!({RELATED: id}));
    let state = scene.asks(8, "tasks/get", id.clone())["result"].clone();
    assert!(state["status"] == "completed" && state.get("_meta").is_none(), "{state}");
    assert_eq!(scene.asks(9, "tasks/cancel", id)["error"]["code"], -32602, "it has ended");
    // One that the server cancels, and one whose time is over, need no answer.
    scene.log();
    let id = task_of(&scene.asks(4, "elicitation/create", params.clone()));
    scene.gets(&question(10, "tasks/result", id.clone()));
    scene.gets(&question(5, "tasks/cancel", id));
    let sent = scene.sent();
    let to = |id: u32| sent.iter().find(|message| message["id"] == id).unwrap();
    assert_eq!(to(10)["error"]["code"], -32603);
    assert_eq!(to(5)["result"]["status"], "cancelled");
    assert_eq!(scene.log(), ["asked Who?", "withdrawn Who?"]);
    scene.asks(6, "elicitation/create", params);
    scene.until_next();
    scene.later(60_000);
    assert_eq!(scene.log(), ["asked Who?", "withdrawn Who?"]);
    assert_eq!(scene.asks(7, "tasks/get", json!({"taskId": "unknown"}))["error"]["code"], -32602);
    // A new connection has none of the tasks of the last one.
    scene.end();
    scene.connect();
    assert_eq!(scene.asks(1, "tasks/list", json!({}))["result"]["tasks"], json!([]));
}

#[test]
fn tsk_31_the_parameter_names_the_task_of_a_client() {
    let mut scene = Scene::with_late_answers(D);
    let ids = [1, 2].map(|id| {
        let mut params = form_params("Who?");
        params["task"] = json!({});
        scene.asks(id, "elicitation/create", params)["result"]["task"]["taskId"].clone()
    });
    // The metadata names the other task, which counts for nothing.
    let meta = json!({RELATED: {"taskId": ids[1]}});
    let of = json!({"taskId": ids[0], "_meta": meta});
    for (id, method, status) in [(10, "tasks/get", "working"), (11, "tasks/cancel", "cancelled")] {
        let result = &scene.asks(id, method, of.clone())["result"];
        assert_eq!((&result["taskId"], &result["status"]), (&ids[0], &json!(status)));
    }
    scene.answers(1, Ok(answer("Who?")));
    let meta = json!({RELATED: {"taskId": ids[0]}});
    let result = scene.asks(12, "tasks/result", json!({"taskId": ids[1], "_meta": meta}));
    assert_eq!(result["result"]["_meta"][RELATED]["taskId"], ids[1]);
}

#[test]
fn r3_l4_a_client_refuses_a_time_that_is_no_whole_number() {
    let mut scene = Scene::new(D);
    for task in [json!({"ttl": 1.5}), json!({"ttl": "1"}), json!({"ttl": -1}), json!(5)] {
        let mut params = form_params("Who?");
        params["task"] = task;
        assert_eq!(scene.asks(1, "elicitation/create", params)["error"]["code"], -32602);
    }
}

#[test]
fn tsk_09_a_client_that_runs_no_tasks_ignores_the_wish() {
    let mut scene = Scene::without_tasks();
    let mut params = form_params("Who?");
    params["task"] = json!({});
    assert_eq!(scene.asks(1, "elicitation/create", params)["result"]["action"], "accept");
    assert_eq!(scene.asks(2, "tasks/get", json!({"taskId": "t"}))["error"]["code"], -32601);
}

#[test]
fn tsk_47_a_question_that_is_answered_at_once_is_a_task_that_has_ended() {
    let mut scene = Scene::new(D);
    let mut params = form_params("refuse me");
    params["task"] = json!({});
    let id = task_of(&scene.asks(1, "elicitation/create", params));
    let state = &scene.asks(2, "tasks/get", id.clone())["result"];
    assert_eq!(state["status"], "failed");
    assert_eq!(state["statusMessage"], "The request was refused");
    assert_eq!(scene.asks(3, "tasks/result", id)["error"]["code"], -1);
    // And it does not disturb calls.
    let call = scene.call("tools/call", json!({"name": "add"}), CallOptions::new());
    scene.refuses(-32000);
    assert!(matches!(scene.take(call), Err(CallError::Server(_))));
}

#[test]
fn a_question_keeps_the_members_that_its_type_does_not_know() {
    let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": {"x": 1}, "more": [2]});
    let whole = json!({"method": "elicitation/create", "params": params});
    let seen = |scene: &Scene| -> Value {
        serde_json::from_str(scene.person.seen[0].as_json().as_str()).unwrap()
    };
    let mut scene = Scene::new(E);
    scene.tool_gets("ask", requires(json!({ "a": whole }), "s"));
    assert_eq!(seen(&scene), whole);
    let mut scene = Scene::new(D);
    scene.gets(&question(1, "elicitation/create", params));
    assert_eq!(seen(&scene), whole);
}
