//! The program, as a process.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};
use rustix::process::{Pid, Signal, kill_process};

/// Starts the program. Returns it with its address.
fn start(arguments: &[&str]) -> (Child, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_axum-server"))
        .args(["--http", "127.0.0.1:0"])
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_once("http://").unwrap().1.split_once('/').unwrap().0;
    (child, address.parse().unwrap())
}

/// A call of 2026-07-28 with an argument of this length, which its response repeats.
fn call(len: usize, more: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let arguments = format!(r#"{{"name":"x","{}":1}}"#, "k".repeat(len));
    let params = format!(r#"{{"name":"greet","arguments":{arguments},{meta}}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: greet\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn r3_h2_ctrl_c_ends_the_program_whatever_its_clients_do() {
    let (mut child, address) = start(&[]);
    let mut half_head = TcpStream::connect(address).unwrap();
    half_head.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").unwrap();
    let mut half_body = TcpStream::connect(address).unwrap();
    let whole = call(10, "Expect: 100-continue\r\n");
    half_body.write_all(&whole.as_bytes()[..whole.len() - 1]).unwrap();
    let mut status = [0; 25];
    half_body.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 100 Continue\r\n\r\n");
    let deaf = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    sockopt::set_socket_recv_buffer_size(&deaf, 4096).unwrap();
    connect(&deaf, &address).unwrap();
    let mut deaf = TcpStream::from(deaf);
    deaf.write_all(call(3_900_000, "").as_bytes()).unwrap();
    deaf.peek(&mut [0]).unwrap();
    let pid = Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait().unwrap().success()));
    kill_process(pid, Signal::INT).unwrap();
    half_body.read_exact(&mut status).unwrap();
    assert_eq!(&status[..12], b"HTTP/1.1 503");
    // Only a program that never ends takes this long.
    let ended = told.recv_timeout(Duration::from_secs(120));
    if ended.is_err() {
        kill_process(pid, Signal::KILL).unwrap();
    }
    assert_eq!(ended, Ok(true));
}

#[test]
fn requests_need_the_token_and_ctrl_c_ends_the_program() {
    let (mut child, address) =
        start(&["--token", "secret", "--issuer", "https://auth.example.com"]);
    let metadata = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for path in ["", "/mcp"] {
        let answer = metadata(&format!("/.well-known/oauth-protected-resource{path}"));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("auth.example.com"));
        assert!(answer.contains(&format!(r#""http://{address}/mcp""#)), "{answer}");
        assert!(answer.contains("access-control-allow-origin: *"), "{answer}");
    }
    assert!(metadata("/mcp").starts_with("HTTP/1.1 403"), "the host is not ours");
    let ask = |token: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream";
        write!(stream, "{head}\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
        stream
    };
    let mut answer = [0; 12];
    ask("guess").read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    // A stream that stays open, and is ended by the program.
    let mut stream = ask("secret");
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "{rest}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_address_that_is_in_use_is_named() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_axum-server"));
    let ended = command.args(["--http", &address]).output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(error.contains(&format!("{address}: ")), "{error}");
}
