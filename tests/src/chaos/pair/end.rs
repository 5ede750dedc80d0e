//! One end of the line: a machine, its buffers, and an application that does anything at any time.

use std::fmt::Debug;

use mcp_sansio::{Delivery, Instant, RequestHandle, Revision, RxBuffer, SendError, Tx};

use super::corpus::{ROOMS, rx};
use crate::chaos::script::{Script, show};
use crate::delivery::respond;
use crate::endpoint::Endpoint;
use crate::line::Line;
use crate::pair::{Audit, Speaker};

pub(super) struct End<P: Role> {
    pub(super) machine: P::Machine,
    pub(super) line: Line,
    pub(super) rx: RxBuffer<Vec<u8>>,
    /// Whether every frame fits the receive buffer.
    pub(super) roomy: bool,
    /// The operation whose frame has begun and not ended.
    pub(super) begun: Option<Op<P::Act>>,
    /// That operation is being repeated.
    going_on: bool,
    /// Two operations may write into one frame.
    crossing: bool,
    /// Whether the last call was `Full` and wrote a part of its frame.
    pub(super) wrote_part: bool,
    pub(super) app: P,
}

/// An operation that can be repeated unchanged.
#[derive(Clone, Debug)]
pub(super) enum Op<A> {
    NextEvent,
    Timeout,
    Act(A),
}

/// The part that differs between the two ends: the application and its checks.
pub(super) trait Role: Default {
    type Machine: Endpoint;
    /// A call that the application makes.
    type Act: Clone + Debug;
    const SPEAKER: Speaker;

