//! Subscriptions to a legacy server, and what the next connection restores.

use std::time::Duration;

use mcp_sansio::types::{LoggingLevel, SubscriptionFilter, Text};
use mcp_sansio::{CallOptions, RawJson};
use mcp_sansio_engine::{CallError, CallId, Cancelled};
use serde_json::{Value, json};

use crate::scene::{D, E, Scene, error, methods, notification, ok};

const BOTH: [Text<'_>; 2] = [Text::new("test://a"), Text::new("test://b")];
const PROMPTS_AND_BOTH: SubscriptionFilter<'_> =
    SubscriptionFilter::new().prompts_list_changed(true).resource_subscriptions(&BOTH);

fn is_acknowledged(scene: &Scene, call: CallId) -> bool {
    scene.engine.acknowledged(call).is_some()
}

/// Agrees to all that the client has sent. Returns its methods, with the resources.
fn agree(scene: &mut Scene) -> Vec<String> {
    let sent = scene.sent();
    sent.iter().for_each(|request| scene.gets(&ok(request, json!({}))));
    let named = |request: &Value| {
        let uri = request["params"]["uri"].as_str().unwrap_or_default();
        format!("{} {uri}", request["method"].as_str().unwrap())
    };
    sent.iter().map(named).collect()
}

#[test]
fn a_subscription_to_a_legacy_server_reports_what_its_filter_names() {
    let mut scene = Scene::new(D);
    let call = scene.listen(&PROMPTS_AND_BOTH);
    let [first, second] = <[Value; 2]>::try_from(scene.sent()).unwrap();
    scene.gets(&ok(&first, json!({})));
    assert!(!is_acknowledged(&scene, call));
    scene.gets(&ok(&second, json!({})));
    let granted = scene.engine.acknowledged(call).unwrap().as_json();
    assert_eq!(granted.get("promptsListChanged").map(RawJson::as_str), Some("true"));
    assert!(!scene.engine.has_calls());
    scene.gets(&notification("notifications/tools/list_changed", json!({})));
    scene.gets(&notification("notifications/prompts/list_changed", json!({})));
    assert_eq!(scene.log(), ["Tools of none", "Prompts of a call", "Prompts of none"]);
    scene.gets(&notification("notifications/resources/updated", json!({"uri": "test://a"})));
    assert!(scene.log()[0].ends_with("of a call"));
}

#[test]
fn a_subscription_to_lists_of_a_legacy_server_sends_nothing() {
    let mut scene = Scene::new(D);
    let call = scene.listen(&SubscriptionFilter::new().prompts_list_changed(true));
    assert!(scene.sent().is_empty() && is_acknowledged(&scene, call));
    let cancelled = scene.cancel(call);
    assert_eq!((cancelled, scene.sent().len()), (Some(Cancelled::Call), 0));
    scene.gets(&notification("notifications/prompts/list_changed", json!({})));
    assert_eq!(scene.log(), ["Prompts of none"]);
}

#[test]
fn a_subscription_that_is_cancelled_leaves_to_others_what_they_need() {
    let mut scene = Scene::new(D);
    let both = scene.listen(&PROMPTS_AND_BOTH);
    let uris = [Text::new("test://b")];
    let one = scene.listen(&SubscriptionFilter::new().resource_subscriptions(&uris));
    assert_eq!(agree(&mut scene).len(), 3);
    scene.cancel(both);
    assert_eq!(agree(&mut scene), ["resources/unsubscribe test://a"]);
    scene.cancel(one);
    assert_eq!(agree(&mut scene), ["resources/unsubscribe test://b"]);
    assert!(!scene.engine.has_calls());
}

#[test]
fn a_resource_that_a_legacy_server_refuses_ends_its_subscription() {
    let mut scene = Scene::new(D);
    let call = scene.listen(&PROMPTS_AND_BOTH);
    let [first, second] = <[Value; 2]>::try_from(scene.sent()).unwrap();
    scene.gets(&error(&second, -32602));
    scene.gets(&ok(&first, json!({})));
    assert!(!is_acknowledged(&scene, call));
    let over = scene.engine.take(call).unwrap();
    assert_eq!(over.method, "resources/subscribe");
    assert!(matches!(over.result, Err(CallError::Server(_))), "{over:?}");
    // The client gives back what was agreed to, and an error of that begins nothing anew.
    let unsubscribes = scene.sent();
    assert_eq!(methods(&unsubscribes), ["resources/unsubscribe"; 2]);
    unsubscribes.iter().for_each(|request| scene.gets(&error(request, -32602)));
    assert!(scene.sent().is_empty() && !scene.engine.has_calls());
    let late = scene.listen(&PROMPTS_AND_BOTH);
    scene.sent();
    scene.later(3_600_000);
    assert!(matches!(scene.take(late), Err(CallError::TimedOut)));
}

#[test]
fn a_legacy_server_gets_its_level_and_its_subscriptions_again() {
    let mut scene = Scene::new(D);
    let warning = LoggingLevel::Warning;
    let refused = scene.engine.set_log_level(scene.now, warning, &mut scene.person).unwrap();
    scene.refuses(-32603);
    assert!(scene.take(refused).is_err());
    let call = scene.listen(&PROMPTS_AND_BOTH);
    agree(&mut scene);
    for _ in 0..2 {
        scene.end();
        scene.connect();
        // A level that was refused is not asked for again.
        let subscribes = ["resources/subscribe test://a", "resources/subscribe test://b"];
        assert!(scene.engine.take(call).is_none() && !is_acknowledged(&scene, call));
        assert_eq!(agree(&mut scene), subscribes);
        assert!(is_acknowledged(&scene, call));
    }
    let set = scene.engine.set_log_level(scene.now, warning, &mut scene.person).unwrap();
    agree(&mut scene);
    scene.take(set).unwrap();
    scene.cancel(call);
    agree(&mut scene);
    for _ in 0..2 {
        scene.end();
        scene.connect();
        let request = scene.responds(json!({}));
        assert_eq!(request["method"], "logging/setLevel");
        assert_eq!(request["params"]["level"], "warning");
    }
    // Its result need not be taken.
    let restored = scene.engine.restored().unwrap();
    assert_eq!(scene.take(restored).unwrap(), json!({}));
}

#[test]
fn a_server_that_was_replaced_by_one_of_the_other_era_is_listened_to_again() {
    let mut scene = Scene::both(E);
    scene.connect_to(D);
    let warning = LoggingLevel::Warning;
    scene.engine.set_log_level(scene.now, warning, &mut scene.person).unwrap();
    let call = scene.listen(&PROMPTS_AND_BOTH);
    agree(&mut scene);
    for revision in [E, D] {
        scene.end();
        scene.connect_to(revision);
        let sent = scene.sent();
        let expected: &[&str] = match revision {
            E => &["subscriptions/listen"],
            _ => &["logging/setLevel", "resources/subscribe", "resources/subscribe"],
        };
        assert_eq!(methods(&sent), expected);
        assert!(scene.engine.is_known(call) && scene.engine.take(call).is_none());
    }
}

#[test]
fn a_lost_subscription_is_not_any_result_and_has_its_time_again() {
    let mut scene = Scene::new(D);
    let options = CallOptions::new().limit(Duration::from_millis(100));
    let person = &mut scene.person;
    let call = scene.engine.listen(scene.now, &PROMPTS_AND_BOTH, options, person).unwrap();
    agree(&mut scene);
    scene.end();
    assert!(scene.engine.is_lost(call) && !scene.engine.has_calls());
    assert!(scene.engine.take_any().is_none());
    scene.connect();
    assert_eq!(scene.sent().len(), 2);
    scene.later(1_000);
    assert!(scene.engine.take(call).is_none(), "the time of the first attempt is over");
}

#[test]
fn a_subscription_ends_if_there_is_no_next_connection() {
    for revision in [D, E] {
        let mut scene = Scene::new(revision);
        let call = scene.listen(&PROMPTS_AND_BOTH);
        scene.sent();
        scene.end();
        scene.engine.connect(scene.now, &mut scene.person).unwrap();
        assert!(scene.engine.take(call).is_none(), "it is open from now on");
        scene.now = scene.now.saturating_add(Duration::from_secs(1));
        scene.end();
        assert!(matches!(scene.take(call), Err(CallError::Closed)));
        scene.connect();
        assert_eq!(scene.sent().len(), 0, "its end was taken");
    }
}
