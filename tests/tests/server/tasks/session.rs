//! Tasks of 2025-11-25: the experiment.

use std::time::Duration;

use mcp_sansio::tasks::{GrowingTasksState, TaskEnd, TaskId, TaskStep, TaskTime, TasksConfig};
use mcp_sansio::types::Implementation;
use mcp_sansio::{ServerConfig, ServerFeatures};
use serde_json::{Value, json};

use super::rig::{Dialect, ME, Rig, code};

const D: Dialect = Dialect::D;
const RELATED: &str = "io.modelcontextprotocol/related-task";

#[test]
fn tsk_01_a_server_with_tasks_declares_them() {
    let mut rig = Rig::new(D);
    let number = rig.connect(Dialect::T);
    let result = rig.connect_as(number, "{}");
    assert_eq!(
        result["result"]["capabilities"]["tasks"],
        json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } })
    );
    assert_eq!(result["result"]["capabilities"].get("extensions"), None);
}

#[test]
fn tsk_06_tsk_07_tsk_08_tsk_10_tsk_56_tol_26_the_tool_says_whether_a_call_is_a_task() {
    let mut rig = Rig::new(D);
    let mut call = |name: &str, task: Option<Value>| {
        let mut params = json!({ "name": name });
        task.into_iter().for_each(|task| params["task"] = task);
        rig.ask(D, "tools/call", params)
    };
    assert_eq!(code(&call("never", Some(json!({})))), -32601);
    assert_eq!(call("never", None)["result"]["content"][0]["text"], "plain");
    assert_eq!(call("may", None)["result"]["content"][0]["text"], "plain");
    assert_eq!(call("may", Some(json!({})))["result"]["task"]["status"], "working");
    assert_eq!(code(&call("must", None)), -32601);
    assert_eq!(call("must", Some(json!({})))["result"]["task"]["status"], "working");
    for wrong in [json!(5), json!([]), json!({ "ttl": -1 }), json!({ "ttl": "long" })] {
        assert_eq!(code(&call("may", Some(wrong))), -32602);
    }
}

#[test]
fn tsk_02_tsk_03_tsk_09_a_server_without_tasks_ignores_the_wish() {
    static PLAIN: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    let mut rig = Rig::with(&PLAIN, D);
    let response = rig.ask(D, "tools/call", json!({ "name": "may", "task": {} }));
    assert_eq!(response["result"]["content"][0]["text"], "plain");
    for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
        assert_eq!(code(&rig.ask(D, method, json!({ "taskId": "x" }))), -32601, "{method}");
    }
}

#[test]
fn cap_20_a_task_is_cancelled_where_that_was_declared_or_is_part_of_the_extension() {
    static NO_CANCEL: ServerConfig = ServerConfig::new(
        Implementation::new("s", "1"),
        ServerFeatures::TOOLS.with(ServerFeatures::TASKS),
    );
    for (dialect, refused) in [(D, -32601), (Dialect::T, 0)] {
        let mut rig = Rig::with(&NO_CANCEL, dialect);
        let id = rig.created(dialect);
        let response = rig.ask(dialect, "tasks/cancel", json!({ "taskId": id }));
        assert_eq!(code(&response), refused);
        assert_eq!(rig.log.is_empty(), dialect == D, "{:?}", rig.log);
    }
}

