//! Cases of the stateless era.

#![expect(deprecated, reason = "logging is meant to be tried")]

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::PeerRequestOptions;
use serde_json::json;

use crate::handler::typed;
use crate::{Outcome, Run, Session, check, refused, text_of};

pub const ALL: &[(&str, Run)] = crate::cases! {
    "input_required: elicitation, sampling, roots, several at once, several rounds" => asks,
    "input_required: a prompt" => asks_for_prompt,
    "input_required: one round by hand" => one_leg,
    "log messages only when the request sets logLevel" => logs,
    "removed methods: -32601" => removed,
    "subscriptions/listen: acknowledged, filtered, ended" => listens,
    "subscriptions/listen: a resource" => watches,
};

async fn asks(session: &Session) -> Outcome {
    for (tool, shows) in [
        ("elicitation", "Łucja"),
        ("sampling", "Paryż 🗼"),
        ("list_roots", ""),
        ("request_state", "state-ok"),
        ("multiple_inputs", ""),
        ("multi_round", ""),
    ] {
        let result = session.call(&format!("test_input_required_result_{tool}"), json!({})).await?;
        let text = text_of(&result);
        check(
            result["isError"] != true && !text.is_empty() && text.contains(shows),
            tool,
            &result,
        )?;
    }
    let asked = ["sampling/createMessage", "elicitation/create", "roots/list"]
        .map(|method| session.seen.all(method).len());
    check(asked == [2, 5, 2], "sampling, elicitation and roots, as many times as requested", asked)
}

async fn asks_for_prompt(session: &Session) -> Outcome {
    let params = GetPromptRequestParams::new("test_input_required_result_prompt");
    let prompt = json!(session.service.get_prompt(params).await?);
    check(prompt["messages"].to_string().contains("Łucja"), "the user's answer", &prompt)
}

async fn one_leg(session: &Session) -> Outcome {
    let params = CallToolRequestParams::new("test_input_required_result_elicitation");
    match session.service.peer().call_tool_once(params).await? {
        CallToolResponse::InputRequired(result) => {
            let requests = json!(result.input_requests);
            check(requests["user_name"]["method"] == "elicitation/create", "user_name", requests)
        }
        other => Err(format!("wanted input_required; got {other:?}").into()),
    }
}

async fn logs(session: &Session) -> Outcome {
    session.call("test_logging_tool", json!({})).await?;
    check(session.seen.wait("notifications/message", 1).await.is_empty(), "none unasked", ())?;
    let mut meta = RequestMetaObject::default();
    meta.set_log_level(LoggingLevel::Debug);
    let call = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new(
        "test_logging_tool",
    )));
    let call = session
        .service
        .send_request_with_option(call, PeerRequestOptions::no_options().with_meta(meta))
        .await;
    call?.await_response().await?;
    check(
        !session.seen.wait("notifications/message", 1).await.is_empty(),
        "a message when the request sets logLevel",
        (),
    )
}

async fn removed(session: &Session) -> Outcome {
    refused(
        session.service.send_request(ClientRequest::PingRequest(PingRequest::default())).await,
        -32601,
    )?;
    for (method, params) in [
        ("logging/setLevel", json!({ "level": "info" })),
        ("resources/subscribe", json!({ "uri": "test://watched-resource" })),
        ("resources/unsubscribe", json!({ "uri": "test://watched-resource" })),
    ] {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        refused(session.service.send_request(request).await, -32601)?;
    }
    Ok(())
}

const SOON: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_millis(200);

async fn listens(session: &Session) -> Outcome {
    let mut open = session.service.listen(typed(json!({ "promptsListChanged": true }))?).await?;
    check(
        json!(open.acknowledged()) == json!({ "promptsListChanged": true }),
        "the honoured filter",
        open.acknowledged(),
    )?;
    session.call("test_trigger_tool_change", json!({})).await?;
    session.call("test_trigger_prompt_change", json!({})).await?;
    let event =
        tokio::time::timeout(SOON, open.next()).await.map_err(|_| "no change notification")??;
    check(
        matches!(event, Some(ServerNotification::PromptListChangedNotification(_))),
        "prompts/list_changed",
        event,
    )?;
    if let Ok(event) = tokio::time::timeout(LATER, open.next()).await {
        return Err(format!("not subscribed to: {event:?}").into());
    }
    open.cancel().await?;
    session.call("test_trigger_prompt_change", json!({})).await?;
    tokio::time::sleep(LATER).await;
    check(
        session.seen.all("notifications/prompts/list_changed").is_empty(),
        "no notification after the end",
        (),
    )
}

async fn watches(session: &Session) -> Outcome {
    let mut open = session
        .service
        .listen(typed(json!({ "resourceSubscriptions": ["test://watched-resource"] }))?)
        .await?;
    session.call("test_trigger_resource_update", json!({})).await?;
    let event =
        tokio::time::timeout(SOON, open.next()).await.map_err(|_| "no update notification")??;
    check(
        matches!(event, Some(ServerNotification::ResourceUpdatedNotification(_))),
        "resources/updated",
        event,
    )
}
