//! Cancellations and responses that cross, in every order.

use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{ClientRequest, Delivery, Revision, Revisions, ServerConfig, ServerFeatures};
use mcp_sansio_tests::delivery::respond;
use mcp_sansio_tests::memory::new_server;
use mcp_sansio_tests::orders::permutations;

use crate::peer::Peer;

#[test]
fn canc_07_cancellations_and_responses_may_cross_in_any_order() {
    let mut orders = 0;
    for revision in Revisions::ALL.iter() {
        permutations(&mut STEPS.to_vec(), 0, &mut |order| {
            let outcome = play(revision, order);
            assert!(outcome.is_ok(), "{revision}: {order:?}: {}", outcome.unwrap_err());
            orders += 1;
        });
    }
    assert_eq!(orders, 5 * 5040);
}

#[test]
fn rpc_05_ten_thousand_requests_of_ours_have_ids_of_their_own() {
    let mut peer = peer(Revision::V2025_11_25);
    let mut seen = std::collections::BTreeSet::new();
    for number in 1..=10_000 {
        let call =
            peer.server.request(peer.now, ClientRequest::ping(), &mut peer.line.tx).expect("room");
        let line = peer.sent();
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let id = line["id"].as_u64().expect("an integer");
        assert!(seen.insert(id), "{id} twice");
        if number % 3 == 0 {
            // Cancelled or responded to, its id is not used again.
            assert_eq!(peer.server.cancel_call(peer.now, call, &mut peer.line.tx), Ok(()));
            peer.sent();
        }
        peer.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    assert_eq!(peer.server.open_calls(), 0);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The client cancels its request.
    Cancel,
    /// The client cancels it again.
    CancelAgain,
    /// The application responds.
    Respond,
    /// The client responds to the nested call.
    Answer,
    /// The application cancels the nested call.
    CancelCall,
    /// The request times out, and the nested call is orphaned or times out.
    Time,
    /// The client sends another request with the same id.
    Reuse,
}

const STEPS: [Step; 7] = [
    Step::Cancel,
    Step::CancelAgain,
    Step::Respond,
    Step::Answer,
    Step::CancelCall,
    Step::Time,
    Step::Reuse,
];

/// Plays one order; afterwards nothing may be open.
fn play(revision: Revision, order: &[Step]) -> Result<(), String> {
    let mut peer = peer(revision);
    let params = if revision.is_modern() {
        format!(r#"{{"name":"a",{META}}}"#)
    } else {
        r#"{"name":"a"}"#.into()
    };
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let first = peer.request(&request);
    let asked =
        peer.server.request(peer.now, ClientRequest::roots().parent(first), &mut peer.line.tx);
    if asked.is_ok() == revision.is_modern() {
        return Err(format!("asked: {asked:?}"));
    }
    let (mut ended, mut calls_ended) = (0, 0);
    let ends_in = |events: &[String]| {
        let (first, all) = (format!("{first:?}"), events.iter());
        let calls = all.clone().filter(|it| it.starts_with("CallFinished")).count();
        (all.filter(|event| event.contains(&first)).count(), calls)
    };
    for step in order {
        peer.sent();
        match step {
            Step::Cancel | Step::CancelAgain => {
                let events = peer.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
                ended += ends_in(&events).0;
                if !peer.sent().is_empty() {
                    return Err("a response to a cancelled request".into());
                }
            }
            Step::Respond => {
                let sent = respond(&mut peer.server, first, &mut peer.line.tx, |server, tx| {
                    server.respond(first, &TextResult::new("a"), tx)
                });
                let sent = sent.map_err(|error| error.to_string())?;
                ended += usize::from(sent == Delivery::Sent);
            }
            Step::Answer => {
                let events = peer.say(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
                let nothing = asked.is_err();
                if !events.iter().all(|event| {
                    event.starts_with("CallFinished") || nothing && event.starts_with("Violation")
                }) || !peer.sent().is_empty()
                {
                    return Err(format!("{events:?}"));
                }
                calls_ended += ends_in(&events).1;
            }
            Step::CancelCall => {
                if let Ok(call) = asked {
                    calls_ended += peer.server.open_calls();
                    peer.server
                        .cancel_call(peer.now, call, &mut peer.line.tx)
                        .map_err(|error| error.to_string())?;
                }
            }
            Step::Time => {
                peer.now = peer.now.saturating_add(Duration::from_secs(10));
                let ends = ends_in(&peer.time());
                (ended, calls_ended) = (ended + ends.0, calls_ended + ends.1);
            }
            Step::Reuse => {
                peer.say(&request);
            }
        }
    }
    // In the end everything open gets a response, and time passes.
    for handle in std::mem::take(&mut peer.open) {
        peer.server
            .respond(handle, &TextResult::new("b"), &mut peer.line.tx)
            .map_err(|error| error.to_string())?;
    }
    for _ in 0..3 {
        peer.now = peer.now.saturating_add(Duration::from_secs(100));
        let ends = ends_in(&peer.time());
        (ended, calls_ended) = (ended + ends.0, calls_ended + ends.1);
    }
    let left = (peer.server.open_requests(), peer.server.open_calls());
    if left != (0, 0) {
        return Err(format!("{left:?} are left"));
    }
    if ended != 1 {
        return Err(format!("the request ended {ended} times"));
    }
    if calls_ended != usize::from(asked.is_ok()) {
        return Err(format!("the nested call ended {calls_ended} times"));
    }
    // Every slot is free again.
    for id in 0..4 {
        peer.say(&request.replace("\"id\":1", &format!("\"id\":\"r{id}\"")));
    }
    if peer.open.len() == 4 { Ok(()) } else { Err(format!("{} slots are left", peer.open.len())) }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
        .request_timeout(Duration::from_secs(5))
        .call_timeout(Duration::from_secs(5));

fn peer(revision: Revision) -> Peer {
    let peer = Peer::new(new_server::<4, 1>(&CONFIG), 4096);
    match revision.is_modern() {
        true => peer,
        false => peer.session(revision.as_str(), r#"{"roots":{}}"#),
    }
}
