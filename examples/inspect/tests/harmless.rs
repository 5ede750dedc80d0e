//! What `inspect` prints of hostile servers.

#[path = "../../tests/hostile.rs"]
mod hostile;

use std::process::Command;

use serde_json::Value;

use hostile::{finish, http_answers, http_server, is_harmless, offer, run, serve};

const INSPECT: &str = env!("CARGO_BIN_EXE_inspect");

#[test]
fn t1_inspect_prints_no_control_characters() {
    for (mode, words) in [
        ("offer", &["--legacy"][..]),
        ("offer", &[]),
        ("offer", &["--json"]),
        ("offer", &["tools", "--json"]),
        ("offer", &["call", "plain"]),
        ("offer", &["call", "plain", "--json"]),
        ("offer", &["call", "needy"]),
        ("offer", &["call", "unknown"]),
        ("offer", &["read", "uri:"]),
        ("offer", &["read", "uri:", "--json"]),
        ("offer", &["prompt", "plain"]),
        ("offer", &["prompt", "plain", "--json"]),
        ("offer", &["prompt", "needy"]),
        ("offer", &["--trace"]),
        ("errors", &["tools"]),
        ("errors", &["read", "uri:"]),
        ("errors", &["tools", "--json"]),
        ("refuse", &[]),
        ("mute", &["--legacy"]),
        ("end", &["tools"]),
        ("tell", &["call", "plain"]),
        ("tell", &["--trace", "call", "plain"]),
        ("ask", &["call", "plain"]),
        ("end-later", &["watch", "uri:"]),
    ] {
        let shown = run(mode, INSPECT, &[words, &["--"]].concat());
        // Without any shown text the test would prove nothing.
        assert!(shown.contains("\\u009b"), "{mode}, {words:?}: {shown}");
    }
}

#[test]
fn t1_escaped_json_keeps_its_value() {
    let mut command = Command::new(INSPECT);
    let command = serve("offer", command.args(["call", "plain", "--json", "--"]));
    let shown: Value = serde_json::from_slice(&finish(command).stdout).expect("JSON");
    assert_eq!(shown, offer("tools/call"));
}

#[test]
fn t1_output_of_http_servers_is_escaped() {
    for answer in http_answers() {
        let url = http_server(answer.into_bytes());
        for words in [&[][..], &["--legacy"], &["--modern"], &["call", "plain", "--json"]] {
            let output =
                finish(Command::new(INSPECT).args(["--timeout", "0.3"]).args(words).arg(&url));
            is_harmless(&format!("inspect {words:?}"), &output);
        }
    }
}
