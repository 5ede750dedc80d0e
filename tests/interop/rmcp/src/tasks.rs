//! Cases of tasks, the extension of 2026-07-28. This SDK polls only by hand.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::{NOT_OFFERED, Outcome, Run, Session, check, refused, text_of};

pub const ALL: &[(&str, Run)] = crate::cases! {
    "tasks: created, polled with the text of its status, and its result" => lifecycle,
    "tasks: a tool that is never a task: a result at once" => immediate,
    "tasks: isError is completed" => is_error,
    "tasks: protocol error: failed with that error" => protocol_error,
    "tasks: cancelled, and once more" => cancelled,
    "tasks: unknown id: -32602" => unknown,
    "tasks: a question inside of a task" => asks,
    "tasks: of two questions one is answered: the other stays" => asks_two,
    "tasks: a question before the task is created" => asks_before,
};

const INVALID_PARAMS: i32 = -32602;

async fn once(
    session: &Session,
    params: CallToolRequestParams,
) -> Result<CallToolResponse, ServiceError> {
    session.service.peer().call_tool_once(params).await
}

fn call(name: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(name).with_arguments(arguments)
}

/// Creates a task, if the server has these tools.
async fn start(session: &Session, name: &'static str, arguments: Value) -> Outcome<Task> {
    offered(session).await?;
    match once(session, call(name, arguments)).await? {
        CallToolResponse::Task(created) => Ok(created.task),
        other => Err(format!("wanted a task; got {other:?}").into()),
    }
}

async fn offered(session: &Session) -> Outcome {
    let tools = session.service.list_all_tools().await?;
    if tools.iter().any(|tool| tool.name == "slow_compute") {
        Ok(())
    } else {
        Err(format!("{NOT_OFFERED} by this server: no tool slow_compute").into())
    }
}

async fn get(session: &Session, task: &Task) -> Outcome<DetailedTask> {
    let params = GetTaskParams::new(&task.task_id);
    Ok(session.service.peer().get_task(params).await?.task)
}

/// Polls until `wanted` returns a value, and returns it with the texts of the status.
async fn until<T>(
    session: &Session,
    task: &Task,
    wanted: impl Fn(&TaskPayload) -> Option<T>,
) -> Outcome<(T, Vec<String>)> {
    let mut texts = Vec::new();
    loop {
        let seen = get(session, task).await?;
        check(seen.task.created_at == task.created_at, "the same task", &seen)?;
        texts.extend(seen.task.status_message.clone());
        if let Some(found) = wanted(&seen.payload) {
            return Ok((found, texts));
        }
        check(!seen.status().is_terminal(), "another state first", &seen)?;
        tokio::time::sleep(Duration::from_millis(seen.task.poll_interval_ms.unwrap_or(500))).await;
    }
}

async fn result(session: &Session, task: &Task) -> Outcome<(Value, Vec<String>)> {
    let completed = |payload: &TaskPayload| match payload {
        TaskPayload::Completed { result } => Some(json!(result)),
        _ => None,
    };
    until(session, task, completed).await
}

/// Returns the open questions, by key.
async fn questions(session: &Session, task: &Task, count: usize) -> Outcome<Vec<(String, Value)>> {
    let open = |payload: &TaskPayload| match payload {
        TaskPayload::InputRequired { input_requests } if input_requests.len() == count => Some(
            input_requests.iter().map(|(key, request)| (key.clone(), json!(request))).collect(),
        ),
        _ => None,
    };
    Ok(until(session, task, open).await?.0)
}

async fn answer(session: &Session, task: &Task, key: &str, content: Value) -> Outcome {
    let answers = [(key.to_owned(), json!({ "action": "accept", "content": content }))];
    let params = UpdateTaskParams::new(&task.task_id, answers.into());
    Ok(session.service.peer().update_task(params).await?)
}

async fn lifecycle(session: &Session) -> Outcome {
    let task = start(session, "slow_compute", json!({ "seconds": 2, "label": "first" })).await?;
    let (result, texts) = result(session, &task).await?;
    check(texts.iter().any(|text| !text.is_empty()), "a text of the status", texts)?;
    check(text_of(&result).contains("first"), "the tool's text", result)
}

