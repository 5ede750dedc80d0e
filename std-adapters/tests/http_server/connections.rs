//! Connections: what HTTP/1.1 prescribes, and limits.

use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::http::{AuthorizationError, Credentials, HttpOptions};

use crate::scripted::{Takes, World};
use crate::site::{Site, modern, modern_with, post, principal, request};

#[test]
fn http_1_0_responses_have_a_length_or_end_with_the_connection() {
    let site = Site::new();
    let mut client = site.begin(&modern("echo").replace("HTTP/1.1", "HTTP/1.0"));
    assert_eq!(client.answer().text(), "done");
    assert!(client.is_closed());
    let mut client = site.begin(&modern("steps").replace("HTTP/1.1", "HTTP/1.0"));
    let head = client.head();
    assert_eq!((head.field("transfer-encoding"), head.field("connection")), (None, Some("close")));
    let rest = client.rest();
    assert!(
        rest.starts_with("data: {") && rest.ends_with("}\n\n") && rest.contains("\"done\""),
        "{rest}"
    );
}

#[test]
fn oversized_or_invalid_requests_are_rejected_and_the_connection_closed() {
    let site = Site::new();
    let long = post(&[], &"x".repeat(100_001));
    let refused = [
        (long.as_str(), 413),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        ("nonsense\r\n\r\n", 400),
        ("GET /mcp HTTP/1.1\r\n\r\n", 400),
        ("GET /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
    ];
    for (request, status) in refused {
        let mut client = site.connect();
        // It may be rejected before all of it has been sent.
        let _ = std::io::Write::write_all(&mut client.stream, request.as_bytes());
        let answer = client.answer();
        assert_eq!(
            (answer.status, answer.field("connection")),
            (status, Some("close")),
            "{answer:?}"
        );
        assert!(answer.body.contains("\"error\""), "{answer:?}");
    }
    let fields = format!("X: {}\r\n", "x".repeat(70_000));
    let mut client = site.connect();
    let _ = std::io::Write::write_all(
        &mut client.stream,
        modern("echo").replace("Host:", &(fields + "Host:")).as_bytes(),
    );
    assert_eq!(client.answer().status, 431);
    // Later requests are unaffected.
    assert_eq!(site.send(&modern("echo")).text(), "done");
}

#[test]
fn s4_the_response_to_a_rejected_head_request_has_no_body() {
    let open = Site::new();
    for (request, status) in [
        ("HEAD /mcp HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n".to_owned(), 413),
        (
            request("HEAD", "/mcp", &[("Host", "evil.example.com"), ("Connection", "close")], ""),
            403,
        ),
    ] {
        let mut client = open.connect();
        client.write(&request);
        assert_eq!((client.head().status, client.rest().as_str()), (status, ""), "{request}");
    }
}

#[test]
fn r3_h2_half_a_head_and_unread_output_end_at_the_time_of_a_shutdown() {
    let mut site = Site::with(HttpOptions { read_timeout: Duration::MAX, ..HttpOptions::new() });
    let mut head = site.begin("POST /mcp HT");
    let _deaf = site.begin(&modern("long"));
    site.wait_for(1, 1);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        site.shut_down();
        let _ = tell.send(());
    });
    // Only a server that never ends takes this long.
    told.recv_timeout(Duration::from_secs(60)).expect("the server ends");
    assert!(head.is_closed());
}

#[test]
fn a_long_response_is_sent_as_the_client_reads() {
    assert_eq!(Site::new().send(&modern("long")).text().len(), 12_000_000);
}

#[test]
fn output_is_flushed() {
    let mut world = World::new(HttpOptions::new());
    let client = world.connect("").takes(Takes::Flushed(Some(Vec::new())));
    world.ask(&client, &modern("echo"), 2, &[]);
}

#[test]
fn a_head_that_comes_again_on_its_connection_is_checked_as_the_first() {
    let site = Site::new();
    let mut client = site.connect();
    let (own, page) = (modern("echo"), "http://localhost:1");
    for (request, status, origin) in [
        (own.clone(), 200, None),
        (own.replace("Host: localhost", "Host: evil.host"), 403, None),
        (own.replace("application/json,", "application/x,"), 406, None),
        (modern_with("echo", &[("Origin", page)]), 200, Some(page)),
        (own, 200, None),
    ] {
        for _ in 0..2 {
            client.write(&request);
            let answer = client.answer();
            let allowed = answer.field("access-control-allow-origin");
            assert_eq!((answer.status, allowed), (status, origin), "{request}");
        }
    }
    // What is authorized once is not authorized for ever.
    let calls = AtomicUsize::new(0);
    let once = move |_: Credentials| {
        let is_first = calls.fetch_add(1, Ordering::Relaxed) == 0;
        ready(is_first.then(|| principal("anna")).ok_or_else(AuthorizationError::invalid_token))
    };
    let site = Site::with(HttpOptions::new().authorize(once));
    let mut client = site.connect();
    for status in [200, 401, 401] {
        client.write(&modern_with("who", &[("Authorization", "Bearer anna")]));
        assert_eq!(client.answer().status, status);
    }
}
