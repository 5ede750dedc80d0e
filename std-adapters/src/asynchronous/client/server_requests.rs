//! Requests of a legacy server, and the responses to them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use mcp_sansio::tasks::TaskKey;
use mcp_sansio::{Instant, OwnedJson, RequestHandle, Revision, SendError, ServerRequest};

use super::inner::{ConnectionInner, State};
use super::input::{InputFuture, InputRefusal, OwnedInputRequest};
use crate::client::{HostedReply, HostedStep, HostedTasks, TaskOutcome, task_id, task_time};
use crate::lock::lock;

/// Futures of requests, and responses that wait for room; a future never sends its own. Together
/// there are at most as many as the core's table has entries, because requests that the server
/// cancels are removed.
pub(crate) struct ServerRequests {
    open: Vec<(RequestHandle, InputFuture)>,
    responses: VecDeque<(RequestHandle, Response)>,
    hosted: HostedTasks,
    /// Futures of requests that run as tasks.
    running: Vec<(TaskKey, InputFuture)>,
    ready: Arc<ReadyFlag>,
}

enum Response {
    Input(Result<OwnedJson, InputRefusal>),
    Task(HostedReply),
}

/// Whether one of the futures was woken.
struct ReadyFlag {
    is_set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl ServerRequests {
    pub(crate) fn new(max_open: u16) -> Self {
        let ready = ReadyFlag { is_set: AtomicBool::new(false), waker: Mutex::new(None) };
        let _ = max_open;
        Self {
            open: Vec::new(),
            responses: VecDeque::new(),
            hosted: HostedTasks::new(max_open),
            running: Vec::new(),
            ready: Arc::new(ready),
        }
    }

    pub(crate) fn insert(&mut self, request: &ServerRequest<'_>, inner: &ConnectionInner) {
        if self.insert_hosted(request, inner) {
            return;
        }
        let revision =
            inner.with(|state| state.client().revision()).unwrap_or(Revision::LATEST_LEGACY);
        match OwnedInputRequest::of(request, revision) {
            Ok(input) => {
                self.open.push((request.handle, (inner.input_handler)(input)));
                self.ready.is_set.store(true, Ordering::Release);
            }
            Err(refusal) => {
                self.responses.push_back((request.handle, Response::Input(Err(refusal))));
            }
        }
    }

    /// Drops a request that the server has cancelled, or that has timed out.
    pub(crate) fn remove(&mut self, request: RequestHandle) {
        self.open.retain(|(handle, _)| *handle != request);
        self.hosted.forget(request);
        self.responses.retain(|(handle, _)| *handle != request);
    }

    /// Polls all futures if one was woken; they are few. Returns whether one has completed.
    pub(crate) fn poll(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        if self.is_empty() {
            return false;
        }
        self.ready.set_waker(cx.waker());
        if !self.ready.is_set.swap(false, Ordering::AcqRel) {
            return false;
        }
        let waker = Waker::from(Arc::clone(&self.ready));
        let mut cx = Context::from_waker(&waker);
        let responses = &mut self.responses;
        let before = responses.len();
        let _ = now;
        self.open.retain_mut(|(handle, pending)| match pending.as_mut().poll(&mut cx) {
            Poll::Pending => true,
            Poll::Ready(response) => {
                let response = response.map(|response| response.0);
                responses.push_back((*handle, Response::Input(response)));
                false
            }
        });
        self.poll_hosted(now, &mut cx);
        self.responses.len() > before
    }

    /// Returns whether no future is pending.
    fn is_empty(&self) -> bool {
        if !self.running.is_empty() {
            return false;
        }
        self.open.is_empty()
    }

    /// Sends as many responses as there is room for.
    pub(crate) fn send(&mut self, state: &mut State) {
        while let Some((handle, response)) = self.responses.front().filter(|_| state.has_room()) {
            let sent = state.call(|client, tx| match response {
                Response::Input(Ok(json)) => client.respond_raw(*handle, json.as_raw(), tx),
                Response::Input(Err(refusal)) => {
                    client.respond_error(*handle, &refusal.as_error(), tx)
                }
                Response::Task(reply) => reply.send(client, *handle, tx),
            });
            match sent {
                Err(SendError::Full) => return,
                // It makes no difference whether the request was still open.
                Ok(_) | Err(_) => drop(self.responses.pop_front()),
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.open.len() + self.responses.len()
    }

    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.responses.clear();
        self.running.clear();
    }
}

/// Requests that run as tasks (2025-11-25), and requests about them.
impl ServerRequests {
    /// Returns `false` for a request that has nothing to do with tasks.
    fn insert_hosted(&mut self, request: &ServerRequest<'_>, inner: &ConnectionInner) -> bool {
        let (now, handle) = (inner.now(), request.handle);
        match self.hosted.handle(task_time(now), request) {
            Some(HostedStep::Respond(reply)) => {
                self.responses.push_back((handle, Response::Task(reply)));
            }
            Some(HostedStep::Cancel(key, reply)) => {
                self.responses.push_back((handle, Response::Task(reply)));
                self.stop(key);
            }
            Some(HostedStep::Wait) => {}
            None => {
                let Some(task) = &request.task else { return false };
                let input = match OwnedInputRequest::of(request, Revision::V2025_11_25) {
                    Ok(input) => input,
                    Err(_) => return false,
                };
                match self.hosted.create(task_time(now), task_id(), task.ttl) {
                    Ok((key, reply)) => {
                        self.responses.push_back((handle, Response::Task(reply)));
                        self.running.push((key, (inner.input_handler)(input)));
                        self.ready.is_set.store(true, Ordering::Release);
                    }
                    Err(error) => {
                        let error = error.as_error();
                        let refusal = InputRefusal::error(error.code, error.message);
                        self.responses.push_back((handle, Response::Input(Err(refusal))));
                    }
                }
            }
        }
        true
    }

    fn poll_hosted(&mut self, now: Instant, cx: &mut Context<'_>) {
        let mut ended = Vec::new();
        self.running.retain_mut(|(key, pending)| match pending.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(response) => {
                ended.push((*key, response));
                false
            }
        });
        for (key, response) in ended {
            let outcome: TaskOutcome = match response {
                Ok(response) => Ok(response.0),
                Err(refusal) => Err(refusal.as_error().into()),
            };
            let late = self.hosted.end(task_time(now), key, outcome);
            self.respond_late(late);
        }
    }

    /// Stops tasks whose time is over.
    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        while let Some(key) = self.hosted.expire(task_time(now)) {
            self.stop(key);
        }
    }

    pub(crate) fn next_timeout(&mut self) -> Option<Instant> {
        self.hosted.next_timeout()
    }

    fn stop(&mut self, key: TaskKey) {
        self.running.retain(|(of, _)| *of != key);
        let late = self.hosted.ended(key);
        self.respond_late(late);
    }

    fn respond_late(&mut self, late: Vec<(RequestHandle, HostedReply)>) {
        let late = late.into_iter().map(|(handle, reply)| (handle, Response::Task(reply)));
        self.responses.extend(late);
    }
}

impl ReadyFlag {
    fn set_waker(&self, waker: &Waker) {
        let mut kept = lock(&self.waker);
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }
}

impl Wake for ReadyFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_set.swap(true, Ordering::AcqRel) {
            return;
        }
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
