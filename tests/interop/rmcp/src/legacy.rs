//! Cases of the handshake era.

#![expect(deprecated, reason = "logging and legacy subscriptions are meant to be tried")]

use std::time::Duration;

use rmcp::model::*;
use serde_json::json;

use crate::{Outcome, Run, Session, check, text_of};

pub const ALL: &[(&str, Run)] = crate::cases! {
    "ping" => pings,
    "logging/setLevel: error silences info, debug lets it through" => logs,
    "sampling: the client's result reaches the tool" => samples,
    "elicitation: the client's result reaches the tool" => elicits,
    "roots/list: the client's result reaches the tool" => lists_roots,
    "resources/subscribe: updated, and no more after unsubscribe" => subscribes,
    "roots/list_changed is accepted" => changes_roots,
};

async fn pings(session: &Session) -> Outcome {
    let answer =
        session.service.send_request(ClientRequest::PingRequest(PingRequest::default())).await?;
    check(json!(answer) == json!({}), "an empty result", answer)
}

async fn logs(session: &Session) -> Outcome {
    let logged = async |level: LoggingLevel, count: usize| {
        session.service.set_level(SetLevelRequestParams::new(level)).await?;
        session.call("test_tool_with_logging", json!({})).await?;
        let seen = session.seen.wait("notifications/message", count).await;
        check(seen.len() == count, "messages", &seen)
    };
    logged(LoggingLevel::Error, 0).await?;
    logged(LoggingLevel::Debug, 3).await
}

async fn samples(session: &Session) -> Outcome {
    let result = session.call("test_sampling", json!({ "prompt": "which city?" })).await?;
    let asked = session.seen.all("sampling/createMessage");
    check(
        asked.len() == 1 && asked[0]["maxTokens"].as_u64() > Some(0),
        "one sampling request",
        &asked,
    )?;
    check(text_of(&result).contains("Paryż 🗼"), "the model's answer", &result)
}

async fn elicits(session: &Session) -> Outcome {
    let result = session.call("test_elicitation", json!({ "message": "who?" })).await;
    if session.mode.revision < ProtocolVersion::V_2025_06_18 {
        // 2025-06-18 added elicitation: before, the server must not send such a request, whatever
        // its response to the call.
        return check(
            session.seen.all("elicitation/create").is_empty(),
            "no elicitation request before 2025-06-18",
            result,
        );
    }
    check(
        text_of(&result?).contains("Łucja"),
        "the user's answer",
        session.seen.all("elicitation/create"),
    )
}

async fn lists_roots(session: &Session) -> Outcome {
    let result = session.call("test_input_required_result_list_roots", json!({})).await?;
    check(session.seen.all("roots/list").len() == 1, "one request for the roots", &result)?;
    check(text_of(&result).contains("file:///srv/two"), "the client's roots", &result)
}

async fn subscribes(session: &Session) -> Outcome {
    const WATCHED: &str = "test://watched-resource";
    let trigger = async |count: usize| {
        session.call("test_trigger_resource_update", json!({})).await?;
        let seen = session.seen.wait("notifications/resources/updated", count).await;
        check(
            seen.len() == count && seen.iter().all(|params| params["uri"] == WATCHED),
            "updates",
            &seen,
        )
    };
    session.service.subscribe(SubscribeRequestParams::new(WATCHED)).await?;
    trigger(1).await?;
    session.service.unsubscribe(UnsubscribeRequestParams::new(WATCHED)).await?;
    trigger(1).await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    check(
        session.seen.all("notifications/resources/updated").len() == 1,
        "no update after unsubscribe",
        (),
    )
}

async fn changes_roots(session: &Session) -> Outcome {
    session.service.notify_roots_list_changed().await?;
    pings(session).await
}
