//! The trait that an application implements.

use core::future::Future;

use ::embedded_io_async::ErrorKind;
use mcp_sansio::typed::{AsyncToolHandler, CallOf, Tools as _, checked};
use mcp_sansio::{
    ErrorCode, Instant, Outcome, RpcError, SendError, Server, ServerEvent, Target, ToolContext,
    ToolResult,
};

/// Handles requests. An [`AsyncToolHandler`](mcp_sansio::typed::AsyncToolHandler) is one, for a
/// server of tools only; [`SyncTools`](mcp_sansio::typed::SyncTools) makes one of a
/// [`ToolHandler`](mcp_sansio::typed::ToolHandler).
pub trait Handler {
    /// The response to a request, as a value. May borrow from the request.
    type Response<'a>: for<'m> Outcome<Server<'m>>
    where
        Self: 'a;

    /// Handles the request of the context. If the connection has a catalog, list requests, unknown
    /// names and invalid arguments have got their response already, and `target` is the entry of
    /// the catalog.
    ///
    /// The future is dropped when its request is cancelled or times out, or the connection ends.
    fn on_request<'a>(
        &'a self,
        target: Target<'a>,
        ctx: ToolContext<'a>,
    ) -> impl Future<Output = Self::Response<'a>>;

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

/// Calls tools. Any other request that the catalog leaves is a method that is not found.
impl<H: AsyncToolHandler> Handler for H {
    type Response<'a>
        = ToolResult<'a, H::Output<'a>>
    where
        Self: 'a;

    async fn on_request<'a>(
        &'a self,
        _: Target<'a>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, H::Output<'a>> {
        let request = ctx.request();
        match CallOf::<'a, H::Tools>::from_request(request) {
            Some(Ok(call)) => checked::<H::Tools, _>(request, self.call(call, ctx).await),
            Some(Err(faults)) => Err(faults.into()),
            None => Err(RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()),
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
