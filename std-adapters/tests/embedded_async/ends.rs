//! Ends of connections, and new connections after them.

use std::rc::Rc;
use std::time::Duration;

use embedded_io_async::ErrorKind;
use mcp_sansio::{Change, ServerConfig};
use mcp_sansio_adapters::embedded_async::{ConnectionEnd, Error};
use serde_json::{Value, json};

use crate::app::{
    CATALOG, CONFIG, Scene, call, hello, initialize, legacy, list, scene, scene_with,
};
use crate::stage::Stage;

#[test]
fn at_the_end_of_input_the_loop_ends_after_responses_are_sent() {
    let mut scene = scene::<1024, 512, 4>(3);
    scene.takes(10);
    scene.send(&call(1, "wait", json!({"n": 1000})));
    scene.send(&call(2, "long", json!({"n": 2000})));
    // A last line without a newline counts as a line.
    scene.bytes(call(3, "echo", json!({"text": "last"})).to_string());
    scene.end();
    assert_eq!(scene.run(), None);
    scene.takes(usize::MAX);
    assert_eq!(scene.run(), Some(Ok(ConnectionEnd::Closed)));
    assert_eq!(scene.running(), 0);
    let log = scene.log();
    assert_eq!((log.len(), &*log[1]), (2, "< 3 last"));
}

#[test]
fn a_link_serves_one_port_at_a_time_and_then_the_next() {
    let mut first = scene::<1024, 512, 2>(64);
    let (connection, next) = (Rc::clone(&first.connection), Stage::new(64));
    first.send(&initialize());
    first.send(&call(1, "wait", json!({"n": 1000})));
    first.bytes(b"half a line");
    first.run();
    assert_eq!(Scene::new(&next, Rc::clone(&connection)).run(), Some(Err(Error::InUse)));
    assert_eq!(first.running(), 1);
    // The application drops the request.
    drop(first);
    assert_eq!(connection.handler().running.get(), 0);
    let mut second = Scene::new(&next, connection);
    second.send(&initialize());
    second.send(&call(1, "echo", json!({"text": "anew"})));
    assert_eq!(second.log(), ["< 0 capabilities,protocolVersion,serverInfo", "< 1 anew"]);
}

#[test]
fn a_closed_port_ends_the_loop() {
    let mut scene = scene::<1024, 512, 2>(64);
    scene.fault(ErrorKind::ConnectionReset);
    assert_eq!(scene.run(), Some(Err(Error::Read(ErrorKind::ConnectionReset))));
    scene = Scene::new(&scene.stage, scene.connection);
    scene.break_off();
    scene.send(&call(1, "echo", json!({"text": "?"})));
    assert_eq!(scene.run(), Some(Err(Error::Write(ErrorKind::BrokenPipe))));
}

#[test]
fn p1_a_port_that_is_interrupted_for_ever_leaves_others_their_turn() {
    let mut scene = scene::<1024, 512, 2>(64);
    (0..5000).for_each(|_| scene.fault(ErrorKind::Interrupted));
    scene.send(&call(1, "echo", json!({"text": "after it"})));
    assert_eq!(scene.log(), ["< 1 after it"]);
    assert!(scene.player.polls() >= 5000, "one poll read all input");
}

#[test]
fn p1_a_clock_that_is_set_back_leaves_others_their_turn() {
    let mut scene = scene::<1024, 512, 2>(64);
    scene.send(&call(1, "wait", json!({"n": 1_000_000})));
    scene.run();
    // The timer fires a minute early by the clock. It is set again in each turn, and not within
    // one.
    scene.time.is_early(1000);
    scene.pass(10);
    assert!((1000..2000).contains(&scene.player.polls()));
    scene.pass(59_990);
    assert_eq!(scene.log(), ["< 1 error -32603 The request timed out"]);
}

#[test]
fn s8_the_longest_line_timeout_is_never() {
    let mut scene = scene_with::<1024, 512, 2>(64, &CONFIG, |connection| {
        connection.line_timeout(Duration::MAX)
    });
    scene.bytes(b"half a line");
    scene.run();
    assert_eq!(scene.time.timers(), 0);
}

static PINGING: ServerConfig<'_> =
    CONFIG.ping_interval(Duration::from_secs(5)).ping_timeout(Duration::from_secs(2));

#[test]
fn the_loop_ends_if_the_client_does_not_respond_to_a_ping() {
    for responds in [true, false] {
        let mut scene =
            scene_with::<1024, 512, 2>(7, &PINGING, |connection| connection.catalog(&CATALOG));
        scene.send(&initialize());
        scene.log();
        scene.pass(5000);
        let ping: Value = serde_json::from_slice(&scene.output()).unwrap();
        assert_eq!(ping["method"], "ping");
        // A task that comes late handles what has come before timeouts.
        if responds {
            scene.send(&json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));
        }
        scene.time.pass(2000);
        let end = (!responds).then_some(Ok(ConnectionEnd::Unresponsive));
        assert_eq!(scene.run(), end);
    }
}

#[test]
fn a_new_connection_begins_with_nothing_that_the_last_one_left() {
    let mut first = scene::<512, 64, 2>(64);
    let connection = Rc::clone(&first.connection);
    // The peer reads nothing, so that changes, and what is read ahead, wait for room.
    first.takes(0);
    (1..=6).for_each(|id| first.send(&list(id)));
    assert!(first.unread() > 0);
    for uri in ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "test://r"] {
        assert!(connection.publish(Change::resource(uri)));
    }
    first.run();
    drop(first);
    let mut second = Scene::new(&Stage::new(64), connection);
    hello().iter().for_each(|message| second.send(message));
    second.send(&legacy(1, "resources/subscribe", json!({"uri": "test://r"})));
    assert_eq!(second.log(), ["< 0 capabilities,protocolVersion,serverInfo", "< 1"]);
}
