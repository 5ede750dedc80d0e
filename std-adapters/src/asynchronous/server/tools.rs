//! Calls of tools that are types.

use std::sync::{Mutex, PoisonError};

use mcp_sansio::typed::{AsyncToolHandler, CallOf, ToolHandler, Tools};
use mcp_sansio::{Request, ToolContext, ToolError};

use super::context::Context;
use super::parameters::method_not_found;
use super::reply::{HandlerResult, IntoReply as _};

impl Context {
    /// Calls a tool that returns its result at once. The lock is held meanwhile, but never across
    /// an await.
    ///
    /// ```no_run
    /// use std::sync::Mutex;
    ///
    /// use mcp_sansio::typed::{ToolHandler, Tools};
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
    /// use mcp_sansio_adapters::asynchronous::{self, App};
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
    /// fn main() -> std::io::Result<()> {
    ///     let counter = Mutex::new(Counter(0));
    ///     let app = App::new(&CONFIG, |ctx| ctx.call_tool(&counter)).catalog(&CATALOG);
    ///     let listener =
    ///         async_io::Async::<std::net::TcpListener>::bind(([127, 0, 0, 1], 8080))?;
    ///     async_io::block_on(asynchronous::serve(&app, &listener))
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of the tool. -32601 if the request is no call of these tools: see
    /// [`target`](Self::target).
    pub async fn call_tool<H: ToolHandler>(self, handler: &Mutex<H>) -> HandlerResult {
        let request = self.request();
        let call = read::<CallOf<'_, H::Tools>>(&request)?;
        // State that a panic has left half changed is up to the handler.
        let mut handler = handler.lock().unwrap_or_else(PoisonError::into_inner);
        let result = handler.call(call, ToolContext::new(&request, &self));
        drop(handler);
        result.into_reply(&request)
    }

    /// Calls a tool that takes time. Several calls may run at once.
    ///
    /// The future is not `Send`, because a [`ToolContext`] is the same type in every adapter. Spawn
    /// the connection on a local executor, or one application on each thread.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub async fn call_async_tool<H: AsyncToolHandler>(self, handler: &H) -> HandlerResult {
        let request = self.request();
        let call = read::<CallOf<'_, H::Tools>>(&request)?;
        handler.call(call, ToolContext::new(&request, &self)).await.into_reply(&request)
    }
}

fn read<'a, T: Tools<'a>>(request: &Request<'a>) -> Result<T, ToolError<'static>> {
    match T::from_request(request) {
        Some(call) => call.map_err(|faults| ToolError::from(faults).into_owned()),
        None => Err(method_not_found()),
    }
}
