//! What a connection does about events: handlers are begun and dropped, their answers sent.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::task::{self, Poll};

use mcp_sansio::{Instant, OwnedJson, OwnedRequest, Request, RequestHandle, RpcError, SendError, ServerEvent, Target};

use super::app::App;
use super::context::{Call, Context, Held};
use super::link::{Link, State};
use super::outbox::Outgoing;
use super::reply::{Failure, Reply};
use super::rounds::Rounds;
use super::tasks::Tasks;
use super::voice::Voice;

/// Handlers that are under way, and answers that wait for room.
pub(super) struct Work<F> {
    handlers: Tasks<Arc<Call>, F>,
    outbox: VecDeque<Outgoing>,
    /// Open `subscriptions/listen`.
    listens: Vec<RequestHandle>,
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
        if let Some(observer) = &app.observer {
            observer(event);
        }
        match event {
            ServerEvent::Request(request) => {
                self.begin(request, app, link);
                // What is done at once is answered at once, and in this order.
                self.run(app, link, cx);
                self.send(app, link);
            }
            ServerEvent::Cancelled { request, .. } | ServerEvent::Expired { request } => {
                self.handlers.drop_where(|call| call.handle == *request);
                self.listens.retain(|listen| listen != request);
            }
            ServerEvent::Answer { call, outcome } => {
                let answer = outcome.map(OwnedJson::from).map_err(|error| {
                    let message = error.message().map(|message| message.to_string()).unwrap_or_default();
                    Failure::answer(format!("The client refused ({}): {message}", error.code()))
                });
                link.lock().asks.answered(*call, answer);
            }
            ServerEvent::CallTimedOut { call } => {
                link.lock().asks.answered(*call, Err(Failure::answer("The client did not answer in time")));
            }
            ServerEvent::CallCancelled { call } => link.lock().asks.answered(*call, Err(Failure::GONE)),
            ServerEvent::Listening { request } => self.listens.push(*request),
            ServerEvent::Unresponsive => self.is_unresponsive = true,
            // The rest has been answered already: `initialize`, `ping`, log levels, subscriptions, and whatever was wrong.
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
            return self.outbox.push_back(Outgoing::Refused(request.handle, RpcError::internal("The server is shutting down")));
        }
        let target = match app.catalog {
            None => Target::Other,
            Some(catalog) => {
                let mut state = link.lock();
                let (server, outlet) = state.at(request.handle);
                match catalog.answer(server, request, &mut outlet.tx) {
                    Ok(Some(target)) => target,
                    Ok(None) => return,
                    // Begun, and to be finished before those that wait.
                    Err(SendError::More) => {
                        {
                            let listed = self.listed(request);
                            return self.outbox.push_front(listed);
                        };
                    }
                    Err(_) => {
                        let listed = self.listed(request);
                        return self.outbox.push_back(listed);
                    }
                }
            }
        };
        let rounds = match Rounds::of(request, app.seal_ref()) {
            Ok(rounds) => rounds,
            Err(why) => return self.outbox.push_back(Outgoing::Refused(request.handle, RpcError::invalid_params(why))),
        };
        let call = Arc::new(Call {
            handle: request.handle,
            request: OwnedRequest::from(request),
            target,
            rounds,
            _held: self.held.clone(),
        });
        let voice: Arc<dyn Voice> = Arc::<Link<M, S>>::clone(link);
        let context = Context { call: Arc::clone(&call), voice, hub: app.hub().clone() };
        self.handlers.insert(call, (app.handler)(context));
    }

    fn listed(&self, request: &Request<'_>) -> Outgoing {
        Outgoing::Listed { request: OwnedRequest::from(request), _held: self.held.clone() }
    }

    /// Polls the handlers that have been woken.
    pub(super) fn run<H, const M: usize, const N: usize, const S: usize>(
        &mut self,
        app: &App<H, N, S>,
        link: &Link<M, S>,
        cx: &mut task::Context<'_>,
    ) -> bool {
        let mut moved = false;
        // One that wakes itself each time is not to keep the others waiting.
        for _ in 0..=2 * self.handlers.len() {
            let Poll::Ready(done) = self.handlers.poll_next(cx) else { return moved };
            moved = true;
            if let Some((call, result)) = done
                && link.lock().server.is_open(call.handle)
            {
                self.outbox.push_back(Outgoing::new(call, result, app.seal_ref()));
            }
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
            let event = link.lock().handle_timeout(link.now());
            match event {
                Ok(Some(event)) => {
                    moved = true;
                    self.event(&event, app, link, cx);
                }
                Ok(None) | Err(_) => return moved,
            }
        }
    }

    /// Sends as much as there is room for.
    pub(super) fn send<H, const M: usize, const N: usize, const S: usize>(&mut self, app: &App<H, N, S>, link: &Link<M, S>) {
        let mut state = link.lock();
        let has_room = state.outlets.unblock();
        self.send_all(app, &mut state, link.now());
        drop(state);
        if has_room {
            link.wake_waiting();
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
        self.is_unresponsive || is_endless && self.is_closing && self.handlers.is_empty() && self.outbox.is_empty()
    }

    /// Whether nothing is in flight.
    pub(super) fn is_idle<const M: usize, const S: usize>(&self, link: &Link<M, S>) -> bool {
        let state = link.lock();
        self.handlers.is_empty() && self.listens.is_empty() && state.asks.is_empty() && !state.has_news()
    }
}

impl<F> Work<F> {
    pub(super) fn new() -> Self {
        Self {
            handlers: Tasks::new(),
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
        self.outbox.clear();
    }
}
