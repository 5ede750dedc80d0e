//! A server made of a configuration, a catalog and one function.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::mem::replace;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use mcp_sansio::typed::Tools;
use mcp_sansio::{
    Catalog, Encode, Instant, Outcome as _, OwnedCatalog, Progress, Request, RequestHandle,
    ResponseKind, RpcError, ServerConfig, ServerEvent, Target,
};

use super::{Context, Error, Handler, Input, Memory, run, serve_stdio};
use crate::observer::{
    Disconnect, Ended, Event, Hooks, ObservedConnection, ObservedRequest, Observer, Refusal,
    Transport, Watching,
};
use crate::shared_catalog::Listener;
use crate::{CatalogSource, KeyRing, SharedCatalog};

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
#[derive(Clone)]
#[must_use = "an application does nothing until it is served: call `serve`"]
pub struct App<'c> {
    config: &'c ServerConfig<'c>,
    pub(super) catalog: Option<CatalogSource<'c>>,
    pub(super) keys: Option<KeyRing>,
    observer: Option<Arc<dyn Observer + 'c>>,
    watch: Option<Duration>,
}

mcp_sansio::opaque_debug!(App<'_> { config, catalog, keys, watch });

impl<'c> App<'c> {
    /// Creates an application without a catalog.
    pub const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self { config, catalog: None, keys: None, observer: None, watch: None }
    }

    /// Sets the catalog, which responds to list requests, unknown names and invalid arguments: a
    /// `Catalog`, or a [`SharedCatalog`](crate::SharedCatalog) that changes. Without one, the
    /// function is called for every request, with [`Target::Other`].
    ///
    /// The arguments of the tools of an enum (`Catalog::tools_of`) are checked when the function
    /// asks for them.
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
        Self { observer: Some(Arc::new(observer)), ..self }
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
        let Some(observer) = self.observer.clone() else {
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

    /// Makes a server in the memory of its client, for tests: see [`Memory`].
    pub fn memory<F>(&self, on_request: F) -> Memory<'c, impl Handler + Send + use<'c, F>>
    where
        F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error> + Send + 'c,
    {
        let observer = self.observer.clone();
        let hooks = observer.map(|observer| Hooks { observer, watch: None, peer: None });
        let observation = hooks.map(|hooks| Observation::new(hooks, Transport::Memory));
        Memory::new(self.config, OnRequest::new(self.clone(), on_request, observation))
    }
}

/// A request and the connection it came on. Handed to the function of an [`App`].
pub struct RequestContext<'r, 's> {
    pub(super) request: &'r Request<'r>,
    pub(super) target: Target<'r>,
    /// The catalog, until the arguments are known to be valid.
    pub(super) unread: Cell<Option<&'r Catalog<'r>>>,
    pub(super) keys: Option<&'r KeyRing>,
    pub(super) observed: Option<&'r ObservedRequest<'r>>,
    pub(super) connection: &'r mut Context<'s>,
}

mcp_sansio::opaque_debug!(RequestContext<'_, '_> { request, target, connection });

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
            if let Some(observed) = self.observed {
                observed.failed(&error);
            }
            return self.connection.send(|server, tx| error.send(server, request.handle, tx));
        }
        self.connection.respond(request.handle, result)?;
        if let Some(observed) = self.observed {
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

// The handler of an [`App`], and the changes of its catalog.

pub(super) struct OnRequest<'c, F> {
    app: App<'c>,
    on_request: F,
    pub(super) observation: Option<Observation<'c>>,
    /// A catalog that does not change, as it responds before the function is called.
    before: Option<Catalog<'c>>,
    changing: Option<Changing>,
}

impl<'c, F> OnRequest<'c, F> {
    pub(super) fn new(app: App<'c>, on_request: F, observation: Option<Observation<'c>>) -> Self {
        let (before, changing) = match &app.catalog {
            Some(CatalogSource::Constant(catalog)) => (Some(catalog.checked_when_read()), None),
            Some(CatalogSource::Shared(catalog)) => (None, Some(Changing::of(catalog))),
            None => (None, None),
        };
        Self { app, on_request, observation, before, changing }
    }
}

/// A connection that is observed, with its requests.
pub(super) struct Observation<'o> {
    /// Dropped before the connection.
    requests: HashMap<RequestHandle, Arc<ObservedRequest<'o>>>,
    connection: ObservedConnection<'o>,
}

impl<'o> Observation<'o> {
    pub(super) fn new(hooks: Hooks<'o>, transport: Transport) -> Self {
        Self { requests: HashMap::new(), connection: ObservedConnection::new(hooks, transport) }
    }

