//! A server's connection.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, CatalogResponse, Change, ClientRequest, Connection, GrowingServerState, RawJson,
    RequestHandle, RxBuffer, STEP_OUTPUT, SendError, ServerConfig, ServerEvent, ServerFeatures,
    ServerState, Spare, Step, ToolOutput, TxBuffer, entries,
};

use crate::world::*;

/// Makes a connection with buffers of these lengths.
type Serve<T, const N: usize> =
    fn(usize, usize) -> Connection<'static, T, Vec<u8>, Vec<u8>, Reply, N>;

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
            let pump = |bytes: &[u8], _: &mut Spare<'_>| {
                let n = way.1.min(bytes.len());
                written.extend_from_slice(&bytes[..n]);
                Ok::<_, SendError>(n)
            };
            let result = TextResult::new(&name);
            turn.send(pump, |server, tx| server.respond(request.handle, &result, tx)).unwrap();
        });
        assert!(!closed);
        // What the turns wrote stands between what the loop wrote, in an order that sizes decide.
        outputs.push(pipe.output().len() + written.len());
    }
    outputs.dedup();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
}

#[test]
fn outcomes_are_sent_when_there_is_room_in_any_pieces() {
    outcomes_in_any_pieces(serving);
    outcomes_in_any_pieces(growing);
}

