//! Noise and errors of a serial line.

use std::time::Duration;

use embedded_io_async::{ErrorKind, ErrorType, Write};
use mcp_sansio::{CheckedByte, LineChecker, LineChecksum};
use mcp_sansio_adapters::embedded_async::{CheckedReader, CheckedWriter, Error};
use serde_json::{Value, json};

use crate::app::{CATALOG, CONFIG, Scene, TestConnection, call, list, scene, scene_with};
use crate::port::{Player, Port};

fn checked(id: u32, text: &str) -> Vec<u8> {
    let line = call(id, "echo", json!({"text": text})).to_string().into_bytes();
    let mut checksum = LineChecksum::new();
    line.iter().for_each(|byte| checksum.add(*byte));
    [&line[..], &checksum.end()].concat()
}

/// Takes the checksums away, which must be right.
fn unchecked(sent: Vec<u8>) -> String {
    let mut checker = LineChecker::new();
    let bytes = sent.into_iter().filter_map(|byte| checker.take(byte));
    let sent = bytes.map(|byte| match byte {
        CheckedByte::Byte(byte) => byte,
        CheckedByte::Gap => panic!("the checksum is wrong"),
    });
    String::from_utf8(sent.collect()).unwrap()
}

#[test]
fn lines_with_checksums_come_whole_or_not_at_all() {
    for chunk in [1, 7, 1000] {
        let scene = scene::<1024, 512, 2>(chunk);
        let (stage, connection) = (scene.stage, scene.connection);
        let reader = CheckedReader::new(stage.port.clone());
        let writer = CheckedWriter::new(stage.port.clone());
        let mut player = Player::new(connection.serve(reader, writer, &stage.time));
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
        let sent = unchecked(stage.output());
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

/// A port that takes a byte at a time, is interrupted before each, and may take no line feed.
struct Faltering {
    port: Port,
    is_interrupted: bool,
    ends_lines: bool,
}

impl ErrorType for Faltering {
    type Error = ErrorKind;
}

impl Write for Faltering {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.is_interrupted = !self.is_interrupted;
        match bytes {
            _ if self.is_interrupted => Err(ErrorKind::Interrupted),
            [b'\n', ..] if !self.ends_lines => Ok(0),
            _ => self.port.write(&bytes[..1]).await,
        }
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[test]
fn a_checksum_is_written_whole_however_the_port_falters() {
    for ends_lines in [true, false] {
        let scene = scene::<1024, 512, 2>(1000);
        let (stage, connection) = (scene.stage, scene.connection);
        let port = Faltering { port: stage.port.clone(), is_interrupted: false, ends_lines };
        let writer = CheckedWriter::new(port);
        let mut player = Player::new(connection.serve(stage.port.clone(), writer, &stage.time));
        stage.send(&call(1, "echo", json!({"text": "one"})));
        stage.send(&call(2, "echo", json!({"text": "two"})));
        let end = player.run();
        assert_eq!(end, (!ends_lines).then_some(Err(Error::WriteZero)));
        if ends_lines {
            assert_eq!(unchecked(stage.output()).lines().count(), 2);
        }
    }
}

/// The core has all of it but the checksum.
#[test]
fn a_changed_line_without_its_end_is_not_handled() {
    for ends in [false, true] {
        let scene = patient::<1024, 512>(1000);
        let (stage, connection) = (scene.stage, scene.connection);
        let reader = CheckedReader::new(stage.port.clone());
        let mut player = Player::new(connection.serve(reader, stage.port.clone(), &stage.time));
        let changed = String::from_utf8(checked(1, "do it")).unwrap().replace("do it", "do  x");
        stage.bytes(changed.trim_end());
        player.run();
        if ends {
            stage.end();
        } else {
            stage.time.pass(2000);
        }
        player.run();
        assert_eq!(stage.log(), ["< - error -32700 Parse error: the message is not UTF-8"]);
    }
}

#[test]
fn a_read_error_spoils_the_line_that_it_is_in_and_no_other() {
    let mut scene = scene::<1024, 512, 2>(1000);
    scene.send(&call(1, "echo", json!({"text": "before"})));
    // An error between two lines loses neither.
    scene.fault(ErrorKind::Other);
    // Without the lost bytes the line would be valid, with another meaning.
    let (head, tail) = (
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"do"#,
        " it\"}}}\n",
    );
    scene.bytes(head);
    scene.fault(ErrorKind::Other);
    scene.bytes(tail);
    scene.send(&call(3, "echo", json!({"text": "after"})));
    let expected =
        ["< 1 before", "< - error -32700 Parse error: the message is not UTF-8", "< 3 after"];
    assert_eq!(scene.log(), expected);
    assert_eq!(scene.notes(), ["fault Other", "fault Other", "NotUtf8"]);
}

/// A scene in which half a line is ended after two seconds.
fn patient<const RX: usize, const TX: usize>(chunk: usize) -> Scene<TestConnection<RX, TX, 2>> {
    let limit = Duration::from_secs(2);
    scene_with(chunk, &CONFIG, |connection| connection.catalog(&CATALOG).line_timeout(limit))
}

#[test]
fn half_a_line_and_then_silence_is_ended() {
    let mut scene = patient::<1024, 512>(64);
    scene.bytes(br#"{"jsonrpc":"2.0","id":1,"meth"#);
    scene.pass(1500);
    scene.bytes(b"od");
    scene.pass(1999);
    assert_eq!(scene.log(), [""; 0]);
    scene.pass(1);
    scene.send(&call(2, "echo", json!({"text": "the next peer"})));
    let expected = ["< - error -32700 Parse error: the message is not UTF-8", "< 2 the next peer"];
    assert_eq!(scene.log(), expected);
    scene.pass(10_000);
    assert_eq!(scene.log(), [""; 0]);
}

#[test]
fn half_a_line_that_waits_because_of_us_is_not_ended() {
    let mut scene = patient::<512, 256>(64);
    scene.takes(0);
    (1..=6).for_each(|id| scene.send(&list(id)));
    assert!(scene.unread() > 0);
    scene.pass(10_000);
    scene.takes(usize::MAX);
    assert_eq!((scene.log().len(), scene.notes().len()), (6, 0));
}