async fn immediate(session: &Session) -> Outcome {
    offered(session).await?;
    match once(session, call("greet", json!({ "name": "Ada" }))).await? {
        CallToolResponse::Complete(result) => {
            check(text_of(&json!(result)) == "Hello, Ada!", "greet", result)
        }
        other => Err(format!("wanted a result; got {other:?}").into()),
    }
}

async fn is_error(session: &Session) -> Outcome {
    let task = start(session, "failing_job", json!({})).await?;
    let (result, _) = result(session, &task).await?;
    check(result["isError"] == true && !text_of(&result).is_empty(), "isError", result)
}

async fn protocol_error(session: &Session) -> Outcome {
    let task = start(session, "protocol_error_job", json!({})).await?;
    let error = |payload: &TaskPayload| match payload {
        TaskPayload::Failed { error } => Some(json!(error)),
        _ => None,
    };
    let (error, _) = until(session, &task, error).await?;
    check(error["code"] == -32603 && error["message"].is_string(), "the error", error)
}

async fn cancelled(session: &Session) -> Outcome {
    let task = start(session, "slow_compute", json!({ "seconds": 60, "label": "stopped" })).await?;
    let cancel = || session.service.peer().cancel_task(CancelTaskParams::new(&task.task_id));
    cancel().await?;
    let ended = |payload: &TaskPayload| matches!(payload, TaskPayload::Cancelled).then_some(());
    until(session, &task, ended).await?;
    Ok(cancel().await?)
}

async fn unknown(session: &Session) -> Outcome {
    offered(session).await?;
    let (peer, id) = (session.service.peer(), "00000000-0000-0000-0000-000000000000");
    refused(peer.get_task(GetTaskParams::new(id)).await, INVALID_PARAMS)?;
    refused(peer.cancel_task(CancelTaskParams::new(id)).await, INVALID_PARAMS)?;
    let nothing = UpdateTaskParams::new(id, Default::default());
    refused(peer.update_task(nothing).await, INVALID_PARAMS)
}

async fn asks(session: &Session) -> Outcome {
    let task = start(session, "confirm_delete", json!({ "filename": "old.txt" })).await?;
    let open = questions(session, &task, 1).await?;
    let (key, question) = &open[0];
    check(question["method"] == "elicitation/create", "an elicitation", question)?;
    check(question["params"]["message"].to_string().contains("old.txt"), "its text", question)?;
    answer(session, &task, key, json!({ "confirm": true })).await?;
    let (result, _) = result(session, &task).await?;
    check(text_of(&result).contains("old.txt"), "the tool's text", result)
}

async fn asks_two(session: &Session) -> Outcome {
    let task = start(session, "multi_input", json!({})).await?;
    let open = questions(session, &task, 2).await?;
    answer(session, &task, &open[0].0, json!({ "name": "Grace" })).await?;
    let left = questions(session, &task, 1).await?;
    check(left[0].0 == open[1].0, "the other one", &left)?;
    answer(session, &task, &left[0].0, json!({ "name": "Hopper" })).await?;
    let text = text_of(&result(session, &task).await?.0);
    check(text.contains("Grace") && text.contains("Hopper"), "both answers", text)
}

async fn asks_before(session: &Session) -> Outcome {
    offered(session).await?;
    let asked = once(session, call("test_tool_with_task", json!({}))).await?;
    let CallToolResponse::InputRequired(asked) = asked else {
        return Err(format!("wanted input_required; got {asked:?}").into());
    };
    let key = asked.input_requests.iter().flatten().map(|(key, _)| key.clone()).next();
    let answer = json!({ "action": "accept", "content": { "name": "Hopper" } });
    let answers = key.map(|key| (key, answer)).into_iter().collect();
    let mut params = call("test_tool_with_task", json!({})).with_input_responses(answers);
    if let Some(state) = asked.request_state {
        params = params.with_request_state(state);
    }
    let CallToolResponse::Task(created) = once(session, params).await? else {
        return Err("wanted a task in the second round".into());
    };
    let (result, _) = result(session, &created.task).await?;
    check(text_of(&result).contains("Hopper"), "the tool's text has the answer", result)
}