fn outcomes_in_any_pieces<T: OfServer, const N: usize>(serving: Serve<T, N>) {
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
fn a_catalog_responds_by_an_outcome() {
    type Reply = Result<ToolOutput<'static>, CatalogResponse<'static>>;
    static CATALOG: Catalog<'_> = Catalog::new()
        .tools(entries![Tool::new("t", RawJson::from_static(r#"{"type":"object"}"#))]);
    let request = |id: u32, method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#) + "\n"
    };
    let named = |id, name| request(id, "tools/call", &format!(r#"{{"name":"{name}"}}"#));
    let input = [OPEN, &request(1, "tools/list", "{}"), &named(2, "u"), &named(3, "t")].concat();
    for room in [16, 4096] {
        let (rx, tx) = (RxBuffer::new(vec![0; 1024]), TxBuffer::new(vec![0; room]));
        let mut connection: Connection<'_, ServerState<4, 0>, _, _, Reply, 4> =
            Connection::new(&CONFIG, ServerState::new(), rx, tx);
        let mut pipe = Pipe::new(&input, (usize::MAX, usize::MAX));
        pipe.run(&mut connection, 0, |event, mut turn| {
            let ServerEvent::Request(request) = event else { return };
            assert!(turn.answer(request.handle, Err(CATALOG.response(&request))).is_ok());
        });
        connection.end_of_input();
        assert!(pipe.run(&mut connection, 0, |_, _| {}), "it closes");
        let mut lines: Vec<&str> = rest(pipe.output()).lines().collect();
        lines.sort_unstable();
        let list = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
        let error = |id: u32, code: i32, message: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#
            )
        };
        let expected = [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{list}}}"#),
            error(2, -32602, "Unknown tool: u"),
            error(3, -32603, "The application sent no response"),
        ];
        assert_eq!(lines, expected, "{room}");
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
    pipe.answer(&mut connection, || Reply::Text("x".repeat(90)));
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
    pipe.answer(&mut connection, || Reply::Counted("x".repeat(len), &SENT));
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
        assert!(pipe.requests(&mut connection).is_empty());
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
    let mut pipe = Pipe::new(&input, (9, 5));
    let handle = pipe.requests(&mut connection)[0];
    connection.end_of_input();
    assert!(!pipe.run(&mut connection, 0, |_, _| {}), "a request is open");
    assert_eq!(rest(pipe.output()), pong(2));
    assert!(connection.answer(handle, Reply::Error).is_ok());
    assert!(pipe.run(&mut connection, 0, |_, _| {}));
    assert!(pipe.output().ends_with("\"message\":\"no\"}}\n"), "{}", pipe.output());
    assert!(matches!(connection.next(at(0)), Step::Closed));
}

#[test]
fn an_outcome_that_cannot_be_sent_becomes_an_error() {
    let input = format!("{OPEN}{}", call(1));
    for way in WAYS {
        let (mut connection, mut pipe) = (serving(256, 16), Pipe::new(&input, way));
        pipe.answer(&mut connection, || Reply::Invalid);
        let error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"The response cannot be sent\"}}\n";
        assert_eq!(rest(pipe.output()), error);
    }
}

#[test]
fn a_frame_that_a_turn_began_and_left_is_broken_off() {
    let input = format!("{OPEN}{}{}{}", call(1), ping(2), call(3));
    for way in WAYS {
        let (mut connection, mut pipe) = (serving(256, 32), Pipe::new(&input, way));
        let mut left = None;
        pipe.run(&mut connection, 0, |event, mut turn| {
            let ServerEvent::Request(request) = event else { return };
            let result = TextResult::new("far longer than the output buffer");
            if left.is_some() {
                assert!(turn.answer(request.handle, Reply::Text("b".into())).is_ok());
            } else {
                // Bytes that are pending may be a reason, too.
                if turn.parts().1.is_idle() {
                    assert_eq!(turn.respond(request.handle, &result), Err(SendError::Full));
                    assert!(turn.parts().1.is_mid_frame());
                }
                left = Some(request.handle);
            }
        });
        // Its request is open.
        let left = left.expect("a request");
        assert!(connection.answer(left, Reply::Text("a".into())).is_ok());
        pipe.run(&mut connection, 0, |_, _| {});
        let lines: Vec<_> = rest(pipe.output()).split_inclusive('\n').collect();
        let (broken, mut whole): (Vec<&str>, Vec<&str>) =
            lines.iter().partition(|line| serde_json::from_str::<serde_json::Value>(line).is_err());
        assert!(broken.len() <= 1, "{lines:?}");
        whole.sort_unstable_by_key(|line| line.find("\"id\":").map(|at| line[at..].to_owned()));
        assert_eq!(whole, [said(1, "a"), pong(2), said(3, "b")], "{way:?}");
    }
}

#[test]
fn an_outcome_goes_on_with_the_frame_that_a_turn_began() {
    outcome_goes_on(serving);
    outcome_goes_on(growing);
}

fn outcome_goes_on<T: OfServer, const N: usize>(serving: Serve<T, N>) {
    let input = format!("{OPEN}{}{}", call(1), call(2));
    for way in WAYS {
        let (mut connection, mut pipe) = (serving(256, 64), Pipe::new(&input, way));
        let [one, two] = pipe.requests(&mut connection)[..] else { panic!("two requests") };
        let text = "y".repeat(200);
        let mut turn = connection.turn(at(0));
        assert_eq!(turn.respond(two, &TextResult::new(&text)), Err(SendError::Full));
        // The older request is not preferred.
        assert!(turn.answer(one, Reply::Text("x".repeat(200))).is_ok());
        assert!(turn.answer(two, Reply::Text(text.clone())).is_ok());
        pipe.run(&mut connection, 0, |_, _| {});
        assert_eq!(rest(pipe.output()), said(2, &text) + &said(1, &"x".repeat(200)));
    }
}

#[test]
fn a_late_outcome_does_not_replace_that_of_the_next_request() {
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
    let input = format!("{OPEN}{}{cancel}{}", call(1), call(2));
    let (mut connection, mut pipe) = (serving(256, 64), Pipe::new(&input, WAYS[0]));
    let [one, two] = pipe.requests(&mut connection)[..] else { panic!("two requests") };
    assert!(connection.answer(two, Reply::Text("b".into())).is_ok());
    assert!(connection.answer(one, Reply::Text("a".into())).is_err());
    pipe.run(&mut connection, 0, |_, _| {});
    assert_eq!(rest(pipe.output()), said(2, "b"));
}

#[test]
fn outcomes_of_requests_that_are_cancelled_give_way() {
    let mut connection = growing(256, 64);
    Pipe::new(OPEN, WAYS[0]).run(&mut connection, 0, |_, _| {});
    let outcome = Arc::new("x".repeat(100));
    for id in 1..1000 {
        // The client reads nothing, so the first response has begun and is not cancelled any more.
        let cancel = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
        );
        let input = call(id) + &cancel;
        let reply = || Reply::Shared(outcome.clone());
        Pipe::new(&input, (usize::MAX, 0)).answer(&mut connection, reply);
        assert!(Arc::strong_count(&outcome) <= 1 + 4, "{id}");
    }
}

/// Makes a connection whose requests time out after 50 milliseconds.
fn timing_out(tx: usize) -> Serving {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
            .request_timeout(Duration::from_millis(50));
    let (rx, tx) = (RxBuffer::new(vec![0; 256]), TxBuffer::new(vec![0; tx]));
    Connection::new(&CONFIG, ServerState::new(), rx, tx)
}

#[test]
fn timeouts_are_steps_and_their_responses_wait_for_room() {
    let mut connection = timing_out(16);
    let input = format!("{OPEN}{}", call(1));
    let (mut pipe, mut timed_out) = (Pipe::new(&input, (8, 8)), 0);
    pipe.run(&mut connection, 0, |_, _| {});
    let Step::Io { write: [], until, .. } = connection.next(at(1)) else { panic!() };
    assert_eq!((until, connection.poll_timeout()), (Some(at(50)), Some(at(50))));
    pipe.run(&mut connection, 49, |_, _| panic!("it is too early"));
    // The client reads nothing: a timeout that waits for room is no time to wait for.
    pipe.take = 0;
    for now in [50, 51, 1000] {
        pipe.run(&mut connection, now, |_, _| panic!("there is no room"));
        let Step::Io { write: [_, ..], until, .. } = connection.next(at(now)) else { panic!() };
        assert_eq!(until, None, "{now}");
        assert_eq!(connection.poll_timeout(), None, "{now}");
    }
    pipe.take = 8;
    for now in [1001, 1002] {
        pipe.run(&mut connection, now, |event, _| {
            timed_out += u32::from(matches!(event, ServerEvent::RequestTimedOut { .. }));
        });
        assert_eq!(timed_out, 1);
    }
    assert!(rest(pipe.output()).ends_with("\"message\":\"The request timed out\"}}\n"));
}

#[test]
fn a_handler_can_send_although_a_timeout_s_response_has_begun() {
    let mut connection = timing_out(16);
    Pipe::new(&format!("{OPEN}{}", call(1)), (8, 8)).run(&mut connection, 0, |_, _| {});
    let (input, mut output, mut answered) = (call(2), Vec::new(), false);
    // The response to the first request begins and stops.
    let Step::Io { write: [_, ..], mut read, .. } = connection.next(at(50)) else { panic!() };
    read.spare()[..input.len()].copy_from_slice(input.as_bytes());
    read.commit(input.len());
    while !answered {
        match connection.next(at(51)) {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                let result = TextResult::new("two");
                let write = |bytes: &[u8], _: &mut Spare<'_>| {
                    output.extend_from_slice(bytes);
                    Ok::<_, SendError>(bytes.len())
                };
                let sent =
                    turn.send(write, |server, tx| server.respond(request.handle, &result, tx));
                assert_eq!(sent, Ok(()));
                answered = true;
            }
            Step::Io { write, .. } => {
                output.extend_from_slice(write);
                let n = write.len();
                connection.wrote(n);
            }
            _ => {}
        }
    }
    let output = String::from_utf8(output).expect("UTF-8");
    let (first, second) = output.split_once('\n').expect("two responses");
    assert!(first.ends_with("\"message\":\"The request timed out\"}}"), "{output}");
    assert!(said(2, "two").starts_with(second) && !second.is_empty(), "{output}");
}

