//! What `everything-client` prints of hostile servers.

#[path = "../../tests/hostile.rs"]
mod hostile;

use std::process::Command;

use hostile::{finish, http_answers, http_server, is_harmless, run};

const CLIENT: &str = env!("CARGO_BIN_EXE_everything-client");

#[test]
fn t1_everything_client_prints_no_control_characters() {
    for mode in ["offer", "errors", "refuse", "mute", "end", "tell", "ask"] {
        // The requests precede this; the name of the last tool shows that the tour has finished.
        assert!(run(mode, CLIENT, &["tour", "--"]).contains("\\u009b"), "{mode}");
    }
}

#[test]
fn t1_output_of_http_servers_is_escaped() {
    for answer in http_answers() {
        let url = http_server(answer.into_bytes());
        is_harmless("everything-client", &finish(Command::new(CLIENT).args(["tour", &url])));
    }
}
