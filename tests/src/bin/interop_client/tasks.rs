//! Calls that the server runs as tasks, in both dialects.

use std::time::Duration;

use mcp_sansio::Json;
use mcp_sansio::types::TaskStatus;
use mcp_sansio_adapters::blocking::client::{CallError, CallId, Error, TaskRef};
use serde_json::{Value, json};

use super::Feature;
use super::session::{Session, Wrong, value, want};

pub(crate) const ALL: [Feature; 13] = [
    ("never_a_task", |s| want(s.said("greet", json!({"name": "Ada"}))?.as_str(), "Hello, Ada!")),
    ("awaited", |s| contains(&s.said("slow_compute", slow(1, "awaited"))?, "awaited")),
    ("status", |s| {
        s.forget();
        let call = start(s, "slow_compute", slow(2, "watched"))?;
        known(s, call)?;
        want(s.client.task_status(call), Some(TaskStatus::Working))?;
        contains(&waited(s, call)?, "watched")?;
        want(s.all("progress").is_empty(), false)
    }),
    ("is_error", |s| want(s.call("failing_job", json!({}))?["isError"].as_bool(), Some(true))),
    ("protocol_error", |s| match s.call("protocol_error_job", json!({})) {
        Err(Error::Call { error: CallError::Server(error), .. }) => want(error.code, -32603),
        other => Err(Wrong(format!("{other:?} instead of an error"))),
    }),
    ("cancelled", |s| {
        let kept = detached(s, slow(60, "stopped"))?;
        let call = s.client.resume(&kept)?;
        // Python's server stops reading when a request is cancelled that has just come.
        s.client.run_for(Duration::from_millis(100))?;
        s.client.cancel(call, None)?;
        for _ in 0..50 {
            let state = s.request("tasks/get", json!({"taskId": kept.task_id()}))?;
            if state["status"] == "cancelled" {
                return Ok(());
            }
            s.client.run_for(Duration::from_millis(50))?;
        }
        Err(Wrong("the task was not cancelled".to_owned()))
    }),
    ("cancelled_by_another", |s| {
        let kept = detached(s, slow(60, "stopped"))?;
        let call = s.client.resume(&kept)?;
        s.request("tasks/cancel", json!({"taskId": kept.task_id()}))?;
        match s.client.wait(call) {
            Err(Error::Call { error: CallError::TaskCancelled, .. }) => Ok(()),
            other => Err(Wrong(format!("{other:?} instead of a cancelled task"))),
        }
    }),
    ("unknown_task", |s| s.refused(-32602, "tasks/get", json!({"taskId": "no-such-task"}))),
    ("five_at_once", |s| {
        let labels = ["one", "two", "three", "four", "five"];
        let calls: Result<Vec<_>, _> =
            labels.iter().map(|label| start(s, "slow_compute", slow(1, label))).collect();
        for (call, label) in calls?.into_iter().zip(labels).rev() {
            contains(&waited(s, call)?, label)?;
        }
        Ok(())
    }),
    ("asks", |s| {
        contains(&s.said("confirm_delete", json!({"filename": "a.txt"}))?, "deleted a.txt")
    }),
    ("asks_two", |s| want(s.said("multi_input", json!({}))?.as_str(), "Ada Ada")),
    ("asks_before", |s| contains(&s.said("test_tool_with_task", json!({}))?, "Ada")),
    ("resumed", |s| {
        let kept = detached(s, slow(1, "resumed"))?;
        let call = s.client.resume(&kept)?;
        contains(&waited(s, call)?, "resumed")
    }),
];

/// Resumes a task on a new connection. `is_found`: whether the server shows it there.
pub(crate) fn resumed_later(
    before: &mut Session,
    mut after: Session,
    is_found: bool,
) -> Result<(), Wrong> {
    let kept = detached(before, slow(1, "later"))?;
    let call = after.client.resume(&kept)?;
    if is_found {
        return contains(&waited(&mut after, call)?, "later");
    }
    match after.client.wait(call) {
        Err(Error::Call { error: CallError::TaskGone(_), .. }) => Ok(()),
        other => Err(Wrong(format!("{other:?} instead of a task that is gone"))),
    }
}

fn slow(seconds: u32, label: &str) -> Value {
    json!({"seconds": seconds, "label": label})
}

fn contains(text: &str, part: &str) -> Result<(), Wrong> {
    want((text, text.contains(part)), (text, true))
}

fn start(s: &mut Session, tool: &str, arguments: Value) -> Result<CallId, Error> {
    s.client.call_tool_as_task(tool, &Json(arguments), Some(Duration::from_secs(60)))
}

/// Waits until the server has said how the task is.
fn known(s: &mut Session, call: CallId) -> Result<(), Wrong> {
    for _ in 0..100 {
        if s.client.task_status(call).is_some() {
            return Ok(());
        }
        s.client.run_for(Duration::from_millis(10))?;
    }
    Err(Wrong("the call is no task".to_owned()))
}

fn waited(s: &mut Session, call: CallId) -> Result<String, Wrong> {
    let result = value(s.client.wait(call)?.as_json());
    Ok(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

/// Leaves a task to the server, and keeps of it what a file would.
fn detached(s: &mut Session, arguments: Value) -> Result<TaskRef, Wrong> {
    let call = start(s, "slow_compute", arguments)?;
    let kept = s.client.detach(call)?.ok_or(Wrong("the call is no task".to_owned()))?;
    TaskRef::from_json(&kept.to_json()).ok_or(Wrong(kept.to_json()))
}
