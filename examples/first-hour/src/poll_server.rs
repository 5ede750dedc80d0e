//! Serves any number of TCP clients in one thread, with readiness events of the operating system:
//! no adapter, no async.
//!
//! `cargo run --bin poll-server 127.0.0.1:8080 60`: calls end after 60 s, the default.
//!
//! Nothing here waits but `poll`. A client that does not read its responses is not read from either
//! once its buffers are full; slow tools run in threads of their own, and their outcomes come back
//! through a channel. Events are edge-triggered (by `mio`, which registers sockets without
//! `unsafe`), so a connection continues until neither reading nor writing can.

mod small;

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::{RequestHandle, Step};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use small::{Reply, Session};

struct Client<'c> {
    stream: TcpStream,
    session: Session<'c>,
    /// The time of the next timeout.
    until: Option<mcp_sansio::Instant>,
}

/// When to continue with a client.
enum Next {
    /// When its socket is ready again, a tool has an outcome, or a call times out.
    Wait,
    /// After the other clients have had their turn.
    Again,
    End,
}

/// The outcome of a slow tool.
type Done = (Token, RequestHandle, Reply);

impl Client<'_> {
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
                Step::Io { write, mut read, until } => {
                    self.until = until;
                    let room = read.spare();
                    let stream = &mut self.stream;
                    let got = if room.is_empty() { None } else { ready(|| stream.read(room))? };
                    read.commit(got.unwrap_or(0));
                    let written =
                        if write.is_empty() { None } else { ready(|| stream.write(write))? };
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

/// Returns `None` if the socket is not ready. A signal ends a call early, with `Interrupted`.
fn ready<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        match call() {
            Ok(value) => return Ok(Some(value)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let usage = "usage: poll-server [IP:PORT [SECONDS]]";
    let seconds = arguments.next().map_or(Ok(60), |text| text.parse()).map_err(|_| usage)?;
    let config = small::config(Duration::from_secs(seconds));
    let mut listener = TcpListener::bind(address.parse().map_err(|_| usage)?)
        .map_err(|error| format!("{address}: {error}"))?;
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
    let (mut clients, mut busy) = (HashMap::<Token, Client<'_>>::new(), VecDeque::new());
    let (mut events, mut accepted, begun) = (Events::with_capacity(256), TOOLS.0, Instant::now());
    // When to accept again after an error, of which no event tells the end.
    let mut retry = None;
    let now = || mcp_sansio::Instant::from_millis(begun.elapsed().as_millis() as u64);
    loop {
        // Does not wait while clients have more to do. Many clients need an ordered list of times.
        let earliest = clients.values().filter_map(|client| client.until).chain(retry).min();
        let until = if busy.is_empty() { earliest } else { Some(now()) };
        let wait = until.map(|due| due.as_millis().saturating_sub(now().as_millis()));
        match poll.poll(&mut events, wait.map(Duration::from_millis)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        busy.extend(events.iter().map(|event| event.token()));
        let now = now();
        let is_due = |client: &Client<'_>| client.until.is_some_and(|due| due <= now);
        busy.extend(clients.iter().filter(|entry| is_due(entry.1)).map(|entry| *entry.0));
        busy.extend(retry.filter(|due| *due <= now).map(|_| LISTENER));
        for token in std::mem::take(&mut busy) {
            if token == LISTENER {
                retry = None;
                loop {
                    let (mut stream, _) = match ready(|| listener.accept()) {
                        Ok(Some(connection)) => connection,
                        Ok(None) => break,
                        Err(_) => {
                            // Out of files: some may be free in a while.
                            retry = Some(now.saturating_add(PAUSE));
                            break;
                        }
                    };
                    accepted += 1;
                    let token = Token(accepted);
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().register(&mut stream, token, interest)?;
                    let session = small::session(&config);
                    clients.insert(token, Client { stream, session, until: None });
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
/// Steps of a client before the others have their turn. One goes through at most 64 KiB of a long
/// outcome.
const STEPS: usize = 16;
/// Time without accepting after an error.
const PAUSE: Duration = Duration::from_millis(100);
