//! The handler of an [`App`], and the changes of its catalog.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Waker;

use mcp_sansio::{
    Catalog, Instant, OwnedCatalog, Request, RequestHandle, ResponseKind, RpcError, ServerEvent,
    Target,
};

use super::app::Part;
use super::{App, Context, Error, Handler, RequestContext};
use crate::lock::lock;
use crate::observer::{
    Disconnect, Ended, Event, Hooks, ObservedConnection, ObservedRequest, Refusal, Transport,
};
use crate::shared_catalog::Listener;
use crate::{CatalogSource, SharedCatalog};

pub(super) struct OnRequest<'c, F> {
    app: App<'c>,
    on_request: F,
    pub(super) observation: Option<Observation<'c>>,
    /// A catalog that does not change, as it responds before the function is called.
    before: Option<Catalog<'c>>,
    /// Of a catalog that changes.
    changes: Option<Arc<Changes>>,
}

impl<'c, F> OnRequest<'c, F> {
    pub(super) fn new(app: App<'c>, on_request: F, observation: Option<Observation<'c>>) -> Self {
        let (before, changes) = match &app.catalog {
            Some(CatalogSource::Constant(catalog)) => (Some(catalog.checked_when_read()), None),
            Some(CatalogSource::Shared(catalog)) => (None, Some(Changes::of(catalog))),
            None => (None, None),
        };
        Self { app, on_request, observation, before, changes }
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
        if let Some(changes) = &self.changes {
            changes.set_waker(waker()?);
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<Instant> {
        let is_due = !self.changes.as_ref()?.is_empty();
        is_due.then_some(Instant::from_millis(0))
    }

    fn on_timer(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let Some(changes) = &self.changes else { return Ok(()) };
        let Some(told) = changes.told().take() else { return Ok(()) };
        let now = changes.catalog.snapshot();
        now.changes_since(&told).try_for_each(|change| ctx.publish(change))
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
        Some(CatalogSource::Shared(catalog)) => {
            snapshot = catalog.snapshot();
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
        observed: Part(observed),
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

/// Changes that the client has not been told of.
struct Changes {
    catalog: SharedCatalog,
    /// The catalog as the client knows it, if it has changed since.
    told: Mutex<Option<Arc<OwnedCatalog>>>,
    waker: OnceLock<Waker>,
}

impl Changes {
    pub(super) fn of(catalog: &SharedCatalog) -> Arc<Self> {
        let (told, waker) = <(Mutex<_>, OnceLock<_>)>::default();
        let changes = Arc::new(Self { catalog: catalog.clone(), told, waker });
        catalog.listen(Arc::<Self>::downgrade(&changes));
        changes
    }

    /// Sets the waker of the server, once.
    pub(super) fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told().is_none()
    }

    fn told(&self) -> MutexGuard<'_, Option<Arc<OwnedCatalog>>> {
        lock(&self.told)
    }
}

impl Listener for Changes {
    fn changed(&self, before: &Arc<OwnedCatalog>, _: &OwnedCatalog) {
        self.told().get_or_insert_with(|| Arc::clone(before));
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}
