//! Calls: their results, progress, times, ends, and the next connection.

use std::time::Duration;

use mcp_sansio::types::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::{CallOptions, InvalidPayload, NotAllowed, RawJson, SendError};
use mcp_sansio_engine::{CallError, Cancelled, ConnectState};
use serde_json::json;

use crate::scene::{ALL, D, E, Scene, content, error, methods, notification, ok};

#[test]
fn a_call_has_a_result_in_each_revision() {
    for revision in ALL {
        let mut scene = Scene::new(revision);
        let (call, request) = scene.tool("add");
        assert_eq!(request["method"], "tools/call");
        assert!(request["params"]["name"] == "add" && !scene.is_over(call));
        scene.gets(&ok(&request, content(revision, "3")));
        assert_eq!(scene.take(call).unwrap()["content"][0]["text"], "3");
        assert!(scene.is_over(call));
        assert_eq!(scene.sent(), [json!(null); 0]);
    }
}

#[test]
fn results_come_in_any_order_and_the_oldest_call_first() {
    let mut scene = Scene::new(D);
    let ((first, one), (second, two), (_, _)) = (scene.tool("a"), scene.tool("b"), scene.tool("c"));
    scene.gets(&ok(&two, content(D, "two")));
    let no_luck = json!({"code": 7, "message": "no such luck", "data": {"why": "so"}});
    scene.gets(&json!({"jsonrpc": "2.0", "id": one["id"], "error": no_luck}));
    let over = scene.engine.take_any().unwrap();
    assert_eq!((over.id, over.method.as_str()), (first, "tools/call"));
    let Err(CallError::Server(error)) = over.result else { panic!("{over:?}") };
    assert_eq!((error.code, error.message.as_str()), (7, "no such luck"));
    assert_eq!(error.data.unwrap().as_json().as_str(), r#"{"why":"so"}"#);
    assert_eq!(scene.engine.take_any().unwrap().id, second);
    assert!(scene.engine.take_any().is_none() && scene.engine.has_calls());
    let (third, three) = scene.tool("d");
    assert!(third > second, "places are used again, ids are not");
    scene.gets(&ok(&three, content(D, "three")));
    assert!(scene.engine.take(second).is_none());
    scene.take(third).unwrap();
}

#[test]
fn a_method_that_the_server_does_not_have_is_refused_at_once() {
    let mut scene = Scene::new(D);
    let refused = scene.try_call("prompts/list", json!({}), CallOptions::new());
    assert_eq!(refused, Err(SendError::NotAllowed(NotAllowed::Capability)));
    let no_object = scene.try_call("tools/call", json!(1), CallOptions::new());
    assert_eq!(no_object, Err(SendError::Invalid(InvalidPayload::NotAnObject)));
    assert!(!scene.engine.has_calls());
}

#[test]
fn time_02_time_04_canc_14_progress_is_reported_and_gives_more_time_up_to_the_limit() {
    let mut scene = Scene::new(D);
    let options = CallOptions::new()
        .progress(true)
        .timeout(Duration::from_secs(10))
        .limit(Duration::from_secs(15));
    let call = scene.call("tools/call", json!({"name": "slow"}), options);
    let request = scene.sent_one();
    scene.later(9_000);
    let token = &request["params"]["_meta"]["progressToken"];
    let report = json!({"progressToken": token, "progress": 0.5, "message": "half"});
    scene.gets(&notification("notifications/progress", report));
    assert_eq!(scene.log(), ["progress 0.5 half of a call"]);
    scene.later(5_999);
    assert!(scene.engine.take(call).is_none());
    scene.later(1);
    assert!(matches!(scene.take(call), Err(CallError::TimedOut)));
    let cancelled = scene.sent_one();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[test]
fn canc_14_canc_15_a_call_that_is_cancelled_is_told_to_the_server_and_its_response_is_ignored() {
    for revision in [D, E] {
        let mut scene = Scene::new(revision);
        let (call, request) = scene.tool("slow");
        let cancelled = scene.engine.cancel(scene.now, call, Some("bored"), &mut scene.person);
        assert_eq!(cancelled, Some(Cancelled::Call));
        let told = scene.sent_one();
        assert_eq!(told["params"], json!({"requestId": request["id"], "reason": "bored"}));
        scene.gets(&ok(&request, content(revision, "late")));
        assert!(scene.is_over(call) && scene.log().is_empty());
        assert_eq!(scene.cancel(call), None);
        // A result that was not taken is dropped, without a word.
        let call = scene.tool_gets("quick", content(revision, "done"));
        let cancelled = scene.cancel(call);
        assert_eq!((cancelled, scene.sent().len()), (Some(Cancelled::Over), 0));
    }
}

#[test]
fn a_subscription_is_acknowledged_reports_changes_and_is_ended_by_the_server() {
    let mut scene = Scene::new(E);
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let listen = scene.listen(&filter);
    let request = scene.sent_one();
    assert!(scene.engine.acknowledged(listen).is_none());
    let meta = json!({"io.modelcontextprotocol/subscriptionId": request["id"]});
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    scene.gets(&notification("notifications/subscriptions/acknowledged", params));
    let granted = scene.engine.acknowledged(listen).unwrap().as_json();
    assert!(granted.get("toolsListChanged").is_some() && !scene.engine.has_calls());
    scene.gets(&notification("notifications/tools/list_changed", json!({ "_meta": meta })));
    assert_eq!(scene.log(), ["listening of a call", "Tools of a call"]);
    let params = json!({"requestId": request["id"]});
    scene.gets(&notification("notifications/cancelled", params));
    assert_eq!(scene.take(listen).unwrap(), json!({}));
}

#[test]
fn a_level_of_log_messages_is_asked_for_with_each_call() {
    let mut scene = Scene::new(E);
    let warning = LoggingLevel::Warning;
    let set = scene.engine.set_log_level(scene.now, warning, &mut scene.person).unwrap();
    assert_eq!(scene.take(set).unwrap(), json!({}));
    let (_, request) = scene.tool("add");
    assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "warning");
}

#[test]
fn calls_end_with_the_connection_and_a_subscription_begins_again_with_the_next() {
    let mut scene = Scene::new(E);
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let listen = scene.listen(&filter);
    scene.sent_one();
    let (call, _) = scene.tool("slow");
    scene.end();
    assert!(matches!(scene.take(call), Err(CallError::Closed)));
    scene.connect();
    // A call can be made at once, and what was sent before the end does not count.
    let call = scene.call("tools/call", json!({"name": "add"}), CallOptions::new());
    let sent = scene.sent();
    assert_eq!(sent[0]["params"]["notifications"], json!({"toolsListChanged": true}));
    assert!(scene.engine.take(listen).is_none() && scene.engine.is_known(listen));
    scene.gets(&ok(&sent[1], content(E, "3")));
    scene.take(call).unwrap();
}

#[test]
fn what_a_server_says_about_connecting_is_kept() {
    let mut scene = Scene::new(D);
    let result = scene.engine.connected().unwrap().result.unwrap();
    let revision = result.as_json().get("protocolVersion").map(RawJson::as_str);
    assert_eq!(revision, Some("\"2025-11-25\""));
    scene.end();
    scene.engine.connect(scene.now, &mut scene.person).unwrap();
    scene.refuses(-32603);
    assert!(matches!(scene.engine.connect_state(), ConnectState::Failed(_)));
}

#[test]
fn after_a_long_pause_a_response_counts_before_the_timeout_that_is_due() {
    let mut scene = Scene::new(D);
    let (call, request) = scene.tool("slow");
    scene.receives(&ok(&request, content(D, "in time")));
    scene.now = scene.now.saturating_add(Duration::from_secs(3600));
    scene.engine.begin_wait(scene.now);
    assert_eq!(scene.engine.poll_timeout().map(mcp_sansio::Instant::as_millis), Some(0));
    scene.engine.handle_timeout(scene.now, true, &mut scene.person).unwrap();
    scene.work();
    assert_eq!(scene.take(call).unwrap()["content"][0]["text"], "in time");
    let (call, _) = scene.tool("slow");
    scene.later(3_600_000);
    assert!(matches!(scene.take(call), Err(CallError::TimedOut)));
    assert_eq!(methods(&scene.sent()), ["notifications/cancelled"]);
}

#[test]
fn who_waits_for_the_connection_is_told_when_it_is_open_or_cannot_be_or_time_is_over() {
    let mut scene = Scene::new(D);
    for [opens, fails] in [[true, false], [false, true], [false, false]] {
        scene.end();
        scene.engine.connect(scene.now, &mut scene.person).unwrap();
        let initialize = scene.sent_one();
        let waits = scene.engine.when_connected(scene.now, Duration::from_secs(5));
        assert!(scene.engine.is_known(waits) && scene.engine.take(waits).is_none());
        if opens {
            let info = json!({"name": "lab", "version": "1"});
            let result =
                json!({"protocolVersion": D.as_str(), "capabilities": {}, "serverInfo": info});
            scene.gets(&ok(&initialize, result));
            assert_eq!(scene.take(waits).unwrap(), json!({}));
            assert_eq!(methods(&scene.sent()), ["notifications/initialized"]);
        } else if fails {
            scene.gets(&error(&initialize, -32603));
            assert!(matches!(scene.take(waits), Err(CallError::Closed)));
        } else {
            scene.later(5_000);
            assert!(matches!(scene.take(waits), Err(CallError::TimedOut)));
        }
    }
}

#[test]
fn each_line_is_traced_once() {
    let mut scene = Scene::new(D);
    let ((_, one), (_, two)) = (scene.tool("a"), scene.tool("b"));
    scene.person.frames.clear();
    let answers = [&one, &two].map(|request| ok(request, content(D, "1")));
    answers.iter().for_each(|answer| scene.receives(answer));
    let (_, three) = scene.tool("c");
    let sent = format!("sent {three}");
    let [first, second] = answers.map(|answer| format!("received {answer}"));
    let seen: Vec<usize> = scene.person.frames.iter().map(String::len).collect();
    assert_eq!(seen, [sent, first, second].map(|line| line.len()));
}
