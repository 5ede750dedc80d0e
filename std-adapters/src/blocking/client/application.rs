//! The application's side of a client: its handler, its clock and its trace.

use mcp_sansio::{ClientEvent, Instant, OwnedJson};
use mcp_sansio_engine::{Driver, InputRefusal, InputResponse, Layers, Middleware, Question};

use super::connector::Clock;
use super::handler::Handler;
use super::{CallId, Direction, Trace};
use crate::client::{OwnedInputRequest, random, unix_ms};
use crate::panics::caught;

/// Everything but the connection, for the engine to call.
pub(super) struct Application<'c> {
    handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    clock: Box<Clock<'c>>,
    layers: Layers<'c>,
    /// Milliseconds that the handler took for input requests. No timeout counts them.
    input_time: u64,
    /// Number of further input requests whose time does not count.
    free_input_requests: u32,
    /// The call whose progress is kept, and its reports.
    watched: Option<(CallId, Vec<OwnedJson>)>,
}

impl<'c> Application<'c> {
    pub(super) fn new(
        handler: Box<dyn Handler + 'c>,
        trace: Option<Box<Trace<'c>>>,
        clock: Box<Clock<'c>>,
        layers: Layers<'c>,
    ) -> Self {
        let free_input_requests = FREE_INPUT_REQUESTS;
        Self { handler, trace, clock, layers, input_time: 0, free_input_requests, watched: None }
    }

    /// Returns the time of the clock without the time that input requests took.
    pub(super) fn now(&self) -> Instant {
        Instant::from_millis((self.clock)().as_millis().saturating_sub(self.input_time))
    }

    /// Allows [`FREE_INPUT_REQUESTS`] again, for the next wait of the application.
    pub(super) const fn free_input_requests(&mut self) {
        self.free_input_requests = FREE_INPUT_REQUESTS;
    }

    /// Keeps the progress of this call from the latest on, and of no other.
    pub(super) fn watch(&mut self, call: CallId, latest: Option<OwnedJson>) {
        self.watched = Some((call, latest.into_iter().collect()));
    }

    /// Takes the reports of the call that is watched.
    pub(super) fn reports(&mut self) -> Vec<OwnedJson> {
        self.watched.as_mut().map(|(_, reports)| std::mem::take(reports)).unwrap_or_default()
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

    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse> {
        let input = match OwnedInputRequest::try_from(&question) {
            Ok(input) => input,
            Err(refusal) => return Some(Err(refusal)),
        };
        let begun = (self.clock)().as_millis();
        let response = caught(|| self.handler.on_input_request(&input));
        if let Some(left) = self.free_input_requests.checked_sub(1) {
            self.free_input_requests = left;
            let taken = (self.clock)().as_millis().saturating_sub(begun);
            self.input_time = self.input_time.saturating_add(taken);
        }
        Some(response.unwrap_or_else(|_| {
            self.panicked(question.about);
            Err(InputRefusal::Panicked)
        }))
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        // What a legacy server reports comes once more, about no call.
        if about.is_some() && matches!(event, ClientEvent::Changed { listen: None, .. }) {
            return;
        }
        if let (ClientEvent::Progress { params, .. }, Some((call, reports))) =
            (event, &mut self.watched)
            && about == Some(*call)
        {
            reports.push((*params).into());
        }
        if caught(|| self.handler.on_event(about, event)).is_err() {
            self.panicked(about);
        }
    }

    fn middleware(&mut self) -> Option<&mut dyn Middleware> {
        self.layers.as_middleware()
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