#[test]
fn tsk_11_tsk_12_tsk_13_tsk_14_tsk_54_the_server_names_the_task_and_limits_its_time() {
    let mut rig = Rig::new(D);
    let mut create = |ttl: Value| {
        let response = rig.ask(D, "tools/call", json!({ "name": "may", "task": { "ttl": ttl } }));
        response["result"]["task"].clone()
    };
    let tasks = [create(json!(5000)), create(json!(5000.0)), create(json!(1e15))];
    assert_eq!(tasks[0]["ttl"], 5000);
    assert_eq!(tasks[1]["ttl"], 5000);
    assert_eq!(tasks[2]["ttl"], 24 * 3_600_000);
    let ids: std::collections::BTreeSet<_> =
        tasks.iter().map(|task| task["taskId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!((rig.wait(4999), rig.wait(1)), (vec![], vec!["expired", "expired"]));
}

/// Calls the tool as a task; returns the time that the task has, or the code of the error.
fn ttl_of(config: TasksConfig, ttl: Value) -> i64 {
    let mut rig = Rig::new(D);
    rig.config = config;
    let response = rig.ask(D, "tools/call", json!({ "name": "may", "task": { "ttl": ttl } }));
    response["result"]["task"]["ttl"].as_i64().unwrap_or_else(|| code(&response))
}

#[test]
fn r3_l4_a_time_is_a_whole_number_of_milliseconds() {
    let ttl = |text: &str| ttl_of(TasksConfig::new(), serde_json::from_str(text).unwrap());
    for wrong in ["1.5", "60000.001", "1e-3", "-1", "-1.5", "\"5000\"", "true", "[]", "{}"] {
        assert_eq!(ttl(wrong), -32602, "{wrong}");
    }
    let (hour, longest) = (3_600_000, 24 * 3_600_000);
    for (whole, expected) in [
        ("null", hour),
        ("6e4", 60_000),
        ("60000.0", 60_000),
        ("18446744073709551616", longest),
        ("1e300", longest),
    ] {
        assert_eq!(ttl(whole), expected, "{whole}");
    }
}

#[test]
fn r3_t1_the_shortest_time_of_a_task_is_the_poll_interval() {
    let config = TasksConfig::new().poll_interval(Duration::from_millis(700));
    for (wanted, given) in [(0, 700), (1, 700), (700, 700), (701, 701)] {
        assert_eq!(ttl_of(config, json!(wanted)), given);
    }
    // The limits of the program go before.
    let short = Duration::from_millis(50);
    assert_eq!(ttl_of(config.max_ttl(short), json!(1)), 50);
    assert_eq!(ttl_of(config.ttl(short), json!(null)), 50);
}

#[test]
fn tsk_27_tsk_29_tsk_30_tsk_32_the_result_is_that_of_the_call() {
    let mut rig = Rig::new(D);
    let id = rig.created(D);
    let result = r#"{"content":[],"structuredContent":{"a":1},"_meta":{"x/y":2}}"#;
    rig.end(&id, TaskEnd::Completed, result);
    // Metadata about a task in the request is not looked at (TSK-31).
    let params = json!({ "taskId": id, "_meta": { RELATED: { "taskId": "another" } } });
    let result = rig.ask(D, "tasks/result", params.clone())["result"].clone();
    assert_eq!(
        result,
        json!({ "content": [], "structuredContent": { "a": 1 }, "_meta": { "x/y": 2, RELATED: { "taskId": id } } })
    );
    let again = rig.ask(D, "tasks/result", json!({ "taskId": id }));
    assert_eq!(again["result"], result);
    assert_eq!(rig.ask(D, "tasks/get", params)["result"].get("_meta"), None);
    let list = rig.ask(D, "tasks/list", json!({}));
    assert_eq!(list["result"].get("_meta"), None);
}

#[test]
fn tsk_31_the_parameter_names_the_task() {
    let mut rig = Rig::new(D);
    let [one, other, ended] = [rig.created(D), rig.created(D), rig.created(D)];
    rig.end(&other, TaskEnd::Completed, "other");
    rig.end(&ended, TaskEnd::Completed, "ended");
    let of = |id: &str| json!({ "taskId": id, "_meta": { RELATED: { "taskId": other } } });
    assert_eq!(rig.ask(D, "tasks/get", of(&one))["result"]["taskId"], one.as_str());
    assert_eq!(rig.ask(D, "tasks/cancel", of(&one))["result"]["taskId"], one.as_str());
    let result = rig.ask(D, "tasks/result", of(&ended))["result"].clone();
    assert_eq!(result["content"][0]["text"], "ended");
    assert_eq!(result["_meta"], json!({ RELATED: { "taskId": ended } }));
}

#[test]
fn tsk_28_tsk_59_requests_for_the_result_wait_for_the_end() {
    let mut rig = Rig::new(D);
    let id = rig.created(D);
    for request in [1, 2] {
        assert!(result_of(&mut rig, request, &id).is_empty());
    }
    assert_eq!(rig.status(D, &id), "working");
    assert!(rig.late(0).is_empty());
    rig.end(&id, TaskEnd::Completed, "done");
    let late = rig.late(0);
    assert!(late.iter().map(|response| &response["id"]).eq(&[1, 2]));
    for response in late.iter().chain(&result_of(&mut rig, 3, &id)) {
        assert_eq!(response["result"]["content"][0]["text"], "done");
    }
}

/// Requests the result of a task; returns what is sent at once.
fn result_of(rig: &mut Rig, request: u32, task: &str) -> Vec<Value> {
    let params = json!({ "taskId": task });
    let line =
        json!({ "jsonrpc": "2.0", "id": request, "method": "tasks/result", "params": params });
    rig.hear(0, ME, &line.to_string())
}

#[test]
fn tsk_62_a_request_for_the_result_can_be_cancelled_alone() {
    let mut rig = Rig::new(D);
    let id = rig.created(D);
    assert!(result_of(&mut rig, 1, &id).is_empty());
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    rig.hear(0, ME, cancel);
    assert_eq!(rig.log, ["request cancelled"]);
    assert_eq!(rig.status(D, &id), "working");
    rig.end(&id, TaskEnd::Completed, "done");
    assert!(rig.late(0).is_empty());
}

#[test]
fn canc_10_tsk_40_tsk_41_tsk_57_a_cancelled_task_has_an_error() {
    let mut rig = Rig::new(D);
    let id = rig.created(D);
    assert!(result_of(&mut rig, 1, &id).is_empty());
    let responses = rig.ask_as(0, ME, D, "tasks/cancel", json!({ "taskId": id }));
    assert_eq!(rig.log, ["cancel 0"]);
    // The request for the result ends, too.
    assert!(responses.iter().map(|response| &response["id"]).eq(&[7, 1]));
    assert_eq!(responses[0]["result"]["status"], "cancelled");
    assert_eq!(code(&responses[1]), -32603);
    assert_eq!(code(&rig.ask(D, "tasks/result", json!({ "taskId": id }))), -32603);
    assert!(!rig.end(&id, TaskEnd::Completed, "late"));
}

#[test]
fn tsk_46_tsk_47_the_error_of_the_call_is_the_error_of_the_task() {
    let mut rig = Rig::new(D);
    let id = rig.created(D);
    rig.say(&id, "no such file");
    rig.end(&id, TaskEnd::Failed, "no such file");
    let got = rig.get(D, &id);
    assert_eq!([&got["status"], &got["statusMessage"]], ["failed", "no such file"]);
    assert!(got.get("error").is_none() && got.get("result").is_none());
    let response = rig.ask(D, "tasks/result", json!({ "taskId": id }));
    assert_eq!(response["error"], json!({ "code": -32602, "message": "no such file" }));
}

#[test]
fn tsk_35_tsk_36_tsk_37_tsk_38_tsk_45_tasks_are_listed_in_pages() {
    let mut rig = Rig::new(D);
    for wrong in [json!(5), json!("x"), json!("-1"), json!("4"), json!("70000")] {
        assert_eq!(code(&rig.ask(D, "tasks/list", json!({ "cursor": wrong }))), -32602, "{wrong}");
    }
    let ids = [rig.created(D), rig.created(D)];
    let list = rig.ask(D, "tasks/list", json!({}));
    let listed = |list: &Value| -> Vec<String> {
        let tasks = list["result"]["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["taskId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&list), ids);
    assert_eq!(list["result"].get("nextCursor"), None);
    // Forty tasks are three pages.
    let mut state = forty_tasks(rig.time());
    let mut cursor = Value::Null;
    let mut all = 0;
    for size in [16, 16, 8] {
        let page = page_of(&mut state, &mut rig, &cursor).unwrap();
        assert_eq!(page["tasks"].as_array().unwrap().len(), size);
        all += size;
        cursor = page.get("nextCursor").cloned().unwrap_or_default();
        assert_eq!(cursor.is_string(), all < 40);
    }
}

#[test]
fn r3_l5_a_cursor_that_was_never_given_is_invalid() {
    let mut rig = Rig::new(D);
    let mut state = forty_tasks(rig.time());
    let mut page = |cursor: &Value| page_of(&mut state, &mut rig, cursor);
    let given = page(&Value::Null).unwrap()["nextCursor"].clone();
    assert_eq!(page(&given).unwrap()["tasks"].as_array().unwrap().len(), 16);
    let given = given.as_str().unwrap();
    for wrong in ["", "0", "00", "-0", "1", "15", "41", "99999999999"] {
        assert_eq!(page(&json!(wrong)), None, "{wrong}");
    }
    for prefix in ["0", "+", " ", "-"] {
        assert_eq!(page(&json!(format!("{prefix}{given}"))), None, "{prefix}");
    }
}

const CONFIG: TasksConfig = TasksConfig::new();

fn forty_tasks(time: TaskTime) -> GrowingTasksState {
    let mut state = GrowingTasksState::new(100);
    for number in 0..40 {
        state.tasks(&CONFIG).create(time, TaskId::new([number; 16]), ME, None).unwrap();
    }
    state
}

/// Returns the page of a list that a request with this cursor gets, if it is valid.
fn page_of(state: &mut GrowingTasksState, rig: &mut Rig, cursor: &Value) -> Option<Value> {
    use mcp_sansio::{Frame, Instant, Messages, OwnedJson, ServerEvent, TxBuffer};
    let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
    let line = json!({ "jsonrpc": "2.0", "id": 9, "method": "tasks/list", "params": params });
    let line = line.to_string();
    let number = rig.connect(D);
    let time = rig.time();
    let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
    let mut tx = TxBuffer::new([0; 256]);
    let mut server = rig.server(number);
    let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx).unwrap();
    let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
    let tasks = &mut state.tasks(&CONFIG);
    let Some(TaskStep::List(reply)) = tasks.handle(time, &request, ME) else { return None };
    let page = OwnedJson::new(&tasks.list(&reply), request.revision).unwrap();
    serde_json::from_str(page.as_json().as_str()).unwrap()
}

#[test]
fn tsk_33_tsk_34_the_session_is_told_of_its_task() {
    let mut rig = Rig::new(D);
    let id = rig.created(D);
    rig.end(&id, TaskEnd::Completed, "done");
    let told = rig.publish(0, &id);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["method"], "notifications/tasks/status");
    assert_eq!(told[0]["params"], rig.get(D, &id));
    // A client of 2026-07-28 on its own connection did not ask for it.
    let other = rig.connect(Dialect::T);
    assert!(rig.publish(other, &id).is_empty());
}

