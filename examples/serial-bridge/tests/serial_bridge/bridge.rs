//! The bridge as a process, and the lines at its other end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

/// The bridge from the client's side.
pub(crate) struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Arc<Mutex<String>>,
    ids: u32,
}

impl Bridge {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(BRIDGE);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, output) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let (errors, mut stderr) =
            (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let kept = errors.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut bytes) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        let input = child.stdin.take();
        Self { child, input, output, errors, ids: 0 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let line = self
            .output
            .recv_timeout(super::PATIENCE)
            .unwrap_or_else(|_| panic!("silence; {}", self.errors()));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u32 {
        self.ids += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}));
        self.ids
    }

    /// Sends a request and returns the response.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn modern(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = meta();
        self.ask(method, params)
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let who = json!({"name": "test", "version": "1"});
        let capabilities = json!({"roots": {}});
        let answer =
            self.ask("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": who}));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Returns the standard error output so far.
    pub(crate) fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// Waits until standard error contains this.
    pub(crate) fn says(&self, what: &str) {
        super::eventually(&format!("{what} in {}", self.errors()), || self.errors().contains(what));
    }

    /// Ends the input and waits for the process.
    pub(crate) fn close(&mut self) -> ExitStatus {
        drop(self.input.take());
        let mut status = None;
        super::eventually("an end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A symbolic link to the current serial port.
pub(crate) struct Socket(PathBuf);

impl Socket {
    pub(crate) fn new(name: &str) -> Self {
        let path = scratch(name);
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Attaches a new pseudo-terminal and returns the device's end.
    pub(crate) fn plug(&self) -> OwnedFd {
        let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        // macOS has no flag for this when opening.
        rustix::io::fcntl_setfd(&line, rustix::io::FdFlags::CLOEXEC).unwrap();
        grantpt(&line).unwrap();
        unlockpt(&line).unwrap();
        let name = ptsname(&line, Vec::new()).unwrap();
        self.unplug();
        std::os::unix::fs::symlink(Path::new(name.to_str().unwrap()), &self.0).unwrap();
        line
    }

    pub(crate) fn unplug(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.unplug();
    }
}

pub(crate) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("serial-bridge-{name}-{}", std::process::id()))
}

pub(crate) fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})
}

pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

pub(crate) fn error(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error in {answer}"))
}

const BRIDGE: &str = env!("CARGO_BIN_EXE_serial-bridge");
