//! A connection in one value: a machine, its buffers, and the outcomes that wait to be sent.

mod outbox;
mod role;

pub use outbox::{Outbox, Outcome, PendingOutcome};
use role::sealed::Machine as _;
pub use role::{Machine, Memory, Pair, PairStep};

use core::convert::Infallible;

use crate::buffers::Storage;
use crate::buffers::rx::{RxBuffer, Spare};
use crate::buffers::tx::{Tx, TxBuffer};
use crate::encode::Encode;
use crate::progress::Progress;
use crate::protocol::error::{SendError, SendResult};
use crate::rpc::RpcError;
use crate::rpc::inflight::{Delivery, RequestHandle};
use crate::server::{Admission, LogMessage, Server};
#[cfg(feature = "alloc")]
use crate::server::{Change, GrowingServerState};
use crate::time::Instant;
use outbox::{OutcomeMemory, OutcomesMut};

/// A server or a client on a stream, without the I/O: reads frames, writes frames, and says what is
/// to be done next.
///
/// `T` is the memory of the machine, which decides the role: a [`ServerState`](crate::ServerState)
/// or a [`ClientState`](crate::ClientState), or one that grows. `R` and `W` are the memory of the
/// buffers. `O` is the type of the [outcomes](Outcome) that are handed in to be sent when there is
/// room. With a state of constant size `N` of them can wait: as many as the table has entries, or
/// none. With one that grows there is a place for each, and `N` is not used.
///
/// ```
/// use mcp_sansio::types::{Implementation, TextResult};
/// use mcp_sansio::*;
///
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
///
/// /// Serves a transport that blocks.
/// fn serve(port: &mut Port, now: impl Fn() -> Instant) -> Result<(), Error> {
///     let (rx, tx) = (RxBuffer::new([0; 512]), TxBuffer::new([0; 256]));
///     let mut connection: Connection<_, _, _> =
///         Connection::new(&CONFIG, ServerState::<4, 4>::new(), rx, tx);
///     loop {
///         match connection.next(now()) {
///             Step::Event(ServerEvent::Request(request), mut turn) => {
///                 let result = TextResult::new("hello"); // runs once, only sending repeats
///                 turn.send(
///                     |bytes, _| port.write(bytes),
///                     |server, tx| server.respond(request.handle, &result, tx),
///                 )?;
///             }
///             Step::Event(..) | Step::Again => {}
///             Step::Io { write: [], mut read, .. } => match port.read(read.spare())? {
///                 0 => connection.end_of_input(),
///                 n => read.commit(n),
///             },
///             Step::Io { write, .. } => {
///                 let written = port.write(write)?;
///                 connection.wrote(written);
///             }
///             Step::Closed => return Ok(()),
///         }
///     }
/// }
/// # #[derive(Debug)]
/// # struct Error;
/// # impl From<SendError> for Error { fn from(_: SendError) -> Self { Self } }
/// # struct Port(&'static [u8], Vec<u8>);
/// # impl Port {
/// #     fn read(&mut self, to: &mut [u8]) -> Result<usize, Error> {
/// #         let n = self.0.len().min(to.len()).min(7);
/// #         to[..n].copy_from_slice(&self.0[..n]);
/// #         self.0 = &self.0[n..];
/// #         Ok(n)
/// #     }
/// #     fn write(&mut self, from: &[u8]) -> Result<usize, Error> {
/// #         let n = from.len().min(7);
/// #         self.1.extend_from_slice(&from[..n]);
/// #         Ok(n)
/// #     }
/// # }
/// # let input = concat!(
/// #     r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":"#,
/// #     r#"{"protocolVersion":"2025-11-25","capabilities":{},"#,
/// #     r#""clientInfo":{"name":"x","version":"1"}}}"#, "\n",
/// #     r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say"}}"#, "\n",
/// #     r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
/// # );
/// # let mut port = Port(input.as_bytes(), Vec::new());
/// # serve(&mut port, || Instant::from_millis(0)).unwrap();
/// # let out = String::from_utf8(port.1).unwrap();
/// # let lines: Vec<_> = out.lines().collect();
/// # assert_eq!(lines.len(), 3, "{out}");
/// # assert!(lines[1].contains("\"text\":\"hello\"") && lines[2].contains("\"id\":3"), "{out}");
/// ```
///
/// While the table of requests is full, a further request waits in the receive buffer, and then
/// unread in the transport, unless the server itself awaits the response to a call.
///
/// The value can be moved, sent to another thread, and built in a `static`. With a state of
/// constant size it allocates nothing of its own. Frames, timeouts and outcomes that find no room
/// in the output buffer are kept and repeated once that is worth it, so their work stays linear
/// even if the peer takes single bytes.
pub struct Connection<'c, T, R, W, O = Infallible, const N: usize = 0>
where
    T: Memory,
    R: Storage,
    W: Storage,
{
    config: &'c T::Config<'c>,
    memory: T,
    rx: RxBuffer<R>,
    outbox: Outbox<W, T::Outcomes<O, N>>,
    /// Whether the next message is a request for which the table has no entry.
    awaits_entry: bool,
    /// Whether something of the loop waits for room.
    is_held: bool,
    input_ended: bool,
}

