//! The handle that requests are made with.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{CallOptions, Encode, Era, Instant, OwnedJson, RawJson, SendError};
use mcp_sansio_engine::{CallError, CallId};

use super::call::PendingCall;
use super::connection::Connection;
use super::inner::{Command, ConnectionInner, Session};
use super::transport::Transport;
use crate::client::Connected;

/// Makes requests on a [`Connection`](super::Connection). Clones are cheap and share the
/// connection, from any thread; it closes when the last one is dropped.
///
/// Each call waits for the connection to be open, for its place in the queue, and for its response,
/// so calls can be made at once. All of that counts towards its [limit](CallOptions::limit); the
/// [timeout](CallOptions::timeout) starts when it is sent.
///
/// Dropping the future of a call cancels it, and the server is notified.
pub struct Client(pub(crate) Arc<ClientInner>);

/// Shared by all clones; closes the connection when it is dropped.
pub(crate) struct ClientInner {
    pub(crate) inner: Arc<ConnectionInner>,
}

impl Client {
    /// Makes a request. `params` is any value that serializes as a JSON object,
    /// [`RawJson::EMPTY`](mcp_sansio::RawJson::EMPTY) if there are none. Read the result with
    /// [`OwnedJson::to`], as the result type of the method.
    ///
    /// Input requests of a modern server are passed to the
    /// [handler](super::Connector::on_input_request), and the request is sent again with the
    /// responses.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn request<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        self.request_in_rounds(method, params, options, |_| ()).await
    }

    /// Makes a request, and asks the server to report progress. Reports are kept until this future
    /// is polled: the latest 64, up to 64 KiB.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn request_with_progress<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        self.request_in_rounds(method, params, options.progress(true), on_progress).await
    }

    async fn request_in_rounds<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        mut on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        let call = self.start(options, |session, now, options| {
            session.engine.call(now, method, params, options, &mut session.app)
        });
        call.await?.result(&mut on_progress).await
    }

    /// Makes a call as soon as the server is connected. `begin` gets what is left of its time.
    pub(crate) async fn start(
        &self,
        mut options: CallOptions,
        mut begin: impl FnMut(&mut Session, Instant, CallOptions) -> Result<CallId, SendError>,
    ) -> Result<PendingCall, CallError> {
        let (_, left) = self.connected_within(self.limit(options)).await?;
        options.limit = options.limit.map(|_| left);
        PendingCall::begin(&self.0, |session, now| begin(session, now, options)).await
    }

    /// Sends a notification whose method is not one of MCP's; those have methods of their own.
    /// `params` is any value that serializes as a JSON object, `RawJson::EMPTY` if there are none.
    /// Waits while the server does not read.
    ///
    /// Cancel safe: a notification whose future is dropped is not sent; one that is partly sent
    /// ends as an invalid line.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn notify<P: Encode + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<(), CallError> {
        self.connected().await?;
        let waits = PendingCall::begin_unless(&self.0, |session, now| {
            session.engine.notify(now, method, params, &mut session.app)
        });
        match waits.await? {
            Some(call) => call.result(&mut |_| ()).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Notifies a legacy server that the roots have changed: see
    /// [`Client::roots_changed`](mcp_sansio::Client::roots_changed). Cancel safe as
    /// [`notify`](Self::notify).
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn roots_changed(&self) -> Result<(), CallError> {
        self.notify("notifications/roots/list_changed", &RawJson::EMPTY).await
    }

    /// Waits until the connection is open. It need not be called before requests are made. Cancel
    /// safe.
    ///
    /// # Errors
    /// [`CallError::ConnectFailed`], [`CallError::Closed`].
    pub async fn connected(&self) -> Result<Arc<Connected>, CallError> {
        self.connected_within(Duration::MAX).await.map(|(connected, _)| connected)
    }

    /// Returns the time limit of a call, including all waiting.
    pub(crate) fn limit(&self, options: CallOptions) -> Duration {
        options.limit.unwrap_or(self.0.inner.call_limit)
    }

    /// Waits until the connection is open, and returns what is left of the time.
    pub(crate) async fn connected_within(
        &self,
        limit: Duration,
    ) -> Result<(Arc<Connected>, Duration), CallError> {
        let inner = &self.0.inner;
        let connected = || poll_fn(|cx| inner.poll(cx, |it| Poll::Ready(it.poll_connected())));
        if let Poll::Ready(connected) = connected().await {
            return Ok((connected?, limit));
        }
        let waiting = PendingCall::begin_unless(&self.0, |session, now| {
            let is_open = session.poll_connected().is_ready();
            Ok((!is_open).then(|| session.engine.when_connected(now, limit)))
        });
        let Some(waiting) = waiting.await? else {
            // It was opened since the look above.
            return match connected().await {
                Poll::Ready(connected) => Ok((connected?, limit)),
                Poll::Pending => Err(CallError::Closed),
            };
        };
        let over = waiting.finished(&mut |_| ()).await;
        let waited = inner.now().saturating_duration_since(over.started);
        match (over.result, connected().await) {
            (Ok(_) | Err(CallError::Closed), Poll::Ready(connected)) => {
                Ok((connected?, limit.saturating_sub(waited)))
            }
            (Err(error), _) => Err(error),
            (Ok(_), Poll::Pending) => Err(CallError::Closed),
        }
    }

    /// Connects again, on another stream, after the end of the [`Connection`]; one that is open
    /// ends, and all calls with it. Only the application knows whether calls that have failed can
    /// be repeated.
    ///
    /// A [`Subscription`](super::Subscription) that was not dropped goes on, and reports
    /// [`Change::Missed`](super::Change::Missed) behind the changes that were not read yet. A
    /// legacy server is asked again for the [level of log messages](Self::set_log_level).
    pub fn reconnect<T: Transport>(&self, transport: T) -> Connection<T> {
        Connection::new(transport, Arc::clone(&self.0.inner))
    }

    /// Returns the era of the server, once it is known. It can be kept, and
    /// [set](super::Connector::era) for the next connection.
    pub fn era(&self) -> Option<Era> {
        self.0.inner.era()
    }

    /// Closes the connection for all clones: waiting calls end with [`CallError::Closed`], pending
    /// output is still written.
    pub fn close(&self) {
        self.0.close();
    }
}

impl ClientInner {
    fn close(&self) {
        self.inner.command(Command::Close);
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Clone for Client {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("era", &self.era()).finish_non_exhaustive()
    }
}