#[test]
fn prog_09_tsk_19_messages_of_a_task_name_it() {
    use mcp_sansio::types::{ElicitFormParams, LoggingLevel, RequestedSchema};
    use mcp_sansio::{ClientRequest, Delivery, Instant, LogMessage, Progress, RawJson, TxBuffer};
    static LOGGING: ServerConfig = ServerConfig::new(
        Implementation::new("s", "1"),
        ServerFeatures::TOOLS.with(ServerFeatures::TASKS).with(ServerFeatures::LOGGING),
    );
    let mut rig = Rig::with(&LOGGING, Dialect::T);
    let task = TaskId::new([1; 16]);
    let mut tx = TxBuffer::new(vec![0; 4096]);
    let token = RawJson::from_static("\"t\"");
    let progress = Progress::of(3).total(9);
    // There is no session yet.
    let sent = rig.server(0).task_progress(task, token, &progress, &mut tx);
    assert_eq!(sent, Ok(Delivery::Gone));
    rig.connect_as(0, r#"{"elicitation":{}}"#);
    let mut server = rig.server(0);
    assert_eq!(server.task_progress(task, token, &progress, &mut tx), Ok(Delivery::Sent));
    let message = LogMessage::new(LoggingLevel::Info, "hello");
    assert_eq!(server.task_log(task, &message, &mut tx), Ok(Delivery::Sent));
    let params = ElicitFormParams::new("Sure?", RequestedSchema::new(&[]));
    let request = ClientRequest::from(&params).related_task(task);
    server.request(Instant::from_millis(0), request, &mut tx).unwrap();
    let sent = mcp_sansio_tests::json::lines(tx.pending());
    let methods = ["notifications/progress", "notifications/message", "elicitation/create"];
    assert!(sent.iter().map(|message| &message["method"]).eq(&methods), "{sent:?}");
    assert_eq!(sent[0]["params"]["progressToken"], "t");
    let related = json!({ RELATED: { "taskId": task.to_string() } });
    assert!(sent.iter().all(|message| message["params"]["_meta"] == related), "{sent:?}");
}
