//! Clients that never pause, never read or drip: their connections are closed, and others do not
//! wait for them.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::Limits;
use mcp_sansio_adapters::asynchronous::http::HttpOptions;

use crate::scripted::{Peer, Takes, Then, World};
use crate::site::{call, in_session, modern, post, request};

const SHORT: Duration = Duration::from_millis(50);
const CHUNKED: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Maximum number of reads and writes of one client before another one gets its response: the
/// server polls 64 connections before the test runs, and each reads and writes at most 16 times.
const FEW: usize = 2048;

/// The head of a POST whose body has this length.
fn sized(len: usize) -> String {
    post(&[], "").replace("Content-Length: 0", &format!("Content-Length: {len}"))
}

#[test]
fn s2_others_get_responses_while_clients_send_without_a_pause() {
    let long = "x".repeat(8000);
    let long: &'static str = Box::leak(
        format!("GET /nothing HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n").into_boxed_str(),
    );
    let extended: &'static str =
        Box::leak(format!("1;{}\r\nx\r\n", "a".repeat(240)).into_boxed_str());
    let beginnings = [
        // In front of a request, in a head, and between requests.
        ("", vec![Then::Flood("\r\n"), Then::Flood("X: y\r\n"), Then::Flood(long)]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nX: ", vec![Then::Drip("y"), Then::Flood("y")]),
        // In a body: of known length, in chunks, with extensions.
        (&sized(100_000), vec![Then::Drip("x"), Then::Flood("x")]),
        (CHUNKED, vec![Then::Flood("1\r\nx\r\n"), Then::Flood(extended), Then::Drip("1\r\nx\r\n")]),
        // Behind a rejection, and behind a request in progress.
        (&sized(100_001), vec![Then::Flood("x"), Then::Drip("x")]),
        (&modern("wait"), vec![Then::Flood("x"), Then::Drip("x")]),
    ];
    for (beginning, thens) in beginnings {
        let mut world = World::new(HttpOptions::new());
        let hostile: Vec<Peer> =
            (0..3).map(|n| world.connect(beginning).then(thens[n % thens.len()])).collect();
        let ordinary = world.connect("");
        let most = world.ask(&ordinary, &modern("echo"), 3, &hostile);
        assert!(most <= FEW, "{most}, {beginning:?}");
    }
}

#[test]
fn s2_others_get_responses_while_clients_receive_without_a_pause_or_not_at_all() {
    let mut world = World::new(HttpOptions::new());
    let id = world.open_session();
    for request in [modern("endless"), call(&id, 2, "endless")] {
        let takes = [Takes::All, Takes::Bytes, Takes::Nothing];
        let hostile: Vec<Peer> =
            takes.into_iter().map(|takes| world.connect(&request).takes(takes)).collect();
        let ordinary = world.connect("");
        let most = world.ask(&ordinary, &modern("echo"), 10, &hostile);
        assert!(most <= FEW, "{most}");
        assert!(hostile[0].get().taken.len() > hostile[1].get().taken.len());
    }
}

#[test]
fn s2_a_client_that_never_pauses_is_disconnected_after_its_time_limit() {
    for beginning in ["GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_owned(), sized(100_000)] {
        let mut world = World::new(HttpOptions { read_timeout: SHORT, ..HttpOptions::new() });
        let peer = world.connect(&beginning).then(Then::Drip("y"));
        // A millisecond for each read: 50 of them use up its time, and at most as many are read
        // after the end.
        peer.get().pause = Duration::from_millis(1);
        peer.get().most_calls = 300;
        world.until("it is let go", || peer.is_gone());
    }
}

#[test]
fn s2_input_behind_a_rejection_is_read_for_a_limited_time() {
    let mut world = World::new(HttpOptions::new());
    let peer = world.connect(&sized(100_001)).then(Then::Flood("x"));
    peer.get().pause = Duration::from_millis(1);
    // Half a second and a little more.
    peer.get().most_calls = 1000;
    world.until("it is let go", || peer.is_gone());
    assert_eq!(peer.answers("413"), 1);
}

