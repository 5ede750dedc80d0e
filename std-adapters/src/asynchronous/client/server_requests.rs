//! Requests of a legacy server, and the responses to them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use mcp_sansio::{OwnedJson, RequestHandle, Revision, SendError, ServerRequest};

use super::inner::{ConnectionInner, State};
use super::input::{InputFuture, InputRefusal, OwnedInputRequest};

/// Futures of requests, and responses that wait for room; a future never sends its own. Together
/// there are at most as many as the core's table has entries, because requests that the server
/// cancels are removed.
pub(super) struct ServerRequests {
    open: Vec<(RequestHandle, InputFuture)>,
    responses: VecDeque<(RequestHandle, Result<OwnedJson, InputRefusal>)>,
    ready: Arc<ReadyFlag>,
}

/// Whether one of the futures was woken.
struct ReadyFlag {
    is_set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl ServerRequests {
    pub(super) fn new() -> Self {
        let ready = ReadyFlag { is_set: AtomicBool::new(false), waker: Mutex::new(None) };
        Self { open: Vec::new(), responses: VecDeque::new(), ready: Arc::new(ready) }
    }

    pub(super) fn insert(&mut self, request: &ServerRequest<'_>, inner: &ConnectionInner) {
        let revision =
            inner.with(|state| state.client().revision()).unwrap_or(Revision::LATEST_LEGACY);
        match OwnedInputRequest::of(request, revision) {
            Ok(input) => {
                self.open.push((request.handle, (inner.input_handler)(input)));
                self.ready.is_set.store(true, Ordering::Release);
            }
            Err(refusal) => self.responses.push_back((request.handle, Err(refusal))),
        }
    }

    /// Drops a request that the server has cancelled, or that has timed out.
    pub(super) fn remove(&mut self, request: RequestHandle) {
        self.open.retain(|(handle, _)| *handle != request);
        self.responses.retain(|(handle, _)| *handle != request);
    }

    /// Polls all futures if one was woken; they are few. Returns whether one has completed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.open.is_empty() {
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
        self.open.retain_mut(|(handle, pending)| match pending.as_mut().poll(&mut cx) {
            Poll::Pending => true,
            Poll::Ready(response) => {
                responses.push_back((*handle, response.map(|response| response.0)));
                false
            }
        });
        responses.len() > before
    }

    /// Sends as many responses as there is room for.
    pub(super) fn send(&mut self, state: &mut State) {
        while let Some((handle, response)) = self.responses.front().filter(|_| state.has_room()) {
            let sent = state.call(|client, tx| match response {
                Ok(json) => client.respond_raw(*handle, json.as_raw(), tx),
                Err(refusal) => client.respond_error(*handle, &refusal.as_error(), tx),
            });
            match sent {
                Err(SendError::Full) => return,
                // It makes no difference whether the request was still open.
                Ok(_) | Err(_) => drop(self.responses.pop_front()),
            }
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.open.len() + self.responses.len()
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.responses.clear();
    }
}

impl ReadyFlag {
    fn set_waker(&self, waker: &Waker) {
        let mut kept = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
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
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
