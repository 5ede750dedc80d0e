//! `poll-server` as a process.

mod sockets;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::process::Command;

use serde_json::{Value, json};

use sockets::{Client, Server, text};

#[test]
fn the_poll_loop_serves_several_clients_in_one_thread() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for round in 1..=10 {
        for (number, client) in clients.iter_mut().enumerate() {
            let arguments = json!({"a": number, "b": round});
            assert_eq!(
                text(&client.call(round, "add", arguments)),
                (number as u32 + round).to_string()
            );
        }
    }
    // An incomplete line of one client does not block the others.
    clients[0].0.get_mut().write_all(b"{\"jsonrpc\":\"2.0\"").unwrap();
    assert_eq!(text(&clients[1].call(11, "echo", json!({"text": "x"}))), "x");
    let long = "x".repeat(60_000);
    assert_eq!(text(&clients[2].call(12, "echo", json!({"text": long}))), long);
    let refused = clients[3].call(13, "echo", json!({"text": "x".repeat(100_000)}));
    assert!(refused["error"]["code"].is_i64(), "{refused}");
    assert_eq!(clients[3].call(14, "add", json!({"a": "1"}))["result"]["isError"], true);
}

#[cfg(target_os = "linux")]
#[test]
fn r3_b2_poll_server_goes_on_after_a_signal() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let mut client = server.connect();
    for id in 1..=3 {
        assert_eq!(text(&client.call(id, "echo", json!({"text": "on"}))), "on");
        // The signal to go on ends the wait of a stopped process with `EINTR`.
        let process = server.child.id();
        let stop_and_go = format!(
            "kill -STOP {process} && until grep -q '^State:.T' /proc/{process}/status; do :; done \
             && kill -CONT {process}"
        );
        assert!(Command::new("sh").args(["-c", &stop_and_go]).status().unwrap().success());
    }
    assert_eq!(text(&client.call(4, "echo", json!({"text": "still on"}))), "still on");
}

#[cfg(target_os = "linux")]
#[test]
fn poll_server_serves_those_who_wait_once_it_has_files_again() {
    let limited = format!("ulimit -n 20; exec {POLL_SERVER} 127.0.0.1:0");
    let server = Server::start("sh", &["-c", &limited]);
    let mut clients: Vec<_> = (0..30).map(|_| server.connect()).collect();
    // The last of them waits in the queue of the operating system.
    clients[29].send(1, "tools/call", json!({"name": "echo", "arguments": {"text": "late"}}));
    assert_eq!(text(&clients[0].call(1, "echo", json!({"text": "x"}))), "x");
    clients.drain(..20);
    assert_eq!(text(&clients[9].next()), "late");
}

#[test]
fn poll_server_reads_while_it_cannot_write_and_responds_to_all() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let mut client = server.connect();
    let text = "x".repeat(50_000);
    let mut output = client.0.get_ref().try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let answers: Vec<Value> = std::iter::from_fn(|| {
            let mut line = String::new();
            client.0.read_line(&mut line).unwrap();
            (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
        })
        .collect();
        answers
    });
    let mut writer = Client(BufReader::new(output.try_clone().unwrap()));
    for id in 0..100 {
        writer.send(id, "tools/call", json!({"name": "echo", "arguments": {"text": text}}));
    }
    output.flush().unwrap();
    output.shutdown(Shutdown::Write).unwrap();
    let answers = reader.join().unwrap();
    assert!(answers.iter().map(|answer| answer["id"].as_u64().unwrap()).eq(0..100));
}

#[test]
fn a_slow_tool_of_poll_server_delays_nothing_else() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.send(1, "tools/call", json!({"name": "wait", "arguments": {"seconds": 1}}));
    one.0.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").unwrap();
    assert_eq!(one.next(), json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    assert_eq!(text(&two.call(1, "echo", json!({"text": "x"}))), "x");
    // The end of its input does not end a call.
    one.0.get_ref().shutdown(Shutdown::Write).unwrap();
    let answer = one.next();
    assert_eq!((&answer["id"], text(&answer)), (&json!(1), "waited 1 s"));
    assert_eq!(one.0.read_line(&mut String::new()).unwrap(), 0);
}

#[test]
fn a_tool_of_poll_server_that_takes_too_long_times_out() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0", "1"]);
    let mut clients = [server.connect(), server.connect()];
    for (id, client) in (1..).zip(&mut clients) {
        client.send(id, "tools/call", json!({"name": "wait", "arguments": {"seconds": 3}}));
    }
    // Nothing else happens meanwhile.
    for (id, client) in (1..).zip(&mut clients) {
        let response = client.next();
        assert_eq!(response["id"], id);
        assert_eq!(response["error"]["message"], "The request timed out", "{response}");
    }
    // The outcome comes too late.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(text(&clients[0].call(3, "add", json!({"a": 1, "b": 2}))), "3");
}

#[test]
fn an_answer_of_poll_server_may_be_longer_than_all_buffers() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let mut client = server.connect();
    let part = "0123456789abcdef".repeat(64);
    let answer = client.call(1, "echo", json!({"text": part, "times": 1024}));
    assert_eq!(text(&answer), part.repeat(1024));
}

#[test]
fn t2_a_call_of_poll_server_takes_only_so_much_memory() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let mut client = server.connect();
    let part = "x".repeat(60_000);
    let answer = client.call(1, "echo", json!({"text": part, "times": 1_000_000}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(text(&answer), "The result would be longer than 16 MiB");
    assert_eq!(text(&client.call(2, "echo", json!({"text": "on", "times": 2}))), "onon");
}

#[test]
fn a_client_of_poll_server_that_does_not_read_delays_only_itself() {
    let server = Server::start(POLL_SERVER, &["127.0.0.1:0"]);
    let (mut deaf, mut other) = (server.connect(), server.connect());
    let mut writer = Client(BufReader::new(deaf.0.get_ref().try_clone().unwrap()));
    let arguments = json!({"text": "x".repeat(1000), "times": 100});
    let calls = 0..200;
    // Stops once nothing is read from it any more.
    let writing = std::thread::spawn({
        let calls = calls.clone();
        move || {
            for id in calls {
                writer.send(id, "tools/call", json!({"name": "echo", "arguments": arguments}));
            }
        }
    });
    for id in 1..100 {
        assert_eq!(text(&other.call(id, "add", json!({"a": id, "b": 1}))), (id + 1).to_string());
    }
    for id in calls {
        let answer = deaf.next();
        assert_eq!((&answer["id"], text(&answer).len()), (&json!(id), 100_000));
    }
    writing.join().unwrap();
}

const POLL_SERVER: &str = env!("CARGO_BIN_EXE_poll-server");

#[test]
fn an_address_that_is_in_use_is_named() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let ended = Command::new(POLL_SERVER).arg(&address).output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(error.contains(&format!("{address}: ")), "{error}");
}