/// The next operation of a [`Connection`], for its loop to carry out.
#[derive(Debug)]
#[must_use]
pub enum Step<'p, E, M, O = Infallible> {
    /// An event, and all of the connection but the frame that it borrows.
    Event(E, Turn<'p, M, O>),
    /// Something was done without the application: call [`Connection::next`] again. A loop that
    /// serves several connections may do that in turns.
    Again,
    /// Nothing is left to do until bytes are written or read, until a time, or until an outcome is
    /// handed in.
    Io {
        /// Bytes to write; may be empty. Report how many were written with [`Connection::wrote`].
        write: &'p [u8],
        /// Memory to read into. It is empty after the end of the input, and while a frame waits in
        /// a full buffer for room for its response.
        read: Spare<'p>,
        /// The time of the next timeout: [`Connection::next`] must be called by then. `None` if
        /// there is none, and while one that is due waits for room, so for bytes to be written.
        until: Option<Instant>,
    },
    /// The input has ended, all requests are answered, and all bytes are written.
    Closed,
}

impl<'c, T: Memory, R: Storage, W: Storage, O, const N: usize> Connection<'c, T, R, W, O, N> {
    /// Creates a connection.
    pub const fn new(
        config: &'c T::Config<'c>,
        memory: T,
        rx: RxBuffer<R>,
        tx: TxBuffer<W>,
    ) -> Self {
        Self {
            config,
            memory,
            rx,
            outbox: Outbox::new(tx),
            awaits_entry: false,
            is_held: false,
            input_ended: false,
        }
    }

    /// Returns what is to be done next. First the changes and outcomes that were handed in are
    /// written, then timeouts are handled, then frames.
    ///
    /// A step goes through at most [`STEP_OUTPUT`](crate::STEP_OUTPUT) bytes of an outcome that is
    /// longer than that: first to see that it can be written, then to write it.
    ///
    /// A frame that a turn has begun must be gone on with before: if nothing else is left to be
    /// written, it is broken off, as [`Server::fail`](crate::Server::fail) does, so that others can
    /// be written. The request or the call is as if it had not begun.
    pub fn next(&mut self, now: Instant) -> Step<'_, T::Event<'_>, T::Machine<'_>, O>
    where
        O: for<'m> Outcome<T::Machine<'m>>,
    {
        self.step(now, true)
    }

    /// Returns what is to be done next, as [`next`](Self::next) does, but begins no timeout: for a
    /// loop that comes late, since the response that a timeout waits for may have been received.
    /// Once there is nothing but [`Step::Io`], `next` handles the timeouts.
    pub fn catch_up(&mut self, now: Instant) -> Step<'_, T::Event<'_>, T::Machine<'_>, O>
    where
        O: for<'m> Outcome<T::Machine<'m>>,
    {
        self.step(now, false)
    }

