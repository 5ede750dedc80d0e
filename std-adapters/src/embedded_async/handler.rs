//! The traits that an application implements, and the context that it gets.

use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};

use ::embedded_io_async::ErrorKind;
use mcp_sansio::{
    Change, Delivery, Instant, LogMessage, Outcome, Progress, Request, RequestHandle, SendError,
    Server, ServerEvent, Target, ToolError,
};
#[cfg(feature = "derive")]
use mcp_sansio::{ErrorCode, RpcError, ToolResult, typed::Tools};

/// Handles requests: at once, or in a future.
///
/// `N` and `S` are those of the [`Connection`](super::Connection).
pub trait Handler {
    /// The part of a request that is kept for [`run`](Self::run), e.g. its parsed arguments. The
    /// line of the request is gone by then.
    type Job;
    /// The response to a request, as a value. May borrow from the request if it is sent at once.
    type Response<'f>: for<'m> Outcome<Server<'m>>;

    /// Handles a request, at once or by a job. If the connection has a catalog, list requests,
    /// unknown names and invalid arguments have got their response already, and `target` is the
    /// entry of the catalog. It lives as long as the request.
    fn on_request<'f>(
        &self,
        request: &Request<'f>,
        target: Target<'f>,
    ) -> Action<Self::Job, Self::Response<'f>>;

    /// Runs a job. The future is dropped when its request is cancelled or times out, or the
    /// connection ends.
    fn run(
        &self,
        job: Self::Job,
        ctx: Context<'_>,
    ) -> impl Future<Output = Self::Response<'static>>;

    /// Sees every event before it is handled.
    fn on_event(&self, event: &ServerEvent<'_>) {
        let _ = event;
    }

    /// Called when reading failed. The line with the gap is rejected. A permanent error ends
    /// [`serve`](super::Connection::serve) with [`Error::Read`](super::Error::Read) instead.
    fn on_read_error(&self, error: ErrorKind) {
        let _ = error;
    }

    /// Called when the core rejects a response, because its `Serialize` fails or the protocol does
    /// not allow it. The client gets an internal error (-32603).
    fn on_send_error(&self, error: SendError) {
        let _ = error;
    }
}

/// What to do with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action<J, R> {
    /// Send the response at once.
    Respond(R),
    /// Pass the job to [`Handler::run`].
    Run(J),
}

#[cfg(feature = "derive")]
impl<'f, J: Tools<'f>, T> Action<J, ToolResult<'f, T>> {
    /// Passes the call of a tool to [`Handler::run`]. Responds to invalid arguments, and to other
    /// requests with -32601.
    #[must_use]
    pub fn of_tool(request: &Request<'f>) -> Self {
        match J::from_request(request) {
            Some(Ok(call)) => Self::Run(call),
            Some(Err(faults)) => Self::Respond(Err(faults.into())),
            None => {
                let error = RpcError::new(ErrorCode::MethodNotFound, "Method not found");
                Self::Respond(Err(error.into()))
            }
        }
    }
}

/// The time, and waiting for it. A thin wrapper of the timer of the executor.
pub trait Clock {
    /// Returns the time. Must be monotonic; the zero is arbitrary.
    fn now(&self) -> Instant;
    /// Completes at this time or soon after it. May be dropped before.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()>;
}

/// A running request and its connection, as [`Handler::run`] gets them.
#[derive(Clone, Copy)]
pub struct Context<'l> {
    pub(super) connection: &'l dyn ContextBackend,
    pub(super) request: RequestHandle,
    pub(super) slot: usize,
}

impl Context<'_> {
    /// Sends a progress notification, if the client requested them. Waits while the client does not
    /// read. A notification longer than the transmit buffer is dropped.
    ///
    /// # Errors
    /// If the response is no longer awaited, or the notification cannot be sent. Use `?`: both end
    /// the tool.
    pub async fn progress(&self, progress: &Progress<'_>) -> Result<(), ToolError<'static>> {
        match self.send(|| self.connection.progress(self, progress)).await {
            Ok(Delivery::Gone) => Err(ToolError::GONE),
            Ok(_) | Err(SendError::TooLarge) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a log message, if the client requested its level. Waits while the client does not
    /// read.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] if the capability `logging` was not declared,
    /// [`SendError::TooLarge`] if the message is longer than the transmit buffer.
    pub async fn log(&self, message: &LogMessage<'_, str>) -> Result<(), SendError> {
        self.send(|| self.connection.log(self, message)).await.map(|_| ())
    }

    /// Notifies subscribers, see [`Connection::publish`](super::Connection::publish).
    pub fn publish(&self, change: Change<'static>) -> bool {
        self.connection.publish(change)
    }

    /// Returns the handle of the request, which events of cancellation and timeout contain.
    #[must_use]
    pub const fn request(&self) -> RequestHandle {
        self.request
    }

    /// Sends a frame that is written whole or not at all, so this can be dropped at any time.
    async fn send(
        &self,
        mut call: impl FnMut() -> Result<Delivery, SendError>,
    ) -> Result<Delivery, SendError> {
        let _ended = EndsWaiting(self);
        poll_fn(|cx| match call() {
            Err(SendError::Full) => {
                self.connection.wait(self.slot, Some(cx.waker()));
                Poll::Pending
            }
            sent => Poll::Ready(sent),
        })
        .await
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("request", &self.request).finish_non_exhaustive()
    }
}

/// A connection without its type parameters.
pub(super) trait ContextBackend {
    fn progress(&self, ctx: &Context<'_>, progress: &Progress<'_>) -> Result<Delivery, SendError>;
    fn log(&self, ctx: &Context<'_>, message: &LogMessage<'_, str>) -> Result<Delivery, SendError>;
    fn publish(&self, change: Change<'static>) -> bool;
    /// Sets or clears the waker of a handler that waits for room.
    fn wait(&self, slot: usize, waker: Option<&Waker>);
}

/// Ends the waiting of a handler when it has sent its notification or is dropped.
struct EndsWaiting<'c>(&'c Context<'c>);

impl Drop for EndsWaiting<'_> {
    fn drop(&mut self) {
        self.0.connection.wait(self.0.slot, None);
    }
}
