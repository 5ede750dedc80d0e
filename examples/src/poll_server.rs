//! Serves any number of TCP clients in one thread, with readiness events of the operating system:
//! no adapter, no async.
//!
//! `cargo run --bin poll-server 127.0.0.1:8080`
//!
//! Nothing here waits but `poll`. A client that does not read its responses is not read from either
//! once its buffers are full; slow tools run in threads of their own, and their outcomes come back
//! through a channel. Events are edge-triggered (by `mio`, which registers sockets without
//! `unsafe`), so a connection continues until neither reading nor writing can.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::{RequestHandle, Step};
use mcp_sansio_examples::small::{self, Reply, Session};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

struct Client {
    stream: TcpStream,
    session: Session,
}

/// When to continue with a client.
enum Next {
    /// When its socket is ready again, or a tool has an outcome.
    Wait,
    /// After the other clients have had their turn.
    Again,
    End,
}

/// The outcome of a slow tool.
type Done = (Token, RequestHandle, Reply);

impl Client {
    fn turn(
        &mut self,
        now: mcp_sansio::Instant,
        mut start: impl FnMut(small::Job),
    ) -> io::Result<Next> {
        for _ in 0..STEPS {
            match self.session.next(now) {
                Step::Event(event, mut turn) => {
                    if let Some(job) = small::handle(&event, &mut turn) {
                        start(job);
                    }
                }
                Step::Again => {}
                Step::Io { write, mut read, .. } => {
                    let room = read.spare();
                    let got = if room.is_empty() { None } else { ready(self.stream.read(room))? };
                    read.commit(got.unwrap_or(0));
                    let written =
                        if write.is_empty() { None } else { ready(self.stream.write(write))? };
                    self.session.wrote(written.unwrap_or(0));
                    match got {
                        Some(0) => self.session.end_of_input(),
                        None if written.is_none() => return Ok(Next::Wait),
                        _ => {}
                    }
                }
                Step::Closed => return Ok(Next::End),
            }
        }
        Ok(Next::Again)
    }
}

/// Returns `None` if the socket is not ready.
fn ready<T>(result: io::Result<T>) -> io::Result<Option<T>> {
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
    let waker = Arc::new(Waker::new(poll.registry(), TOOLS)?);
    let (sender, outcomes) = mpsc::channel::<Done>();
    let start = |client: Token, job: small::Job| {
        let (sender, waker) = (sender.clone(), Arc::clone(&waker));
        // A program with many clients has a pool of threads instead.
        thread::spawn(move || {
            let _ = sender.send((client, job.request, job.run()));
            let _ = waker.wake();
        });
    };
    let (mut clients, mut busy) = (HashMap::new(), VecDeque::new());
    let (mut events, mut accepted, begun) = (Events::with_capacity(256), TOOLS.0, Instant::now());
    loop {
        // Does not wait while clients have more to do.
        poll.poll(&mut events, if busy.is_empty() { None } else { Some(Duration::ZERO) })?;
        busy.extend(events.iter().map(|event| event.token()));
        let now = mcp_sansio::Instant::from_millis(begun.elapsed().as_millis() as u64);
        for token in std::mem::take(&mut busy) {
            if token == LISTENER {
                while let Some((mut stream, _)) = ready(listener.accept())? {
                    accepted += 1;
                    let token = Token(accepted);
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().register(&mut stream, token, interest)?;
                    clients.insert(token, Client { stream, session: small::session() });
                }
            } else if token == TOOLS {
                for (token, request, reply) in outcomes.try_iter() {
                    if let Some(client) = clients.get_mut(&token) {
                        let _ = client.session.answer(request, reply);
                        busy.push_back(token);
                    }
                }
            } else if let Some(client) = clients.get_mut(&token) {
                match client.turn(now, |job| start(token, job)) {
                    Ok(Next::Wait) => {}
                    Ok(Next::Again) => busy.push_back(token),
                    Ok(Next::End) | Err(_) => drop(clients.remove(&token)),
                }
            }
        }
    }
}

const LISTENER: Token = Token(0);
const TOOLS: Token = Token(1);
/// Steps of a client before the others have their turn.
const STEPS: usize = 64;
