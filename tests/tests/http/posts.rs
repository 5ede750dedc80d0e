//! Messages of a client as bodies of POST requests: what their heads depend on, and requests that
//! fail in HTTP.

use mcp_sansio::http::client::{HttpFailure, OutgoingMessage};
use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, ConnectError, Era,
    Frame, Instant, Messages, RawJson, RpcError, SendError, TxBuffer,
};
use mcp_sansio_tests::memory::new_client;

static CONFIG: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::ROOTS_LIST_CHANGED)
        .ping_interval(core::time::Duration::from_secs(1));
const NOW: Instant = Instant::from_millis(0);
const BUSY: HttpFailure<'_> = HttpFailure::Status(503);

fn buffer() -> TxBuffer<Vec<u8>> {
    TxBuffer::for_http_requests(Vec::new(), 1 << 20)
}

/// Takes the message, and compares it with one that has been parsed. Returns its id and its text.
fn take(tx: &mut TxBuffer<Vec<u8>>) -> (Option<String>, String) {
    let pending = tx.pending().to_vec();
    let parsed = OutgoingMessage::parse(&pending).expect("a message");
    let post = tx.take_post().expect("a message");
    assert!(tx.is_idle() && tx.post().is_none() && tx.take_post().is_none());
    let written = post.message();
    assert_eq!(post.body(), pending);
    let params = |message: &OutgoingMessage<'_>| message.params().as_str().to_owned();
    assert_eq!((written.id(), written.method()), (parsed.id(), parsed.method()));
    if written.method().is_some() {
        assert_eq!(params(&written), params(&parsed));
    }
    assert_eq!(written.tool_name(), parsed.tool_name());
    assert_eq!(written.is_handshake(), parsed.is_handshake());
    assert_eq!(written.cancelled_request(), parsed.cancelled_request());
    if written.id().is_some() {
        assert_eq!(written.protocol_version(), parsed.protocol_version());
    }
    (written.id().map(str::to_owned), String::from_utf8(pending).unwrap())
}

/// Returns a client that is connected, and its buffer.
fn connected(era: Era) -> (Client<'static>, TxBuffer<Vec<u8>>) {
    let (mut client, mut tx) = (new_client::<4>(&CONFIG), buffer());
    client.set_era(Some(era));
    client.connect(NOW, &mut tx).unwrap();
    if era == Era::Legacy {
        take(&mut tx);
        let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
        let mut messages = Messages::new(Frame::Complete(result.as_bytes()));
        let event = client.next_event(NOW, &mut messages, &mut tx);
        assert!(matches!(event, Ok(Some(ClientEvent::Connected(_)))), "{event:?}");
        let (id, text) = take(&mut tx);
        assert!(id.is_none() && text.contains("notifications/initialized"));
    }
    (client, tx)
}

#[test]
fn a_message_says_what_its_head_needs_without_being_parsed() {
    let options = CallOptions::new().progress(true);
    let arguments = RawJson::from_static(r#"{"a":"}\",","name":{"id":7}}"#);
    for era in Era::ALL {
        let (mut client, mut tx) = connected(era);
        for method in ["tools/call", "x", "quote\" comma, \\ brace}", "é\n"] {
            let params = CallToolParams::new("né \"x\"").arguments(arguments);
            let call = client.request(NOW, method, &params, options, &mut tx).unwrap();
            assert!(take(&mut tx).0.is_some());
            client.cancel_call(call, Some("no, \"never\"}"), &mut tx).unwrap();
            assert!(take(&mut tx).0.is_none());
            client.notify(method, &RawJson::EMPTY, &mut tx).unwrap();
            take(&mut tx);
        }
    }
}

#[test]
fn responses_have_no_method() {
    let (mut client, mut tx) = connected(Era::Legacy);
    for id in [r#""a,\"b\"}""#, "-7", r#""\\""#, "12345678901234567890"] {
        for method in ["ping", "unknown", "roots/list"] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
            let mut messages = Messages::new(Frame::Complete(request.as_bytes()));
            let event = client.next_event(NOW, &mut messages, &mut tx).unwrap();
            if let Some(ClientEvent::Request(request)) = event {
                let error = RpcError::internal("no");
                client.respond_error(request.handle, &error, &mut tx).unwrap();
            }
            let (own, text) = take(&mut tx);
            assert!(own.is_none() && text.contains(id), "{text}");
        }
    }
    client.roots_changed(&mut tx).unwrap();
    assert!(take(&mut tx).1.contains("roots/list_changed"));
}

