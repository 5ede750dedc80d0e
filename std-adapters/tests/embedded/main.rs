//! A server on an unreliable line, tested as traces of input and output.

mod bench;
mod mixture;
#[path = "../random/mod.rs"]
mod random;
mod received;
mod tools;
mod uart;

use bench::{Bench, NOT_UTF8, PARSE_ERROR, RX, echo, line};
use embedded_io::ErrorKind;
use mcp_sansio_adapters::embedded::Error;

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n";
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n";

#[test]
fn the_output_is_the_same_in_any_chunking() {
    let session = [
        echo(1).0,
        PING.into(),
        "\r\n\r\n".into(),
        echo(2).0.replace('\n', "\r\n"),
        "noise\n".into(),
        echo(3).0,
    ]
    .concat();
    let answers = [&echo(1).1, PONG, &echo(2).1, PARSE_ERROR, "\n", &echo(3).1].concat();
    for chunk in (1..20).chain([63, 64, 65, 1000]) {
        let mut bench = Bench::new(chunk).opened();
        assert_eq!(bench.hears(&session).said(), answers, "{chunk} at a time");
        assert_eq!(bench.events(), "NotJson", "{chunk} at a time");
    }
}

#[test]
fn a_line_that_lost_bytes_is_refused_even_if_it_is_valid() {
    // The rest of the line has 15 instead of 12345.
    let mut bench = Bench::new(1000).opened();
    let [before, after] = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"1"#,
        "5\"}}}\n",
    ];
    let (call, answered) = echo(2);
    bench.hears(PING).hears(before).fails(ErrorKind::Other).hears(after).hears(call);
    assert_eq!(bench.said(), format!("{PONG}{NOT_UTF8}\n{answered}"));
    assert_eq!(bench.events(), "fault Other, NotUtf8");
}

#[test]
fn a_line_that_lost_its_beginning_is_refused() {
    let mut bench = Bench::new(1000).opened();
    let (call, answered) = echo(2);
    for lost in 1..call.len() - 1 {
        bench.fails(ErrorKind::Other).hears(&call[lost..]).hears(&call);
        let said = bench.said();
        assert!(
            said.ends_with(&answered) && said.matches("number").count() == 1,
            "without the first {lost}: {said}"
        );
    }
}

