//! Handlers: their results, their notifications, cancellation and limits.

use serde_json::{Value, json};

use mcp_sansio_adapters::embedded_async::Connection;

use crate::app::{App, CONFIG, TestConnection, call, cancel, connection, initialize, legacy, play};
use crate::stage::Stage;

#[test]
fn one_call_in_each_era() {
    let stage = Stage::new(7);
    let connection = connection::<1024, 512, 4>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "echo", json!({"text": "modern"})));
    stage.send(&initialize());
    stage.send(&legacy(2, "tools/call", json!({"name": "echo", "arguments": {"text": "legacy"}})));
    assert_eq!(player.run(), None);
    assert_eq!(
        stage.log(),
        ["< 1 modern", "< 0 capabilities,protocolVersion,serverInfo", "< 2 legacy"]
    );
    assert!(player.polls() < 200, "polled without being woken");
}

#[test]
fn slow_handlers_run_beside_each_other_and_beside_everything_else() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 3>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&initialize());
    for (id, n) in [(1, 30), (2, 10), (3, 20)] {
        stage.send(&call(id, "wait", json!({"n": n})));
    }
    player.run();
    stage.send(&legacy(4, "ping", json!({})));
    // All slots are in use: it waits for one.
    stage.send(&call(5, "echo", json!({"text": "next"})));
    player.run();
    assert_eq!(connection.handler().running.get(), 3);
    assert_eq!(stage.log(), ["< 0 capabilities,protocolVersion,serverInfo", "< 4"]);
    for done in [&["< 2 waited 10", "< 5 next"][..], &["< 3 waited 20"], &["< 1 waited 30"]] {
        stage.pass(10);
        player.run();
        assert_eq!(stage.log(), done);
    }
    assert!(stage.notes().is_empty());
    assert_eq!(connection.handler().running.get(), 0);
}

#[test]
fn nothing_is_polled_while_nothing_happens() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 3>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "wait", json!({"n": 1000})));
    player.run();
    player.polls();
    stage.pass(500);
    player.run();
    assert_eq!(player.polls(), 0);
    stage.pass(500);
    player.run();
    assert_eq!(stage.log(), ["< 1 waited 1000"]);
}

#[test]
fn cancellation_drops_the_future_and_frees_its_place() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 1>(&stage);
    let mut player = play(&connection, &stage);
    for id in 1..=5 {
        stage.send(&call(id, "wait", json!({"n": 1000})));
        player.run();
        assert_eq!(connection.handler().running.get(), 1);
        // In one burst: the slot must be free before the next request needs it.
        stage.send(&cancel(id));
    }
    player.run();
    assert_eq!(connection.handler().running.get(), 0);
    stage.send(&call(6, "echo", json!({"text": "still there"})));
    stage.pass(5000);
    player.run();
    assert_eq!(stage.log(), ["< 6 still there"]);
    assert_eq!(stage.notes(), ["cancelled"; 5]);
}

/// Lines in the receive buffer are processed one after the other, without polling other futures in
/// between.
fn burst<const N: usize>(messages: &[Value]) -> (Vec<String>, Vec<String>) {
    let stage = Stage::new(64);
    let connection = connection::<4096, 512, N>(&stage);
    let mut player = play(&connection, &stage);
    stage.takes(0);
    stage.send(&call(1, "again", json!({"text": "x".repeat(600)})));
    messages.iter().for_each(|message| stage.send(message));
    player.run();
    assert_eq!((stage.unread(), connection.handler().running.get()), (0, 0));
    stage.takes(usize::MAX);
    player.run();
    assert_eq!(connection.handler().running.get(), 0);
    let log = stage.log();
    assert!(log[0].starts_with("< 1 xxx"));
    (log[1..].to_vec(), stage.notes())
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
    let stage = Stage::new(64);
    // A catalog would wait for its turn before a handler starts.
    let connection: TestConnection<4096, 512, 2> = Connection::new(&CONFIG, App::new(&stage));
    let mut player = play(&connection, &stage);
    stage.takes(0);
    for id in 1..=5 {
        stage.send(&call(id, "echo", json!({"text": "x".repeat(200)})));
    }
    player.run();
    stage.takes(usize::MAX);
    player.run();
    let log = stage.log();
    assert!(log.len() == 5 && log.iter().all(|answer| answer.ends_with("xxx")), "{log:?}");
}