    fn machine(script: &Script<'_>) -> Self::Machine;
    /// Chooses what the application does next, if it can do anything.
    fn choose(&mut self, machine: &Self::Machine, script: &Script<'_>) -> Option<Self::Act>;
    /// Makes the call through [`End::attempt`].
    fn perform(end: &mut End<Self>, act: &Self::Act, now: u64) -> Result<(), SendError>;
    /// Checks an event and remembers what follows from it.
    fn event(
        &mut self,
        machine: &Self::Machine,
        event: &<Self::Machine as Endpoint>::Event<'_>,
        now: u64,
        roomy: bool,
    );
    /// Whether two calls write into one frame. Making the second one while the frame of the first
    /// is open would be a mistake of the application.
    fn same(one: &Op<Self::Act>, other: &Op<Self::Act>) -> bool;
    /// Whether the machine may continue the frame of `begun` in `op`.
    fn may_cross(_machine: &Self::Machine, _begun: &Op<Self::Act>, _op: &Op<Self::Act>) -> bool {
        false
    }
    /// Called before the deadlines up to `now` are handled.
    fn before_timeouts(&mut self, _now: u64) {}
    /// Checks after the deadlines up to `now` were handled.
    fn after_timeouts(&self, _now: u64) {}
    /// Checks what holds whenever no operation is under way.
    fn check(end: &End<Self>);
    /// Chooses the next step towards the end of everything, if anything is left.
    fn finish(&self) -> Option<Self::Act>;
}

impl<P: Role> End<P> {
    pub(super) fn new(script: &Script<'_>) -> Self {
        let (rx, roomy) = rx(script);
        Self {
            machine: P::machine(script),
            line: Line::new(*script.pick(&ROOMS)),
            rx,
            roomy,
            begun: None,
            going_on: false,
            crossing: false,
            wrote_part: false,
            app: P::default(),
        }
    }

    /// The application does something, or the open frame is continued or intruded into.
    pub(super) fn act(&mut self, script: &Script<'_>, audit: &mut Audit, now: u64) {
        if self.begun.is_none() {
            if let Some(act) = self.app.choose(&self.machine, script) {
                self.run(&Op::Act(act), now);
            }
        } else if script.once_in(3) {
            self.intrude(script, now);
        } else {
            self.drain_some(script, audit);
            self.go_on(now);
        }
    }

    /// Starts an operation. One that finds no room is given up.
    pub(super) fn run(&mut self, op: &Op<P::Act>, now: u64) {
        match self.perform(op, now) {
            Err(SendError::Full) if self.wrote_part => self.begun = Some(op.clone()),
            _ => self.check(),
        }
    }

    /// Repeats the operation that has begun.
    pub(super) fn go_on(&mut self, now: u64) {
        let Some(op) = self.begun.take() else { return };
        self.going_on = true;
        let result = self.perform(&op, now);
        let goes_on = std::mem::take(&mut self.going_on);
        match result {
            Err(SendError::Full) if self.wrote_part => self.begun = Some(op),
            // Not finished yet. Otherwise something new found no room.
            Err(SendError::Full) if goes_on => self.begun = Some(op),
            _ => self.check(),
        }
    }

    /// Starts another operation while a frame is open.
    fn intrude(&mut self, script: &Script<'_>, now: u64) {
        let op = match script.below(4) {
            0 => Op::NextEvent,
            1 => Op::Timeout,
            _ => match self.app.choose(&self.machine, script) {
                Some(act) => Op::Act(act),
                None => return,
            },
        };
        let begun = self.begun.as_ref().expect("a frame is open");
        if P::same(begun, &op) {
            return;
        }
        self.crossing = P::may_cross(&self.machine, begun, &op);
        let result = self.perform(&op, now);
        assert!(
            self.crossing || result.is_ok() || !self.wrote_part,
            "{op:?} in the middle of {:?}",
            self.begun
        );
        if std::mem::take(&mut self.crossing) && !self.is_frame_open() {
            self.begun = None;
        }
        self.check();
    }

    fn perform(&mut self, op: &Op<P::Act>, now: u64) -> Result<(), SendError> {
        let result = match op {
            Op::NextEvent => self.next_event(now),
            Op::Timeout => self.handle_timeouts(now),
            Op::Act(act) => P::perform(self, act, now),
        };
        show(format_args!("   {:?} {op:?}: {result:?}", P::SPEAKER));
        result
    }

    /// Makes one call of the machine, and checks what it writes.
    pub(super) fn attempt<R>(
        &mut self,
        call: impl FnOnce(&mut P::Machine, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let intrudes = self.intrudes();
        let Self { machine, line, wrote_part, .. } = self;
        attempt(machine, line, wrote_part, intrudes, call)
    }

    pub(super) fn respond(
        &mut self,
        request: RequestHandle,
        call: impl FnOnce(&mut P::Machine, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.attempt(|machine, tx| respond(machine, request, tx, call))
    }

    /// Whether a frame of another operation is open, into which nothing may be written.
    fn intrudes(&self) -> bool {
        self.begun.is_some() && !self.crossing
    }

    fn next_event(&mut self, now: u64) -> Result<(), SendError> {
        let (intrudes, at) = (self.intrudes(), Instant::from_millis(now));
        let Some(mut messages) = self.rx.next_messages() else { return Ok(()) };
        loop {
            let Self { machine, line, wrote_part, .. } = self;
            let event = attempt(machine, line, wrote_part, intrudes, |machine, tx| {
                machine.next_event(at, &mut messages, tx)
            });
            match event {
                Ok(Some(event)) => {
                    self.app.event(&self.machine, &event, now, self.roomy);
                    self.going_on = false;
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    assert_eq!(error, SendError::Full);
                    return Err(error);
                }
            }
        }
    }

    fn handle_timeouts(&mut self, now: u64) -> Result<(), SendError> {
        let (intrudes, at) = (self.intrudes(), Instant::from_millis(now));
        self.app.before_timeouts(now);
        for _ in 0..100 {
            let due = self.machine.poll_timeout();
            let idle = due.is_none_or(|due| due > at) && !self.crossing;
            let before = self.line.tx.pending().len();
            let event = self.attempt(|machine, tx| machine.handle_timeout(at, tx));
            let wrote = self.line.tx.pending().len() > before;
            // A frame that has begun is continued whatever the time is.
            let nothing = matches!(event, Ok(None)) && !wrote;
            assert!(!idle || nothing || self.going_on, "the deadline {due:?} was handled at {now}");
            self.going_on &= event.is_err();
            if let Some(event) = event? {
                self.app.event(&self.machine, &event, now, self.roomy);
            } else if !wrote {
                if !intrudes && now < u64::MAX / 4 {
                    let due = self.machine.poll_timeout().is_some_and(|due| due <= at);
                    assert!(!due, "a passed deadline had no effect");
                    self.app.after_timeouts(now);
                }
                return Ok(());
            }
        }
        panic!("handle_timeout does not terminate");
    }

    fn check(&self) {
        assert_eq!(self.begun.is_some(), self.is_frame_open(), "{:?}", self.begun);
        P::check(self);
    }

    /// Whether the beginning of a frame has been written, and its end not.
    fn is_frame_open(&self) -> bool {
        let pending = self.line.tx.pending();
        if pending.is_empty() { !self.line.tx.is_idle() } else { !pending.ends_with(b"\n") }
    }

    /// One step towards the end of everything. `false` when nothing is left.
    pub(super) fn finish(&mut self, now: u64) -> bool {
        let Some(act) = self.app.finish() else { return false };
        self.run(&Op::Act(act), now);
        true
    }

    /// Some bytes leave the output buffer.
    pub(super) fn drain_some(&mut self, script: &Script<'_>, audit: &mut Audit) {
        self.line.drain_at_most(*script.pick(&[usize::MAX, usize::MAX, 100, 17, 1]));
        self.listen(audit);
    }

    /// All bytes leave it.
    pub(super) fn drain(&mut self, audit: &mut Audit) {
        self.line.drain();
        self.listen(audit);
    }

    /// Checks the lines that were written since the last call.
    pub(super) fn listen(&mut self, audit: &mut Audit) {
        for text in self.line.lines() {
            show(format_args!("{:?}: {}", P::SPEAKER, String::from_utf8_lossy(&text)));
            audit.line(P::SPEAKER, &text);
        }
    }
}

/// Makes one call of a machine, and checks what it writes. `intrudes`: a frame of another operation
/// is open.
fn attempt<M: Endpoint, R>(
    machine: &mut M,
    line: &mut Line,
    wrote_part: &mut bool,
    intrudes: bool,
    call: impl FnOnce(&mut M, &mut Tx<'_>) -> Result<R, SendError>,
) -> Result<R, SendError> {
    let (before, was) = (line.tx.pending().len(), state(machine));
    let result = call(machine, &mut line.tx);
    let written = &line.tx.pending()[before..];
    let ends = written.iter().filter(|byte| **byte == b'\n').count();
    assert!(!intrudes || written.is_empty(), "a call wrote into the open frame of another");
    *wrote_part = result.is_err() && line.tx.is_mid_frame() && !written.is_empty();
    match &result {
        Ok(_) => {
            assert!(
                ends <= 1 && (written.is_empty() || written.ends_with(b"\n")),
                "the output is not one frame"
            )
        }
        Err(SendError::Full) if *wrote_part => {
            assert_eq!(ends, 0, "a partial frame ends a line")
        }
        Err(error) => {
            assert!(written.is_empty(), "{error:?}, but output was written");
            assert_eq!(state(machine), was, "{error:?}, but the state changed");
            assert!(
                *error != SendError::Full || !line.tx.is_idle(),
                "Full, but nothing is pending"
            );
        }
    }
    result
}

/// The state that a call that fails must not change.
fn state(machine: &impl Endpoint) -> (usize, usize, Option<Revision>) {
    (machine.open_requests(), machine.open_calls(), machine.session_revision())
}
