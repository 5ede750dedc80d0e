//! Little room: in the output, in the table of calls, and for what waits.

use std::time::Duration;

use mcp_sansio::types::SubscriptionFilter;
use mcp_sansio::{CallOptions, Json, SendError};
use mcp_sansio_engine::{CallError, Cancelled, Limits};
use serde_json::{Value, json};

use crate::scene::{
    D, E, Scene, content, form, form_params, methods, ok, owned, question, requires,
};

fn limits(max_output: usize, max_pending: usize) -> Limits {
    Limits { max_output, max_pending, ..Limits::new() }
}

/// Limits of one call in flight and so many that wait.
fn one_in_flight(max_pending: usize) -> Limits {
    Limits { max_in_flight: 1, max_pending, ..Limits::new() }
}

fn text() -> Value {
    json!({"name": "print", "arguments": {"text": "x".repeat(5_000)}})
}

#[test]
fn long_calls_leave_in_their_order_through_a_small_buffer() {
    for (revision, is_text) in [(D, false), (D, true), (E, false), (E, true)] {
        let mut scene = Scene::with(revision, limits(256, 2));
        // A value of the caller, and JSON text.
        let (params, options) = (owned(&text()), CallOptions::new());
        let first = match is_text {
            true => scene.engine.call(scene.now, "tools/call", &params, options, &mut scene.person),
            false => scene.try_call("tools/call", text(), options),
        };
        let first = first.unwrap();
        let second = scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
        let refused = scene.try_call("tools/call", json!({"name": "c"}), CallOptions::new());
        assert_eq!(refused, Err(SendError::Full), "two calls wait");
        let sent = scene.sent();
        let names: Vec<&Value> = sent.iter().map(|request| &request["params"]["name"]).collect();
        assert_eq!(names, ["print", "b"]);
        assert_eq!(sent[0]["params"]["arguments"], text()["arguments"]);
        scene.gets(&ok(&sent[1], content(revision, "two")));
        scene.gets(&ok(&sent[0], content(revision, "one")));
        assert_eq!(scene.take(first).unwrap()["content"][0]["text"], "one");
        assert_eq!(scene.take(second).unwrap()["content"][0]["text"], "two");
    }
}

#[test]
fn a_long_call_that_cannot_wait_goes_on_when_it_is_made_again() {
    let mut scene = Scene::with(D, limits(256, 0));
    let mut line = Vec::new();
    while let Err(error) = scene.try_call("tools/call", text(), CallOptions::new()) {
        assert_eq!(error, SendError::Full);
        let piece = scene.engine.io(|output, _| output.to_vec());
        assert!(!piece.is_empty() && line.len() < 10_000);
        line.extend_from_slice(&piece);
        scene.engine.written(piece.len());
    }
    line.extend(scene.engine.io(|output, _| output.to_vec()));
    let sent: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(sent["params"]["arguments"], text()["arguments"]);
}

#[test]
fn rounds_and_responses_leave_through_a_small_buffer() {
    let mut scene = Scene::with(E, limits(256, 1));
    let call = scene.call("tools/call", text(), CallOptions::new());
    scene.responds(requires(json!({"a": form("Who?")}), &"s".repeat(1_000)));
    let second = scene.responds(content(E, "done"));
    assert_eq!(second["params"]["arguments"], text()["arguments"]);
    assert_eq!(second["params"]["requestState"], "s".repeat(1_000));
    scene.take(call).unwrap();
    let mut scene = Scene::with(D, limits(128, 1));
    scene.call("tools/call", text(), CallOptions::new());
    scene.gets(&question(1, "elicitation/create", form_params("Who?")));
    let sent = scene.sent();
    assert_eq!(methods(&sent), ["tools/call", "-"]);
    assert_eq!(sent[1]["result"]["content"], json!({"name": "Ada"}));
}

#[test]
fn a_call_that_waits_can_be_cancelled_and_runs_out_of_time() {
    let mut scene = Scene::with(D, limits(128, 3));
    let options = CallOptions::new().limit(Duration::from_secs(1));
    scene.call("tools/call", text(), CallOptions::new());
    let second = scene.call("tools/call", json!({"name": "b"}), options);
    let third = scene.call("tools/call", json!({"name": "c"}), CallOptions::new());
    let cancelled = scene.cancel(third);
    assert_eq!(cancelled, Some(Cancelled::Call));
    scene.later(1_000);
    assert!(matches!(scene.take(second), Err(CallError::TimedOut)));
    let sent = scene.sent();
    assert_eq!(methods(&sent), ["tools/call"]);
    // There is room for others again.
    for name in ["d", "e", "f"] {
        scene.call("tools/call", json!({ "name": name }), CallOptions::new());
    }
    assert_eq!(scene.sent().len(), 3);
}

