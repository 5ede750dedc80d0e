//! The core's client in a blocking loop over a child's pipes.

use std::error::Error;
use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};

use clients::{CONFIG, Clock, Load, WARM_UP, is_echo, params};
use mcp_sansio::{
    CallOptions, CallOutcome, ClientEvent, ClientState, Era, Instant, RxBuffer, TxBuffer,
};

struct Connection {
    state: Box<ClientState<64>>,
    input: ChildStdout,
    output: ChildStdin,
    rx: RxBuffer<Vec<u8>>,
    tx: TxBuffer<Vec<u8>>,
    clock: std::time::Instant,
}

impl Connection {
    fn now(&self) -> Instant {
        Instant::from_millis(self.clock.elapsed().as_millis() as u64)
    }

    fn drain(&mut self) -> std::io::Result<()> {
        self.output.write_all(self.tx.pending())?;
        self.tx.advance(usize::MAX);
        Ok(())
    }

    /// Reads once and handles the events.
    fn step(&mut self, mut handle: impl FnMut(ClientEvent)) -> Result<(), Box<dyn Error>> {
        self.drain()?;
        let read = self.input.read(self.rx.spare())?;
        self.rx.commit(read);
        let now = self.now();
        while let Some(mut messages) = self.rx.next_messages() {
            while let Some(event) =
                self.state.client(&CONFIG).next_event(now, &mut messages, &mut self.tx)?
            {
                handle(event);
            }
        }
        if read == 0 { Err("the server closed its output".into()) } else { Ok(()) }
    }

    fn call(&mut self, load: &Load, from: u64, to: u64) -> Result<(), Box<dyn Error>> {
        let (mut next, mut waiting, mut expected) = (from, 0, vec![None; 64]);
        while next < to || waiting > 0 {
            let now = self.now();
            while next < to && waiting < load.window {
                let text = load.text(next);
                let call = self.state.client(&CONFIG).request(
                    now,
                    "tools/call",
                    &params(&text),
                    CallOptions::new(),
                    &mut self.tx,
                )?;
                expected[call.index()] = Some(text);
                (next, waiting) = (next + 1, waiting + 1);
            }
            self.step(|event| {
                let ClientEvent::CallFinished { call, outcome: CallOutcome::Result(result) } =
                    event
                else {
                    panic!("{event:?}")
                };
                let expected = expected[call.index()].take().expect("in flight");
                assert!(is_echo(result, &expected));
                waiting -= 1;
            })?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let load = Load::from_arguments();
    let (mut child, output, input) = load.start()?;
    let mut state = Box::new(ClientState::new());
    state.client(&CONFIG).set_era(Some(Era::Legacy));
    let (rx, tx) =
        (RxBuffer::with_limit(Vec::new(), 16 << 20), TxBuffer::with_limit(Vec::new(), 64 << 20));
    let mut connection =
        Connection { state, input, output, rx, tx, clock: std::time::Instant::now() };
    let now = connection.now();
    connection.state.client(&CONFIG).connect(now, &mut connection.tx)?;
    while !connection.state.client(&CONFIG).is_open() {
        connection.step(|_| ())?;
    }
    connection.call(&load, 0, WARM_UP)?;
    let clock = Clock::start();
    connection.call(&load, WARM_UP, WARM_UP + load.calls)?;
    clock.stop(&load);
    drop(connection);
    child.wait()?;
    Ok(())
}
