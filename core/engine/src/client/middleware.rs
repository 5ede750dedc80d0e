//! Code of the application around the calls of a client.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use mcp_sansio::{CallOptions, ClientEvent, Instant, OwnedJson, RawJson};

use super::calls::{Asked, Attempt, Pending};
use super::{CallId, Driver, State, Turn, Waiting};
use crate::errors::CallError;

/// Code around every call of a client: a cache, a limit of the rate, an audit, another attempt.
///
/// It sees a call once before it is sent and once when it has a result, however many rounds of
/// input it takes and whether or not it is a task. Lists are called page by page. A subscription is
/// no call; a call that is cancelled has no result.
///
/// The functions are called while the client works, so they must not wait, nor use the client: a
/// call waits by [`Before::Wait`], and is repeated after the time that [`after`](Self::after)
/// returns. Both count towards its [limit](CallOptions::limit), at which it ends as
/// [`CallError::TimedOut`], or with the result that it had.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_sansio::OwnedJson;
/// use mcp_sansio_engine::{CallError, Middleware, OutgoingCall};
///
/// /// Reads a resource up to three times.
/// struct Retry;
///
/// impl Middleware for Retry {
///     fn after(
///         &mut self,
///         call: &OutgoingCall<'_>,
///         result: &mut Result<OwnedJson, CallError>,
///     ) -> Option<Duration> {
///         let may_repeat = call.method == "resources/read" && call.attempt < 3;
///         (may_repeat && result.is_err()).then(|| Duration::from_millis(200) * call.attempt)
///     }
/// }
/// ```
pub trait Middleware {
    /// A call is made, or is to be repeated. Its parameters and its options can be changed.
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        let _ = call;
        Before::Send
    }

    /// A call that [was sent](Before::Send) has a result, which can be changed. Returns the time
    /// after which the call is repeated; `None`: it is over. Nothing is repeated once the
    /// connection is closed.
    fn after(
        &mut self,
        call: &OutgoingCall<'_>,
        result: &mut Result<OwnedJson, CallError>,
    ) -> Option<Duration> {
        let _ = (call, result);
        None
    }

    /// Anything has happened, changes that the server tells of among it.
    fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        let _ = (now, event);
    }

    /// The client connects: for the first time, or again, perhaps to another server or as another
    /// user.
    fn connecting(&mut self) {}
}

/// The decision about a call that is made.
#[derive(Debug)]
pub enum Before {
    /// It is sent.
    Send,
    /// The middleware is asked again after this time.
    Wait(Duration),
    /// It has this result, and is not sent.
    Finish(Result<OwnedJson, CallError>),
}

/// A call, as a [`Middleware`] sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct OutgoingCall<'c> {
    /// Its method.
    pub method: &'c str,
    /// Its parameters, an object.
    pub params: OwnedJson,
    /// Its options.
    pub options: CallOptions,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The time at which the call was made.
    pub started: Instant,
    /// The time of this attempt.
    pub now: Instant,
    /// Whether the server has asked for input, so that the result is for this call alone.
    pub had_input: bool,
    /// [Number](Driver::authorization) of the access token at [`now`](Self::now). The request may
    /// be sent with a later one.
    pub authorization: u32,
}

/// Several middlewares, the first outermost: it sees a call first, and its result last. A
/// middleware that changes parameters belongs before a cache, and what counts attempts behind what
/// repeats them.
#[derive(Default)]
pub struct Layers<'c>(Vec<Box<dyn Middleware + Send + 'c>>);

impl<'c> Layers<'c> {
    /// Adds the innermost middleware.
    pub fn push(&mut self, middleware: impl Middleware + Send + 'c) {
        self.0.push(Box::new(middleware));
    }

    /// Returns them as one, for [`Driver::middleware`]; `None` if there are none.
    pub fn as_middleware(&mut self) -> Option<&mut dyn Middleware> {
        if self.0.is_empty() { None } else { Some(self) }
    }
}

impl Middleware for Layers<'_> {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        for at in 0..self.0.len() {
            let (outer, inner) = self.0.split_at_mut(at);
            match inner.first_mut().map_or(Before::Send, |layer| layer.before(call)) {
                Before::Send => {}
                Before::Wait(time) => return Before::Wait(time),
                Before::Finish(mut result) => {
                    let again = outer.iter_mut().rev().find_map(|it| it.after(call, &mut result));
                    call.attempt = call.attempt.saturating_add(u32::from(again.is_some()));
                    return again.map_or(Before::Finish(result), Before::Wait);
                }
            }
        }
        Before::Send
    }

    fn after(
        &mut self,
        call: &OutgoingCall<'_>,
        result: &mut Result<OwnedJson, CallError>,
    ) -> Option<Duration> {
        self.0.iter_mut().rev().find_map(|layer| layer.after(call, result))
    }

    fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        self.0.iter_mut().for_each(|layer| layer.event(now, event));
    }

    fn connecting(&mut self) {
        self.0.iter_mut().for_each(|layer| layer.connecting());
    }
}

