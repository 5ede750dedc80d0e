//! What a connection does about events: handlers are begun and dropped, their answers sent.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time;

use mcp_sansio::{
    Instant, Messages, Method, OwnedJson, OwnedRequest, Request, RequestHandle, RpcError,
    SendError, ServerEvent, Target,
};

use super::app::App;
use super::context::{Call, Context, Held};
use super::link::{Link, Share, State};
use super::outbox::Outgoing;
use super::reply::{Failure, Reply};
use super::rounds::Rounds;
use super::tasks::{Panic, Tasks, caught};
use super::voice::Voice;

/// Handlers that are under way, and answers that wait for room.
pub(super) struct Work<F> {
    handlers: Tasks<Arc<Call>, F>,
    /// Requests whose handlers have yet to begin: at most as many as may be in flight.
    admitted: VecDeque<Arc<Call>>,
    /// At most one for each request in flight.
    outbox: VecDeque<Outgoing>,
    /// Open `subscriptions/listen`: at most as many as may be in flight.
    listens: Vec<RequestHandle>,
    /// Since when a request waits while no other ends.
    full_since: Option<time::Instant>,
    /// Up to when time limits were looked after.
    pub(super) looked: Instant,
    /// No request is begun any more.
    pub(super) is_closing: bool,
    /// Whether frames wait that could not be taken in yet.
    pub(super) has_frames: bool,
    pub(super) is_unresponsive: bool,
    /// Of the requests that begin now.
    pub(super) held: Option<Held>,
}

