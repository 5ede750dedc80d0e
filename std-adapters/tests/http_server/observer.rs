//! Observers of HTTP.

use std::future::ready;
use std::time::{Duration, Instant};

use mcp_sansio_adapters::asynchronous::App;
use mcp_sansio_adapters::asynchronous::http::{AuthorizationError, HttpOptions, Principal};

use crate::many::{Handler, Server};
use crate::recorder::Recorder;
use crate::site::{Client, call, modern, post, request};

fn start(options: HttpOptions) -> (Server, Recorder) {
    let recorder = Recorder::default();
    let server = Server::new(options, |app: App<Handler>| app, recorder.clone());
    recorder.announce(&server.hub);
    (server, recorder)
}

/// Waits until the observer was told something with this word.
fn wait_for(recorder: &Recorder, word: &str) {
    let limit = Instant::now() + Duration::from_secs(60);
    while recorder.lines_with(word).is_empty() {
        assert!(Instant::now() < limit, "nothing with {word}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_session_connects_and_its_requests_begin_and_end() {
    let (server, recorder) = start(HttpOptions::new());
    let session = server.open();
    let fields = [("Mcp-Session-Id", session.as_str())];
    assert_eq!(server.ask(&call(&session, 1, "fine")).text(), "done");
    server.ask(&call(&session, 2, "unknown"));
    server.ask(&post(&fields, "7"));
    let mut waiting = Client::to(server.address);
    waiting.write(&call(&session, 3, "wait"));
    wait_for(&recorder, "(id 3) began");
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(server.ask(&post(&fields, cancel)).status, 202);
    Client::to(server.address).write(&call(&session, 5, "wait"));
    wait_for(&recorder, "(id 5) began");
    assert_eq!(server.ask(&request("DELETE", "/mcp", &fields, "")).status, 204);
    wait_for(&recorder, "disconnected");
    drop(server);
    let lines = recorder.lines();
    assert_eq!(
        lines[..8],
        [
            "connected: HTTP",
            "tools/call fine (id 1) began",
            "1 ended: responded",
            "tools/call unknown (id 2) began",
            "2 ended: error -32602: Unknown tool",
            "message refused: Not a request, notification or response",
            "tools/call wait (id 3) began",
            "3 ended: cancelled",
        ]
    );
    assert_eq!(lines[9..], ["5 ended: connection ended", "disconnected: deleted by the client"]);
}

#[test]
fn a_request_without_a_session_begins_and_ends_alone() {
    let (server, recorder) = start(HttpOptions::new());
    assert_eq!(server.ask(&modern("fine")).text(), "done");
    let mut client = Client::to(server.address);
    client.write(&modern("wait"));
    wait_for(&recorder, "wait");
    drop(client);
    wait_for(&recorder, "connection ended");
    drop(server);
    assert_eq!(
        recorder.lines(),
        [
            "tools/call fine (id 7) began",
            "7 ended: responded",
            "tools/call wait (id 7) began",
            "7 ended: connection ended",
        ]
    );
}

#[test]
fn a_request_without_a_valid_token_is_refused() {
    let (server, recorder) = start(
        HttpOptions::new()
            .authorize(|_| ready(Err::<Principal, _>(AuthorizationError::missing_token()))),
    );
    assert_eq!(server.ask(&modern("fine")).status, 401);
    drop(server);
    assert_eq!(recorder.lines(), ["denied: 401 there is no token"]);
}
