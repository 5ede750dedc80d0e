//! One call: queued, in flight, cancelled when it is dropped.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_sansio::{Call, Instant, SendError, Tx};

use super::calls::CallEvent;
use super::error::CallError;
use super::handle::ClientInner;
use super::inner::{ConnectionInner, State};
use crate::asynchronous::timer::Timer;

/// A call in flight.
pub(super) struct PendingCall {
    /// Keeps the connection open.
    owner: Arc<ClientInner>,
    number: usize,
}

/// A function of the core that writes a message. Repeated until it succeeds.
pub(super) trait SendFn<R>:
    FnMut(&mut mcp_sansio::Client<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>
{
}

impl<F, R> SendFn<R> for F where
    F: FnMut(&mut mcp_sansio::Client<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>
{
}

/// As [`SendFn`], for a request; it also gets the remaining time limit.
pub(super) trait SendRequestFn:
    FnMut(&mut mcp_sansio::Client<'_>, Instant, Duration, &mut Tx<'_>) -> Result<Call, SendError>
{
}

impl<F> SendRequestFn for F where
    F: FnMut(
        &mut mcp_sansio::Client<'_>,
        Instant,
        Duration,
        &mut Tx<'_>,
    ) -> Result<Call, SendError>
{
}

/// Time at which a call times out.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Option<std::time::Instant>);

impl Deadline {
    pub(super) const NEVER: Self = Self(None);

    /// Starts a time limit. `Duration::MAX` is no limit.
    pub(super) fn after(limit: Duration) -> Self {
        Self(std::time::Instant::now().checked_add(limit))
    }

    #[cfg(feature = "tasks")]
    pub(super) const fn at(self) -> Option<std::time::Instant> {
        self.0
    }

    pub(super) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(std::time::Instant::now()))
    }
}

impl PendingCall {
    /// Sends a request as soon as it is first in the queue, unless the deadline has passed by then.
    pub(super) async fn start(
        owner: &Arc<ClientInner>,
        deadline: Deadline,
        mut send: impl SendRequestFn,
    ) -> Result<Self, CallError> {
        let send = |client: &mut mcp_sansio::Client<'_>, now, tx: &mut Tx<'_>| {
            send(client, now, deadline.left(), tx)
        };
        let number = send_when_ready(&owner.inner, deadline, send, |state, call| {
            state.calls.open(Some(call))
        })
        .await?;
        Ok(Self { owner: Arc::clone(owner), number })
    }

    /// Creates an entry without a request: for subscriptions to a legacy server, and for what is
    /// told about a task.
    pub(super) fn without_call(
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

    pub(super) fn poll_event(&self, cx: &Context<'_>) -> Poll<CallEvent> {
        self.owner
            .inner
            .with(|state| state.calls.take(self.number, cx.waker()))
            .map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) async fn next_event(&self) -> CallEvent {
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
pub(super) async fn send_when_ready<R, S>(
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
    timer: Option<Timer>,
}

impl QueuedSend<'_> {
    fn poll<R, S>(
        &mut self,
        cx: &mut Context<'_>,
        send: &mut impl SendFn<R>,
        sent: &impl Fn(&mut State, R) -> S,
    ) -> Poll<Result<S, CallError>> {
        let queued = self.try_to_send(cx, send, sent);
        let Some(at) = self.deadline.0.filter(|_| queued.is_pending()) else { return queued };
        match Pin::new(self.timer.get_or_insert_with(|| Timer::at(at))).poll(cx) {
            Poll::Ready(_) => Poll::Ready(Err(CallError::TimedOut)),
            Poll::Pending => Poll::Pending,
        }
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
            let has_room = (!self.was_full || state.tx.pending().is_empty()) && state.has_room();
            if has_room
                && connected.is_ready()
                && state.send_queue.is_next(self.number)
                && !state.is_cut_off
            {
                self.was_full = false;
                let was_mid_frame = state.tx.is_mid_frame();
                let result = state.call(|client, tx| send(client, now, tx));
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
