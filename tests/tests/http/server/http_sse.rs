//! HTTP+SSE, the transport of 2024-11-05.

use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{Change, ServerConfig, ServerFeatures};

use super::host::{
    CONFIG, Connection, Host, INITIALIZED, PING, bare, in_session, initialize, initialize_body,
    modern, post, to, tool_call,
};

fn host(room: usize) -> Host {
    Host::of(&CONFIG, |options| {
        (options.path, options.sse_path) = (Some("/mcp"), Some("/sse"));
        options.max_pending = room;
    })
}

/// A POST of a message to its target.
fn posted(target: &str, body: &str) -> String {
    to(target, &post(&[], body))
}

/// Opens a stream, and returns it with the target for messages.
fn open(host: &mut Host) -> (Connection, String) {
    open_at(host, "/sse")
}

fn open_at(host: &mut Host, path: &str) -> (Connection, String) {
    let mut stream = host.connect(&to(path, &bare("GET", &[])));
    let body = &stream.answer.body;
    let target = body.strip_prefix("event: endpoint\ndata: ").unwrap().trim().to_owned();
    assert!(target.starts_with(&format!("{path}?session=")) && body.ends_with("\n\n"));
    stream.answer.body.clear();
    (stream, target)
}

#[test]
fn old_01_old_02_old_04_old_08_messages_are_accepted_and_their_responses_are_events() {
    for (chunk, room) in [(usize::MAX, 1 << 16), (1, 400)] {
        let mut host = host(room);
        host.chunk = chunk;
        let (mut stream, target) = open(&mut host);
        for (body, count) in [
            (initialize_body("2024-11-05"), 1),
            (INITIALIZED.to_owned(), 0),
            (tool_call(2, "progress"), 3),
            (tool_call(3, "long"), 1),
        ] {
            let mut message = Connection::new(&posted(&target, &body));
            host.serve([&mut message, &mut stream]);
            assert_eq!(message.answer.trace(), "202\n\n", "{body}");
            let events = std::mem::take(&mut stream.answer.body);
            assert_eq!(events.matches("data: {").count(), count, "{events}");
            assert!(!events.contains("id: ") && !stream.is_done);
        }
        // Errors, changes and what is under way are those of the stream.
        let mut message = Connection::new(&posted(&target, "nonsense"));
        host.serve([&mut message, &mut stream]);
        host.site.publish(&Change::tools());
        let mut slow = Connection::new(&posted(&target, &tool_call(4, "slow")));
        host.serve([&mut slow, &mut stream]);
        assert_eq!((message.answer.status, slow.answer.status), (202, 202));
        let events = &stream.answer.body;
        let both = [r#"data: {"jsonrpc":"2.0","id":null,"error":{"code":-32700"#, "list_changed"];
        assert!(both.iter().all(|event| events.contains(event)), "{events}");
        let open = host.open.remove(0);
        assert!(host.site.turn(host.now, open.server).is_some());
        host.site.shut_down(host.now.saturating_add(Duration::from_secs(1)));
        for (body, status) in [(tool_call(5, "echo"), 503), (INITIALIZED.to_owned(), 202)] {
            assert_eq!(host.send(&posted(&target, &body)).status, status);
        }
        stream.close(&mut host);
        host.run();
        assert!(host.site.turn(host.now, open.server).is_none());
        assert_eq!(host.send(&posted(&target, INITIALIZED)).status, 404);
        assert_eq!((host.site.sessions(), host.site.exchanges(), host.ended.len()), (0, 0, 1));
    }
}

#[test]
fn a_body_counts_until_its_messages_are_handled() {
    let mut host = Host::of(&CONFIG, |options| {
        options.sse_path = Some("/sse");
        (options.max_body, options.body_budget) = (16 << 10, 20 << 10);
    });
    let (_stream, target) = open(&mut host);
    let body = INITIALIZED.to_owned() + &" ".repeat(15 << 10);
    let request = to(&target, &post(&[], &body));
    let (head, _) = request.split_at(request.find("\r\n\r\n").unwrap() + 4);
    // The responses stay where they are.
    for _ in 0..3 {
        let exchange = host.begin(head);
        assert_eq!(host.site.feed_body(exchange, body.as_bytes()), body.len());
        host.site.end_of_body(host.now, exchange);
        host.run();
    }
}

#[test]
fn a_path_of_any_length_is_told() {
    for len in 1..=300 {
        let path: &str = format!("/{}", "p".repeat(len)).leak();
        let mut host = Host::of(&CONFIG, |options| options.sse_path = Some(path));
        let (_stream, target) = open_at(&mut host, path);
        assert_eq!(host.send(&posted(&target, INITIALIZED)).status, 202, "{len}");
    }
}

#[test]
fn old_05_old_06_bc_05_only_its_own_path_and_id_lead_to_a_stream() {
    let mut host = host(1 << 16);
    let (mut stream, target) = open(&mut host);
    let session = host.open("2025-11-25");
    for target in ["/sse", "/sse?session=", "/sse?session=x", &format!("/sse?session={session}")] {
        assert_eq!(host.send(&posted(target, INITIALIZED)).error(), (404, -32001));
    }
    let id = target.split_once('=').unwrap().1.to_owned();
    assert_eq!(host.call(&id, INITIALIZED).status, 404);
    assert_eq!(host.send(&posted("/other", INITIALIZED)).status, 404);
    let answer = host.send(&to("/sse", &bare("DELETE", &[])));
    assert_eq!((answer.status, answer.field("allow")), (405, Some("GET, POST, OPTIONS")));
    host.serve([&mut stream]);
    assert_eq!((stream.answer.body.as_str(), stream.is_done), ("", false));
    let (mut other, to_other) = open(&mut host);
    assert_ne!(target, to_other);
    let ping = |id: u32| post(&[], &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    for (id, target) in [(2, &to_other), (1, &target)] {
        assert_eq!(host.send(&to(target, &ping(id))).status, 202);
    }
    host.serve([&mut stream, &mut other]);
    assert!(stream.answer.body.contains("\"id\":1") && other.answer.body.contains("\"id\":2"));
    let foreign = [("Host", "evil.example.com")];
    for request in [to("/sse", &bare("GET", &foreign)), to(&target, &post(&foreign, INITIALIZED))] {
        assert_eq!(host.send(&request).status, 403);
    }
    // It is off by default.
    let mut without = Host::of(&CONFIG, |options| options.path = Some("/mcp"));
    assert_eq!(without.send(&to("/sse", &bare("GET", &[]))).status, 404);
}

#[test]
fn r3_l2_a_post_without_a_content_type_is_refused() {
    let mut host = host(1 << 16);
    let (_stream, target) = open(&mut host);
    let session = host.open("2025-11-25");
    let posts = [
        posted(&target, INITIALIZED),
        in_session(&session, INITIALIZED),
        initialize("2025-11-25"),
        modern("tools/list", "{}", &[]),
    ];
    for whole in posts {
        let without = whole.replace("Content-Type: application/json\r\n", "");
        let wrong = whole.replace("Content-Type: application/json", "Content-Type: text/plain");
        assert_eq!(host.send(&without).error(), (415, -32600), "{without}");
        assert_eq!(host.send(&wrong).error(), (415, -32600), "{wrong}");
        assert!(matches!(host.send(&whole).status, 200 | 202), "{whole}");
    }
}

/// Returns the number of responses with this status.
fn count(messages: &[Connection], status: u16) -> usize {
    messages.iter().filter(|message| message.answer.status == status).count()
}

#[test]
fn a_message_waits_while_the_stream_is_not_read() {
    let mut host = Host::of(&CONFIG, |options| {
        (options.sse_path, options.max_pending) = (Some("/sse"), 100);
        options.write_timeout = Duration::MAX;
    });
    let (mut stream, target) = open(&mut host);
    let body = initialize_body("2024-11-05");
    let body = posted(&target, &body.replace("elicitation", "roots"));
    let mut messages = host.connect_all([&*body; 4]);
    let waiting = count(&messages, 0);
    host.serve_after(Duration::from_secs(30), &mut messages);
    assert_eq!(count(&messages, 503), waiting - 1, "the response of one has begun");
    host.serve([&mut stream]);
    assert!(stream.answer.body.contains("\"id\":1,\"result\""), "{:?}", stream.answer);
}

#[test]
fn a_message_that_waits_for_a_stream_that_ends_is_refused() {
    let mut host = host(100);
    let (mut stream, target) = open(&mut host);
    let body = posted(&target, &initialize_body("2024-11-05"));
    let mut messages = host.connect_all([&*body; 4]);
    stream.close(&mut host);
    host.serve(&mut messages);
    let refused = count(&messages, 404);
    assert!(refused > 0 && refused + count(&messages, 202) == 4, "{messages:?}");
    assert_eq!(host.site.exchanges(), 0);
}

#[test]
fn old_04_a_response_that_has_begun_is_finished_before_another_begins() {
    let long: &str = "x".repeat(4000).leak();
    let config = ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    let config: &ServerConfig<'_> = Box::leak(Box::new(config.instructions(long)));
    for end in ["none", "lost", "late"] {
        let mut host = Host::of(config, |options| {
            (options.sse_path, options.max_pending) = (Some("/sse"), 400);
            options.write_timeout = Duration::MAX;
        });
        let (mut stream, target) = open(&mut host);
        let body = initialize_body("2024-11-05");
        let [mut first, mut second] =
            [&body, PING].map(|body| Connection::new(&posted(&target, body)));
        host.serve([&mut first]);
        assert!(!first.is_done, "its response waits for room");
        match end {
            "lost" => first.close(&mut host),
            "late" => host.wait(Duration::from_secs(30)),
            _ => {}
        }
        host.serve([&mut first, &mut second, &mut stream]);
        let data = stream.answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let ids: Vec<_> = data
            .map(|data| serde_json::from_str::<serde_json::Value>(data).unwrap()["id"].take())
            .collect();
        assert_eq!(ids, [1, 9], "{end}");
        let status = if end == "lost" { 0 } else { 202 };
        assert_eq!((first.answer.status, second.answer.status), (status, 202), "{end}");
        assert_eq!(host.site.exchanges(), 1, "{end}");
    }
}
