//! Byte budget shared by the bodies of all requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::super::context::BodyReservation;
use super::super::driver_waker::WakerSet;

/// The bytes that the bodies of all connections take, from the first read until neither the body
/// nor a handler's copy of it is needed any more.
///
/// A body without room waits, and is not read further. Room for the longest body is reserved for
/// one connection at a time, so that partly read bodies do not wait for each other. Bodies of up to
/// [`SMALL`] bytes are not counted, so that the response that a handler waits for can be read while
/// handlers hold all of the room.
pub(super) struct Bodies {
    limit: usize,
    max_body: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// The body that may use the reserve.
    preferred: Option<u64>,
    /// Waiting bodies, in the order in which they started.
    waiting: WakerSet,
}

/// Share of a body in the budget, returned when it is dropped.
pub(super) struct BodyShare {
    bodies: Arc<Bodies>,
    bytes: usize,
    /// Number of the body, once it has taken or waited for room.
    number: Option<u64>,
}

impl Bodies {
    pub(super) fn new(limit: usize, max_body: usize) -> Self {
        Self { limit, max_body: max_body.min(limit), state: Mutex::default() }
    }

    /// Returns the maximum length of a body, in bytes.
    pub(super) const fn max_body(&self) -> usize {
        self.max_body
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyShare {
    /// Creates the share of a body of which nothing has been read.
    pub(super) fn new(bodies: &Arc<Bodies>) -> Self {
        Self { bodies: Arc::clone(bodies), bytes: 0, number: None }
    }

    /// Converts it to the share that the handlers of the body's messages hold, if there is one.
    pub(super) fn into_held(self) -> Option<BodyReservation> {
        (self.bytes > 0).then(|| Arc::new(self) as BodyReservation)
    }

    /// Takes room for a body of which `len` bytes are read.
    pub(super) fn poll_take(&mut self, len: usize, cx: &mut Context<'_>) -> Poll<()> {
        if len <= SMALL.max(self.bytes) {
            return Poll::Ready(());
        }
        let bodies = &*self.bodies;
        let wanted = len.next_multiple_of(BLOCK).min(bodies.max_body).max(len) - self.bytes;
        let mut state = bodies.lock();
        // Also assigns a number and a place in the queue.
        state.waiting.wait(&mut self.number, cx.waker());
        let is_first = state.waiting.first() == self.number;
        let common = (bodies.limit - bodies.max_body).saturating_sub(state.taken);
        if !is_first || wanted > common {
            if is_first && state.preferred.is_none() {
                state.preferred = self.number;
            }
            if state.preferred != self.number || wanted > bodies.limit.saturating_sub(state.taken) {
                return Poll::Pending;
            }
        }
        state.taken += wanted;
        self.bytes += wanted;
        self.leave(state);
        Poll::Ready(())
    }

    /// Shrinks the share of a complete body to its length.
    pub(super) fn complete(&mut self, len: usize) {
        if self.number.is_none() {
            return;
        }
        let mut state = self.bodies.lock();
        let kept = len.min(self.bytes);
        state.taken -= self.bytes - kept;
        self.bytes = kept;
        if state.preferred == self.number {
            state.preferred = None;
        }
        self.leave(state);
    }

    /// Leaves the queue, and wakes the bodies that may continue.
    fn leave(&self, mut state: MutexGuard<'_, State>) {
        if let Some(number) = self.number {
            state.waiting.leave(number);
        }
        let next =
            [state.waiting.first(), state.preferred].map(|number| state.waiting.waker(number?));
        drop(state);
        next.into_iter().flatten().for_each(Waker::wake);
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.complete(0);
    }
}

/// Maximum length of a body that is not counted, in bytes.
const SMALL: usize = 4 << 10;
/// Bytes that are taken from the budget at once.
const BLOCK: usize = 16 << 10;