mcp_sansio::opaque_debug!(Layers<'_> |it| { layers: it.0.len() });

impl Pending {
    /// Calls a function with the call as a middleware sees it. `None` if none has seen the call.
    fn outgoing<R>(&mut self, of: impl FnOnce(&mut OutgoingCall<'_>) -> R) -> Option<R> {
        let attempt = self.attempt.as_mut()?;
        let params = self.params.take().unwrap_or_else(|| RawJson::EMPTY.into());
        let mut call = OutgoingCall {
            method: &self.method,
            params,
            options: self.options,
            attempt: attempt.number,
            started: self.started,
            now: attempt.at,
            had_input: attempt.had_input,
            authorization: attempt.authorization,
        };
        let done = of(&mut call);
        attempt.number = call.attempt;
        (self.params, self.options) = (Some(call.params), call.options);
        Some(done)
    }
}

impl<D: Driver> Turn<'_, D> {
    /// Adds a call, and asks the middleware about it.
    pub(super) fn call_through(
        &mut self,
        now: Instant,
        method: &str,
        params: OwnedJson,
        options: CallOptions,
    ) -> CallId {
        let pending = self.state.calls.add(now, method.into(), Some(params), options);
        let attempt =
            Attempt { number: 1, at: now, until: None, had_input: false, authorization: 0 };
        pending.attempt = Some(Box::new(attempt));
        let id = pending.id;
        self.state.new_calls += 1;
        self.admit(now, id);
        id
    }

    /// Asks the middleware about a call for which nothing is sent.
    fn admit(&mut self, now: Instant, id: CallId) {
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        if let Some(attempt) = &mut pending.attempt {
            (attempt.at, attempt.until) = (now, None);
            attempt.authorization = self.driver.authorization();
        }
        let middleware = self.driver.middleware();
        let before = middleware
            .and_then(|it| pending.outgoing(|call| it.before(call)))
            .unwrap_or(Before::Send);
        match before {
            Before::Send => {
                let due = self.state.ends_at(id);
                self.state.calls.set_due(id, due);
                self.state.waiting.push_back(Waiting::Call(id));
            }
            Before::Wait(time) => self.state.delay(id, now.saturating_add(time)),
            Before::Finish(result) => {
                pending.attempt = None;
                self.close(id, result);
            }
        }
    }

    /// Asks the middleware again about a call that it has delayed. Returns whether it has.
    pub(super) fn admit_delayed(&mut self, now: Instant, id: CallId) -> bool {
        let attempt = self.state.calls.get(id).and_then(|pending| pending.attempt.as_ref());
        let is_due = attempt.and_then(|attempt| attempt.until).is_some_and(|until| until <= now)
            && self.state.ends_at(id).is_none_or(|end| now < end);
        if is_due {
            self.admit(now, id);
        }
        is_due
    }

    /// Ends a call, unless the middleware wants another attempt for which there is time.
    pub(super) fn finish_or_repeat(
        &mut self,
        now: Instant,
        id: CallId,
        mut result: Result<OwnedJson, CallError>,
    ) {
        if self.driver.middleware().is_some()
            && let Some(time) = self.tell(id, &mut result)
        {
            let until = now.saturating_add(time);
            if self.state.ends_at(id).is_none_or(|end| until < end) {
                return self.attempt_again(id, until);
            }
        }
        self.close(id, result);
    }

    /// Ends a call, of which the middleware is told.
    pub(super) fn finish(&mut self, id: CallId, mut result: Result<OwnedJson, CallError>) {
        if self.driver.middleware().is_some() {
            self.tell(id, &mut result);
        }
        self.close(id, result);
    }

    fn tell(&mut self, id: CallId, result: &mut Result<OwnedJson, CallError>) -> Option<Duration> {
        let middleware = self.driver.middleware()?;
        let pending = self.state.calls.open_mut(id)?;
        // It waits for its turn: nothing was sent.
        if pending.attempt.as_ref()?.until.is_some() {
            return None;
        }
        pending.outgoing(|call| middleware.after(call, result)).flatten()
    }

    /// Makes a call new, so that the middleware is asked about it then.
    fn attempt_again(&mut self, id: CallId, until: Instant) {
        self.stop(id, None);
        self.state.waiting.retain(|it| !matches!(it, Waiting::Call(waits) if *waits == id));
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        (pending.call, pending.task, pending.asked) = (None, None, Asked::Call);
        (pending.is_held, pending.is_postponed, pending.was_refused) = (false, false, false);
        if let Some(attempt) = &mut pending.attempt {
            (attempt.number, attempt.had_input) = (attempt.number.saturating_add(1), false);
        }
        self.state.new_calls += 1;
        self.state.delay(id, until);
    }
}

impl State {
    fn delay(&mut self, id: CallId, until: Instant) {
        if let Some(attempt) = self.calls.get_mut(id).and_then(|it| it.attempt.as_mut()) {
            attempt.until = Some(until);
        }
        let due = self.ends_at(id).map_or(until, |end| end.min(until));
        self.calls.set_due(id, Some(due));
    }

    /// Returns the time at which a call ends whatever happens.
    fn ends_at(&self, id: CallId) -> Option<Instant> {
        let pending = self.calls.get(id)?;
        Some(self.end_of(pending.started, &pending.options))
    }
}