impl<F: Future<Output = Result<Reply, Failure>>> Work<F> {
    pub(super) fn event<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        event: &ServerEvent<'_>,
        app: &App<H, N, S>,
        link: &Arc<Link<M, S>>,
        cx: &mut task::Context<'_>,
    ) where
        H: Fn(Context<N, S>) -> F,
    {
        app.observe(event);
        match event {
            ServerEvent::Request(request) => {
                self.begin(request, app, link);
                // What is done at once is answered at once, and in this order.
                self.run(app, link, cx);
                self.send(app, link);
            }
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                for (call, panic) in self.handlers.drop_where(|call| call.handle == *request) {
                    tell(app, &call, &panic);
                }
                self.admitted.retain(|call| call.handle != *request);
                self.listens.retain(|listen| listen != request);
            }
            ServerEvent::CallFinished { call, outcome } => {
                let answer = outcome.map(OwnedJson::from).map_err(|error| {
                    let message =
                        error.message().map(|message| message.to_string()).unwrap_or_default();
                    Failure::invalid_input_response(format!(
                        "The client refused ({}): {message}",
                        error.code()
                    ))
                });
                link.lock().asks.answered(*call, answer);
            }
            ServerEvent::CallTimedOut { call } => {
                link.lock().asks.answered(
                    *call,
                    Err(Failure::invalid_input_response("The client did not answer in time")),
                );
            }
            ServerEvent::CallCancelled { call } => {
                link.lock().asks.answered(*call, Err(Failure::GONE))
            }
            ServerEvent::Listening { request } => self.listens.push(*request),
            ServerEvent::Unresponsive => self.is_unresponsive = true,
            // The rest has been answered already: `initialize`, `ping`, log levels, subscriptions,
            // and whatever was wrong.
            _ => {}
        }
    }

    fn begin<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        request: &Request<'_>,
        app: &App<H, N, S>,
        link: &Arc<Link<M, S>>,
    ) where
        H: Fn(Context<N, S>) -> F,
    {
        if self.is_closing {
            return self.outbox.push_back(Outgoing::Refused(
                request.handle,
                RpcError::internal("The server is shutting down"),
            ));
        }
        // Itself among them.
        let in_flight = link.lock().server.open_requests();
        if in_flight > app.max_in_flight || in_flight > 1 && link.params() >= app.max_params {
            return self.outbox.push_back(Outgoing::Refused(
                request.handle,
                RpcError::internal("Too many requests in flight"),
            ));
        }
        let share = link.share(request.params.raw().as_str().len(), app.max_params);
        let target = match app.catalog {
            None => Target::Other,
            Some(catalog) => {
                let mut state = link.lock();
                let (server, outlet) = state.at(request.handle);
                let was_mid_frame = outlet.tx.is_mid_frame();
                match catalog.respond(server, request, &mut outlet.tx) {
                    Ok(Target::Responded) => return,
                    Ok(target) => target,
                    // Begun, and to be finished before those that wait.
                    Err(SendError::Full) if !was_mid_frame && outlet.tx.is_mid_frame() => {
                        let listed = self.listed(request, share);
                        return self.outbox.push_front(listed);
                    }
                    Err(_) => {
                        let listed = self.listed(request, share);
                        return self.outbox.push_back(listed);
                    }
                }
            }
        };
        let rounds = match caught(|| Rounds::of(request, app.state_protector_ref())) {
            Ok(Ok(rounds)) => rounds,
            Ok(Err(why)) => {
                return self
                    .outbox
                    .push_back(Outgoing::Refused(request.handle, RpcError::invalid_params(why)));
            }
            Err(panic) => {
                app.panicked("", "", &panic);
                return self.outbox.push_back(Outgoing::Refused(request.handle, PANICKED));
            }
        };
        let call = Call {
            handle: request.handle,
            request: OwnedRequest::from(request),
            target,
            rounds,
            _held: self.held.clone(),
            _share: share,
        };
        self.admitted.push_back(Arc::new(call));
    }

    /// Begins the handlers of requests that were taken in, as many as may run.
    fn begin_handlers<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        link: &Arc<Link<M, S>>,
    ) where
        H: Fn(Context<N, S>) -> F,
    {
        while self.handlers.len() < app.max_running {
            let Some(call) = self.admitted.pop_front() else { return };
            let voice: Arc<dyn Voice> = Arc::<Link<M, S>>::clone(link);
            let context =
                Context { call: Arc::clone(&call), voice, broadcaster: app.broadcaster().clone() };
            match caught(|| (app.handler)(context)) {
                Ok(future) => self.handlers.insert(call, future),
                Err(panic) => self.panicked(app, &call, &panic),
            }
        }
    }

    /// A handler has panicked: its client is told that it failed, and no more.
    fn panicked<H, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        call: &Call,
        panic: &Panic,
    ) {
        tell(app, call, panic);
        self.outbox.push_back(Outgoing::Refused(call.handle, PANICKED));
    }

    /// Whether the next message is a request that has to wait, since there are as many as there may
    /// be.
    pub(super) fn holds_back<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        link: &Link<M, S>,
        messages: &Messages<'_>,
    ) -> bool {
        if !self.is_full(app, link) {
            self.full_since = None;
            return false;
        }
        if !self.may_wait(app, link) || !link.lock().server.is_request_next(messages) {
            return false;
        }
        self.full_since.get_or_insert_with(time::Instant::now);
        true
    }

    /// Whether what was held back still is, for whom looking at it again costs too much.
    pub(super) fn still_holds_back<H, const M: usize, const N: usize, const S: usize>(
        &self,
        app: &App<H, N, S>,
        link: &Link<M, S>,
    ) -> bool {
        self.is_full(app, link) && self.may_wait(app, link)
    }

    fn is_full<H, const M: usize, const N: usize, const S: usize>(
        &self,
        app: &App<H, N, S>,
        link: &Link<M, S>,
    ) -> bool {
        let in_flight = link.lock().server.open_requests();
        in_flight > 0 && (in_flight >= app.max_in_flight.min(M) || link.params() >= app.max_params)
    }

    /// Whether a request may wait until another has ended: what its end depends on must not be
    /// behind it.
    fn may_wait<H, const M: usize, const N: usize, const S: usize>(
        &self,
        app: &App<H, N, S>,
        link: &Link<M, S>,
    ) -> bool {
        let is_asking = link.lock().server.open_calls() > 0;
        !is_asking && self.full_since.is_none_or(|since| since.elapsed() < app.full_timeout)
    }

    fn listed(&self, request: &Request<'_>, share: Share) -> Outgoing {
        Outgoing::Listed {
            request: OwnedRequest::from(request),
            _held: self.held.clone(),
            _share: share,
        }
    }

    /// Polls the handlers that have been woken.
    pub(super) fn run<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        link: &Arc<Link<M, S>>,
        cx: &mut task::Context<'_>,
    ) -> bool
    where
        H: Fn(Context<N, S>) -> F,
    {
        let mut moved = false;
        self.begin_handlers(app, link);
        // One that wakes itself each time is not to keep the others waiting.
        for _ in 0..=2 * self.handlers.len() {
            let Poll::Ready(done) = self.handlers.poll_next(cx) else { return moved };
            moved = true;
            let Some((call, result)) = done else { continue };
            let is_open = link.lock().server.is_request_open(call.handle);
            match result {
                Ok(_) if !is_open => {}
                Ok(result) => {
                    match caught(|| {
                        Outgoing::new(Arc::clone(&call), result, app.state_protector_ref())
                    }) {
                        Ok(outgoing) => self.outbox.push_back(outgoing),
                        Err(panic) => self.panicked(app, &call, &panic),
                    }
                }
                Err(panic) => self.panicked(app, &call, &panic),
            }
            self.begin_handlers(app, link);
        }
        true
    }

    /// What time alone brings about.
    pub(super) fn handle_timeouts<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        link: &Arc<Link<M, S>>,
        cx: &mut task::Context<'_>,
    ) -> bool
    where
        H: Fn(Context<N, S>) -> F,
    {
        let mut moved = false;
        loop {
            let now = link.now();
            let event = link.lock().handle_timeout(now);
            match event {
                Ok(Some(event)) => {
                    moved = true;
                    self.event(&event, app, link, cx);
                }
                Ok(None) | Err(_) => {
                    self.looked = now;
                    return moved;
                }
            }
        }
    }

    /// Sends as much as there is room for.
    pub(super) fn send<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        link: &Link<M, S>,
    ) {
        let mut state = link.lock();
        let has_room = state.outlets.unblock();
        self.send_all(app, &mut state, link.now());
        drop(state);
        if has_room {
            link.wake_waiting();
        }
        #[cfg(feature = "http")]
        if !self.still_holds_back(app, link) {
            link.wake_for_place();
        }
    }

    fn send_all<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        state: &mut State<M, S>,
        now: Instant,
    ) {
        // What has begun is among them somewhere, and the others have no room before it has ended.
        state.send_asks(now);
        state.send_news();
        let mut at = 0;
        while let Some(outgoing) = self.outbox.get_mut(at) {
            if state.at(outgoing.handle()).1.is_blocked() {
                at += 1;
                continue;
            }
            match outgoing.send(app.catalog, state) {
                Err(error) if error.is_full() => state.at(outgoing.handle()).1.block(),
                Err(_) => match outgoing.instead() {
                    Some(instead) => *outgoing = instead,
                    None => drop(self.outbox.remove(at)),
                },
                Ok(()) => drop(self.outbox.remove(at)),
            }
        }
        while let Some(listen) = self.listens.last().filter(|_| self.is_closing) {
            let (server, outlet) = state.at(*listen);
            if outlet.is_blocked() {
                return;
            }
            match server.end_listen(*listen, &mut outlet.tx) {
                Ok(true) => {}
                Err(error) if error.is_full() => return outlet.block(),
                Ok(false) | Err(_) => drop(self.listens.pop()),
            }
        }
    }

    /// Whether all answers that there are have been sent.
    pub(super) fn is_sent(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Whether there is nothing left to do on a stream that ends only when it has to.
    #[cfg(feature = "http")]
    pub(super) fn is_over(&self, is_endless: bool) -> bool {
        self.is_unresponsive
            || is_endless && self.is_closing && self.has_no_handlers() && self.outbox.is_empty()
    }

    /// Whether nothing is in flight.
    pub(super) fn is_idle<const M: usize, const S: usize>(&self, link: &Link<M, S>) -> bool {
        let state = link.lock();
        self.has_no_handlers()
            && self.listens.is_empty()
            && state.asks.is_empty()
            && !state.has_news()
    }
}

impl<F> Work<F> {
    /// When what waits is refused.
    pub(super) fn full_until<H, const N: usize, const S: usize>(
        &self,
        app: &App<H, N, S>,
    ) -> Option<time::Instant> {
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
            looked: Instant::from_millis(0),
            outbox: VecDeque::new(),
            listens: Vec::new(),
            is_closing: false,
            has_frames: false,
            is_unresponsive: false,
            held: None,
        }
    }

    /// Drops everything that is under way.
    pub(super) fn drop_all(&mut self) {
        self.handlers.clear();
        self.admitted.clear();
        self.outbox.clear();
    }
}

/// For a log.
fn tell<H, const N: usize, const S: usize>(app: &App<H, N, S>, call: &Call, panic: &Panic) {
    let request = call.request.as_request();
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
        // The rest has no handler.
        _ => "",
    };
    app.panicked(method, call.name(), panic);
}

/// The message that a client gets for a panic. The panic's own text is for the log of the server.
const PANICKED: RpcError<'static> = RpcError::internal("The handler panicked");
