//! The two ends of a line, each a connection.

use std::collections::VecDeque;
use std::time::Duration;

use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, ClientRequest,
    ClientState, Connection, Era, Outcome, RawJson, RequestHandle, RxBuffer, SendError,
    ServerEvent, ServerState, Spare, Step, Tx, TxBuffer,
};

use crate::world::{CONFIG, Reply, at};

static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS)
        .call_timeout(Duration::from_secs(1000));

/// A long list of roots.
pub(crate) struct Roots(pub(crate) String);

impl Outcome<Client<'_>> for Roots {
    fn send(
        &self,
        client: &mut Client<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        client.respond_raw(request, RawJson::parse(&self.0).expect("JSON"), tx)
    }
}

/// One direction of the line, which holds `room` bytes.
pub(crate) struct Way {
    pub(crate) bytes: VecDeque<u8>,
    room: usize,
}

impl Way {
    pub(crate) fn new(room: usize) -> Self {
        Self { bytes: VecDeque::new(), room }
    }

    pub(crate) fn write(&mut self, bytes: &[u8], piece: usize) -> usize {
        let n = piece.min(bytes.len()).min(self.room - self.bytes.len());
        self.bytes.extend(&bytes[..n]);
        n
    }

    pub(crate) fn read(&mut self, mut spare: Spare<'_>, piece: usize) -> usize {
        let n = piece.min(spare.spare().len()).min(self.bytes.len());
        for (to, from) in spare.spare().iter_mut().zip(self.bytes.drain(..n)) {
            *to = from;
        }
        spare.commit(n);
        n
    }
}

/// The client calls a tool. The server asks for its roots and sends the result at once: both
/// responses are longer than all buffers together, and meet.
fn long_answers(era: Era, (rx, tx, line, piece): (usize, usize, usize, usize), len: usize) {
    let buffers = || (RxBuffer::with_limit(vec![0; rx], 4 * len), TxBuffer::new(vec![0; tx]));
    let (client_rx, client_tx) = buffers();
    let mut client: Connection<_, _, _, Roots, 2> =
        Connection::new(&CLIENT, ClientState::<2>::new(), client_rx, client_tx);
    let (server_rx, server_tx) = buffers();
    let mut server: Connection<_, _, _, Reply, 4> =
        Connection::new(&CONFIG, ServerState::<4, 0>::new(), server_rx, server_tx);
    client.turn(at(0)).parts().0.set_era(Some(era));
    let (mut up, mut down) = (Way::new(line), Way::new(line));
    let (mut connected, mut wants_call, mut asks) = (false, false, None);
    let (mut roots, mut result) = (0, 0);
    for _ in 0..5_000_000 {
        let mut moved = false;
        if !connected {
            let mut turn = client.turn(at(0));
            let (machine, tx) = turn.parts();
            connected = machine.connect(at(0), tx).is_ok();
            // Nothing is sent first to a server that is known to be modern.
            wants_call = machine.is_open();
        }
        if wants_call {
            let mut turn = client.turn(at(0));
            let (machine, tx) = turn.parts();
            let params = CallToolParams::new("t");
            wants_call =
                machine.request(at(0), "tools/call", &params, CallOptions::new(), tx).is_err();
        }
        if let Some(request) = asks {
            let mut turn = server.turn(at(0));
            let (machine, tx) = turn.parts();
            if era == Era::Legacy && machine.request(at(0), ClientRequest::roots(), tx).is_err() {
                // No room yet.
            } else {
                asks = None;
                let reply = Reply::Text("s".repeat(len));
                assert!(server.answer(request, reply).is_ok());
            }
        }
        match client.next(at(0)) {
            Step::Event(event, mut turn) => {
                moved = true;
                match event {
                    ClientEvent::Connected(_) => wants_call = true,
                    ClientEvent::Request(request) => {
                        assert!(
                            turn.answer(
                                request.handle,
                                Roots(format!(
                                    r#"{{"roots":[],"_meta":{{"x":"{}"}}}}"#,
                                    "c".repeat(len)
                                ))
                            )
                            .is_ok()
                        );
                    }
                    ClientEvent::CallFinished { outcome: CallOutcome::Result(value), .. } => {
                        result = value.as_str().len();
                    }
                    event => panic!("{event:?}"),
                }
            }
            Step::Io { write, read, .. } => {
                let got = down.read(read, piece);
                let n = up.write(write, piece);
                client.wrote(n);
                moved |= got + n > 0;
            }
            _ => moved = true,
        }
        match server.next(at(0)) {
            Step::Event(event, _) => {
                moved = true;
                match event {
                    ServerEvent::Request(request) => asks = Some(request.handle),
                    ServerEvent::CallFinished { outcome: CallOutcome::Result(value), .. } => {
                        roots = value.as_str().len();
                    }
                    ServerEvent::Initialize { .. } | ServerEvent::Initialized => {}
                    event => panic!("{event:?}"),
                }
            }
            Step::Io { write, read, .. } => {
                let got = up.read(read, piece);
                let n = down.write(write, piece);
                server.wrote(n);
                moved |= got + n > 0;
            }
            _ => moved = true,
        }
        let all = result > len && (roots > len || era == Era::Modern);
        if all && !moved {
            return;
        }
        assert!(moved || asks.is_some() || wants_call, "locked up: {roots} {result}");
    }
    panic!("it does not end");
}

#[test]
fn long_answers_that_meet_do_not_lock_up() {
    for era in [Era::Legacy, Era::Modern] {
        for sizes in [(64, 512, 16, 16), (2048, 64, 1, 1), (1024, 12, 512, 7), (64, 1, 64, 64)] {
            long_answers(era, sizes, 20_000);
        }
    }
}
