//! A script of a server that runs calls as tasks, for tests of both clients.

use mcp_sansio::Revision;
use serde_json::{Value, json};

pub(crate) const D: Revision = Revision::V2025_11_25;
pub(crate) const E: Revision = Revision::V2026_07_28;
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Returns the response to a message that opens a connection.
pub(crate) fn open(revision: Revision, message: &Value) -> Option<Vec<Value>> {
    let info = json!({"name": "lab", "version": "1"});
    match message["method"].as_str() {
        Some("server/discover" | "initialize") => Some(vec![ok(message, opening(revision, &info))]),
        Some("notifications/initialized") => Some(Vec::new()),
        _ => None,
    }
}

fn opening(revision: Revision, info: &Value) -> Value {
    if revision.is_modern() {
        let capabilities =
            json!({"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        return json!({"resultType": "complete", "supportedVersions": [revision.as_str()], "capabilities": capabilities, "serverInfo": info, "ttlMs": 0, "cacheScope": "private"});
    }
    let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    json!({"protocolVersion": revision.as_str(), "capabilities": {"tools": {}, "tasks": tasks}, "serverInfo": info})
}

pub(crate) fn ok(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

pub(crate) fn error(request: &Value, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "no"}})
}

/// A task in the words of the dialect, which suggests the shortest interval.
pub(crate) fn task(revision: Revision, status: &str, more: Value) -> Value {
    let mut task = json!({"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    let [ttl, poll] =
        if revision.is_modern() { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
    (task[ttl], task[poll]) = (json!(60_000), json!(100));
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

pub(crate) fn created(revision: Revision) -> Value {
    if !revision.is_modern() {
        return json!({"task": task(revision, "working", json!({}))});
    }
    task(revision, "working", json!({"resultType": "task"}))
}

pub(crate) fn state(revision: Revision, status: &str, more: Value) -> Value {
    let mut state = task(revision, status, more);
    if revision.is_modern() {
        state["resultType"] = json!("complete");
    }
    state
}

pub(crate) fn content(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn methods(seen: &[(String, Value)]) -> Vec<&str> {
    seen.iter().map(|(method, _)| method.as_str()).collect()
}

/// A server whose task works for two polls, then has this result.
pub(crate) fn slow(revision: Revision) -> impl FnMut(&Value) -> Vec<Value> {
    let mut polls = 0;
    move |message| {
        let method = message["method"].as_str().unwrap_or_default();
        vec![match method {
            "tools/call" if !revision.is_modern() && message["params"].get("task").is_none() => {
                error(message, -32601)
            }
            "tools/call" => ok(message, created(revision)),
            "tasks/get" => {
                polls += 1;
                let step = json!({ "statusMessage": format!("step {polls}") });
                match polls {
                    1 | 2 => ok(message, state(revision, "working", step)),
                    _ if revision.is_modern() => ok(
                        message,
                        state(revision, "completed", json!({"result": content("done")})),
                    ),
                    _ => ok(message, state(revision, "completed", json!({}))),
                }
            }
            "tasks/result" => {
                let mut result = content("done");
                result["_meta"] = json!({RELATED: {"taskId": "t-1"}});
                ok(message, result)
            }
            "tasks/cancel" if revision.is_modern() => {
                ok(message, json!({"resultType": "complete"}))
            }
            "tasks/cancel" => ok(message, state(revision, "cancelled", json!({}))),
            "notifications/cancelled" => return Vec::new(),
            other => panic!("{other}"),
        }]
    }
}

pub(crate) fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
}

/// A server that lets its client elicit as a task, and asks for that in all ways. Its responses
/// have the numbers of its requests. Ends the call `own/start` with what the client has said.
pub(crate) fn hosted() -> impl FnMut(&Value) -> Vec<Value> {
    let (mut start, mut said, mut id) = (Value::Null, Vec::new(), String::new());
    move |message| {
        let asks = |number: u32, method: &str, params: Value| {
            vec![json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params})]
        };
        if message["method"] == "own/start" {
            start = message.clone();
            let mut asks = form("Who?");
            (asks["jsonrpc"], asks["id"]) = (json!("2.0"), json!(1));
            asks["params"]["task"] = json!({"ttl": 60_000});
            return vec![asks];
        }
        if message.get("method").is_some() {
            return Vec::new();
        }
        said.push(message.clone());
        let number = message["id"].as_u64().unwrap();
        if number == 1 {
            id = message["result"]["task"]["taskId"].as_str().unwrap_or_default().to_owned();
        }
        let task = json!({ "taskId": id });
        match number {
            1 => asks(2, "tasks/get", task),
            2 => asks(3, "tasks/list", json!({})),
            3 => asks(4, "tasks/result", task),
            4 => asks(5, "tasks/get", task),
            5 => asks(6, "tasks/cancel", task),
            6 => asks(7, "tasks/get", json!({"taskId": "unknown"})),
            _ => vec![ok(&start, json!({ "said": std::mem::take(&mut said) }))],
        }
    }
}

/// Checks what a client has said to [`hosted`]. A client whose handler takes no time has ended the
/// task at once.
pub(crate) fn check_hosted(said: &Value, first: &str) {
    let said = said["said"].as_array().unwrap();
    let task = &said[0]["result"]["task"];
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)), "{task}");
    assert_eq!(said[1]["result"]["status"], first);
    assert_eq!(said[2]["result"]["tasks"][0]["taskId"], task["taskId"]);
    let result = &said[3]["result"];
    assert_eq!(result["content"], json!({"name": "Ada"}));
    assert_eq!(result["_meta"], json!({RELATED: {"taskId": task["taskId"]}}));
    assert_eq!(said[4]["result"]["status"], "completed");
    assert!(said[4]["result"].get("_meta").is_none());
    assert_eq!(said[5]["error"]["code"], -32602, "it has ended");
    assert_eq!(said[6]["error"]["code"], -32602);
}
