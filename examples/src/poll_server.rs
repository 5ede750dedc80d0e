//! Serves any number of TCP clients in one thread, with readiness events of the operating system:
//! no adapter, no async.
//!
//! `cargo run --bin poll-server 127.0.0.1:8080`
//!
//! Each connection is a [`Session`] and a socket. Events are edge-triggered (by `mio`, which
//! registers sockets without `unsafe`), so a connection continues until neither reading nor writing
//! can.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use mcp_sansio_examples::small::Session;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

struct Connection {
    stream: TcpStream,
    session: Session,
    input_ended: bool,
}

/// When to continue with a connection.
enum Next {
    /// When its socket is ready again.
    Wait,
    /// After the other connections have had their turn.
    Again,
    End,
}

impl Connection {
    fn turn(&mut self, now: mcp_sansio::Instant) -> io::Result<Next> {
        for _ in 0..16 {
            self.session.run(now).map_err(io::Error::other)?;
            let moved = self.write()? | self.read()?;
            if self.input_ended && self.session.tx.is_idle() {
                return Ok(Next::End);
            }
            if !moved {
                return Ok(Next::Wait);
            }
        }
        Ok(Next::Again)
    }

    fn write(&mut self) -> io::Result<bool> {
        let tx = &mut self.session.tx;
        if tx.pending().is_empty() {
            return Ok(false);
        }
        let written = or_none(self.stream.write(tx.pending()))?;
        tx.advance(written.unwrap_or(0));
        Ok(written.is_some())
    }

    fn read(&mut self) -> io::Result<bool> {
        let spare = self.session.rx.spare();
        // The buffer is full while the client does not read its responses.
        if spare.is_empty() || self.input_ended {
            return Ok(false);
        }
        let read = or_none(self.stream.read(spare))?;
        self.session.rx.commit(read.unwrap_or(0));
        self.input_ended = read == Some(0);
        Ok(read.is_some())
    }
}

fn or_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let mut listener = TcpListener::bind(address.parse().map_err(io::Error::other)?)?;
    eprintln!("poll-server: listening on {}", listener.local_addr()?);
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut connections, mut busy) = (HashMap::new(), VecDeque::new());
    let (mut events, mut accepted, begun) = (Events::with_capacity(256), 0, Instant::now());
    loop {
        // Do not wait while connections have more to do.
        poll.poll(&mut events, if busy.is_empty() { None } else { Some(Duration::ZERO) })?;
        busy.extend(events.iter().map(|event| event.token()));
        let now = mcp_sansio::Instant::from_millis(begun.elapsed().as_millis() as u64);
        for token in std::mem::take(&mut busy) {
            if token == LISTENER {
                while let Some((mut stream, _)) = or_none(listener.accept())? {
                    accepted += 1;
                    poll.registry().register(
                        &mut stream,
                        Token(accepted),
                        Interest::READABLE | Interest::WRITABLE,
                    )?;
                    connections.insert(
                        Token(accepted),
                        Connection { stream, session: Session::default(), input_ended: false },
                    );
                }
            } else if let Some(connection) = connections.get_mut(&token) {
                match connection.turn(now) {
                    Ok(Next::Wait) => {}
                    Ok(Next::Again) => busy.push_back(token),
                    Ok(Next::End) | Err(_) => drop(connections.remove(&token)),
                }
            }
        }
    }
}

const LISTENER: Token = Token(0);
