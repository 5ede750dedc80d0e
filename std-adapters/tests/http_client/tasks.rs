//! Tasks over HTTP: what a session and a status say about them.

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, RawJson, Revision, Revisions, TaskGone};
use mcp_sansio_adapters::asynchronous::client::CallError;
use serde_json::{Value, json};

use crate::CHUNKS;
use crate::scene::{Response, Seen, legacy, modern, only, play};

const BOTH: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::TASKS);
static NEW: ClientConfig<'_> = BOTH.revisions(Revisions::only(Revision::LATEST));
static OLD: ClientConfig<'_> = BOTH.revisions(Revisions::only(Revision::V2025_11_25));

fn task(status: &str) -> Value {
    json!({"taskId": "t 1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null, "ttlMs": null, "pollInterval": 100, "pollIntervalMs": 100})
}

fn with(mut value: Value, name: &str, member: Value) -> Value {
    value[name] = member;
    value
}

/// A server of 2026-07-28 that runs calls as tasks.
fn modern_tasks(seen: &Seen) -> Response {
    let complete = |task| with(task, "resultType", json!("complete"));
    match seen.message() {
        "server/discover" => {
            let extensions = json!({"io.modelcontextprotocol/tasks": {}});
            let capabilities = json!({"tools": {}, "extensions": extensions});
            let versions = json!(["2026-07-28"]);
            Response::result(
                seen,
                &complete(json!({"supportedVersions": versions, "capabilities": capabilities})),
            )
        }
        "tools/call" => Response::result(seen, &with(task("working"), "resultType", json!("task"))),
        "tasks/get" => {
            let result = json!({"content": []});
            Response::result(seen, &complete(with(task("completed"), "result", result)))
        }
        _ => modern(seen),
    }
}

#[test]
fn tex_40_requests_about_a_task_name_it_in_their_head() {
    for chunk in CHUNKS {
        let played = play(&NEW, chunk, modern_tasks, async |client| {
            client.call_tool("slow", &RawJson::EMPTY).await
        });
        played.result.unwrap();
        let get = only(&played.seen, "tasks/get");
        assert_eq!(get.field("mcp-method"), Some("tasks/get"));
        assert_eq!(get.field("mcp-name"), Some("t 1"));
    }
}

#[test]
fn tex_66_a_server_that_has_lost_its_tasks_is_a_task_that_is_gone() {
    let answer = |seen: &Seen| match seen.message() {
        "tasks/get" => {
            Response::error(seen, 404, &json!({"code": -32601, "message": "Method not found"}))
        }
        _ => modern_tasks(seen),
    };
    let played = play(&NEW, CHUNKS[2], answer, async |client| {
        client.call_tool("slow", &RawJson::EMPTY).await
    });
    let result = played.result;
    assert!(matches!(result, Err(CallError::TaskGone(TaskGone::Unsupported))), "{result:?}");
}

#[test]
fn tsk_43_a_new_session_may_hide_the_tasks_of_the_last_one() {
    let mut sessions = 0;
    let answer = move |seen: &Seen| match (seen.message(), seen.field("mcp-session-id")) {
        ("initialize", None) => {
            sessions += 1;
            let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": tasks}, "serverInfo": {"name": "s", "version": "1"}});
            Response::result(seen, &result).field("Mcp-Session-Id", &format!("s-{sessions}"))
        }
        ("tools/call", _) => Response::result(seen, &json!({"task": task("working")})),
        ("tasks/get", Some("s-1")) => Response::status(404),
        ("tasks/get", _) => {
            Response::error(seen, 200, &json!({"code": -32602, "message": "Unknown task"}))
        }
        _ => legacy(seen),
    };
    let played = play(&OLD, CHUNKS[2], answer, async |client| {
        let mut task = client.call_tool_as_task("slow", &RawJson::EMPTY, None).await?;
        task.wait().await
    });
    let result = played.result;
    assert!(matches!(result, Err(CallError::TaskGone(TaskGone::NewSession))), "{result:?}");
}
