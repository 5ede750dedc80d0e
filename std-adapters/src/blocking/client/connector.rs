//! Settings of a client, and connecting.

use mcp_sansio::{ClientConfig, Era, Instant};
use mcp_sansio_engine::{Layers, Middleware};

use super::application::Application;
use super::{Client, ClientLimits, Error, Handler, Transport};
use crate::client::Caught;

/// Builder of a [`Client`]:
/// `Connector::new(&CONFIG).handler(handler).connect(Process::new(command))`.
#[must_use]
pub struct Connector<'c> {
    config: &'c ClientConfig<'c>,
    handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    era: Option<Era>,
    limits: ClientLimits,
    clock: Box<Clock<'c>>,
    layers: Layers<'c>,
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
        Self {
            config,
            handler: Box::new(()),
            trace: None,
            era: None,
            limits: ClientLimits::DEFAULT,
            clock: Box::new(clock),
            layers: Layers::default(),
        }
    }

    /// Sets the handler of input requests and of events. Default: `()`, which refuses all requests.
    pub fn handler(self, handler: impl Handler + 'c) -> Self {
        Self { handler: Box::new(handler), ..self }
    }

    /// Sets a function that sees each message.
    pub fn trace(self, trace: impl FnMut(Direction, &[u8]) + Send + 'c) -> Self {
        Self { trace: Some(Box::new(trace)), ..self }
    }

    /// Sets the era of the server, if it is known ([`Client::era`]). Default: find it out.
    pub fn era(self, era: impl Into<Option<Era>>) -> Self {
        Self { era: era.into(), ..self }
    }

    /// Adds code around every call: a [`Cache`](super::Cache), a limit of the rate, another
    /// attempt. The first that is added is the outermost. A panic in it is caught, and the call
    /// goes on without it.
    pub fn middleware(mut self, middleware: impl Middleware + Send + 'c) -> Self {
        self.layers.push(Caught(middleware));
        self
    }

    /// Sets the limits.
    pub fn limits(self, limits: ClientLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the clock, for tests and simulations. Timeouts follow this clock, also those that are
    /// passed to the [`Transport`]. Default: the monotonic clock of the system.
    pub fn clock(self, clock: impl Fn() -> Instant + Send + 'c) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Connects to the server and finds out its era and revision.
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::ConnectFailed`], [`Error::Closed`].
    pub fn connect(self, transport: impl Transport + 'c) -> Result<Client<'c>, Error> {
        let app = Application::new(self.handler, self.trace, self.clock, self.layers);
        Client::open(self.config, app, self.limits, self.era, Box::new(transport))
    }
}

mcp_sansio::opaque_debug!(Connector<'_> { config, era });
