//! The functions behind the tools of a program.

use core::cell::RefCell;
use core::future::Future;
use core::pin::pin;
use core::task::{self, Poll, Waker};

use super::tools::{Called, Tools};
use crate::catalog::{Catalog, Target};
use crate::connection::{Outcome, Turn};
use crate::encode::Encode;
use crate::error::SendError;
use crate::rx::Spare;
use crate::server::{Request, Server};
use crate::time::Instant;
use crate::tool_context::{ToolContext, TurnLink};
use crate::tool_result::{ToolError, ToolResult};

/// The calls of a server's tools, without the lifetime of a message. [`Tools`] derives it: for
/// `enum Call<'a>` it is implemented by `Call<'static>`.
pub trait ToolSet: Tools<'static> {
    /// The enum.
    type Call<'a>: Tools<'a>;
}

/// A call of the tools of a handler.
pub type CallOf<'a, T> = <T as ToolSet>::Call<'a>;

/// Tools that return their result at once. Every adapter serves it, without a change.
///
/// ```
/// use mcp_sansio::typed::{Output, ToolHandler, Tools};
/// use mcp_sansio::types::Text;
/// use mcp_sansio::{Catalog, ToolContext, ToolOutput, ToolResult};
///
/// #[derive(Tools)]
/// enum Call<'a> {
///     /// Counts the characters of a text.
///     #[tool(read_only, returns = Count)]
///     Count { text: Text<'a> },
///     /// Switches the lamp.
///     SetLamp { on: bool },
/// }
///
/// #[derive(Output)]
/// struct Count {
///     characters: u32,
/// }
///
/// static CATALOG: Catalog = Catalog::new().calls::<Call>();
///
/// struct Desk {
///     lamp: bool,
/// }
///
/// impl ToolHandler for Desk {
///     type Tools = Call<'static>;
///     type Output<'a> = Count;
///
///     fn call<'a>(&mut self, call: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a, Count> {
///         match call {
///             Call::Count { text } => {
///                 let characters = text.chars().count().try_into().map_err(|_| "too long")?;
///                 Ok(ToolOutput::Structured(Count { characters }))
///             }
///             Call::SetLamp { on } => {
///                 self.lamp = on;
///                 Ok(if on { "The lamp is on" } else { "The lamp is off" }.into())
///             }
///         }
///     }
/// }
/// ```
pub trait ToolHandler {
    /// The enum that derives [`Tools`]; its lifetime, if it has one, is `'static` here.
    type Tools: ToolSet;

    /// The structured content of the results: a type that derives [`Output`](super::Output), an
    /// untagged enum of several, or [`NoOutput`](crate::NoOutput) if there is none.
    type Output<'a>: Encode;

    /// Calls a tool. The arguments are valid. Other messages wait meanwhile.
    /// [`ToolContext::at_once`] completes the futures of the context.
    fn call<'a>(
        &mut self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, Self::Output<'a>>;
}

impl<H: ToolHandler + ?Sized> ToolHandler for &mut H {
    type Tools = H::Tools;
    type Output<'a> = H::Output<'a>;

    fn call<'a>(
        &mut self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, Self::Output<'a>> {
        (**self).call(call, ctx)
    }
}

/// Tools that take time: as [`ToolHandler`], with an `async fn`.
///
/// ```
/// # use mcp_sansio::typed::{AsyncToolHandler, Tools};
/// # use mcp_sansio::{NoOutput, Progress, ToolContext, ToolResult};
/// # #[derive(Tools)]
/// # enum Call {
/// #     /// Erases the flash.
/// #     Erase { sectors: u32 },
/// # }
/// # struct Board;
/// # impl Board { async fn erase(&self, _: u32) {} }
/// impl AsyncToolHandler for Board {
///     type Tools = Call;
///     type Output<'a> = NoOutput;
///
///     async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
///         match call {
///             Call::Erase { sectors } => {
///                 for sector in 0..sectors {
///                     ctx.progress(&Progress::of(sector).total(sectors)).await?;
///                     self.erase(sector).await;
///                 }
///                 Ok("The flash is erased".into())
///             }
///         }
///     }
/// }
/// ```
///
/// A future that is dropped ends where it waits: its request was cancelled or has timed out, or its
/// connection has ended.
pub trait AsyncToolHandler {
    /// As [`ToolHandler::Tools`].
    type Tools: ToolSet;

