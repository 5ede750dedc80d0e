//! What passes between a client and a device that comes and goes: a state machine, without a line
//! and without a clock.
//!
//! Ids stay as they are, with one exception. After a reset the device counts its own requests from
//! the beginning again, while the client may still be busy with an old one: a new request whose id
//! the client knows from before gets another one on the way to the client, and its answer the old
//! one on the way back.

mod client;
mod device;
mod lines;
mod pending;
mod session;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use self::pending::{Asked, Held, Id, Own, Pending};
use self::session::Session;
use super::journal::Entry;
use super::options::Timing;

pub(crate) struct Relay {
    place: String,
    timing: Timing,
    started: Instant,
    phase: Phase,
    /// Requests of the client that the device has not answered. With `held` at most
    /// [`MAX_IN_FLIGHT`].
    in_flight: BTreeMap<Id, Pending>,
    /// What the client has asked while the device was away.
    held: Vec<Held>,
    /// What was answered with an error when the device went away: it may not know.
    given_up: Vec<String>,
    /// Requests of devices that the client has not answered, under the id that the client knows.
    /// Of earlier lives, too. At most [`MAX_ASKED`].
    asked: BTreeMap<Id, Asked>,
    /// The last question of the device was refused.
    refuses_questions: bool,
    /// What the bridge itself has asked the device.
    own: BTreeMap<Id, Own>,
    own_made: u32,
    /// Lives of the device.
    life: u32,
    session: Session,
    pub(crate) out: Out,
}

/// What is to be written.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) to_client: Vec<u8>,
    pub(crate) to_device: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
}

enum Phase {
    /// There is no line.
    Away {
        since: Option<Instant>,
        why: String,
    },
    /// There is a line, and at its end perhaps something that boots: `line` is said again and again
    /// until it is answered.
    Opening {
        line: String,
        again: Instant,
        pause: Duration,
        since: Option<Instant>,
    },
    Up,
}

/// What becomes of a message.
enum Verdict {
    Pass,
    Instead(String),
    Keep,
}

