//! A connection on a port: the loop's steps, with reading and writing done.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::task::Waker;
use core::time::Duration;

use ::embedded_io::{ErrorType, Read, ReadReady, Write};
use mcp_sansio::typed::{AsyncToolHandler, ToolHandler};
use mcp_sansio::{
    Catalog, Change, Connection, Instant, Machine, Memory, Outcome, Request, RequestHandle,
    SendError, Server, Step as CoreStep, Storage, Target, Turn as CoreTurn, Tx,
};

use super::{Error, Input, Line, is_closed};

/// A [`Connection`] on a port, which it reads and writes. `D` is the port's driver.
///
/// The value is as large as its buffers: build it in a `static`, or in a `main` that never returns.
/// See the [module](super).
#[derive(Debug)]
#[must_use]
pub struct Port<D: ErrorType, C> {
    connection: C,
    line: Line<D>,
    line_timeout: Option<Duration>,
    /// Time at which bytes were read last.
    last_read: Instant,
    phase: Phase,
}

/// A loop that comes late may find both a timeout that is due and the response that it waits for.
/// So what has come is handled first; then timeouts are, even if the peer never pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Reads, once there is no message to handle.
    Reads,
    /// Handles what was read.
    Handles,
    /// Handles timeouts, and reads after that.
    TimesOut,
}

/// The next operation of the main loop of a firmware.
#[derive(Debug)]
#[must_use]
pub enum Step<'p, E, M, D: ErrorType, O = Infallible> {
    /// An event, with everything that its handler needs.
    Event(E, Turn<'p, D, M, O>),
    /// Something was done without the application: call [`Port::next`] again. Between two calls
    /// there is time for a piece of other work.
    Again,
    /// Reading failed. The line with the gap is rejected; end the loop if the port cannot recover.
    ReadError(D::Error),
    /// Nothing is left to do until bytes come, until this time, or until an outcome is handed in.
    Idle(Option<Instant>),
    /// The input has ended, all requests are answered, and all bytes are written. After
    /// [`Port::reset`] the port may bring the next peer. A serial line never ends.
    Closed,
}

/// The step of a connection with this memory.
type StepOf<'p, D, T, O> = Step<'p, <T as Memory>::Event<'p>, <T as Memory>::Machine<'p>, D, O>;

impl<'c, D, T, R, W, O, const N: usize> Port<D, Connection<'c, T, R, W, O, N>>
where
    D: Read + ReadReady + Write,
    T: Memory,
    R: Storage,
    W: Storage,
    O: for<'m> Outcome<T::Machine<'m>>,
{
    /// Creates a connection on a port.
    pub const fn new(driver: D, connection: Connection<'c, T, R, W, O, N>) -> Self {
        Self {
            connection,
            line: Line::new(driver),
            line_timeout: None,
            last_read: Instant::from_millis(0),
            phase: Phase::Reads,
        }
    }

    /// Sets after how long a silence an unfinished line is ended. Default: never, as with
    /// `Duration::MAX`. Some seconds are right for people who type, less for programs.
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// Makes one step: handles a message or a timeout, writes what is pending, or reads what has
    /// come. Never waits for input. The clock must be monotonic; its zero is arbitrary.
    ///
    /// # Errors
    /// Errors of the port: of writing, and of reading if further reads would fail too. Pending
    /// bytes stay, and the next step goes on with them.
    pub fn next(&mut self, now: Instant) -> Result<StepOf<'_, D, T, O>, Error<D::Error>> {
        self.wrote();
        let input = self.line.input.take();
        if input.is_some() {
            self.last_read = now;
        }
        match input {
            None | Some(Input::Bytes) => {}
            Some(Input::End) => self.connection.end_of_input(),
            Some(Input::Error(error)) => {
                self.connection.rx().lost();
                let is_closed = is_closed(&error);
                return if is_closed { Err(Error::Io(error)) } else { Ok(Step::ReadError(error)) };
            }
        }
        let line_due = self.line_due();
        if line_due.is_some_and(|due| due <= now) && !self.line.is_ready() {
            self.connection.rx().end_of_input();
        }
        let Self { connection, line, phase, .. } = self;
        let step = match phase {
            Phase::Reads | Phase::Handles => connection.catch_up(now),
            Phase::TimesOut => connection.next(now),
        };
        Ok(match step {
            CoreStep::Event(event, turn) => Step::Event(event, Turn { turn, line }),
            CoreStep::Again => Step::Again,
            CoreStep::Io { write: [], mut read, until } => {
                line.flush()?;
                let has_read = *phase != Phase::Handles && line.read(&mut read);
                let is_idle = *phase == Phase::TimesOut && !has_read;
                *phase = match phase {
                    _ if has_read => Phase::Handles,
                    Phase::Reads | Phase::Handles => Phase::TimesOut,
                    Phase::TimesOut => Phase::Reads,
                };
                if is_idle {
                    Step::Idle([until, line_due].into_iter().flatten().min())
                } else {
                    Step::Again
                }
            }
            CoreStep::Io { write, mut read, .. } => {
                line.written = line.exchange(write, &mut read)?;
                if line.input.is_some() {
                    *phase = match phase {
                        Phase::Reads => Phase::Handles,
                        Phase::Handles | Phase::TimesOut => Phase::TimesOut,
                    };
                }
                Step::Again
            }
            CoreStep::Closed => Step::Closed,
        })
    }

    /// Returns what comes with an event, for everything that no event has caused: calls, changes,
    /// pieces of long work. `None` while [`next`](Self::next) has something to write first.
    pub fn turn(&mut self, now: Instant) -> Option<Turn<'_, D, T::Machine<'_>, O>> {
        self.wrote();
        let Self { connection, line, .. } = self;
        (!connection.waits_for_room()).then(|| Turn { turn: connection.turn(now), line })
    }

    /// Resets the connection for the next peer, after [`Step::Closed`] or an error of the port.
    pub fn reset(&mut self) {
        self.connection.reset();
        // The connection does not know of these.
        (self.line.written, self.line.input) = (0, None);
    }

    /// Returns the connection, to hand in outcomes.
    pub const fn connection(&mut self) -> &mut Connection<'c, T, R, W, O, N> {
        &mut self.connection
    }

    /// Returns the driver. Bytes that are written to it directly may come in the middle of a
    /// message.
    pub const fn driver(&mut self) -> &mut D {
        &mut self.line.driver
    }

    /// Reports what a step has written, which it could not while the bytes were lent.
    fn wrote(&mut self) {
        self.connection.wrote(core::mem::take(&mut self.line.written));
    }

    /// Returns when an unfinished line is ended.
    fn line_due(&mut self) -> Option<Instant> {
        let timeout = self.line_timeout.filter(|_| self.connection.rx().is_mid_line())?;
        Some(self.last_read.saturating_add(timeout)).filter(|due| due.as_millis() != u64::MAX)
    }
}

