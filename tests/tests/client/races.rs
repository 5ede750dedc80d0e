//! Messages that arrive while a frame of the client is partly sent.

use std::time::Duration;

use mcp_sansio::types::{Implementation, ListRootsResult, Root};
use mcp_sansio::{
    CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, Era, Instant, NotAllowed,
    Revision, Revisions, SendError, Tx,
};

use super::peer::{Peer, handshake};

#[test]
fn canc_06_canc_22_a_response_to_a_call_being_cancelled_is_late() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut peer = Peer::connected(&CONFIG, revision);
        let (call, answer) = peer.call_and_response();
        let cancel = |client: &mut Client<'static>, tx: &mut Tx<'_>| {
            client.cancel_call(call, Some("enough"), tx)
        };
        assert_eq!(cancel(&mut peer.client, &mut peer.line.tx), Err(SendError::Full));
        assert!(peer.line.tx.is_mid_frame());
        assert!(peer.hears(&answer).is_empty(), "no event: the application has cancelled the call");
        assert!(peer.client.is_call_open(call), "the call is open until its cancellation is sent");
        assert_eq!(peer.finish(cancel), Ok(()));
        assert!(
            peer.sent().ends_with("\"reason\":\"enough\"}}\n") && !peer.client.is_call_open(call)
        );
        assert!(peer.hears(&answer).is_empty(), "the second response is late, too");
        let third = peer.hears(&answer);
        assert_eq!(third, ["Violation(UnexpectedResponse)"], "a third response is a violation");
    }
}

#[test]
fn time_02_canc_07_a_response_during_the_timeouts_cancellation_is_late() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut peer = Peer::connected(&CONFIG, revision);
        let (call, answer) = peer.call_and_response();
        peer.begins_to_time_out(60_000);
        assert!(peer.hears(&answer).is_empty());
        let now = peer.now;
        let ended = peer.finish(|client, tx| match client.handle_timeout(now, tx)? {
            Some(ClientEvent::CallFinished { call, outcome: CallOutcome::TimedOut }) => Ok(call),
            other => panic!("{other:?}"),
        });
        assert_eq!(ended, Ok(call));
        assert!(peer.sent().contains("notifications/cancelled") && !peer.client.is_call_open(call));
    }
}

#[test]
fn ver_13_a_probe_response_while_initialize_is_sent_is_late() {
    let mut peer = Peer::new(&CONFIG);
    peer.connects();
    peer.sent();
    peer.begins_to_time_out(10_000);
    let discovered = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    // The open frame is finished, and an event follows.
    assert_eq!(peer.hears(discovered), ["UnexpectedDiscovery"]);
    assert!(peer.sent().contains(r#""id":2,"method":"initialize""#));
    assert_eq!(peer.hears(&handshake(2)), ["Connected"]);
    assert_eq!(peer.client.era(), Some(Era::Legacy));
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

impl Peer {
    /// Writes the beginning of what a timeout causes.
    fn begins_to_time_out(&mut self, ms: u64) {
        self.now = Instant::from_millis(ms);
        let timed_out = self.client.handle_timeout(self.now, &mut self.line.tx);
        assert!(matches!(timed_out, Err(SendError::Full)) && self.line.tx.is_mid_frame());
    }
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

fn permutations(steps: &mut Vec<Step>, from: usize, visit: &mut dyn FnMut(&[Step])) {
    if from == steps.len() {
        return visit(steps);
    }
    for at in from..steps.len() {
        steps.swap(from, at);
        permutations(steps, from + 1, visit);
        steps.swap(from, at);
    }
}

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS)
        .send_client_info(false)
        .call_timeout(Duration::from_secs(60));