#[test]
fn a_client_that_begins_anew_leaves_nothing_running() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    for _ in 0..3 {
        stage.send(&initialize());
        stage.send(&legacy(1, "tools/call", json!({"name": "wait", "arguments": {"n": 1000}})));
        stage.send(&legacy(2, "tools/call", json!({"name": "wait", "arguments": {"n": 1000}})));
        player.run();
        assert_eq!(connection.handler().running.get(), 2);
    }
    stage.log();
    stage.pass(1000);
    player.run();
    assert_eq!(stage.log(), ["< 1 waited 1000", "< 2 waited 1000"]);
}

#[test]
fn an_immediate_response_may_borrow_from_its_request_and_reading_continues_meanwhile() {
    let stage = Stage::new(64);
    let connection = connection::<2048, 64, 2>(&stage);
    let mut player = play(&connection, &stage);
    let text = "x".repeat(500);
    stage.takes(100);
    stage.send(&call(1, "again", json!({"text": text})));
    stage.send(&call(2, "again", json!({"text": "y"})));
    stage.send(&call(3, "again", json!({})));
    player.run();
    assert_eq!(stage.unread(), 0);
    stage.takes(usize::MAX);
    player.run();
    let refused = "< 3 error -32603 The response cannot be sent";
    assert_eq!(stage.log(), [&*format!("< 1 {text}"), "< 2 y", refused]);
}

#[test]
fn b6_the_catalogs_argument_error_can_be_the_response() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "echo", json!({"text": 5})));
    stage.send(&call(2, "echo", json!({"text": "fits"})));
    player.run();
    let log = stage.log();
    assert!(log[0].starts_with("< 1 failed: ") && log[0].contains("text"), "{log:?}");
    assert_eq!(log[1..], ["< 2 fits"]);
}

#[test]
fn who_waits_for_room_inside_a_set_of_futures_is_woken() {
    let stage = Stage::new(64);
    let connection = connection::<2048, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.takes(0);
    stage.send(&call(1, "echo", json!({"text": "x".repeat(310)})));
    stage.send(&call(2, "group", json!({})));
    player.run();
    assert_eq!(connection.handler().running.get(), 1);
    stage.takes(usize::MAX);
    player.run();
    assert_eq!(stage.log()[1..], ["< notifications/progress 1", "< 2 done"]);
}

#[test]
fn a_request_times_out_without_any_input() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "wait", json!({"n": 100_000})));
    player.run();
    stage.pass(59_999);
    player.run();
    assert_eq!(connection.handler().running.get(), 1);
    stage.pass(1);
    player.run();
    assert_eq!(stage.log(), ["< 1 error -32603 The request timed out"]);
    assert_eq!(stage.notes(), ["expired"]);
    assert_eq!(connection.handler().running.get(), 0);
}

#[test]
fn progress_and_log_messages_are_sent_before_the_response() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "steps", json!({"n": 3})));
    stage.send(&call(2, "log", json!({"text": "hello"})));
    player.run();
    for _ in 0..3 {
        stage.pass(10);
        player.run();
    }
    let expected = [
        "< notifications/progress 1",
        "< notifications/message hello",
        "< 2 logged",
        "< notifications/progress 2",
        "< notifications/progress 3",
        "< 1 done",
    ];
    assert_eq!(stage.log(), expected);
}

#[test]
fn progress_waits_for_room_and_is_dropped_with_its_handler() {
    let stage = Stage::new(64);
    let connection = connection::<2048, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.takes(0);
    stage.send(&call(1, "echo", json!({"text": "x".repeat(310)})));
    stage.send(&call(2, "steps", json!({"n": 9})));
    player.run();
    stage.send(&call(3, "echo", json!({"text": "y"})));
    player.run();
    assert_eq!(connection.handler().running.get(), 1);
    stage.takes(usize::MAX);
    player.run();
    let log = stage.log();
    assert_eq!(log[1..], ["< notifications/progress 1", "< 3 y"]);
    stage.send(&cancel(2));
    player.run();
    assert_eq!((stage.log().len(), stage.notes()), (0, vec!["cancelled".to_owned()]));
    assert_eq!(connection.handler().running.get(), 0);
}

