//! What `serial-bridge` prints of a hostile device.
#![cfg(unix)]

#[path = "../../tests/hostile.rs"]
mod hostile;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use hostile::{is_harmless, line, word};

/// Sends hostile output, also as the id of a message, and ends.
fn device(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
    let ping = lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("ping"))
        .expect("the bridge asks");
    let ping: Value = serde_json::from_str(&ping).expect("JSON");
    let up = json!({"jsonrpc": "2.0", "id": ping["id"], "result": {word("key"): word("value")}});
    let foreign = json!({"jsonrpc": "2.0", "id": "\u{9b}31m\u{202e}\u{7f}", "result": {}});
    let text = format!(
        "{}\n{up}\n{foreign}\n{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n",
        line("boot"),
        "\u{9b}"
    );
    stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.write_all(b"\x1b[31m\xff\xfe\x9b\n"))
        .expect("the bridge reads");
    // Until the bridge closes the line.
    lines.for_each(drop);
}

#[test]
fn t1_output_of_devices_is_escaped_in_the_log() {
    for log in [&[][..], &["--log", "-"]] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let place = format!("tcp:{}", listener.local_addr().expect("an address"));
        let serving = thread::spawn(move || device(listener.accept().expect("the bridge comes").0));
        let mut command = Command::new(env!("CARGO_BIN_EXE_serial-bridge"));
        let pipes = command
            .args(log)
            .arg(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut bridge = pipes.spawn().expect("the program starts");
        // Standard output is for the client; its last message shows that everything was processed.
        let mut out = BufReader::new(bridge.stdout.take().expect("a pipe"));
        let mut seen = String::new();
        while !seen.contains("method") {
            assert!(out.read_line(&mut seen).expect("UTF-8") > 0, "the bridge has ended");
        }
        drop(bridge.stdin.take());
        let output = bridge.wait_with_output().expect("the program exits");
        let shown = is_harmless("serial-bridge", &output);
        assert!(shown.contains("\\u009b31m\\u202e\\u007f") && shown.contains("boot"), "{shown}");
        serving.join().expect("the device has done its part");
    }
}
