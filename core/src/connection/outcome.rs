//! Outcomes of requests, kept until they are sent.

use core::convert::Infallible;

use super::Machine;
use super::pace::Pace;
use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::server::is_response_open;
use crate::tx::Tx;

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
    fn send(
        &self,
        machine: &mut M,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError>;
}

impl<M> Outcome<M> for Infallible {
    fn send(&self, _: &mut M, _: RequestHandle, _: &mut Tx<'_>) -> Result<(), SendError> {
        match *self {}
    }
}

/// The outcome of a function that can fail.
impl<M, T: Outcome<M>, E: Outcome<M>> Outcome<M> for Result<T, E> {
    fn send(
        &self,
        machine: &mut M,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Ok(outcome) => outcome.send(machine, request, tx),
            Err(outcome) => outcome.send(machine, request, tx),
        }
    }
}

/// The outcomes that are not sent yet: at most one for each entry of the table of requests.
#[derive(Debug)]
pub(super) struct Outcomes<S: ?Sized> {
    len: usize,
    pace: Pace,
    kept: S,
}

/// An outcome that waits to be sent.
#[derive(Debug)]
pub(super) struct Kept<O> {
    request: RequestHandle,
    outcome: O,
    /// Whether it cannot be sent: the request gets an error instead.
    is_invalid: bool,
}

impl<O, const N: usize> Outcomes<[Option<Kept<O>>; N]> {
    pub(super) const fn new() -> Self {
        Self { len: 0, pace: Pace::NEW, kept: [const { None }; N] }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) const fn is_blocked(&self) -> bool {
        self.pace.is_blocked()
    }
}

impl<O> Outcomes<[Option<Kept<O>>]> {
    /// Keeps an outcome until it is sent. Returns it if there is no place.
    pub(super) fn keep(&mut self, request: RequestHandle, outcome: O) -> Result<(), O> {
        let Some(place) = self.kept.get_mut(usize::from(request.0.index)) else {
            return Err(outcome);
        };
        // That of an earlier request comes too late.
        if place.as_ref().is_some_and(|kept| !request.0.is_after(kept.request.0)) {
            return Err(outcome);
        }
        // One of an earlier request in that entry would not be sent any more.
        if place.replace(Kept { request, outcome, is_invalid: false }).is_none() {
            self.len += 1;
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.kept.fill_with(|| None);
        (self.len, self.pace) = (0, Pace::NEW);
    }

    /// Sends outcomes while there is room. Returns whether one waits.
    pub(super) fn send<M: Machine>(&mut self, machine: &mut M, tx: &mut Tx<'_>) -> bool
    where
        O: Outcome<M>,
    {
        // Without outcomes nothing of this is linked.
        if size_of::<Option<O>>() == 0 {
            return false;
        }
        while let Some(index) = self.next(tx)
            && let Some(place) = self.kept.get_mut(index)
            && let Some(kept) = place
        {
            if !self.pace.is_worth_it(tx) {
                return true;
            }
            let sent = if kept.is_invalid {
                machine.fail(kept.request, tx)
            } else {
                kept.outcome.send(machine, kept.request, tx)
            };
            match sent {
                Err(SendError::Full) => {
                    self.pace.found_no_room(tx);
                    return true;
                }
                Err(_) if !kept.is_invalid => kept.is_invalid = true,
                _ => {
                    *place = None;
                    self.len -= 1;
                }
            }
            self.pace.done();
        }
        false
    }

    /// Returns the index of the outcome whose frame has begun, otherwise of the one whose request
    /// came first.
    fn next(&self, tx: &Tx<'_>) -> Option<usize> {
        let order = |(index, kept): (usize, &Option<Kept<O>>)| {
            kept.as_ref().map(|kept| {
                let slot = kept.request.0;
                (!is_response_open(tx, slot), slot.serial, index)
            })
        };
        self.kept.iter().enumerate().filter_map(order).min().map(|(.., index)| index)
    }
}
