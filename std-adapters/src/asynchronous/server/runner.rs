//! Runs handlers: their futures, and the requests that wait for one of them to end.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::mem::take;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Instant;

use mcp_sansio::{RequestHandle, RpcError};

use super::app::{App, Settings};
use super::context::{ActiveRequest, Context};
use super::driver_waker::DriverWaker;
use super::reply::{HandlerResult, IntoReply, PendingResponse};
use super::runner_tasks::RunningTasks;
use super::source::RequestSource;
use crate::observer::{Ended, ObservedRequest};
use crate::panics::{Panic, caught};
use crate::runtime::tasks::{Place, Tasks};

/// The handlers of a connection, or those of all servers of an HTTP server. `K` names the server of
/// a request. A panic ends its own handler only.
pub(crate) struct Runner<K, F> {
    pub(crate) handlers: Tasks<(K, Arc<ActiveRequest>), F>,
    servers: BTreeMap<K, Handlers>,
    /// Responses that no handler makes.
    responses: VecDeque<(K, RequestHandle, PendingResponse)>,
    /// For the next server.
    unused: Handlers,
    pub(crate) tasks: RunningTasks<K>,
}

/// The handlers of one server. Those of tasks do not belong to it.
#[derive(Default)]
struct Handlers {
    running: Vec<(RequestHandle, Place)>,
    /// Admitted requests, in order of arrival. They can be cancelled.
    waiting: VecDeque<Job>,
}

/// An admitted request.
pub(crate) struct Job {
    pub(crate) request: Arc<ActiveRequest>,
    pub(crate) source: Arc<dyn RequestSource>,
}

impl<K: Clone + Ord, F> Runner<K, F> {
    pub(crate) fn new(settings: &Settings, driver: &Arc<DriverWaker>) -> Self {
        Self {
            handlers: Tasks::new(),
            servers: BTreeMap::new(),
            responses: VecDeque::new(),
            unused: Handlers::default(),
            tasks: RunningTasks::new(settings, driver),
        }
    }

    /// Returns the time at which [`run`](Self::run) has something to do that wakes no task.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.tasks.due()
    }

    /// Drops all handlers of a server, except those of tasks.
    pub(crate) fn end(&mut self, server: &K) {
        self.tasks.stop_waiting(Ended::Gone, |of, _| of == server);
        let Some(Handlers { running, waiting }) = self.servers.remove(server) else { return };
        for (_, place) in running {
            self.drop_handler(place, Ended::Gone);
        }
        waiting.iter().for_each(|job| job.request.ended(Ended::Gone));
    }

    /// Drops a handler. Returns its request.
    pub(crate) fn drop_handler(&mut self, place: Place, how: Ended) -> Option<Arc<ActiveRequest>> {
        self.tasks.forget(place);
        let ((_, request), dropped) = self.handlers.remove(place)?;
        match dropped {
            Err(panic) => request.panicked(&panic),
            Ok(()) => request.ended(how),
        }
        Some(request)
    }

    /// The handler of a request is not one of its server any more. Returns its place.
    pub(crate) fn release(&mut self, server: &K, request: RequestHandle) -> Option<Place> {
        let running = &mut self.servers.get_mut(server)?.running;
        let at = running.iter().position(|(running, _)| *running == request)?;
        let (_, place) = running.swap_remove(at);
        self.tasks.forget(place);
        Some(place)
    }

    /// Responds to a request.
    pub(crate) fn respond(
        &mut self,
        server: &K,
        request: RequestHandle,
        response: PendingResponse,
    ) {
        self.responses.push_back((server.clone(), request, response));
    }
}

impl<K: Clone + Ord, F: Future<Output: IntoReply>> Runner<K, F> {
    /// Starts the handler of a request, now or when one of the same server has ended: see
    /// [`App::max_running`].
    pub(crate) fn admit<H>(&mut self, app: &App<H>, server: &K, job: Job)
    where
        H: Fn(Context) -> F,
    {
        job.request.tell(ObservedRequest::began);
        let Some(job) = self.begin_task(app, server, job) else { return };
        if !self.servers.contains_key(server) {
            self.servers.insert(server.clone(), take(&mut self.unused));
        }
        if let Some(handlers) = self.servers.get_mut(server) {
            handlers.waiting.push_back(job);
        }
        self.start(app, server);
    }

