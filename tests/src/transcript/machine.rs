//! The player of transcripts, for servers and clients.

use std::io::Read as _;

use mcp_sansio::{
    Call, Delivery, Instant, Messages, RequestHandle, Revision, RxBuffer, SendError, Tx,
};
use serde_json::Value;

use super::claims::Claims;
use super::parse::{Kind, Transcript};
use super::wire::{PATIENCE, Way, Wire, probed};
use crate::delivery::respond;
use crate::endpoint::Endpoint;

/// Buffers, a clock, and a record of output, events, requests and calls.
pub(super) struct Bench {
    pub(super) wire: Wire,
    pub(super) now: Instant,
    pub(super) claims: Claims,
    sent: Vec<(Revision, String)>,
    /// Requests of the peer in order of arrival.
    pub(super) requests: Vec<RequestHandle>,
    /// Calls in the order in which they were made.
    pub(super) calls: Vec<Call>,
    rx: RxBuffer<Vec<u8>>,
    way: Way,
}

impl Bench {
    pub(super) fn new(way: &Way, rx: usize) -> Self {
        Self {
            wire: Wire::new(way),
            now: Instant::from_millis(0),
            claims: Claims::default(),
            sent: Vec::new(),
            requests: Vec::new(),
            calls: Vec::new(),
            rx: RxBuffer::new(vec![0; rx]),
            way: *way,
        }
    }

    /// `#3`
    pub(super) fn request(&self, name: &str) -> Result<RequestHandle, String> {
        named(&self.requests, name)
    }

    pub(super) fn name(&self, request: RequestHandle) -> String {
        let at = self.requests.iter().position(|known| *known == request);
        at.map_or("a request that was never seen".into(), |at| format!("#{}", at + 1))
    }

    /// `?3`
    pub(super) fn call(&self, name: &str) -> Result<Call, String> {
        named(&self.calls, name)
    }

    pub(super) fn call_name(&self, call: Call) -> String {
        let at = self.calls.iter().position(|known| *known == call);
        at.map_or("a call that was never made".into(), |at| format!("?{}", at + 1))
    }

    /// Notes a call that was made; returns the outcome.
    pub(super) fn called(&mut self, call: Result<Call, SendError>) -> String {
        self.calls.extend(call);
        outcome(call.map(|_| "Ok"))
    }
}

/// A state machine and its application, on a bench.
pub(super) trait Play {
    type Machine: Endpoint;
    fn parts(&mut self) -> (&mut Self::Machine, &mut Bench);
    /// Runs the steps before the transcript.
    fn begin(&mut self) -> Result<(), String>;
    /// Handles an event: usually records it, to be claimed.
    fn happened(&mut self, event: &<Self::Machine as Endpoint>::Event<'_>);
    /// Performs an action of the application; returns the outcome.
    fn act(&mut self, text: &str) -> Result<String, String>;
    /// Notes a line that is about to arrive.
    fn arrives(&mut self, _message: &Value) {}
    /// Returns the revision that a message was written for.
    fn revision_of(&self, message: &Value) -> Revision;

    fn bench(&mut self) -> &mut Bench {
        self.parts().1
    }

    fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Self::Machine, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let (machine, bench) = self.parts();
        bench.wire.send(|tx| call(machine, tx))
    }

    fn respond(
        &mut self,
        request: RequestHandle,
        mut call: impl FnMut(&mut Self::Machine, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.send(|machine, tx| respond(machine, request, tx, &mut call))
    }

    /// Plays the transcript; returns the lines sent.
    fn run(&mut self, transcript: &Transcript) -> Result<Vec<(Revision, String)>, String> {
        let way = self.bench().way;
        let place =
            |line: usize, fault: String| format!("{}:{line}: {way} {fault}", transcript.name);
        self.begin().map_err(|fault| place(1, fault))?;
        for step in &transcript.steps {
            self.step(&step.kind).map_err(|fault| {
                let rest = self.bench().claims.rest();
                place(
                    step.line,
                    if rest.is_empty() || fault.ends_with(&rest) {
                        fault
                    } else {
                        format!("{fault}\n  then:{rest}")
                    },
                )
            })?;
        }
        let last = transcript.steps.last();
        let mut end = self.bench().claims.settle();
        if !last.is_some_and(|step| step.kind.counts_what_is_open()) {
            end = end.and_then(|()| self.done());
        }
        end.map_err(|fault| place(last.map_or(0, |step| step.line), fault))?;
        Ok(std::mem::take(&mut self.bench().sent))
    }

    /// Returns a fault if a request or a call is open.
    fn done(&mut self) -> Result<(), String> {
        let machine = self.parts().0;
        match (machine.open_requests(), machine.open_calls()) {
            (0, 0) => Ok(()),
            (requests, calls) => {
                Err(format!("{requests} requests of the peer and {calls} calls are in flight"))
            }
        }
    }

    fn step(&mut self, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Output(line) => return self.bench().claims.claim_line(line),
            Kind::Event(event) => return self.bench().claims.claim_event(event),
            _ => self.bench().claims.settle()?,
        }
        match kind {
            Kind::Input(bytes) => self.input(bytes)?,
            Kind::Clock(ms) => self.clock(Instant::from_millis(*ms))?,
            Kind::Action { text, .. } if text == "done" => self.done()?,
            Kind::Action { text, outcome } => {
                let got = self.act(text)?;
                let usual = matches!(got.as_str(), "Sent" | "Ok" | "true");
                if outcome.as_ref().map_or(!usual, |expected| *expected != got) {
                    return Err(format!("the outcome was {got}: {text}"));
                }
            }
            Kind::Output(_) | Kind::Event(_) => {}
        }
        self.collect()
    }

