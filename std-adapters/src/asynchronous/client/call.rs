//! One call: queued, in flight, cancelled when it is dropped.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_sansio::{Call, Instant, SendError, Tx};

use super::calls::CallEvent;
use super::deadline::Deadline;
use super::error::CallError;
use super::handle::ClientInner;
use super::inner::{ConnectionInner, State};
use crate::runtime::timer::Timer;

/// A call in flight.
pub(crate) struct PendingCall {
    /// Keeps the connection open.
    owner: Arc<ClientInner>,
    number: usize,
}

/// A function of the core that writes a message; it gets the remaining time limit. Repeated until
/// it succeeds.
pub(crate) trait SendFn<R>:
    FnMut(&mut mcp_sansio::Client<'_>, Instant, Duration, &mut Tx<'_>) -> Result<R, SendError>
{
}

impl<F, R> SendFn<R> for F where
    F: FnMut(&mut mcp_sansio::Client<'_>, Instant, Duration, &mut Tx<'_>) -> Result<R, SendError>
{
}

impl PendingCall {
    /// Sends a request as soon as it is first in the queue, unless the deadline has passed by then.
    pub(crate) async fn start(
        owner: &Arc<ClientInner>,
        deadline: Deadline,
        send: impl SendFn<Call>,
    ) -> Result<Self, CallError> {
        let number = send_when_ready(&owner.inner, deadline, send, |state, call| {
            state.calls.open(Some(call))
        })
        .await?;
        Ok(Self { owner: Arc::clone(owner), number })
    }

    /// Creates an entry without a request: for subscriptions to a legacy server, and for what is
    /// told about a task.
    pub(crate) fn without_call(
        owner: &Arc<ClientInner>,
        prepare: impl FnOnce(&mut State, usize),
    ) -> Self {
        let number = owner.inner.with(|state| {
            let number = state.calls.open(None);
            prepare(state, number);
            number
        });
        Self { owner: Arc::clone(owner), number }
    }

    pub(crate) fn poll_event(&self, cx: &Context<'_>) -> Poll<CallEvent> {
        self.owner
            .inner
            .with(|state| state.calls.take(self.number, cx.waker()))
            .map_or(Poll::Pending, Poll::Ready)
    }

    pub(crate) async fn next_event(&self) -> CallEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.owner.inner.with(|state| {
            if let Some(call) = state.calls.close(self.number) {
                state.abandoned.push(call);
                state.notify_driver();
            }
        });
    }
}

/// Sends as soon as the connection is open and the queue allows it; `sent` is called under the same
/// lock.
///
/// Not cancel safe in the middle of a long request: dropping it cuts the request off.
pub(crate) async fn send_when_ready<R, S>(
    inner: &ConnectionInner,
    deadline: Deadline,
    mut send: impl SendFn<R>,
    sent: impl Fn(&mut State, R) -> S,
) -> Result<S, CallError> {
    let mut queued = QueuedSend { inner, number: None, was_full: false, deadline, timer: None };
    poll_fn(|cx| queued.poll(cx, &mut send, &sent)).await
}

/// A position in the send queue.
struct QueuedSend<'l> {
    inner: &'l ConnectionInner,
    number: Option<u64>,
    /// Whether the output buffer was full at the last attempt. The next one is worthwhile when all
    /// output has been sent, because each attempt serializes the request again.
    was_full: bool,
    deadline: Deadline,
    /// Created on demand: most requests are sent at once.
    timer: Option<(std::time::Instant, Timer)>,
}

impl QueuedSend<'_> {
    fn poll<R, S>(
        &mut self,
        cx: &mut Context<'_>,
        send: &mut impl SendFn<R>,
        sent: &impl Fn(&mut State, R) -> S,
    ) -> Poll<Result<S, CallError>> {
        let queued = self.try_to_send(cx, send, sent);
        if queued.is_ready() {
            return queued;
        }
        // The end of a login wakes all that are queued.
        let Some(at) = self.inner.with(|state| self.deadline.at(&state.login_time)) else {
            return Poll::Pending;
        };
        let timer = match &mut self.timer {
            Some((until, timer)) if *until == at => timer,
            other => &mut other.insert((at, Timer::at(at))).1,
        };
        Pin::new(timer).poll(cx).map(|_| Err(CallError::TimedOut))
    }

    fn try_to_send<R, S>(
        &mut self,
        cx: &Context<'_>,
        send: &mut impl SendFn<R>,
        sent: &impl Fn(&mut State, R) -> S,
    ) -> Poll<Result<S, CallError>> {
        let now = self.inner.now();
        self.inner.with(|state| {
            let connected = state.connected()?;
            let left = self.deadline.left_at(&state.login_time);
            let has_room = (!self.was_full || state.tx.pending().is_empty()) && state.has_room();
            if has_room
                && connected.is_ready()
                && state.send_queue.is_next(self.number)
                && !state.is_cut_off
            {
                self.was_full = false;
                let was_mid_frame = state.tx.is_mid_frame();
                let result = state.call(|client, tx| send(client, now, left, tx));
                match result {
                    Ok(result) => {
                        state.send_queue.is_mid_request = false;
                        state.notify_driver();
                        return Poll::Ready(Ok(sent(state, result)));
                    }
                    Err(SendError::Full) => {
                        self.was_full = true;
                        if state.tx.is_mid_frame() {
                            state.send_queue.is_mid_request |= !was_mid_frame;
                            state.notify_driver();
                        }
                    }
                    Err(SendError::TooManyCalls) => {}
                    Err(error) => {
                        state.send_queue.is_mid_request = false;
                        return Poll::Ready(Err(CallError::NotSent(error)));
                    }
                }
            }
            self.number = Some(state.send_queue.wait(self.number, cx.waker()));
            Poll::Pending
        })
    }
}

impl Drop for QueuedSend<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        self.inner.with(|state| {
            if state.send_queue.leave(number) {
                state.is_cut_off = true;
                state.notify_driver();
            }
            state.wake_next();
        });
    }
}