    /// Starts as many handlers of a server as may run.
    pub(crate) fn start<H>(&mut self, app: &App<H>, server: &K)
    where
        H: Fn(Context) -> F,
    {
        while let Some(handlers) = self.servers.get_mut(server)
            && handlers.running.len() < app.settings.max_running
            && let Some(job) = handlers.waiting.pop_front()
        {
            let handle = job.request.handle;
            let later = (Arc::downgrade(&job.request), Arc::clone(&job.source));
            match self.start_handler(app, server, job) {
                Ok(place) => {
                    self.tasks.plan(server, place, later);
                    if let Some(handlers) = self.servers.get_mut(server) {
                        handlers.running.push((handle, place));
                    }
                }
                Err((request, panic)) => {
                    request.panicked(&panic);
                    self.respond(server, handle, PendingResponse::PANICKED);
                }
            }
        }
        if self.servers.get(server).is_some_and(|handlers| handlers.running.is_empty())
            && let Some(handlers) = self.servers.remove(server)
        {
            self.unused = handlers;
        }
    }

    /// Calls a handler. Returns the place of its future.
    ///
    /// # Errors
    /// Returns the request and the panic of a handler that returns none.
    pub(crate) fn start_handler<H>(
        &mut self,
        app: &App<H>,
        server: &K,
        Job { request, source }: Job,
    ) -> Result<Place, (Arc<ActiveRequest>, Panic)>
    where
        H: Fn(Context) -> F,
    {
        let context = Context {
            active: Arc::clone(&request),
            source,
            broadcaster: app.broadcaster().clone(),
        };
        match request.run(|| (app.handler)(context)) {
            Ok(future) => Ok(self.handlers.insert((server.clone(), request), future)),
            Err(panic) => Err((request, panic)),
        }
    }

    /// Drops the handler of a request.
    pub(crate) fn cancel<H>(&mut self, app: &App<H>, server: &K, request: RequestHandle, how: Ended)
    where
        H: Fn(Context) -> F,
    {
        self.tasks.stop_waiting(how, |of, active| of == server && active.handle == request);
        let Some(handlers) = self.servers.get_mut(server) else { return };
        if let Some(at) = handlers.waiting.iter().position(|job| job.request.handle == request)
            && let Some(job) = handlers.waiting.remove(at)
        {
            job.request.ended(how);
        }
        if let Some(place) = self.release(server, request) {
            self.drop_handler(place, how);
        }
        self.start(app, server);
    }

    /// Polls the handlers that have been woken. `ended` gets the responses. Returns whether any
    /// made progress.
    pub(crate) fn run<H>(
        &mut self,
        app: &App<H>,
        cx: &mut task::Context<'_>,
        mut ended: impl FnMut(&K, RequestHandle, PendingResponse),
    ) -> bool
    where
        H: Fn(Context) -> F,
    {
        let mut moved = false;
        // Bounded, so that a handler that always wakes itself does not starve the others.
        for _ in 0..=2 * self.handlers.len() {
            self.run_tasks(app, cx);
            while let Some((server, request, response)) = self.responses.pop_front() {
                ended(&server, request, response);
            }
            let run = |(_, request): &(K, Arc<ActiveRequest>), poll: &mut dyn FnMut() -> _| {
                request.run(poll)
            };
            let Poll::Ready(done) = self.handlers.poll_next_with(cx, run) else { return moved };
            moved = true;
            let Some(((server, request), result)) = done else { continue };
            let result = match result {
                Ok(result) => caught(|| checked(&request, result)),
                Err(panic) => Err(panic),
            };
            if let Some((_, task)) = request.task() {
                self.finish_task(task, request, result);
                continue;
            }
            self.release(&server, request.handle);
            let response = result.and_then(|result| {
                let protector = app.settings.state_protector_ref();
                caught(|| PendingResponse::new(&request, result, protector))
            });
            let response = response.unwrap_or_else(|panic| {
                request.panicked(&panic);
                PendingResponse::PANICKED
            });
            request.tell(|observed| observed.responded(response.kind(request.revision())));
            let handle = request.handle;
            // Its parameters no longer count.
            drop(request);
            ended(&server, handle, response);
            self.start(app, &server);
        }
        true
    }
}

/// Returns the result of a handler, of which the observer is told if it is an error.
fn checked(request: &ActiveRequest, result: impl IntoReply) -> HandlerResult {
    let result = result.into_reply(&request.request.as_request());
    let result = result.and_then(|reply| request.checked(reply));
    if let Err(error) = &result {
        request.tell(|observed| observed.failed(error));
    }
    result
}

impl PendingResponse {
    /// The error that a client gets for a panic. Its text is for the log of the server only.
    pub(crate) const PANICKED: Self = Self::Refused(RpcError::internal(PANICKED));
}

pub(crate) const PANICKED: &str = "The handler panicked";
