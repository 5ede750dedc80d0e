//! Plays a transcript in one way.

use std::collections::BTreeMap;

use mcp_sansio::{Call, Frame, Instant, Messages, Position, RequestHandle, Revision, RxBuffer, Server, ServerEvent};
use serde_json::Value;

use super::claims::Claims;
use super::parse::{Kind, Transcript};
use super::setup::Setup;
use super::wire::{PATIENCE, Way, Wire};

/// Plays it; returns what was sent.
pub(super) fn play(transcript: &Transcript, way: &Way) -> Result<Vec<(Revision, String)>, String> {
    let setup = Setup::read(transcript)?;
    match setup.size {
        (1, 1) => Player::<1, 1>::run(transcript, &setup, way),
        (2, 2) => Player::<2, 2>::run(transcript, &setup, way),
        (4, 2) => Player::<4, 2>::run(transcript, &setup, way),
        (8, 8) => Player::<8, 8>::run(transcript, &setup, way),
        (100, 8) => Player::<100, 8>::run(transcript, &setup, way),
        (n, s) => Err(format!("{}: size {n} {s} is none of those that are compiled in", transcript.name)),
    }
}

/// A server and its application.
pub(super) struct Player<'c, const N: usize, const S: usize> {
    pub(super) server: Server<'c, N, S>,
    pub(super) setup: &'c Setup<'c>,
    pub(super) wire: Wire,
    pub(super) now: Instant,
    /// Requests and listens in order of arrival.
    pub(super) requests: Vec<(RequestHandle, Revision)>,
    /// Requests of our own in the order of asking.
    pub(super) calls: Vec<Call>,
    pub(super) claims: Claims,
    /// The revision that a log message is written for.
    pub(super) logging: Option<Revision>,
    rx: RxBuffer<Vec<u8>>,
    way: Way,
    sent: Vec<(Revision, String)>,
    /// The ids and progress tokens of modern requests.
    modern: BTreeMap<String, bool>,
}

