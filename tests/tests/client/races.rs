//! Messages that arrive while a frame of the client is partly sent.

use std::time::Duration;

use mcp_sansio::types::{Implementation, ListRootsResult, Root, SubscriptionFilter};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientFeatures, Era, Instant, NotAllowed, RawJson, Revision,
    Revisions, SendError, Tx,
};
use mcp_sansio_tests::orders::permutations;

use super::peer::{Peer, handshake, initialize};

/// The line that cancels a call, with these members more.
fn cancelled(id: u32, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}{more}}}}}"#
    )
}

#[test]
fn canc_06_canc_22_a_response_to_a_call_being_cancelled_is_late() {
    let revisions = [Revision::V2025_11_25, Revision::V2026_07_28];
    for (revision, times_out) in revisions.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let mut peer = Peer::connected(&CONFIG, revision);
        let (call, answer) = peer.call_and_response();
        let id = peer.client.id(call).expect("the call is open");
        let cancel = |client: &mut Client<'static>, tx: &mut Tx<'_>| {
            client.cancel_call(call, Some("enough"), tx)
        };
        assert_eq!(cancel(&mut peer.client, &mut peer.line.tx), Err(SendError::Full));
        assert!(peer.line.tx.is_mid_frame());
        if times_out {
            assert_eq!(peer.ended(100_000), None);
        }
        assert!(peer.hears(&answer).is_empty(), "no event: the application has cancelled the call");
        assert!(peer.client.is_call_open(call), "the call is open until its cancellation is sent");
        assert_eq!(peer.finish(cancel), Ok(()));
        peer.line.is(&[&cancelled(id, r#","reason":"enough""#)]);
        assert_eq!((peer.client.open_calls(), peer.client.poll_timeout()), (0, None));
        assert!(peer.hears(&answer).is_empty(), "the second response is late, too");
        let third = peer.hears(&answer);
        assert_eq!(third, ["Violation(UnexpectedResponse)"], "a third response is a violation");
    }
}

#[test]
fn canc_10_tex_33_a_task_that_is_created_during_or_after_the_cancellation_is_told() {
    static WITH_TASKS: ClientConfig =
        ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::TASKS);
    for (method, told) in [("tools/call", &["UnexpectedTask"][..]), ("tasks/get", &[])] {
        let mut peer = Peer::connected(&WITH_TASKS, Revision::V2026_07_28);
        let (now, options) = (peer.now, CallOptions::new());
        let params = RawJson::from_static(r#"{"name":"t","taskId":"t"}"#);
        let call = peer.finish(|client, tx| client.request(now, method, &params, options, tx));
        let call = call.expect("the request is sent");
        let id = peer.client.id(call).expect("the call is open");
        let created = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"task","taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null}}}}"#
        );
        let begun = peer.client.cancel_call(call, None, &mut peer.line.tx);
        assert_eq!(begun, Err(SendError::Full));
        assert_eq!(peer.hears(&created), told);
        assert_eq!(peer.finish(|client, tx| client.cancel_call(call, None, tx)), Ok(()));
        assert_eq!(peer.hears(&created), told);
        assert_eq!(peer.hears(&created), ["Violation(UnexpectedResponse)"]);
    }
}

#[test]
fn time_02_canc_07_a_response_during_the_timeouts_cancellation_is_late() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut peer = Peer::connected(&CONFIG, revision);
        let (call, answer) = peer.call_and_response();
        let id = peer.client.id(call).expect("the call is open");
        peer.begins_to_time_out(60_000);
        assert!(peer.hears(&answer).is_empty());
        // The application cancels it, too, and gives a reason: that of the timeout is being sent.
        let reason = Some("no longer needed");
        let second = peer.client.cancel_call(call, reason, &mut peer.line.tx);
        assert_eq!(second, Err(SendError::Full));
        assert_eq!(peer.ended(60_000), Some(call));
        assert!(!peer.client.is_call_open(call));
        assert_eq!(peer.client.cancel_call(call, reason, &mut peer.line.tx), Ok(()));
        assert_eq!(peer.sent(), cancelled(id, "") + "\n");
    }
}