impl Relay {
    pub(crate) fn new(place: String, timing: Timing, now: Instant) -> Self {
        Self {
            place,
            timing,
            started: now,
            phase: Phase::Away { since: None, why: "it has not been opened yet".to_owned() },
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

    /// The line is open.
    pub(crate) fn link_up(&mut self, now: Instant) {
        let since = self.away_since();
        self.event(format!("{} is open", self.place));
        // Whatever half line the device may hold ends here.
        self.out.to_device.extend_from_slice(b"\n");
        // A ping is answered by every server, at any time, if only with an error: then it has
        // booted.
        let line = self.own_request(Own::Probe, "ping", None);
        self.open_with(now, line, since);
    }

    /// The line is gone.
    pub(crate) fn link_down(&mut self, now: Instant, why: &str) {
        self.event(format!("{} is gone: {why}", self.place));
        let since = self.away_since().or(matches!(self.phase, Phase::Up).then_some(now));
        let what = format!("{} went away while this was being worked on ({why}).", self.place);
        self.end_life(now, &what);
        self.out.to_device.clear();
        self.phase = Phase::Away { since, why: format!("{} is gone: {why}", self.place) };
    }

    /// The line could not be opened.
    pub(crate) fn link_refused(&mut self, now: Instant, trouble: &str) {
        if let Phase::Away { why, .. } = &mut self.phase
            && why != trouble
        {
            why.clear();
            why.push_str(trouble);
            self.event(trouble.to_owned());
        }
        self.tick(now);
    }

    /// Whatever is due.
    pub(crate) fn tick(&mut self, now: Instant) {
        if let Phase::Opening { line, again, pause, .. } = &mut self.phase
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

    /// Whether the client waits for nothing that ends by itself.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.in_flight.values().all(Pending::is_endless)
    }

    /// The client is gone: the device need not go on.
    pub(crate) fn close(&mut self) {
        if !matches!(self.phase, Phase::Up) {
            return;
        }
        for (_, pending) in std::mem::take(&mut self.in_flight) {
            self.send(&lines::cancelled(&pending.id, "The client has ended"));
        }
        if self.session.is_open() {
            // A serial line has no end that the device could see. Most servers do not know this
            // request, and say so.
            let line = self.own_request(Own::Ignored, "shutdown", None);
            self.send(&line);
        }
    }

    /// The device answers.
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

    /// Nothing of what was going on will go on: the client is told.
    fn end_life(&mut self, now: Instant, what: &str) {
        self.life += 1;
        self.own.clear();
        for (_, pending) in std::mem::take(&mut self.in_flight) {
            if pending.opens() {
                // It can be asked again without harm.
                self.held.push(Held { pending, deadline: now + self.timing.wait });
            } else {
                let advice = "It may or may not have been done. The bridge connects again by itself: look at what was done, then try again";
                self.refuse(&pending.id, &format!("{what} {advice}"));
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
            self.tell(&lines::cancelled(&id, "The device that asked is gone"));
        }
    }

    /// Says this until it is answered.
    fn open_with(&mut self, now: Instant, line: String, since: Option<Instant>) {
        self.send(&line);
        self.phase = Phase::Opening { line, again: now + FIRST_PAUSE, pause: FIRST_PAUSE, since };
    }

    /// Since when there has been nothing to talk to; of a device that was never there, nothing.
    fn away_since(&self) -> Option<Instant> {
        match self.phase {
            Phase::Away { since, .. } | Phase::Opening { since, .. } => since,
            Phase::Up => None,
        }
    }

    /// Why requests are not served now.
    fn absence(&self) -> String {
        match &self.phase {
            Phase::Away { why, .. } => {
                format!("The device cannot be reached: {why}. The bridge goes on trying: try again")
            }
            _ => format!(
                "{} is open, but nothing there answers. Is an MCP server running on the device, and at this speed? What else it says is in the log",
                self.place
            ),
        }
    }

    /// A request of the bridge's own.
    fn own_request(&mut self, own: Own, method: &str, params: Option<&str>) -> String {
        self.own_made += 1;
        let id = format!("serial-bridge-{}", self.own_made);
        let line = lines::request(&id, method, params);
        self.own.insert(Id::Text(id), own);
        line
    }

    /// Whether the client may ask nothing more before something is answered.
    fn is_full(&self) -> bool {
        self.in_flight.len() + self.held.len() + self.own.len() >= MAX_IN_FLIGHT
    }

    fn refuse(&mut self, id: &str, why: &str) {
        self.tell(&lines::error(id, INTERNAL_ERROR, why));
    }

    fn send(&mut self, line: &str) {
        self.out.to_device.extend_from_slice(line.as_bytes());
        self.out.to_device.push(b'\n');
        self.out.entries.push(Entry::Sent(line.to_owned()));
    }

    fn forward(&mut self, line: &[u8]) {
        self.out.to_client.extend_from_slice(line);
        self.out.to_client.push(b'\n');
    }

    /// To the client, from the bridge.
    fn tell(&mut self, line: &str) {
        self.forward(line.as_bytes());
        self.out.entries.push(Entry::Told(line.to_owned()));
    }

    fn event(&mut self, text: String) {
        self.out.entries.push(Entry::Event(text));
    }
}

/// Questions of the device that the client has not answered. Each takes 300 bytes at most, since an
/// id has no more than 48.
const MAX_ASKED: usize = 64;
/// Requests of the client that the device has not answered, and of the bridge. Each is kept as it
/// was sent.
const MAX_IN_FLIGHT: usize = 1024;
/// Bytes that may wait for a device that does not read before its own questions are dropped instead
/// of refused.
const MAX_UNREAD: usize = 256 << 10;
/// After how much silence a device that may boot is spoken to again: at first, and at last, since
/// the line may be slow.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// An error of nobody's making but the bridge's; 2026-07-28 leaves implementations none of the
/// codes around it.
const INTERNAL_ERROR: i32 = -32603;