#[test]
fn a_cancellation_leaves_with_its_long_reason_through_a_small_buffer() {
    let mut scene = Scene::with(D, limits(256, 1));
    let (call, _) = scene.tool("a");
    let reason = "x".repeat(1_000);
    let cancelled = scene.engine.cancel(scene.now, call, Some(&reason), &mut scene.person);
    assert_eq!(cancelled, Some(Cancelled::Call));
    scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
    let sent = scene.sent();
    assert_eq!(methods(&sent), ["notifications/cancelled", "tools/call"]);
    assert_eq!(sent[0]["params"]["reason"], reason);
}

#[test]
fn calls_wait_for_others_to_end_while_questions_are_answered() {
    let mut scene = Scene::with(D, one_in_flight(1));
    let first = scene.call("tools/call", json!({"name": "a"}), CallOptions::new());
    let second = scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
    let refused = scene.try_call("tools/call", json!({"name": "c"}), CallOptions::new());
    assert!(refused.is_err());
    let request = scene.sent_one();
    scene.gets(&question(1, "elicitation/create", form_params("Who?")));
    assert_eq!(scene.sent_one()["id"], 1);
    scene.gets(&ok(&request, content(D, "one")));
    scene.take(first).unwrap();
    assert_eq!(scene.responds(content(D, "two"))["params"]["name"], "b");
    scene.take(second).unwrap();
    let mut scene = Scene::with(D, one_in_flight(1));
    scene.call("tools/call", json!({"name": "a"}), CallOptions::new());
    scene.end();
    scene.connect();
    scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
    assert_eq!(scene.sent_one()["params"]["name"], "b");
}

#[test]
fn nothing_is_read_while_the_server_leaves_its_responses_unread() {
    let mut scene = Scene::new(D);
    let mut asked = 0;
    while scene.engine.reads() {
        scene.gets(&json!({"jsonrpc": "2.0", "id": "i".repeat(100), "method": "ping"}));
        asked += 1;
        assert!(asked < 100_000, "there is no limit");
    }
    assert!(scene.engine.pending() > 1 << 20);
    assert!(scene.engine.io(|_, into| into.is_empty()));
    assert_eq!(scene.sent().len(), asked);
    assert!(scene.engine.reads());
}

#[test]
fn memory_of_a_long_line_is_given_back() {
    let mut scene = Scene::new(D);
    let call = scene.tool_gets("long", content(D, &"y".repeat(3 << 20)));
    scene.take(call).unwrap();
    assert!(scene.engine.io(|_, into| into.len()) < 1 << 20);
}

/// Takes what the client has written, whatever it is.
fn drain(scene: &mut Scene) -> Vec<u8> {
    let mut written = Vec::new();
    loop {
        scene.work();
        let piece = scene.engine.io(|output, _| output.to_vec());
        if piece.is_empty() {
            return written;
        }
        scene.engine.written(piece.len());
        written.extend(piece);
    }
}

/// Returns the message behind a line that was cut off.
fn after_cut(scene: &mut Scene) -> Value {
    let written = drain(scene);
    let lines: Vec<&[u8]> = written.split_inclusive(|byte| *byte == b'\n').collect();
    let [rest, request] = lines[..] else { panic!("{} lines", lines.len()) };
    assert!(serde_json::from_slice::<Value>(rest).is_err() && rest.len() < 1_000);
    serde_json::from_slice(request).unwrap()
}

#[test]
fn a_long_call_that_is_given_up_is_cut_off_and_others_follow() {
    for ends in [false, true] {
        let mut scene = Scene::with(D, limits(256, 2));
        let long = scene.call("tools/call", text(), CallOptions::new());
        let begun = scene.engine.io(|output, _| output.len());
        scene.engine.written(begun);
        scene.work();
        if ends {
            scene.end();
            assert!(matches!(scene.take(long), Err(CallError::Closed)));
            let written = drain(&mut scene);
            assert!(written.ends_with(b"\n") && written.len() < 1_000, "the line is cut off");
            assert!(scene.engine.is_idle());
            continue;
        }
        let cancelled = scene.cancel(long);
        assert_eq!(cancelled, Some(Cancelled::Call));
        let next = scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
        let request = after_cut(&mut scene);
        assert_eq!(request["params"]["name"], "b");
        scene.gets(&ok(&request, content(D, "done")));
        scene.take(next).unwrap();
    }
}