impl<const N: usize, const S: usize> Player<'_, N, S> {
    fn run(transcript: &Transcript, setup: &Setup<'_>, way: &Way) -> Result<Vec<(Revision, String)>, String> {
        let config = setup.config();
        let mut player = Player::<N, S> {
            server: Server::with_capacity(&config),
            setup,
            wire: Wire::new(way),
            now: Instant::from_millis(0),
            requests: Vec::new(),
            calls: Vec::new(),
            claims: Claims::default(),
            logging: None,
            rx: RxBuffer::new(vec![0; setup.rx]),
            way: *way,
            sent: Vec::new(),
            modern: BTreeMap::new(),
        };
        let place = |line: usize, fault: String| format!("{}:{line}: {way} {fault}", transcript.name);
        player.handshake().map_err(|fault| place(1, fault))?;
        for step in &transcript.steps {
            player.step(&step.kind).map_err(|fault| {
                let rest = player.claims.rest();
                place(
                    step.line,
                    if rest.is_empty() || fault.ends_with(&rest) { fault } else { format!("{fault}\n  then:{rest}") },
                )
            })?;
        }
        player.claims.settle().map_err(|fault| place(transcript.steps.last().map_or(0, |step| step.line), fault))?;
        Ok(player.sent)
    }

    fn step(&mut self, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Output(line) => return self.claims.claim_line(line),
            Kind::Event(event) => return self.claims.claim_event(event),
            _ => self.claims.settle()?,
        }
        match kind {
            Kind::Input(bytes) => self.input(bytes)?,
            Kind::Clock(ms) => self.clock(Instant::from_millis(*ms))?,
            Kind::Action { text, outcome } => {
                let got = self.act(text)?;
                let usual = matches!(got.as_str(), "Sent" | "Ok" | "true");
                if outcome.as_ref().map_or(!usual, |expected| *expected != got) {
                    return Err(format!("the outcome is {got}: {text}"));
                }
            }
            Kind::Output(_) | Kind::Event(_) => {}
        }
        self.collect()
    }

    /// `config: session`
    fn handshake(&mut self) -> Result<(), String> {
        let Some((revision, capabilities)) = self.setup.session else { return Ok(()) };
        let open = format!(
            r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}
{{"jsonrpc":"2.0","method":"notifications/initialized"}}
"#
        );
        self.input(open.as_bytes())?;
        self.collect()?;
        if self.server.legacy_revision() != Some(revision) || self.claims.lines.len() != 1 || self.claims.events.len() != 2 {
            return Err(format!("the session did not open:{}", self.claims.rest()));
        }
        self.claims = Claims::default();
        Ok(())
    }

    fn input(&mut self, bytes: &[u8]) -> Result<(), String> {
        for line in bytes.split(|byte| *byte == b'\n') {
            self.remember_era(&serde_json::from_slice(line).unwrap_or_default());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let spare = self.rx.spare();
            let n = rest.len().min(spare.len()).min(self.way.piece);
            if n == 0 {
                return Err("the receive buffer has no room".into());
            }
            spare[..n].copy_from_slice(&rest[..n]);
            self.rx.commit(n);
            rest = &rest[n..];
            self.frames();
        }
        Ok(())
    }

    fn frames(&mut self) {
        let mut resume: Option<Position> = None;
        // Taken out, so that a frame lent from it does not borrow the player.
        let mut rx = std::mem::replace(&mut self.rx, RxBuffer::new(Vec::new()));
        while let Some(frame) = rx.next_frame() {
            let complete = matches!(frame, Frame::Complete(_));
            let messages = resume.take().map_or_else(|| Messages::new(frame), |position| Messages::resume(frame, position));
            resume = self.messages(messages, complete && self.way.unread);
            if resume.is_some() {
                rx.unread();
                self.wire.drain();
            }
        }
        self.rx = rx;
    }

    /// Where to go on, if the frame is to be given back because the output is full.
    fn messages(&mut self, mut messages: Messages<'_>, unread: bool) -> Option<Position> {
        for _ in 0..PATIENCE {
            match self.server.next_event(self.now, &mut messages, self.wire.tx()) {
                Ok(Some(event)) => self.happened(&event),
                Ok(None) => return None,
                Err(error) if error.is_full() && unread => return Some(messages.position()),
                Err(error) if error.is_full() => self.wire.drain(),
                Err(error) => panic!("next_event: {error}"),
            }
        }
        panic!("a call is repeated for ever");
    }

    fn happened(&mut self, event: &ServerEvent<'_>) {
        if let (ServerEvent::Request(request), Some(catalog)) = (event, self.setup.catalog) {
            let target = self.wire.send(|tx| catalog.answer(&mut self.server, request, tx));
            if target.expect("the catalog answers").is_none() {
                return;
            }
        }
        let event = self.describe(event);
        self.claims.events.push_back(event);
    }

    fn clock(&mut self, now: Instant) -> Result<(), String> {
        if now < self.now {
            return Err("the clock goes backwards".into());
        }
        self.now = now;
        let due = self.server.poll_timeout();
        loop {
            let event = self.wire.send(|tx| self.server.handle_timeout(now, tx)).map_err(|error| error.to_string())?;
            let Some(event) = event else { break };
            self.happened(&event);
        }
        self.collect()?;
        let idle = self.claims.lines.is_empty() && self.claims.events.is_empty();
        if !idle && due.is_none_or(|due| due > now) {
            return Err(format!("poll_timeout said {due:?}"));
        }
        match self.server.poll_timeout() {
            Some(due) if due <= now => Err(format!("poll_timeout says {due:?} when all was handled")),
            _ => Ok(()),
        }
    }

    /// Takes what was sent to where it can be claimed.
    fn collect(&mut self) -> Result<(), String> {
        for line in self.wire.take_lines()? {
            let message = serde_json::from_str(&line).map_err(|error| format!("{error}: this is no JSON: {line}"))?;
            self.sent.push((self.revision_of(&message), line.clone()));
            self.claims.lines.push_back(line);
        }
        self.logging = None;
        Ok(())
    }

    fn remember_era(&mut self, message: &Value) {
        if let Value::Array(batch) = message {
            batch.iter().for_each(|message| self.remember_era(message));
        }
        if message.get("method").is_none() {
            return;
        }
        let meta = &message["params"]["_meta"];
        let modern = meta.get("io.modelcontextprotocol/protocolVersion").is_some();
        for (kind, name) in [("id", message.get("id")), ("token", meta.get("progressToken"))] {
            if let Some(name) = name {
                self.modern.insert(format!("{kind} {name}"), modern);
            }
        }
    }

    fn revision_of(&self, message: &Value) -> Revision {
        let scope = self.server.legacy_revision().unwrap_or(Revision::LATEST);
        let of = |key: String| if self.modern.get(&key) == Some(&true) { Revision::LATEST } else { scope };
        match (message["method"].as_str(), message.get("id")) {
            // What a client may ask before it opens a session is answered in the legacy way.
            (None, Some(id)) if message.get("result").is_some() && self.server.legacy_revision().is_none() => {
                if self.modern.get(&format!("id {id}")) == Some(&true) { Revision::LATEST } else { Revision::LATEST_LEGACY }
            }
            (None, Some(id)) => of(format!("id {id}")),
            (Some("notifications/progress"), _) => of(format!("token {}", message["params"]["progressToken"])),
            (Some("notifications/message"), _) => self.logging.unwrap_or(scope),
            (Some("notifications/subscriptions/acknowledged"), _) => Revision::LATEST,
            (Some("notifications/cancelled"), _) => of(format!("id {}", message["params"]["requestId"])),
            _ if message["params"]["_meta"].get("io.modelcontextprotocol/subscriptionId").is_some() => Revision::LATEST,
            _ => scope,
        }
    }

    /// `#3`
    pub(super) fn request(&self, name: &str) -> Result<(RequestHandle, Revision), String> {
        let number: Option<usize> = name.strip_prefix('#').and_then(|digits| digits.parse().ok());
        let request = number.and_then(|number| self.requests.get(number.checked_sub(1)?));
        request.copied().ok_or_else(|| format!("there was no request {name}"))
    }

    /// `?3`
    pub(super) fn call(&self, name: &str) -> Result<Call, String> {
        let number: Option<usize> = name.strip_prefix('?').and_then(|digits| digits.parse().ok());
        let call = number.and_then(|number| self.calls.get(number.checked_sub(1)?));
        call.copied().ok_or_else(|| format!("there was no call {name}"))
    }
}
