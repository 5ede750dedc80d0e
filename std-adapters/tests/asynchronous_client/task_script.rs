//! A script of a server that runs calls as tasks, for tests of both clients.

use mcp_sansio::Revision;
use mcp_sansio::types::ProgressParams;
use mcp_sansio::types::meta::TASK_PROGRESS;
use serde_json::{Value, json};

pub(crate) const D: Revision = Revision::V2025_11_25;
pub(crate) const E: Revision = Revision::V2026_07_28;
const RELATED: &str = "io.modelcontextprotocol/related-task";

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
fn task(revision: Revision, status: &str, more: Value) -> Value {
    let mut task = json!({"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    let [ttl, poll] =
        if revision.is_modern() { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
    (task[ttl], task[poll]) = (json!(60_000), json!(100));
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

fn created(revision: Revision) -> Value {
    if !revision.is_modern() {
        return json!({"task": task(revision, "working", json!({}))});
    }
    task(revision, "working", json!({"resultType": "task"}))
}

fn state(revision: Revision, status: &str, more: Value) -> Value {
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

/// Returns the message of a report, the progress and the total.
pub(crate) fn numbers(step: &ProgressParams<'_>) -> (String, i64, Option<i64>) {
    let message = step.message.map(|text| text.chars().collect()).unwrap_or_default();
    (message, step.progress.as_i64().unwrap(), step.total.and_then(|total| total.as_i64()))
}

/// A server whose task works for two polls, of which it reports numbers, then has a result.
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
                let numbers = json!({TASK_PROGRESS: {"progress": polls, "total": 2}});
                let step = json!({"statusMessage": format!("step {polls}"), "_meta": numbers});
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
