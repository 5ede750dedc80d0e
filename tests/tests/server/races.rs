//! Cancellations and responses that cross, in every order.

use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    ClientRequest, Delivery, Instant, RequestHandle, Revision, Revisions, RxBuffer, SendError,
    Server, ServerConfig, ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::delivery::respond;
use mcp_sansio_tests::memory::new_server;

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
    let mut peer = Peer::new(Revision::V2025_11_25);
    let mut seen = std::collections::BTreeSet::new();
    for number in 1..=10_000 {
        let call =
            peer.server.request(peer.now, ClientRequest::ping(), &mut peer.tx).expect("room");
        let line = peer.sent();
        let id = serde_json::from_str::<serde_json::Value>(&line).expect("JSON")["id"]
            .as_u64()
            .expect("an integer");
        assert!(seen.insert(id), "{id} twice");
        if number % 3 == 0 {
            // Cancelled or responded to, its id is not used again.
            assert_eq!(peer.server.cancel_call(peer.now, call, &mut peer.tx), Ok(()));
            peer.sent();
        }
        peer.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).expect("a response");
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

fn permutations(steps: &mut Vec<Step>, from: usize, visit: &mut impl FnMut(&[Step])) {
    if from == steps.len() {
        return visit(steps);
    }
    for at in from..steps.len() {
        steps.swap(from, at);
        permutations(steps, from + 1, visit);
        steps.swap(from, at);
    }
}

/// Plays one order; afterwards nothing may be open.
fn play(revision: Revision, order: &[Step]) -> Result<(), String> {
    let mut peer = Peer::new(revision);
    let params = if revision.is_modern() {
        format!(r#"{{"name":"a",{META}}}"#)
    } else {
        r#"{"name":"a"}"#.into()
    };
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    peer.say(&request)?;
    let first = peer.open.pop().ok_or("no request")?;
    let asked = peer.server.request(peer.now, ClientRequest::roots().parent(first), &mut peer.tx);
    if asked.is_ok() == revision.is_modern() {
        return Err(format!("asked: {asked:?}"));
    }
    let (mut ended, mut calls_ended) = (0, 0);
    let calls_in =
        |events: &[String]| events.iter().filter(|it| it.starts_with("CallFinished")).count();
    for step in order {
        peer.sent();
        match step {
            Step::Cancel | Step::CancelAgain => {
                let events = peer.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)?;
                ended +=
                    events.iter().filter(|event| event.contains(&format!("{first:?}"))).count();
                if !peer.sent().is_empty() {
                    return Err("a response to a cancelled request".into());
                }
            }
            Step::Respond => {
                match respond(&mut peer.server, first, &mut peer.tx, |server, tx| {
                    server.respond(first, &TextResult::new("a"), tx)
                }) {
                    Ok(Delivery::Sent) => ended += 1,
                    Ok(Delivery::Gone) => {}
                    other => return Err(format!("{other:?}")),
                }
            }
            Step::Answer => {
                let events = peer.say(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#)?;
                let nothing = asked.is_err();
                if !events.iter().all(|event| {
                    event.starts_with("CallFinished") || nothing && event.starts_with("Violation")
                }) || !peer.sent().is_empty()
                {
                    return Err(format!("{events:?}"));
                }
                calls_ended += calls_in(&events);
            }
            Step::CancelCall => {
                if let Ok(call) = asked {
                    calls_ended += peer.server.open_calls();
                    peer.server
                        .cancel_call(peer.now, call, &mut peer.tx)
                        .map_err(|error| error.to_string())?;
                }
            }
            Step::Time => {
                peer.now = peer.now.saturating_add(Duration::from_secs(10));
                let events = peer.time()?;
                calls_ended += calls_in(&events);
                ended +=
                    events.iter().filter(|event| event.contains(&format!("{first:?}"))).count();
            }
            Step::Reuse => {
                peer.say(&request)?;
            }
        }
    }
    // In the end everything open gets a response, and time passes.
    for handle in std::mem::take(&mut peer.open) {
        peer.server
            .respond(handle, &TextResult::new("b"), &mut peer.tx)
            .map_err(|error| error.to_string())?;
    }
    for _ in 0..3 {
        peer.now = peer.now.saturating_add(Duration::from_secs(100));
        let events = peer.time()?;
        calls_ended += calls_in(&events);
        ended += events.iter().filter(|event| event.contains(&format!("{first:?}"))).count();
    }
    if (peer.server.open_requests(), peer.server.open_calls()) != (0, 0) {
        return Err(format!(
            "{} and {} are left",
            peer.server.open_requests(),
            peer.server.open_calls()
        ));
    }
    if ended != 1 {
        return Err(format!("the request ended {ended} times"));
    }
    if calls_ended != usize::from(asked.is_ok()) {
        return Err(format!("the nested call ended {calls_ended} times"));
    }
    // Every slot is free again.
    for id in 0..4 {
        peer.say(&request.replace("\"id\":1", &format!("\"id\":\"r{id}\"")))?;
    }
    if peer.open.len() == 4 { Ok(()) } else { Err(format!("{} slots are left", peer.open.len())) }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
        .request_timeout(Duration::from_secs(5))
        .call_timeout(Duration::from_secs(5));

struct Peer {
    server: Server<'static>,
    tx: TxBuffer<Vec<u8>>,
    now: Instant,
    open: Vec<RequestHandle>,
}

impl Peer {
    fn new(revision: Revision) -> Self {
        let mut peer = Self {
            server: new_server::<4, 1>(&CONFIG),
            tx: TxBuffer::new(vec![0; 4096]),
            now: Instant::from_millis(0),
            open: Vec::new(),
        };
        if !revision.is_modern() {
            let open = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
            );
            peer.say(&open).expect("a session");
            peer.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
                .expect("a session");
            peer.sent();
        }
        peer
    }

    fn say(&mut self, line: &str) -> Result<Vec<String>, String> {
        let mut rx = RxBuffer::new([0; 512]);
        let line = format!("{line}\n");
        rx.spare()[..line.len()].copy_from_slice(line.as_bytes());
        rx.commit(line.len());
        let mut messages = rx.next_messages().ok_or("no line")?;
        let mut events = Vec::new();
        let to_text = |error: SendError| error.to_string();
        while let Some(event) =
            self.server.next_event(self.now, &mut messages, &mut self.tx).map_err(to_text)?
        {
            if let ServerEvent::Request(request) = event {
                self.open.push(request.handle);
            }
            events.push(format!("{event:?}"));
        }
        Ok(events)
    }

    fn time(&mut self) -> Result<Vec<String>, String> {
        let mut events = Vec::new();
        while let Some(event) =
            self.server.handle_timeout(self.now, &mut self.tx).map_err(|error| error.to_string())?
        {
            events.push(format!("{event:?}"));
        }
        Ok(events)
    }

    fn sent(&mut self) -> String {
        let sent = String::from_utf8_lossy(self.tx.pending()).into_owned();
        self.tx.advance(usize::MAX);
        sent
    }
}
