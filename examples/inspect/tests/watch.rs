//! `inspect run --watch` between a host and a server whose program changes.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use mcp_sansio_programs::everything_server::serve_stdio;
use serde_json::{Value, json};

/// The server of the other test, which is a script that starts this program.
#[test]
#[ignore = "the server of the other test"]
fn everything_server() {
    std::process::exit(i32::from(serve_stdio().is_err()));
}

/// Replaces a program at once, as Cargo does.
fn build(program: &Path, version: u32) {
    let this = std::env::current_exe().expect("this program");
    let words = "--ignored --exact everything_server --nocapture --quiet";
    let text = format!("#!/bin/sh\n# {version}\nexec '{}' {words}\n", this.display());
    let new = program.with_extension(version.to_string());
    fs::write(&new, text).expect("a file");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::rename(new, program).expect("the program is replaced");
}

/// The proxy from the side of the host.
struct Proxy {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// The lines of standard error.
    errors: Receiver<String>,
}

impl Proxy {
    fn start(program: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inspect"));
        command.args(["run", "--watch"]).arg(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("inspect starts");
        let (sender, output) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("a message"));
            }
        });
        let (sender, errors) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                eprintln!("{line}");
                let _ = sender.send(line);
            }
        });
        let input = child.stdin.take();
        Self { child, input, output, errors }
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{message}\n").as_bytes()).expect("the proxy reads");
    }

    fn initialize(&mut self) -> Value {
        let info = json!({"name": "host", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        let answer = self.receive("/id", &json!(0));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn call(&mut self, id: u32, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    /// Waits for a message with this member.
    fn receive(&self, pointer: &str, value: &Value) -> Value {
        loop {
            let message = self.output.recv_timeout(PATIENCE).expect("a message");
            if message.pointer(pointer) == Some(value) {
                return message;
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_host_keeps_its_session_while_the_program_changes() {
    let program = program("watch");
    build(&program, 1);
    let mut proxy = Proxy::start(&program);
    assert!(proxy.initialize()["result"]["capabilities"]["tools"].is_object());
    for version in [2, 3] {
        let (interrupted, next) = (version * 10, version * 10 + 1);
        proxy.call(interrupted, "slow", &json!({"seconds": 60}));
        proxy.receive("/method", &json!("notifications/progress"));
        build(&program, version);
        let answer = proxy.receive("/id", &json!(interrupted));
        let why = answer["error"]["message"].as_str().expect("an error");
        assert!(why.starts_with("The server was restarted while"), "{why}");
        proxy.receive("/method", &json!("notifications/tools/list_changed"));
        proxy.call(next, "test_simple_text", &json!({}));
        let answer = proxy.receive("/id", &json!(next));
        assert!(answer["result"]["content"].is_array(), "{answer}");
    }
    // The end of the host is that of the server.
    proxy.input = None;
    assert!(proxy.child.wait().expect("the proxy ends").success());
}

/// As while a linker writes, or a copy.
#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_open_for_writing_is_started_when_it_is_closed() {
    let program = program("busy");
    build(&program, 1);
    let writer = fs::File::options().append(true).open(&program).expect("the program");
    let mut proxy = Proxy::start(&program);
    while !proxy.errors.recv_timeout(PATIENCE).expect("a line").contains("Text file busy") {}
    drop(writer);
    assert!(proxy.initialize()["result"].is_object());
}

/// Returns the path of a program in a directory of its own.
fn program(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("a directory");
    directory.join("server")
}

/// After this time a test fails; no test waits as long.
const PATIENCE: Duration = Duration::from_secs(120);