    fn input(&mut self, bytes: &[u8]) -> Result<(), String> {
        for line in bytes.split(|byte| *byte == b'\n') {
            self.arrives(&serde_json::from_slice(line).unwrap_or_default());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let bench = self.bench();
            let piece = rest.by_ref().take(bench.way.piece as u64).read(bench.rx.spare());
            let n = piece.map_err(|error| error.to_string())?;
            if n == 0 {
                return Err("the receive buffer has no room".into());
            }
            probed(|| bench.rx.commit(n));
            self.frames();
        }
        Ok(())
    }

    fn frames(&mut self) {
        let anew = self.bench().way.anew;
        // Taken out, so that a frame does not borrow the bench.
        let mut rx = std::mem::replace(&mut self.bench().rx, RxBuffer::new(Vec::new()));
        while let Some(mut messages) = probed(|| rx.next_messages()) {
            if self.messages(&mut messages, anew).is_err() {
                self.bench().wire.drain();
            }
        }
        self.bench().rx = rx;
    }

    /// Returns `Full`, if the frame is to be lent anew because the output is full.
    fn messages(&mut self, messages: &mut Messages<'_>, anew: bool) -> Result<(), SendError> {
        for _ in 0..PATIENCE {
            let (machine, bench) = self.parts();
            let event = probed(|| machine.next_event(bench.now, messages, bench.wire.tx()));
            match event.map(|event| event.map(|event| self.happened(&event))) {
                Ok(Some(())) => {}
                Ok(None) => return Ok(()),
                Err(SendError::Full) if anew => return Err(SendError::Full),
                Err(SendError::Full) => self.bench().wire.drain(),
                Err(error) => panic!("next_event: {error}"),
            }
        }
        panic!("a repeated call does not terminate");
    }

    fn clock(&mut self, now: Instant) -> Result<(), String> {
        if now < self.bench().now {
            return Err("the clock goes backwards".into());
        }
        self.bench().now = now;
        let due = self.parts().0.poll_timeout();
        loop {
            let event = self.send(|machine, tx| machine.handle_timeout(now, tx));
            let Some(event) = event.map_err(|error| error.to_string())? else { break };
            self.happened(&event);
        }
        self.collect()?;
        let claims = &self.bench().claims;
        let idle = claims.lines.is_empty() && claims.events.is_empty();
        if !idle && due.is_none_or(|due| due > now) {
            return Err(format!("poll_timeout returned {due:?}"));
        }
        match self.parts().0.poll_timeout() {
            Some(due) if due <= now => {
                Err(format!("poll_timeout returns {due:?} after all deadlines were handled"))
            }
            _ => Ok(()),
        }
    }

    /// Makes the lines sent available to be claimed.
    fn collect(&mut self) -> Result<(), String> {
        for line in self.bench().wire.take_lines()? {
            let message = serde_json::from_str(&line)
                .map_err(|error| format!("{error}: this is no JSON: {line}"))?;
            let revision = self.revision_of(&message);
            let bench = self.bench();
            bench.sent.push((revision, line.clone()));
            bench.claims.lines.push_back(line);
        }
        Ok(())
    }
}

pub(super) fn outcome<T: std::fmt::Debug>(result: Result<T, SendError>) -> String {
    match result {
        Ok(value) => match format!("{value:?}").as_str() {
            "()" => "Ok".into(),
            value => value.replace('"', ""),
        },
        // The name of the error, without the rule.
        Err(error) => format!("{error:?}").split('(').next().unwrap_or_default().into(),
    }
}

/// Returns the `nth` of a list by its name in transcripts, counted from 1: `#3` or `?3`.
pub(super) fn named<T: Copy>(list: &[T], name: &str) -> Result<T, String> {
    let number: Option<usize> = name.get(1..).and_then(|digits| digits.parse().ok());
    let found = number.and_then(|number| list.get(number.checked_sub(1)?));
    found.copied().ok_or_else(|| format!("there was no {name}"))
}
