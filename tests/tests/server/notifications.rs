//! Messages that a server sends without a request: custom notifications, changes. And ids with
//! equal hashes.

use std::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Change, ClientRequest, ExchangeId, Frame, Instant, Messages, RawJson, Remaining, SendError,
    ServerConfig, ServerEvent, ServerFeatures,
};
use mcp_sansio_tests::line::Line;
use mcp_sansio_tests::memory::new_server;

use crate::peer::Peer;

#[test]
fn a_notification_is_sent_if_the_revision_and_the_client_support_it() {
    let complete = "notifications/elicitation/complete";
    let url = r#"{"elicitation":{"url":{}}}"#;
    for (revision, capabilities, method, allowed) in [
        ("2025-11-25", url, complete, true),
        ("2025-11-25", r#"{"elicitation":{"form":{}}}"#, complete, false),
        ("2025-11-25", "{}", complete, false),
        ("2025-06-18", url, complete, false),
        ("2025-06-18", "{}", complete, false),
        ("2025-06-18", "{}", "notifications/own", true),
        ("2025-11-25", "{}", "notifications/own", true),
        ("2025-11-25", url, "notifications/own", true),
        ("2025-11-25", url, "notifications/message", false),
        ("2025-11-25", url, "notifications/cancelled", false),
        ("2025-11-25", url, "notifications/tools/list_changed", false),
    ] {
        let mut peer = session(revision, capabilities);
        let (is_sent, line) = match peer.server.notify(method, &RawJson::EMPTY, &mut peer.line.tx) {
            Ok(()) => (true, format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{}}}}"#)),
            Err(SendError::NotAllowed(_)) => (false, String::new()),
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(is_sent, allowed, "{revision} {capabilities} {method}");
        assert_eq!(peer.sent(), line);
    }
}

#[test]
fn publishing_a_change_resumes_at_its_position() {
    let mut peer = session("2025-11-25", "{}");
    for id in ["\"one\"", "\"two\"", "\"three\""] {
        listen(&mut peer, id);
    }
    // A session and three subscriptions; a new change for each attempt.
    let mut position = 0;
    for told in ["\"params\":{}", "\"one\"", "\"two\"", "\"three\""] {
        let mut change = Change::tools().resume(position);
        assert_eq!(peer.server.publish(&mut change, &mut peer.line.tx), Ok(Remaining::More));
        let sent = peer.sent();
        assert!(sent.contains(told) && sent.lines().count() == 1, "{sent}");
        assert!(change.position() > position);
        position = change.position();
    }
    let mut change = Change::tools().resume(position);
    assert_eq!(peer.server.publish(&mut change, &mut peer.line.tx), Ok(Remaining::Done));
    assert_eq!(change.position(), position);
    // Without a session, its turn is skipped.
    let mut change = Change::tools();
    let told = new_server::<4, 4>(&CONFIG).publish(&mut change, &mut peer.line.tx);
    assert_eq!((told, change.position()), (Ok(Remaining::Done), 1));
}

