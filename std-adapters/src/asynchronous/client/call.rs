//! One call on its way: waiting for its turn, in flight, given up when it is dropped.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_io::Timer;
use mcp_sansio::{Call, Instant, SendError, Tx};

use super::error::CallError;
use super::handle::Owner;
use super::link::{Link, State};
use super::mail::Letter;

/// A call in flight.
pub(super) struct InFlight<const N: usize> {
    /// It keeps the connection open.
    owner: Arc<Owner<N>>,
    number: usize,
}

/// A call of the core's that sends. Repeated until it is through.
pub(super) trait Send<const N: usize, R>:
    FnMut(&mut mcp_sansio::Client<'static, N>, Instant, &mut Tx<'_>) -> Result<R, SendError>
{
}

impl<F, const N: usize, R> Send<N, R> for F where
    F: FnMut(&mut mcp_sansio::Client<'static, N>, Instant, &mut Tx<'_>) -> Result<R, SendError>
{
}

/// The same of a request, which is told how long it may take.
pub(super) trait SendWithin<const N: usize>:
    FnMut(
    &mut mcp_sansio::Client<'static, N>,
    Instant,
    Duration,
    &mut Tx<'_>,
) -> Result<Call, SendError>
{
}

impl<F, const N: usize> SendWithin<N> for F where
    F: FnMut(
        &mut mcp_sansio::Client<'static, N>,
        Instant,
        Duration,
        &mut Tx<'_>,
    ) -> Result<Call, SendError>
{
}

/// When something that has been begun is given up.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Option<std::time::Instant>);

impl Deadline {
    pub(super) const NEVER: Self = Self(None);

    /// `Duration::MAX` from now is never.
    pub(super) fn after(limit: Duration) -> Self {
        Self(std::time::Instant::now().checked_add(limit))
    }

    pub(super) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(std::time::Instant::now()))
    }
}

impl<const N: usize> InFlight<N> {
    /// Sends a request as soon as it is its turn, unless it is too late by then.
    pub(super) async fn start(
        owner: &Arc<Owner<N>>,
        deadline: Deadline,
        mut send: impl SendWithin<N>,
    ) -> Result<Self, CallError> {
        let send = |client: &mut mcp_sansio::Client<'static, N>, now, tx: &mut Tx<'_>| {
            send(client, now, deadline.left(), tx)
        };
        let number =
            take_turn(&owner.link, deadline, send, |state, call| state.mail.open(Some(call)))
                .await?;
        Ok(Self { owner: Arc::clone(owner), number })
    }

    /// What stands for a call, where there is none.
    pub(super) fn without_call(
        owner: &Arc<Owner<N>>,
        prepare: impl FnOnce(&mut State<N>, usize),
    ) -> Self {
        let number = owner.link.with(|state| {
            let number = state.mail.open(None);
            prepare(state, number);
            number
        });
        Self { owner: Arc::clone(owner), number }
    }

    pub(super) fn poll_letter(&self, cx: &Context<'_>) -> Poll<Letter> {
        self.owner
            .link
            .with(|state| state.mail.take(self.number, cx.waker()))
            .map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) async fn letter(&self) -> Letter {
        poll_fn(|cx| self.poll_letter(cx)).await
    }
}

impl<const N: usize> Drop for InFlight<N> {
    fn drop(&mut self) {
        self.owner.link.with(|state| {
            if let Some(call) = state.mail.close(self.number) {
                state.unwanted.push(call);
                state.touch();
            }
        });
    }
}

/// Sends as soon as the connection is open and it is one's turn; `sent` is called under the same
/// lock.
pub(super) async fn take_turn<const N: usize, R, S>(
    link: &Link<N>,
    deadline: Deadline,
    mut send: impl Send<N, R>,
    sent: impl Fn(&mut State<N>, R) -> S,
) -> Result<S, CallError> {
    let mut turn = Turn { link, number: None, was_full: false, deadline, timer: None };
    poll_fn(|cx| turn.poll(cx, &mut send, &sent)).await
}

/// A place among those who want to send.
struct Turn<'l, const N: usize> {
    link: &'l Link<N>,
    number: Option<u64>,
    /// Whether there was no room when it was tried. It is worth another attempt when all has been
    /// sent: each formats the request again.
    was_full: bool,
    deadline: Deadline,
    /// Most need none, since their turn is at once.
    timer: Option<Timer>,
}

impl<const N: usize> Turn<'_, N> {
    fn poll<R, S>(
        &mut self,
        cx: &mut Context<'_>,
        send: &mut impl Send<N, R>,
        sent: &impl Fn(&mut State<N>, R) -> S,
    ) -> Poll<Result<S, CallError>> {
        let turn = self.try_to_send(cx, send, sent);
        let Some(at) = self.deadline.0.filter(|_| turn.is_pending()) else { return turn };
        match Pin::new(self.timer.get_or_insert_with(|| Timer::at(at))).poll(cx) {
            Poll::Ready(_) => Poll::Ready(Err(CallError::TimedOut)),
            Poll::Pending => Poll::Pending,
        }
    }

    fn try_to_send<R, S>(
        &mut self,
        cx: &Context<'_>,
        send: &mut impl Send<N, R>,
        sent: &impl Fn(&mut State<N>, R) -> S,
    ) -> Poll<Result<S, CallError>> {
        let now = self.link.now();
        self.link.with(|state| {
            let opened = state.opened()?;
            let has_room = !self.was_full || state.tx.pending().is_empty();
            if has_room
                && opened.is_ready()
                && state.turns.is_next(self.number)
                && !state.is_cut_off
            {
                self.was_full = false;
                let was_mid_frame = state.tx.is_mid_frame();
                let result = send(&mut state.client, now, &mut state.tx);
                match result {
                    Ok(result) => {
                        state.turns.has_begun = false;
                        state.touch();
                        return Poll::Ready(Ok(sent(state, result)));
                    }
                    Err(SendError::Full) => {
                        self.was_full = true;
                        if state.tx.is_mid_frame() {
                            state.turns.has_begun |= !was_mid_frame;
                            state.touch();
                        }
                    }
                    Err(SendError::TooMany) => {}
                    Err(error) => {
                        state.turns.has_begun = false;
                        return Poll::Ready(Err(CallError::NotSent(error)));
                    }
                }
            }
            self.number = Some(state.turns.wait(self.number, cx.waker()));
            Poll::Pending
        })
    }
}

impl<const N: usize> Drop for Turn<'_, N> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        self.link.with(|state| {
            if state.turns.leave(number) {
                state.is_cut_off = true;
                state.touch();
            }
            state.wake_next();
        });
    }
}
