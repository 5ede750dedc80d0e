//! Large traffic, noise, and standard error.

use std::io::{self, Write};
#[cfg(unix)]
use std::io::{ErrorKind, Read};
use std::sync::mpsc::{Sender, channel};

use super::*;
use mcp_sansio_adapters::blocking::client::{
    CallError, ClientLimits, ThreadedStreams, Transferred, Transport,
};

/// Number of bytes that exceeds all pipes and buffers.
const MUCH: usize = 10 << 20;

#[test]
fn both_sides_may_write_much_at_once() {
    both_write_much(&mut connect(""), MUCH);
}

#[test]
fn both_sides_may_write_much_at_once_through_threads() {
    let mut child = server("")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let streams =
        ThreadedStreams::new("child", child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Connector::new(&CONFIG).connect(streams).unwrap();
    both_write_much(&mut client, MUCH / 4);
    client.close().unwrap();
    assert!(child.wait().unwrap().success());
}

/// The server does not read while it writes, so each of our requests waits behind a response.
fn both_write_much(client: &mut Client<'_>, much: usize) {
    let ours = "b".repeat(much);
    let calls: Vec<_> = (0..2)
        .map(|_| start(client, "big", &json!({"bytes": much, "ours": ours}), CallOptions::new()))
        .collect();
    for call in calls {
        assert_eq!(data(&client.wait(call).unwrap()).as_str().unwrap().len(), much);
    }
}

#[test]
fn a_flood_of_notifications_does_not_hold_up_a_long_request() {
    let mut client = connect("");
    let flood = start(&mut client, "flood", &json!({"lines": 20_000}), CallOptions::new());
    let long =
        start(&mut client, "length", &json!({"ours": "c".repeat(MUCH / 4)}), CallOptions::new());
    assert!(data(&client.wait(long).unwrap()).as_u64().unwrap() > MUCH as u64 / 4);
    client.wait(flood).unwrap();
}

#[test]
fn stdio_04_tol_02_a_flood_on_standard_error_neither_blocks_nor_fails() {
    let lines = Notes::default();
    let noting = Arc::clone(&lines);
    let mut process = patient("");
    process.stderr = Stderr::lines(move |line| noting.lock().unwrap().push(line.to_owned()));
    let mut client = Connector::new(&CONFIG).connect(process).unwrap();
    trick(&mut client, "flood-stderr", &json!({})).unwrap();
    let ended = client.close().unwrap();
    assert_eq!(noted(&lines, "no error either"), 4096);
    assert!(lines.lock().unwrap()[0].starts_with('\u{fffd}'));
    assert!(ended.stderr.len() == 10 && ended.status.unwrap().success());
}

#[test]
fn stdio_04_tol_02_standard_error_is_read_while_the_client_does_something_else() {
    for stderr in [Stderr::Keep, Stderr::Null] {
        let mut process = Process::new(server(""));
        process.stderr = stderr;
        let mut client = Connector::new(&CONFIG).connect(process).unwrap();
        let call = start(&mut client, "flood-stderr", &json!({}), CallOptions::new());
        client.run_for(Duration::from_millis(1)).unwrap();
        client.wait(call).unwrap();
    }
}

#[test]
fn stdio_10_noise_is_reported_and_skipped() {
    use mcp_sansio::Violation::{NotJson, NotUtf8, TooLong};
    let notes = Notes::default();
    let connector = Connector::new(&CONFIG)
        .handler(Listener(Arc::clone(&notes)))
        .limits(ClientLimits { max_line: 50_000, ..ClientLimits::new() });
    let mut client = connector.connect(Process::new(server(""))).unwrap();
    trick(&mut client, "noise", &json!({})).unwrap();
    let expected = [
        (NotJson, r#" (byte 0 of "Listening on port 8080 ...")"#),
        (NotJson, r#" (byte 22 of "{"jsonrpc":"2.0","id":")"#),
        (NotUtf8, " (byte 0 of \"\u{fffd}\u{fffd}\")"),
        (NotJson, r#" (byte 4 of "[1,2")"#),
        (TooLong, " (longer than 50000 bytes)"),
    ]
    .map(|(violation, place)| format!("false {violation}{place}"));
    assert_eq!(*notes.lock().unwrap(), expected);
    assert_eq!(data(&trick(&mut client, "echo", &json!({"n": 1})).unwrap()), json!({"n": 1}));
}

#[test]
fn stdio_10_a_response_that_is_too_long_ends_only_its_call() {
    let mut client = Connector::new(&CONFIG)
        .limits(ClientLimits { max_line: 100_000, ..ClientLimits::new() })
        .connect(Process::new(server("")))
        .unwrap();
    let error = trick(&mut client, "big", &json!({"bytes": 1_000_000})).unwrap_err();
    let Error::Call { error: CallError::Invalid(violation), .. } = error else { panic!("{error}") };
    assert_eq!(violation, mcp_sansio::Violation::TooLong);
    trick(&mut client, "echo", &json!({})).unwrap();
}

#[test]
fn stdio_01_stdio_03_a_server_hears_one_message_a_line_and_nothing_else() {
    for mode in ["", "legacy"] {
        let (client, notes) = connect_noting(&CONFIG, mode);
        let mut client = client.unwrap();
        trick(&mut client, "echo", &json!({"text": "two\nlines\r\n"})).unwrap();
        let call = start(&mut client, "mute", &json!({}), CallOptions::new());
        client.cancel(call, Some("a\nb")).unwrap();
        let heard = heard(&mut client);
        for line in &heard {
            let message: Value = serde_json::from_str(line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
        }
        // The trace shows the same.
        let notes = notes.lock().unwrap();
        assert!(notes.iter().filter_map(|note| note.strip_prefix("> ")).eq(&heard), "{notes:?}");
    }
}

#[test]
fn a_server_that_requests_much_and_reads_nothing_is_held_back() {
    let mut client = Connector::new(&CONFIG)
        .connect(process(server("legacy"), [Duration::from_millis(100); 2]))
        .unwrap();
    // A few requests get responses, although the server reads them only after it has sent all.
    let few = start(&mut client, "ping-flood", &json!({"pings": 10_000}), CallOptions::new());
    client.wait(few).unwrap();
    // Of many requests only a limited number is read: then both sides block until the timeout.
    let options = CallOptions::new().timeout(Duration::from_secs(2));
    let many = start(&mut client, "ping-flood", &json!({"pings": 200_000}), options);
    assert!(matches!(client.wait(many), Err(Error::Call { error: CallError::TimedOut, .. })));
}

#[test]
fn an_error_of_the_server_is_reported_unchanged() {
    let mut client = connect("");
    let error = trick(&mut client, "no such", &json!({})).unwrap_err();
    let Error::Call { error: CallError::Server(fault), .. } = error else { panic!("{error}") };
    assert_eq!((fault.code, &*fault.message), (-32602, "no such trick"));
    let error = client.list_prompts().unwrap_err();
    let Error::Call { method, error: CallError::NotSent(_) } = error else { panic!("{error}") };
    assert_eq!(method, "prompts/list");
}

#[test]
fn sta_04_one_process_serves_one_client_after_another() {
    let mut process = patient("");
    let ids = [0, 1].map(|_| {
        let mut client = Connector::new(&CONFIG).connect(&mut process).unwrap();
        data(&trick(&mut client, "pid", &json!({})).unwrap())
    });
    assert_eq!(ids[0], ids[1]);
    assert!(process.close().unwrap().status.unwrap().success());
}

/// An output that tells what is done with it.
struct Told(Sender<String>);

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(format!("write {}", String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.send("flush".to_owned());
        Ok(())
    }
}

#[test]
fn a_client_that_only_waits_leaves_the_output_alone() {
    let (input, _silent) = io::pipe().unwrap();
    let (sender, told) = channel();
    let mut streams = ThreadedStreams::new("silent", input, Told(sender));
    let waited = streams.transfer(&[], &mut [0; 8], Some(Duration::ZERO)).unwrap();
    assert_eq!(waited, Transferred::default());
    assert_eq!(streams.transfer(b"line", &mut [0; 8], None).unwrap().written, 4);
    assert_eq!([told.recv().unwrap(), told.recv().unwrap()], ["write line", "flush"]);
}

/// A socket whose other end was closed, and whose operations fail like this.
#[cfg(unix)]
struct Broken(std::os::unix::net::UnixStream, ErrorKind);

#[cfg(unix)]
impl Broken {
    fn new(kind: ErrorKind) -> Self {
        Self(std::os::unix::net::UnixStream::pair().unwrap().0, kind)
    }
}

#[cfg(unix)]
impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.1.into())
    }
}

#[cfg(unix)]
impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.1.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Broken {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(unix)]
#[test]
fn a_connection_that_the_server_resets_has_ended() {
    use mcp_sansio_adapters::blocking::client::PolledStreams;

    let ended = Transferred { ended: true, ..Transferred::default() };
    for (kind, expected) in [
        (ErrorKind::ConnectionReset, Ok(ended)),
        (ErrorKind::ConnectionAborted, Ok(ended)),
        (ErrorKind::BrokenPipe, Ok(ended)),
        (ErrorKind::PermissionDenied, Err(ErrorKind::PermissionDenied)),
    ] {
        let mut polled = PolledStreams::new("reset", Broken::new(kind), Broken::new(kind)).unwrap();
        let mut threaded = ThreadedStreams::new("reset", Broken::new(kind), io::sink());
        let both: [&mut dyn Transport; 2] = [&mut polled, &mut threaded];
        for streams in both {
            let read = streams.transfer(&[], &mut [0; 8], None);
            assert_eq!(read.map_err(|error| error.kind()), expected, "{kind}");
        }
        // Output counts as written when the server reads no more: its responses may still come.
        let written = polled.transfer(b"line", &mut [], Some(Duration::ZERO));
        let expected = expected.map(|_| 4);
        assert_eq!(written.map(|done| done.written).map_err(|error| error.kind()), expected);
    }
    // Neither is an error that is over at the next attempt.
    for kind in [ErrorKind::WouldBlock, ErrorKind::Interrupted] {
        let mut polled = PolledStreams::new("slow", Broken::new(kind), Broken::new(kind)).unwrap();
        for out in [&[][..], b"line"] {
            let done = polled.transfer(out, &mut [0; 8], None).unwrap();
            assert_eq!(done, Transferred::default());
        }
    }
}