#[test]
fn the_buffer_holds_one_message_and_gives_it_whole() {
    let (mut client, mut tx) = connected(Era::Modern);
    let request = |client: &mut Client<'_>, tx: &mut TxBuffer<Vec<u8>>| {
        client.request(NOW, "x", &RawJson::EMPTY, CallOptions::new(), tx)
    };
    request(&mut client, &mut tx).unwrap();
    assert_eq!(request(&mut client, &mut tx), Err(SendError::Full));
    assert!(tx.post().is_some());
    // A part of a message is not a message.
    tx.advance(1);
    assert!(tx.post().is_none() && tx.take_post().is_none());
    assert_eq!(request(&mut client, &mut tx), Err(SendError::Full));
    tx.advance(usize::MAX);
    request(&mut client, &mut tx).unwrap();
    assert_eq!(take(&mut tx).0.as_deref(), Some("2"));
    // A message that does not fit is not taken before its end, and leaves nothing when it is
    // abandoned.
    let mut small = TxBuffer::for_http_requests(vec![0; 64], 64);
    let sent = client.request(NOW, "x", &RawJson::EMPTY, CallOptions::new(), &mut small);
    assert_eq!(sent, Err(SendError::Full));
    assert!(small.is_mid_frame() && small.post().is_none() && small.take_post().is_none());
    client.abort_frame(&mut small).unwrap();
    assert!(small.is_idle());
    // Lines are no posts.
    let mut lines = TxBuffer::with_limit(Vec::new(), 1 << 20);
    client.request(NOW, "x", &RawJson::EMPTY, CallOptions::new(), &mut lines).unwrap();
    assert!(lines.post().is_none() && lines.take_post().is_none());
}

