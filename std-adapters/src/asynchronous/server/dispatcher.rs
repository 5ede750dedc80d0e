//! Handles the events of a connection: starts and drops handlers, sends their responses.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{self, Poll};
use std::time;

use mcp_sansio::{
    Instant, Messages, Method, OwnedRequest, Remaining, Request, RequestHandle, RpcError,
    SendError, ServerEvent, Target,
};

use super::app::App;
use super::context::{ActiveRequest, BodyReservation, Context};
use super::inner::{ConnectionInner, ParamsReservation, State};
use super::kept::Kept;
use super::pending_responses::PendingResponse;
use super::reply::IntoReply;
use super::tasks::Tasks;
use crate::asynchronous::panics::{Panic, caught};
use crate::rounds::{Round, response};

/// The running handlers of a connection, and the responses that wait for room.
pub(super) struct Dispatcher<F> {
    handlers: Tasks<Arc<ActiveRequest>, F>,
    /// Requests whose handlers have not started: at most as many as can be in flight.
    admitted: VecDeque<Arc<ActiveRequest>>,
    /// Responses that wait for room: at most one for each request in flight.
    responses: VecDeque<PendingResponse>,
    /// Open `subscriptions/listen`: at most as many as may be in flight.
    listens: Vec<RequestHandle>,
    /// Start of the time in which a request has been held back and no other ended.
    full_since: Option<time::Instant>,
    /// Time of the last check for timeouts.
    pub(super) timeouts_checked_at: Instant,
    /// Whether new requests are refused, because the application shuts down.
    pub(super) is_closing: bool,
    /// Whether received frames are waiting for room.
    pub(super) has_frames: bool,
    pub(super) is_unresponsive: bool,
    /// Body budget share of the HTTP request that is being processed.
    pub(super) held: Option<BodyReservation>,
}