    #[inline]
    fn step(
        &mut self,
        now: Instant,
        begins_timeouts: bool,
    ) -> Step<'_, T::Event<'_>, T::Machine<'_>, O>
    where
        O: for<'m> Outcome<T::Machine<'m>>,
    {
        // Handlers publish changes before they respond, so changes are sent first.
        let has_notice = self.memory.notify(self.config, &mut self.outbox.tx);
        let (goes_on, has_outcome) = if self.outbox.outcomes.is_empty() {
            (false, false)
        } else {
            self.outbox.send(&mut self.memory.machine(self.config))
        };
        if goes_on {
            return Step::Again;
        }
        let waits = has_outcome || has_notice || self.is_held();
        let is_closing = self.memory.is_closing() && !has_notice;
        let admission = self.memory.admission();
        let Self { config, memory, rx, outbox, .. } = self;
        let mut machine = memory.machine(config);
        let (mut messages, spare) = rx.next_messages_and_spare();
        let spare = if self.input_ended { spare.without_memory() } else { spare };
        // One place for the event, which is large: it would be moved from one to the other.
        let mut handled = Ok::<_, SendError>(None);
        // A frame that has begun is continued whatever the time is.
        if outbox.has_blocked_timeout()
            || begins_timeouts && machine.poll_timeout().is_some_and(|due| due <= now)
        {
            handled = Ok(outbox.handle_timeout(&mut machine, now, waits));
        }
        self.awaits_entry &= machine.is_full() || admission == Admission::Hold;
        match &mut messages {
            // The handler of an event could not send in the middle of a timeout's frame.
            _ if matches!(handled, Ok(Some(_))) || outbox.is_timing_out => {}
            Some(messages)
                if admission == Admission::Hold
                    && !outbox.has_blocked_message()
                    && (self.awaits_entry || messages.is_request_next()) =>
            {
                self.awaits_entry = true;
            }
            Some(messages) if !self.awaits_entry && outbox.may_handle() => {
                // A refusal that has begun is finished.
                if admission != Admission::Refuse && !outbox.has_blocked_message() {
                    messages.await_entries();
                }
                // Each move of the event takes time, but a second place for it takes flash.
                #[cfg(not(small))]
                let handled = match outbox.handle(&mut machine, now, messages, waits) {
                    Ok(Some(event)) => {
                        return Step::Event(event, Turn::new(machine, outbox, spare, now));
                    }
                    other => other,
                };
                #[cfg(small)]
                (handled = outbox.handle(&mut machine, now, messages, waits));
                match handled {
                    Ok(Some(_)) => {}
                    Ok(None) => return Step::Again,
                    Err(SendError::Full) => self.awaits_entry |= messages.lacks_entry(),
                    // Nothing can be written, not even in parts.
                    Err(_) => {
                        messages.finish();
                        return Step::Again;
                    }
                }
            }
            None if (self.input_ended || is_closing)
                && outbox.tx.is_idle()
                && outbox.outcomes.is_empty()
                && !machine.has_open_requests() =>
            {
                match machine.end() {
                    None => return Step::Closed,
                    found => handled = Ok(found),
                }
            }
            _ => {}
        }
        let is_blocked = outbox.has_blocked_timeout();
        let Outbox { tx, outcomes, .. } = outbox;
        match handled {
            Ok(Some(event)) => {
                let outcomes = T::Outcomes::<O, N>::lend(outcomes);
                Step::Event(event, Turn { machine, tx, spare, outcomes, now })
            }
            // It would keep all others from being written.
            _ if Tx::abandon_orphan(tx) => {
                machine.skip_id();
                Step::Again
            }
            _ => {
                let until = machine.poll_timeout().filter(|_| !is_blocked);
                Step::Io { write: tx.pending(), read: spare, until }
            }
        }
    }

    /// Records that the first `n` bytes of [`Step::Io`] were written.
    pub fn wrote(&mut self, n: usize) {
        self.outbox.tx.advance(n);
    }

    /// Records that nothing more can be read. An unterminated last line is taken for a line.
    pub fn end_of_input(&mut self) {
        self.rx.end_of_input();
        self.input_ended = true;
    }

    /// Resets the connection for the next peer: forgets requests, calls and outcomes, and all bytes
    /// that were not handled or not written. No event reports the end of calls.
    pub fn reset(&mut self) {
        self.memory.machine(self.config).close();
        self.rx.clear();
        self.outbox.clear();
        (self.awaits_entry, self.is_held, self.input_ended) = (false, false, false);
    }

    /// Hands in the outcome of a request, which is sent by the next calls of [`next`](Self::next),
    /// however long it is. If it is not valid, the request gets an internal error (-32603).
    ///
    /// # Errors
    /// Returns the outcome if the request has one already, if a later request in its entry of the
    /// table has one, or if that entry is not among the first `N`.
    pub fn answer(&mut self, request: RequestHandle, outcome: O) -> Result<(), O> {
        self.outbox.keep(request, outcome)
    }

    /// Returns whether a message, a timeout, an outcome or a change waits for room in the output
    /// buffer, which a loop leaves to it before it begins anything of its own.
    pub fn waits_for_room(&self) -> bool {
        self.outbox.is_blocked() && !self.is_held()
            || self.outbox.has_blocked_outcome()
            || self.memory.is_blocked()
            || self.outbox.tx.is_mid_frame()
    }

