//! Runs handlers: their futures, and the requests that wait for one of them to end.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::Hash;
use std::mem::take;
use std::sync::Arc;
use std::task::{self, Poll};

use mcp_sansio::{Method, RequestHandle, RpcError};

use super::app::{App, Settings};
use super::context::{ActiveRequest, Context};
use super::pending_responses::PendingResponse;
use super::reply::IntoReply;
use super::source::RequestSource;
use super::tasks::{Place, Tasks};
use crate::asynchronous::panics::{Panic, caught};

/// The handlers of a connection, or those of all servers of an HTTP server. `K` names the server of
/// a request. A panic ends its own handler only.
pub(super) struct Runner<K, F> {
    handlers: Tasks<(K, Arc<ActiveRequest>), F>,
    servers: HashMap<K, Handlers>,
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

impl<K: Eq + Hash, F> Runner<K, F> {
    pub(super) fn new() -> Self {
        Self {
            handlers: Tasks::new(),
            servers: HashMap::new(),
            panicked: VecDeque::new(),
            unused: Handlers::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Drops all handlers of a server.
    pub(super) fn end(&mut self, settings: &Settings, server: &K) {
        for (_, place) in self.servers.remove(server).into_iter().flat_map(|found| found.running) {
            self.drop_handler(settings, place);
        }
    }

    fn drop_handler(&mut self, settings: &Settings, place: Place) {
        if let Some(((_, request), Err(panic))) = self.handlers.remove(place) {
            report_panic(settings, &request, &panic);
        }
    }
}

impl<K: Clone + Eq + Hash, F: Future<Output: IntoReply>> Runner<K, F> {
    /// Starts the handler of a request, now or when one of the same server has ended: see
    /// [`App::max_running`].
    pub(super) fn admit<H>(&mut self, app: &App<H>, server: &K, job: Job)
    where
        H: Fn(Context) -> F,
    {
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
            match caught(|| (app.handler)(context)) {
                Ok(future) => {
                    let place = self.handlers.insert((server.clone(), request), future);
                    handlers.running.push((handle, place));
                }
                Err(panic) => {
                    report_panic(&app.settings, &request, &panic);
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
    pub(super) fn cancel<H>(&mut self, app: &App<H>, server: &K, request: RequestHandle)
    where
        H: Fn(Context) -> F,
    {
        let Some(handlers) = self.servers.get_mut(server) else { return };
        handlers.waiting.retain(|job| job.request.handle != request);
        if let Some(at) = handlers.running.iter().position(|(running, _)| *running == request) {
            let (_, place) = handlers.running.swap_remove(at);
            self.drop_handler(&app.settings, place);
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
            let Poll::Ready(done) = self.handlers.poll_next(cx) else { return moved };
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
                report_panic(&app.settings, &request, &panic);
                PendingResponse::PANICKED
            });
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
    if let Err(error) = &result {
        settings.observe_error(&request.request.as_request(), error);
    }
    PendingResponse::new(request, result, settings.state_protector_ref())
}

/// Reports a panic to the observer, with the method and name of the request.
fn report_panic(settings: &Settings, active: &ActiveRequest, panic: &Panic) {
    let request = active.request.as_request();
    let method = match request.method {
        Method::ToolsList => "tools/list",
        Method::ToolsCall => "tools/call",
        Method::ResourcesList => "resources/list",
        Method::ResourcesTemplatesList => "resources/templates/list",
        Method::ResourcesRead => "resources/read",
        Method::PromptsList => "prompts/list",
        Method::PromptsGet => "prompts/get",
        Method::CompletionComplete => "completion/complete",
        Method::Other(name) => return settings.panicked(&name.to_string(), "", panic),
        // The other methods have no handler.
        _ => "",
    };
    settings.panicked(method, active.name(), panic);
}

impl PendingResponse {
    /// The error that a client gets for a panic. Its text is for the log of the server only.
    pub(super) const PANICKED: Self = Self::Refused(RpcError::internal("The handler panicked"));
}