#[test]
fn a_cancellation_is_processed_while_responses_wait_and_frees_the_turn() {
    let stage = Stage::new(64);
    let connection = connection::<2048, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.takes(0);
    stage.send(&call(1, "echo", json!({"text": "x".repeat(310)})));
    // It waits for room, so it has the turn.
    stage.send(&call(2, "group", json!({})));
    player.run();
    assert_eq!(connection.handler().running.get(), 1);
    stage.send(&cancel(2));
    player.run();
    assert_eq!(
        (connection.handler().running.get(), stage.notes()),
        (0, vec!["cancelled".to_owned()])
    );
    stage.send(&call(3, "echo", json!({"text": "y"})));
    player.run();
    stage.takes(usize::MAX);
    player.run();
    assert_eq!(stage.log()[1..], ["< 3 y"]);
}

#[test]
fn a_cancellation_is_processed_while_a_long_response_of_another_handler_waits() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 64, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "wait", json!({"n": 1000})));
    player.run();
    stage.takes(100);
    stage.send(&call(2, "long", json!({"n": 700})));
    player.run();
    stage.send(&cancel(1));
    player.run();
    assert_eq!((stage.notes(), connection.handler().running.get()), (vec!["cancelled".into()], 0));
    stage.takes(usize::MAX);
    player.run();
    assert_eq!(stage.log(), [format!("< 2 {}", "x".repeat(700))]);
}

#[test]
fn a_result_that_cannot_be_written_becomes_an_error_and_is_reported() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "bad", json!({})));
    stage.send(&call(2, "nobody", json!({})));
    player.run();
    assert_eq!(
        stage.log(),
        ["< 1 error -32603 The response cannot be sent", "< 2 error -32602 Unknown tool: nobody"]
    );
    assert_eq!(stage.notes(), ["refused Invalid(Serialize)"]);
}

#[test]
fn changes_are_sent_once_however_often_they_are_published() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&initialize());
    stage.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    stage.send(&legacy(1, "resources/subscribe", json!({"uri": "test://r"})));
    player.run();
    stage.log();
    stage.send(&call(2, "change", json!({})));
    player.run();
    assert_eq!(stage.log(), ["< notifications/resources/updated test://r", "< 2 true"]);
    // Published from outside: the connection is woken.
    for _ in 0..2 {
        assert!(connection.publish(mcp_sansio::Change::resource("test://r")));
    }
    player.run();
    assert_eq!(stage.log(), ["< notifications/resources/updated test://r"]);
}

/// A change that is published again and again leaves the others their turn.
#[test]
fn changes_are_sent_in_the_order_in_which_they_were_published() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&initialize());
    stage.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for uri in ["a:1", "a:2"] {
        stage.send(&legacy(1, "resources/subscribe", json!({"uri": uri})));
    }
    player.run();
    stage.log();
    stage.takes(0);
    let publish = |uri| assert!(connection.publish(mcp_sansio::Change::resource(uri)));
    for _ in 0..10 {
        publish("a:1");
        player.run();
    }
    publish("a:2");
    let mut told = Vec::new();
    for _ in 0..100 {
        stage.takes(20);
        player.run();
        told.extend(stage.log());
        publish("a:1");
    }
    assert!(told.iter().any(|line| line.contains("a:2")), "{told:?}");
}

#[test]
fn m1_pending_changes_have_a_limit() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let uris = ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "a:8", "a:9"];
    let told: Vec<_> =
        uris.iter().map(|uri| connection.publish(mcp_sansio::Change::resource(uri))).collect();
    assert_eq!(told, [[true; 8].as_slice(), &[false]].concat());
    // A change that is already pending needs no more room.
    assert!(connection.publish(mcp_sansio::Change::resource("a:8")));
    let mut player = play(&connection, &stage);
    player.run();
    assert!(connection.publish(mcp_sansio::Change::resource("a:9")));
}