impl<F: Future<Output: IntoReply>> Dispatcher<F> {
    pub(super) fn event<H>(
        &mut self,
        event: &ServerEvent<'_>,
        app: &App<H>,
        inner: &Arc<ConnectionInner>,
        cx: &mut task::Context<'_>,
    ) where
        H: Fn(Context) -> F,
    {
        app.observe(event);
        match event {
            ServerEvent::Request(request) => {
                self.begin(request, app, inner);
                // A handler that completes at once is answered at once, so responses keep the order
                // of requests.
                self.run(app, inner, cx);
                self.send(app, inner);
            }
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                for (active, panic) in self.handlers.drop_where(|active| active.handle == *request)
                {
                    report_panic(app, &active, &panic);
                }
                self.admitted.retain(|active| active.handle != *request);
                self.listens.retain(|listen| listen != request);
            }
            ServerEvent::CallFinished { call, outcome } => {
                inner.lock().input_requests.finish(*call, response(outcome));
            }
            ServerEvent::Listening { request } => self.listens.push(*request),
            ServerEvent::Unresponsive => self.is_unresponsive = true,
            // The core has responded to the rest: `initialize`, `ping`, log levels, subscriptions,
            // violations.
            _ => {}
        }
    }

    fn begin<H>(&mut self, request: &Request<'_>, app: &App<H>, inner: &Arc<ConnectionInner>)
    where
        H: Fn(Context) -> F,
    {
        if self.is_closing {
            return self.responses.push_back(PendingResponse::Refused(
                request.handle,
                RpcError::internal("The server is shutting down"),
            ));
        }
        // Includes this request.
        let in_flight = inner.lock().server().open_requests();
        if in_flight > app.max_in_flight || in_flight > 1 && inner.params() >= app.max_params {
            return self.responses.push_back(PendingResponse::Refused(
                request.handle,
                RpcError::internal("Too many requests in flight"),
            ));
        }
        let params = inner.reserve_params(request.params.raw().as_str().len(), app.max_params);
        let target = match app.catalog {
            None => Target::Other,
            Some(catalog) => {
                let mut state = inner.lock();
                let (mut server, output) = state.at(request.handle);
                let was_mid_frame = output.tx.is_mid_frame();
                let catalog = catalog.checked_when_read();
                match catalog.respond(&mut server, request, &mut output.tx) {
                    Ok(Target::Responded) => return,
                    Ok(target) => target,
                    // Part of it is written: it must be finished before the others.
                    Err(SendError::Full) if !was_mid_frame && output.tx.is_mid_frame() => {
                        let from_catalog = self.respond_from_catalog(request, params);
                        return self.responses.push_front(from_catalog);
                    }
                    Err(_) => {
                        let from_catalog = self.respond_from_catalog(request, params);
                        return self.responses.push_back(from_catalog);
                    }
                }
            }
        };
        let round = match caught(|| Round::of(request, app.state_protector_ref())) {
            Ok(Ok(round)) => round,
            Ok(Err(why)) => {
                return self.responses.push_back(PendingResponse::Refused(
                    request.handle,
                    RpcError::invalid_params(why),
                ));
            }
            Err(panic) => {
                app.panicked("", "", &panic);
                return self
                    .responses
                    .push_back(PendingResponse::Refused(request.handle, PANICKED));
            }
        };
        let active = ActiveRequest {
            handle: request.handle,
            request: OwnedRequest::from(request),
            target,
            catalog: app.catalog,
            is_valid: AtomicBool::new(false),
            round,
            kept: Kept::default(),
            _held: self.held.clone(),
            _params: params,
        };
        self.admitted.push_back(Arc::new(active));
    }

    /// Starts the handlers of admitted requests, up to the limit of running handlers.
    fn start_handlers<H>(&mut self, app: &App<H>, inner: &Arc<ConnectionInner>)
    where
        H: Fn(Context) -> F,
    {
        while self.handlers.len() < app.max_running {
            let Some(active) = self.admitted.pop_front() else { return };
            let context = Context {
                active: Arc::clone(&active),
                connection: Arc::clone(inner),
                broadcaster: app.broadcaster().clone(),
            };
            match caught(|| (app.handler)(context)) {
                Ok(future) => self.handlers.insert(active, future),
                Err(panic) => self.panicked(app, &active, &panic),
            }
        }
    }

    /// Reports a panic of a handler. The client gets only a generic internal error.
    fn panicked<H>(&mut self, app: &App<H>, active: &ActiveRequest, panic: &Panic) {
        report_panic(app, active, panic);
        self.responses.push_back(PendingResponse::Refused(active.handle, PANICKED));
    }

    /// Returns whether the next message is a request that must wait because a limit is reached.
    pub(super) fn holds_back<H>(
        &mut self,
        app: &App<H>,
        inner: &ConnectionInner,
        messages: &Messages<'_>,
    ) -> bool {
        if !self.is_full(app, inner) {
            self.full_since = None;
            return false;
        }
        if !self.may_wait(app, inner) || !inner.lock().server().is_request_next(messages) {
            return false;
        }
        self.full_since.get_or_insert_with(time::Instant::now);
        true
    }

    /// Returns whether a request that was held back must still wait, without parsing it again.
    pub(super) fn still_holds_back<H>(&self, app: &App<H>, inner: &ConnectionInner) -> bool {
        self.is_full(app, inner) && self.may_wait(app, inner)
    }

    fn is_full<H>(&self, app: &App<H>, inner: &ConnectionInner) -> bool {
        let in_flight = inner.lock().server().open_requests();
        in_flight > 0 && (in_flight >= app.max_in_flight || inner.params() >= app.max_params)
    }

    /// Returns whether a request may wait until another has ended. It may not while a call of the
    /// server is open: the response may be behind it in the stream.
    fn may_wait<H>(&self, app: &App<H>, inner: &ConnectionInner) -> bool {
        let is_asking = inner.lock().server().open_calls() > 0;
        !is_asking && self.full_since.is_none_or(|since| since.elapsed() < app.full_timeout)
    }

    fn respond_from_catalog(
        &self,
        request: &Request<'_>,
        params: ParamsReservation,
    ) -> PendingResponse {
        PendingResponse::FromCatalog {
            request: OwnedRequest::from(request),
            _held: self.held.clone(),
            _params: params,
        }
    }

    /// Polls the handlers that have been woken. Returns whether any made progress.
    pub(super) fn run<H>(
        &mut self,
        app: &App<H>,
        inner: &Arc<ConnectionInner>,
        cx: &mut task::Context<'_>,
    ) -> bool
    where
        H: Fn(Context) -> F,
    {
        let mut moved = false;
        self.start_handlers(app, inner);
        // Bounded, so that a handler that always wakes itself does not starve the others.
        for _ in 0..=2 * self.handlers.len() {
            let Poll::Ready(done) = self.handlers.poll_next(cx) else { return moved };
            moved = true;
            let Some((active, result)) = done else { continue };
            let is_open = inner.lock().server().is_request_open(active.handle);
            match result {
                Ok(_) if !is_open => {}
                Ok(result) => {
                    match caught(|| {
                        let result = result.into_reply(&active.request.as_request());
                        let result = result.and_then(|reply| active.checked(reply));
                        if let Err(error) = &result {
                            app.observe_error(&active.request.as_request(), error);
                        }
                        PendingResponse::new(Arc::clone(&active), result, app.state_protector_ref())
                    }) {
                        Ok(response) => self.responses.push_back(response),
                        Err(panic) => self.panicked(app, &active, &panic),
                    }
                }
                Err(panic) => self.panicked(app, &active, &panic),
            }
            self.start_handlers(app, inner);
        }
        true
    }

    /// Handles all timeouts that are due. Returns whether there were any.
    pub(super) fn handle_timeouts<H>(
        &mut self,
        app: &App<H>,
        inner: &Arc<ConnectionInner>,
        cx: &mut task::Context<'_>,
    ) -> bool
    where
        H: Fn(Context) -> F,
    {
        let mut moved = false;
        loop {
            let now = inner.now();
            let event = inner.lock().handle_timeout(now);
            match event {
                Ok(Some(event)) => {
                    moved = true;
                    self.event(&event, app, inner, cx);
                }
                Ok(None) | Err(_) => {
                    self.timeouts_checked_at = now;
                    return moved;
                }
            }
        }
    }

    /// Sends as much as there is room for.
    pub(super) fn send<H>(&mut self, app: &App<H>, inner: &ConnectionInner) {
        let mut state = inner.lock();
        let has_room = state.outputs.unblock();
        self.send_all(app, &mut state, inner.now());
        drop(state);
        if has_room {
            inner.wake_waiting();
        }
        #[cfg(feature = "http")]
        if !self.still_holds_back(app, inner) {
            inner.wake_for_capacity();
        }
    }

    fn send_all<H>(&mut self, app: &App<H>, state: &mut State, now: Instant) {
        // A partly written frame is one of these; the others have no room before it is finished.
        state.send_input_requests(now);
        state.send_changes();
        let mut at = 0;
        while let Some(response) = self.responses.get_mut(at) {
            if state.at(response.handle()).1.is_blocked() {
                at += 1;
                continue;
            }
            match response.send(app.catalog, state) {
                Err(SendError::Full) => state.at(response.handle()).1.block(),
                Err(_) => match response.replacement() {
                    Some(replacement) => *response = replacement,
                    None => drop(self.responses.remove(at)),
                },
                Ok(()) => drop(self.responses.remove(at)),
            }
        }
        while let Some(listen) = self.listens.last().filter(|_| self.is_closing) {
            let (mut server, output) = state.at(*listen);
            if output.is_blocked() {
                return;
            }
            match server.end_listen(*listen, &mut output.tx) {
                Ok(Remaining::More) => {}
                Err(SendError::Full) => return output.block(),
                Ok(Remaining::Done) | Err(_) => drop(self.listens.pop()),
            }
        }
    }

    /// Returns whether all responses have been written.
    pub(super) fn is_sent(&self) -> bool {
        self.responses.is_empty()
    }

    /// Returns whether a stream is finished that would otherwise stay open (`is_endless`).
    #[cfg(feature = "http")]
    pub(super) fn is_over(&self, is_endless: bool) -> bool {
        self.is_unresponsive
            || is_endless && self.is_closing && self.has_no_handlers() && self.responses.is_empty()
    }

    /// Returns whether nothing is in flight.
    pub(super) fn is_idle(&self, inner: &ConnectionInner) -> bool {
        let state = inner.lock();
        self.has_no_handlers()
            && self.listens.is_empty()
            && state.input_requests.is_empty()
            && !state.has_changes()
    }
}

