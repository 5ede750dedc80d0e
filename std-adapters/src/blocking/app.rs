//! A server made of a configuration, a catalog and one function.

use std::cell::Cell;
use std::fmt;
use std::io::Write;

#[cfg(feature = "derive")]
use mcp_sansio::typed::Tools;
use mcp_sansio::{
    Catalog, Encode, Outcome as _, Progress, RawJson, Request, RpcError, ServerConfig, ServerEvent,
    Target,
};

use super::{Context, Error, Handler, Input, Memory, StateProtector, serve, serve_on};

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
/// `RequestContext::call_tool` serves tools that are types (feature `derive`).
///
/// Applications that need other events, timers or concurrent requests implement [`Handler`] and
/// call [`serve`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct App<'c> {
    config: &'c ServerConfig<'c>,
    catalog: Option<&'c Catalog<'c>>,
    protector: Protector<'c>,
}

/// Protects the state of calls that request input.
#[derive(Clone, Copy, Default)]
pub(super) struct Protector<'c>(pub(super) Option<&'c dyn StateProtector>);

impl fmt::Debug for Protector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Protector").field(&self.0.is_some()).finish()
    }
}

impl<'c> App<'c> {
    /// Creates an application without a catalog.
    pub const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self { config, catalog: None, protector: Protector(None) }
    }

    /// Sets the catalog, which responds to list requests, unknown names and invalid arguments.
    /// Without one, the function is called for every request, with [`Target::Other`].
    ///
    /// The arguments of the tools of an enum (`Catalog::calls`) are checked when the function asks
    /// for them.
    pub const fn catalog(self, catalog: &'c Catalog<'c>) -> Self {
        Self { catalog: Some(catalog), ..self }
    }

    /// Protects the state that clients keep while they are asked for input (2026-07-28,
    /// basic/patterns/mrtr).
    pub const fn state_protector(self, protector: &'c dyn StateProtector) -> Self {
        Self { protector: Protector(Some(protector)), ..self }
    }

    /// Serves standard input and output until the input ends, see [`serve`]. `on_request` is called
    /// for each request that the catalog does not respond to. If it returns without a response, the
    /// request gets an internal error (-32603).
    ///
    /// # Errors
    /// Errors of reading and of writing, and those that `on_request` returns.
    pub fn serve<F>(self, on_request: F) -> Result<(), Error>
    where
        F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
    {
        serve(self.config, OnRequest { app: self, on_request })
    }

    /// Serves any input and output until the input ends, see [`serve_on`].
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
        serve_on(self.config, input, output, OnRequest { app: self, on_request })
    }
}

impl<'c> App<'c> {
    /// Makes a server in the memory of its client, for tests: see [`Memory`].
    pub fn memory<F>(self, on_request: F) -> Memory<'c, impl Handler + Send + use<'c, F>>
    where
        F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error> + Send + 'c,
    {
        Memory::new(self.config, OnRequest { app: self, on_request })
    }
}

/// A request and the connection it came on. Handed to the function of an [`App`].
#[derive(Debug)]
pub struct RequestContext<'r, 's> {
    pub(super) request: &'r Request<'r>,
    target: Target<'r>,
    /// The catalog, until the arguments are known to be valid.
    #[cfg_attr(not(feature = "derive"), allow(dead_code, reason = "only those of types"))]
    unread: Cell<Option<&'r Catalog<'r>>>,
    #[cfg_attr(not(feature = "derive"), allow(dead_code, reason = "only typed tools ask"))]
    pub(super) protector: Protector<'r>,
    pub(super) connection: &'r mut Context<'s>,
}

impl<'r, 's> RequestContext<'r, 's> {
    /// Returns the entry of the catalog that the request is for.
    #[must_use]
    pub const fn target(&self) -> Target<'r> {
        self.target
    }

    /// Returns the request, whose arguments are valid.
    ///
    /// # Errors
    /// [`Error::InvalidArguments`]: return it, and the catalog refuses the call.
    pub fn request(&self) -> Result<&'r Request<'r>, Error> {
        #[cfg(feature = "derive")]
        if let Some(catalog) = self.unread.get() {
            let checked = catalog.check_unread(&self.target, self.request);
            checked.map_err(|_| Error::InvalidArguments)?;
            self.unread.set(None);
        }
        Ok(self.request)
    }

    /// Returns an argument of a tool or a prompt by its name.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn argument(&self, name: &str) -> Result<Option<RawJson<'r>>, Error> {
        Ok(self.request()?.arguments().get(name))
    }

    /// Reads the call of a tool. Returns `None` if the request is for none of these tools.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    #[cfg(feature = "derive")]
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
            return self.connection.send(|server, tx| error.send(server, request.handle, tx));
        }
        self.connection.respond(request.handle, result)
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

/// The handler of an [`App`].
struct OnRequest<'c, F> {
    app: App<'c>,
    on_request: F,
}

impl<F> Handler for OnRequest<'_, F>
where
    F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
{
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        let ServerEvent::Request(request) = event else { return Ok(()) };
        let target = match self.app.catalog {
            #[cfg(feature = "derive")]
            Some(catalog) => ctx.respond_from(&catalog.checked_when_read(), &request)?,
            #[cfg(not(feature = "derive"))]
            Some(catalog) => ctx.respond_from(catalog, &request)?,
            None => Target::Other,
        };
        if matches!(target, Target::Responded) {
            return Ok(());
        }
        let mut context = RequestContext {
            request: &request,
            target,
            unread: Cell::new(self.app.catalog),
            protector: self.app.protector,
            connection: ctx,
        };
        match (self.on_request)(&mut context) {
            Ok(()) | Err(Error::InvalidArguments) => {}
            Err(error) => return Err(error),
        }
        if ctx.asking.is_waiting(request.handle) {
            return Ok(());
        }
        if !ctx.server().is_request_open(request.handle) {
            return Ok(());
        }
        // The function may have got none, because they are invalid.
        if let Some(catalog) = self.app.catalog {
            ctx.respond_from(catalog, &request)?;
        }
        // Nothing would respond to it later.
        if ctx.server().is_request_open(request.handle) {
            let error = RpcError::internal("The application sent no response");
            ctx.respond_error(request.handle, &error)?;
        }
        Ok(())
    }
}