#[test]
fn a_connection_that_is_reset_begins_as_a_new_one() {
    let slow = format!("{OPEN}{}", call(1));
    let half = format!("{OPEN}{}{}", call(1), &call(2)[..20]);
    for (input, ends) in [(OPEN, false), (&OPEN[..50], false), (&slow, true), (&half, false)] {
        let mut connection = serving(256, 16);
        let mut pipe = Pipe::new(input, (9, 5));
        pipe.answer(&mut connection, || Reply::Text("x".repeat(99)));
        // It stops in the middle of an answer.
        let mut pipe = Pipe::new("{\"jsonrpc\":\"2.0\",\"id\":9}\n", (99, 0));
        pipe.run(&mut connection, 0, |_, _| {});
        if ends {
            connection.end_of_input();
        }
        connection.reset();
        let mut pipe = Pipe::new(OPEN, (7, 3));
        assert!(!pipe.run(&mut connection, 0, |_, _| {}));
        assert_eq!(pipe.output().matches('\n').count(), 1, "{}", pipe.output());
        assert!(pipe.output().starts_with("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\""));
    }
}

#[test]
fn a_handle_beyond_the_places_gets_its_outcome_back() {
    let (rx, tx) = (RxBuffer::new(vec![0; 256]), TxBuffer::new(vec![0; 256]));
    let mut connection: Connection<_, _, _, Reply, 1> =
        Connection::new(&CONFIG, ServerState::<4, 0>::new(), rx, tx);
    let input = format!("{OPEN}{}{}", call(1), call(2));
    let handles = Pipe::new(&input, WAYS[0]).requests(&mut connection);
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
fn a_request_that_waits_for_an_entry_does_not_wait_for_room() {
    let calls = (1..=4).map(call).collect::<String>();
    let mut connection = serving(4096, 64);
    Pipe::new(&format!("{OPEN}{calls}"), (99, 99)).run(&mut connection, 0, |_, _| {});
    let batch = [ping(5), ping(6), call(7)].map(|line| line.trim_end().to_owned()).join(",");
    let batch = format!("[{batch}]\n");
    // The responses to the pings find no room at first.
    let mut pipe = Pipe::new(&batch, (99, 0));
    pipe.run(&mut connection, 0, |_, _| {});
    assert!(connection.waits_for_room());
    pipe.take = 99;
    pipe.run(&mut connection, 0, |_, _| {});
    assert_eq!(pipe.output(), [pong(5), pong(6)].concat());
    assert!(!connection.waits_for_room());
}

#[test]
fn the_rest_of_a_frame_and_a_change_wait_for_room() {
    static CHANGING: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS_LIST_CHANGED);

    let (rx, tx) = (RxBuffer::new(vec![0; 256]), TxBuffer::new(vec![0; 64]));
    let mut connection: Growing = Connection::new(&CHANGING, GrowingServerState::new(4, 0), rx, tx);
    Pipe::new(OPEN, (99, 99)).run(&mut connection, 0, |_, _| {});
    let input = ping(1);
    let mut pipe = Pipe::new(&input, (99, 0));
    pipe.run(&mut connection, 0, |_, _| {});
    assert!(!connection.waits_for_room());
    assert!(connection.publish(&Change::tools()));
    pipe.run(&mut connection, 0, |_, _| {});
    assert!(connection.waits_for_room(), "the change does");
    pipe.take = 99;
    pipe.run(&mut connection, 0, |_, _| {});
    assert!(!connection.waits_for_room());
    assert_eq!(pipe.output().lines().count(), 2);

    let text = "x".repeat(100);
    let open = Pipe::new(&call(2), (99, 99)).requests(&mut connection)[0];
    let mut turn = connection.turn(at(0));
    let (server, tx) = turn.parts();
    let sent = server.respond(open, &TextResult::new(&text), tx);
    assert_eq!(sent, Err(SendError::Full));
    assert!(connection.waits_for_room(), "the rest of the response does");
}

