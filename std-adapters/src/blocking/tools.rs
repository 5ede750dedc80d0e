//! Calls of tools that are types.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Wake, Waker};
use std::thread::{self, Thread};

use mcp_sansio::internal::typed::{checked, read_found};
use mcp_sansio::typed::{AsyncToolHandler, CallOf, SyncTools, ToolHandler, Tools as _};
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    ClientRequest, InvalidPayload, Link, OrToolError as _, Outcome as _, OwnedJson, Request,
    RpcError, SendError, Spare, Target, ToolContext, ToolError, TurnLink,
};
use mcp_sansio_engine::internal::AskedInput;

use super::{Context, Error, RequestContext, write_all};
use crate::KeyRing;
use crate::observer::ObservedRequest;
use crate::rounds::{Round, send_input_required, state_seal};

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
    /// fn main() -> Result<(), Error> {
    ///     let mut counter = Counter(0);
    ///     App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.call_tool(&mut counter))
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_tool<H: ToolHandler>(&mut self, handler: &mut H) -> Result<(), Error> {
        let handler = SyncTools::new(handler);
        let Self { request, target, keys, observed, .. } = self;
        self.connection.run_tool(request, target, &handler, *keys, *observed, Waker::noop())
    }

    /// Calls a tool that takes time: see [`Context::call_async_tool`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_async_tool<H: AsyncToolHandler>(&mut self, handler: &H) -> Result<(), Error> {
        let Self { request, target, keys, observed, .. } = self;
        self.connection.run_tool(request, target, handler, *keys, *observed, &Unpark::waker())
    }
}

impl Context<'_> {
    /// Calls a tool, if the request is a valid call of one, and sends the result. Responds to
    /// invalid arguments, and does nothing for other requests, which a catalog has responded to or
    /// found the [`Target`](mcp_sansio::Target) of.
    ///
    /// If the tool requests input, other messages are handled until the client has responded. Then
    /// [`Handler::on_event`](super::Handler::on_event) is called with the request once more, for
    /// the next round; a client of 2026-07-28 sends it again itself.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_tool<H: ToolHandler>(
        &mut self,
        request: &Request<'_>,
        handler: &mut H,
    ) -> Result<(), Error> {
        let handler = SyncTools::new(handler);
        self.run_tool(request, &Target::Other, &handler, None, None, Waker::noop())
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. The thread sleeps while the
    /// tool waits for anything but input, and other messages wait meanwhile, also those that cancel
    /// the call.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_async_tool<H: AsyncToolHandler>(
        &mut self,
        request: &Request<'_>,
        handler: &H,
    ) -> Result<(), Error> {
        self.run_tool(request, &Target::Other, handler, None, None, &Unpark::waker())
    }

    pub(super) fn run_tool<H: AsyncToolHandler>(
        &mut self,
        request: &Request<'_>,
        target: &Target<'_>,
        handler: &H,
        keys: Option<&KeyRing>,
        observed: Option<&ObservedRequest<'_>>,
        waker: &Waker,
    ) -> Result<(), Error> {
        let handle = request.handle;
        let mut round = match self.asking.take_round(handle) {
            Some(round) => round,
            None => match Round::of(request, || state_seal(keys, None)) {
                Ok(round) => round,
                Err(why) => return self.respond_error(handle, &RpcError::invalid_params(why)),
            },
        };
        while self.attempt(request, target, handler, &round, observed, waker)? {
            if request.revision.is_modern() {
                let finished = round.finish(request, || state_seal(keys, None));
                let Some((missing, state)) = finished else {
                    return self.respond_error(handle, &CANNOT_ASK);
                };
                let sent = self.send(|server, tx| {
                    send_input_required(server, handle, &missing, state.as_deref(), tx)
                });
                return match sent {
                    Err(Error::NotSent(_)) => self.respond_error(handle, &CANNOT_ASK),
                    sent => sent,
                };
            }
            let missing = round.take_missing();
            if missing.is_empty() {
                return self.respond_error(handle, &CANNOT_ASK);
            }
            round = match self.ask(request, round, missing)? {
                Some(next) => next,
                None => return Ok(()),
            };
        }
        self.limit_pending()
    }

    /// Calls a tool once and sends the result. Returns whether it requires input first.
    fn attempt<H: AsyncToolHandler>(
        &mut self,
        request: &Request<'_>,
        target: &Target<'_>,
        handler: &H,
        round: &Round,
        observed: Option<&ObservedRequest<'_>>,
        waker: &Waker,
    ) -> Result<bool, Error> {
        let handle = request.handle;
        let found = match target {
            Target::Tool(tool) => read_found::<CallOf<H::Tools>>(tool, request),
            _ => None,
        };
        let call = match found.or_else(|| CallOf::<H::Tools>::from_request(request)) {
            Some(Ok(call)) => call,
            Some(Err(faults)) => {
                let error = ToolError::from(faults);
                if let Some(observed) = observed {
                    observed.failed(&error);
                }
                self.send(|server, tx| error.send(server, handle, tx))?;
                return Ok(false);
            }
            None => return Ok(false),
        };
        let pump = |bytes: &[u8], _: &mut Spare<'_>| write_all(&mut *self.output, bytes);
        let link = TurnLink::new(self.turn, pump, self.clock);
        let mut future =
            pin!(handler.call(call, ToolContext::<dyn Link>::new(request, &link).inputs(round)));
        let result = loop {
            match future.as_mut().poll(&mut task::Context::from_waker(waker)) {
                Poll::Ready(result) => break result,
                Poll::Pending => thread::park(),
            }
        };
        let is_input_required = result.as_ref().is_err_and(ToolError::is_input_required);
        if !is_input_required {
            let result = checked::<H::Tools, _>(request, result);
            if let (Some(observed), Err(error)) = (observed, &result) {
                observed.failed(error);
            }
            link.respond(handle, &result)?;
        }
        Ok(is_input_required)
    }

    /// Sends the input requests. Returns the next round at once if none of them can be sent.
    fn ask(
        &mut self,
        request: &Request<'_>,
        round: Round,
        missing: Vec<(String, OwnedJson)>,
    ) -> Result<Option<Round>, Error> {
        let now = self.now();
        let mut inputs = Vec::new();
        for (key, input_request) in missing {
            let sent = match input_request.to::<InputRequest<'_>>() {
                Ok(input_request) => self.send(|server, tx| {
                    let call = ClientRequest::from(&input_request).parent(request.handle);
                    server.request(now, call, tx)
                }),
                Err(_) => Err(SendError::Invalid(InvalidPayload::Serialize).into()),
            };
            let input = match sent {
                Ok(call) => AskedInput::Open(call),
                Err(Error::NotSent(error)) => {
                    let why = format!("Input request cannot be sent: {error}");
                    AskedInput::Done(Err(why).or_input_response())
                }
                Err(error) => return Err(error),
            };
            inputs.push((key, input));
        }
        Ok(self.asking.begin(request, round, inputs))
    }
}

/// The error for a tool that ends as if it required input, or cannot.
const CANNOT_ASK: RpcError<'static> = RpcError::internal("The response cannot be sent");

/// Wakes the thread of a connection.
struct Unpark(Thread);

impl Unpark {
    fn waker() -> Waker {
        Arc::new(Self(thread::current())).into()
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
