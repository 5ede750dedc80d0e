//! What a connection is made with.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::{ClientConfig, ClientEvent, Era};

use super::connection::Connection;
use super::guard;
use super::handle::{Client, ClientInner};
use super::inner::ConnectionInner;
use super::input::{InputFuture, InputHandler, InputRefusal, InputResponse, OwnedInputRequest};
use super::pages::MAX_LIST;

/// What is settled before a connection: who answers the server's questions, who sees what belongs
/// to no call, limits.
///
/// Up to `N` requests are in flight on a connection; more wait for their turn.
pub struct Connector<const N: usize = IN_FLIGHT> {
    config: &'static ClientConfig<'static>,
    era: Option<Era>,
    input_handler: InputHandler,
    on_event: Option<OnEvent>,
    limits: Limits,
}

/// How much, and how long.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_line: usize,
    pub(super) max_pending: usize,
    pub(super) close_timeout: Duration,
    pub(super) stall_timeout: Duration,
    pub(super) max_list: usize,
}

/// Sees events.
pub(super) type OnEvent = Box<dyn FnMut(&ClientEvent<'_>) + Send>;

impl Connector {
    /// For connections of the usual size. For others: [`with_table_sizes`](Connector::with_table_sizes).
    #[must_use]
    pub fn new(config: &'static ClientConfig<'static>) -> Self {
        Self::with_table_sizes(config)
    }
}

impl<const N: usize> Connector<N> {
    /// For connections whose size the type says.
    #[must_use]
    pub fn with_table_sizes(config: &'static ClientConfig<'static>) -> Self {
        Self {
            config,
            era: None,
            input_handler: Box::new(|_| Box::pin(async { Err(InputRefusal::unsupported()) })),
            on_event: None,
            limits: Limits {
                max_line: MAX_LINE,
                max_pending: MAX_PENDING,
                close_timeout: CLOSE_TIMEOUT,
                stall_timeout: STALL_TIMEOUT,
                max_list: MAX_LIST,
            },
        }
    }

    /// Who answers what the server wants to know, in both eras. Called for each question; several
    /// may be open at once, and take their time. When a question is not asked any more, because the
    /// server has cancelled it or its call is dropped, the future is. Where it panics, the question
    /// is answered with an internal error (-32603), and nothing else ends.
    #[must_use]
    pub fn on_input_request<F>(
        self,
        handler: impl Fn(OwnedInputRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<InputResponse, InputRefusal>> + Send + 'static,
    {
        let input_handler = move |question| -> InputFuture {
            let pending = guard::call(|| handler(question));
            Box::pin(async {
                guard::outcome(pending).await.unwrap_or_else(|| Err(InputRefusal::panicked()))
            })
        };
        Self { input_handler: Box::new(input_handler), ..self }
    }

    /// Who sees what belongs to no call: log messages, what a legacy server tells of changes,
    /// notifications of all kinds, and what the server did wrong. Called by the connection,
    /// which waits for it. A panic in it ends nothing.
    #[must_use]
    pub fn on_event(self, on_event: impl FnMut(&ClientEvent<'_>) + Send + 'static) -> Self {
        Self { on_event: Some(Box::new(on_event)), ..self }
    }

    /// What [`Client::era`] said of this server earlier: it need not be found out. See
    /// [`Client::set_era`](mcp_sansio::Client::set_era).
    #[must_use]
    pub fn set_era(self, era: Option<Era>) -> Self {
        Self { era, ..self }
    }

    /// The longest line accepted, in bytes; memory is taken as lines need it. Default:
    /// [`MAX_LINE`].
    #[must_use]
    pub fn max_line(self, max_line: usize) -> Self {
        Self { limits: Limits { max_line: max_line.max(MIN_BUFFER), ..self.limits }, ..self }
    }

    /// The most that is held back for a server that does not read, in bytes. A longer request is
    /// written in pieces. Default: [`MAX_PENDING`].
    #[must_use]
    pub fn max_pending(self, max_pending: usize) -> Self {
        Self { limits: Limits { max_pending: max_pending.max(MIN_BUFFER), ..self.limits }, ..self }
    }

    /// The longest list that [`Client::list`] puts together, in bytes of all its pages. Default:
    /// [`MAX_LIST`].
    #[must_use]
    pub fn max_list(self, max_list: usize) -> Self {
        Self { limits: Limits { max_list, ..self.limits }, ..self }
    }

    /// Limits the time that the server takes to close its side after we have closed ours. Default:
    /// 2 s. `Duration::MAX`: no limit.
    #[must_use]
    pub fn close_timeout(self, timeout: Duration) -> Self {
        Self { limits: Limits { close_timeout: timeout, ..self.limits }, ..self }
    }

    /// Gives up the connection of a server that reads nothing for this time although there is
    /// something for it. Default: 60 s. `Duration::MAX`: never.
    #[must_use]
    pub fn stall_timeout(self, timeout: Duration) -> Self {
        Self { limits: Limits { stall_timeout: timeout, ..self.limits }, ..self }
    }

    /// A client on this stream, and the connection that has to be awaited or spawned for it. The
    /// stream is a socket, or a pair of pipes.
    ///
    /// The opening begins at once: the server's era is found out, if need be.
    ///
    /// When the connection closes, the server has to see the end of its input. Closing a
    /// [`JoinedIo`](crate::asynchronous::JoinedIo) drops its writer; [`Async`](async_io::Async) sockets over TCP
    /// and Unix sockets are shut down; any other stream must do that in its `poll_close`. Of one
    /// that only flushes, [`close_timeout`](Self::close_timeout) has to pass.
    pub fn connect<T: AsyncRead + AsyncWrite + Unpin + 'static>(
        self,
        stream: T,
    ) -> (Client<N>, Connection<T, N>) {
        let mut core = mcp_sansio::Client::with_table_sizes(self.config);
        core.set_era(self.era);
        let inner = Arc::new(ConnectionInner::new(core, &self.limits, self.input_handler));
        let client = Client(Arc::new(ClientInner { inner: Arc::clone(&inner) }));
        (client, Connection::new(stream, inner, self.limits, self.on_event))
    }
}

impl<const N: usize> fmt::Debug for Connector<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("info", &self.config.info).finish_non_exhaustive()
    }
}

/// Requests in flight on a connection, unless the type says otherwise.
pub const IN_FLIGHT: usize = 32;
/// The longest line accepted, in bytes, unless said otherwise.
pub const MAX_LINE: usize = 16 << 20;
/// The most that is held back for a server, in bytes, unless said otherwise.
pub const MAX_PENDING: usize = 1 << 20;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Whatever the core answers by itself must fit, and an id with it.
const MIN_BUFFER: usize = 1024;
