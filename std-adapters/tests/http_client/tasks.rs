//! Tasks over HTTP: what a session says about them.

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, RawJson, Revision, Revisions, TaskGone};
use mcp_sansio_adapters::asynchronous::client::CallError;
use serde_json::{Value, json};

use crate::CHUNKS;
use crate::scene::{Response, Seen, legacy, play};

static OLD: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::TASKS)
        .revisions(Revisions::only(Revision::V2025_11_25));

fn task(status: &str) -> Value {
    json!({"taskId": "t 1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null, "ttlMs": null, "pollInterval": 100, "pollIntervalMs": 100})
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