    /// Returns the request, which began now or waited for input.
    fn began(&mut self, request: &Request<'_>, ctx: &mut Context<'_>) -> Arc<ObservedRequest<'o>> {
        let ObservedConnection { hooks, number, .. } = &self.connection;
        let observed = self.requests.entry(request.handle).or_insert_with(|| {
            let id = ctx.server().request_id(request.handle);
            let observed = hooks.request(*number, id, request, (None, None));
            observed.began();
            Arc::new(observed)
        });
        Arc::clone(observed)
    }

    pub(super) fn disconnected(&mut self, how: Disconnect<'_>) {
        self.requests.clear();
        self.connection.disconnected(how);
    }

    fn ended(&mut self, request: RequestHandle, how: Ended) {
        if let Some(request) = self.requests.remove(&request) {
            request.ended(how);
        }
    }

    /// Reports events other than requests.
    fn event(&mut self, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::RequestCancelled { request, .. } => self.ended(*request, Ended::Cancelled),
            ServerEvent::RequestTimedOut { request } => self.ended(*request, Ended::TimedOut),
            ServerEvent::Violation(found) => {
                let ObservedConnection { hooks, number, .. } = &self.connection;
                let place = found.place().map(|place| place.to_string());
                hooks.tell(Event::Refused {
                    connection: *number,
                    peer: None,
                    why: Refusal::from(found.violation),
                    place: place.as_deref(),
                });
            }
            _ => {}
        }
    }
}

