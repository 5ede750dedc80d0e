//! Requests of tasks to clients of 2025-11-25: each is part of a `tasks/result` that waits.

#[cfg(feature = "http")]
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use mcp_sansio::tasks::TaskKey;
use mcp_sansio::{OwnedJson, RpcError, ToolError};
use mcp_sansio_engine::PlaceLimit;
#[cfg(feature = "http")]
use mcp_sansio_engine::site::OwnedHead;

use super::{Input, Mailbox, TaskHub, Waiting};
#[cfg(feature = "http")]
use crate::asynchronous::server::app::ADDRESS_SHARE;
use crate::asynchronous::server::context::ActiveRequest;
use crate::asynchronous::server::reply::PendingResponse;
use crate::asynchronous::server::source::RequestSource;

/// An input request that was sent: as part of what, and its place there.
pub(super) struct Sent {
    waiting: Waiting,
    place: u64,
}

/// What to do for an input request.
enum Next {
    /// Wait for a request that it can be a part of.
    Wait,
    Send(Waiting, OwnedJson),
    Poll(Waiting, u64),
    Gone,
}

impl TaskHub {
    /// Keeps a `tasks/result` until its task has ended. Returns its number.
    ///
    /// # Errors
    /// The response, if there are too many or the task has ended.
    pub(crate) fn wait(
        &self,
        task: TaskKey,
        runner: &Arc<Mailbox>,
        request: Arc<ActiveRequest>,
        source: Arc<dyn RequestSource>,
    ) -> Result<u64, PendingResponse> {
        let mut state = self.lock();
        let info = state.tasks.tasks(&self.options.config).info(task);
        if !info.is_some_and(|info| info.is_live()) {
            drop(state);
            return Err(self.result(task));
        }
        let (client, share) = self.waiter(&request, runner);
        let limit = PlaceLimit::percent(self.options.max_waiting, share);
        if state.waiting.take(1, client.as_ref(), limit).is_err() {
            let error = RpcError::internal("Too many requests wait for tasks: poll with tasks/get");
            return Err(PendingResponse::Refused(error));
        }
        state.last_waiting += 1;
        let number = state.last_waiting;
        let Some(kept) = state.kept(task) else {
            state.waiting.give_back(1, client.as_ref());
            return Err(PendingResponse::Refused(super::INTERNAL));
        };
        let runner = Arc::clone(runner);
        kept.waiting.push(Waiting { number, client, runner, request, source, is_open: true });
        let wakers: Vec<Waker> =
            kept.inputs.iter_mut().filter_map(|input| input.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Ok(number)
    }

    /// A `tasks/result` does not wait any more.
    pub(crate) fn stop_waiting(&self, task: TaskKey, number: u64) {
        let mut state = self.lock();
        let Some(kept) = state.kept(task) else { return };
        let Some(at) = kept.waiting.iter().position(|waiting| waiting.number == number) else {
            return;
        };
        let removed = kept.waiting.remove(at);
        state.waiting.give_back(1, removed.client.as_ref());
    }

    /// Returns in whose share a `tasks/result` waits, and the share in percent: that of a principal
    /// or a connection, or of all without a principal from an address.
    fn waiter(&self, request: &ActiveRequest, runner: &Mailbox) -> (Option<u64>, u8) {
        #[cfg(feature = "http")]
        if let Some(origin) = &request.origin {
            let peer = origin.head.as_ref().and_then(OwnedHead::peer_address);
            return match &origin.principal {
                Some(of) => (Some(self.owner_of(&of.issuer, &of.subject).0), CLIENT_SHARE),
                None => (peer.map(|peer| self.owners.hash_one(peer)), ADDRESS_SHARE),
            };
        }
        let _ = request;
        (Some(runner.connection()), CLIENT_SHARE)
    }

    /// Sends an input request of a task that has been begun, as soon as there is a `tasks/result`,
    /// and polls for the response.
    pub(super) fn poll_sent(
        &self,
        cx: &mut task::Context<'_>,
        task: TaskKey,
        number: u64,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        loop {
            let (waiting, polled, place) = match self.next(cx, task, number) {
                Next::Gone => return Poll::Ready(Err(ToolError::GONE)),
                Next::Wait => return Poll::Pending,
                Next::Send(waiting, json) => {
                    let mut place = None;
                    let polled =
                        waiting.source.poll_input(cx, &waiting.request, Some(json), &mut place);
                    (waiting, polled, place)
                }
                Next::Poll(waiting, place) => {
                    let mut place = Some(place);
                    let polled = waiting.source.poll_input(cx, &waiting.request, None, &mut place);
                    (waiting, polled, place)
                }
            };
            match polled {
                Poll::Pending => {
                    let sent = place.map(|place| Sent { waiting, place });
                    self.with_input(task, number, |input| input.sent = sent);
                    return Poll::Pending;
                }
                // The request that it was part of is over: it becomes part of another.
                Poll::Ready(Err(error)) if error.is_gone() => {
                    self.with_input(task, number, |input| input.sent = None);
                    let mut state = self.lock();
                    let all = state.kept(task).map(|kept| &mut kept.waiting);
                    let is_same = |other: &&mut Waiting| other.number == waiting.number;
                    if let Some(waiting) = all.and_then(|all| all.iter_mut().find(is_same)) {
                        waiting.is_open = false;
                    }
                }
                Poll::Ready(result) => {
                    self.with_input(task, number, |input| input.sent = None);
                    self.leave_input(task, number);
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn next(&self, cx: &task::Context<'_>, task: TaskKey, number: u64) -> Next {
        let mut state = self.lock();
        let Some(kept) = state.kept(task) else { return Next::Gone };
        let Some(input) = kept.inputs.iter_mut().find(|input| input.has_number(number)) else {
            return Next::Gone;
        };
        input.waker = Some(cx.waker().clone());
        if let Some(Sent { waiting, place }) = &input.sent {
            return Next::Poll(waiting.clone(), *place);
        }
        match kept.waiting.iter().find(|waiting| waiting.is_open) {
            Some(waiting) => Next::Send(waiting.clone(), (*input.request.request).clone()),
            None => Next::Wait,
        }
    }

    fn with_input(&self, task: TaskKey, number: u64, call: impl FnOnce(&mut Input)) {
        let mut state = self.lock();
        let inputs = state.kept(task).map(|kept| &mut kept.inputs);
        let input = inputs.and_then(|all| all.iter_mut().find(|input| input.has_number(number)));
        if let Some(input) = input {
            call(input);
        }
    }

    /// Returns the `tasks/result` that messages of a task can be sent with.
    #[cfg(feature = "http")]
    pub(super) fn channel(
        &self,
        task: TaskKey,
    ) -> Option<(Arc<ActiveRequest>, Arc<dyn RequestSource>)> {
        let mut state = self.lock();
        let waiting = state.kept(task)?.waiting.iter().find(|waiting| waiting.is_open)?;
        Some((Arc::clone(&waiting.request), Arc::clone(&waiting.source)))
    }
}

impl Sent {
    /// Withdraws the request.
    pub(super) fn leave(self) {
        self.waiting.source.leave_input(&self.waiting.request, self.place);
    }
}

/// The share of an owner of tasks, in percent.
pub(super) const CLIENT_SHARE: u8 = 25;
