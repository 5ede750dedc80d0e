//! Checks of a request before its handler gets it; the catalog responds to some.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_sansio::{OwnedRequest, Request, RpcError, Server, Target, Tx};

use super::app::Settings;
use super::catalog::Found;
use super::context::{ActiveRequest, Origin, owner_text};
use super::driver_waker::DriverWaker;
#[cfg(feature = "http")]
use super::http::Held;
use super::kept::Kept;
use super::reply::PendingResponse;
use super::task_hub::{TaskAnswer, TaskClient, TaskWork};
use crate::observer::{ObservedRequest, Refusal, Telling};
use crate::panics::caught;
use crate::rounds::Round;

pub(crate) enum Admission {
    /// The catalog has responded. The observer has to be told.
    Responded(Option<Telling>),
    /// The response has to be sent; a part of it may be written.
    Response(PendingResponse, Option<Telling>),
    /// A handler is to be called.
    Handler(Arc<ActiveRequest>),
}

impl Admission {
    /// Creates a response without a handler.
    pub(crate) fn without_handler(
        request: &Request<'_>,
        response: PendingResponse,
        observed: Option<Box<ObservedRequest<'static>>>,
        why: Refusal,
    ) -> Self {
        let kind = response.kind(request.revision);
        let telling = observed.map(|observed| Telling::Responded(observed, why, kind));
        Self::Response(response, telling)
    }
}

impl Settings {
    pub(crate) fn admit(
        &self,
        request: &Request<'_>,
        origin: Origin,
        server: &mut Server<'_>,
        tx: &mut Tx<'_>,
        params: ParamsReservation,
        observed: Option<Box<ObservedRequest<'static>>>,
    ) -> Admission {
        let invalid = Refusal::InvalidParams;
        let told = |observed: Option<Box<ObservedRequest<'static>>>, kind| {
            Some(Telling::Responded(observed?, invalid, kind))
        };
        let client = || self.tasks.client(request, &origin, params.connection());
        let awaited = match self.tasks.handle(request, client) {
            None => None,
            Some(TaskAnswer::Wait(task)) => Some(task),
            Some(TaskAnswer::Response(response)) => {
                return Admission::without_handler(request, response, observed, invalid);
            }
        };
        if awaited.is_some() {
            return Admission::Handler(Arc::new(ActiveRequest {
                handle: request.handle,
                request: OwnedRequest::from(request),
                found: None,
                is_valid: AtomicBool::new(true),
                round: Round::default(),
                kept: Kept::default(),
                origin,
                observed,
                task: None,
                awaited,
                _params: params,
            }));
        }
        let mut found = None;
        if let Some(catalog) = &self.catalog {
            let snapshot = catalog.snapshot();
            let catalog = snapshot.catalog().checked_when_read();
            match catalog.respond(server, request, tx) {
                Ok(Target::Responded) => {
                    let kind = server.response_kind(request.handle);
                    return Admission::Responded(told(observed, kind));
                }
                Ok(target) => {
                    let place = catalog.place_of(&target);
                    found = Some(Found::new(snapshot, place));
                }
                Err(_) => {
                    let telling = told(observed, server.response_kind(request.handle));
                    let request = Box::new(OwnedRequest::from(request));
                    let response =
                        PendingResponse::FromCatalog { request, snapshot, _params: params };
                    return Admission::Response(response, telling);
                }
            }
        }
        let task = match self.may_be_task(request, found.as_ref(), client, server) {
            Ok(task) => task,
            Err(error) => {
                let response = PendingResponse::Refused(error);
                return Admission::without_handler(request, response, observed, invalid);
            }
        };
        let round =
            match caught(|| Round::of(request, self.state_protector_ref(), || owner_text(&origin)))
            {
                Ok(Ok(round)) => round,
                Ok(Err(why)) => {
                    let response = PendingResponse::Refused(RpcError::invalid_params(why));
                    return Admission::without_handler(request, response, observed, invalid);
                }
                Err(panic) => {
                    let telling = observed.map(|to| Telling::Panicked(Some(to), panic));
                    return Admission::Response(PendingResponse::PANICKED, telling);
                }
            };
        Admission::Handler(Arc::new(ActiveRequest {
            handle: request.handle,
            request: OwnedRequest::from(request),
            found,
            is_valid: AtomicBool::new(false),
            round,
            kept: Kept::default(),
            origin,
            observed,
            task,
            awaited: None,
            _params: params,
        }))
    }

    /// Returns the work of a call that may become a task.
    fn may_be_task(
        &self,
        request: &Request<'_>,
        found: Option<&Found>,
        client: impl FnOnce() -> TaskClient,
        server: &Server<'_>,
    ) -> Result<Option<Box<TaskWork>>, RpcError<'static>> {
        let Some(Target::Tool(tool)) = found.map(Found::target) else { return Ok(None) };
        let mode = server.task_mode(request, tool.task_support())?;
        Ok(TaskWork::new(self, tool, mode, request.capabilities, client))
    }
}

/// Share of a request in the bytes of parameters, for as long as the request is kept.
pub(crate) struct ParamsReservation {
    bytes: usize,
    limit: usize,
    all: Option<Arc<AtomicUsize>>,
    /// What the request holds of its HTTP server.
    #[cfg(feature = "http")]
    held: Option<Held>,
    driver: Arc<DriverWaker>,
}

impl ParamsReservation {
    pub(crate) fn new(
        bytes: usize,
        all: Option<&Arc<AtomicUsize>>,
        limit: usize,
        driver: &Arc<DriverWaker>,
    ) -> Self {
        if let Some(all) = all {
            all.fetch_add(bytes, Ordering::AcqRel);
        }
        Self {
            bytes,
            limit,
            all: all.cloned(),
            #[cfg(feature = "http")]
            held: None,
            driver: Arc::clone(driver),
        }
    }

    /// Returns the number of the connection, or of the HTTP server.
    pub(crate) fn connection(&self) -> u64 {
        self.driver.number
    }

    #[cfg(feature = "http")]
    pub(crate) fn with(mut self, held: Held) -> Self {
        self.held = Some(held);
        self
    }
}

impl Drop for ParamsReservation {
    fn drop(&mut self) {
        // At the limit a request may be waiting.
        let before = self.all.as_ref().map(|all| all.fetch_sub(self.bytes, Ordering::AcqRel));
        let is_awaited = before.is_some_and(|before| before >= self.limit);
        #[cfg(feature = "http")]
        let is_awaited = self.held.take().is_some_and(Held::give_back) || is_awaited;
        if is_awaited {
            self.driver.notify();
        }
    }
}