#[test]
fn what_a_turn_writes_is_not_cut_into_slices() {
    let mut connection = serving(256, 3 * STEP_OUTPUT);
    let text = "x".repeat(2 * STEP_OUTPUT);
    let mut pipe = Pipe::new(OPEN, (99, 1 << 20));
    pipe.run(&mut connection, 0, |_, _| {});
    let input = call(1);
    let mut pipe = Pipe::new(&input, (99, 1 << 20));
    pipe.run(&mut connection, 0, |event, mut turn| {
        let ServerEvent::Request(request) = event else { return };
        let (server, tx) = turn.parts();
        assert_eq!(server.respond(request.handle, &TextResult::new(&text), tx), Ok(()));
    });
    assert_eq!(pipe.output(), said(1, &text));
}

#[test]
fn a_flood_of_notifications_takes_a_step_for_each() {
    let unknown = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"x\"}}\n";
    let mut connection = serving(1 << 14, 256);
    let input = format!("{OPEN}{}", call(1));
    let handle = Pipe::new(&input, WAYS[0]).requests(&mut connection)[0];
    let flood = unknown.repeat(100);
    let Step::Io { mut read, .. } = connection.next(at(0)) else { panic!() };
    read.spare()[..flood.len()].copy_from_slice(flood.as_bytes());
    read.commit(flood.len());
    for step in 0..100 {
        assert!(matches!(connection.next(at(0)), Step::Again), "{step}");
        // The outcome does not wait for the others.
        match step {
            10 => assert!(connection.answer(handle, Reply::Text("a".into())).is_ok()),
            11 => assert_eq!(connection.turn(at(0)).io().0, said(1, "a").as_bytes()),
            _ => {}
        }
    }
    assert!(matches!(connection.next(at(0)), Step::Io { .. }));
}