#[test]
fn a_ping_is_finished_before_a_timeout_that_passes_meanwhile() {
    static PINGING: ClientConfig<'static> = CONFIG.ping_interval(Duration::from_secs(2));
    let mut peer = Peer::connected(&PINGING, Revision::V2025_11_25);
    let call = peer.call_with_timeout(3000);
    peer.begins_to_time_out(2000);
    assert_eq!(peer.ended(3000), None);
    assert!(peer.client.poll_timeout().is_some_and(|due| due <= peer.now), "a deadline is left");
    assert_eq!(peer.ended(3000), Some(call));
    assert!(!peer.client.is_call_open(call));
    peer.line.is(&[r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{}}"#, &cancelled(2, "")]);
}

#[test]
fn an_acknowledgement_during_the_cancellation_of_a_listen_is_late() {
    let mut peer = Peer::connected(&CONFIG, Revision::V2026_07_28);
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let (now, options) = (peer.now, CallOptions::new());
    let listen = peer.finish(|client, tx| client.listen(now, &filter, options, tx)).expect("room");
    peer.begins_to_time_out(60_000);
    let acknowledgement = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
    assert_eq!(peer.hears(acknowledgement), [""; 0]);
    assert_eq!(peer.ended(60_000), Some(listen));
}

#[test]
fn ver_13_a_probe_response_while_initialize_is_sent_is_late() {
    let discovered = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    let invalid = r#"{"id":1,"result":{}}"#;
    for (response, events) in [(discovered, &["UnexpectedDiscovery"][..]), (invalid, &[])] {
        let mut peer = Peer::new(&CONFIG);
        peer.connects();
        peer.sent();
        peer.begins_to_time_out(10_000);
        // The open frame, with the same offer, is finished, and an event follows.
        assert_eq!(peer.hears(response), events);
        peer.passes(10_000);
        assert_eq!(peer.sent(), initialize(2));
        assert_eq!(peer.hears(&handshake(2)), ["Connected"]);
        assert_eq!(peer.client.era(), Some(Era::Legacy));
    }
}

#[test]
fn canc_05_a_begun_response_of_the_client_is_finished_despite_cancellation() {
    let mut peer = Peer::connected(&CONFIG, Revision::V2025_11_25);
    assert_eq!(peer.hears(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#), ["Request"]);
    let request = peer.request.expect("a request");
    let roots =
        [Root::new("file:///a-path-that-is-longer-than-the-buffer"), Root::new("file:///another")];
    let result = ListRootsResult::new(&roots);
    assert_eq!(peer.client.respond(request, &result, &mut peer.line.tx), Err(SendError::Full));
    assert!(peer.line.tx.is_mid_frame());
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#;
    assert!(peer.hears(cancelled).is_empty());
    assert_eq!(peer.finish(|client, tx| client.respond(request, &result, tx)), Ok(()));
    assert!(peer.sent().ends_with("file:///another\"}]}}\n"));
    assert_eq!(peer.hears(cancelled).len(), 0, "the request has ended");
}

#[test]
fn canc_07_a_request_of_a_clients_ends_once_in_whatever_order_things_happen() {
    let mut orders = 0;
    for revision in Revisions::ALL.iter() {
        permutations(&mut STEPS.to_vec(), 0, &mut |order| {
            let mut peer = Peer::connected(&CONFIG, revision);
            let (call, answer) = peer.call_and_response();
            let (mut ends, mut told) = (0, 0);
            for step in order {
                match step {
                    Step::Cancel => {
                        ends += usize::from(peer.client.is_call_open(call));
                        peer.finish(|client, tx| client.cancel_call(call, None, tx))
                            .expect("only Full is expected");
                    }
                    Step::Answer => {
                        let is_end = |event: &&String| *event == "CallFinished";
                        ends += peer.hears(&answer).iter().filter(is_end).count();
                    }
                    Step::Progress => {
                        let report = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
                        assert!(peer.hears(report).is_empty(), "no progress was requested");
                    }
                    Step::ServerCancels => {
                        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
                        assert!(peer.hears(cancel).is_empty(), "it cannot cancel this request");
                    }
                    Step::Time => {
                        peer.now = Instant::from_millis(peer.now.as_millis() + 60_000);
                        let now = peer.now;
                        let timed_out = peer.finish(|client, tx| {
                            client.handle_timeout(now, tx).map(|event| event.is_some())
                        });
                        ends += usize::from(timed_out.expect("only Full is expected"));
                    }
                }
                told += peer.sent().matches("notifications/cancelled").count();
                assert_eq!(peer.client.is_call_open(call), ends == 0, "{revision}: {order:?}");
            }
            assert_eq!((ends, peer.client.open_calls()), (1, 0), "{revision}: {order:?}");
            let is_end = |step: &&Step| matches!(step, Step::Answer | Step::Cancel | Step::Time);
            let answered_first = matches!(order.iter().find(is_end), Some(Step::Answer));
            assert_eq!(told, usize::from(!answered_first), "{revision}: {order:?}");
            orders += 1;
        });
    }
    assert_eq!(orders, 5 * 5040);
}

#[test]
fn a_client_can_connect_again_after_connecting_failed() {
    let mut peer = Peer::new(&CONFIG);
    peer.client.set_era(Some(Era::Legacy));
    for id in [1, 2] {
        peer.connects();
        assert_eq!(
            peer.client.connect(Instant::from_millis(0), &mut peer.line.tx),
            Err(SendError::NotAllowed(NotAllowed::AlreadyOpen)),
            "the client is connecting"
        );
        assert!(peer.sent().contains(r#""method":"initialize""#));
        // An invalid response.
        assert_eq!(
            peer.hears(&format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{}}}}"#)),
            ["ConnectFailed"]
        );
        assert_eq!(peer.hears(&handshake(id)), ["Violation(UnexpectedResponse)"]);
    }
    peer.connects();
    assert_eq!(peer.hears(&handshake(3)), ["Connected"]);
}

#[test]
fn a_probe_response_after_connecting_as_modern_is_late() {
    // A server known to be modern is not probed, so a response to a cancelled call is not a
    // discovery.
    let mut peer = Peer::connected(&CONFIG, Revision::V2026_07_28);
    let (call, _) = peer.call_and_response();
    let id = peer.client.id(call).expect("the call is open");
    assert_eq!(peer.finish(|client, tx| client.cancel_call(call, None, tx)), Ok(()));
    let discovered = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#
    );
    assert!(peer.hears(&discovered).is_empty());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Cancel,
    Answer,
    Progress,
    ServerCancels,
    Time,
}

const STEPS: [Step; 7] = [
    Step::Cancel,
    Step::Cancel,
    Step::Answer,
    Step::Answer,
    Step::Progress,
    Step::ServerCancels,
    Step::Time,
];

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS)
        .send_client_info(false)
        .call_timeout(Duration::from_secs(60));