#[test]
fn s3_a_client_that_never_reads_is_disconnected_whatever_the_response() {
    let mut world = World::new(HttpOptions { read_timeout: SHORT, ..HttpOptions::new() });
    let id = world.open_session();
    let asks = [
        request("GET", "/nothing", &[], ""),
        request("PUT", "/mcp", &[], ""),
        request("OPTIONS", "/mcp", &[], ""),
        request("DELETE", "/mcp", &[("Mcp-Session-Id", "unknown")], ""),
        in_session(&id, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        post(&[("Expect", "100-continue")], "{}").replace("{}", ""),
        "nonsense\r\n\r\n".to_owned(),
        modern("echo"),
        modern("endless"),
        modern("long"),
        call(&id, 3, "echo"),
    ];
    let slowly = || Takes::Slowly(Duration::from_millis(5), None);
    for takes in [|| Takes::Nothing, slowly, || Takes::Flushed(None)] {
        for ask in &asks {
            let peer = world.connect(ask).takes(takes());
            world.until("it is let go", || peer.is_gone());
            // A byte every five milliseconds.
            assert!(peer.get().taken.len() <= 20, "{ask}");
        }
    }
}

#[test]
fn s3_a_client_that_pauses_before_it_reads_has_its_time_for_each_response() {
    let mut world = World::new(HttpOptions { read_timeout: SHORT, ..HttpOptions::new() });
    let client = world.connect("");
    for answers in 1..=3 {
        client.get().takes = Takes::Nothing;
        client.send(&modern("echo"));
        world.sleep(SHORT * 3 / 4);
        client.get().takes = Takes::All;
        client.send("");
        world.until("a response", || client.answers("200") == answers);
    }
}

#[test]
fn s3_a_post_whose_stream_is_not_read_times_out() {
    let mut world = World::new(HttpOptions {
        sse_path: Some("/sse"),
        read_timeout: SHORT,
        ..HttpOptions::new()
    });
    let stream = world.connect(&request("GET", "/sse", &[], ""));
    world.until("the stream begins", || stream.text().contains("session="));
    let text = stream.text();
    let target = text.split_once("data: ").unwrap().1.lines().next().unwrap().to_owned();
    stream.get().takes = Takes::Nothing;
    let peer = world.connect("");
    let ping = request("POST", &target, &[], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    // Until the buffers of the stream are full. The time of the request is over in the same moment
    // as that of the stream, without which there is no session.
    let refused = || peer.answers("503") + peer.answers("404");
    let mut sent = 0;
    while refused() == 0 {
        sent += 1;
        peer.send(&ping);
        world.until("an answer", || peer.answers("202") + refused() == sent);
    }
    world.until("the stream is let go", || stream.is_gone());
}

#[test]
fn s6_a_modern_client_that_disconnected_is_detected_behind_pipelined_requests() {
    let ahead = "x".repeat(400_000);
    for then in [Then::End, Then::Flood("x")] {
        let mut world = World::new(HttpOptions::new());
        let peer = world.connect(&(modern("wait") + &ahead)).then(then);
        let counts = Arc::clone(&world.counts);
        world.until("the handler is dropped", || counts.get() == (1, 1));
        assert!(peer.is_gone());
    }
}

#[test]
fn s6_pipelined_bytes_are_kept_up_to_a_limit_and_then_end_the_connection() {
    for (ahead, kept) in [(10, 10), (400, 0)] {
        let mut world = World::new(HttpOptions::new());
        let peer = world.connect(&(modern("wait") + &modern("echo").repeat(ahead)));
        let counts = Arc::clone(&world.counts);
        world.until("all has been read", || counts.get() == (1, 0) && peer.get().is_silent());
        world.gate.try_send(()).unwrap();
        world.until("all is answered", || peer.answers("200") == 1 + kept);
        if kept == 0 {
            world.until("it is closed", || peer.get().is_closed);
            assert_eq!(
                (peer.answers("200"), peer.text().matches("connection: close").count()),
                (1, 1)
            );
        }
    }
}

#[test]
fn a_client_may_send_its_next_request_as_soon_as_it_has_a_long_response() {
    let mut world =
        World::with(HttpOptions::new(), Limits { max_pending: 1 << 20, ..Limits::new() });
    let client = world.connect("");
    client.get().next = Some(sized(90_000) + &" ".repeat(90_000));
    client.send(&modern("long"));
    world.until("two responses", || client.answers("") == 2);
    assert!(!client.is_gone());
    assert_eq!(world.ask(&client, &modern("echo"), 1, &[]), 0);
}