#[test]
fn a_full_table_stops_reading_requests_until_one_is_answered() {
    let calls: Vec<_> = (1..=20).map(call).collect();
    let input = OPEN.to_owned() + &calls.concat();
    for way in WAYS {
        let (mut connection, mut pipe) = (serving(256, 64), Pipe::new(&input, way));
        let mut open = Vec::new();
        for done in 0..20 {
            open.extend(pipe.requests(&mut connection));
            assert_eq!(open.len(), 20.min(done + 4), "the table has four entries");
            let reply = Reply::Text("x".repeat(100));
            assert!(connection.answer(open[done], reply).is_ok());
        }
        pipe.run(&mut connection, 0, |_, _| {});
        let expected: String = (1..=20).map(|id| said(id, &"x".repeat(100))).collect();
        assert_eq!(rest(pipe.output()), expected);
    }
}

#[test]
fn a_table_with_one_entry_is_not_left_to_a_subscription() {
    let modern = |id: u32, method: &str, params: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}}}}}}}}"#
        ) + "\n"
    };
    let listen = modern(1, "subscriptions/listen", r#""notifications":{}"#);
    let input = listen + &modern(2, "tools/call", r#""name":"t""#);
    let (rx, tx) = (RxBuffer::new(vec![0; 512]), TxBuffer::new(vec![0; 256]));
    let mut connection: Connection<_, _, _, Reply, 1> =
        Connection::new(&CONFIG, ServerState::<1, 0>::new(), rx, tx);
    let mut pipe = Pipe::new(&input, WAYS[0]);
    assert_eq!(pipe.requests(&mut connection).len(), 1);
    assert!(pipe.output().contains(r#""id":1,"error":{"code":-32603"#), "{}", pipe.output());
}

#[test]
fn a_loop_that_comes_late_reads_before_it_handles_timeouts() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let cancel = cancel.to_owned() + "\n";
    for is_late in [false, true] {
        let mut connection = timing_out(256);
        let input = format!("{OPEN}{}", call(1));
        Pipe::new(&input, WAYS[0]).run(&mut connection, 0, |_, _| {});
        let Step::Io { mut read, .. } = connection.next(at(0)) else { panic!() };
        read.spare()[..cancel.len()].copy_from_slice(cancel.as_bytes());
        read.commit(cancel.len());
        let step = if is_late { connection.catch_up(at(100)) } else { connection.next(at(100)) };
        let Step::Event(event, _) = step else { panic!() };
        assert_eq!(is_late, matches!(event, ServerEvent::RequestCancelled { .. }), "{event:?}");
    }
}

#[test]
fn a_line_that_nothing_finishes_is_cut_off() {
    let input = format!("{OPEN}{}", call(1));
    let (mut connection, mut pipe) = (serving(256, 64), Pipe::new(&input, WAYS[0]));
    pipe.run(&mut connection, 0, |event, mut turn| {
        let ServerEvent::Request(request) = event else { return };
        let mut is_given_up = false;
        let pump = |bytes: &[u8], _: &mut Spare<'_>| Ok::<_, SendError>(bytes.len());
        turn.send(pump, |server, tx| {
            if tx.is_mid_frame() {
                is_given_up = true;
                return server.abort_frame(tx);
            }
            server.respond(request.handle, &TextResult::new(&"x".repeat(1000)), tx)
        })
        .unwrap();
        assert!(is_given_up);
        turn.send(pump, |server, tx| {
            assert!(!tx.is_mid_frame() && server.is_request_open(request.handle));
            server.abort_frame(tx)
        })
        .unwrap();
        turn.send(pump, |server, tx| server.respond(request.handle, &TextResult::new("short"), tx))
            .unwrap();
    });
    assert!(pipe.output().ends_with("short\"}]}}\n"), "{}", pipe.output());
}

#[test]
fn a_growing_state_has_room_for_several_calls_of_one_turn() {
    let (rx, tx) = (RxBuffer::new(vec![0; 256]), TxBuffer::new(vec![0; 1024]));
    let mut connection: Connection<_, _, _> =
        Connection::new(&CONFIG, GrowingServerState::new(64, 0), rx, tx);
    for (now, line) in OPEN.split_inclusive('\n').enumerate() {
        let Step::Io { mut read, .. } = connection.next(at(0)) else { panic!() };
        read.spare()[..line.len()].copy_from_slice(line.as_bytes());
        read.commit(line.len());
        while !matches!(connection.next(at(now as u64)), Step::Io { .. }) {}
    }
    let mut turn = connection.turn(at(9));
    let (server, tx) = turn.parts();
    for _ in 0..8 {
        assert!(server.request(at(9), ClientRequest::ping(), tx).is_ok());
    }
}