#[test]
fn changes_of_two_kinds_or_for_two_subscribers_are_two_frames() {
    let mut peer = session("2025-11-25", "{}");
    for id in ["\"one\"", "\"two\""] {
        listen(&mut peer, id);
    }
    for uri in ["file:///a", "file:///b"] {
        peer.say(&format!(r#"{{"jsonrpc":"2.0","id":"{uri}","method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#));
    }
    peer.sent();
    peer.line = Line::new(16);
    let changes = || {
        [
            Change::tools(),
            Change::tools().resume(1),
            Change::tools().resume(2),
            Change::tools().resume(3),
            Change::prompts(),
            Change::resources(),
            Change::resource("file:///a"),
            Change::resource("file:///b"),
        ]
    };
    for (at, mut change) in changes().into_iter().enumerate() {
        let mut whole = change;
        if peer.finish(|server, _, tx| server.publish(&mut whole, tx)) == Ok(Remaining::Done) {
            assert_eq!(at, 3, "there are two subscriptions");
            continue;
        }
        peer.sent();
        peer.half(|server, _, tx| server.publish(&mut change, tx));
        peer.drain();
        for (other_at, mut other) in
            changes().into_iter().enumerate().filter(|(other, _)| *other != at && *other != 3)
        {
            // Positions 0 and 1 both belong to the first subscription.
            if (at, other_at) != (1, 2) && (at, other_at) != (2, 1) {
                let published = peer.server.publish(&mut other, &mut peer.line.tx);
                assert_eq!(published, Err(SendError::Full), "{change:?} {other:?}");
            }
        }
        let published = peer.finish(|server, _, tx| server.publish(&mut change, tx));
        assert_eq!(published, Ok(Remaining::More));
        peer.sent();
    }
}

#[test]
fn ids_whose_hashes_are_equal_are_two_requests() {
    // Found by search: the hashes of `"abcdefgh"` and `"kCNQZyrP"`, and of `1` and `"UcHfzFUT"`,
    // are equal where words are hashed at once.
    let mut peer = session("2025-11-25", r#"{"roots":{}}"#);
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"kCNQZyrP"}}"#;
    let first = peer.request(&call("\"abcdefgh\""));
    assert_eq!(peer.say(cancel), [""; 0]);
    let second = peer.request(&call("\"kCNQZyrP\""));
    assert_ne!(first, second);
    let cancelled = ServerEvent::RequestCancelled { request: second, reason: None };
    assert_eq!(peer.say(cancel), [format!("{cancelled:?}")]);
    assert!(peer.server.respond(first, &TextResult::new("x"), &mut peer.line.tx).is_ok());
    assert!(peer.sent().contains("\"abcdefgh\""));
    // A response to a call of the server.
    let now = Instant::from_millis(0);
    peer.server.request(now, ClientRequest::roots(), &mut peer.line.tx).expect("room");
    let unknown = peer.say(r#"{"jsonrpc":"2.0","id":"UcHfzFUT","result":{"roots":[]}}"#);
    assert_eq!(unknown, ["Violation(UnexpectedResponse)"]);
    assert_eq!(peer.server.open_calls(), 1);
    assert_eq!(peer.say(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#).len(), 1);
    assert_eq!(peer.server.open_calls(), 0);
}

#[test]
fn output_of_an_exchange_is_marked_as_such() {
    let mut peer = session("2025-11-25", r#"{"roots":{}}"#);
    let fields = [("mcp-session-id", "s")];
    let head = RequestHead::new("POST", "/mcp", &fields);
    let over_http = |peer: &mut Peer, id: u32, exchange: u32| {
        let (line, exchange) = (call(&id.to_string()), ExchangeId::new(exchange));
        let mut messages = Messages::over_http(Frame::Complete(line.as_bytes()), &head, exchange);
        let event = peer.server.next_event(peer.now, &mut messages, &mut peer.line.tx);
        let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
        request.handle
    };
    let (five, nine) = (over_http(&mut peer, 1, 5), over_http(&mut peer, 2, 9));
    let of = ExchangeId::new;
    assert_eq!([five, nine].map(|request| peer.server.exchange(request)), [of(5), of(9)]);
    assert_eq!([5, 9, 7].map(|id| peer.server.open_requests_of(of(id))), [1, 1, 0]);
    let ask = |peer: &mut Peer, request: ClientRequest<'_>, ms| {
        let request = request.timeout(Duration::from_millis(ms));
        peer.server.request(peer.now, request, &mut peer.line.tx).expect("room")
    };
    let of_nine = ask(&mut peer, ClientRequest::roots().parent(nine), 50);
    let of_none = ask(&mut peer, ClientRequest::roots(), 60);
    let exchanges = [of_nine, of_none].map(|call| peer.server.exchange_of_call(call));
    assert_eq!(exchanges, [of(9), ExchangeId::SESSION]);
    // Deadlines pass one after the other, each in its own exchange: calls, requests (the clock of 9
    // was paused), a ping.
    for (ms, exchange) in [
        (49, None),
        (50, Some(of(9))),
        (59, None),
        (60, Some(ExchangeId::SESSION)),
        (99, None),
        (100, Some(of(5))),
        (149, None),
        (150, Some(of(9))),
    ] {
        peer.now = Instant::from_millis(ms);
        assert_eq!(peer.server.due_exchange(peer.now), exchange, "{ms} ms");
        assert_eq!(peer.timeout().is_some(), exchange.is_some(), "{ms} ms");
        assert_eq!(peer.server.due_exchange(peer.now), None, "{ms} ms");
        peer.sent();
    }
    assert_eq!(
        (peer.server.exchange(five), peer.server.exchange_of_call(of_nine)),
        (ExchangeId::SESSION, ExchangeId::SESSION),
        "the requests have ended"
    );
    for (ms, exchange) in [(999, None), (1000, Some(ExchangeId::SESSION))] {
        assert_eq!(peer.server.due_exchange(Instant::from_millis(ms)), exchange, "{ms} ms");
    }
    peer.now = Instant::from_millis(1000);
    assert_eq!(peer.timeout(), None);
    assert!(peer.sent().contains("\"ping\""));
    // The ping belongs to no exchange.
    peer.now = Instant::from_millis(1020);
    assert_eq!(peer.server.due_exchange(peer.now), Some(ExchangeId::SESSION));
    assert_eq!(peer.timeout().as_deref(), Some("Unresponsive"));
}

static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::PROMPTS_LIST_CHANGED)
        .with(ServerFeatures::RESOURCES_LIST_CHANGED)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::LOGGING),
)
.request_timeout(Duration::from_millis(100))
.ping_interval(Duration::from_millis(1000))
.ping_timeout(Duration::from_millis(20));

/// A connection with an open session.
fn session(revision: &str, capabilities: &str) -> Peer {
    Peer::new(new_server::<4, 4>(&CONFIG), 512).session(revision, capabilities)
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
}

/// Opens a modern subscription to changes of the tool list.
fn listen(peer: &mut Peer, id: &str) {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listening = peer.say(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{meta}}}}}"#
    ));
    assert!(listening[0].starts_with("Listening"), "{listening:?}");
    peer.sent();
}
