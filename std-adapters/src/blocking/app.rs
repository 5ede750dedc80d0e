//! A server made of a configuration, a catalog and one function.

use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, thread};

use mcp_sansio::typed::Tools;
use mcp_sansio::{
    Catalog, Encode, Outcome as _, Progress, Request, RpcError, ServerConfig, Target,
};

use super::on_request::{Observation, OnRequest};
use super::{Context, Error, Handler, Input, Memory, run, serve_stdio};
use crate::CatalogSource;
use crate::KeyRing;
use crate::observer::{Disconnect, Hooks, ObservedRequest, Observer, Transport, Watching};

/// A server made of a configuration, a catalog and one function that responds to requests, one
/// after the other.
///
/// ```no_run
/// use mcp_sansio::types::{Implementation, TextResult, Tool};
/// use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
/// use mcp_sansio_adapters::blocking::{App, Error};
///
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("clock", "0.1.0"), ServerFeatures::TOOLS);
/// static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new("time", SCHEMA)]);
/// const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
///
/// fn main() -> Result<(), Error> {
///     App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.respond(&TextResult::new("noon")))
/// }
/// ```
///
/// `RequestContext::call_tool` serves tools that are types.
///
/// Applications that need other events, timers or concurrent requests implement [`Handler`] and
/// call [`serve`](super::serve).
#[derive(Clone, Debug)]
#[must_use = "an application does nothing until it is served: call `serve`"]
pub struct App<'c> {
    config: &'c ServerConfig<'c>,
    pub(super) catalog: Option<CatalogSource<'c>>,
    pub(super) keys: Option<KeyRing>,
    observer: Part<Arc<dyn Observer + 'c>>,
    watch: Option<Duration>,
}

/// A part of an [`App`] that may be missing, and is not written by `Debug`.
#[derive(Clone, Copy)]
pub(super) struct Part<T>(pub(super) Option<T>);

impl<T> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Part").field(&self.0.is_some()).finish()
    }
}

impl<'c> App<'c> {
    /// Creates an application without a catalog.
    pub const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self { config, catalog: None, keys: None, observer: Part(None), watch: None }
    }

    /// Sets the catalog, which responds to list requests, unknown names and invalid arguments: a
    /// `Catalog`, or a [`SharedCatalog`](crate::SharedCatalog) that changes. Without one, the
    /// function is called for every request, with [`Target::Other`].
    ///
    /// The arguments of the tools of an enum (`Catalog::calls`) are checked when the function asks
    /// for them.
    pub fn catalog(self, catalog: impl Into<CatalogSource<'c>>) -> Self {
        Self { catalog: Some(catalog.into()), ..self }
    }

    /// Sets the keys that seal the state which clients keep while they are asked for input
    /// (2026-07-28, basic/patterns/mrtr). Default: a key that the process draws, so a state is of
    /// no use to the next process.
    pub fn key_ring(self, keys: KeyRing) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Tells an observer of requests and their ends, of failures and of the connection. It may be a
    /// reference to one.
    pub fn observer(self, observer: impl Observer + 'c) -> Self {
        Self { observer: Part(Some(Arc::new(observer))), ..self }
    }

    /// Tells the observer of a request whose function runs for longer than this
    /// ([`Event::Stalled`](crate::observer::Event::Stalled)), for example
    /// [`STALLED`](crate::observer::STALLED): other messages wait meanwhile. It starts one thread
    /// for as long as the application serves. Not in [memory](Self::memory).
    pub fn watch(self, limit: Duration) -> Self {
        Self { watch: Some(limit), ..self }
    }

    /// Serves standard input and output until the input ends, see [`serve`](super::serve).
    /// `on_request` is called for each request that the catalog does not respond to. If it returns
    /// without a response, the request gets an internal error (-32603).
    ///
    /// # Errors
    /// Errors of reading and of writing, and those that `on_request` returns.
    pub fn serve<F>(self, on_request: F) -> Result<(), Error>
    where
        F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
    {
        let config = self.config;
        self.observed(Transport::Stdio, on_request, |handler| serve_stdio(config, handler))
    }

    /// Serves any input and output until the input ends, see [`serve_on`](super::serve_on).
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn serve_on<F>(
        self,
        input: impl Input,
        output: impl Write,
        on_request: F,
    ) -> Result<(), Error>
    where
        F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
    {
        let config = self.config;
        self.observed(Transport::Stream, on_request, |handler| run(config, input, output, handler))
    }

    /// Serves, and tells the observer of it.
    fn observed<F>(
        self,
        transport: Transport,
        on_request: F,
        serve: impl FnOnce(&mut OnRequest<'_, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(observer) = self.observer.0.clone() else {
            return serve(&mut OnRequest::new(self, on_request, None));
        };
        thread::scope(|scope| {
            let watch = self.watch.map(Watching::new).map(Arc::new);
            if let Some(watch) = &watch {
                Watching::thread().spawn_scoped(scope, watch.task(Arc::clone(&observer)))?;
            }
            let observation = Observation::new(Hooks { observer, watch, peer: None }, transport);
            let observation = Some(observation);
            let mut handler = OnRequest::new(self, on_request, observation);
            let served = serve(&mut handler);
            if let (Err(error), Some(observation)) = (&served, &mut handler.observation) {
                observation.disconnected(Disconnect::Failed(error));
            }
            served
        })
    }
}

