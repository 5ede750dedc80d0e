//! Noise and errors of a serial line.

use std::time::Duration;

use embedded_io_async::ErrorKind;
use mcp_sansio::{CheckedByte, LineChecker, LineChecksum};
use mcp_sansio_adapters::embedded_async::{CheckedReader, CheckedWriter};
use serde_json::{Value, json};

use crate::app::{call, connection, list, play};
use crate::stage::{Player, Stage};

fn checked(id: u32, text: &str) -> Vec<u8> {
    let line = call(id, "echo", json!({"text": text})).to_string().into_bytes();
    let mut checksum = LineChecksum::new();
    line.iter().for_each(|byte| checksum.add(*byte));
    [&line[..], &checksum.end()].concat()
}

#[test]
fn lines_with_checksums_come_whole_or_not_at_all() {
    for chunk in [1, 7, 1000] {
        let stage = Stage::new(chunk);
        let connection = connection::<1024, 512, 2>(&stage);
        let mut player = Player::new(async {
            let (reader, writer) =
                (CheckedReader::new(stage.port()), CheckedWriter::new(stage.port()));
            connection.serve(reader, writer, &stage).await
        });
        stage.bytes(checked(1, "before"));
        // A valid message with another meaning.
        let changed = String::from_utf8(checked(2, "do it")).unwrap().replace("do it", "do  x");
        stage.bytes(changed);
        let mut lost = checked(3, "lost");
        lost.remove(20);
        stage.bytes(lost);
        // Without a checksum.
        stage.send(&call(4, "echo", json!({"text": "bare"})));
        stage.bytes(checked(5, "after"));
        player.run();
        let mut checker = LineChecker::new();
        let bytes = stage.output().into_iter().filter_map(|byte| checker.take(byte));
        let sent: Vec<u8> = bytes
            .map(|byte| match byte {
                CheckedByte::Byte(byte) => byte,
                CheckedByte::Gap => panic!("the checksum is wrong"),
            })
            .collect();
        let sent = String::from_utf8(sent).unwrap();
        let ids: Vec<_> = sent
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|message| (message["id"].clone(), message["error"]["code"].clone()))
            .collect();
        let rejected = (Value::Null, json!(-32700));
        let expected = [
            (json!(1), Value::Null),
            rejected.clone(),
            rejected.clone(),
            rejected,
            (json!(5), Value::Null),
        ];
        assert_eq!(ids, expected, "{chunk}: {sent}");
        assert_eq!(stage.notes().iter().filter(|note| *note == "fault InvalidData").count(), 3);
    }
}

/// The core has all of it but the checksum.
#[test]
fn a_changed_line_without_its_end_is_not_handled() {
    for ends in [false, true] {
        let stage = Stage::new(1000);
        let connection = connection::<1024, 512, 2>(&stage).line_timeout(Duration::from_secs(2));
        let reader = CheckedReader::new(stage.port());
        let mut player = Player::new(connection.serve(reader, stage.port(), &stage));
        let changed = String::from_utf8(checked(1, "do it")).unwrap().replace("do it", "do  x");
        stage.bytes(changed.trim_end());
        player.run();
        if ends {
            stage.end();
        } else {
            stage.pass(2000);
        }
        player.run();
        assert_eq!(stage.log(), ["< - error -32700 Parse error: the message is not UTF-8"]);
    }
}

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
    let expected = ["< - error -32700 Parse error: the message is not UTF-8", "< 2 the next peer"];
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
