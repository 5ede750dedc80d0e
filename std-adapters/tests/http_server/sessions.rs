//! Sessions, and their life beyond connections.

use crate::site::{Site, call, get, modern};

#[test]
pub(crate) fn sess_09_ids_are_different_each_time() {
    let site = Site::new();
    let ids: std::collections::BTreeSet<_> = (0..50).map(|_| site.open("2025-11-25")).collect();
    assert_eq!(ids.len(), 50);
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
pub(crate) fn canc_12_sse_09_events_after_a_lost_connection_are_replayed() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let mut client = site.stream(&call(&session, 2, "steps"));
    assert!(client.chunk().unwrap().starts_with("id: 3-0\nretry: 1000\ndata:\n\n"));
    drop(client);
    site.wait_for(1, 1);
    let mut again = site.begin(&get(&session, &[("Last-Event-ID", "3-0")]));
    let answer = again.answer();
    let ids: Vec<_> = answer.body.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids, ["3-1", "3-2", "3-3", "3-4"]);
    assert!(answer.body.contains("\"id\":2,\"result\""));
    // It can be replayed again, as long as it is in the buffer.
    let once_more = site.send(&get(&session, &[("Last-Event-ID", "3-3")]));
    assert!(
        once_more.body.starts_with("id: 3-4\n") && once_more.body.matches("id: ").count() == 1,
        "{once_more:?}"
    );
}

#[test]
fn sse_07_a_handler_can_release_its_connection() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let first = site.call(&session, 2, "later");
    assert_eq!(first.body, "id: 3-0\nretry: 1000\ndata:\n\n");
    // At once, so that it has to wait for the response.
    let rest = site.send(&get(&session, &[("Last-Event-ID", "3-0")]));
    assert_eq!(rest.text(), "let go");
    let old = site.open("2025-06-18");
    assert_eq!(site.call(&old, 2, "later").text(), "kept");
    assert_eq!(site.send(&modern("later")).text(), "kept");
    // The same for a tool that is a type, whose response is there before the connection is closed.
    assert_eq!(site.call(&session, 3, "go").text(), "let go");
    assert_eq!(site.call(&old, 3, "go").text(), "kept");
}

#[test]
pub(crate) fn a_stream_that_is_resumed_elsewhere_ends_on_its_old_connection() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let mut first = site.stream(&call(&session, 2, "wait"));
    assert!(first.chunk().unwrap().contains("id: 3-1"));
    let mut second = site.stream(&get(&session, &[("Last-Event-ID", "3-0")]));
    assert!(second.chunk().unwrap().starts_with("id: 3-1\n"));
    assert!(first.chunk().is_none());
    site.delete(&session);
    assert!(second.chunk().is_none());
    site.wait_for(1, 1);
}

#[test]
fn http_19_deleting_a_session_ends_its_open_requests_with_an_empty_stream() {
    let site = Site::new();
    for (calls, version) in ["2025-06-18", "2025-11-25"].into_iter().enumerate() {
        let session = site.open(version);
        let mut calling = site.begin(&call(&session, 2, "silent"));
        site.wait_for(calls + 1, calls);
        site.delete(&session);
        let end = calling.answer();
        assert_eq!((end.status, end.field("content-type")), (200, Some("text/event-stream")));
        assert_eq!(end.body, "");
        site.wait_for(calls + 1, calls + 1);
        // The connection can be used again, the session cannot.
        calling.write(&call(&session, 3, "echo"));
        assert_eq!(calling.answer().status, 404);
    }
}

#[test]
fn deleting_a_session_cuts_a_long_response_off_so_that_it_does_not_seem_complete() {
    let site = Site::new();
    let session = site.open("2025-06-18");
    let mut calling = site.begin(&call(&session, 2, "long"));
    assert_eq!(calling.head().field("transfer-encoding"), Some("chunked"));
    site.delete(&session);
    let rest = calling.rest();
    assert!(rest.len() < 12_000_000 && !rest.ends_with("\r\n0\r\n\r\n"));
}
