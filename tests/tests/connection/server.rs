//! A server's connection.

use std::cell::Cell;
use std::sync::Mutex;
use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Connection, RequestHandle, RxBuffer, SendError, ServerConfig, ServerEvent, ServerFeatures,
    ServerState, Step, TxBuffer,
};

use crate::world::*;

/// The output after the response to `initialize`.
fn rest(output: &str) -> &str {
    output.split_once('\n').map_or("", |(_, rest)| rest)
}

#[test]
fn an_answer_that_borrows_is_sent_while_the_event_lives() {
    let input = format!("{OPEN}{}{}{}", call(1), ping(2), call(3));
    let mut outputs = Vec::new();
    for (way, tx) in WAYS.iter().flat_map(|way| [12, 64, 4096].map(|tx| (*way, tx))) {
        let (mut connection, mut pipe) = (serving(256, tx), Pipe::new(&input, way));
        let mut written = Vec::new();
        let closed = pipe.run(&mut connection, 0, |event, mut turn| {
            let ServerEvent::Request(request) = event else { return };
            let name = request.name().expect("a tool").to_string();
            let pump = |bytes: &[u8], _: &mut mcp_sansio::Spare<'_>| {
                let n = way.1.min(bytes.len());
                written.extend_from_slice(&bytes[..n]);
                Ok::<_, SendError>(n)
            };
            let result = TextResult::new(&name);
            turn.send(pump, |server, tx| server.respond(request.handle, &result, tx)).unwrap();
        });
        assert!(!closed);
        // What the turns wrote stands between what the loop wrote, in an order that sizes decide.
        let mut lines = pipe.output().len() + written.len();
        outputs.push(std::mem::take(&mut lines));
    }
    outputs.dedup();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
}

#[test]
fn outcomes_are_sent_when_there_is_room_in_any_pieces() {
    let input = format!("{OPEN}{}{}{}{}", call(1), ping(2), call(3), ping(4));
    let long = "x".repeat(1000);
    for (way, tx) in WAYS.iter().flat_map(|way| [1, 12, 64, 4096].map(|tx| (*way, tx))) {
        let (mut connection, mut pipe) = (serving(256, tx), Pipe::new(&input, way));
        pipe.run(&mut connection, 0, |event, mut turn| {
            let ServerEvent::Request(request) = event else { return };
            assert!(turn.answer(request.handle, Reply::Text(long.clone())).is_ok());
            assert!(turn.answer(request.handle, Reply::Error).is_err(), "it has one already");
        });
        let mut lines: Vec<_> = rest(pipe.output()).split_inclusive('\n').collect();
        lines.sort_unstable_by_key(|line| (line.len(), *line));
        assert_eq!(lines, [pong(2), pong(4), said(1, &long), said(3, &long)], "{way:?} {tx}");
    }
}

#[test]
fn a_slow_request_does_not_hold_up_others() {
    for way in WAYS {
        let mut connection = serving(256, 64);
        let (mut slow, mut cancelled) = (None, None);
        let input = format!("{OPEN}{}{}", call(1), ping(2));
        let mut pipe = Pipe::new(&input, way);
        let mut on_event = |event: ServerEvent<'_>| match event {
            ServerEvent::Request(request) => slow = Some(request.handle),
            ServerEvent::RequestCancelled { request, .. } => cancelled = Some(request),
            _ => {}
        };
        pipe.run(&mut connection, 0, |event, _| on_event(event));
        assert_eq!(rest(pipe.output()), pong(2));
        // A cancellation is heard while the output is full.
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
        let input = format!("{}{}{cancel}\n", call(4), call(5));
        let mut handles: Vec<RequestHandle> = Vec::new();
        let mut pipe = Pipe::new(&input, (way.0, 0));
        pipe.run(&mut connection, 0, |event, mut turn| match event {
            ServerEvent::Request(request) => {
                handles.push(request.handle);
                if handles.len() == 1 {
                    let reply = Reply::Text("y".repeat(500));
                    assert!(turn.answer(request.handle, reply).is_ok());
                }
            }
            ServerEvent::RequestCancelled { request, .. } => assert_eq!(request, handles[1]),
            event => panic!("{event:?}"),
        });
        assert_eq!(handles.len(), 2);
        assert!(!connection.turn(at(0)).parts().0.is_request_open(handles[1]));
        // The first one is done in the end.
        assert!(connection.answer(slow.expect("a request"), Reply::Text("z".into())).is_ok());
        let mut pipe = Pipe::new("", way);
        pipe.run(&mut connection, 0, |_, _| {});
        assert_eq!(pipe.output(), said(4, &"y".repeat(500)) + &said(1, "z"));
    }
}

