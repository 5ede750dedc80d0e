//! Byte budget shared by request bodies.

use std::io::{ErrorKind, Read as _};
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::http::HttpOptions;

use crate::site::{Client, Site, call_body, fields_of, in_session, modern, modern_body, post};

/// The body of a call with as many bytes more than it needs.
fn longer(body: &str, bytes: usize) -> String {
    let arguments = format!(r#""arguments":{{"x":"{}"}},"_meta""#, "x".repeat(bytes));
    body.replace(r#""_meta""#, &arguments)
}

/// A stateless call with such a body.
pub(crate) fn long(tool: &str, bytes: usize) -> String {
    post(&fields_of(tool), &longer(&modern_body(7, tool), bytes))
}

/// Returns whether nothing is received for a while.
pub(crate) fn is_silent(client: &mut Client) -> bool {
    client.stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
    let read = client.stream.read(&mut [0]);
    client.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// Room for one body of the maximum length, 100,000 bytes.
fn narrow() -> HttpOptions {
    HttpOptions { body_budget: 100_000, ..HttpOptions::new() }
}

#[test]
pub(crate) fn d1_bodies_wait_while_there_is_no_room_and_go_on_when_there_is() {
    let site = Site::with(narrow());
    let text = long("echo", 80_000);
    let mut first = site.begin(&text[..60_000]);
    // It has been read as far as it was sent once a request on another connection has a response.
    assert!(is_silent(&mut first));
    let mut second = site.begin(&text);
    assert!(is_silent(&mut second));
    // Short bodies are not delayed.
    assert_eq!(site.send(&modern("echo")).text(), "done");
    let session = site.open("2025-11-25");
    site.delete(&session);
    first.write(&text[60_000..]);
    assert_eq!(first.answer().text(), "done");
    assert_eq!(second.answer().text(), "done");
}

#[test]
fn d1_bodies_of_handlers_count_until_they_end_and_those_that_wait_are_refused() {
    let site = Site::with(HttpOptions { read_timeout: Duration::from_millis(300), ..narrow() });
    let session = site.open("2025-11-25");
    // It goes on without its connection.
    let body = longer(&call_body(2, "wait"), 90_000);
    drop(site.stream(&in_session(&session, &body)));
    let refused = site.send(&long("echo", 70_000));
    let fields = ["retry-after", "connection"].map(|name| refused.field(name));
    assert_eq!((refused.status, fields), (503, [Some("5"), Some("close")]));
    assert!(refused.body.contains("\"error\""), "{refused:?}");
    assert_eq!(site.send(&modern("echo")).text(), "done");
    site.delete(&session);
    site.wait_for(2, 2);
    assert_eq!(site.send(&long("echo", 30_000)).text(), "done");
}

#[test]
fn r3_l1_half_a_body_is_refused_at_the_time_of_a_shutdown() {
    let mut site = Site::with(HttpOptions { read_timeout: Duration::MAX, ..HttpOptions::new() });
    let mut client = site.connect();
    let text = modern("echo").replace("Host:", "Expect: 100-continue\r\nHost:");
    client.write(&text[..text.len() - 1]);
    assert_eq!(client.head().status, 100);
    site.hub.shut_down();
    assert_eq!(client.answer().status, 503);
    site.shut_down();
}

#[test]
fn d1_bodies_longer_than_the_budget_are_refused() {
    let site = Site::with(HttpOptions { body_budget: 20_000, ..HttpOptions::new() });
    let mut client = site.connect();
    let _ = std::io::Write::write_all(&mut client.stream, long("echo", 30_000).as_bytes());
    assert_eq!(client.answer().status, 413);
    assert_eq!(site.send(&long("echo", 10_000)).text(), "done");
}