// The operations that a handler has while it borrows an event.

/// All of a [`Port`](super::Port) but the message that an event borrows: the machine, its output,
/// and the driver. `M` is [`Server<'_>`](mcp_sansio::Server) or [`Client<'_>`](mcp_sansio::Client).
///
/// Dropping it leaves the request open. Its response is sent by a later turn
/// ([`Port::turn`](super::Port::turn)), or handed in as an [`Outcome`].
#[derive(Debug)]
pub struct Turn<'p, D: ErrorType, M, O = Infallible> {
    pub(super) turn: CoreTurn<'p, M, O>,
    pub(super) line: &'p mut Line<D>,
}

impl<'p, D, M, O> Turn<'p, D, M, O>
where
    D: Read + ReadReady + Write,
    M: Machine,
    O: Outcome<M>,
{
    /// Returns the time of the step.
    pub const fn now(&self) -> Instant {
        self.turn.now()
    }

    /// Returns the machine, for its state.
    pub const fn machine(&mut self) -> &mut M {
        self.turn.parts().0
    }

    /// Makes any call of the machine. Repeats it after writing pending bytes, as long as the buffer
    /// is full. What comes meanwhile is read into the free part of the receive buffer.
    ///
    /// # Errors
    /// Errors of writing, and [`Error::NotSent`]. The connection can continue after the latter.
    pub fn send<A>(
        &mut self,
        call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<A, SendError>,
    ) -> Result<A, Error<D::Error>> {
        let line = &mut *self.line;
        self.turn.send(|bytes, spare| line.exchange(bytes, spare), call)
    }

    /// Hands in the outcome of a request, which is sent by the next steps, however long it is.
    ///
    /// # Errors
    /// Returns the outcome if there is no place for it: see
    /// [`Connection::answer`](mcp_sansio::Connection::answer).
    pub fn answer(&mut self, request: RequestHandle, outcome: O) -> Result<(), O> {
        self.turn.answer(request, outcome)
    }

    /// Writes all pending bytes. The next steps do that anyway; call it in the middle of long work
    /// so that the peer gets them sooner.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn drain(&mut self) -> Result<(), Error<D::Error>> {
        let line = &mut *self.line;
        self.turn.drain(|bytes, spare| line.exchange(bytes, spare))?;
        line.flush()
    }
}

impl<'m, D, O> Turn<'_, D, Server<'m>, O>
where
    D: Read + ReadReady + Write,
    O: Outcome<Server<'m>>,
{
    /// Notifies all subscribers of a change: see [`Server::publish`].
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn publish(&mut self, mut change: Change<'_>) -> Result<(), Error<D::Error>> {
        while self.send(|server, tx| server.publish(&mut change, tx))?.is_more() {}
        Ok(())
    }

    /// Calls a tool if the request is a valid call of one, and sends the result; for any other
    /// request it does what [`Catalog::respond`] does. The time of the tool is that of the step.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_tool<'c, H: ToolHandler>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &mut H,
    ) -> Result<Target<'c>, Error<D::Error>> {
        let (now, line) = (self.now(), &mut *self.line);
        let pump = |bytes: &[u8], spare: &mut _| line.exchange(bytes, spare);
        self.turn.call_tool(catalog, request, handler, pump, || now)
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. Other messages wait meanwhile,
    /// also those that cancel the call; what comes is read only while something is sent.
    ///
    /// The tool is polled without a waker. Whenever it is not ready, `idle` is called, which may
    /// sleep until the next interrupt and returns the time.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_async_tool<'c, H: AsyncToolHandler>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &H,
        mut idle: impl FnMut() -> Instant,
    ) -> Result<Target<'c>, Error<D::Error>> {
        let (line, now) = (RefCell::new(&mut *self.line), Cell::new(self.turn.now()));
        let pump = |bytes: &[u8], spare: &mut _| line.borrow_mut().exchange(bytes, spare);
        let wait = || {
            // An error is found by the next write.
            let _ = line.borrow_mut().flush();
            now.set(idle());
        };
        self.turn.call_async_tool(
            catalog,
            request,
            handler,
            pump,
            || now.get(),
            (Waker::noop(), wait),
        )
    }
}
