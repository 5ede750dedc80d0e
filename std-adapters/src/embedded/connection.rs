//! The server's loop, one iteration per call.

use core::time::Duration;

use ::embedded_io::{Error as _, ErrorKind, Read, ReadReady, Write};
use mcp_sansio::{Instant, RxBuffer, ServerConfig, ServerState, TxBuffer};

use super::{Context, Error, Handler};

/// A server on a port. Parameters: `RX` is the maximum length of a line and `TX` the size of the
/// transmit buffer, in bytes, `N` the maximum number of requests in flight, `S` the maximum number
/// of subscribed URIs.
///
/// The value is large: build it in a `static`, or in a `main` that never returns.
#[derive(Debug)]
pub struct Connection<
    'c,
    P,
    const RX: usize,
    const TX: usize,
    const N: usize = 4,
    const S: usize = 4,
> {
    rx: RxBuffer<[u8; RX]>,
    ctx: Context<'c, P, TX, N, S>,
    line_timeout: Option<Duration>,
    /// Time at which bytes were read last.
    last_read: Instant,
}

/// Result of [`Connection::poll`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum PollResult {
    /// Something was done. There may be more to do at once.
    Active,
    /// There is nothing to do until bytes come, until [`Connection::poll_timeout`], or until the
    /// handler has something to do.
    Idle,
    /// The peer has closed the connection. After [`Connection::close`] the port may bring the next
    /// one. A serial line never ends.
    Closed,
}

impl<
    'c,
    P: Read + ReadReady + Write,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
> Connection<'c, P, RX, TX, N, S>
{
    /// Creates a server on a port. The clock must be monotonic; its zero is arbitrary.
    #[must_use]
    pub const fn new(port: P, config: &'c ServerConfig<'c>, clock: fn() -> Instant) -> Self {
        let ctx =
            Context { memory: ServerState::new(), config, tx: TxBuffer::new([0; TX]), port, clock };
        Self {
            rx: RxBuffer::new([0; RX]),
            ctx,
            line_timeout: None,
            last_read: Instant::from_millis(0),
        }
    }

    /// Sets after how long a silence an unfinished line is ended. Default: never, as with
    /// `Duration::MAX`. Some seconds are right for people who type, less for programs.
    #[must_use]
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// Returns the context that handlers get, for use between two calls of [`poll`](Self::poll).
    pub const fn context(&mut self) -> &mut Context<'c, P, TX, N, S> {
        &mut self.ctx
    }

    /// Resets the server for the next peer, after [`PollResult::Closed`] or an error of the port.
    pub fn close(&mut self) {
        self.ctx.server().close();
        self.ctx.tx = TxBuffer::new([0; TX]);
        self.rx.clear();
    }

    /// Returns when [`poll`](Self::poll) must be called although no bytes come.
    #[must_use]
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let line = self
            .line_timeout
            .filter(|_| self.rx.unfinished() > 0)
            .map(|timeout| self.last_read.saturating_add(timeout));
        let line = line.filter(|due| due.as_millis() != u64::MAX);
        [line, self.ctx.server().poll_timeout()].into_iter().flatten().min()
    }

    /// Runs one iteration: handles a line, the timeouts that are due and [`Handler::on_poll`], and
    /// then reads from the port. Never waits for input.
    ///
    /// # Errors
    /// Errors of the port and of the handler.
    pub fn poll(
        &mut self,
        handler: &mut impl Handler<P, TX, N, S>,
    ) -> Result<PollResult, Error<P::Error>> {
        let Self { rx, ctx, .. } = self;
        let mut result = PollResult::Idle;
        if let Some(mut messages) = rx.next_messages() {
            result = PollResult::Active;
            let now = ctx.now();
            while let Some(event) =
                ctx.send(|server, tx| server.next_event(now, &mut messages, tx))?
            {
                handler.on_event(event, ctx)?;
            }
        }
        let now = ctx.now();
        while let Some(event) = ctx.send(|server, tx| server.handle_timeout(now, tx))? {
            handler.on_event(event, ctx)?;
        }
        let has_worked = handler.on_poll(ctx)?;
        ctx.drain()?;
        if result == PollResult::Idle {
            // There is no complete line in the buffer.
            result = self.read(handler)?;
        }
        Ok(if has_worked && result == PollResult::Idle { PollResult::Active } else { result })
    }

    fn read(
        &mut self,
        handler: &mut impl Handler<P, TX, N, S>,
    ) -> Result<PollResult, Error<P::Error>> {
        let now = self.ctx.now();
        let port = &mut self.ctx.port;
        match port
            .read_ready()
            .and_then(|ready| if ready { port.read(self.rx.spare()).map(Some) } else { Ok(None) })
        {
            Ok(Some(0)) => return Ok(PollResult::Closed),
            Ok(Some(read)) => {
                self.last_read = now;
                self.rx.commit(read);
            }
            Ok(None)
                if self.rx.unfinished() > 0
                    && self
                        .line_timeout
                        .is_some_and(|t| now >= self.last_read.saturating_add(t)) =>
            {
                self.rx.end_of_input();
            }
            Ok(None) => return Ok(PollResult::Idle),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.rx.lost();
                handler.on_read_error(error, &mut self.ctx)?;
            }
        }
        Ok(PollResult::Active)
    }
}
