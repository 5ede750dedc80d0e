//! Checks of a request before its handler gets it; the catalog responds to some. What it takes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mcp_sansio::{OwnedRequest, Request, ResponseKind, RpcError, Server, Target, TargetPlace, Tx};
use mcp_sansio_engine::site::Principal;

use super::app::Settings;
use super::context::{ActiveRequest, Origin, client_of, is_part, principal_of};
use super::driver_waker::DriverWaker;
#[cfg(feature = "http")]
use super::http::Held;
use super::life::Work;
use super::reply::PendingResponse;
use super::task_hub::{AboutTasks, TaskWork};
use crate::CatalogSource;
use crate::observer::{Ended, Hooks, ObservedRequest, Refusal};
use crate::panics::caught;
use crate::rounds::Round;
use crate::runtime::turns::{Turn, Turns};
use crate::shared_catalog::Snapshot;

/// Result of admitting a request: `response` has to be sent, a part of it may be written.
pub(crate) struct Admission<K> {
    pub(crate) response: Option<PendingResponse>,
    pub(crate) work: Option<Work<K>>,
}

impl<K> Admission<K> {
    /// Creates a response without a handler.
    fn without_handler(
        request: &Request<'_>,
        response: PendingResponse,
        observed: Option<Box<ObservedRequest<'static>>>,
        refused: Option<Refusal>,
    ) -> Self {
        let work = observed.map(|observed| {
            let how = match refused {
                Some(why) => Ended::Refused(why),
                None => {
                    response.error().iter().for_each(|error| observed.because(error));
                    response.kind(request.revision).into()
                }
            };
            Work::ended(observed, how)
        });
        Self { response: Some(response), work }
    }
}

impl Settings {
    /// Admits a request, or refuses it. `connection` is that of an observer, with its number.
    // Inlined, it copies what it is given: 100 instructions more for each call.
    #[inline(never)]
    pub(crate) fn admit<K>(
        &self,
        request: &Request<'_>,
        (key, origin): (K, Origin),
        server: &mut Server<'_>,
        tx: &mut Tx<'_>,
        slot: Result<Slot, Refused>,
        connection: Option<(&Hooks<'static>, u64)>,
    ) -> Admission<K> {
        let observed = connection.map(|(hooks, number)| {
            let id = server.request_id(request.handle);
            Box::new(hooks.request(number, id, request, client_of(&origin)))
        });
        let refused = |error, observed, why| {
            Admission::without_handler(request, PendingResponse::Refused(error), observed, why)
        };
        let slot = match slot {
            Ok(slot) => slot,
            Err((text, why)) => return refused(RpcError::internal(text), observed, Some(why)),
        };
        let client = || self.tasks.client(request, &origin, slot.connection());
        let (mut awaited, mut is_elsewhere) = (OnceLock::new(), false);
        let about = self.tasks.handle(request, client);
        let is_about_tasks = about.is_some();
        match about {
            None => {}
            Some(AboutTasks::Wait(task)) => awaited = OnceLock::from(task),
            Some(AboutTasks::Elsewhere) => is_elsewhere = true,
            Some(AboutTasks::Response(mut response)) => {
                if let PendingResponse::Listen(_, place) = &mut response {
                    *place = Some(slot);
                }
                return Admission::without_handler(request, response, observed, None);
            }
        }
        let (mut found, mut listed) = (None, None);
        let of = || if is_about_tasks { None } else { self.snapshot_for(principal_of(&origin)) };
        let snapshot = match caught(of) {
            Ok(snapshot) => snapshot,
            Err(panic) => {
                let told = observed.map(|observed| {
                    observed.because(&panic.0);
                    Work::ended(observed, Ended::Panicked)
                });
                return Admission { response: Some(PendingResponse::PANICKED), work: told };
            }
        };
        if snapshot.as_ref().is_some_and(|snapshot| is_part(snapshot, &origin)) {
            listed = snapshot;
        } else if let Some(snapshot) = snapshot {
            let catalog = snapshot.catalog().checked_when_read();
            let told = |observed: Option<Box<ObservedRequest<'static>>>, server: &Server<'_>| {
                let (observed, kind) = (observed?, server.response_kind(request.handle));
                if kind != ResponseKind::Result {
                    observed.refused_by(&catalog, request);
                }
                Some(Work::ended(observed, kind.into()))
            };
            match catalog.respond(server, request, tx) {
                Ok(Target::Responded) => {
                    return Admission { response: None, work: told(observed, server) };
                }
                Ok(target) => {
                    let place = catalog.place_of(&target);
                    found = Some(Found { snapshot, place });
                }
                Err(_) => {
                    let work = told(observed, server);
                    let request = Box::new(OwnedRequest::from(request));
                    let response = PendingResponse::FromCatalog { request, snapshot, _slot: slot };
                    return Admission { response: Some(response), work };
                }
            }
        }
        let task = match TaskWork::new(self, request, found.as_ref(), client, server) {
            Ok(task) => task,
            Err(error) => return refused(error, observed, None),
        };
        let round = match Round::of(request, || self.state_seal(&origin)) {
            Ok(round) => round,
            Err(why) => return refused(RpcError::invalid_params(why), observed, None),
        };
        let request = Arc::new(ActiveRequest {
            handle: request.handle,
            request: OwnedRequest::from(request),
            found,
            is_valid: AtomicBool::new(is_about_tasks),
            round,
            origin,
            observed,
            task,
            listed,
            awaited,
            is_elsewhere,
            slot,
        });
        Admission { response: None, work: Some(Work::Begin(key, request)) }
    }

    /// Returns whether an entry of a catalog has scopes, now or later.
    pub(crate) fn may_have_scopes(&self) -> bool {
        self.catalog_of.is_some()
            || match &self.catalog {
                Some(CatalogSource::Constant(catalog)) => catalog.has_scopes(),
                Some(CatalogSource::Shared(_)) => true,
                None => false,
            }
    }

    /// Returns the catalog for requests of this principal, which the application may choose.
    pub(crate) fn snapshot_for(&self, principal: Option<&Principal>) -> Option<Snapshot<'static>> {
        match (principal, &self.catalog_of) {
            (Some(principal), Some(choose)) => {
                let mut snapshot = choose(principal).snapshot();
                snapshot.is_chosen = true;
                Some(snapshot)
            }
            _ => self.catalog.as_ref().map(CatalogSource::snapshot),
        }
    }
}