#[test]
fn short_responses_do_not_delay_a_long_one() {
    // There is always room for a pong, and never for the result.
    let input = OPEN.to_owned() + &call(1) + &(2..100).map(ping).collect::<String>();
    let (mut connection, mut pipe) = (serving(4096, 128), Pipe::new(&input, (usize::MAX, 40)));
    pipe.run(&mut connection, 0, |event, mut turn| {
        let ServerEvent::Request(request) = event else { return };
        assert!(turn.answer(request.handle, Reply::Text("x".repeat(90))).is_ok());
    });
    let lines: Vec<_> = rest(pipe.output()).split_inclusive('\n').collect();
    assert_eq!(lines.len(), 99);
    assert!(lines[..4].contains(&said(1, &"x".repeat(90)).as_str()), "{lines:?}");
}

thread_local! {
    static SENT: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn a_peer_that_takes_single_bytes_does_not_repeat_the_work() {
    let (len, tx) = (1 << 16, 512);
    SENT.set(0);
    let mut connection = serving(256, tx);
    let input = format!("{OPEN}{}", call(1));
    let mut pipe = Pipe::new(&input, (usize::MAX, 1));
    pipe.run(&mut connection, 0, |event, mut turn| {
        let ServerEvent::Request(request) = event else { return };
        let reply = Reply::Counted("x".repeat(len), &SENT);
        assert!(turn.answer(request.handle, reply).is_ok());
    });
    assert!(pipe.output().ends_with("x\"}]}}\n") && pipe.output().len() > len);
    // Once for each piece, and some times until it begins.
    assert!(SENT.get() < len / tx + 20, "{} times", SENT.get());
}

#[test]
fn lines_that_are_too_long_are_refused_although_the_output_is_full() {
    let long =
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x{}"}}"#, "x".repeat(300)) + "\n";
    let input = OPEN.to_owned() + &long(1) + &ping(2) + &long(3) + &long(4) + &ping(5);
    for (way, tx) in WAYS.iter().flat_map(|way| [1, 64, 4096].map(|tx| (*way, tx))) {
        let (mut connection, mut pipe) = (serving(256, tx), Pipe::new(&input, way));
        pipe.run(&mut connection, 0, |event, _| {
            assert!(!matches!(event, ServerEvent::Request(_)));
        });
        let lines: Vec<_> = rest(pipe.output()).lines().collect();
        let ids = lines.iter().map(|line| {
            let id = line.split("\"id\":").nth(1).and_then(|rest| rest.get(..1));
            (id.unwrap_or_default(), line.contains("error"))
        });
        let expected = [("1", true), ("2", false), ("3", true), ("4", true), ("5", false)];
        assert_eq!(ids.collect::<Vec<_>>(), expected, "{way:?} {tx}: {lines:?}");
    }
}

#[test]
fn a_batch_is_answered_through_any_buffer() {
    let batch = (1..20).map(|id| ping(id).trim_end().to_owned()).collect::<Vec<_>>().join(",");
    let input = format!("{OPEN}[{batch}]\n{}", ping(20));
    for (way, tx) in WAYS.iter().flat_map(|way| [1, 64, 4096].map(|tx| (*way, tx))) {
        let (mut connection, mut pipe) = (serving(4096, tx), Pipe::new(&input, way));
        pipe.run(&mut connection, 0, |_, _| {});
        assert_eq!(rest(pipe.output()), (1..=20).map(pong).collect::<String>(), "{way:?} {tx}");
    }
}

#[test]
fn a_connection_closes_once_everything_is_answered_and_written() {
    // The last line lacks its terminator.
    let input = format!("{OPEN}{}{}", call(1), ping(2).trim_end());
    let mut connection = serving(256, 64);
    let (mut pipe, mut handle) = (Pipe::new(&input, (9, 5)), None);
    pipe.run(&mut connection, 0, |event, _| {
        if let ServerEvent::Request(request) = event {
            handle = Some(request.handle);
        }
    });
    connection.end_of_input();
    assert!(!pipe.run(&mut connection, 0, |_, _| {}), "a request is open");
    assert_eq!(rest(pipe.output()), pong(2));
    assert!(connection.answer(handle.expect("a request"), Reply::Error).is_ok());
    assert!(pipe.run(&mut connection, 0, |_, _| {}));
    assert!(pipe.output().ends_with("\"message\":\"no\"}}\n"), "{}", pipe.output());
    assert!(matches!(connection.next(at(0)), Step::Closed));
}

#[test]
fn an_outcome_that_cannot_be_sent_becomes_an_error() {
    let input = format!("{OPEN}{}", call(1));
    for way in WAYS {
        let (mut connection, mut pipe) = (serving(256, 16), Pipe::new(&input, way));
        pipe.run(&mut connection, 0, |event, mut turn| {
            let ServerEvent::Request(request) = event else { return };
            assert!(turn.answer(request.handle, Reply::Invalid).is_ok());
        });
        let error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"The response cannot be sent\"}}\n";
        assert_eq!(rest(pipe.output()), error);
    }
}

#[test]
fn timeouts_are_steps_and_their_responses_wait_for_room() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
            .request_timeout(Duration::from_millis(50));
    let (rx, tx) = (RxBuffer::new(vec![0; 256]), TxBuffer::new(vec![0; 16]));
    let mut connection: Serving = Connection::new(&CONFIG, ServerState::new(), rx, tx);
    let input = format!("{OPEN}{}", call(1));
    let (mut pipe, mut timed_out) = (Pipe::new(&input, (8, 8)), 0);
    pipe.run(&mut connection, 0, |_, _| {});
    let Step::Io { write: [], until: Some(until), .. } = connection.next(at(1)) else { panic!() };
    assert_eq!(until, at(50));
    for now in [49, 50, 60] {
        pipe.run(&mut connection, now, |event, _| {
            timed_out += u32::from(matches!(event, ServerEvent::RequestTimedOut { .. }));
        });
        assert_eq!(timed_out, u32::from(now > 49));
    }
    assert!(rest(pipe.output()).ends_with("\"message\":\"The request timed out\"}}\n"));
}

