//! Servers as child processes.

// Each test program compiles this module and uses a part of it.
#![allow(dead_code)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The process of the server. Killed on drop.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::spawn(Command::new(SERVER).arg("--stdio"))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        Self { child, input }
    }

    pub(crate) fn output(&mut self) -> Output {
        Output(BufReader::new(self.child.stdout.take().unwrap()))
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Ends the input and waits for the process.
    pub(crate) fn close(&mut self) -> ExitStatus {
        drop(self.input.take());
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not exit");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The output of the server.
pub(crate) struct Output(BufReader<ChildStdout>);

impl Output {
    pub(crate) fn next(&mut self) -> Value {
        self.line().expect("the server has ended")
    }

    /// Reads all messages to the end.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.line()).collect()
    }

    fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        if line.is_empty() {
            return None;
        }
        assert!(line.ends_with('\n'), "an incomplete message: {line}");
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }
}

pub(crate) fn ids(messages: &[Value]) -> Vec<Value> {
    messages.iter().map(|message| message["id"].clone()).collect()
}

pub(crate) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

pub(crate) fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) const SERVER: &str = env!("CARGO_BIN_EXE_everything-server");
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