/// What the requests of a connection, or of a session, take.
pub(crate) struct Load {
    /// Bytes of parameters.
    params: AtomicUsize,
    max_params: usize,
    /// Of handlers.
    running: Turns<()>,
}

/// Lets the handler of a request run, until it is dropped.
pub(crate) type Permit<'l> = Option<Turn<'l, ()>>;

impl Load {
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(Self {
            params: AtomicUsize::new(0),
            max_params: settings.limits.max_params,
            running: Turns::new(settings.limits.max_running),
        })
    }

    /// Returns whether the limit of parameters is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.params.load(Ordering::Acquire) >= self.max_params
    }
}

/// Why a request gets no place, as its client and an observer are told.
pub(crate) type Refused = (&'static str, Refusal);

pub(crate) const FULL: Refused = ("Too many requests in flight", Refusal::Limit);

/// The place of a request, for as long as the request is kept.
pub(crate) struct Slot {
    pub(crate) bytes: usize,
    /// `None` for a request without a connection or a session.
    load: Option<Arc<Load>>,
    /// What the request holds of its HTTP server.
    #[cfg(feature = "http")]
    pub(crate) held: Option<Held>,
    driver: Arc<DriverWaker>,
}

impl Slot {
    /// Takes the place of a request, unless that waits for others to end.
    pub(crate) fn take(
        request: &Request<'_>,
        server: &Server<'_>,
        load: Option<&Arc<Load>>,
        driver: &Arc<DriverWaker>,
    ) -> Result<Self, Refused> {
        let bytes = request.params.as_json().as_str().len();
        if let Some(load) = load {
            if load.is_full() && server.open_requests() > 1 {
                return Err(FULL);
            }
            load.params.fetch_add(bytes, Ordering::AcqRel);
        }
        Ok(Self {
            bytes,
            load: load.cloned(),
            #[cfg(feature = "http")]
            held: None,
            driver: Arc::clone(driver),
        })
    }

    /// Returns the number of the connection, or of the HTTP server.
    pub(crate) fn connection(&self) -> u64 {
        self.driver.number
    }

    /// Takes the turn of another handler for a response that waits for room.
    pub(crate) fn begin_waiting(&self) {
        self.load.iter().for_each(|load| load.running.take_at_once());
    }

    /// Gives that turn back.
    pub(crate) fn end_waiting(&self) {
        self.load.iter().for_each(|load| load.running.give_back());
    }

    /// Waits until the handler of the request may run: see
    /// [`Limits::max_running`](super::Limits::max_running).
    pub(crate) async fn permit(&self) -> Permit<'_> {
        match &self.load {
            Some(load) => Some(load.running.take(None).await),
            None => None,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // At the limit a request may be waiting.
        let is_awaited = self.load.as_ref().is_some_and(|load| {
            load.params.fetch_sub(self.bytes, Ordering::AcqRel) >= load.max_params
        });
        #[cfg(feature = "http")]
        let is_awaited = self.held.take().is_some_and(Held::give_back) || is_awaited;
        if is_awaited {
            self.driver.notify();
        }
    }
}

// The catalog of a request.

/// Chooses the catalog of a principal.
pub(crate) type CatalogOf = dyn Fn(&Principal) -> CatalogSource<'static> + Send + Sync;

/// The target of a request, with the catalog that has it.
pub(crate) struct Found {
    pub(crate) snapshot: Snapshot<'static>,
    place: TargetPlace,
}

impl Found {
    pub(crate) fn target(&self) -> Target<'_> {
        self.snapshot.catalog().target_at(self.place)
    }
}
