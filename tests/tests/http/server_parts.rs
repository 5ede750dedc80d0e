//! The parts of a server over HTTP: routes, the buffer of an exchange, and the replay buffer.

use core::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::http::server::{
    Endpoint, EventId, OutgoingResponse, Refusal, ReplayBuffer, ReplayCursor, Route, StreamRecorder,
};
use mcp_sansio::{Frame, Messages, NotAllowed, Revision, Revisions, SendError, Storage, TxBuffer};

#[test]
fn an_unsupported_version_is_refused_in_a_session_and_handled_outside_of_one() {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let usual = [
        ("host", "localhost"),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ];
    let version = [("mcp-protocol-version", "1999-01-01")];
    let session = [("mcp-session-id", "s")];
    let endpoint = Endpoint::new(Revisions::ALL);
    for (endpoint, fields, refused) in [
        (endpoint, [&usual[..], &version].concat(), None),
        (endpoint, [&usual[..], &version, &session].concat(), Some(400)),
        (endpoint.without_sessions(), [&usual[..], &version, &session].concat(), None),
    ] {
        let fields = &fields[..];
        let head = RequestHead::new("POST", "/mcp", &fields);
        match endpoint.route(&head, &Messages::new(Frame::Complete(body))) {
            Route::Stateless => assert_eq!(refused, None),
            Route::Refused(error) => assert_eq!(Some(error.status()), refused),
            other => panic!("{other:?}"),
        }
    }
    // 2024-11-05 has no `Mcp-Session-Id`.
    for (revisions, allow) in [
        (Revisions::only(Revision::V2024_11_05), "POST, OPTIONS"),
        (Revisions::only(Revision::V2025_03_26), "POST, GET, DELETE, OPTIONS"),
        (Revisions::MODERN, "POST, OPTIONS"),
    ] {
        assert_eq!(Endpoint::new(revisions).allowed_methods(), allow);
    }
}

#[test]
fn a_stream_is_primed_once_and_numbers_go_on() {
    let mut tx =
        TxBuffer::for_http_response([0; 512], 0).with_priming_event(3, Duration::from_millis(500));
    assert_eq!(tx.send_priming_event(), Ok(true));
    assert_eq!(tx.http_response(), Some(OutgoingResponse::EVENT_STREAM));
    assert_eq!(tx.pending(), b"id: 3-0\nretry: 500\ndata:\n\n");
    assert_eq!(tx.send_priming_event(), Ok(false));
    tx.advance(usize::MAX);
    let refused = Refusal::content_too_large();
    assert!(refused.message().contains("exceeds"));
    refused.write(&mut tx).unwrap();
    assert!(tx.pending().starts_with(b"id: 3-1\ndata: {"), "{tx:?}");
    assert_eq!(TxBuffer::for_http_response([0; 64], 0).send_priming_event(), Ok(false));
    for id in ["3-7", "0-0", "4294967295-4294967295"] {
        assert_eq!(id.parse::<EventId>().unwrap().to_string(), id);
    }
}

#[test]
fn a_body_is_one_message_also_where_it_is_written_in_parts() {
    for len in [16, 64, 512] {
        let mut storage = vec![0; len];
        let mut tx = TxBuffer::for_http_response(&mut storage[..], 0);
        let mut body = Vec::new();
        while let Err(error) = Refusal::session_not_found().write(&mut tx) {
            assert_eq!(error, SendError::Full);
            assert!(!tx.pending().is_empty());
            body.extend_from_slice(tx.pending());
            tx.advance(usize::MAX);
        }
        body.extend_from_slice(tx.pending());
        tx.advance(usize::MAX);
        assert!(body.ends_with(b"}"), "{}", String::from_utf8_lossy(&body));
        assert_eq!(tx.http_response().map(|reply| reply.status), Some(404), "{len}");
        let again = Refusal::session_not_found().write(&mut tx);
        assert_eq!(again, Err(SendError::NotAllowed(NotAllowed::AlreadyResponded)), "{len}");
    }
}

fn rest<S: Storage>(replay: &ReplayBuffer<S>, cursor: &mut ReplayCursor) -> String {
    let mut all = Vec::new();
    while let Some(parts) = replay.next_part(cursor).unwrap() {
        all.extend(parts.concat());
    }
    String::from_utf8(all).unwrap()
}

#[test]
fn a_ring_holds_events_that_fit_exactly_and_no_part_of_longer_ones() {
    let event = "data: 1\n\n";
    for (room, expected) in [(12 + 9, event), (12 + 8, "")] {
        let mut storage = vec![0; room];
        let mut replay = ReplayBuffer::new(&mut storage[..]);
        replay.record(&mut StreamRecorder::new(1), event.as_bytes());
        assert_eq!(rest(&replay, &mut replay.read_stream(1)), expected);
    }
    // An event that is too long clears the buffer; later events are recorded again.
    let mut replay = ReplayBuffer::new([0; 64]);
    let mut recording = StreamRecorder::new(1);
    replay.record(&mut recording, event.as_bytes());
    replay.record(&mut recording, format!("data: {}\n\n", "x".repeat(100)).as_bytes());
    assert!(!replay.has_stream(1));
    replay.record(&mut recording, event.as_bytes());
    assert_eq!(rest(&replay, &mut replay.read_stream(1)), event);
}

#[test]
fn a_cursor_reports_whether_it_is_inside_an_event_and_continues_at_the_oldest() {
    let mut replay = ReplayBuffer::new([0; 64]);
    let mut recording = StreamRecorder::new(1);
    let mut waits = replay.read_stream(1);
    let mut cursor = replay.read_stream(1);
    replay.record(&mut recording, b"data: 1");
    assert_eq!(rest(&replay, &mut cursor), "data: 1");
    assert!(cursor.is_mid_event());
    // The event that was read is overwritten; the next one is the oldest.
    replay.record(&mut recording, &[b'x'; 20]);
    replay.record(&mut recording, b"\n\n");
    assert_eq!(rest(&replay, &mut cursor), format!("{}\n\n", "x".repeat(20)));
    assert!(!cursor.is_mid_event());
    replay.record(&mut recording, b"data: 2\n\n");
    replay.record(&mut recording, b"data: 3\n\n");
    assert_eq!(rest(&replay, &mut waits), "data: 2\n\ndata: 3\n\n");
}