    /// As [`ToolHandler::Output`].
    type Output<'a>: Encode
    where
        Self: 'a;

    /// Calls a tool. The arguments are valid. The call and the result may borrow from the request,
    /// and several calls may run at once.
    fn call<'a>(
        &'a self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> impl Future<Output = ToolResult<'a, Self::Output<'a>>>;
}

/// Serves a [`ToolHandler`] where an [`AsyncToolHandler`] is expected.
#[derive(Debug, Default)]
pub struct SyncTools<H>(RefCell<H>);

impl<H> SyncTools<H> {
    /// Takes the handler.
    #[must_use]
    pub const fn new(handler: H) -> Self {
        Self(RefCell::new(handler))
    }
}

impl<H: ToolHandler> AsyncToolHandler for SyncTools<H> {
    type Tools = H::Tools;
    type Output<'a>
        = H::Output<'a>
    where
        Self: 'a;

    async fn call<'a>(
        &'a self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, H::Output<'a>> {
        // A call does not wait, so no other one is running.
        let Ok(mut handler) = self.0.try_borrow_mut() else {
            return Err(ToolError::internal("The tools are in use"));
        };
        handler.call(call, ctx)
    }
}

/// Returns a result, or in debug builds with an allocator the error that it breaks the output
/// schema of its tool: [`Entry::check_result`](crate::Entry::check_result). For adapters.
#[inline]
pub fn checked<'a, T: ToolSet, O: Encode>(
    request: &Request<'_>,
    result: ToolResult<'a, O>,
) -> ToolResult<'a, O> {
    #[cfg(all(debug_assertions, feature = "alloc"))]
    if let Ok(output) = &result {
        let tool =
            T::TOOLS.iter().find(|tool| request.name().is_some_and(|name| tool.key() == name));
        tool.map_or(Ok(()), |tool| tool.check_result(output, request.revision))?;
    }
    #[cfg(not(all(debug_assertions, feature = "alloc")))]
    let _ = request;
    result
}

impl<'p, 'm, O: Outcome<Server<'m>>> Turn<'p, Server<'m>, O> {
    /// Calls a tool if the request is a valid call of one, and sends the result; for any other
    /// request it does what [`Catalog::respond`] does. `pump` writes as in [`send`](Self::send),
    /// and `now` reads the clock.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_tool<'c, H: ToolHandler, E: From<SendError>>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &mut H,
        mut pump: impl FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
        now: impl Fn() -> Instant,
    ) -> Result<Target<'c>, E> {
        let call = match self.send(&mut pump, |server, tx| catalog.call(server, request, tx))? {
            Called::Call(call) => call,
            Called::Other(target) => return Ok(target),
        };
        let link = TurnLink::new(self, pump, now);
        let result = handler.call(call, ToolContext::new(request, &link));
        let result = checked::<H::Tools, _>(request, result);
        link.respond(request.handle, &result).map(|()| Target::Responded)
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. Other messages wait meanwhile.
    /// The future is polled with the waker; whenever it is not ready, the function is called, which
    /// may return at any time.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_async_tool<'c, H: AsyncToolHandler, E: From<SendError>>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &H,
        mut pump: impl FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
        now: impl Fn() -> Instant,
        (waker, mut wait): (&Waker, impl FnMut()),
    ) -> Result<Target<'c>, E> {
        let call = match self.send(&mut pump, |server, tx| catalog.call(server, request, tx))? {
            Called::Call(call) => call,
            Called::Other(target) => return Ok(target),
        };
        let link = TurnLink::new(self, pump, now);
        let mut future = pin!(handler.call(call, ToolContext::new(request, &link)));
        let result = loop {
            match future.as_mut().poll(&mut task::Context::from_waker(waker)) {
                Poll::Ready(result) => break result,
                Poll::Pending => wait(),
            }
        };
        let result = checked::<H::Tools, _>(request, result);
        link.respond(request.handle, &result).map(|()| Target::Responded)
    }
}
