//! Runs handlers: their futures, and the requests that wait for one of them to end.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::mem::take;
use std::sync::Arc;
use std::task::{self, Poll};

use mcp_sansio::{RequestHandle, RpcError};

use super::app::{App, Settings};
use super::context::{ActiveRequest, Context};
use super::pending_responses::PendingResponse;
use super::reply::IntoReply;
use super::source::RequestSource;
use super::tasks::{Place, Tasks};
use crate::asynchronous::panics::caught;
use crate::observer::Ended;

/// The handlers of a connection, or those of all servers of an HTTP server. `K` names the server of
/// a request. A panic ends its own handler only.
pub(super) struct Runner<K, F> {
    handlers: Tasks<(K, Arc<ActiveRequest>), F>,
    servers: BTreeMap<K, Handlers>,
    /// Responses of handlers that panicked before they had a future.
    panicked: VecDeque<(K, RequestHandle)>,
    /// For the next server.
    unused: Handlers,
}

/// The handlers of one server.
#[derive(Default)]
struct Handlers {
    running: Vec<(RequestHandle, Place)>,
    /// Admitted requests, in order of arrival. They can be cancelled.
    waiting: VecDeque<Job>,
}

/// An admitted request.
pub(super) struct Job {
    pub(super) request: Arc<ActiveRequest>,
    pub(super) source: Arc<dyn RequestSource>,
}

impl<K: Ord, F> Runner<K, F> {
    pub(super) fn new() -> Self {
        Self {
            handlers: Tasks::new(),
            servers: BTreeMap::new(),
            panicked: VecDeque::new(),
            unused: Handlers::default(),
        }
    }

    /// Drops all handlers of a server.
    pub(super) fn end(&mut self, server: &K) {
        let Some(Handlers { running, waiting }) = self.servers.remove(server) else { return };
        for (_, place) in running {
            self.drop_handler(place, Ended::Gone);
        }
        waiting.iter().for_each(|job| job.request.ended(Ended::Gone));
    }

    fn drop_handler(&mut self, place: Place, how: Ended) {
        match self.handlers.remove(place) {
            Some(((_, request), Err(panic))) => request.panicked(&panic),
            Some(((_, request), Ok(()))) => request.ended(how),
            None => {}
        }
    }
}

impl<K: Clone + Ord, F: Future<Output: IntoReply>> Runner<K, F> {
    /// Starts the handler of a request, now or when one of the same server has ended: see
    /// [`App::max_running`].
    pub(super) fn admit<H>(&mut self, app: &App<H>, server: &K, job: Job)
    where
        H: Fn(Context) -> F,
    {
        if let Some(observed) = &job.request.observed {
            observed.began();
        }
        if !self.servers.contains_key(server) {
            self.servers.insert(server.clone(), take(&mut self.unused));
        }
        if let Some(handlers) = self.servers.get_mut(server) {
            handlers.waiting.push_back(job);
        }
        self.start(app, server);
    }

    /// Starts as many handlers of a server as may run.
    fn start<H>(&mut self, app: &App<H>, server: &K)
    where
        H: Fn(Context) -> F,
    {
        let Some(handlers) = self.servers.get_mut(server) else { return };
        while handlers.running.len() < app.settings.max_running
            && let Some(Job { request, source }) = handlers.waiting.pop_front()
        {
            let context = Context {
                active: Arc::clone(&request),
                source,
                broadcaster: app.broadcaster().clone(),
            };
            let handle = request.handle;
            match request.run(|| (app.handler)(context)) {
                Ok(future) => {
                    let place = self.handlers.insert((server.clone(), request), future);
                    handlers.running.push((handle, place));
                }
                Err(panic) => {
                    request.panicked(&panic);
                    self.panicked.push_back((server.clone(), handle));
                }
            }
        }
        if handlers.running.is_empty()
            && let Some(handlers) = self.servers.remove(server)
        {
            self.unused = handlers;
        }
    }

    /// Drops the handler of a request.
    pub(super) fn cancel<H>(&mut self, app: &App<H>, server: &K, request: RequestHandle, how: Ended)
    where
        H: Fn(Context) -> F,
    {
        let Some(handlers) = self.servers.get_mut(server) else { return };
        if let Some(at) = handlers.waiting.iter().position(|job| job.request.handle == request)
            && let Some(job) = handlers.waiting.remove(at)
        {
            job.request.ended(how);
        }
        if let Some(at) = handlers.running.iter().position(|(running, _)| *running == request) {
            let (_, place) = handlers.running.swap_remove(at);
            self.drop_handler(place, how);
        }
        self.start(app, server);
    }

    /// Polls the handlers that have been woken. `ended` gets the responses. Returns whether any
    /// made progress.
    pub(super) fn run<H>(
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
            while let Some((server, request)) = self.panicked.pop_front() {
                ended(&server, request, PendingResponse::PANICKED);
            }
            let run = |(_, request): &(K, Arc<ActiveRequest>), poll: &mut dyn FnMut() -> _| {
                request.run(poll)
            };
            let Poll::Ready(done) = self.handlers.poll_next_with(cx, run) else { return moved };
            moved = true;
            let Some(((server, request), result)) = done else { continue };
            if let Some(handlers) = self.servers.get_mut(&server) {
                handlers.running.retain(|(running, _)| *running != request.handle);
            }
            let response = match result {
                Ok(result) => caught(|| response(&app.settings, &request, result)),
                Err(panic) => Err(panic),
            };
            let response = response.unwrap_or_else(|panic| {
                request.panicked(&panic);
                PendingResponse::PANICKED
            });
            if let Some(observed) = &request.observed {
                observed.responded(response.kind(request.revision()));
            }
            let handle = request.handle;
            // Its parameters no longer count.
            drop(request);
            ended(&server, handle, response);
            self.start(app, &server);
        }
        true
    }
}

fn response(
    settings: &Settings,
    request: &ActiveRequest,
    result: impl IntoReply,
) -> PendingResponse {
    let result = result.into_reply(&request.request.as_request());
    let result = result.and_then(|reply| request.checked(reply));
    if let (Some(observed), Err(error)) = (&request.observed, &result) {
        observed.failed(error);
    }
    PendingResponse::new(request, result, settings.state_protector_ref())
}

impl PendingResponse {
    /// The error that a client gets for a panic. Its text is for the log of the server only.
    pub(super) const PANICKED: Self = Self::Refused(RpcError::internal("The handler panicked"));
}
