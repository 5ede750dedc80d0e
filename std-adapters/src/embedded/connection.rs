//! The loop, one turn at a time.

use core::time::Duration;

use ::embedded_io::{Error as _, ErrorKind, Read, ReadReady, Write};
use mcp_sansio::{Instant, Messages, RxBuffer, Server, ServerConfig, TxBuffer};

use super::{Context, Error, Handler};

/// A server on a port: `RX` bytes for the longest line it takes, `TX` bytes to write through, `N`
/// requests in flight, `S` subscribed URIs.
///
/// Large, so build it where it stays: in a `static`, or in the `main` that never ends.
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
    /// When bytes came last.
    heard: Instant,
}

/// What became of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum PollResult {
    /// There may be more to do at once.
    Active,
    /// There is nothing to do until bytes come, or until [`Connection::poll_timeout`], or until the handler's own
    /// work is due.
    Idle,
    /// The peer has closed the connection: [`Connection::close`], and the port may bring the next. A
    /// serial line never ends.
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
    /// A server with this configuration on this port. The clock counts from anywhere, and does not
    /// go backwards.
    #[must_use]
    pub const fn new(port: P, config: &'c ServerConfig<'c>, clock: fn() -> Instant) -> Self {
        let ctx = Context {
            server: Server::with_table_sizes(config),
            tx: TxBuffer::new([0; TX]),
            port,
            clock,
        };
        Self { rx: RxBuffer::new([0; RX]), ctx, line_timeout: None, heard: Instant::from_millis(0) }
    }

    /// Ends a line where it is after this silence in the middle of it. Default: never, as with
    /// `Duration::MAX`. Some seconds are right, or less where no person types.
    #[must_use]
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// What the handler speaks through, for use between two turns.
    pub const fn context(&mut self) -> &mut Context<'c, P, TX, N, S> {
        &mut self.ctx
    }

    /// The connection is gone ([`PollResult::Closed`], or an error of the port's): forgets all that was of
    /// it, so that the next peer finds a server that is as new.
    pub fn close(&mut self) {
        self.ctx.server.close();
        self.ctx.tx = TxBuffer::new([0; TX]);
        if self.rx.unfinished() > 0 {
            self.put(b'\n');
        }
        while self.rx.next_frame().is_some() {}
    }

    /// When there is something to do though no bytes come.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let line = self
            .line_timeout
            .filter(|_| self.rx.unfinished() > 0)
            .map(|timeout| self.heard.saturating_add(timeout));
        let line = line.filter(|due| due.as_millis() != u64::MAX);
        [line, self.ctx.server.poll_timeout()].into_iter().flatten().min()
    }

    /// A turn of the loop: a frame, what is due, a step of the handler's work, and then what the
    /// port has. Never waits for input.
    ///
    /// # Errors
    /// The port's, or the handler's.
    pub fn poll(
        &mut self,
        handler: &mut impl Handler<P, TX, N, S>,
    ) -> Result<PollResult, Error<P::Error>> {
        let Self { rx, ctx, .. } = self;
        let mut turn = PollResult::Idle;
        if let Some(frame) = rx.next_frame() {
            turn = PollResult::Active;
            let mut messages = Messages::new(frame);
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
        let worked = handler.on_poll(ctx)?;
        ctx.drain()?;
        if turn == PollResult::Idle {
            // No line waits, so what is held is unfinished.
            turn = self.read(handler)?;
        }
        Ok(if worked && turn == PollResult::Idle { PollResult::Active } else { turn })
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
                self.heard = now;
                self.rx.commit(read);
            }
            Ok(None)
                if self.rx.unfinished() > 0
                    && self.line_timeout.is_some_and(|t| now >= self.heard.saturating_add(t)) =>
            {
                self.put(b'\n');
            }
            Ok(None) => return Ok(PollResult::Idle),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // Stands for what is missing: no text has such a byte, so the line that it is in is
                // not taken for what it is not.
                if self.rx.unfinished() > 0 {
                    self.put(0xff);
                }
                handler.on_read_error(error, &mut self.ctx)?;
            }
        }
        Ok(PollResult::Active)
    }

    fn put(&mut self, byte: u8) {
        if let Some(spare) = self.rx.spare().first_mut() {
            *spare = byte;
            self.rx.commit(1);
        }
    }
}
