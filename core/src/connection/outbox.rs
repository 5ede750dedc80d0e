//! The output of a machine: its buffer, outcomes that wait to be sent, and what found no room.

#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;
use core::convert::Infallible;

use super::Machine;
use crate::buffers::Storage;
use crate::buffers::tx::{Backoff, Tx, TxBuffer};
use crate::message::Messages;
use crate::protocol::error::{SendError, SendResult};
use crate::rpc::inflight::RequestHandle;
use crate::server::is_response_open;
use crate::time::Instant;

/// The outcome of a request: a result, an error, or input that is required first. `M` is
/// [`Server<'_>`](crate::Server) or [`Client<'_>`](crate::Client).
///
/// The handler of a request runs once and returns its outcome; only sending it repeats. One that
/// owns its data can be handed in ([`Connection::answer`](super::Connection::answer),
/// [`Turn::answer`](super::Turn::answer)); one that borrows from the request is sent while the
/// event lives ([`Turn::send`](super::Turn::send)).
///
/// ```
/// use mcp_sansio::types::TextResult;
/// use mcp_sansio::{ErrorCode, Outcome, RequestHandle, RpcError, SendError, Server, Tx};
/// enum Reply {
///     Celsius(f32),
///     NoSensor,
/// }
/// impl Outcome<Server<'_>> for Reply {
///     fn send(
///         &self,
///         server: &mut Server<'_>,
///         request: RequestHandle,
///         tx: &mut Tx<'_>,
///     ) -> Result<(), SendError> {
///         match self {
///             Self::Celsius(value) => {
///                 server.respond(request, &TextResult::new(&value.to_string()), tx)
///             }
///             Self::NoSensor => {
///                 server.respond_error(request, &RpcError::internal("no sensor"), tx)
///             }
///         }
///     }
/// }
/// ```
pub trait Outcome<M> {
    /// Writes the outcome, with one call of `machine`. Called again with the same value until it
    /// returns something other than [`SendError::Full`], and must then write the same bytes.
    ///
    /// # Errors
    /// Those of `machine`. Any but `Full` ends the request with an internal error (-32603).
    fn send(&self, machine: &mut M, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult;
}

impl<M> Outcome<M> for Infallible {
    fn send(&self, _: &mut M, _: RequestHandle, _: &mut Tx<'_>) -> SendResult {
        match *self {}
    }
}

/// The outcome of a function that can fail.
impl<M, T: Outcome<M>, E: Outcome<M>> Outcome<M> for Result<T, E> {
    fn send(&self, machine: &mut M, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
        match self {
            Ok(outcome) => outcome.send(machine, request, tx),
            Err(outcome) => outcome.send(machine, request, tx),
        }
    }
}

/// The output of a machine. What finds no room in the buffer is repeated once that is worth it, so
/// that its work stays linear even if the peer takes single bytes.
#[derive(Debug)]
pub struct Outbox<W: Storage, P> {
    /// The buffer.
    pub tx: TxBuffer<W>,
    pub(crate) outcomes: Outcomes<P>,
    /// When to repeat the handling of the message that found no room.
    messages: Backoff,
    /// When to repeat the handling of the timeout that found no room.
    timeouts: Backoff,
    /// Whether the open frame is that of a timeout: the handler of an event could not send.
    pub(crate) is_timing_out: bool,
}

impl<W: Storage, P> Outbox<W, P> {
    /// Creates an outbox in which nothing waits.
    pub const fn new<O>(tx: TxBuffer<W>) -> Self
    where
        P: OutcomeMemory<O>,
    {
        Self {
            tx,
            outcomes: Outcomes::new(),
            messages: Backoff::NEW,
            timeouts: Backoff::NEW,
            is_timing_out: false,
        }
    }

    /// Forgets all that waits, but not the memory for it.
    pub fn clear<O>(&mut self)
    where
        P: OutcomeMemory<O>,
    {
        self.tx.clear();
        self.outcomes.kept.clear();
        self.outcomes.backoff = Backoff::NEW;
        (self.messages, self.timeouts) = (Backoff::NEW, Backoff::NEW);
        self.is_timing_out = false;
    }

