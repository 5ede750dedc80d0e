//! The bytes on a socket are those on standard input and output.
#![cfg(unix)]

use std::io::{self, Cursor, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use mcp_sansio::types::{Implementation, Text, TextResult};
use mcp_sansio::{Change, RawJson, Request, ServerConfig, ServerEvent, ServerFeatures};
use mcp_sansio_adapters::blocking::{self, Context, Error, Polled, Threaded};

#[test]
fn cust_01_cust_05_a_legacy_session_is_the_same_over_sockets() {
    let lines: Vec<String> = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"héllo \n"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"nope"}"#,
        "garbage",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"publish"}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#,
    ]
    .map(Into::into)
    .into();
    let sent = everywhere(&lines);
    assert_eq!(sent.lines().count(), 7, "{sent}");
    for part in [r#""protocolVersion":"2025-06-18""#, "notifications/tools/list_changed"] {
        assert!(sent.contains(part), "{sent}");
    }
}

#[test]
fn cust_02_cust_04_cust_05_modern_requests_are_the_same_over_sockets() {
    let sent = everywhere(&[
        call(1, "echo", r#""arguments":{"text":"x"},"#),
        format!(r#"{{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{{{META}}}}}"#),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#.into(),
        call(3, "echo", ""),
    ]);
    assert_eq!(sent.lines().count(), 4, "{sent}");
    assert!(sent.contains(r#""supportedVersions""#) && sent.contains("-32602"), "{sent}");
}

#[test]
fn cust_06_listens_and_cancellations_are_matched_by_id_over_sockets() {
    let listen = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{META}}}}}"#
        )
    };
    let cancel = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        )
    };
    let sent = everywhere(&[
        listen("1"),
        listen("\"1\""),
        call(2, "publish", ""),
        cancel("1"),
        call(3, "publish", ""),
        call(4, "never", ""),
        cancel("4"),
        cancel("\"4\""),
        cancel("\"1\""),
        call(5, "publish", ""),
    ]);
    let changes: Vec<&str> = sent.lines().filter(|line| line.contains("list_changed")).collect();
    let told = ["", "1}", "\"1\"}"].map(|id| {
        let id = format!(r#"subscriptionId":{id}"#);
        changes.iter().filter(|line| line.contains(&id)).count()
    });
    assert_eq!(told, [3, 1, 2], "{sent}");
    assert!(!sent.contains(r#""id":4"#), "{sent}");
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn call(id: u32, name: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}",{more}{META}}}}}"#
    )
}

static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS_LIST_CHANGED);

fn handle(event: ServerEvent<'_>, session: &mut Context<'_>) -> Result<(), Error> {
    let ServerEvent::Request(request) = event else { return Ok(()) };
    match request.name() {
        Some(name) if name == "never" => return Ok(()),
        Some(name) if name == "publish" => session.publish(Change::tools())?,
        _ => {}
    }
    session.respond(request.handle, &TextResult::from(text(&request)))
}

fn text<'f>(request: &Request<'f>) -> Text<'f> {
    request
        .arguments()
        .get("text")
        .and_then(RawJson::as_string)
        .map_or(Text::new("-"), Text::from_json)
}

/// Returns the output for these lines over a pipe, a Unix socket and TCP, at once and byte by byte.
fn everywhere(lines: &[String]) -> String {
    let input = lines.join("\n") + "\n";
    let mut output = Vec::new();
    let memory = Threaded::new(Cursor::new(input.clone()));
    blocking::serve_on(&CONFIG, memory, &mut output, handle).expect("the server succeeds");
    let expected = String::from_utf8(output).expect("UTF-8");
    for piece in [usize::MAX, 1] {
        let (client, server) = UnixStream::pair().expect("a pair of sockets");
        let output = server.try_clone().expect("a second handle");
        let end = |socket: &UnixStream| socket.shutdown(Shutdown::Write);
        let sent = converse(&input, piece, client, end, server, output);
        assert_eq!(sent, expected, "over a Unix socket");

        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        client.set_nodelay(true).expect("an option");
        let server = listener.accept().expect("a connection").0;
        let output = server.try_clone().expect("a second handle");
        let end = |socket: &TcpStream| socket.shutdown(Shutdown::Write);
        let sent = converse(&input, piece, client, end, server, output);
        assert_eq!(sent, expected, "over TCP");
    }
    expected
}

/// Sends `input`, `piece` bytes at a time; returns the output until the server closes.
fn converse<S>(
    input: &str,
    piece: usize,
    mut client: S,
    end: impl Fn(&S) -> io::Result<()> + Send + 'static,
    server: S,
    output: S,
) -> String
where
    S: Read + Write + Send + std::os::fd::AsFd + 'static,
{
    let serving =
        thread::spawn(move || blocking::serve_on(&CONFIG, Polled::new(server), output, handle));
    for bytes in input.as_bytes().chunks(piece.min(input.len())) {
        client.write_all(bytes).expect("the server reads");
        if piece == 1 && bytes[0] == b'}' {
            thread::sleep(Duration::from_micros(100));
        }
    }
    end(&client).expect("the input ends");
    let mut sent = String::new();
    client.read_to_string(&mut sent).expect("the server writes and closes");
    serving.join().expect("no panic").expect("the server succeeds");
    sent
}
