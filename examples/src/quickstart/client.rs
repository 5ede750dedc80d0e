//! A client in its barest form: a child process, lines in, lines out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::screen;

/// Why the conversation went wrong.
pub(super) type Unexpected = String;

/// The server, and what has been said.
pub(super) struct Client {
    server: Child,
    /// None once it is closed.
    input: Option<ChildStdin>,
    output: Receiver<String>,
    begun: Instant,
    sent: usize,
    received: Vec<Value>,
}

/// What became of a conversation.
pub(super) struct Summary {
    pub(super) sent: usize,
    pub(super) received: usize,
    pub(super) took: Duration,
}

impl Client {
    /// Starts the server: this executable, with `argument`.
    pub(super) fn start(argument: &str) -> Result<Self, Unexpected> {
        let begun = Instant::now();
        let executable = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut server = Command::new(executable)
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server does not start: {error}"))?;
        let (Some(input), Some(lines)) = (server.stdin.take(), server.stdout.take()) else {
            return Err("the server has no pipes".to_owned());
        };
        // A thread reads, so that a server that says nothing does not stop us for ever.
        let (sender, output) = channel();
        thread::spawn(move || BufReader::new(lines).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Self { server, input: Some(input), output, begun, sent: 0, received: Vec::new() })
    }

    /// Sends a line.
    pub(super) fn send(&mut self, line: &str) -> Result<(), Unexpected> {
        screen::sent(line);
        self.sent += 1;
        let input = self.input.as_mut().ok_or("the input is closed")?;
        input.write_all(format!("{line}\n").as_bytes()).map_err(|error| format!("the server does not read: {error}"))
    }

    /// Receives a message.
    pub(super) fn receive(&mut self) -> Result<Value, Unexpected> {
        let line = self.output.recv_timeout(PATIENCE).map_err(|error| format!("no line from the server: {error}"))?;
        screen::received(&line);
        let message: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        if message["jsonrpc"] != "2.0" {
            return Err(format!("not JSON-RPC 2.0: {line}"));
        }
        self.received.push(message.clone());
        Ok(message)
    }

    /// Receives the answer to the request with this id: its result.
    pub(super) fn result(&mut self, id: impl Into<Value>) -> Result<Value, Unexpected> {
        let mut message = self.receive()?;
        expect(message["id"] == id.into(), "an answer with the id of the request", &message)?;
        expect(message["result"].is_object(), "a result", &message)?;
        Ok(message["result"].take())
    }

    /// Receives an error with this code.
    pub(super) fn error(&mut self, id: impl Into<Value>, code: i64) -> Result<(), Unexpected> {
        let message = self.receive()?;
        expect(message["id"] == id.into(), "an answer with the id of the request", &message)?;
        expect(message["error"]["code"] == code, &format!("the error {code}"), &message)
    }

    /// Receives a notification or a request: its parameters.
    pub(super) fn told(&mut self, method: &str) -> Result<Value, Unexpected> {
        let mut message = self.receive()?;
        expect(message["method"] == method, method, &message)?;
        Ok(message["params"].take())
    }

    /// Whether a request with this id has been answered so far.
    pub(super) fn was_answered(&self, id: &str) -> bool {
        self.received.iter().any(|message| message["id"] == id)
    }

    /// Closes the server's input: it must end by itself, and well.
    pub(super) fn finish(mut self) -> Result<Summary, Unexpected> {
        drop(self.input.take());
        match self.output.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => return Err("the server does not end with its input".to_owned()),
            Ok(line) => return Err(format!("one line too many: {line}")),
        }
        let status = self.server.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("the server ended with {status}"));
        }
        Ok(Summary { sent: self.sent, received: self.received.len(), took: self.begun.elapsed() })
    }
}

/// When something goes wrong in the middle, no process stays behind.
impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// An error unless it is so.
pub(super) fn expect(is_so: bool, wanted: &str, seen: &Value) -> Result<(), Unexpected> {
    if is_so { Ok(()) } else { Err(format!("wanted {wanted}; got {seen}")) }
}

/// How long the server may think about a line.
const PATIENCE: Duration = Duration::from_secs(5);