#[test]
fn a_call_that_failed_in_http_ends_with_the_failure() {
    for era in Era::ALL {
        let (mut client, mut tx) = connected(era);
        let params = CallToolParams::new("a");
        let call = client.request(NOW, "tools/call", &params, CallOptions::new(), &mut tx).unwrap();
        let (id, _) = take(&mut tx);
        let id = id.unwrap();
        let outcome = CallOutcome::Http(HttpFailure::Status(503));
        let ended = ClientEvent::CallFinished { call, outcome };
        let failed = client.fail(NOW, &id, BUSY, &mut tx).unwrap();
        assert_eq!(format!("{failed:?}"), format!("{:?}", Some(ended)));
        // It is over: a second failure and a late response change nothing.
        assert!(client.fail(NOW, &id, BUSY, &mut tx).unwrap().is_none());
        for id in ["", "null", "{}", "\"x\"", "99"] {
            assert!(client.fail(NOW, id, BUSY, &mut tx).unwrap().is_none(), "{id}");
        }
        // An error of the server is its response.
        let call = client.request(NOW, "tools/call", &params, CallOptions::new(), &mut tx).unwrap();
        let id = take(&mut tx).0.unwrap();
        let error = HttpFailure::JsonRpc(RawJson::from_static(r#"{"code":-32020,"message":"m"}"#));
        let failed = client.fail(NOW, &id, error, &mut tx).unwrap();
        let Some(ClientEvent::CallFinished { call: ended, outcome: CallOutcome::Error(error) }) =
            failed
        else {
            panic!("{failed:?}")
        };
        assert_eq!((ended, error.code()), (call, -32020));
        assert!(tx.is_idle());
    }
}

#[test]
fn a_probe_that_was_not_understood_means_a_legacy_server_and_another_failure_none() {
    let (mut client, mut tx) = (new_client::<4>(&CONFIG), buffer());
    for failure in [
        BUSY,
        HttpFailure::Unauthorized { status: 401, challenge: "" },
        HttpFailure::NotAuthorized("declined"),
        HttpFailure::NotConnected("refused"),
        HttpFailure::ConnectionLost,
    ] {
        client.connect(NOW, &mut tx).unwrap();
        let (probe, _) = take(&mut tx);
        let failed = client.fail(NOW, probe.as_deref().unwrap(), failure, &mut tx).unwrap();
        assert!(matches!(failed, Some(ClientEvent::ConnectFailed(ConnectError::Http(_)))));
        assert!(!client.is_open() && tx.is_idle());
    }
    for failure in [HttpFailure::Status(499), HttpFailure::Invalid("text/html")] {
        let (mut client, mut tx) = (new_client::<4>(&CONFIG), buffer());
        client.connect(NOW, &mut tx).unwrap();
        let (probe, _) = take(&mut tx);
        assert!(client.fail(NOW, &probe.unwrap(), failure, &mut tx).unwrap().is_none());
        assert!(take(&mut tx).1.contains("initialize"));
    }
    client.connect(NOW, &mut tx).unwrap();
    let (probe, text) = take(&mut tx);
    assert!(text.contains("server/discover"));
    let missing = HttpFailure::Status(404);
    assert!(client.fail(NOW, &probe.unwrap(), missing, &mut tx).unwrap().is_none());
    let (initialize, text) = take(&mut tx);
    assert!(text.contains("initialize"));
    let failed = client.fail(NOW, initialize.as_deref().unwrap(), BUSY, &mut tx).unwrap();
    let Some(ClientEvent::ConnectFailed(ConnectError::Http(failure))) = failed else {
        panic!("{failed:?}")
    };
    assert!(failure.to_string().starts_with("HTTP status 503"));
    assert!(!client.is_open() && tx.is_idle());
    // The client can connect again.
    client.connect(NOW, &mut tx).unwrap();
}

#[test]
fn ping_05_a_ping_that_failed_in_http_is_no_event_and_another_follows_an_interval_later() {
    let (mut client, mut tx) = connected(Era::Legacy);
    let refused = HttpFailure::JsonRpc(RawJson::from_static(r#"{"code":-1,"message":"no"}"#));
    for (round, failure) in (1..).zip([BUSY, refused, BUSY]) {
        let due = Instant::from_millis(round * 1000);
        assert_eq!(client.poll_timeout(), Some(due));
        assert!(client.handle_timeout(due, &mut tx).unwrap().is_none());
        let (id, text) = take(&mut tx);
        assert!(text.contains("\"ping\""));
        assert!(client.fail(due, &id.unwrap(), failure, &mut tx).unwrap().is_none());
    }
}

#[test]
fn a_call_that_waits_for_a_person_has_its_time_later() {
    let (mut client, mut tx) = connected(Era::Modern);
    let (login, at) = (core::time::Duration::from_secs(600), Instant::from_millis);
    let options = CallOptions::new()
        .timeout(core::time::Duration::from_secs(20))
        .limit(core::time::Duration::from_secs(30));
    let call = client.request(NOW, "x", &RawJson::EMPTY, options, &mut tx).unwrap();
    let id = take(&mut tx).0.unwrap();
    client.postpone(&id, login);
    client.postpone("99", login);
    assert!(client.handle_timeout(at(619_999), &mut tx).unwrap().is_none());
    // The login took five seconds.
    client.bring_forward(&id, login - core::time::Duration::from_secs(5));
    assert!(client.handle_timeout(at(24_999), &mut tx).unwrap().is_none());
    let over = client.handle_timeout(at(25_000), &mut tx).unwrap();
    let Some(ClientEvent::CallFinished { call: ended, outcome: CallOutcome::TimedOut }) = over
    else {
        panic!("{over:?}")
    };
    assert_eq!(ended, call);
    client.bring_forward(&id, login);
}

#[test]
fn a_failure_says_what_to_do() {
    let unauthorized = |status, challenge| HttpFailure::Unauthorized { status, challenge };
    let long = "\u{e9}".repeat(301);
    let shown =
        format!("forbidden (HTTP status 403, {}): the token does not permit it", &long[2..]);
    assert_eq!(unauthorized(403, &long).to_string(), shown);
    for (failure, said) in [
        (HttpFailure::Status(404), "HTTP status 404: check the path of the URL"),
        (HttpFailure::Status(418), "HTTP status 418"),
        (
            HttpFailure::Status(503),
            "HTTP status 503: the server is busy or cannot be reached, try again later",
        ),
        (
            unauthorized(401, ""),
            "authentication required (HTTP status 401): log in, or set another token",
        ),
        (
            unauthorized(401, "Bearer\u{1b}"),
            "authentication required (HTTP status 401, Bearer\\u001b): log in, or set another token",
        ),
        (unauthorized(403, ""), "forbidden (HTTP status 403): the token does not permit it"),
        (HttpFailure::NotAuthorized("access was denied"), "not authorized: access was denied"),
        (HttpFailure::NotConnected("refused\n"), "no connection: refused\\n; nothing was sent"),
        (
            HttpFailure::ConnectionLost,
            "the connection ended before the response: repeat the call unless that does harm",
        ),
    ] {
        assert_eq!(failure.to_string(), said);
    }
}
