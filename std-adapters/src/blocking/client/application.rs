//! The application's side of a client: its handler, its clock and its trace.

use mcp_sansio::{ClientEvent, Instant};
use mcp_sansio_engine::{Answer, Driver, Question, Refusal};

use super::connector::Clock;
use super::handler::{Handler, ReceivedInputRequest};
use super::{CallId, Direction, Trace};
use crate::client::{random, unix_ms};
use crate::panics::caught;

/// Everything but the connection, for the engine to call.
pub(super) struct Application<'c> {
    handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    clock: Box<Clock<'c>>,
    /// Milliseconds that the handler took for input requests. No timeout counts them.
    input_time: u64,
    /// Number of further input requests whose time does not count.
    free_input_requests: u32,
}

impl<'c> Application<'c> {
    pub(super) fn new(
        handler: Box<dyn Handler + 'c>,
        trace: Option<Box<Trace<'c>>>,
        clock: Box<Clock<'c>>,
    ) -> Self {
        let free_input_requests = FREE_INPUT_REQUESTS;
        Self { handler, trace, clock, input_time: 0, free_input_requests }
    }

    /// Returns the time of the clock without the time that input requests took.
    pub(super) fn now(&self) -> Instant {
        Instant::from_millis((self.clock)().as_millis().saturating_sub(self.input_time))
    }

    /// Allows [`FREE_INPUT_REQUESTS`] again, for the next wait of the application.
    pub(super) const fn free_input_requests(&mut self) {
        self.free_input_requests = FREE_INPUT_REQUESTS;
    }

    fn panicked(&mut self, about: Option<CallId>) {
        // The panic hook reports a panic in here, too.
        let _ = caught(|| self.handler.on_panic(about));
    }
}

impl Driver for Application<'_> {
    fn unix_ms(&mut self) -> u64 {
        unix_ms()
    }

    fn random(&mut self) -> u32 {
        random()
    }

    fn asked(&mut self, question: Question<'_>) -> Option<Answer> {
        let Question { about, request, revision, .. } = question;
        let input = ReceivedInputRequest::new(request, revision);
        let begun = (self.clock)().as_millis();
        let response = caught(|| self.handler.on_input_request(&input));
        if let Some(left) = self.free_input_requests.checked_sub(1) {
            self.free_input_requests = left;
            let taken = (self.clock)().as_millis().saturating_sub(begun);
            self.input_time = self.input_time.saturating_add(taken);
        }
        Some(response.map_or_else(
            |_| {
                self.panicked(about);
                Err(Refusal::Panicked)
            },
            |response| response.0,
        ))
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        if caught(|| self.handler.on_event(about, event)).is_err() {
            self.panicked(about);
        }
    }

    fn traces(&self) -> bool {
        self.trace.is_some()
    }

    fn frame(&mut self, is_sent: bool, frame: &[u8]) {
        let direction = if is_sent { Direction::Sent } else { Direction::Received };
        if let Some(trace) = &mut self.trace {
            let _ = caught(|| trace(direction, frame));
        }
    }
}

/// Number of input requests per wait of the application whose time no timeout counts. Limited, so
/// that a server cannot suspend its timeouts for ever.
const FREE_INPUT_REQUESTS: u32 = 100;