impl<F> Handler for OnRequest<'_, F>
where
    F: FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
{
    fn on_start(&mut self, waker: &mut dyn FnMut() -> io::Result<Waker>) -> Result<(), Error> {
        if let Some(changing) = &self.changing {
            let _ = changing.waker.0.set(waker()?);
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<Instant> {
        let Changing { catalog, told, .. } = self.changing.as_ref()?;
        let is_due = !Arc::ptr_eq(&catalog.snapshot(), told);
        is_due.then_some(Instant::from_millis(0))
    }

    fn on_timer(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let Some(Changing { catalog, told, .. }) = &mut self.changing else { return Ok(()) };
        let now = catalog.snapshot();
        let before = replace(told, Arc::clone(&now));
        now.changes_since(&before).try_for_each(|change| ctx.publish(change))
    }

    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        let Self { app, on_request, observation, before, .. } = self;
        let mut respond = |request: &Request<'_>, observed, ctx: &mut Context<'_>| {
            respond(app, before.as_ref(), on_request, request, observed, ctx)
        };
        match (event, observation) {
            (ServerEvent::Request(request), None) => respond(&request, None, ctx),
            (ServerEvent::Request(request), Some(observation)) => {
                let observed = observation.began(&request, ctx);
                match observed.run(|| respond(&request, Some(&observed), ctx)) {
                    Ok(done) => {
                        if !ctx.server().is_request_open(request.handle) {
                            observed.responded(ctx.server().response_kind(request.handle));
                            observation.requests.remove(&request.handle);
                        }
                        done
                    }
                    Err(panic) => {
                        observed.panicked(&panic);
                        observation.requests.remove(&request.handle);
                        resume_unwind(Box::new(panic.0))
                    }
                }
            }
            (event, Some(observation)) => {
                observation.event(&event);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Responds to a request: by the catalog, or by the function of the application.
fn respond(
    app: &App<'_>,
    before: Option<&Catalog<'_>>,
    on_request: &mut impl FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error>,
    request: &Request<'_>,
    observed: Option<&ObservedRequest<'_>>,
    ctx: &mut Context<'_>,
) -> Result<(), Error> {
    let (snapshot, changing);
    let catalog = match &app.catalog {
        None => None,
        Some(CatalogSource::Constant(catalog)) => Some(*catalog),
        Some(source) => {
            snapshot = source.snapshot();
            changing = snapshot.catalog();
            Some(&changing)
        }
    };
    let target = match (before, catalog) {
        (Some(catalog), _) => ctx.respond_from(catalog, request)?,
        (None, Some(catalog)) => ctx.respond_from(&catalog.checked_when_read(), request)?,
        (None, None) => Target::Other,
    };
    let responded = |catalog: &Catalog<'_>, ctx: &mut Context<'_>| {
        if let Some(observed) = observed
            && ctx.server().response_kind(request.handle) != ResponseKind::Result
        {
            observed.refused_by(catalog, request);
        }
    };
    if let (Target::Responded, Some(catalog)) = (target, catalog) {
        responded(catalog, ctx);
        return Ok(());
    }
    let mut context = RequestContext {
        request,
        target,
        unread: Cell::new(catalog),
        keys: app.keys.as_ref(),
        observed,
        connection: ctx,
    };
    match on_request(&mut context) {
        Ok(()) | Err(Error::InvalidArguments) => {}
        Err(error) => return Err(error),
    }
    if ctx.asking.is_waiting(request.handle) || !ctx.server().is_request_open(request.handle) {
        return Ok(());
    }
    // The function may have got no arguments, because they are invalid.
    if let Some(catalog) = catalog
        && matches!(ctx.respond_from(catalog, request)?, Target::Responded)
    {
        responded(catalog, ctx);
        return Ok(());
    }
    // Nothing would respond to it later.
    let error = RpcError::internal(match catalog {
        Some(_) => "The application sent no response",
        None => "The application sent no response, and there is no catalog: App::catalog",
    });
    if let Some(observed) = observed {
        observed.because(&error.message);
    }
    ctx.respond_error(request.handle, &error)
}

/// A catalog that changes. What its updates say of themselves is not used: those of two threads may
/// come in another order than they were made.
struct Changing {
    catalog: SharedCatalog,
    /// The catalog as the client knows it.
    told: Arc<OwnedCatalog>,
    waker: Arc<ServerWaker>,
}

impl Changing {
    fn of(catalog: &SharedCatalog) -> Self {
        let waker = Arc::<ServerWaker>::default();
        catalog.listen(Arc::<ServerWaker>::downgrade(&waker));
        Self { catalog: catalog.clone(), told: catalog.snapshot(), waker }
    }
}

/// Wakes the server that waits for input.
#[derive(Default)]
struct ServerWaker(OnceLock<Waker>);

impl Listener for ServerWaker {
    fn changed(&self, _: &Arc<OwnedCatalog>, _: &OwnedCatalog) {
        if let Some(waker) = self.0.get() {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Weak;
    use std::sync::atomic::{AtomicBool, Ordering};

    use mcp_sansio::types::{Implementation, Prompt, Tool};
    use mcp_sansio::{RawJson, ServerFeatures};

    use super::*;

    static CONFIG: ServerConfig<'_> = ServerConfig::new(
        Implementation::new("server", "1"),
        ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::PROMPTS_LIST_CHANGED),
    );

    /// Changes the catalog again before the server is told of the first change.
    struct Faster(SharedCatalog, AtomicBool);

    impl Listener for Faster {
        fn changed(&self, _: &Arc<OwnedCatalog>, _: &OwnedCatalog) {
            if !self.1.swap(true, Ordering::Relaxed) {
                self.0.update(|prompts| prompts.add(Prompt::new("second"))).unwrap();
            }
        }
    }

    /// A client that listens. The catalog changes while the server waits for its second message,
    /// which is the end.
    struct Client {
        sends: &'static [u8],
        catalog: Option<SharedCatalog>,
    }

    impl Read for Client {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.sends.read(buffer)
        }
    }

    impl Input for Client {
        fn wait(&mut self, _: Option<Duration>) -> io::Result<bool> {
            if self.sends.is_empty()
                && let Some(catalog) = self.catalog.take()
            {
                let first = Tool::new("first", RawJson::from_static(r#"{"type":"object"}"#));
                catalog.update(|tools| tools.add(first)).unwrap();
                return Ok(false);
            }
            Ok(true)
        }
    }

    #[test]
    fn updates_of_two_threads_are_all_told_in_whatever_order_they_come() {
        let catalog = SharedCatalog::new(&Catalog::new());
        let faster: Arc<dyn Listener> = Arc::new(Faster(catalog.clone(), AtomicBool::new(false)));
        catalog.listen(Arc::downgrade(&faster) as Weak<_>);
        let client = Client {
            sends: concat!(
                r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientCapabilities":{}},"#,
                r#""notifications":{"toolsListChanged":true,"promptsListChanged":true}}}"#,
                "\n"
            )
            .as_bytes(),
            catalog: Some(catalog.clone()),
        };
        let mut output = Vec::new();
        App::new(&CONFIG).catalog(&catalog).serve_on(client, &mut output, |_| Ok(())).unwrap();
        let lines = String::from_utf8(output).unwrap();
        for list in ["tools", "prompts"] {
            let told = format!("notifications/{list}/list_changed");
            assert_eq!(lines.matches(&told).count(), 1, "{lines}");
        }
    }
}