#[test]
fn a_handle_beyond_the_places_gets_its_outcome_back() {
    let (rx, tx) = (RxBuffer::new([0; 256]), TxBuffer::new([0; 256]));
    let mut connection: Connection<_, _, _, Reply, 1> =
        Connection::new(&CONFIG, ServerState::<4, 0>::new(), rx, tx);
    let input = format!("{OPEN}{}{}", call(1), call(2));
    let mut handles = Vec::new();
    let mut rest = input.as_bytes();
    loop {
        match connection.next(at(0)) {
            Step::Event(ServerEvent::Request(request), _) => handles.push(request.handle),
            Step::Io { mut read, write, .. } if !rest.is_empty() || !write.is_empty() => {
                let n = read.spare().len().min(rest.len());
                read.spare()[..n].copy_from_slice(&rest[..n]);
                read.commit(n);
                rest = &rest[n..];
                let n = write.len();
                connection.wrote(n);
            }
            Step::Io { .. } => break,
            _ => {}
        }
    }
    let kept = handles.iter().map(|handle| connection.answer(*handle, Reply::Error).is_ok());
    assert_eq!(kept.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_connection_stands_in_a_static_and_moves() {
    type Board = Connection<'static, ServerState<4, 4>, [u8; 512], [u8; 256], Reply, 4>;
    static BOARD: Mutex<Board> = Mutex::new(Connection::new(
        &CONFIG,
        ServerState::new(),
        RxBuffer::new([0; 512]),
        TxBuffer::new([0; 256]),
    ));
    assert!(matches!(BOARD.lock().unwrap().next(at(0)), Step::Io { write: [], .. }));
    let moved = std::thread::spawn(|| {
        let mut connection = Box::new(serving(256, 64));
        let input = format!("{OPEN}{}", ping(1));
        Pipe::new(&input, (7, 7)).run(&mut connection, 0, |_, _| {});
        connection
    });
    let mut connection = moved.join().expect("it ends");
    let input = ping(2);
    let mut pipe = Pipe::new(&input, (7, 7));
    pipe.run(&mut connection, 0, |_, _| {});
    assert_eq!(pipe.output(), pong(2));
}

#[test]
fn a_full_table_stops_reading_requests_until_one_is_answered() {
    let calls: Vec<_> = (1..=20).map(call).collect();
    let input = OPEN.to_owned() + &calls.concat();
    for way in WAYS {
        let (mut connection, mut pipe) = (serving(256, 64), Pipe::new(&input, way));
        let mut open = Vec::new();
        for done in 0..20 {
            pipe.run(&mut connection, 0, |event, _| {
                if let ServerEvent::Request(request) = event {
                    open.push(request.handle);
                }
            });
            assert_eq!(open.len(), 20.min(done + 4), "the table has four entries");
            let reply = Reply::Text("x".repeat(100));
            assert!(connection.answer(open[done], reply).is_ok());
        }
        pipe.run(&mut connection, 0, |_, _| {});
        let expected: String = (1..=20).map(|id| said(id, &"x".repeat(100))).collect();
        assert_eq!(rest(pipe.output()), expected);
    }
}
