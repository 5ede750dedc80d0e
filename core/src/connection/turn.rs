//! `Turn`: the operations that a handler has while it borrows an event.

use core::convert::Infallible;
use core::fmt;

use super::outcomes::OutcomesMut;
use super::{Machine, Outcome};
use crate::encode::Encode;
use crate::error::SendError;
use crate::handle::{Delivery, RequestHandle};
use crate::progress::Progress;
use crate::rpc::RpcError;
use crate::rx::Spare;
use crate::server::{LogMessage, Server};
use crate::time::Instant;
use crate::tx::Tx;

/// All of a connection but the frame that an event borrows: the machine, the output, and the free
/// part of the receive buffer. `M` is [`Server<'_>`](crate::Server) or
/// [`Client<'_>`](crate::Client).
///
/// Dropping it leaves the request open: its outcome can be handed in later, with
/// [`Connection::answer`](super::Connection::answer).
pub struct Turn<'p, M, O = Infallible> {
    pub(super) machine: M,
    pub(super) tx: &'p mut Tx<'p>,
    pub(super) spare: Spare<'p>,
    pub(super) outcomes: OutcomesMut<'p, O>,
    pub(super) now: Instant,
}

impl<'p, M: Machine, O> Turn<'p, M, O> {
    /// Returns the time of the step.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the machine and its output, for one attempt of anything. It may also be repeated in
    /// a later turn. A frame that has begun
    /// ([`TxBuffer::is_mid_frame`](crate::TxBuffer::is_mid_frame)) must be gone on with by the same
    /// call, each time before [`Connection::next`](super::Connection::next) is called, or by an
    /// outcome of the same request that writes the same. Otherwise it is broken off.
    pub const fn parts(&mut self) -> (&mut M, &mut Tx<'p>) {
        (&mut self.machine, self.tx)
    }

    /// Hands in the outcome of a request, as
    /// [`Connection::answer`](super::Connection::answer) does.
    ///
    /// # Errors
    /// As there.
    pub fn answer(&mut self, request: RequestHandle, outcome: O) -> Result<(), O> {
        self.outcomes.keep(request, outcome)
    }

    /// Returns the bytes to write and the memory to read into, for loops that go on with both while
    /// the event lives. [`wrote`](Self::wrote) reports what was written.
    pub fn io(&mut self) -> (&[u8], &mut Spare<'p>) {
        (self.tx.pending(), &mut self.spare)
    }

    /// Records that the first `n` bytes of [`io`](Self::io) were written.
    pub fn wrote(&mut self, n: usize) {
        self.tx.advance(n);
    }

    /// Repeats `call` until it returns something other than [`Full`](SendError::Full). Before each
    /// repetition all pending bytes are written.
    ///
    /// `pump` writes some of the given bytes and returns their number. It must wait until the
    /// transport takes at least one byte, or fail; it may read into the memory meanwhile.
    ///
    /// # Errors
    /// Those of `pump`, and those of `call` except `Full`. `Full` is returned only if a frame is
    /// open that was begun elsewhere and is not an outcome that was handed in.
    pub fn send<A, E: From<SendError>>(
        &mut self,
        mut pump: impl FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<A, SendError>,
    ) -> Result<A, E>
    where
        O: Outcome<M>,
    {
        loop {
            match call(&mut self.machine, self.tx) {
                Err(SendError::Full) if !self.tx.pending().is_empty() || self.tx.is_checking() => {}
                result => return result.map_err(E::from),
            }
            self.drain(&mut pump)?;
            // One of them may be in the middle of its frame.
            self.outcomes.send(&mut self.machine, self.tx);
        }
    }

    /// Writes all pending bytes with `pump`, as [`send`](Self::send) does. For long work, so that
    /// the peer gets them before it is done.
    ///
    /// # Errors
    /// Those of `pump`.
    #[cfg_attr(small, inline(never))]
    pub fn drain<E>(
        &mut self,
        mut pump: impl FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
    ) -> Result<(), E> {
        while !self.tx.pending().is_empty() {
            let written = pump(self.tx.pending(), &mut self.spare)?;
            self.tx.advance(written);
        }
        Ok(())
    }
}

impl<M, O> fmt::Debug for Turn<'_, M, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<O> Turn<'_, Server<'_>, O> {
    /// Makes one attempt to respond with a result: [`Server::respond`].
    ///
    /// # Errors
    /// As there.
    pub fn respond<P: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &P,
    ) -> Result<(), SendError> {
        self.machine.respond(request, result, self.tx)
    }

    /// Makes one attempt to respond with an error: [`Server::respond_error`].
    ///
    /// # Errors
    /// As there.
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
    ) -> Result<(), SendError> {
        self.machine.respond_error(request, error, self.tx)
    }

    /// Reports progress, if there is room: [`Server::progress`].
    ///
    /// # Errors
    /// As there.
    pub fn progress(
        &mut self,
        request: RequestHandle,
        progress: &Progress<'_>,
    ) -> Result<Delivery, SendError> {
        self.machine.progress(self.now, request, progress, self.tx)
    }

    /// Sends a log message, if there is room: [`Server::log`].
    ///
    /// # Errors
    /// As there.
    pub fn log<P: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        message: &LogMessage<'_, P>,
    ) -> Result<Delivery, SendError> {
        self.machine.log(request, message, self.tx)
    }
}
