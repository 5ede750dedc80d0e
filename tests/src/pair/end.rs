//! One end of the line: a machine, its buffers, and its application.

use mcp_sansio::{Delivery, Instant, RequestHandle, RxBuffer, SendError, Tx};

use super::line::{Line, rx};
use crate::delivery::respond;
use crate::endpoint::Endpoint;

/// A server or a client, its buffers, and its application.
pub struct End<M, A> {
    /// The server or the client.
    pub machine: M,
    /// Its output.
    pub line: Line,
    /// Its input.
    pub rx: RxBuffer<Vec<u8>>,
    /// Its application, with a record of what it has seen.
    pub app: A,
}

/// Handles the events of a machine.
pub trait Application<M: Endpoint> {
    /// Handles an event, responding through `line`.
    fn event(&mut self, machine: &mut M, line: &mut Line, now: Instant, event: &M::Event<'_>);
}

impl<M: Endpoint, A: Application<M>> End<M, A> {
    /// An end with an output buffer of `room` bytes.
    #[must_use]
    pub fn new(machine: M, room: usize, app: A) -> Self {
        Self { machine, line: Line::new(room), rx: rx(), app }
    }

    /// Repeats a call of the machine until it succeeds, draining the buffer while it is full.
    ///
    /// # Errors
    /// Those of the call, other than `Full`.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let Self { machine, line, .. } = self;
        line.send(|tx| call(machine, tx))
    }

    /// Does the same with a call that responds to a request, and tells whether it was open.
    ///
    /// # Errors
    /// Those of the call, other than `Full`.
    pub fn respond(
        &mut self,
        request: RequestHandle,
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.send(|machine, tx| respond(machine, request, tx, &mut call))
    }

    /// Handles every frame that has arrived.
    ///
    /// # Panics
    /// When a frame does not end, or handling it fails.
    pub fn receive(&mut self, now: Instant) {
        let Self { machine, line, rx, app } = self;
        while let Some(mut messages) = rx.next_messages() {
            for n in 0.. {
                assert!(n < 10_000, "handling a frame does not terminate");
                let event =
                    line.send(|tx| machine.next_event(now, &mut messages, tx)).expect("only Full");
                let Some(event) = event else { break };
                app.event(machine, line, now, &event);
            }
        }
    }

    /// Handles every deadline that has passed.
    ///
    /// # Panics
    /// When there is always another one, or handling one fails.
    pub fn handle_timeouts(&mut self, now: Instant) {
        let Self { machine, line, app, .. } = self;
        for _ in 0..100 {
            let event = line.send(|tx| machine.handle_timeout(now, tx)).expect("only Full");
            let Some(event) = event else { return };
            app.event(machine, line, now, &event);
        }
        panic!("handle_timeout does not terminate");
    }
}