#[test]
fn an_id_that_lost_a_digit_does_not_refuse_another_request() {
    let mut bench = Bench::new(1000).opened();
    let long = "x".repeat(3 * RX);
    bench
        .hears(format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":"{long}"}},"id":4"#))
        .turns()
        .unwrap();
    bench.fails(ErrorKind::Other).hears("2}\n").hears(PING);
    assert_eq!(bench.said(), PONG);
    assert_eq!(bench.events(), "fault Other, TooLong");
}

#[test]
fn half_a_line_ends_with_the_silence_after_it() {
    let mut bench = Bench::new(1000).opened();
    let (call, answered) = echo(3);
    bench.hears(r#"{"jsonrpc":"2.0","id":2,"method":"to"#).waits(1999);
    assert_eq!(bench.said(), "");
    assert_eq!(bench.due(), Some(2000));
    assert_eq!(bench.waits(1).said(), format!("{PARSE_ERROR}\n"));
    assert_eq!(bench.hears(call).said(), answered);
    assert_eq!(bench.due(), None);
    // A line that lost its newline.
    assert_eq!(bench.hears(PING.trim_end()).waits(2000).said(), PONG);
}

#[test]
fn a_slow_sender_is_not_interrupted() {
    let mut bench = Bench::new(1000).opened();
    for byte in PING.bytes() {
        bench.hears([byte]).waits(1500);
    }
    assert_eq!(bench.said(), PONG);
    assert_eq!(bench.events(), "");
}

#[test]
fn a_peer_that_starts_again_finds_the_board_ready() {
    let mut bench = Bench::new(1000).opened();
    bench.notes.sleep();
    bench.hears(line(r#""id":1,"method":"tools/call","params":{"name":"slow"}"#));
    bench.hears(r#"{"jsonrpc":"2.0","id":2,"meth"#).waits(2500);
    assert_eq!(bench.said(), format!("{PARSE_ERROR}\n"));
    let hello = r#""id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"2"}}"#;
    let said = bench.hears(line(hello)).said();
    assert!(said.ends_with("\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"b\",\"version\":\"1\"}}}\n"), "{said}");
    assert_eq!(bench.events(), "NotJson, cancelled, initialize V2024_11_05");
}

#[test]
fn a_slow_tool_and_frames_are_processed_in_turn() {
    let mut bench = Bench::new(1000).opened();
    bench
        .hears(line(r#""id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}"#))
        .hears(PING.repeat(3));
    let progress = |step: u32| {
        line(&format!(
            r#""method":"notifications/progress","params":{{"progressToken":"t","progress":{step},"total":3}}"#
        ))
    };
    let done = line(r#""id":1,"result":{"content":[{"type":"text","text":"done"}]}"#);
    assert_eq!(
        bench.said(),
        [&progress(1), PONG, &progress(2), PONG, &progress(3), &done, PONG].concat()
    );
}

#[test]
fn what_comes_during_a_long_response_is_read_before_it_ends() {
    let text = "x".repeat(60);
    let call = line(&format!(
        r#""id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}"#
    ));
    // One read brings the call, and the response takes several writes.
    let mut bench = Bench::new(call.len()).opened();
    bench.hears(&call).hears(PING);
    let said = bench.said();
    assert!(said.contains(&text) && said.ends_with(PONG), "{said}");
    assert_eq!(bench.unread(), 0);
}

#[test]
fn a_slow_tool_is_cancelled_or_expires() {
    let call = line(r#""id":1,"method":"tools/call","params":{"name":"slow"}"#);
    let mut bench = Bench::new(1000).opened();
    bench.notes.sleep();
    bench
        .hears(&call)
        .hears(line(r#""method":"notifications/cancelled","params":{"requestId":1}"#))
        .hears(PING);
    assert_eq!(bench.said(), PONG);
    assert_eq!(bench.events(), "cancelled");
    bench.hears(&call).turns().unwrap();
    assert_eq!(bench.due(), Some(60_000));
    assert_eq!(
        bench.waits(60_000).said(),
        line(r#""id":1,"error":{"code":-32603,"message":"The request timed out"}"#)
    );
    assert_eq!(bench.events(), "expired");
}

#[test]
fn what_came_in_time_is_handled_before_timeouts_and_timeouts_before_what_never_ends() {
    let call = line(r#""id":1,"method":"tools/call","params":{"name":"slow"}"#);
    let mut bench = Bench::new(1000).opened();
    bench.notes.sleep();
    bench.hears(&call).waits(60_000);
    // The loop comes late.
    bench.hears(line(r#""method":"notifications/cancelled","params":{"requestId":1}"#));
    assert_eq!((&*bench.said(), &*bench.events()), ("", "cancelled"));
    bench.hears(&call).waits(60_000);
    let said = bench.hears(PING.repeat(100)).said();
    assert_eq!(said.matches(PONG).count(), 100);
    assert!(!said.ends_with("timed out\"}}\n") && bench.events() == "expired", "{said}");
}

#[test]
fn only_the_end_of_the_connection_or_the_handlers_error_ends_the_loop() {
    let mut bench = Bench::new(1000).opened();
    bench.hears(&PING[..10]).fails(ErrorKind::Interrupted).hears(&PING[10..]);
    assert_eq!(bench.said(), PONG);
    assert_eq!(bench.events(), "");
    assert_eq!(
        bench.fails(ErrorKind::NotConnected).turns(),
        Err(Error::Io(ErrorKind::NotConnected))
    );
    bench.notes.strict = true;
    assert_eq!(bench.fails(ErrorKind::TimedOut).turns(), Err(Error::Io(ErrorKind::TimedOut)));
    // The loop can be continued.
    bench.notes.strict = false;
    assert_eq!(bench.hears(PING).said(), PONG);
}

#[test]
fn after_a_connection_s_end_the_next_begins_as_the_first() {
    let hello = line(
        r#""id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
    );
    let long = line(&format!(r#""id":7,"method":"{}""#, "x".repeat(RX)));
    let slow = line(r#""id":1,"method":"tools/call","params":{"name":"slow"}"#);
    for cut in [&slow[..30], &slow, &long[..RX + 10], "noise", &[PING, PING, &slow[..7]].concat()] {
        let mut bench = Bench::new(1000).opened();
        bench.notes.sleep();
        bench.hears(cut).fails(ErrorKind::NotConnected);
        assert_eq!(bench.turns(), Err(Error::Io(ErrorKind::NotConnected)));
        let said = bench.reconnects().hears(&hello).said();
        assert!(
            said.contains("\"id\":0,\"result\"") && said.matches('\n').count() == 1,
            "{cut}: {said}"
        );
    }
    // In the middle of a response.
    let mut bench = Bench::new(1000).opened();
    assert_eq!(bench.goes_deaf().hears(echo(1).0).turns(), Err(Error::WriteZero));
    assert_eq!(bench.reconnects().hears(&hello).said().matches('\n').count(), 1);
}
