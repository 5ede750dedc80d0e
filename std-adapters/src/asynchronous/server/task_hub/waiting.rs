//! Requests of 2025-11-25 that wait for the result of a task. The questions of the task travel as
//! part of them.

#[cfg(feature = "http")]
use std::hash::BuildHasher as _;
use std::mem::take;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_sansio::tasks::TaskKey;
use mcp_sansio::{OwnedJson, RpcError};
use mcp_sansio_engine::PlaceLimit;
#[cfg(feature = "http")]
use mcp_sansio_engine::site::OwnedHead;

use super::state::{Kept, Woken};
use super::{TaskHub, Waiting};
use crate::asynchronous::server::context::ActiveRequest;
use crate::asynchronous::server::reply::PendingResponse;
use crate::asynchronous::server::source::RequestSource;

/// A `tasks/result` that waits. Dropping it gives its place back, and withdraws what it has asked.
pub(crate) struct ResultOf<'r> {
    hub: &'r TaskHub,
    task: TaskKey,
    number: u64,
    request: &'r Arc<ActiveRequest>,
    source: &'r Arc<dyn RequestSource>,
    asked: Vec<Asked>,
}

/// A question that travels with the request.
struct Asked {
    input: u32,
    /// What is to be sent first.
    json: Option<OwnedJson>,
    place: Option<u64>,
}

impl TaskHub {
    /// Keeps a `tasks/result` until its task has ended.
    ///
    /// # Errors
    /// The response, if there are too many or the task has ended.
    pub(crate) fn wait<'r>(
        &'r self,
        task: TaskKey,
        request: &'r Arc<ActiveRequest>,
        source: &'r Arc<dyn RequestSource>,
        address_share: u8,
    ) -> Result<ResultOf<'r>, PendingResponse> {
        let mut state = self.lock();
        let info = state.tasks.tasks(&self.options.config).info(task);
        if !info.is_some_and(|info| info.is_live()) {
            drop(state);
            return Err(self.result(task));
        }
        let (client, share) = self.waiter(request, address_share);
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
        kept.waiting.push(Waiting {
            number,
            client,
            waker: None,
            #[cfg(feature = "http")]
            request: Arc::clone(request),
            #[cfg(feature = "http")]
            source: Arc::clone(source),
            is_open: true,
        });
        drop(state);
        Ok(ResultOf { hub: self, task, number, request, source, asked: Vec::new() })
    }

    /// Returns in whose share a `tasks/result` waits, and the share in percent: that of a principal
    /// or a connection, or of all without a principal from an address.
    fn waiter(&self, request: &ActiveRequest, address_share: u8) -> (Option<u64>, u8) {
        #[cfg(feature = "http")]
        if let Some(origin) = &request.origin {
            let peer = origin.head.as_ref().and_then(OwnedHead::peer_address);
            return match &origin.principal {
                Some(of) => (Some(self.owner_of(&of.issuer, &of.subject).0), CLIENT_SHARE),
                None => (peer.map(|peer| self.owners.hash_one(peer)), address_share),
            };
        }
        let _ = address_share;
        (Some(request.slot.connection()), CLIENT_SHARE)
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

impl ResultOf<'_> {
    /// Sends the questions of the task, and polls for its result.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<PendingResponse> {
        let Some(withdrawn) = self.take_questions(cx.waker()) else {
            return Poll::Ready(self.hub.result(self.task));
        };
        withdrawn.into_iter().for_each(|place| self.source.leave_input(self.request, place));
        let mut asked = take(&mut self.asked);
        asked.retain_mut(|Asked { input, json, place }| {
            match self.source.poll_input(cx, self.request, json.take(), place) {
                Poll::Pending => return true,
                // This request is over: the question becomes part of another.
                Poll::Ready(Err(error)) if error.is_gone() => self.give_up(*input),
                Poll::Ready(result) => self.hub.answer(self.task, *input, result),
            }
            false
        });
        self.asked = asked;
        Poll::Pending
    }

    /// Takes the questions that travel with no other request. Returns the places of those whose
    /// handler does not wait any more, and `None` if the task has ended.
    fn take_questions(&mut self, waker: &Waker) -> Option<Vec<u64>> {
        let mut state = self.hub.lock();
        let Kept { inputs, waiting, .. } = state.kept(self.task)?;
        let waiting = waiting.iter_mut().find(|waiting| waiting.number == self.number)?;
        waiting.waker = Some(waker.clone());
        let mut withdrawn = Vec::new();
        self.asked.retain(|asked| {
            let is_awaited = inputs.iter().any(|input| input.request.number == asked.input);
            withdrawn.extend(asked.place.filter(|_| !is_awaited));
            is_awaited
        });
        for input in inputs.iter_mut().filter(|input| waiting.is_open && input.is_to_be_asked()) {
            input.asked_by = Some(self.number);
            let json = Some((*input.request.request).clone());
            self.asked.push(Asked { input: input.request.number, json, place: None });
        }
        Some(withdrawn)
    }

    /// Leaves a question to another request, since nothing more can be sent with this one.
    fn give_up(&self, number: u32) {
        let mut state = self.hub.lock();
        let Some(kept) = state.kept(self.task) else { return };
        let all = &mut kept.waiting;
        if let Some(waiting) = all.iter_mut().find(|waiting| waiting.number == self.number) {
            waiting.is_open = false;
        }
        if let Some(input) = kept.inputs.iter_mut().find(|input| input.request.number == number) {
            input.asked_by = None;
        }
        let woken = kept.askers();
        drop(state);
        woken.wake();
    }

    /// Gives the place and the questions back.
    fn leave(&self) -> Woken {
        let mut state = self.hub.lock();
        let Some(kept) = state.kept(self.task) else { return Woken::default() };
        let is_this = |waiting: &Waiting| waiting.number == self.number;
        let Some(at) = kept.waiting.iter().position(is_this) else { return Woken::default() };
        let removed = kept.waiting.remove(at);
        for input in &mut kept.inputs {
            input.asked_by = input.asked_by.filter(|by| *by != self.number);
        }
        let woken = kept.askers();
        state.waiting.give_back(1, removed.client.as_ref());
        woken
    }
}

impl Drop for ResultOf<'_> {
    fn drop(&mut self) {
        self.leave().wake();
        for place in self.asked.iter().filter_map(|asked| asked.place) {
            self.source.leave_input(self.request, place);
        }
    }
}

/// The share of an owner of tasks, in percent.
pub(super) const CLIENT_SHARE: u8 = 25;
