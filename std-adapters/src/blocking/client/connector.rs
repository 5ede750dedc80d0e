//! Settings of a client, and connecting.

use mcp_sansio::{ClientConfig, ClientEvent, Era, Instant, OwnedJson};
use mcp_sansio_engine::{
    ClientEngine, Driver, InputRefusal, InputResponse, Layers, Middleware, Question,
};

use super::{CallId, Client, ClientLimits, ConnectionEnd, Error, Transport};
use crate::client::{Caught, Changes, OwnedInputRequest, random, unix_ms};
use crate::panics::caught;

/// Builder of a [`Client`]:
/// `Connector::new(&CONFIG).handler(handler).connect(Process::new(command))`.
#[must_use]
pub struct Connector<'c> {
    config: &'c ClientConfig<'c>,
    era: Option<Era>,
    limits: ClientLimits,
    app: Application<'c>,
}

/// A monotonic clock with an arbitrary zero.
pub type Clock<'c> = dyn Fn() -> Instant + Send + 'c;

/// Function that sees each message that is sent or received, without its line end.
pub type Trace<'c> = dyn FnMut(Direction, &[u8]) + Send + 'c;

/// Direction of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// To the server. Traced when it is queued, which may be before the server reads it.
    Sent,
    /// From the server, invalid lines included; only the beginning of a line that is too long.
    Received,
}

impl<'c> Connector<'c> {
    /// Creates a connector without a handler and without a trace.
    pub fn new(config: &'c ClientConfig<'c>) -> Self {
        let begun = std::time::Instant::now();
        let clock = move || {
            Instant::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
        };
        let app = Application {
            handler: Box::new(()),
            trace: None,
            clock: Box::new(clock),
            layers: Layers::default(),
            changes: None,
            input_time: 0,
            free_input_requests: FREE_INPUT_REQUESTS,
            watched: None,
        };
        Self { config, era: None, limits: ClientLimits::new(), app }
    }

    /// Sets the handler of input requests and of events. Default: `()`, which refuses all requests.
    pub fn handler(mut self, handler: impl Handler + 'c) -> Self {
        self.app.handler = Box::new(handler);
        self
    }

    /// Sets a function that sees each message.
    pub fn trace(mut self, trace: impl FnMut(Direction, &[u8]) + Send + 'c) -> Self {
        self.app.trace = Some(Box::new(trace));
        self
    }

    /// Sets the era of the server, if it is known ([`Client::era`]). Default: find it out.
    pub fn era(self, era: impl Into<Option<Era>>) -> Self {
        Self { era: era.into(), ..self }
    }

    /// Adds code around every call: a [`Cache`](super::Cache), a limit of the rate, another
    /// attempt. The first that is added is the outermost. A panic in it is caught, and the call
    /// goes on without it.
    pub fn middleware(mut self, middleware: impl Middleware + Send + 'c) -> Self {
        self.app.layers.push(Caught(middleware));
        self
    }

    /// Sets the limits.
    pub fn limits(self, limits: ClientLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the clock, for tests and simulations. Timeouts follow this clock, also those that are
    /// passed to the [`Transport`]. Default: the monotonic clock of the system.
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + 'c) -> Self {
        self.app.clock = Box::new(clock);
        self
    }

    /// Connects to the server and finds out its era and revision.
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::ConnectFailed`], [`Error::Closed`].
    pub fn connect(self, transport: impl Transport + 'c) -> Result<Client<'c>, Error> {
        let mut limits = self.limits.of_engine();
        limits.max_inputs = MAX_INPUTS;
        let mut client = Client {
            engine: ClientEngine::new(self.config, limits),
            limits: self.limits,
            app: self.app,
            transport: Box::new(transport),
            connected: None,
            ended: None,
            last_end: ConnectionEnd::default(),
        };
        client.engine.core().set_era(self.era);
        #[cfg(all(feature = "http", feature = "smol"))]
        if let Some(http) = client.transport.http() {
            client.app.changes = http.changes();
            client.engine.set_over_http(true);
        }
        client.connect()?;
        Ok(client)
    }
}

mcp_sansio::opaque_debug!(Connector<'_> { config, era });

// The application's side of a client: its handler, its clock and its trace.

/// Everything but the connection, for the engine to call.
pub(super) struct Application<'c> {
    handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    clock: Box<Clock<'c>>,
    layers: Layers<'c>,
    changes: Option<Changes>,
    /// Milliseconds that the handler took for input requests. No timeout counts them.
    input_time: u64,
    /// Number of further input requests whose time does not count.
    free_input_requests: u32,
    /// The call whose progress is kept, and its reports.
    watched: Option<(CallId, Vec<OwnedJson>)>,
}

impl<'c> Application<'c> {
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

    fn authorization(&mut self) -> u32 {
        self.changes.as_ref().map_or(0, |changes| changes())
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

/// Maximum number of input requests in one result. With more, the call fails.
const MAX_INPUTS: usize = 100;
/// Number of input requests per wait of the application whose time no timeout counts. Limited, so
/// that a server cannot suspend its timeouts for ever.
const FREE_INPUT_REQUESTS: u32 = 100;

// Input requests and events.

/// Handles input requests and events. Closures that respond to input requests implement it; `()`
/// refuses all input requests.
///
/// Its functions are called while a method of the client waits. The time that
/// [`on_input_request`](Self::on_input_request) takes does not count for any timeout, for the first
/// hundred requests of each wait, since the server waits too. The time that
/// [`on_event`](Self::on_event) takes counts.
///
/// A panic does not end the connection: see [`on_panic`](Self::on_panic).
pub trait Handler: Send {
    /// Responds to an elicitation, sampling or roots request, of servers of both eras. Only called
    /// for kinds that the configuration declares. Default: refuses.
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        request.refuse()
    }

    /// Handles progress, log messages, changes and all other events but the end of calls. `about`
    /// is the call that the event belongs to, if any.
    fn on_event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        let _ = (about, event);
    }

    /// Called after [`on_input_request`](Self::on_input_request) or [`on_event`](Self::on_event)
    /// has panicked, for the call `about`. The panic hook has reported the panic. The request of a
    /// legacy server has got an internal error (-32603); the call for which a modern server needed
    /// the input has failed with [`InputRefusal::Panicked`](super::InputRefusal::Panicked).
    /// Everything else continues.
    fn on_panic(&mut self, about: Option<CallId>) {
        let _ = about;
    }
}

impl Handler for () {}

impl<F: FnMut(&OwnedInputRequest) -> InputResponse + Send> Handler for F {
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        self(request)
    }
}
