//! A full output buffer, and several writers while a frame is partly written.

use std::cell::Cell;
use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Call, CallOutcome, Change, ClientFeatures, ClientRequest, Delivery, Frame, Instant,
    InvalidPayload, Json, Messages, RawJson, Remaining, SendError, ServerConfig, ServerEvent,
    ServerFeatures,
};
use mcp_sansio_tests::delivery::respond;
use mcp_sansio_tests::memory::new_server;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use crate::peer::Peer;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;

fn timed_out(call: Call) -> String {
    format!("{:?}", ServerEvent::CallFinished { call, outcome: CallOutcome::TimedOut })
}

#[test]
fn canc_06_a_response_to_a_call_being_cancelled_is_late() {
    let mut peer = session(16);
    let call = ask(&mut peer, ClientRequest::roots());
    peer.half(|server, now, tx| server.cancel_call(now, call, tx));
    assert_eq!(peer.say(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#), [""; 0]);
    let done = peer.finish(|server, now, tx| server.cancel_call(now, call, tx));
    assert_eq!(done, Ok(()));
    assert_eq!(
        peer.sent(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
    );
    peer.is_idle();
}

#[test]
fn time_02_a_cancellation_that_has_begun_is_finished_before_the_next() {
    let mut peer = session(16);
    let first = ask(&mut peer, ClientRequest::ping().timeout(Duration::from_millis(50)));
    let second = ask(&mut peer, ClientRequest::ping().timeout(Duration::from_millis(10)));
    peer.now = Instant::from_millis(10);
    peer.half(|server, now, tx| server.handle_timeout(now, tx));
    // Now the other one, in an earlier slot, is due as well.
    peer.now = Instant::from_millis(60);
    assert_eq!(peer.timeout(), Some(timed_out(second)));
    assert_eq!(peer.timeout(), Some(timed_out(first)));
    assert_eq!(
        peer.sent(),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"
    );
    peer.is_idle();
}

#[test]
fn a_ping_is_finished_before_a_timeout_that_passes_meanwhile() {
    static PINGING: ServerConfig<'static> =
        CONFIG.ping_interval(Duration::from_secs(2)).call_timeout(Duration::from_secs(3));
    let mut peer = session_of(&PINGING, 16);
    let call = ask(&mut peer, ClientRequest::roots());
    peer.now = Instant::from_millis(2000);
    peer.half(|server, now, tx| server.handle_timeout(now, tx));
    // The ping is partly written when the call times out.
    peer.now = Instant::from_millis(3000);
    assert_eq!((peer.timeout(), peer.timeout()), (None, Some(timed_out(call))));
    assert_eq!(
        peer.sent(),
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"
    );
}

#[test]
fn time_01_a_timeout_error_that_is_partly_sent_cannot_be_cancelled() {
    let mut peer = session(16);
    let request = peer.request(CALL);
    peer.now = Instant::from_millis(1000);
    peer.half(|server, now, tx| server.handle_timeout(now, tx));
    assert_eq!(peer.say(CANCEL), [""; 0]);
    let late = TextResult::new("late");
    peer.is_full(|server, _, tx| server.respond(request, &late, tx));
    let timed_out = format!("{:?}", ServerEvent::RequestTimedOut { request });
    assert_eq!(peer.timeout(), Some(timed_out));
    let gone = respond(&mut peer.server, request, &mut peer.line.tx, |server, tx| {
        server.respond(request, &late, tx)
    });
    assert_eq!(gone, Ok(Delivery::Gone));
    assert_eq!(
        peer.sent(),
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"The request timed out"}}"#
    );
    peer.is_idle();
}

#[test]
fn canc_05_a_begun_response_is_finished_despite_cancellation() {
    let mut peer = session(16);
    let request = peer.request(CALL);
    let result = TextResult::new("a text");
    peer.half(|server, _, tx| server.respond(request, &result, tx));
    assert_eq!(peer.say(CANCEL), [""; 0]);
    peer.now = Instant::from_millis(5000);
    assert!(matches!(peer.server.handle_timeout(peer.now, &mut peer.line.tx), Ok(None)));
    assert_eq!(peer.finish(|server, _, tx| server.respond(request, &result, tx)), Ok(()));
    assert_eq!(
        peer.sent(),
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a text"}]}}"#
    );
    peer.is_idle();
}

/// Parameters that cannot be written once they are gone.
#[derive(Default)]
struct Passing {
    is_gone: Cell<bool>,
}

impl Serialize for Passing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_gone.get() {
            return Err(S::Error::custom("gone"));
        }
        serializer.collect_map([("long", "x".repeat(200))])
    }
}

#[test]
fn the_id_of_a_call_whose_parameters_fail_half_way_is_unused() {
    let mut peer = session(64);
    let passing = Passing::default();
    let params = Json(&passing);
    let own = ClientRequest::new("org.example/own", Some(&params), ClientFeatures::NONE);
    peer.is_full(|server, now, tx| server.request(now, own, tx));
    peer.drain();
    passing.is_gone.set(true);
    let failed = peer.finish(|server, now, tx| server.request(now, own, tx));
    assert_eq!(failed, Err(SendError::Invalid(InvalidPayload::Serialize)));
    let roots = peer.finish(|server, now, tx| server.request(now, ClientRequest::roots(), tx));
    let sent = peer.sent();
    assert!(sent.ends_with("\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}"), "{sent}");
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"noise"}}"#;
    assert_eq!(peer.say(error), [""; 0]);
    assert!(peer.server.is_call_open(roots.expect("room")));
}

