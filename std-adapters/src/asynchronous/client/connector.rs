//! Configuration of a connection, and its start.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::{
    ClientConfig, ClientEvent, Era, JsonStr, OwnedJson, RawJson, Revision, ServerFeatures,
};
use mcp_sansio_engine::{ClientEngine, InputRefusal, InputResponse};

use super::application::Application;
use super::connection::Connection;
use super::handle::{Client, ClientInner};
use super::inner::ConnectionInner;
use super::input::{InputFuture, InputHandler, OwnedInputRequest};
use super::transport::Transport;
use crate::panics::{caught, caught_future};

/// Configuration of a connection: the handler of input requests, the handler of events, limits.
///
/// Up to [`max_in_flight`](Self::max_in_flight) requests are in flight on a connection; more wait
/// in the order in which they were made.
pub struct Connector {
    config: &'static ClientConfig<'static>,
    era: Option<Era>,
    input_handler: InputHandler,
    on_event: Option<OnEvent>,
    limits: Limits,
}

/// Limits of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_in_flight: u16,
    pub(crate) max_line: usize,
    pub(crate) max_pending: usize,
    pub(crate) close_timeout: Duration,
    pub(crate) stall_timeout: Duration,
    pub(crate) max_list: usize,
}

pub(crate) type OnEvent = Box<dyn FnMut(&ClientEvent<'_>) + Send>;

impl Connector {
    /// Creates a connector with the default limits.
    #[must_use]
    pub fn new(config: &'static ClientConfig<'static>) -> Self {
        Self {
            config,
            era: None,
            input_handler: Box::new(|_| Box::pin(async { Err(InputRefusal::unsupported()) })),
            on_event: None,
            limits: Limits {
                max_in_flight: IN_FLIGHT,
                max_line: MAX_LINE,
                max_pending: MAX_PENDING,
                close_timeout: CLOSE_TIMEOUT,
                stall_timeout: STALL_TIMEOUT,
                max_list: crate::client::MAX_LIST,
            },
        }
    }

    /// Sets the handler of input requests (elicitation, sampling, roots), in both eras. It is
    /// called for each request; several may be open at once, and may take their time. Its future is
    /// dropped when the server cancels the request or the call that it belongs to is dropped. A
    /// panic in it responds with an internal error (-32603), and nothing else ends.
    #[must_use]
    pub fn on_input_request<F>(
        self,
        handler: impl Fn(OwnedInputRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = InputResponse> + Send + 'static,
    {
        let input_handler = move |input_request| -> InputFuture {
            let pending = caught(|| handler(input_request)).ok();
            Box::pin(async { caught_future(pending).await.unwrap_or(Err(InputRefusal::Panicked)) })
        };
        Self { input_handler: Box::new(input_handler), ..self }
    }

    /// Sets the handler of events that belong to no call: log messages, changes that a legacy
    /// server reports, other notifications, and protocol violations of the server. The connection
    /// calls it and waits for it, so it must not wait for a call. A panic in it is caught and
    /// ignored.
    #[must_use]
    pub fn on_event(self, on_event: impl FnMut(&ClientEvent<'_>) + Send + 'static) -> Self {
        Self { on_event: Some(Box::new(on_event)), ..self }
    }

    /// Sets the era that [`Client::era`] returned for this server earlier, so that it need not be
    /// detected. See [`Client::set_era`](mcp_sansio::Client::set_era).
    #[must_use]
    pub fn set_era(self, era: Option<Era>) -> Self {
        Self { era, ..self }
    }

    /// Limits the requests in flight, and the open requests of the server. Each takes about 200
    /// bytes, and its parameters. Default: [`IN_FLIGHT`]; at most 65,534.
    #[must_use]
    pub fn max_in_flight(self, max_in_flight: u16) -> Self {
        let max_in_flight = max_in_flight.max(1);
        Self { limits: Limits { max_in_flight, ..self.limits }, ..self }
    }

    /// Limits the length of a received line, in bytes. The buffer grows as lines need it. Default:
    /// [`MAX_LINE`].
    #[must_use]
    pub fn max_line(self, max_line: usize) -> Self {
        Self { limits: Limits { max_line: max_line.max(MIN_BUFFER), ..self.limits }, ..self }
    }

    /// Limits the bytes that wait to be written to a server that does not read. A longer request is
    /// written in pieces. Default: [`MAX_PENDING`].
    #[must_use]
    pub fn max_pending(self, max_pending: usize) -> Self {
        Self { limits: Limits { max_pending: max_pending.max(MIN_BUFFER), ..self.limits }, ..self }
    }

    /// Limits the size of a list that [`Client::list`] collects, in bytes of all its pages.
    /// Default: [`MAX_LIST`](super::MAX_LIST).
    #[must_use]
    pub fn max_list(self, max_list: usize) -> Self {
        Self { limits: Limits { max_list, ..self.limits }, ..self }
    }

    /// Limits the time that the server takes to close its side after the client has closed its own.
    /// Default: 2 s. `Duration::MAX`: no limit.
    #[must_use]
    pub fn close_timeout(self, timeout: Duration) -> Self {
        Self { limits: Limits { close_timeout: timeout, ..self.limits }, ..self }
    }

    /// Ends the connection if the server reads nothing for this time although output is pending.
    /// Default: 60 s. `Duration::MAX`: no limit.
    #[must_use]
    pub fn stall_timeout(self, timeout: Duration) -> Self {
        Self { limits: Limits { stall_timeout: timeout, ..self.limits }, ..self }
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
    /// [`close_timeout`](Self::close_timeout) has passed.
    pub fn connect<T: Transport>(self, transport: T) -> (Client, Connection<T>) {
        let config = self.config;
        let mut limits = mcp_sansio_engine::Limits::DEFAULT;
        (limits.in_flight, limits.max_line) = (self.limits.max_in_flight, self.limits.max_line);
        (limits.max_output, limits.max_posts) = (self.limits.max_pending, MAX_POSTS);
        // Each call that waits is a future of the application.
        (limits.max_pending, limits.max_inputs) = (usize::MAX, MAX_INPUTS);
        let mut engine = ClientEngine::new(config, limits);
        engine.core().set_era(self.era);
        let app = Application::new(self.input_handler, self.on_event);
        let inner = ConnectionInner::new(engine, app, config.call_limit, self.limits);
        let client = Client(Arc::new(ClientInner { inner: Arc::new(inner) }));
        let connection = client.reconnect(transport);
        (client, connection)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("info", self.config.info()).finish_non_exhaustive()
    }
}

/// Result of `initialize` (legacy) or `server/discover` (modern): an owned
/// [`Connected`](mcp_sansio::Connected) of the core.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connected {
    /// Protocol revision of the connection.
    pub revision: Revision,
    /// Capabilities of the server. `None` if the [era was known](super::Connector::set_era) and the
    /// server was not asked.
    pub capabilities: Option<ServerFeatures>,
    /// The whole result: an [`InitializeResult`](mcp_sansio::types::InitializeResult) or a
    /// [`DiscoverResult`](mcp_sansio::types::DiscoverResult).
    pub result: Option<OwnedJson>,
}

impl Connected {
    /// Returns the server's instructions for the model.
    #[must_use]
    pub fn instructions(&self) -> Option<JsonStr<'_>> {
        self.result.as_ref()?.as_raw().get("instructions").and_then(RawJson::as_string)
    }
}

/// Default number of requests in flight on a connection.
pub const IN_FLIGHT: u16 = 32;
/// Default of [`Connector::max_line`], in bytes: 16 MiB.
pub const MAX_LINE: usize = 16 << 20;
/// Default of [`Connector::max_pending`], in bytes: 1 MiB.
pub const MAX_PENDING: usize = 1 << 20;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Smallest buffer: every response that the core writes fits, including the id.
const MIN_BUFFER: usize = 1024;
/// Maximum number of messages that wait to be posted. At the limit calls wait.
const MAX_POSTS: usize = 16;
/// Maximum number of input requests in one result.
const MAX_INPUTS: usize = 64;
