//! Handlers: their results, their notifications, cancellation and limits.

use std::rc::Rc;

use mcp_sansio::Change;
use serde_json::{Value, json};

use crate::app::{CONFIG, call, cancel, hello, initialize, legacy, scene, scene_with};

#[test]
fn slow_handlers_run_beside_each_other_and_beside_everything_else() {
    let mut scene = scene::<1024, 512, 3>(64);
    scene.send(&initialize());
    for (id, n) in [(1, 30), (2, 10), (3, 20)] {
        scene.send(&call(id, "wait", json!({"n": n})));
    }
    scene.run();
    scene.send(&legacy(4, "ping", json!({})));
    // All slots are in use: it waits for one.
    scene.send(&call(5, "echo", json!({"text": "next"})));
    assert_eq!(scene.running(), 3);
    assert_eq!(scene.log(), ["< 0 capabilities,protocolVersion,serverInfo", "< 4"]);
    for done in [&["< 2 waited 10", "< 5 next"][..], &["< 3 waited 20"], &["< 1 waited 30"]] {
        scene.pass(10);
        assert_eq!(scene.log(), done);
    }
    assert!(scene.notes().is_empty());
    assert_eq!(scene.running(), 0);
}

#[test]
fn nothing_is_polled_while_nothing_happens() {
    let mut scene = scene::<1024, 512, 3>(64);
    scene.send(&call(1, "wait", json!({"n": 1000})));
    scene.run();
    scene.player.polls();
    scene.pass(500);
    assert_eq!(scene.player.polls(), 0);
    scene.pass(500);
    assert_eq!(scene.log(), ["< 1 waited 1000"]);
}

#[test]
fn cancellation_drops_the_future_and_frees_its_place() {
    let mut scene = scene::<1024, 512, 1>(64);
    for id in 1..=5 {
        scene.send(&call(id, "wait", json!({"n": 1000})));
        assert_eq!(scene.running(), 1);
        // In one burst: the slot must be free before the next request needs it.
        scene.send(&cancel(id));
    }
    assert_eq!(scene.running(), 0);
    scene.send(&call(6, "echo", json!({"text": "still there"})));
    scene.pass(5000);
    assert_eq!(scene.log(), ["< 6 still there"]);
    assert_eq!(scene.notes(), ["cancelled"; 5]);
}

/// Lines in the receive buffer are processed one after the other, without polling other futures in
/// between.
fn burst<const N: usize>(messages: &[Value]) -> (Vec<String>, Vec<String>) {
    let mut scene = scene::<4096, 512, N>(64);
    scene.takes(0);
    scene.send(&call(1, "again", json!({"text": "x".repeat(600)})));
    messages.iter().for_each(|message| scene.send(message));
    assert_eq!((scene.unread(), scene.running()), (0, 0));
    scene.takes(usize::MAX);
    assert_eq!(scene.running(), 0);
    let log = scene.log();
    assert!(log[0].starts_with("< 1 xxx"));
    (log[1..].to_vec(), scene.notes())
}

#[test]
fn a_burst_of_calls_and_cancellations_finds_its_places() {
    let wait = |id| call(id, "wait", json!({"n": 1000}));
    let messages = [
        wait(2),
        cancel(2),
        wait(3),
        cancel(3),
        wait(4),
        cancel(4),
        call(5, "echo", json!({"text": "through"})),
    ];
    assert_eq!(
        burst::<1>(&messages),
        (vec!["< 5 through".to_owned()], vec!["cancelled".to_owned(); 3])
    );
}

#[test]
fn responses_to_a_burst_of_immediate_calls_are_in_order() {
    let messages: Vec<_> = (2..10)
        .map(|id| {
            call(id, if id % 2 == 0 { "echo" } else { "again" }, json!({"text": id.to_string()}))
        })
        .collect();
    let answers: Vec<_> = (2..10).map(|id| format!("< {id} {id}")).collect();
    assert_eq!(burst::<4>(&messages), (answers, vec![]));
}