#[test]
fn two_senders_in_turns_do_not_write_into_one_frame() {
    let mut peer = session(16);
    let own = ClientRequest::new("org.example/own", None, ClientFeatures::NONE);
    peer.half(|server, now, tx| server.request(now, own, tx));
    peer.is_full(|server, now, tx| server.request(now, ClientRequest::roots(), tx));
    peer.is_full(|server, _, tx| server.notify("notifications/own", &RawJson::NULL, tx));
    peer.is_full(|server, _, tx| server.publish(&mut Change::tools(), tx));
    peer.drain();
    peer.is_full(|server, now, tx| server.request(now, ClientRequest::roots(), tx));
    let [call, other] = [own, ClientRequest::roots()]
        .map(|request| peer.finish(|server, now, tx| server.request(now, request, tx)));
    assert_ne!(call, other);
    assert_eq!(
        peer.sent(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"org.example/own\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}"
    );

    let (mut tools, mut resource) = (Change::tools(), Change::resource("file:///a"));
    let subscribe =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
    assert!(peer.say(subscribe)[0].contains("Subscribed"));
    peer.sent();
    peer.half(|server, _, tx| server.publish(&mut tools, tx));
    peer.drain();
    peer.is_full(|server, _, tx| server.publish(&mut resource, tx));
    assert_eq!(peer.finish(|server, _, tx| server.publish(&mut tools, tx)), Ok(Remaining::More));
    assert_eq!(peer.finish(|server, _, tx| server.publish(&mut resource, tx)), Ok(Remaining::More));
    assert_eq!(
        peer.sent(),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"file:///a\"}}"
    );
}

#[test]
fn a_listen_is_not_cancelled_in_the_middle_of_a_change_notification() {
    let mut peer = session(16);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{meta}}}}}"#
    );
    assert!(peer.say(&listen)[0].contains("Listening"));
    peer.sent();
    let mut change = Change::tools();
    // The session first, in one piece; then the subscription, in several.
    assert_eq!(peer.finish(|server, _, tx| server.publish(&mut change, tx)), Ok(Remaining::More));
    peer.sent();
    peer.half(|server, _, tx| server.publish(&mut change, tx));
    let cancel =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}"#;
    let mut messages = Messages::new(Frame::Complete(cancel));
    peer.is_full(|server, now, tx| server.next_event(now, &mut messages, tx).map(drop));
    assert_eq!(peer.finish(|server, _, tx| server.publish(&mut change, tx)), Ok(Remaining::More));
    assert!(matches!(
        peer.server.next_event(peer.now, &mut messages, &mut peer.line.tx),
        Ok(Some(ServerEvent::RequestCancelled { .. }))
    ));
    assert_eq!(peer.finish(|server, _, tx| server.publish(&mut change, tx)), Ok(Remaining::Done));
    assert_eq!(
        peer.sent(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}"#
    );
    peer.is_idle();
}

#[test]
fn an_operation_that_returns_full_has_no_effect() {
    let mut peer = session(100);
    let filler = TextResult::new("filler");
    let first = peer.request(CALL);
    assert_eq!(peer.server.respond(first, &filler, &mut peer.line.tx), Ok(()));
    let pending = peer.line.tx.pending().to_vec();
    // A message that needs a response waits: the cursor does not move, and nothing is lost.
    let line = br#"{"jsonrpc":"2.0","id":2,"method":"nope"}"#;
    let mut messages = Messages::new(Frame::Complete(line));
    for _ in 0..3 {
        peer.is_full(|server, now, tx| server.next_event(now, &mut messages, tx).map(drop));
        assert_eq!(peer.line.tx.pending(), pending);
    }
    // A message that needs no response is taken: a notification, a `tools/call`.
    let second = peer.request(CALL);
    peer.is_full(|server, _, tx| server.respond(second, &filler, tx));
    peer.is_full(|server, now, tx| server.request(now, ClientRequest::roots(), tx));
    assert_eq!(peer.line.tx.pending(), pending);
    assert_eq!((peer.server.open_requests(), peer.server.open_calls()), (1, 0));
    peer.drain();
    assert!(matches!(
        peer.server.next_event(peer.now, &mut messages, &mut peer.line.tx),
        Ok(Some(ServerEvent::Violation(_)))
    ));
    peer.drain();
    assert_eq!(peer.finish(|server, _, tx| server.respond(second, &filler, tx)), Ok(()));
    peer.is_idle();
}

static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::RESOURCES_SUBSCRIBE),
)
.request_timeout(Duration::from_millis(1000));

/// A connection with a session of 2025-11-25 and a small output buffer.
fn session(tx: usize) -> Peer {
    session_of(&CONFIG, tx)
}

fn session_of(config: &'static ServerConfig<'static>, tx: usize) -> Peer {
    Peer::new(new_server::<8, 8>(config), tx).session("2025-11-25", r#"{"roots":{}}"#)
}

fn ask(peer: &mut Peer, request: ClientRequest<'_>) -> Call {
    let call = peer.finish(|server, now, tx| server.request(now, request, tx)).expect("room");
    peer.sent();
    call
}
