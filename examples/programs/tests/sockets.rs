//! The everything server on sockets, as a process.

#[path = "../../first-hour/tests/sockets/mod.rs"]
mod sockets;

#[cfg(unix)]
use std::io::BufReader;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::json;

#[cfg(unix)]
use sockets::Client;
use sockets::{Server, text};

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
fn call_url_lists_tools_and_calls_one_in_both_eras() {
    let server = Server::start(EVERYTHING, &["--http", "127.0.0.1:0"]);
    let address = server.place.split('/').nth(2).unwrap();
    for path in ["mcp", "sse"] {
        let mut client = Command::new(env!("CARGO_BIN_EXE_call-url"));
        let url = format!("http://{address}/{path}");
        let output = client.args([&url, "test_simple_text", "{}"]).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let [tools, result] = output.lines().collect::<Vec<_>>()[..] else { panic!("{output}") };
        assert!(tools.contains(r#""name":"test_simple_text""#), "{tools}");
        assert!(result.contains("This is a simple text"), "{result}");
    }
    let mut client = Command::new(env!("CARGO_BIN_EXE_call-url"));
    let refused = client.args(["http://127.0.0.1:1/mcp", "a", "{}"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
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

const EVERYTHING: &str = env!("CARGO_BIN_EXE_everything-server");
