//! The connections of a server.

use std::future::Future;

use embedded_io_async::ErrorKind;
use mcp_sansio_adapters::embedded_async::{ConnectionEnd, Error};

use crate::port::{Player, Port, Time};

pub(crate) type Served = Result<ConnectionEnd, Error<ErrorKind, ErrorKind>>;

/// The other end of a connection, and its future.
pub(crate) struct Client<'s> {
    pub(crate) port: Port,
    player: Player<'s, Served>,
    pub(crate) end: Option<Served>,
}

impl Client<'_> {
    /// Returns what the server has sent since the last call.
    pub(crate) fn received(&self) -> String {
        String::from_utf8(self.port.output()).expect("text")
    }
}

pub(crate) struct Net<'s> {
    time: Time,
    chunk: usize,
    pub(crate) clients: Vec<Client<'s>>,
}

impl<'s> Net<'s> {
    /// Creates a network whose ports move at most `chunk` bytes at once.
    pub(crate) fn new(time: &Time, chunk: usize) -> Self {
        Self { time: time.clone(), chunk, clients: Vec::new() }
    }

    /// Opens a connection, which `serve` serves. Returns its number.
    pub(crate) fn connect<F>(&mut self, serve: impl FnOnce(Port, Port, Time) -> F) -> usize
    where
        F: Future<Output = Served> + 's,
    {
        let port = Port::new(self.chunk);
        let player = Player::new(serve(port.clone(), port.clone(), self.time.clone()));
        self.clients.push(Client { port, player, end: None });
        self.run();
        self.clients.len() - 1
    }

    /// Polls the futures until none is woken.
    pub(crate) fn run(&mut self) {
        for _ in 0..100_000 {
            let mut polls = 0;
            for client in self.clients.iter_mut().filter(|client| client.end.is_none()) {
                client.end = client.player.run();
                polls += client.player.polls();
            }
            if polls == 0 {
                return;
            }
        }
        panic!("a future is woken without end");
    }

    /// Lets time pass, in steps of a tenth of a second at most.
    pub(crate) fn pass(&mut self, ms: u64) {
        let mut left = ms;
        while left > 0 {
            let step = left.min(100);
            self.time.pass(step);
            self.run();
            left -= step;
        }
    }

    /// Sends bytes and returns the response, or what has come of it.
    pub(crate) fn exchange(&mut self, client: usize, bytes: impl AsRef<[u8]>) -> String {
        self.clients[client].port.bytes(bytes);
        self.run();
        self.clients[client].received()
    }
}