impl<'c> App<'c> {
    /// Makes a server in the memory of its client, for tests: see [`Memory`].
    pub fn memory<F>(&self, on_request: F) -> Memory<'c, impl Handler + Send + use<'c, F>>
    where
        F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error> + Send + 'c,
    {
        let observer = self.observer.0.clone();
        let hooks = observer.map(|observer| Hooks { observer, watch: None, peer: None });
        let observation = hooks.map(|hooks| Observation::new(hooks, Transport::Memory));
        Memory::new(self.config, OnRequest::new(self.clone(), on_request, observation))
    }
}

/// A request and the connection it came on. Handed to the function of an [`App`].
#[derive(Debug)]
pub struct RequestContext<'r, 's> {
    pub(super) request: &'r Request<'r>,
    pub(super) target: Target<'r>,
    /// The catalog, until the arguments are known to be valid.
    pub(super) unread: Cell<Option<&'r Catalog<'r>>>,
    pub(super) keys: Option<&'r KeyRing>,
    pub(super) observed: Part<&'r ObservedRequest<'r>>,
    pub(super) connection: &'r mut Context<'s>,
}

impl<'r, 's> RequestContext<'r, 's> {
    /// Returns the entry of the catalog that the request is for.
    pub const fn target(&self) -> Target<'r> {
        self.target
    }

    /// Returns the request, whose arguments are valid.
    ///
    /// # Errors
    /// [`Error::InvalidArguments`]: return it, and the catalog refuses the call.
    pub fn request(&self) -> Result<&'r Request<'r>, Error> {
        if let Some(catalog) = self.unread.get() {
            let checked = catalog.check_unread(&self.target, self.request);
            checked.map_err(|_| Error::InvalidArguments)?;
            self.unread.set(None);
        }
        Ok(self.request)
    }

    /// Reads the call of a tool. Returns `None` if the request is for none of these tools.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn call<T: Tools<'r>>(&self) -> Result<Option<T>, Error> {
        let call = T::from_request(self.request).transpose();
        let call = call.map_err(|_| Error::InvalidArguments)?;
        if call.is_some() {
            self.unread.set(None);
        }
        Ok(call)
    }

    /// Sends the result, see [`Server::respond`](mcp_sansio::Server::respond). In debug builds, a
    /// tool's result that breaks its output schema is sent as an error:
    /// [`Entry::check_result`](mcp_sansio::Entry::check_result).
    ///
    /// # Errors
    /// See [`Context`]; as [`request`](Self::request).
    pub fn respond<T: Encode + ?Sized>(&mut self, result: &T) -> Result<(), Error> {
        let request = self.request()?;
        if cfg!(debug_assertions)
            && let Target::Tool(tool) = self.target
            && let Err(error) = tool.check_result(result, request.revision)
        {
            if let Some(observed) = self.observed.0 {
                observed.failed(&error);
            }
            return self.connection.send(|server, tx| error.send(server, request.handle, tx));
        }
        self.connection.respond(request.handle, result)?;
        if let Some(observed) = self.observed.0 {
            observed.sent(request, result);
        }
        Ok(())
    }

    /// Sends an error as the response.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_error(&mut self, error: &RpcError<'_>) -> Result<(), Error> {
        self.connection.respond_error(self.request.handle, error)
    }

    /// Sends a progress notification at once, if the client has asked for them.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn progress(&mut self, progress: &Progress<'_>) -> Result<(), Error> {
        self.connection.progress(self.request.handle, progress).map(|_| ())
    }

    /// Returns the connection, for everything else.
    pub const fn connection(&mut self) -> &mut Context<'s> {
        self.connection
    }
}
