//! What an application is to a connection, and what it is given.

use core::fmt;
use core::future::{Future, poll_fn};
use core::task::Poll;

use ::embedded_io_async::ErrorKind;
use mcp_sansio::{
    Change, Delivery, Instant, LogMessage, Progress, Request, RequestHandle, SendError, Server,
    ServerEvent, Target, Tx,
};

use super::connection::Writer;

/// An application: what it says to a request at once, or what it keeps of it and does later.
///
/// `N` and `S` are those of the [`Connection`](super::Connection).
pub trait Handler<const N: usize, const S: usize> {
    /// What is kept of a request when its line is gone: its arguments, parsed.
    type Job;
    /// What it is answered with; may borrow from the request when it is answered at once.
    type Response<'f>: Response<N, S>;

    /// Takes a request in. Lists and unknown names have been answered, where the connection has a
    /// catalog; `target` is its entry, and lives as long as the request, so an answer may hold what
    /// [`Catalog::check_arguments`](mcp_sansio::Catalog::check_arguments) finds.
    fn on_request<'f>(
        &self,
        request: &Request<'f>,
        target: Target<'f>,
    ) -> Action<Self::Job, Self::Response<'f>>;

    /// Does what was asked. Dropped when nobody waits for it any more.
    fn run(
        &self,
        job: Self::Job,
        ctx: Context<'_>,
    ) -> impl Future<Output = Self::Response<'static>>;

    /// Is shown everything that happens, before it is dealt with.
    fn on_event(&self, event: &ServerEvent<'_>) {
        let _ = event;
    }

    /// Reading failed; what was lost by it is skipped. The end of a connection is
    /// [`Error::Read`](super::Error::Read) instead.
    fn on_read_error(&self, error: ErrorKind) {
        let _ = error;
    }

    /// The core refused to send an answer: its `Serialize` fails, or the protocol does not allow
    /// it. The client has been told that there is none.
    fn on_send_error(&self, error: SendError) {
        let _ = error;
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action<J, R> {
    /// It is answered at once.
    Respond(R),
    /// It is worked on.
    Run(J),
}

/// An answer, to be sent by the connection.
pub trait Response<const N: usize, const S: usize> {
    /// Sends it: whatever calls of the server it takes, the one that answers `request` last. Called
    /// again until it is through, so it must say the same each time, or go on where it was.
    ///
    /// # Errors
    /// Those of the server, untouched.
    fn send(
        &mut self,
        server: &mut Server<'_, N, S>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError>;
}

/// The time, and a way to wait: six lines around the executor's own.
pub trait Clock {
    /// The time. Counts from anywhere, and does not go backwards.
    fn now(&self) -> Instant;
    /// Is done at that time, or soon after. Dropped when there is no need to wait any longer.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()>;
}

/// What a handler speaks through while it works on a request.
#[derive(Clone, Copy)]
pub struct Context<'l> {
    pub(super) connection: &'l dyn ContextBackend,
    pub(super) request: RequestHandle,
    pub(super) slot: usize,
}

impl Context<'_> {
    /// Tells the client how far its request has come, if it asked. Waits while the client does not
    /// read. What is longer than all room there is, is not sent.
    pub async fn progress(&self, progress: &Progress<'_>) {
        let _ = self.say(|| self.connection.progress(self, progress)).await;
    }

    /// Logs to the client, if it asked for that level. Waits while the client does not read.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] where the capability `logging` was not declared,
    /// [`SendError::TooLarge`] when it is longer than all room there is.
    pub async fn log(&self, message: &LogMessage<'_, str>) -> Result<(), SendError> {
        self.say(|| self.connection.log(self, message)).await.map(|_| ())
    }

    /// [`Connection::publish`](super::Connection::publish)
    pub fn publish(&self, change: Change<'static>) -> bool {
        self.connection.publish(change)
    }

    /// The request: what cancellations and expiries name.
    #[must_use]
    pub const fn request(&self) -> RequestHandle {
        self.request
    }

    /// Frames that leave whole or not at all, so giving it up in the middle leaves nothing behind.
    async fn say(
        &self,
        mut call: impl FnMut() -> Result<Delivery, SendError>,
    ) -> Result<Delivery, SendError> {
        let _turn = ReleaseOnDrop(self);
        poll_fn(|cx| match call() {
            Err(error) if error.is_full() => {
                self.connection.wait(self.slot, cx.waker());
                Poll::Pending
            }
            said => Poll::Ready(said),
        })
        .await
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("request", &self.request).finish_non_exhaustive()
    }
}

/// A connection as its handlers see it, whatever its sizes.
pub(super) trait ContextBackend {
    fn progress(&self, ctx: &Context<'_>, progress: &Progress<'_>) -> Result<Delivery, SendError>;
    fn log(&self, ctx: &Context<'_>, message: &LogMessage<'_, str>) -> Result<Delivery, SendError>;
    fn publish(&self, change: Change<'static>) -> bool;
    fn wait(&self, slot: usize, waker: &core::task::Waker);
    fn release(&self, writer: Writer);
}

/// Whoever waited for room and waits no more lets others have their turn.
struct ReleaseOnDrop<'c>(&'c Context<'c>);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.connection.release(Writer::Slot(self.0.slot));
    }
}
