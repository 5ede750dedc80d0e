//! Calls of tools that are types.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Wake, Waker};
use std::thread::{self, Thread};

use mcp_sansio::typed::{AsyncToolHandler, CallOf, ToolHandler, Tools as _, checked};
use mcp_sansio::{Request, Spare, ToolContext, TurnLink};

use super::{Context, Error, RequestContext, write_all};

impl RequestContext<'_, '_> {
    /// Calls a tool, if the request is a valid call of one, and sends the result. Responds to
    /// invalid arguments, and does nothing for other requests: see [`target`](Self::target).
    ///
    /// ```no_run
    /// use mcp_sansio::typed::{ToolHandler, Tools};
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
    /// use mcp_sansio_adapters::blocking::{App, Error};
    ///
    /// static CONFIG: ServerConfig =
    ///     ServerConfig::new(Implementation::new("counter", "0.1.0"), ServerFeatures::TOOLS);
    /// static CATALOG: Catalog = Catalog::new().calls::<Call>();
    ///
    /// #[derive(Tools)]
    /// enum Call {
    ///     /// Counts on.
    ///     Count { by: u32 },
    /// }
    ///
    /// struct Counter(u32);
    ///
    /// impl ToolHandler for Counter {
    ///     type Tools = Call;
    ///     type Output<'a> = NoOutput;
    ///
    ///     fn call<'a>(&mut self, Call::Count { by }: Call, _: ToolContext<'a>) -> ToolResult<'a> {
    ///         self.0 = self.0.checked_add(by).ok_or("There are no larger numbers")?;
    ///         Ok(self.0.to_string().into())
    ///     }
    /// }
    ///
    /// fn main() -> Result<(), Error> {
    ///     let mut counter = Counter(0);
    ///     App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.call_tool(&mut counter))
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_tool<H: ToolHandler>(&mut self, handler: &mut H) -> Result<(), Error> {
        self.connection.call_tool(self.request, handler)
    }

    /// Calls a tool that takes time: see [`Context::call_async_tool`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_async_tool<H: AsyncToolHandler>(&mut self, handler: &H) -> Result<(), Error> {
        self.connection.call_async_tool(self.request, handler)
    }
}

impl Context<'_> {
    /// Calls a tool, if the request is a valid call of one, and sends the result. Responds to
    /// invalid arguments, and does nothing for other requests, which a catalog has responded to or
    /// found the [`Target`](mcp_sansio::Target) of.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_tool<H: ToolHandler>(
        &mut self,
        request: &Request<'_>,
        handler: &mut H,
    ) -> Result<(), Error> {
        let handle = request.handle;
        let call = match CallOf::<H::Tools>::from_request(request) {
            Some(Ok(call)) => call,
            Some(Err(faults)) => {
                return self
                    .send(|server, tx| server.respond_invalid_arguments(handle, &faults, tx));
            }
            None => return Ok(()),
        };
        {
            let pump = |bytes: &[u8], _: &mut Spare<'_>| write_all(&mut *self.output, bytes);
            let link = TurnLink::new(&mut self.turn, pump, self.clock);
            let result = handler.call(call, ToolContext::new(request, &link));
            link.respond(handle, &checked::<H::Tools, _>(request, result))?;
        }
        self.limit_pending()
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. The thread sleeps while the
    /// tool waits, and other messages wait meanwhile, also those that cancel the call.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_async_tool<H: AsyncToolHandler>(
        &mut self,
        request: &Request<'_>,
        handler: &H,
    ) -> Result<(), Error> {
        let handle = request.handle;
        let call = match CallOf::<H::Tools>::from_request(request) {
            Some(Ok(call)) => call,
            Some(Err(faults)) => {
                return self
                    .send(|server, tx| server.respond_invalid_arguments(handle, &faults, tx));
            }
            None => return Ok(()),
        };
        {
            let pump = |bytes: &[u8], _: &mut Spare<'_>| write_all(&mut *self.output, bytes);
            let link = TurnLink::new(&mut self.turn, pump, self.clock);
            let mut future = pin!(handler.call(call, ToolContext::new(request, &link)));
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            let result = loop {
                match future.as_mut().poll(&mut task::Context::from_waker(&waker)) {
                    Poll::Ready(result) => break result,
                    Poll::Pending => thread::park(),
                }
            };
            link.respond(handle, &checked::<H::Tools, _>(request, result))?;
        }
        self.limit_pending()
    }
}

/// Wakes the thread of a connection.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