#[test]
fn calls_wait_while_too_many_responses_are_pending() {
    // A catalog would wait for its turn before a handler starts.
    let mut scene = scene_with::<4096, 512, 2>(64, &CONFIG, |connection| connection);
    scene.takes(0);
    for id in 1..=5 {
        scene.send(&call(id, "echo", json!({"text": "x".repeat(200)})));
    }
    scene.run();
    scene.takes(usize::MAX);
    let log = scene.log();
    assert!(log.len() == 5 && log.iter().all(|answer| answer.ends_with("xxx")), "{log:?}");
}

#[test]
fn a_client_that_begins_anew_leaves_nothing_running() {
    let mut scene = scene::<1024, 512, 2>(64);
    for _ in 0..3 {
        scene.send(&initialize());
        scene.send(&legacy(1, "tools/call", json!({"name": "wait", "arguments": {"n": 1000}})));
        scene.send(&legacy(2, "tools/call", json!({"name": "wait", "arguments": {"n": 1000}})));
        assert_eq!(scene.running(), 2);
    }
    scene.log();
    scene.pass(1000);
    assert_eq!(scene.log(), ["< 1 waited 1000", "< 2 waited 1000"]);
}

#[test]
fn an_immediate_response_may_borrow_from_its_request_and_reading_continues_meanwhile() {
    let mut scene = scene::<2048, 64, 2>(64);
    let text = "x".repeat(500);
    scene.takes(100);
    scene.send(&call(1, "again", json!({"text": text})));
    scene.send(&call(2, "again", json!({"text": "y"})));
    scene.send(&call(3, "again", json!({})));
    assert_eq!(scene.unread(), 0);
    scene.takes(usize::MAX);
    let refused = "< 3 error -32603 The response cannot be sent";
    assert_eq!(scene.log(), [&*format!("< 1 {text}"), "< 2 y", refused]);
}

#[test]
fn b6_the_catalogs_argument_error_can_be_the_response() {
    let mut scene = scene::<1024, 512, 2>(64);
    scene.send(&call(1, "echo", json!({"text": 5})));
    scene.send(&call(2, "echo", json!({"text": "fits"})));
    let log = scene.log();
    assert!(log[0].starts_with("< 1 failed: ") && log[0].contains("text"), "{log:?}");
    assert_eq!(log[1..], ["< 2 fits"]);
}

#[test]
fn who_waits_for_room_inside_a_set_of_futures_is_woken() {
    let mut scene = scene::<2048, 512, 2>(64);
    scene.takes(0);
    scene.send(&call(1, "echo", json!({"text": "x".repeat(310)})));
    scene.send(&call(2, "group", json!({})));
    assert_eq!(scene.running(), 1);
    scene.takes(usize::MAX);
    assert_eq!(scene.log()[1..], ["< notifications/progress 1", "< 2 done"]);
}

#[test]
fn a_request_times_out_without_any_input() {
    let mut scene = scene::<1024, 512, 2>(64);
    scene.send(&call(1, "wait", json!({"n": 100_000})));
    scene.pass(59_999);
    assert_eq!(scene.running(), 1);
    scene.pass(1);
    assert_eq!(scene.log(), ["< 1 error -32603 The request timed out"]);
    assert_eq!(scene.notes(), ["expired"]);
    assert_eq!(scene.running(), 0);
}

#[test]
fn progress_and_log_messages_are_sent_before_the_response() {
    let mut scene = scene::<1024, 512, 2>(64);
    scene.send(&call(1, "steps", json!({"n": 3})));
    scene.send(&call(2, "log", json!({"text": "hello"})));
    (0..3).for_each(|_| assert_eq!(scene.pass(10), None));
    let expected = [
        "< notifications/progress 1",
        "< notifications/message hello",
        "< 2 logged",
        "< notifications/progress 2",
        "< notifications/progress 3",
        "< 1 done",
    ];
    assert_eq!(scene.log(), expected);
}

#[test]
fn progress_waits_for_room_and_is_dropped_with_its_handler() {
    let mut scene = scene::<2048, 512, 2>(64);
    scene.takes(0);
    scene.send(&call(1, "echo", json!({"text": "x".repeat(310)})));
    scene.send(&call(2, "steps", json!({"n": 9})));
    scene.run();
    scene.send(&call(3, "echo", json!({"text": "y"})));
    assert_eq!(scene.running(), 1);
    scene.takes(usize::MAX);
    let log = scene.log();
    assert_eq!(log[1..], ["< notifications/progress 1", "< 3 y"]);
    scene.send(&cancel(2));
    assert_eq!((scene.log().len(), scene.notes()), (0, vec!["cancelled".to_owned()]));
    assert_eq!(scene.running(), 0);
}

