//! The servers on sockets, as processes.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

/// The process of a server, and its address. Killed on drop.
struct Server {
    child: Child,
    place: String,
    _stderr: BufReader<ChildStderr>,
}

impl Server {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut child =
            Command::new(program).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let place = line
            .trim()
            .split_once("listening on ")
            .unwrap_or_else(|| panic!("{line}"))
            .1
            .to_owned();
        Self { child, place, _stderr: stderr }
    }

    fn connect(&self) -> Client<TcpStream> {
        Client(BufReader::new(TcpStream::connect(&self.place).unwrap()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Client<T>(BufReader<T>);

impl<T: Read + Write> Client<T> {
    fn send(&mut self, id: u32, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.0.get_mut().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn call(&mut self, id: u32, tool: &str, arguments: Value) -> Value {
        self.send(id, "tools/call", json!({"name": tool, "arguments": arguments}));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

#[test]
fn everything_serves_many_clients_over_tcp_as_one_application() {
    let server = Server::start(EVERYTHING, &["--tcp", "127.0.0.1:0"]);
    let (mut one, mut two) = (server.connect(), server.connect());
    // A slow tool of one client delays neither.
    one.send(1, "tools/call", json!({"name": "slow", "arguments": {"seconds": 3600}}));
    assert_eq!(text(&one.call(2, "test_simple_text", json!({}))), "This is a simple text");
    two.send(
        1,
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": ["test://watched-resource"]}}),
    );
    assert_eq!(two.next()["method"], "notifications/subscriptions/acknowledged");
    // A change by one client is notified to the other.
    one.call(3, "test_trigger_resource_update", json!({}));
    assert_eq!(two.next()["method"], "notifications/resources/updated");
    two.send(2, "resources/read", json!({"uri": "test://watched-resource"}));
    assert_eq!(two.next()["result"]["contents"][0]["text"], "Changes so far: 1");
}

#[cfg(unix)]
#[test]
fn everything_server_replaces_the_unix_socket_of_a_dead_server() {
    use std::os::unix::net::UnixStream;
    let path =
        std::env::temp_dir().join(format!("mcp-sansio-everything-{}.socket", std::process::id()));
    let path = path.to_str().unwrap();
    for _ in 0..2 {
        // A killed server leaves its socket behind.
        let server = Server::start(EVERYTHING, &["--unix", path]);
        assert_eq!(server.place, path);
        let mut client = Client(BufReader::new(UnixStream::connect(path).unwrap()));
        assert_eq!(text(&client.call(1, "test_simple_text", json!({}))), "This is a simple text");
        // A running server keeps its socket.
        let second = Command::new(EVERYTHING).args(["--unix", path]).output().unwrap();
        assert_eq!(second.status.code(), Some(1), "{second:?}");
        assert_eq!(text(&client.call(2, "test_simple_text", json!({}))), "This is a simple text");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn everything_is_served_over_http() {
    let server = Server::start(EVERYTHING, &["--http", "127.0.0.1:0"]);
    let address = server.place.split('/').nth(2).unwrap();
    assert!(
        server.place.contains(&format!("http://{address}/mcp"))
            && server.place.contains(&format!("http://{address}/sse"))
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test_simple_text", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: test_simple_text\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("This is a simple text"),
        "{answer}"
    );
}

#[test]
fn sockets_need_an_address() {
    for arguments in [
        &["--tcp"][..],
        &["--http"],
        &["--http", "nowhere"],
        &["--http", "127.0.0.1:0", "--stdio"],
        &["--tcp", "nowhere"],
        &["--unix"],
        &["--tcp", "127.0.0.1:0", "--stdio"],
    ] {
        let output = Command::new(EVERYTHING).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("everything-server: "));
    }
}

#[test]
fn the_poll_loop_serves_several_clients_in_one_thread() {
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0"]);
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
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0"]);
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

#[test]
fn poll_server_reads_while_it_cannot_write_and_responds_to_all() {
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0"]);
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
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0"]);
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
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0", "1"]);
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
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0"]);
    let mut client = server.connect();
    let part = "0123456789abcdef".repeat(64);
    let answer = client.call(1, "echo", json!({"text": part, "times": 1024}));
    assert_eq!(text(&answer), part.repeat(1024));
}

#[test]
fn a_client_of_poll_server_that_does_not_read_delays_only_itself() {
    let server = Server::start(env!("CARGO_BIN_EXE_poll-server"), &["127.0.0.1:0"]);
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

const EVERYTHING: &str = env!("CARGO_BIN_EXE_everything-server");
