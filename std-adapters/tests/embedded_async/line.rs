//! Noise and errors of a serial line.

use std::time::Duration;

use embedded_io_async::ErrorKind;
use serde_json::json;

use crate::app::{call, connection, list, play};
use crate::stage::Stage;

#[test]
fn a_read_error_spoils_the_line_that_it_is_in_and_no_other() {
    let stage = Stage::new(1000);
    let connection = connection::<1024, 512, 2>(&stage);
    let mut player = play(&connection, &stage);
    stage.send(&call(1, "echo", json!({"text": "before"})));
    // An error between two lines loses neither.
    stage.fault(ErrorKind::Other);
    // Without the lost bytes the line would be valid, with another meaning.
    let (head, tail) = (
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"do"#,
        " it\"}}}\n",
    );
    stage.bytes(head);
    stage.fault(ErrorKind::Other);
    stage.bytes(tail);
    stage.send(&call(3, "echo", json!({"text": "after"})));
    player.run();
    let expected =
        ["< 1 before", "< - error -32700 Parse error: the message is not UTF-8", "< 3 after"];
    assert_eq!(stage.log(), expected);
    assert_eq!(stage.notes(), ["fault Other", "fault Other", "NotUtf8"]);
}

#[test]
fn half_a_line_and_then_silence_is_ended() {
    let stage = Stage::new(64);
    let connection = connection::<1024, 512, 2>(&stage).line_timeout(Duration::from_secs(2));
    let mut player = play(&connection, &stage);
    stage.bytes(br#"{"jsonrpc":"2.0","id":1,"meth"#);
    player.run();
    stage.pass(1500);
    stage.bytes(b"od");
    player.run();
    stage.pass(1999);
    player.run();
    assert_eq!(stage.log(), [""; 0]);
    stage.pass(1);
    player.run();
    stage.send(&call(2, "echo", json!({"text": "the next peer"})));
    player.run();
    let expected = [
        "< - error -32700 Parse error: the message is not JSON: on a stream it takes one line",
        "< 2 the next peer",
    ];
    assert_eq!(stage.log(), expected);
    stage.pass(10_000);
    player.run();
    assert_eq!(stage.log(), [""; 0]);
}

#[test]
fn half_a_line_that_waits_because_of_us_is_not_ended() {
    let stage = Stage::new(64);
    let connection = connection::<512, 256, 2>(&stage).line_timeout(Duration::from_secs(2));
    let mut player = play(&connection, &stage);
    stage.takes(0);
    for id in 1..=6 {
        stage.send(&list(id));
    }
    player.run();
    assert!(stage.unread() > 0);
    stage.pass(10_000);
    player.run();
    stage.takes(usize::MAX);
    player.run();
    assert_eq!((stage.log().len(), stage.notes().len()), (6, 0));
}
