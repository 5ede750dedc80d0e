//! The application on a [`Port`] of embedded-io.

use embedded_io::{Read, ReadReady, Write};
use mcp_sansio::{Connection, Instant, RxBuffer, Server, ServerState, TxBuffer};
use mcp_sansio_adapters::embedded::{Error, Port, Step, Turn};

use crate::{App, Board, CONFIG, IN_FLIGHT, Reply, SUBSCRIPTIONS};

/// The server on a port with this driver.
pub type Line<D> = Port<
    D,
    Connection<'static, ServerState<IN_FLIGHT, SUBSCRIPTIONS>, [u8; RX_BYTES], [u8; TX_BYTES]>,
>;

/// The next operation of the main loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Call [`App::run`] again.
    Again,
    /// Wait for bytes, or until this time.
    Idle(Option<Instant>),
    /// Stop: the input has ended.
    Closed,
}

/// Creates the server.
pub fn open<D: Read + ReadReady + Write>(driver: D) -> Line<D> {
    let (rx, tx) = (RxBuffer::new([0; RX_BYTES]), TxBuffer::new([0; TX_BYTES]));
    Port::new(driver, Connection::new(&CONFIG, ServerState::new(), rx, tx))
}

impl<B: Board> App<B> {
    /// Makes a step of the server and one of the jobs.
    ///
    /// # Errors
    /// Errors of the port, and of sending a reply, which is lost then.
    pub fn run<D: Read + ReadReady + Write>(
        &mut self,
        line: &mut Line<D>,
        now: Instant,
    ) -> Result<Next, Error<D::Error>> {
        let due = match line.next(now)? {
            Step::Event(event, mut turn) => {
                if let Some(reply) = self.event(event, now) {
                    send(reply, &mut turn)?;
                }
                None
            }
            Step::Again => None,
            Step::ReadError(_) => {
                self.fault();
                None
            }
            Step::Idle(due) => Some(due),
            Step::Closed => return Ok(Next::Closed),
        };
        if let Some(mut turn) = line.turn(now)
            && let Some(reply) = self.work(turn.machine(), now)
        {
            send(reply, &mut turn)?;
            return Ok(Next::Again);
        }
        Ok(due
            .map_or(Next::Again, |due| Next::Idle([due, self.wake()].into_iter().flatten().min())))
    }
}

fn send<D: Read + ReadReady + Write>(
    mut reply: Reply<'_>,
    turn: &mut Turn<'_, D, Server<'_>>,
) -> Result<(), Error<D::Error>> {
    turn.send(|server, tx| reply.send(server, tx))
}

/// Maximum length of a line, in bytes.
pub const RX_BYTES: usize = 2048;
/// Size of the transmit buffer, in bytes.
pub const TX_BYTES: usize = 512;
