//! Standard input and output belong to the server while it serves them.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::call;

const SERVER: &str = env!("CARGO_BIN_EXE_noisy_server");

const ADAPTERS: [&str; 3] = ["blocking", "smol", "tokio"];

fn start(adapter: &str, input: impl Into<Stdio>, output: impl Into<Stdio>) -> Child {
    let mut server = Command::new(SERVER);
    server.arg(adapter).stdin(input).stdout(output).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the server with these tool calls. Returns what it wrote to standard output and to standard
/// error.
fn run(adapter: &str, tools: &[&str]) -> (String, String) {
    let mut server = start(adapter, Stdio::piped(), Stdio::piped());
    let mut input = server.stdin.take().unwrap();
    for (id, tool) in (0..).zip(tools) {
        input.write_all(call(id, tool).as_bytes()).unwrap();
    }
    drop(input);
    let output = server.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

fn text(line: &str) -> String {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    message["result"]["content"][0]["text"].as_str().unwrap_or(line).to_owned()
}

#[test]
fn nothing_in_the_process_breaks_the_stream() {
    for adapter in ADAPTERS {
        let (output, log) = run(adapter, &["noise", "wait"]);
        let lines: Vec<&str> = output.lines().collect();
        let [first, second, last] = lines[..] else { panic!("{adapter}: {output}") };
        assert_eq!(text(first), "success true, input \"\"", "{adapter}");
        assert_eq!(text(second), "waited", "{adapter}");
        assert_eq!(last, "given back", "{adapter}");
        assert_eq!(
            log, "begun, stray line\nline of a thread\nline of a child\nunfinished",
            "{adapter}"
        );
    }
}

#[test]
fn a_panic_gives_the_streams_back() {
    let (output, log) = run("panics", &[]);
    assert_eq!(output, "given back after a panic\n");
    assert!(log.starts_with("begun, "), "{log}");
    assert!(log.contains("no timer"), "{log}");
}

#[test]
fn a_second_server_of_the_streams_is_an_error() {
    for adapter in ADAPTERS {
        let (output, _) = run(adapter, &["second"]);
        let first = output.lines().next().unwrap();
        let why = "standard input and output are those of another server of this process";
        assert_eq!(text(first), why, "{adapter}");
    }
}

/// The mode is that of the open file, which the process that started the server may share.
#[test]
#[cfg(unix)]
fn streams_in_non_blocking_mode_are_waited_for() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    for adapter in ADAPTERS {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let input = OwnedFd::from(theirs.try_clone().unwrap());
        let mut server = start(adapter, input, OwnedFd::from(theirs));
        // It is told as soon as the server has the streams, so before there is something to read.
        server.stderr.as_mut().unwrap().read_exact(&mut [0; 7]).unwrap();
        let (mut input, mut output) = (&ours, BufReader::new(&ours));
        for (id, (tool, len)) in (0..).zip([("wait", 6), ("large", 1 << 20), ("wait", 6)]) {
            input.write_all(call(id, tool).as_bytes()).unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(text(&line).len(), len, "{adapter}");
        }
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        let mut last = String::new();
        output.read_to_string(&mut last).unwrap();
        assert_eq!(last, "given back\n", "{adapter}");
        server.wait().unwrap();
    }
}

/// A terminal in place of a client.
#[test]
#[cfg(unix)]
fn a_person_at_a_terminal_is_told_what_the_program_is() {
    use std::fs::File;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    for adapter in ADAPTERS {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let screen = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let server = start(adapter, screen, Stdio::piped());
        // The end of the input, as Ctrl-D makes it.
        File::from(terminal.try_clone().unwrap()).write_all(b"\x04").unwrap();
        let output = server.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        let explained = format!(
            "{SERVER} is an MCP server: it waits for the messages of a client that starts it. \
             To try it: inspect -- {SERVER}\n"
        );
        assert!(log.starts_with(&explained), "{adapter}: {log}");
        assert_eq!(output.stdout, b"given back\n", "{adapter}");
    }
}
