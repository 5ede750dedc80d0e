//! Observers of HTTP.

use std::time::{Duration, Instant};

use mcp_sansio_adapters::asynchronous::http::HttpOptions;

use crate::recorder::Recorder;
use crate::site::{Site, call, in_session, limits, modern};

fn start() -> (Site, Recorder) {
    let recorder = Recorder::default();
    let site = Site::start(HttpOptions::new(), limits(), Some(recorder.clone()));
    recorder.announce(&site.hub);
    (site, recorder)
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
    let (site, recorder) = start();
    let session = site.open("2025-11-25");
    assert_eq!(site.send(&call(&session, 1, "echo")).text(), "done");
    site.send(&call(&session, 2, "unknown"));
    site.send(&in_session(&session, "7"));
    let _waiting = site.begin(&call(&session, 3, "silent"));
    wait_for(&recorder, "(id 3) began");
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(site.send(&in_session(&session, cancel)).status, 202);
    site.begin(&call(&session, 5, "silent"));
    wait_for(&recorder, "(id 5) began");
    site.delete(&session);
    wait_for(&recorder, "disconnected");
    drop(site);
    let lines = recorder.lines();
    assert_eq!(
        lines[..8],
        [
            "connected: HTTP",
            "tools/call echo (id 1) began",
            "1 ended: responded",
            "tools/call unknown (id 2) began",
            "2 ended: error -32602: Unknown tool",
            "message refused: Not a request, notification or response",
            "tools/call silent (id 3) began",
            "3 ended: cancelled",
        ]
    );
    assert_eq!(lines[9..], ["5 ended: connection ended", "disconnected: deleted by the client"]);
}

#[test]
fn a_request_without_a_session_begins_and_ends_alone() {
    let (site, recorder) = start();
    assert_eq!(site.send(&modern("echo")).text(), "done");
    let client = site.begin(&modern("silent"));
    wait_for(&recorder, "silent");
    drop(client);
    wait_for(&recorder, "connection ended");
    drop(site);
    assert_eq!(
        recorder.lines(),
        [
            "tools/call echo (id 7) began",
            "7 ended: responded",
            "tools/call silent (id 7) began",
            "7 ended: connection ended",
        ]
    );
}
