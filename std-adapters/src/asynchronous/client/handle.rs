//! The handle that requests are made with.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{CallOptions, Encode, Era, OwnedJson};

use super::call::{PendingCall, send_when_ready};
use super::calls::{CallEvent, OwnedOutcome};
use super::connector::Connected;
use super::deadline::Deadline;
use super::error::CallError;
use super::inner::{ConnectionInner, State};
use super::mrtr::RetryInputs;

/// Makes requests on a [`Connection`](super::Connection). Clones are cheap and share the
/// connection, from any thread; it closes when the last one is dropped.
///
/// Each call waits for the connection to be open, for its place in the queue, and for its response,
/// so calls can be made at once. All of that counts towards its [limit](CallOptions::limit); the
/// [timeout](CallOptions::timeout) starts when it is sent.
///
/// Dropping the future of a call cancels it, and the server is notified.
pub struct Client(pub(crate) Arc<ClientInner>);

/// The end of a request that did not fail.
pub(crate) enum Answer {
    Result(OwnedJson),
    Task(OwnedJson),
}

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
        self.request_or_task(method, params, options, &mut on_progress).await
    }

    /// Makes a request, as often as the server requires input first.
    pub(crate) async fn rounds<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Result<Answer, CallError>
    where
        P: Encode + ?Sized,
    {
        let mut inputs: Option<RetryInputs> = None;
        let limit = self.limit(options);
        loop {
            let call = PendingCall::start(
                &self.0,
                Deadline::after(limit, &self.0.inner),
                |client, now, left, tx| match &inputs {
                    None => client.request(now, method, params, options.limit(left), tx),
                    Some(inputs) => client.retry(
                        now,
                        method,
                        params,
                        &inputs.as_core(),
                        options.limit(left),
                        tx,
                    ),
                },
            );
            let call = call.await?;
            let ended = loop {
                match call.next_event().await {
                    CallEvent::Finished(ended) => break ended,
                    CallEvent::Progress(params) => {
                        if let Ok(params) = params.to() {
                            on_progress(&params);
                        }
                    }
                    _ => {}
                }
            };
            match ended {
                OwnedOutcome::Result(result) => return Ok(Answer::Result(result)),
                OwnedOutcome::Task(task) => return Ok(Answer::Task(task)),
                OwnedOutcome::Error(error) => return Err(error),
                OwnedOutcome::ByServer => return Err(CallError::Closed),
                OwnedOutcome::InputRequired { result, round } => {
                    inputs = Some(RetryInputs::find(&self.0.inner, result, round).await?)
                }
            }
        }
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
        send_when_ready(
            &self.0.inner,
            Deadline::NEVER,
            |client, _, _, tx| client.notify(method, params, tx),
            |_, ()| (),
        )
        .await
    }

    /// Notifies a legacy server that the roots have changed: see
    /// [`Client::roots_changed`](mcp_sansio::Client::roots_changed). Cancel safe as
    /// [`notify`](Self::notify).
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn roots_changed(&self) -> Result<(), CallError> {
        send_when_ready(
            &self.0.inner,
            Deadline::NEVER,
            |client, _, _, tx| client.roots_changed(tx),
            |_, ()| (),
        )
        .await
    }

    /// Waits until the connection is open. It need not be called before requests are made. Cancel
    /// safe.
    ///
    /// # Errors
    /// [`CallError::ConnectFailed`], [`CallError::Closed`].
    pub async fn connected(&self) -> Result<Arc<Connected>, CallError> {
        self.connected_before(Deadline::NEVER).await
    }

    /// Returns the time limit of a call, including all waiting.
    pub(crate) fn limit(&self, options: CallOptions) -> Duration {
        options.limit.unwrap_or(self.0.inner.call_limit)
    }

    pub(crate) async fn connected_before(
        &self,
        deadline: Deadline,
    ) -> Result<Arc<Connected>, CallError> {
        if let Poll::Ready(connected) = self.0.inner.with(|state| state.connected()) {
            return connected;
        }
        // Nothing is sent before the connection is open.
        send_when_ready(&self.0.inner, deadline, |_, _, _, _| Ok(()), |_, ()| ()).await?;
        match self.0.inner.with(|state| state.connected()) {
            Poll::Ready(connected) => connected,
            Poll::Pending => Err(CallError::Closed),
        }
    }

    /// Returns the era of the server, once it is known. It can be kept, and
    /// [set](super::Connector::set_era) for the next connection.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.0.inner.with(|state| state.client().era())
    }

    /// Closes the connection for all clones: waiting calls end with [`CallError::Closed`], pending
    /// output is still written.
    pub fn close(&self) {
        self.0.close();
    }
}

impl ClientInner {
    fn close(&self) {
        self.inner.with(State::close);
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
        let waiting = self.0.inner.with(|state| state.client().open_calls());
        f.debug_struct("Client").field("open_calls", &waiting).finish_non_exhaustive()
    }
}