#[test]
fn a_notification_is_sent_at_once_or_waits_in_its_place() {
    let mut scene = Scene::with(D, limits(256, 3));
    let own = "notifications/own";
    let long = Json(json!({"n": 0, "text": "x".repeat(1_000)}));
    let waits = scene.engine.notify(scene.now, own, &long, &mut scene.person).unwrap().unwrap();
    assert_eq!(scene.sent_one()["params"], long.0);
    scene.take(waits).unwrap();
    let sent = scene.engine.notify(scene.now, own, &Json(json!({"n": 1})), &mut scene.person);
    assert_eq!(sent, Ok(None));
    scene.call("tools/call", text(), CallOptions::new());
    let params = Json(json!({"n": 2, "text": "x".repeat(1_000)}));
    let waits = scene.engine.notify(scene.now, own, &params, &mut scene.person).unwrap().unwrap();
    let after = scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
    assert!(scene.engine.take(waits).is_none());
    let full = scene.engine.notify(scene.now, own, &params, &mut scene.person);
    assert_eq!(full, Err(SendError::Full), "three wait");
    let sent = scene.sent();
    assert_eq!(methods(&sent), [own, "tools/call", own, "tools/call"]);
    assert_eq!((&sent[0]["params"]["n"], &sent[2]["params"]["n"]), (&json!(1), &json!(2)));
    assert_eq!(scene.take(waits).unwrap(), json!({}));
    scene.gets(&ok(&sent[3], content(D, "done")));
    scene.take(after).unwrap();
    let roots = "notifications/roots/list_changed";
    let refused = scene.engine.notify(scene.now, roots, &owned(&json!({})), &mut scene.person);
    assert!(matches!(refused, Err(SendError::NotAllowed(_))), "not declared");
}

#[test]
fn the_time_in_which_a_call_waits_is_a_part_of_its_limit() {
    let mut scene = Scene::with(D, limits(128, 2));
    scene.call("tools/call", text(), CallOptions::new());
    let limit = CallOptions::new().limit(Duration::from_secs(10));
    let call = scene.call("tools/call", json!({"name": "b"}), limit);
    scene.later(6_000);
    assert_eq!(scene.sent().len(), 2);
    assert_eq!(scene.until_next(), 4_000);
    assert!(matches!(scene.take(call), Err(CallError::TimedOut)));
}

#[test]
fn a_long_call_whose_time_is_over_is_cut_off_and_its_frame_is_not_gone_on_with() {
    let mut scene = Scene::with(D, limits(256, 2));
    let limit = CallOptions::new().limit(Duration::from_secs(5));
    let long = scene.call("tools/call", text(), limit);
    let next = scene.call("tools/call", text(), CallOptions::new());
    let begun = scene.engine.io(|output, _| output.len());
    scene.engine.written(begun);
    scene.later(5_000);
    assert!(matches!(scene.take(long), Err(CallError::TimedOut)));
    let request = after_cut(&mut scene);
    assert_eq!(request["params"]["arguments"], text()["arguments"]);
    scene.gets(&ok(&request, content(D, "done")));
    scene.take(next).unwrap();
}

#[test]
fn a_notification_waits_behind_calls_that_wait_for_others_to_end() {
    let mut scene = Scene::with(D, one_in_flight(3));
    scene.call("tools/call", json!({"name": "a"}), CallOptions::new());
    scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
    let first = scene.sent_one();
    let params = Json(json!({"n": 1}));
    let own = "notifications/own";
    let waits = scene.engine.notify(scene.now, own, &params, &mut scene.person).unwrap();
    assert!(waits.is_some());
    scene.gets(&ok(&first, content(D, "done")));
    assert_eq!(methods(&scene.sent()), ["tools/call", own]);
    assert_eq!(scene.take(waits.unwrap()).unwrap(), json!({}));
}

#[test]
fn a_subscription_that_waited_at_the_end_begins_again_and_there_is_room_for_others() {
    let mut scene = Scene::with(E, one_in_flight(1));
    scene.call("tools/call", json!({"name": "a"}), CallOptions::new());
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let listens = scene.listen(&filter);
    assert_eq!(scene.sent().len(), 1, "the subscription waits");
    scene.end();
    scene.connect();
    assert_eq!(methods(&scene.sent()), ["subscriptions/listen"]);
    assert!(scene.engine.is_known(listens));
    scene.call("tools/call", json!({"name": "b"}), CallOptions::new());
    let refused = scene.try_call("tools/call", json!({"name": "c"}), CallOptions::new());
    assert_eq!(refused, Err(SendError::TooManyCalls), "one waits");
}
