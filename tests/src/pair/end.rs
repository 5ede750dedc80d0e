//! One end of the line: a machine, its buffers, and its application.

use mcp_sansio::{Delivery, Instant, RequestHandle, RxBuffer, SendError, Tx};

use crate::delivery::respond;
use crate::endpoint::Endpoint;
use crate::line::Line;

pub struct End<M, A> {
    pub machine: M,
    pub line: Line,
    pub rx: RxBuffer<Vec<u8>>,
    pub app: A,
}

/// A machine at some time, and the line to its peer.
pub struct Port<'p, M> {
    pub machine: &'p mut M,
    pub now: Instant,
    line: &'p mut Line,
}

impl<M> Port<'_, M> {
    /// Repeats a call of the machine while the buffer is full.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        self.line.write(|tx| call(self.machine, tx))
    }
}

pub trait Application<M: Endpoint> {
    fn event(&mut self, port: &mut Port<'_, M>, event: &M::Event<'_>);
}

impl<M: Endpoint, A: Application<M>> End<M, A> {
    pub fn new(machine: M, room: usize, app: A) -> Self {
        Self { machine, line: Line::new(room), rx: rx(), app }
    }

    /// Returns the application, and what it acts through.
    pub(super) fn parts(&mut self, now: Instant) -> (&mut A, Port<'_, M>) {
        let Self { machine, line, app, .. } = self;
        (app, Port { machine, now, line })
    }

    /// Repeats a call of the machine while the buffer is full.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        self.line.write(|tx| call(&mut self.machine, tx))
    }

    /// Does the same with a call that responds to a request, and tells whether it was open.
    pub fn respond(
        &mut self,
        request: RequestHandle,
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.send(|machine, tx| respond(machine, request, tx, &mut call))
    }

    pub fn receive(&mut self, now: Instant) {
        let Self { machine, line, rx, app } = self;
        let mut port = Port { machine, now, line };
        while let Some(mut messages) = rx.next_messages() {
            for n in 0.. {
                assert!(n < 10_000, "handling a frame does not terminate");
                let event = port.send(|machine, tx| machine.next_event(now, &mut messages, tx));
                let Some(event) = event.expect("only Full") else { break };
                app.event(&mut port, &event);
            }
        }
    }

    pub fn handle_timeouts(&mut self, now: Instant) {
        let (app, mut port) = self.parts(now);
        for _ in 0..100 {
            let event = port.send(|machine, tx| machine.handle_timeout(now, tx));
            let Some(event) = event.expect("only Full") else { return };
            app.event(&mut port, &event);
        }
        panic!("handle_timeout does not terminate");
    }
}

/// A receive buffer that is large enough for every frame.
pub(super) fn rx() -> RxBuffer<Vec<u8>> {
    RxBuffer::new(vec![0; 16 << 10])
}
