//! `Pair`: a client and a server without I/O, in virtual time.

use std::time::Duration;

use mcp_sansio::types::{CallToolParams, Implementation, TextResult};
use mcp_sansio::{
    CallOptions, CallOutcome, ClientConfig, ClientEvent, ClientFeatures, ClientState, Connection,
    Era, Pair, PairStep, RxBuffer, ServerConfig, ServerEvent, ServerFeatures, ServerState,
    TxBuffer,
};

use crate::world::at;

static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
        .request_timeout(Duration::from_secs(5));
static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE)
        .call_timeout(Duration::from_secs(9));

type Client = Connection<'static, ClientState<2>, [u8; 4096], [u8; 400]>;
type Server = Connection<'static, ServerState<2, 0>, [u8; 1024], [u8; 64]>;

fn pair() -> Pair<Client, Server> {
    Pair::new(
        Connection::new(
            &CLIENT,
            ClientState::new(),
            RxBuffer::new([0; 4096]),
            TxBuffer::new([0; 400]),
        ),
        Connection::new(
            &SERVER,
            ServerState::new(),
            RxBuffer::new([0; 1024]),
            TxBuffer::new([0; 64]),
        ),
    )
}

/// Opens the connection and calls a tool, which the server responds to after `delay`. Returns the
/// events as lines, and the time of the last.
fn talk(era: Era, delay: u64) -> (Vec<String>, u64) {
    let mut pair = pair();
    let (mut lines, mut now, mut open) = (Vec::new(), 0, None);
    let mut turn = pair.client().turn(at(now));
    let (client, tx) = turn.parts();
    client.set_era(Some(era));
    client.connect(at(now), tx).unwrap();
    let mut calls = client.is_open();
    loop {
        if calls {
            let mut turn = pair.client().turn(at(now));
            let (client, tx) = turn.parts();
            let params = CallToolParams::new("t");
            calls = client.request(at(now), "tools/call", &params, CallOptions::new(), tx).is_err();
        }
        if let Some((request, due)) = open
            && due <= now
        {
            let text = "a long text ".repeat(20);
            let mut turn = pair.server().turn(at(now));
            if turn.respond(request, &TextResult::new(&text)).is_ok() {
                open = None;
            }
        }
        match pair.next(at(now)) {
            PairStep::Client(event, _) => {
                match event {
                    ClientEvent::Connected(_) => calls = true,
                    ClientEvent::CallFinished { outcome: CallOutcome::Result(result), .. } => {
                        lines.push(format!("result of {}", result.as_str().len()));
                    }
                    ClientEvent::CallFinished { outcome: CallOutcome::Error(error), .. } => {
                        lines.push(format!("error {}", error.code()));
                    }
                    event => lines.push(format!("client: {event:?}")),
                };
            }
            PairStep::Server(event, _) => match event {
                ServerEvent::Request(request) => {
                    lines.push("request".into());
                    open = Some((request.handle, now + delay));
                }
                ServerEvent::RequestTimedOut { .. } => {
                    lines.push("timed out".into());
                    open = None;
                }
                ServerEvent::Initialize { .. } | ServerEvent::Initialized => {}
                event => lines.push(format!("server: {event:?}")),
            },
            PairStep::Again => {}
            PairStep::Idle(until) => {
                let due = open.map(|(_, due)| due).filter(|due| *due > now);
                match until.map(|until| until.as_millis()).into_iter().chain(due).min() {
                    _ if lines.len() >= 2 && open.is_none() => return (lines, now),
                    Some(next) => now = next,
                    None => return (lines, now),
                }
            }
        }
    }
}

#[test]
fn a_long_response_passes_in_pieces() {
    for era in Era::ALL {
        let (lines, now) = talk(era, 3000);
        assert_eq!(lines[0], "request", "{era:?}");
        assert!(lines[1].starts_with("result of "), "{era:?}: {lines:?}");
        assert_eq!((lines.len(), now), (2, 3000));
    }
}

#[test]
fn timeouts_are_steps_of_their_time() {
    for era in Era::ALL {
        let (lines, now) = talk(era, 60_000);
        assert_eq!(lines, ["request", "timed out", "error -32603"], "{era:?}");
        assert_eq!(now, 5000);
    }
}

#[test]
fn all_that_an_end_writes_after_a_reset_arrives() {
    let mut pair = pair();
    for _ in 0..2 {
        pair.client().reset();
        pair.server().reset();
        let mut turn = pair.client().turn(at(0));
        let (client, tx) = turn.parts();
        client.connect(at(0), tx).unwrap();
        assert!(matches!(pair.next(at(0)), PairStep::Again));
    }
    let mut has_connected = false;
    for _ in 0..99 {
        let step = pair.next(at(0));
        has_connected |= matches!(step, PairStep::Client(ClientEvent::Connected(_), _));
    }
    assert!(has_connected);
}
