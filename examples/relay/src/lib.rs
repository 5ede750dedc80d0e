//! The relay between a client and a server that may disappear: a state machine without I/O or a
//! clock.
//!
//! Ids are passed on unchanged, with one exception: a reset server counts its requests from the
//! start again, while the client may still work on an old one. A new request with an id that is
//! open at the client gets another id, and its response the original one.

mod client;
mod kind;
mod lines;
mod pending;
mod server;
mod session;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub use self::kind::ServerKind;
use self::pending::{Asked, Held, Id, Own, Pending};
use self::session::Session;

/// The relay between a client and a server.
pub struct Relay {
    kind: ServerKind,
    place: String,
    timing: Timing,
    started: Instant,
    phase: Phase,
    /// The client's requests that the server has not responded to. Together with `held` at most
    /// [`MAX_IN_FLIGHT`].
    in_flight: BTreeMap<Id, Pending>,
    /// The client's requests that wait for the server to return.
    held: Vec<Held>,
    /// Requests that ended with an error when the server disappeared; a server that was not reset
    /// is still working on them.
    given_up: Vec<String>,
    /// The server's requests that the client has not responded to, by the client's id, including
    /// those from before a reset. At most [`MAX_ASKED`].
    asked: BTreeMap<Id, Asked>,
    /// Whether the last request of the server was rejected.
    refuses_questions: bool,
    /// Open requests of the relay itself.
    own: BTreeMap<Id, Own>,
    own_made: u32,
    /// Number of resets of the server.
    life: u32,
    session: Session,
    /// What is to be written.
    pub out: Out,
}

/// Bytes to be written, and the log.
#[derive(Default)]
pub struct Out {
    pub to_client: Vec<u8>,
    pub to_server: Vec<u8>,
    pub entries: Vec<Entry>,
}

/// A line of the log.
#[derive(Debug, PartialEq)]
pub enum Entry {
    /// Sent to the server.
    Sent(String),
    /// A message from the server, passed on or not.
    Received(String),
    /// Output of the server that is not a message.
    Noise(String),
    /// Sent to the client by the relay itself.
    Told(String),
    /// An event.
    Event(String),
}

/// Time limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// For a handshake request, and for all requests until the server has appeared once.
    pub wait: Duration,
    /// For other requests, counted from the disappearance of the server.
    pub patience: Duration,
}

enum Phase {
    /// There is no line.
    Away {
        since: Option<Instant>,
        why: String,
    },
    /// The line is open, and the server may be booting: `line` is repeated until it is answered,
    /// on a line.
    Opening {
        line: String,
        again: Option<Instant>,
        pause: Duration,
        since: Option<Instant>,
    },
    Up,
}

/// The way of a message.
enum Verdict {
    Pass,
    Instead(String),
    Keep,
}

impl Relay {
    /// `place` names the server in texts.
    pub fn new(kind: ServerKind, place: String, timing: Timing, now: Instant) -> Self {
        Self {
            kind,
            place,
            timing,
            started: now,
            phase: Phase::Away { since: None, why: "The server was not started yet".to_owned() },
            in_flight: BTreeMap::new(),
            held: Vec::new(),
            given_up: Vec::new(),
            asked: BTreeMap::new(),
            refuses_questions: false,
            own: BTreeMap::new(),
            own_made: 0,
            life: 0,
            session: Session::default(),
            out: Out::default(),
        }
    }

    /// Handles the opening of the line.
    pub fn link_up(&mut self, now: Instant) {
        let since = self.away_since();
        if self.kind == ServerKind::Process {
            // It has no requests, and some servers accept none before `initialize`.
            self.given_up.clear();
            return self.resume(now);
        }
        self.event(format!("{} is open", self.place));
        // Ends an incomplete line that the server may hold.
        self.out.to_server.extend_from_slice(b"\n");
        // Every server responds to a ping at any time, at least with an error, so a response shows
        // that it has booted.
        let line = self.own_request(Own::Probe, "ping", None);
        self.open_with(now, line, since);
    }

    /// Handles the loss of the line.
    pub fn link_down(&mut self, now: Instant, why: &str) {
        let lost = self.kind.lost(&self.place, why);
        self.event(lost.clone());
        let since = self.away_since().or(matches!(self.phase, Phase::Up).then_some(now));
        self.end_life(now, &self.kind.interrupted(&self.place, why));
        self.out.to_server.clear();
        self.phase = Phase::Away { since, why: lost };
    }

    /// Handles a failure to open the line.
    pub fn link_refused(&mut self, now: Instant, trouble: &str) {
        if let Phase::Away { why, .. } = &mut self.phase
            && why != trouble
        {
            why.clear();
            why.push_str(trouble);
            self.event(trouble.to_owned());
        }
        self.tick(now);
    }

    /// Handles timeouts that are due.
    pub fn tick(&mut self, now: Instant) {
        if let Phase::Opening { line, again: Some(again), pause, .. } = &mut self.phase
            && *again <= now
        {
            *pause = (*pause * 2).min(LONGEST_PAUSE);
            *again = now + *pause;
            let line = line.clone();
            self.send(&line);
        }
        let (late, held) =
            std::mem::take(&mut self.held).into_iter().partition(|held| held.deadline <= now);
        self.held = held;
        for Held { pending, .. } in late {
            self.refuse(&pending.id, &self.absence());
        }
    }