    /// Keeps an outcome until it is sent. Returns it if there is no place.
    pub fn keep<O>(&mut self, request: RequestHandle, outcome: O) -> Result<(), O>
    where
        P: OutcomeMemory<O>,
    {
        P::lend(&mut self.outcomes).keep(request, outcome)
    }

    /// Returns whether an outcome waits for room.
    #[inline]
    pub const fn has_blocked_outcome(&self) -> bool {
        self.outcomes.is_blocked()
    }

    /// Returns whether a timeout waits for room.
    #[inline]
    pub const fn has_blocked_timeout(&self) -> bool {
        self.timeouts.is_blocked()
    }

    /// Returns whether the next message waits for room: its response may have begun.
    #[inline]
    pub(crate) const fn has_blocked_message(&self) -> bool {
        self.messages.is_blocked()
    }

    /// Returns whether a message or a timeout waits for room.
    pub(crate) const fn is_blocked(&self) -> bool {
        self.has_blocked_message() || self.has_blocked_timeout()
    }

    /// Returns whether a message may be handled now: its events may write. Once the frame of a
    /// timeout has ended it does, also if that timeout is not handled again.
    #[inline]
    pub fn may_handle(&self) -> bool {
        !(self.is_timing_out && self.tx.is_mid_frame()) && self.messages.may_retry(&self.tx)
    }

    /// Sends outcomes while there is room: at most [`STEP_OUTPUT`](crate::STEP_OUTPUT) bytes of a
    /// longer one. Returns whether it goes on at once, and whether one waits.
    #[inline(always)]
    pub fn send<O, M: Machine>(&mut self, machine: &mut M) -> (bool, bool)
    where
        P: OutcomeMemory<O>,
        O: Outcome<M>,
    {
        let Self { tx, outcomes, .. } = self;
        let mut waits = false;
        let goes_on = Tx::in_slices(tx, |tx| waits = P::lend(outcomes).send(machine, tx));
        (goes_on, waits)
    }

    /// Handles a timeout, or goes on with one that found no room.
    #[inline(always)]
    pub fn handle_timeout<'f, M: Machine>(
        &mut self,
        machine: &mut M,
        now: Instant,
        waits: bool,
    ) -> Option<M::Event<'f>> {
        if !self.timeouts.may_retry(&self.tx) {
            return None;
        }
        let was_mid_frame = self.tx.is_mid_frame();
        let event = match with_lock(&mut self.tx, waits, |tx| machine.handle_timeout(now, tx)) {
            Ok(found) => {
                self.timeouts.reset();
                found
            }
            Err(_) => {
                self.timeouts.failed(&self.tx);
                self.is_timing_out |= !was_mid_frame;
                None
            }
        };
        self.is_timing_out &= self.tx.is_mid_frame();
        event
    }

    /// Handles the next message. While an outcome waits for room it may not begin a frame. After
    /// `Full` the next attempt comes when it is worth it, or when an entry is free.
    #[inline(always)]
    pub fn handle<'f, M: Machine>(
        &mut self,
        machine: &mut M,
        now: Instant,
        messages: &mut Messages<'f>,
        waits: bool,
    ) -> SendResult<Option<M::Event<'f>>> {
        let event = with_lock(&mut self.tx, waits, |tx| machine.next_event(now, messages, tx));
        match event {
            Err(SendError::Full) if messages.lacks_entry() => {}
            Err(SendError::Full) => self.messages.failed(&self.tx),
            _ => self.messages.reset(),
        }
        event
    }
}

