//! Ends of connections, and new connections after them.

use std::time::Duration;

use embedded_io_async::ErrorKind;
use mcp_sansio::{Change, ServerConfig};
use mcp_sansio_adapters::embedded_async::{Connection, ConnectionEnd, Error};
use serde_json::{Value, json};

use crate::app::{App, CATALOG, CONFIG, call, connection, initialize, legacy, list, play};
use crate::stage::{Player, Stage};

#[test]
fn at_the_end_of_input_the_loop_ends_after_responses_are_sent() {
    let stage = Stage::new(3);
    let connection = connection::<1024, 512, 4>(&stage);
    let mut player = play(&connection, &stage);
    stage.takes(10);
    stage.send(&call(1, "wait", json!({"n": 1000})));
    stage.send(&call(2, "long", json!({"n": 2000})));
    // A last line without a newline counts as a line.
    stage.bytes(call(3, "echo", json!({"text": "last"})).to_string());
    stage.end();
    assert_eq!(player.run(), None);
    stage.takes(usize::MAX);
    assert_eq!(player.run(), Some(Ok(ConnectionEnd::Closed)));
    drop(player);
    assert_eq!(connection.handler().running.get(), 0);
    let log = stage.log();
    assert_eq!((log.len(), &*log[1]), (2, "< 3 last"));
}

#[test]
fn a_link_serves_one_port_at_a_time_and_then_the_next() {
    let (first, second) = (Stage::new(64), Stage::new(64));
    let connection = connection::<1024, 512, 2>(&first);
    {
        let mut player = play(&connection, &first);
        first.send(&initialize());
        first.send(&call(1, "wait", json!({"n": 1000})));
        first.bytes(b"half a line");
        player.run();
        assert_eq!(play(&connection, &second).run(), Some(Err(Error::InUse)));
        assert_eq!(connection.handler().running.get(), 1);
        // The application drops the request.
    }
    assert_eq!(connection.handler().running.get(), 0);
    let mut player = play(&connection, &second);
    second.send(&initialize());
    second.send(&call(1, "echo", json!({"text": "anew"})));
    player.run();
    assert_eq!(second.log(), ["< 0 capabilities,protocolVersion,serverInfo", "< 1 anew"]);
}

#[test]
fn a_closed_port_ends_the_loop() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    stage.fault(ErrorKind::ConnectionReset);
    assert_eq!(play(&connection, &stage).run(), Some(Err(Error::Read(ErrorKind::ConnectionReset))));
    let mut player = play(&connection, &stage);
    stage.break_off();
    stage.send(&call(1, "echo", json!({"text": "?"})));
    assert_eq!(player.run(), Some(Err(Error::Write(ErrorKind::BrokenPipe))));
}

#[test]
fn p1_a_port_that_is_interrupted_for_ever_leaves_others_their_turn() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    (0..5000).for_each(|_| stage.fault(ErrorKind::Interrupted));
    stage.send(&call(1, "echo", json!({"text": "after it"})));
    let mut player = play(&connection, &stage);
    player.run();
    assert_eq!(stage.log(), ["< 1 after it"]);
    assert!(player.polls() >= 5000, "one poll read all input");
}

#[test]
fn p1_a_clock_that_is_set_back_leaves_others_their_turn() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "wait", json!({"n": 1_000_000})));
    player.run();
    // The timer fires a minute early by the clock. It is set again in each turn, and not within
    // one.
    stage.timers_are_early(1000);
    stage.pass(10);
    player.run();
    assert!((1000..2000).contains(&player.polls()));
    stage.pass(59_990);
    player.run();
    assert_eq!(stage.log(), ["< 1 error -32603 The request timed out"]);
}

#[test]
fn s8_the_longest_line_timeout_is_never() {
    let stage = Stage::new(64);
    let connection: Connection<'_, App, 1024, 512, 2, 4> =
        Connection::new(&CONFIG, App::new(&stage)).line_timeout(Duration::MAX);
    let mut player =
        Player::new(async { connection.serve(stage.port(), stage.port(), &stage).await });
    stage.bytes(b"half a line");
    player.run();
    assert_eq!(stage.timers(), 0);
}

static PINGING: ServerConfig<'_> =
    CONFIG.ping_interval(Duration::from_secs(5)).ping_timeout(Duration::from_secs(2));

#[test]
fn the_loop_ends_if_the_client_does_not_respond_to_a_ping() {
    let stage = Stage::new(64);
    let connection: Connection<'_, App, 1024, 512, 2, 4> =
        Connection::new(&PINGING, App::new(&stage)).catalog(&CATALOG);
    let mut player =
        Player::new(async { connection.serve(stage.port(), stage.port(), &stage).await });
    stage.send(&initialize());
    player.run();
    stage.pass(5000);
    player.run();
    assert_eq!(stage.log()[1..], ["< ping"]);
    stage.pass(2000);
    assert_eq!(player.run(), Some(Ok(ConnectionEnd::Unresponsive)));
}

#[test]
fn a_task_that_comes_late_handles_what_has_come_before_timeouts() {
    let stage = Stage::new(7);
    let connection: Connection<'_, App, 1024, 512, 2, 4> =
        Connection::new(&PINGING, App::new(&stage)).catalog(&CATALOG);
    let mut player =
        Player::new(async { connection.serve(stage.port(), stage.port(), &stage).await });
    stage.send(&initialize());
    player.run();
    stage.output();
    stage.pass(5000);
    player.run();
    let ping: Value = serde_json::from_slice(&stage.output()).unwrap();
    assert_eq!(ping["method"], "ping");
    stage.send(&json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));
    stage.pass(2000);
    assert_eq!(player.run(), None);
}

#[test]
fn a_new_connection_begins_with_nothing_that_the_last_one_left() {
    let (first, second) = (Stage::new(64), Stage::new(64));
    let connection = connection::<512, 64, 2>(&first);
    {
        let mut player = play(&connection, &first);
        // The peer reads nothing, so that changes, and what is read ahead, wait for room.
        first.takes(0);
        (1..=6).for_each(|id| first.send(&list(id)));
        player.run();
        assert!(first.unread() > 0);
        for uri in ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "test://r"] {
            assert!(connection.publish(Change::resource(uri)));
        }
        player.run();
    }
    let mut player = play(&connection, &second);
    second.send(&initialize());
    second.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    second.send(&legacy(1, "resources/subscribe", json!({"uri": "test://r"})));
    player.run();
    assert_eq!(second.log(), ["< 0 capabilities,protocolVersion,serverInfo", "< 1"]);
}