impl<F> Dispatcher<F> {
    /// Returns the time at which a request that is held back is refused.
    pub(super) fn full_until<H>(&self, app: &App<H>) -> Option<time::Instant> {
        self.full_since?.checked_add(app.full_timeout)
    }

    fn has_no_handlers(&self) -> bool {
        self.handlers.is_empty() && self.admitted.is_empty()
    }

    pub(super) fn new() -> Self {
        Self {
            handlers: Tasks::new(),
            admitted: VecDeque::new(),
            full_since: None,
            timeouts_checked_at: Instant::from_millis(0),
            responses: VecDeque::new(),
            listens: Vec::new(),
            is_closing: false,
            has_frames: false,
            is_unresponsive: false,
            held: None,
        }
    }

    /// Drops all handlers, admitted requests and pending responses.
    pub(super) fn drop_all(&mut self) {
        self.handlers.clear();
        self.admitted.clear();
        self.responses.clear();
    }
}

/// Reports a panic to the observer, with the method and name of the request.
fn report_panic<H>(app: &App<H>, active: &ActiveRequest, panic: &Panic) {
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
        Method::Other(name) => return app.panicked(&name.to_string(), "", panic),
        // The other methods have no handler.
        _ => "",
    };
    app.panicked(method, active.name(), panic);
}

/// Error that a client gets for a panic. The text of the panic is for the log of the server only.
const PANICKED: RpcError<'static> = RpcError::internal("The handler panicked");
