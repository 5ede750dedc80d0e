//! The loop, one turn at a time.

use core::time::Duration;

use ::embedded_io::{Error as _, ErrorKind, Read, ReadReady, Write};
use mcp_sansio::{Instant, Messages, RxBuffer, Server, ServerConfig, TxBuffer};

use super::{Error, Handler, Session};

/// A server on a port: `RX` bytes for the longest line it takes, `TX` bytes to write through, `N`
/// requests in flight, `S` subscribed URIs.
///
/// Large, so build it where it stays: in a `static`, or in the `main` that never ends.
#[derive(Debug)]
pub struct Link<'c, P, const RX: usize, const TX: usize, const N: usize = 4, const S: usize = 4> {
    rx: RxBuffer<[u8; RX]>,
    session: Session<'c, P, TX, N, S>,
    line_timeout: Option<Duration>,
    /// When bytes came last.
    heard: Instant,
}

/// What became of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Turn {
    /// There may be more to do at once.
    Done,
    /// There is nothing to do until bytes come, or until [`Link::wake`], or until the handler's own
    /// work is due.
    Idle,
    /// The peer has closed the connection: [`Link::close`], and the port may bring the next. A
    /// serial line never ends.
    Ended,
}

impl<
    'c,
    P: Read + ReadReady + Write,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
> Link<'c, P, RX, TX, N, S>
{
    /// A server with this configuration on this port. The clock counts from anywhere, and does not
    /// go backwards.
    #[must_use]
    pub const fn new(port: P, config: &'c ServerConfig<'c>, clock: fn() -> Instant) -> Self {
        let session = Session {
            server: Server::with_table_sizes(config),
            tx: TxBuffer::new([0; TX]),
            port,
            clock,
        };
        Self {
            rx: RxBuffer::new([0; RX]),
            session,
            line_timeout: None,
            heard: Instant::from_millis(0),
        }
    }

    /// Ends a line where it is after this silence in the middle of it. Default: never, as with
    /// `Duration::MAX`. Some seconds are right, or less where no person types.
    #[must_use]
    pub const fn line_timeout(mut self, timeout: Duration) -> Self {
        self.line_timeout = Some(timeout);
        self
    }

    /// What the handler speaks through, for use between two turns.
    pub const fn session(&mut self) -> &mut Session<'c, P, TX, N, S> {
        &mut self.session
    }

    /// The connection is gone ([`Turn::Ended`], or an error of the port's): forgets all that was of
    /// it, so that the next peer finds a server that is as new.
    pub fn close(&mut self) {
        self.session.server.close();
        self.session.tx = TxBuffer::new([0; TX]);
        if self.rx.unfinished() > 0 {
            self.put(b'\n');
        }
        while self.rx.next_frame().is_some() {}
    }

    /// When there is something to do though no bytes come.
    #[must_use]
    pub fn wake(&self) -> Option<Instant> {
        let line = self
            .line_timeout
            .filter(|_| self.rx.unfinished() > 0)
            .map(|timeout| self.heard.saturating_add(timeout));
        let line = line.filter(|due| due.as_millis() != u64::MAX);
        [line, self.session.server.poll_timeout()].into_iter().flatten().min()
    }

    /// A turn of the loop: a frame, what is due, a step of the handler's work, and then what the
    /// port has. Never waits for input.
    ///
    /// # Errors
    /// The port's, or the handler's.
    pub fn poll(
        &mut self,
        handler: &mut impl Handler<P, TX, N, S>,
    ) -> Result<Turn, Error<P::Error>> {
        let Self { rx, session, .. } = self;
        let mut turn = Turn::Idle;
        if let Some(frame) = rx.next_frame() {
            turn = Turn::Done;
            let mut messages = Messages::new(frame);
            let now = session.now();
            while let Some(event) =
                session.send(|server, tx| server.next_event(now, &mut messages, tx))?
            {
                handler.event(event, session)?;
            }
        }
        let now = session.now();
        while let Some(event) = session.send(|server, tx| server.handle_timeout(now, tx))? {
            handler.event(event, session)?;
        }
        let worked = handler.work(session)?;
        session.drain()?;
        if turn == Turn::Idle {
            // No line waits, so what is held is unfinished.
            turn = self.read(handler)?;
        }
        Ok(if worked && turn == Turn::Idle { Turn::Done } else { turn })
    }

    fn read(&mut self, handler: &mut impl Handler<P, TX, N, S>) -> Result<Turn, Error<P::Error>> {
        let now = self.session.now();
        let port = &mut self.session.port;
        match port
            .read_ready()
            .and_then(|ready| if ready { port.read(self.rx.spare()).map(Some) } else { Ok(None) })
        {
            Ok(Some(0)) => return Ok(Turn::Ended),
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
            Ok(None) => return Ok(Turn::Idle),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // Stands for what is missing: no text has such a byte, so the line that it is in is
                // not taken for what it is not.
                if self.rx.unfinished() > 0 {
                    self.put(0xff);
                }
                handler.fault(error, &mut self.session)?;
            }
        }
        Ok(Turn::Done)
    }

    fn put(&mut self, byte: u8) {
        if let Some(spare) = self.rx.spare().first_mut() {
            *spare = byte;
            self.rx.commit(1);
        }
    }
}
