//! Servers on sockets, as processes, and their clients.
#![allow(dead_code, reason = "some tests need only parts")]

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

/// The process of a server, and its address. Killed on drop.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) place: String,
    _stderr: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Self {
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

    pub(crate) fn connect(&self) -> Client<TcpStream> {
        Client(BufReader::new(TcpStream::connect(&self.place).unwrap()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Client<T>(pub(crate) BufReader<T>);

impl<T: Read + Write> Client<T> {
    pub(crate) fn send(&mut self, id: u32, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.0.get_mut().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn call(&mut self, id: u32, tool: &str, arguments: Value) -> Value {
        self.send(id, "tools/call", json!({"name": tool, "arguments": arguments}));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}