    /// Returns the time of the next timeout, as [`Step::Io`] does: `None` if there is none, and
    /// while one that is due waits for room.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let is_blocked = self.outbox.has_blocked_timeout();
        self.machine().poll_timeout().filter(|_| !is_blocked)
    }

    /// Sets whether something of the loop's own waits for room, as an outcome does that was handed
    /// in: until it has begun, messages and timeouts write nothing, since short responses would
    /// delay a long one for ever. What needs no room is handled. Only a connection with places for
    /// outcomes can be held.
    pub const fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Returns whether a request waits for others to end, and all behind it.
    pub const fn awaits_entry(&self) -> bool {
        self.awaits_entry
    }

    /// A constant where nothing waits, so that this costs those programs nothing.
    const fn is_held(&self) -> bool {
        T::Outcomes::<O, N>::HAS_PLACES && self.is_held
    }

    /// Returns what comes with an event, for everything that no event has caused: calls, progress,
    /// changes. What is [`Full`](SendError::Full) is repeated after the next [`Step::Io`].
    pub fn turn(&mut self, now: Instant) -> Turn<'_, T::Machine<'_>, O> {
        let Self { config, memory, rx, outbox, input_ended, .. } = self;
        let (machine, spare) = (memory.machine(config), rx.next_messages_and_spare().1);
        let spare = if *input_ended { spare.without_memory() } else { spare };
        Turn::new(machine, outbox, spare, now)
    }

    /// Returns the machine and its output, as [`Turn::parts`] does, without a look at the input.
    pub fn parts(&mut self) -> (T::Machine<'_>, &mut TxBuffer<W>) {
        (self.memory.machine(self.config), &mut self.outbox.tx)
    }

    /// Returns the machine, for its state.
    pub fn machine(&mut self) -> T::Machine<'_> {
        self.memory.machine(self.config)
    }

    /// Returns the output buffer, for its state, or to replace it for the next peer.
    pub const fn tx(&mut self) -> &mut TxBuffer<W> {
        &mut self.outbox.tx
    }

    /// Returns the receive buffer, to report lost bytes or to end a line.
    pub const fn rx(&mut self) -> &mut RxBuffer<R> {
        &mut self.rx
    }
}

#[cfg(feature = "alloc")]
impl<R: Storage, W: Storage, O> Connection<'_, GrowingServerState, R, W, O> {
    /// Keeps a change until all subscribers are notified. Returns `false` if it has no subscriber,
    /// or waits already. At most one change of each subscribed URI and of each list is kept,
    /// however little the client reads.
    pub fn publish(&mut self, change: &Change<'_>) -> bool {
        self.memory.keep_change(self.config, change)
    }

    /// Shuts the server down: ends each `subscriptions/listen`. [`Step::Closed`] comes when all
    /// other requests are answered, too; those that come until then are for the loop to refuse.
    pub fn shut_down(&mut self) {
        self.memory.is_closing = true;
    }

    /// Sets what happens to further requests, for loops that have other limits than the table.
    pub fn admit(&mut self, admission: Admission) {
        self.memory.admission = admission;
        self.awaits_entry &= admission != Admission::Refuse;
    }
}

crate::text::opaque_debug!(
    [T: Memory, R: Storage, W: Storage, O, const N: usize] Connection<'_, T, R, W, O, N> {
        input_ended
    }
);

// `Turn`: the operations that a handler has while it borrows an event.

/// All of a connection but the frame that an event borrows: the machine, the output, and the free
/// part of the receive buffer. `M` is [`Server<'_>`](crate::Server) or
/// [`Client<'_>`](crate::Client).
///
/// Dropping it leaves the request open: its outcome can be handed in later, with
/// [`Connection::answer`].
pub struct Turn<'p, M, O = Infallible> {
    machine: M,
    tx: &'p mut Tx<'p>,
    spare: Spare<'p>,
    outcomes: OutcomesMut<'p, O>,
    now: Instant,
}

impl<'p, M: Machine, O> Turn<'p, M, O> {
    #[inline(always)]
    fn new<W: Storage, P: OutcomeMemory<O>>(
        machine: M,
        outbox: &'p mut Outbox<W, P>,
        spare: Spare<'p>,
        now: Instant,
    ) -> Self {
        let Outbox { tx, outcomes, .. } = outbox;
        Self { machine, tx, spare, outcomes: P::lend(outcomes), now }
    }

    /// Returns the time of the step.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the machine and its output, for one attempt of anything. It may also be repeated in
    /// a later turn. A frame that has begun
    /// ([`TxBuffer::is_mid_frame`](crate::TxBuffer::is_mid_frame)) must be gone on with by the same
    /// call, each time before [`Connection::next`] is called, or by an
    /// outcome of the same request that writes the same. Otherwise it is broken off.
    pub const fn parts(&mut self) -> (&mut M, &mut Tx<'p>) {
        (&mut self.machine, self.tx)
    }

    /// Hands in the outcome of a request, as
    /// [`Connection::answer`] does.
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
        mut call: impl FnMut(&mut M, &mut Tx<'_>) -> SendResult<A>,
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

crate::text::opaque_debug!([M, O] Turn<'_, M, O> { now });

impl<O> Turn<'_, Server<'_>, O> {
    /// Makes one attempt to respond with a result: [`Server::respond`].
    ///
    /// # Errors
    /// As there.
    pub fn respond<P: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &P,
    ) -> SendResult {
        self.machine.respond(request, result, self.tx)
    }

    /// Makes one attempt to respond with an error: [`Server::respond_error`].
    ///
    /// # Errors
    /// As there.
    pub fn respond_error(&mut self, request: RequestHandle, error: &RpcError<'_>) -> SendResult {
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
    ) -> SendResult<Delivery> {
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
    ) -> SendResult<Delivery> {
        self.machine.log(request, message, self.tx)
    }
}