    /// Whether no request of the client is open that ends by itself.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty() && self.in_flight.values().all(Pending::is_endless)
    }

    /// Handles the end of the client: ends the server's work.
    pub fn close(&mut self) {
        if !matches!(self.phase, Phase::Up) {
            return;
        }
        for (_, pending) in std::mem::take(&mut self.in_flight) {
            self.send(&lines::cancelled(&pending.id, "The client has ended"));
        }
        if self.session.is_open() {
            // A serial line has no end that the server could detect. Most servers do not know this
            // request and respond with an error.
            let line = self.own_request(Own::Ignored, "shutdown", None);
            self.send(&line);
        }
    }

    /// Handles the first response of the server.
    fn up(&mut self) {
        self.phase = Phase::Up;
        self.event(format!("{} is ready", self.place));
        for id in std::mem::take(&mut self.given_up) {
            self.send(&lines::cancelled(&id, "The connection was lost"));
        }
        for Held { pending, .. } in std::mem::take(&mut self.held) {
            self.send(&pending.text);
            self.in_flight.insert(pending.key.clone(), pending);
        }
    }

    /// Ends all open requests with errors, since the server has lost them.
    fn end_life(&mut self, now: Instant, what: &str) {
        self.life += 1;
        self.own.clear();
        for (_, pending) in std::mem::take(&mut self.in_flight) {
            if pending.opens() || (pending.is_endless() && self.kind == ServerKind::Process) {
                // Such a request has no effects and can be repeated.
                self.held.push(Held { pending, deadline: now + self.timing.wait });
            } else {
                self.refuse(&pending.id, &format!("{what} {}", self.kind.advice()));
                self.given_up.push(pending.id);
            }
        }
        let asked: Vec<_> = self
            .asked
            .values()
            .filter(|asked| asked.life + 1 == self.life)
            .map(|asked| asked.id.clone())
            .collect();
        for id in asked {
            self.tell(&lines::cancelled(&id, "The server was disconnected"));
        }
    }

    /// Opens the client's session again, if there is one.
    fn resume(&mut self, now: Instant) {
        match self.session.initialize_params() {
            Some(_) => self.open_session_again(now),
            None => self.up(),
        }
    }

    /// Sends this line, on a line repeatedly until it is answered.
    fn open_with(&mut self, now: Instant, line: String, since: Option<Instant>) {
        self.send(&line);
        let again = (self.kind == ServerKind::Device).then(|| now + FIRST_PAUSE);
        self.phase = Phase::Opening { line, again, pause: FIRST_PAUSE, since };
    }

    /// Returns since when the server has been away; `None` if it was never there.
    fn away_since(&self) -> Option<Instant> {
        match self.phase {
            Phase::Away { since, .. } | Phase::Opening { since, .. } => since,
            Phase::Up => None,
        }
    }

    /// Returns the text of errors while the server is away.
    fn absence(&self) -> String {
        match &self.phase {
            Phase::Away { why, .. } => self.kind.absence(why),
            _ => self.kind.silence(&self.place),
        }
    }

    /// Begins a request of the relay itself.
    fn own_request(&mut self, own: Own, method: &str, params: Option<&str>) -> String {
        self.own_made += 1;
        let id = format!("{}-{}", self.kind.prefix(), self.own_made);
        let line = lines::request(&id, method, params);
        self.own.insert(Id::Text(id), own);
        line
    }

    /// Whether the client has too many open requests.
    fn is_full(&self) -> bool {
        self.in_flight.len() + self.held.len() + self.own.len() >= MAX_IN_FLIGHT
    }

    fn refuse(&mut self, id: &str, why: &str) {
        self.tell(&lines::error(id, INTERNAL_ERROR, why));
    }

    fn send(&mut self, line: &str) {
        self.out.to_server.extend_from_slice(line.as_bytes());
        self.out.to_server.push(b'\n');
        self.out.entries.push(Entry::Sent(line.to_owned()));
    }

    fn forward(&mut self, line: &[u8]) {
        self.out.to_client.extend_from_slice(line);
        self.out.to_client.push(b'\n');
    }

    /// Sends a message of the relay to the client.
    fn tell(&mut self, line: &str) {
        self.forward(line.as_bytes());
        self.out.entries.push(Entry::Told(line.to_owned()));
    }

    fn event(&mut self, text: String) {
        self.out.entries.push(Entry::Event(text));
    }
}

/// Maximum number of requests of the server that the client has not responded to. Each takes at
/// most 300 bytes, since an id has at most 48.
const MAX_ASKED: usize = 64;
/// Maximum number of open requests of the client and the relay. Each is kept as it was sent.
const MAX_IN_FLIGHT: usize = 1024;
/// Number of bytes queued for a server that does not read, beyond which its requests are dropped
/// without an error response.
const MAX_UNREAD: usize = 256 << 10;
/// Silence before a server that may be booting is addressed again: the first interval; the last is
/// longer, since the line may be slow.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// An internal error of the relay; 2026-07-28 reserves the codes next to it.
const INTERNAL_ERROR: i32 = -32603;
