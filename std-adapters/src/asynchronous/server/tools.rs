//! Calls of tools that are types.

use std::future::poll_fn;
use std::mem::take;
use std::sync::Mutex;
use std::task::{self, Poll};

use mcp_sansio::typed::{AsyncToolHandler, CallOf, ToolHandler, Tools};
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    InputLink as _, Link, OrToolError as _, OwnedJson, Request, ToolContext, ToolError,
};
use mcp_sansio_engine::internal::Response;

use super::context::Context;
use super::reply::{HandlerResult, IntoReply as _};
use crate::lock::lock;
use crate::rounds::Round;

impl Context {
    /// Reads the call of a tool.
    ///
    /// # Errors
    /// The arguments are invalid. -32601 if the request is no call of these tools: see
    /// [`target`](Self::target). Use `?` for both.
    pub fn call<'c, T: Tools<'c>>(&'c self) -> Result<T, ToolError<'static>> {
        self.active.call()
    }

    /// Calls a tool that returns its result at once. The lock is held meanwhile, but never across
    /// an await. A tool that requests input is called again once there is a response, whatever the
    /// revision.
    ///
    #[cfg_attr(feature = "smol", doc = "```no_run")]
    #[cfg_attr(not(feature = "smol"), doc = "```ignore")]
    /// use std::sync::Mutex;
    ///
    /// use mcp_sansio::typed::{ToolHandler, Tools};
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
    /// use mcp_sansio_adapters::asynchronous::{self, App};
    ///
    /// static CONFIG: ServerConfig =
    ///     ServerConfig::new(Implementation::new("counter", "0.1.0"), ServerFeatures::TOOLS);
    /// static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
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
        let request = self.unread_request();
        let mut own_round: Option<Round> = None;
        // Input requests to an older client, and those of a task, go to the client one by one.
        let makes_rounds = || Link::task(&self).is_some() || !request.revision.is_modern();
        loop {
            let round = own_round.as_ref().unwrap_or(&self.active.round);
            let result = {
                let call = self.call::<CallOf<'_, H::Tools>>()?;
                let context = ToolContext::<dyn Link>::new(&request, &self).inputs(round);
                // State that a panic has left half changed is up to the handler.
                let mut handler = lock(handler);
                handler.call(call, context).into_reply(&request)
            };
            match result {
                Err(error) if error.is_input_required() && makes_rounds() => {
                    let missing = round.take_missing();
                    if missing.is_empty() {
                        return Err(error);
                    }
                    let responses = self.responses(&request, missing).await;
                    own_round = Some(round.next_round(responses));
                }
                result => return result,
            }
        }
    }

    /// Calls a tool that takes time. Several calls may run at once.
    ///
    /// The future is not `Send`, because a [`ToolContext`] is the same type in every adapter. Spawn
    /// the connection on a local executor, or one application on each thread.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub async fn call_async_tool<H: AsyncToolHandler>(self, handler: &H) -> HandlerResult {
        let request = self.unread_request();
        let call = self.call::<CallOf<'_, H::Tools>>()?;
        let context = ToolContext::<dyn Link>::new(&request, &self).inputs(&self);
        handler.call(call, context).await.into_reply(&request)
    }
}

impl Context {
    /// Sends input requests to an older client, and waits for its responses.
    async fn responses(
        &self,
        request: &Request<'_>,
        input_requests: Vec<(String, OwnedJson)>,
    ) -> Vec<(String, Response)> {
        let asked = |(key, input_request)| Asked {
            context: self,
            key,
            input_request,
            place: None,
            response: None,
        };
        let mut asked: Vec<Asked<'_>> = input_requests.into_iter().map(asked).collect();
        poll_fn(|cx| {
            let waiting = asked.iter_mut().filter(|asked| asked.response.is_none());
            match waiting.filter_map(|asked| asked.poll(request, cx)).count() {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
        let response = |asked: &mut Asked<'_>| Some((take(&mut asked.key), asked.response.take()?));
        asked.iter_mut().filter_map(response).collect()
    }
}

/// An input request that waits for its response. Dropping it withdraws the request.
struct Asked<'c> {
    context: &'c Context,
    key: String,
    input_request: OwnedJson,
    place: Option<u64>,
    response: Option<Response>,
}

impl Asked<'_> {
    /// Returns `Some` while there is no response.
    fn poll(&mut self, request: &Request<'_>, cx: &mut task::Context<'_>) -> Option<()> {
        let Self { context, key, input_request, place, response } = self;
        let polled = match input_request.to::<InputRequest<'_>>() {
            Ok(input_request) => context.poll_input(cx, request, key, &input_request, place),
            Err(error) => Poll::Ready(Err(error).or_internal()),
        };
        match polled {
            Poll::Ready(done) => *response = Some(done),
            Poll::Pending => return Some(()),
        }
        None
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.context.leave_input(place);
        }
    }
}
