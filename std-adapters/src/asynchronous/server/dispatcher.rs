//! Handles the events of a connection on a stream: starts handlers, sends their responses.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::task;
use std::time;

use mcp_sansio::{
    Instant, Messages, Remaining, Request, RequestHandle, Revision, RpcError, SendError,
    ServerEvent,
};

use super::admission::Admission;
use super::app::App;
use super::context::{Context, Origin};
use super::inner::{ConnectionInner, State};
use super::pending_responses::PendingResponse;
use super::reply::IntoReply;
use super::runner::{Job, Runner};
use crate::observer::{
    Disconnect, Ended, Hooks, ObservedConnection, ObservedRequest, Refusal, Transport,
};
use crate::rounds::response;

/// The running handlers of a connection, and the responses that wait for room.
pub(super) struct Dispatcher<F> {
    handlers: Runner<(), F>,
    /// Responses that wait for room: at most one for each request in flight.
    responses: VecDeque<(RequestHandle, PendingResponse)>,
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
    observed: Option<ObservedConnection<'static>>,
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
        match event {
            ServerEvent::Request(request) => {
                self.begin(request, app, inner);
                // A handler that completes at once is answered at once, so responses keep the order
                // of requests.
                self.run(app, inner, cx);
                self.send(inner);
            }
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                let how = match event {
                    ServerEvent::RequestTimedOut { .. } => Ended::TimedOut,
                    _ => Ended::Cancelled,
                };
                self.handlers.cancel(app, &(), *request, how);
                self.listens.retain(|listen| listen != request);
            }
            ServerEvent::CallFinished { call, outcome } => {
                inner.lock().input_requests.finish(*call, response(outcome));
            }
            ServerEvent::Listening { request } => self.listens.push(*request),
            ServerEvent::Violation(violation) => {
                if let Some(observed) = &self.observed {
                    observed.refused(Refusal::from(*violation))();
                }
            }
            ServerEvent::Unresponsive => self.is_unresponsive = true,
            // The core has responded to the rest: `initialize`, `ping`, log levels,
            // subscriptions.
            _ => {}
        }
    }

    fn begin<H>(&mut self, request: &Request<'_>, app: &App<H>, inner: &Arc<ConnectionInner>)
    where
        H: Fn(Context) -> F,
    {
        let settings = &app.settings;
        let handle = request.handle;
        let observed = self.observed.as_ref().map(|connection| {
            let mut state = inner.lock();
            Box::new(connection.request(state.server().request_id(handle), request))
        });
        if self.is_closing {
            let error = RpcError::internal("The server is shutting down");
            return self.refuse(handle, error, Refusal::ShuttingDown, observed);
        }
        // Includes this request.
        let in_flight = inner.lock().server().open_requests();
        let is_over_limit = in_flight > 1 && inner.params() >= settings.max_params;
        if in_flight > settings.max_in_flight || is_over_limit {
            let error = RpcError::internal("Too many requests in flight");
            return self.refuse(handle, error, Refusal::Limit, observed);
        }
        let bytes = request.params.raw().as_str().len();
        let params = inner.reserve_params(bytes, settings.max_params);
        let admission = {
            let mut state = inner.lock();
            let (mut server, output) = state.parts();
            let tx = &mut output.tx;
            settings.admit(request, Origin::default(), &mut server, tx, params, observed)
        };
        let telling = match admission {
            Admission::Responded(telling) => telling,
            // It must be finished before the others.
            Admission::Response { response, is_begun: true, telling } => {
                self.responses.push_front((handle, response));
                telling
            }
            Admission::Response { response, telling, .. } => {
                self.responses.push_back((handle, response));
                telling
            }
            Admission::Handler(request) => {
                let source = Arc::<ConnectionInner>::clone(inner);
                self.handlers.admit(app, &(), Job { request, source });
                None
            }
        };
        if let Some(tell) = telling {
            tell();
        }
    }

    fn refuse(
        &mut self,
        request: RequestHandle,
        error: RpcError<'static>,
        why: Refusal,
        observed: Option<Box<ObservedRequest<'static>>>,
    ) {
        let response = PendingResponse::Refused(error);
        if let Some(observed) = observed {
            observed.without_handler(why, response.kind(Revision::LATEST))();
        }
        self.responses.push_back((request, response));
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
        in_flight > 0
            && (in_flight >= app.settings.max_in_flight
                || inner.params() >= app.settings.max_params)
    }

    /// Returns whether a request may wait until another has ended. It may not while a call of the
    /// server is open: the response may be behind it in the stream.
    fn may_wait<H>(&self, app: &App<H>, inner: &ConnectionInner) -> bool {
        let is_asking = inner.lock().server().open_calls() > 0;
        !is_asking
            && self.full_since.is_none_or(|since| since.elapsed() < app.settings.full_timeout)
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
        let responses = &mut self.responses;
        self.handlers.run(app, cx, |(), request, response| {
            if inner.lock().server().is_request_open(request) {
                responses.push_back((request, response));
            }
        })
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
    pub(super) fn send(&mut self, inner: &ConnectionInner) {
        let mut state = inner.lock();
        let has_room = state.output.unblock();
        self.send_all(&mut state, inner.now());
        drop(state);
        if has_room {
            inner.wake_waiting();
        }
    }

    fn send_all(&mut self, state: &mut State, now: Instant) {
        // A partly written frame is one of these; the others have no room before it is finished.
        state.send_input_requests(now);
        state.send_changes();
        while !state.output.is_blocked()
            && let Some((request, response)) = self.responses.front_mut()
        {
            match state.respond(*request, response) {
                Err(SendError::Full) => state.output.block(),
                Err(_) if !matches!(response, PendingResponse::Refused(_)) => {
                    let error = RpcError::internal("The response cannot be sent");
                    *response = PendingResponse::Refused(error);
                }
                _ => drop(self.responses.pop_front()),
            }
        }
        while let Some(listen) = self.listens.last().filter(|_| self.is_closing) {
            if state.output.is_blocked() {
                return;
            }
            let (mut server, output) = state.parts();
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

    /// Returns whether nothing is in flight.
    pub(super) fn is_idle(&self, inner: &ConnectionInner) -> bool {
        let state = inner.lock();
        self.handlers.is_empty()
            && self.listens.is_empty()
            && state.input_requests.is_empty()
            && !state.has_changes()
    }
}

impl<F> Dispatcher<F> {
    /// Returns the time at which a request that is held back is refused.
    pub(super) fn full_until<H>(&self, app: &App<H>) -> Option<time::Instant> {
        self.full_since?.checked_add(app.settings.full_timeout)
    }

    pub(super) fn new() -> Self {
        Self {
            handlers: Runner::new(),
            full_since: None,
            timeouts_checked_at: Instant::from_millis(0),
            responses: VecDeque::new(),
            listens: Vec::new(),
            is_closing: false,
            has_frames: false,
            is_unresponsive: false,
            observed: None,
        }
    }

    /// Tells an observer of the connection.
    pub(super) fn connected(&mut self, hooks: Hooks<'static>, transport: Transport) {
        let connection = self.observed.insert(ObservedConnection::new(hooks));
        connection.connected(transport)();
    }

    /// Drops all handlers and pending responses.
    pub(super) fn drop_all(&mut self) {
        self.handlers.end(&());
        self.responses.clear();
    }

    pub(super) fn disconnected(&mut self, how: Disconnect<'_>) {
        self.drop_all();
        if let Some(connection) = &mut self.observed {
            connection.disconnected(how);
        }
    }
}
