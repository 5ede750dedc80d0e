//! The program, as a process.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

#[test]
fn requests_need_the_token_and_ctrl_c_ends_the_program() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_axum-server"))
        .args([
            "--http",
            "127.0.0.1:0",
            "--token",
            "secret",
            "--issuer",
            "https://auth.example.com",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_once("http://").unwrap().1.split_once('/').unwrap().0;
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