/// Makes a call. While an outcome waits for room, the call may not begin a frame: short responses
/// would delay a long one for ever.
#[inline(always)]
fn with_lock<A>(
    tx: &mut Tx<'_>,
    waits: bool,
    call: impl FnOnce(&mut Tx<'_>) -> SendResult<A>,
) -> SendResult<A> {
    let locks = waits && tx.lock();
    let result = call(tx);
    if locks {
        tx.unlock();
    }
    result
}

/// The outcomes that are not sent yet: at most one for each entry of the table of requests.
#[derive(Debug)]
pub struct Outcomes<P: ?Sized> {
    backoff: Backoff,
    kept: P,
}

/// An outcome that waits to be sent.
#[derive(Debug)]
pub struct PendingOutcome<O> {
    request: RequestHandle,
    outcome: O,
    /// Whether it cannot be sent: the request gets an error instead.
    is_invalid: bool,
}

/// One place for each entry of a table of constant size.
#[derive(Debug)]
pub struct OutcomeSlots<S: ?Sized> {
    len: usize,
    kept: S,
}

/// The memory of outcomes beside a table of requests.
pub trait OutcomeMemory<O>: Sized {
    const NEW: Self;
    const HAS_PLACES: bool;

    fn is_empty(&self) -> bool;

    fn clear(&mut self);

    fn lend(outcomes: &mut Outcomes<Self>) -> OutcomesMut<'_, O>;
}

/// A view of the memory of outcomes.
#[derive(Debug)]
pub enum OutcomesMut<'p, O> {
    Places(&'p mut Outcomes<OutcomeSlots<[Option<PendingOutcome<O>>]>>),
    #[cfg(feature = "alloc")]
    Queue(&'p mut Outcomes<VecDeque<PendingOutcome<O>>>),
}

impl<P> Outcomes<P> {
    pub(crate) const fn new<O>() -> Self
    where
        P: OutcomeMemory<O>,
    {
        Self { backoff: Backoff::NEW, kept: P::NEW }
    }

    pub(crate) fn is_empty<O>(&self) -> bool
    where
        P: OutcomeMemory<O>,
    {
        self.kept.is_empty()
    }

    pub(crate) const fn is_blocked(&self) -> bool {
        self.backoff.is_blocked()
    }
}

impl<P: ?Sized> Outcomes<P> {
    /// Keeps an outcome until it is sent. Returns it if there is no place.
    pub(crate) fn keep<O>(&mut self, request: RequestHandle, outcome: O) -> Result<(), O>
    where
        P: Keep<O>,
    {
        match self.kept.of_entry(request) {
            // That of an earlier request comes too late.
            Some(kept) if !request.0.is_after(kept.request.0) => Err(outcome),
            // It would not be sent any more.
            Some(kept) => {
                *kept = PendingOutcome { request, outcome, is_invalid: false };
                Ok(())
            }
            None => self.kept.push(PendingOutcome { request, outcome, is_invalid: false }),
        }
    }

    /// Sends outcomes while there is room. Returns whether one waits.
    pub(crate) fn send<O, M: Machine>(&mut self, machine: &mut M, tx: &mut Tx<'_>) -> bool
    where
        P: Keep<O>,
        O: Outcome<M>,
    {
        // Without outcomes nothing of this is linked.
        if size_of::<Option<O>>() == 0 {
            return false;
        }
        while let Some((index, kept)) = self.kept.next(tx) {
            if !self.backoff.may_retry(tx) {
                return true;
            }
            let sent = if kept.is_invalid {
                machine.fail(kept.request, tx)
            } else {
                kept.outcome.send(machine, kept.request, tx)
            };
            match sent {
                Err(SendError::Full) => {
                    self.backoff.failed(tx);
                    return true;
                }
                Err(_) if !kept.is_invalid => kept.is_invalid = true,
                _ => self.kept.remove(index),
            }
            self.backoff.reset();
        }
        false
    }
}

impl<O> OutcomesMut<'_, O> {
    pub(super) fn keep(&mut self, request: RequestHandle, outcome: O) -> Result<(), O> {
        match self {
            Self::Places(outcomes) => outcomes.keep(request, outcome),
            #[cfg(feature = "alloc")]
            Self::Queue(outcomes) => outcomes.keep(request, outcome),
        }
    }

    pub(super) fn send<M: Machine>(&mut self, machine: &mut M, tx: &mut Tx<'_>) -> bool
    where
        O: Outcome<M>,
    {
        match self {
            Self::Places(outcomes) => outcomes.send(machine, tx),
            #[cfg(feature = "alloc")]
            Self::Queue(outcomes) => outcomes.send(machine, tx),
        }
    }
}

/// The two forms of that memory.
pub(crate) trait Keep<O> {
    /// Returns the outcome of this request, or of an earlier one in the same entry of the table.
    fn of_entry(&mut self, request: RequestHandle) -> Option<&mut PendingOutcome<O>>;

    /// Keeps an outcome, the only one of its entry. Returns it if there is no place.
    fn push(&mut self, kept: PendingOutcome<O>) -> Result<(), O>;

    /// Returns the outcome that is sent next, and its index: the one whose frame has begun,
    /// otherwise the one that has waited longest.
    fn next(&mut self, tx: &Tx<'_>) -> Option<(usize, &mut PendingOutcome<O>)>;

    fn remove(&mut self, index: usize);
}

impl<O, const N: usize> OutcomeMemory<O> for OutcomeSlots<[Option<PendingOutcome<O>>; N]> {
    const HAS_PLACES: bool = N > 0;
    const NEW: Self = Self { len: 0, kept: [const { None }; N] };

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn clear(&mut self) {
        *self = Self::NEW;
    }

    fn lend(outcomes: &mut Outcomes<Self>) -> OutcomesMut<'_, O> {
        OutcomesMut::Places(outcomes)
    }
}

impl<O> Keep<O> for OutcomeSlots<[Option<PendingOutcome<O>>]> {
    fn of_entry(&mut self, request: RequestHandle) -> Option<&mut PendingOutcome<O>> {
        self.kept.get_mut(usize::from(request.0.index))?.as_mut()
    }

    fn push(&mut self, kept: PendingOutcome<O>) -> Result<(), O> {
        match self.kept.get_mut(usize::from(kept.request.0.index)) {
            Some(place) => *place = Some(kept),
            None => return Err(kept.outcome),
        }
        self.len += 1;
        Ok(())
    }

    fn next(&mut self, tx: &Tx<'_>) -> Option<(usize, &mut PendingOutcome<O>)> {
        // The request that came first has waited longest.
        let order = |(index, kept): &(usize, &mut PendingOutcome<O>)| {
            let slot = kept.request.0;
            (!is_response_open(tx, slot), slot.serial, *index)
        };
        let all = self.kept.iter_mut().enumerate();
        all.filter_map(|(index, kept)| Some((index, kept.as_mut()?))).min_by_key(order)
    }

    fn remove(&mut self, index: usize) {
        if let Some(place) = self.kept.get_mut(index) {
            *place = None;
            self.len -= 1;
        }
    }
}

#[cfg(feature = "alloc")]
impl<O> OutcomeMemory<O> for VecDeque<PendingOutcome<O>> {
    const HAS_PLACES: bool = size_of::<Option<O>>() > 0;
    const NEW: Self = Self::new();

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn lend(outcomes: &mut Outcomes<Self>) -> OutcomesMut<'_, O> {
        OutcomesMut::Queue(outcomes)
    }
}

#[cfg(feature = "alloc")]
impl<O> Keep<O> for VecDeque<PendingOutcome<O>> {
    fn of_entry(&mut self, request: RequestHandle) -> Option<&mut PendingOutcome<O>> {
        self.iter_mut().find(|kept| kept.request.0.index == request.0.index)
    }

    fn push(&mut self, kept: PendingOutcome<O>) -> Result<(), O> {
        self.push_back(kept);
        Ok(())
    }

    fn next(&mut self, tx: &Tx<'_>) -> Option<(usize, &mut PendingOutcome<O>)> {
        let is_begun = |kept: &PendingOutcome<O>| is_response_open(tx, kept.request.0);
        let index = if tx.is_mid_frame() { self.iter().position(is_begun) } else { None };
        let index = index.unwrap_or(0);
        Some((index, self.get_mut(index)?))
    }

    fn remove(&mut self, index: usize) {
        self.remove(index);
    }
}
