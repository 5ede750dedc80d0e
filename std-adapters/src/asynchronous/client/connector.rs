//! Configuration of a connection, and its start.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use mcp_sansio::{ClientConfig, ClientEvent, Era};
use mcp_sansio_engine::internal::{CallEvents, ClientApplication};
use mcp_sansio_engine::{
    CallId, ClientEngine, Driver, InputId, InputRefusal, InputResponse, Layers, Middleware,
    Question,
};

use super::connection::{Connection, ConnectionInner};
use super::handle::{Client, ClientInner};
use super::transport::Transport;
use crate::client::{
    Caught, Changes, ClientLimits, MIN_BUFFER, OwnedInputRequest, random, unix_ms,
};
use crate::lock::lock;
use crate::panics::{caught, caught_future};

/// Configuration of a connection: the handler of input requests, the handler of events, limits.
///
/// Up to [`max_in_flight`](ClientLimits::max_in_flight) requests are in flight on a connection;
/// more wait in the order in which they were made.
#[must_use]
pub struct Connector {
    config: &'static ClientConfig<'static>,
    era: Option<Era>,
    limits: ClientLimits,
    app: Application,
}

pub(crate) type OnEvent = Box<dyn FnMut(&ClientEvent<'_>) + Send>;

impl Connector {
    /// Creates a connector with the default limits.
    pub fn new(config: &'static ClientConfig<'static>) -> Self {
        let app = Application {
            input_handler: Box::new(|_| Box::pin(async { Err(InputRefusal::unsupported()) })),
            on_event: None,
            layers: Layers::default(),
            changes: Arc::default(),
            asked: Vec::new(),
            withdrawn: Vec::new(),
            events: CallEvents::default(),
        };
        Self { config, era: None, limits: ClientLimits::new(), app }
    }

    /// Sets the handler of input requests (elicitation, sampling, roots), in both eras. It is
    /// called for each request; several may be open at once, and may take their time. Its future is
    /// dropped when the server cancels the request or the call that it belongs to is dropped. A
    /// panic in it responds with an internal error (-32603), and nothing else ends.
    pub fn on_input_request<F>(
        mut self,
        handler: impl Fn(OwnedInputRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = InputResponse> + Send + 'static,
    {
        let input_handler = move |input_request| -> InputFuture {
            let pending = caught(|| handler(input_request)).ok();
            Box::pin(async { caught_future(pending).await.unwrap_or(Err(InputRefusal::Panicked)) })
        };
        self.app.input_handler = Box::new(input_handler);
        self
    }

    /// Sets the handler of events that belong to no call: log messages, changes that a legacy
    /// server reports, other notifications, and protocol violations of the server. The connection
    /// calls it and waits for it, so it must not wait for a call. A panic in it is caught and
    /// ignored.
    pub fn on_event(mut self, on_event: impl FnMut(&ClientEvent<'_>) + Send + 'static) -> Self {
        self.app.on_event = Some(Box::new(on_event));
        self
    }

    /// Sets the era that [`Client::era`] returned for this server earlier, so that it need not be
    /// detected. See [`Client::set_era`](mcp_sansio::Client::set_era).
    pub fn era(self, era: impl Into<Option<Era>>) -> Self {
        Self { era: era.into(), ..self }
    }

    /// Adds code around every call: a [`Cache`](super::Cache), a limit of the rate, another
    /// attempt. The first that is added is the outermost. A panic in it is caught, and the call
    /// goes on without it.
    pub fn middleware(mut self, middleware: impl Middleware + Send + 'static) -> Self {
        self.app.layers.push(Caught(middleware));
        self
    }

    /// Sets the limits.
    pub fn limits(self, limits: ClientLimits) -> Self {
        Self { limits, ..self }
    }

    /// Creates a client on this stream, and the connection that must be awaited or spawned for it.
    /// The stream is a socket, a pair of pipes, a child process, or an `HttpTransport`.
    ///
    /// It detects the server's era, unless that is known. The time limits of connecting begin now.
    ///
    /// When the connection closes, the server must see the end of its input. Closing a
    /// [`JoinedIo`](crate::asynchronous::JoinedIo) drops its writer; `Async`
    /// sockets over TCP and Unix sockets are shut down; any other stream must do so in its
    /// `poll_close`. A stream that only flushes there stays open until
    /// [`close_timeout`](ClientLimits::close_timeout) has passed.
    pub fn connect<T: Transport>(self, transport: T) -> (Client, Connection<T>) {
        let config = self.config;
        let mut limits = self.limits.of_engine();
        limits.max_output = self.limits.max_pending.max(MIN_BUFFER);
        // Each call that waits is a future of the application.
        (limits.max_pending, limits.max_posts) = (usize::MAX, MAX_POSTS);
        let mut engine = ClientEngine::new(config, limits);
        engine.core().set_era(self.era);
        let inner = ConnectionInner::new(engine, self.app, config.call_limit, self.limits);
        let client = Client(Arc::new(ClientInner { inner: Arc::new(inner) }));
        let connection = client.reconnect(transport);
        (client, connection)
    }
}

mcp_sansio::opaque_debug!(Connector |it| { info: it.config.info() });

/// Maximum number of messages that wait to be posted. At the limit calls wait.
const MAX_POSTS: usize = 16;

// The application as the engine sees it: handlers of questions, futures of calls, and the function
// for events.

/// A response that is being computed.
pub(crate) type InputFuture = Pin<Box<dyn Future<Output = InputResponse> + Send>>;
/// Computes responses. Boxed, so that clients and connections have no type parameter for it: input
/// requests are rare.
pub(crate) type InputHandler = Box<dyn Fn(OwnedInputRequest) -> InputFuture + Send + Sync>;

pub struct Application {
    input_handler: InputHandler,
    on_event: Option<OnEvent>,
    layers: Layers<'static>,
    /// Of the latest connection.
    pub(crate) changes: Arc<Mutex<Option<Changes>>>,
    /// Futures for the connection, which polls them.
    pub(crate) asked: Vec<(InputId, InputFuture)>,
    /// Questions whose futures it is to drop: not here, since that calls the application.
    pub(crate) withdrawn: Vec<InputId>,
    pub(crate) events: CallEvents,
}

impl ClientApplication for Application {
    fn events(&mut self) -> &mut CallEvents {
        &mut self.events
    }
}

impl Driver for Application {
    fn unix_ms(&mut self) -> u64 {
        unix_ms()
    }

    fn random(&mut self) -> u32 {
        random()
    }

    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse> {
        match OwnedInputRequest::try_from(&question) {
            Ok(request) => {
                self.asked.push((question.id, (self.input_handler)(request)));
                None
            }
            Err(refusal) => Some(Err(refusal)),
        }
    }

    fn withdrawn(&mut self, input: InputId) {
        self.withdrawn.push(input);
    }

    fn middleware(&mut self) -> Option<&mut dyn Middleware> {
        self.layers.as_middleware()
    }

    fn authorization(&mut self) -> u32 {
        lock(&self.changes).as_ref().map_or(0, |changes| changes())
    }

    fn updated(&mut self, call: CallId) {
        self.events.updated(call);
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        if !self.events.event(about, event)
            && let Some(on_event) = &mut self.on_event
        {
            let _ = caught(|| on_event(event));
        }
    }
}
