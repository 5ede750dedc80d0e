//! Connecting, when responses arrive twice, are invalid, or cross with output; and late responses.

use std::time::Duration;

use mcp_sansio::types::{CallToolParams, Implementation, ListRootsResult, Root};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ClientFeatures, ClientState, Era, Frame,
    GrowingClientState, Instant, Memory, Messages, Revision, Revisions, SendError, TxBuffer,
};
use mcp_sansio_tests::memory::new_client;

use super::peer::{Peer, handshake, initialize};

#[test]
fn a_second_response_to_a_replaced_call_is_unexpected() {
    let mut peer = Peer::new(&CONFIG);
    assert_eq!(peer.open(), "server/discover");
    assert_eq!(peer.hears(&refused(1, "null")), [""; 0]);
    assert!(peer.sent().contains(r#""id":2,"method":"initialize""#));
    assert_eq!(peer.hears(&refused(1, "null")), ["Violation(UnexpectedResponse)"]);
    assert_eq!(peer.hears(&handshake(2)), ["Connected"]);
    assert_eq!(peer.client.open_calls(), 0);
}

#[test]
fn a_client_offers_an_older_revision_than_the_refused_one() {
    let mut peer = Peer::new(&CONFIG);
    peer.client.set_era(Some(Era::Legacy));
    assert_eq!(peer.open(), "initialize");
    let theirs = r#"{"supported":["2025-11-25","2025-06-18","2024-11-05"]}"#;
    assert_eq!(peer.hears(&refused(1, theirs)), [""; 0]);
    assert!(peer.sent().contains(r#""protocolVersion":"2025-06-18""#));
}

#[test]
fn a_server_assumed_to_be_legacy_is_probed() {
    let mut peer = Peer::new(&CONFIG);
    peer.client.set_era(Some(Era::Legacy));
    assert_eq!(peer.open(), "initialize");
    assert_eq!(peer.hears(&refused(1, r#"{"supported":["2026-07-28"]}"#)), [""; 0]);
    assert!(peer.sent().contains(r#""id":2,"method":"server/discover""#));
    assert_eq!(peer.client.open_calls(), 1, "the call of connecting has ended");
    assert_eq!(peer.hears(&refused(1, "null")), ["Violation(UnexpectedResponse)"]);
    // The era is forgotten, so the next connection probes again.
    assert!(peer.client.close().is_none());
    assert_eq!(peer.open(), "server/discover");
}

#[test]
fn a_legacy_client_sends_initialize_whatever_era_is_set() {
    static LEGACY: ClientConfig<'static> = CONFIG.revisions(Revisions::only(Revision::V2025_06_18));
    for era in [None, Some(Era::Legacy), Some(Era::Modern)] {
        let mut peer = Peer::new(&LEGACY);
        peer.client.set_era(era);
        assert_eq!(peer.open(), "initialize", "{era:?}");
    }
}

#[test]
fn an_invalid_response_ends_initialize_and_turns_a_probe_into_one() {
    let nonsense =
        |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"neither":"result nor error"}}"#);
    let mut peer = Peer::new(&CONFIG);
    assert_eq!(peer.open(), "server/discover");
    assert_eq!(peer.hears(&nonsense(1)), [""; 0]);
    assert!(peer.sent().contains(r#""method":"initialize""#));
    assert_eq!(peer.hears(&nonsense(2)), ["ConnectFailed"]);
    // It is closed, and can connect again.
    assert_eq!(peer.open(), "server/discover");

    // A response that does not fit the buffer may be valid, so the server is not taken for a legacy
    // one.
    let too_long =
        Frame::Oversized { prefix: br#"{"jsonrpc":"2.0","id":1,"result":{"#, tail: b"}}" };
    let mut peer = Peer::new(&CONFIG);
    peer.open();
    assert_eq!(peer.takes(too_long), ["ConnectFailed"]);
    // Unless `initialize` is partly written already.
    let mut peer = Peer::new(&CONFIG);
    peer.open();
    assert_eq!(peer.at(10_000), Err(SendError::Full));
    assert_eq!(peer.takes(too_long), ["Violation(TooLong)"]);
    peer.passes(10_000);
    assert!(peer.sent().ends_with("}}}\n"));
    assert_eq!(peer.hears(&handshake(2)), ["Connected"]);
}

#[test]
fn time_02_an_open_frame_is_finished_whatever_the_time() {
    // An `initialize` in place of a probe.
    let mut peer = Peer::new(&CONFIG);
    peer.open();
    assert_eq!(peer.at(10_000), Err(SendError::Full));
    peer.drain();
    peer.passes(9_000);
    assert!(peer.sent().contains(r#""id":2,"method":"initialize""#));
    assert_eq!(peer.hears(&handshake(2)), ["Connected"]);

    // A cancellation, when another call, in an earlier slot, is due as well.
    let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
    let (slow, fast) = (peer.call_with_timeout(60), peer.call_with_timeout(10));
    assert_eq!(peer.at(10), Err(SendError::Full));
    assert_eq!((peer.ended(70), peer.ended(70)), (Some(fast), Some(slow)));
    assert_eq!(peer.sent().matches("notifications/cancelled").count(), 2);

    // The error for a request that timed out, when a call is due.
    let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
    let call = peer.call_with_timeout(150);
    assert_eq!(peer.hears(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#), ["Request"]);
    assert_eq!(peer.at(100), Err(SendError::Full));
    assert_eq!((peer.ended(200), peer.ended(200)), (None, Some(call)));
    let sent = peer.sent();
    assert!(sent.find("timed out") < sent.find("notifications/cancelled"), "{sent}");

    // A response: its request has timed out, and it is finished.
    let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
    assert_eq!(peer.hears(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#), ["Request"]);
    let (roots, request) = ([Root::new("file:///a")], peer.request.expect("a request"));
    let result = ListRootsResult::new(&roots);
    assert_eq!(peer.client.respond(request, &result, &mut peer.line.tx), Err(SendError::Full));
    assert!(peer.line.tx.is_mid_frame());
    assert_eq!(peer.at(500), Ok(String::new()));
    assert_eq!(peer.finish(|client, tx| client.respond(request, &result, tx)), Ok(()));
    assert!(peer.sent().ends_with("file:///a\"}]}}\n"));
}

#[test]
fn a_partly_sent_pong_does_not_disturb_connecting() {
    for (era, method) in [(None, "server/discover"), (Some(Era::Legacy), "initialize")] {
        let mut peer = Peer::new(&CONFIG);
        peer.client.set_era(era);
        assert_eq!(peer.open(), method);
        let ping = br#"{"jsonrpc":"2.0","id":"a-long-id-of-a-ping","method":"ping"}"#;
        let mut messages = Messages::new(Frame::Complete(ping));
        peer.begins_to_answer(&mut messages);
        assert_eq!(peer.at(20), Ok(String::new()), "no deadline has passed");
        assert_eq!(peer.handles(&mut messages), [""; 0]);
        assert!(peer.sent().ends_with("\"result\":{}}\n"));
    }
}

#[test]
fn a_partly_sent_offer_of_an_older_revision_is_not_a_timeout() {
    let mut peer = Peer::new(&CONFIG);
    peer.client.set_era(Some(Era::Legacy));
    assert_eq!(peer.open(), "initialize");
    let refusal = refused(1, r#"{"supported":["2025-03-26"]}"#);
    let mut messages = Messages::new(Frame::Complete(refusal.as_bytes()));
    peer.begins_to_answer(&mut messages);
    // Handle timeouts early and late.
    for now in [2, 100_000] {
        assert_eq!(peer.at(now), Ok(String::new()));
    }
    assert_eq!(peer.handles(&mut messages), [""; 0]);
    let offer = initialize(2).replace("2025-11-25", "2025-03-26");
    assert_eq!(peer.sent(), offer);
    assert!(peer.client.poll_timeout().is_some_and(|due| due > peer.now));
}

#[test]
fn connecting_does_not_time_out_while_its_last_message_is_sent() {
    let mut peer = Peer::new(&CONFIG);
    peer.client.set_era(Some(Era::Legacy));
    assert_eq!(peer.open(), "initialize");
    let opened = handshake(1);
    let mut messages = Messages::new(Frame::Complete(opened.as_bytes()));
    peer.begins_to_answer(&mut messages);
    assert_eq!(peer.at(100_000), Err(SendError::Full));
    assert_eq!(peer.handles(&mut messages), ["Connected"]);
    assert_eq!(peer.at(100_000), Ok(String::new()));
    assert_eq!(peer.sent(), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

#[test]
fn late_responses_are_recognized_up_to_the_table_size() {
    fn check<
        M: for<'c, 's> Memory<Config<'c> = ClientConfig<'c>, Machine<'s> = Client<'s>> + 'static,
    >(
        n: usize,
        mut memory: M,
    ) {
        let (mut tx, now) = (TxBuffer::new([0; 1024]), Instant::from_millis(0));
        memory.machine(&CONFIG).set_era(Some(Era::Modern));
        memory.machine(&CONFIG).connect(now, &mut tx).expect("connecting starts");
        for round in 0..3 {
            let calls: Vec<_> = (0..n)
                .map(|_| {
                    tx.advance(usize::MAX);
                    let (params, options) = (CallToolParams::new("t"), CallOptions::new());
                    let mut client = memory.machine(&CONFIG);
                    let sent = client.request(now, "tools/call", &params, options, &mut tx);
                    sent.expect("the buffer has room")
                })
                .collect();
            for call in calls {
                tx.advance(usize::MAX);
                assert_eq!(memory.machine(&CONFIG).cancel_call(call, None, &mut tx), Ok(()));
            }
            for id in n * round + 1..=n * (round + 1) {
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                for late in [true, false] {
                    let mut messages = Messages::new(Frame::Complete(answer.as_bytes()));
                    let mut client = memory.machine(&CONFIG);
                    let event = client
                        .next_event(now, &mut messages, &mut tx)
                        .expect("the buffer has room");
                    assert_eq!(event.is_none(), late, "{id} of {n}: {event:?}");
                }
            }
        }
    }
    check(1, ClientState::<1>::new());
    check(2, ClientState::<2>::new());
    check(3, ClientState::<3>::new());
    check(4, ClientState::<4>::new());
    for n in 1..=9 {
        check(n, GrowingClientState::new(n as u16));
    }
}

#[test]
fn a_late_discovery_is_reported_only_after_the_probe_timed_out() {
    let discovery = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"]}}}}"#)
    };
    for (era, events) in [(Era::Legacy, &["UnexpectedDiscovery"][..]), (Era::Modern, &[])] {
        let mut peer = Peer::new(&CONFIG);
        peer.client.set_era(Some(era));
        peer.connects();
        if era == Era::Legacy {
            assert_eq!(peer.hears(&handshake(1)), ["Connected"]);
        }
        let call = peer.call_with_timeout(1000);
        let id = peer.client.id(call).expect("the call is open");
        assert_eq!(peer.finish(|client, tx| client.cancel_call(call, None, tx)), Ok(()));
        assert_eq!(peer.hears(&discovery(id)), events, "{era:?}");
    }
}

#[test]
fn ids_that_are_too_long_are_refused_wherever_they_are() {
    let long = "x".repeat(300);
    for (id, token) in [(&*long, "t"), ("q", &*long), (&*long, &*long)] {
        let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
        let asked = format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"roots/list","params":{{"_meta":{{"progressToken":"{token}"}}}}}}"#
        );
        assert_eq!(peer.hears(&asked), ["Violation(IdTooLong)"]);
    }
    // Found by search: where words are hashed at once, the hashes of these are equal.
    let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
    let heard = peer.hears(r#"{"jsonrpc":"2.0","id":"abcdefgh","method":"roots/list"}"#);
    assert_eq!(heard, ["Request"]);
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"kCNQZyrP"}}"#;
    assert_eq!(peer.hears(cancel), [""; 0]);
    let call = peer.call_with_timeout(1000);
    assert_eq!(peer.client.id(call), Some(2));
    let heard = peer.hears(r#"{"jsonrpc":"2.0","id":"UcHfyFUT","result":{}}"#);
    assert_eq!(heard, ["Violation(UnexpectedResponse)"]);
    assert!(peer.client.is_call_open(call));
}

#[test]
fn a_resource_update_without_a_uri_is_a_plain_notification() {
    let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
    let updated = |params| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{params}}}"#
        )
    };
    assert_eq!(peer.hears(&updated(r#"{"uri":"file:///a"}"#)), ["Changed"]);
    for params in ["{}", r#"{"uri":5}"#] {
        assert_eq!(peer.hears(&updated(params)), ["Notification"]);
    }
}

#[test]
fn instructions_are_handed_over() {
    let mut client = new_client::<2>(&CONFIG);
    let (mut tx, now) = (TxBuffer::new([0; 1024]), Instant::from_millis(0));
    client.set_era(Some(Era::Legacy));
    client.connect(now, &mut tx).expect("connecting starts");
    let answer =
        handshake(1).replace(r#""capabilities""#, r#""instructions":"Read.","capabilities""#);
    let mut messages = Messages::new(Frame::Complete(answer.as_bytes()));
    let event = client.next_event(now, &mut messages, &mut tx);
    let Ok(Some(ClientEvent::Connected(opened))) = event else { panic!("{event:?}") };
    assert!(opened.instructions().is_some_and(|text| text == "Read."));
}

impl Peer {
    /// Handles a line whose response finds no room for its end.
    fn begins_to_answer(&mut self, messages: &mut Messages<'_>) {
        let event = self.client.next_event(self.now, messages, &mut self.line.tx);
        assert!(matches!(event, Err(SendError::Full)) && self.line.tx.is_mid_frame());
        self.drain();
    }
}

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS)
        .send_client_info(false)
        .request_timeout(Duration::from_millis(100));

fn refused(id: u32, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no","data":{data}}}}}"#
    )
}

#[test]
fn a_frame_leaves_through_a_writer_that_takes_few_bytes() {
    let (mut client, mut tx) = (new_client::<2>(&CONFIG), TxBuffer::new([0; 16]));
    client.set_era(Some(Era::Legacy));
    let mut out = Vec::new();
    let mut write = |bytes: &[u8]| {
        let n = bytes.len().min(3);
        out.extend_from_slice(&bytes[..n]);
        Ok::<_, SendError>(n)
    };
    tx.send(&mut write, |tx| client.connect(Instant::from_millis(0), tx)).unwrap();
    let end = tx.pending().to_vec();
    assert!(!end.is_empty(), "`drain` sends the end of the frame");
    let refused = tx.drain(|_| Err(SendError::TooManyCalls));
    assert_eq!((refused, tx.pending()), (Err(SendError::TooManyCalls), &end[..]));
    tx.drain(&mut write).unwrap();
    assert!(tx.pending().is_empty());
    let sent: serde_json::Value = serde_json::from_slice(&out).expect("one frame");
    assert_eq!(sent["method"], "initialize");
}