#[test]
fn a_cancellation_is_processed_while_responses_wait_and_frees_the_turn() {
    let mut scene = scene::<2048, 512, 2>(64);
    scene.takes(0);
    scene.send(&call(1, "echo", json!({"text": "x".repeat(310)})));
    // It waits for room, so it has the turn.
    scene.send(&call(2, "group", json!({})));
    assert_eq!(scene.running(), 1);
    scene.send(&cancel(2));
    assert_eq!((scene.running(), scene.notes()), (0, vec!["cancelled".to_owned()]));
    scene.send(&call(3, "echo", json!({"text": "y"})));
    scene.run();
    scene.takes(usize::MAX);
    assert_eq!(scene.log()[1..], ["< 3 y"]);
}

#[test]
fn a_cancellation_is_processed_while_a_long_response_of_another_handler_waits() {
    let mut scene = scene::<1024, 64, 2>(64);
    scene.send(&call(1, "wait", json!({"n": 1000})));
    scene.run();
    scene.takes(100);
    scene.send(&call(2, "long", json!({"n": 700})));
    scene.run();
    scene.send(&cancel(1));
    assert_eq!((scene.notes(), scene.running()), (vec!["cancelled".into()], 0));
    scene.takes(usize::MAX);
    assert_eq!(scene.log(), [format!("< 2 {}", "x".repeat(700))]);
}

#[test]
fn a_result_that_cannot_be_written_becomes_an_error_and_is_reported() {
    let mut scene = scene::<1024, 512, 2>(64);
    scene.send(&call(1, "bad", json!({})));
    scene.send(&call(2, "nobody", json!({})));
    assert_eq!(
        scene.log(),
        ["< 1 error -32603 The response cannot be sent", "< 2 error -32602 Unknown tool: nobody"]
    );
    assert_eq!(scene.notes(), ["refused Invalid(Serialize)"]);
}

#[test]
fn changes_are_sent_once_however_often_they_are_published() {
    let mut scene = scene::<1024, 512, 2>(64);
    hello().iter().for_each(|message| scene.send(message));
    scene.send(&legacy(1, "resources/subscribe", json!({"uri": "test://r"})));
    scene.log();
    scene.send(&call(2, "change", json!({})));
    assert_eq!(scene.log(), ["< notifications/resources/updated test://r", "< 2 true"]);
    // Published from outside: the connection is woken.
    for _ in 0..2 {
        assert!(scene.connection.publish(Change::resource("test://r")));
    }
    assert_eq!(scene.log(), ["< notifications/resources/updated test://r"]);
}

/// A change that is published again and again leaves the others their turn.
#[test]
fn changes_are_sent_in_the_order_in_which_they_were_published() {
    let mut scene = scene::<1024, 512, 2>(64);
    hello().iter().for_each(|message| scene.send(message));
    for uri in ["a:1", "a:2"] {
        scene.send(&legacy(1, "resources/subscribe", json!({"uri": uri})));
    }
    scene.log();
    scene.takes(0);
    let connection = Rc::clone(&scene.connection);
    let publish = |uri| assert!(connection.publish(Change::resource(uri)));
    for _ in 0..10 {
        publish("a:1");
        scene.run();
    }
    publish("a:2");
    let mut told = Vec::new();
    for _ in 0..100 {
        scene.takes(20);
        told.extend(scene.log());
        publish("a:1");
    }
    assert!(told.iter().any(|line| line.contains("a:2")), "{told:?}");
}

#[test]
fn m1_pending_changes_have_a_limit() {
    let mut scene = scene::<1024, 512, 2>(64);
    let connection = Rc::clone(&scene.connection);
    let publish = |uri: &'static str| connection.publish(Change::resource(uri));
    let uris = ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "a:8", "a:9"];
    assert_eq!(uris.map(publish), uris.map(|uri| uri != "a:9"));
    // A change that is already pending needs no more room.
    assert!(publish("a:8"));
    scene.run();
    assert!(publish("a:9"));
}
