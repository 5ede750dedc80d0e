//! The server, its buffers and the line to the client.

use std::collections::VecDeque;
use std::io::Read as _;
use std::time::Duration;

use mcp_sansio::types::{CacheScope, Implementation};
use mcp_sansio::{
    Frame, Instant, Messages, Revision, Revisions, RxBuffer, SendError, Server, ServerConfig,
    ServerEvent, ServerFeatures as Can, ServerState, Tx, TxBuffer, Violation,
};

use super::super::script::{Script, show};
use super::application::{Application, Job};
use super::corpus;
use super::ledger::{Heard, Ledger};
use super::tasks;
use crate::frames::record;
use crate::pair::SERVER_FEATURES;

/// All state but the receive buffer, which frames borrow.
pub(super) struct World<'d> {
    pub(super) script: Script<'d>,
    pub(super) server: Server<'d>,
    pub(super) tx: TxBuffer<Vec<u8>>,
    pub(super) ledger: Ledger,
    pub(super) application: Application,
    pub(super) tasks: tasks::State,
    pub(super) now: u64,
    /// Whether another call is tried inside an open frame.
    intruding: bool,
    /// Whether the end has begun: no call may be dropped.
    ending: bool,
    /// Whether the next event is from a batch.
    in_batch: bool,
    /// Whether the last call was `Full` and wrote a part of its frame.
    pub(super) wrote_part: bool,
    /// Whether a response is written piece by piece: calls end in the middle of its line.
    pub(super) by_hand: bool,
    /// Received bytes of an unfinished line.
    line: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    /// The frame being read, and the number of responses to it.
    frame: Option<(Heard, usize)>,
}

/// The call that has an open frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    NextEvent,
    Timeout,
    Job(mcp_sansio::RequestHandle),
    Other,
}

pub(super) fn rx(script: &Script<'_>) -> RxBuffer<Vec<u8>> {
    match script.below(16) {
        0..4 => RxBuffer::with_limit(Vec::new(), 16 << 10),
        n => RxBuffer::new(vec![
            0;
            [4096, 4096, 4096, 2000, 2000, 2000, 600, 600, 300, 100, 33, 8]
                [n - 4]
        ]),
    }
}

fn tx(script: &Script<'_>) -> TxBuffer<Vec<u8>> {
    match script.below(12) {
        0 => TxBuffer::with_limit(Vec::new(), 4096),
        1 => TxBuffer::with_limit(Vec::new(), 50),
        n => TxBuffer::new(vec![0; [8192, 1000, 600, 300, 200, 128, 64, 32, 16, 8][n - 2]]),
    }
}

impl<'d> World<'d> {
    pub(super) fn new(script: Script<'d>, memory: &'d mut ServerState<4, 3>) -> Self {
        let config = script.pick(&CONFIGS);
        let tx = tx(&script);
        Self {
            script,
            server: memory.server(config),
            tx,
            ledger: Ledger::default(),
            application: Application::default(),
            tasks: tasks::State::new(),
            now: 0,
            intruding: false,
            ending: false,
            in_batch: false,
            wrote_part: false,
            by_hand: false,
            line: Vec::new(),
            lines: VecDeque::new(),
            frame: None,
        }
    }

    pub(super) fn instant(&self) -> Instant {
        Instant::from_millis(self.now)
    }

    pub(super) fn open(&mut self, rx: &mut RxBuffer<Vec<u8>>) {
        let opening = corpus::opening(&self.script);
        self.arrive(rx, opening.as_bytes());
    }

    pub(super) fn step(&mut self, rx: &mut RxBuffer<Vec<u8>>) {
        match self.script.below(16) {
            0..7 => {
                let bytes = corpus::bytes(&self.script, &self.ledger.asked);
                self.arrive(rx, &bytes);
            }
            7 => self.drain(),
            8 => self.let_time_pass(),
            15 if self.script.once_in(8) => self.close(rx),
            _ => self.act(),
        }
        self.settled();
    }

    /// Responds to or cancels everything; nothing may be open then.
    pub(super) fn end(&mut self, rx: &mut RxBuffer<Vec<u8>>) {
        self.ending = true;
        self.arrive(rx, b"\n");
        self.finish_jobs();
        for id in 1..=self.ledger.requests {
            self.arrive(
                rx,
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").as_bytes(),
            );
        }
        self.finish_jobs();
        self.timeouts();
        self.drain();
        self.settled();
        assert!(self.tx.is_idle());
        assert_eq!(self.server.open_requests(), 0);
        // Calls without a waiting application are cancelled by now. Pings may be open, since a
        // small buffer receives no response.
        let pings = self.ledger.asked.len();
        assert_eq!(self.server.open_calls(), pings, "{:?}", self.ledger.asked);
        assert!(
            pings
                <= usize::from(std::ptr::eq(self.server.config(), &raw const CONFIGS[WITH_PINGS])),
            "{:?}",
            self.ledger.asked
        );
    }

    /// Checks what holds between calls.
    fn settled(&mut self) {
        assert!(self.ledger.is_whole(), "an incomplete line was left");
        assert_eq!(self.server.open_requests(), self.application.open());
        assert!(self.application.all_open(&self.server));
    }

    /// Loses the connection and opens a new one.
    fn close(&mut self, rx: &mut RxBuffer<Vec<u8>>) {
        self.server.close();
        self.application.forget_all(&self.server);
        self.ledger = Ledger::default();
        self.line.clear();
        self.lines.clear();
        self.frame = None;
        self.tx.advance(usize::MAX);
        *rx = self::rx(&self.script);
        assert_eq!((self.server.open_requests(), self.server.open_calls()), (0, 0));
        assert_eq!((self.server.poll_timeout(), self.server.legacy_revision()), (None, None));
    }

    pub(super) fn saw(&mut self, event: &ServerEvent<'_>, id: Option<String>) {
        self.application.event(&mut self.ledger, &self.server, event, id);
    }

    fn let_time_pass(&mut self) {
        let jump = *self.script.pick(&[1, 0, 10, 99, 1000, 5000, 10_000, 100_000, u64::MAX / 2]);
        // Sometimes backwards.
        self.now = if self.script.once_in(16) {
            self.now.saturating_sub(jump)
        } else {
            self.now.saturating_add(jump)
        };
        self.timeouts();
    }

    fn timeouts(&mut self) {
        for _ in 0..100 {
            let now = self.instant();
            match self.send(Writer::Timeout, |server, tx| server.handle_timeout(now, tx)) {
                Ok(Some(event)) => self.saw(&event, None),
                Ok(None) => {
                    // More may have become due while a ping was finished. Otherwise an adapter
                    // would loop.
                    let due = self.server.poll_timeout();
                    let none_is = self.now > u64::MAX / 4 || due.is_none_or(|due| due > now);
                    assert!(
                        none_is || self.ledger.last_is_ping(),
                        "the deadline {due:?} has passed at {now:?}"
                    );
                    if none_is {
                        return;
                    }
                }
                Err(error) => return assert_eq!(error, SendError::Full),
            }
        }
        panic!("handling timeouts does not terminate");
    }

    // --- Output.

    /// Makes one call, and checks what it writes.
    pub(super) fn attempt<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'d>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let state = |server: &Server<'_>| {
            (server.open_requests(), server.open_calls(), server.legacy_revision())
        };
        let (before, was) = (self.tx.pending().to_vec(), state(&self.server));
        let result = call(&mut self.server, &mut self.tx);
        let written =
            self.tx.pending().strip_prefix(&before[..]).expect("pending bytes are unchanged");
        let lines = written.iter().filter(|b| **b == b'\n').count();
        // An abandoned response adds a line end.
        let more = self.in_batch || self.ledger.broken;
        assert!(lines <= 1 || more, "a call wrote {lines} frames");
        let wrote_part = result.is_err() && self.tx.is_mid_frame() && !written.is_empty();
        self.wrote_part = wrote_part;
        match &result {
            Ok(_) => assert!(
                self.by_hand || written.is_empty() || written.ends_with(b"\n"),
                "the line end is missing"
            ),
            Err(SendError::Full) if wrote_part => {
                assert!(!written.ends_with(b"\n"), "a partial frame ends a line")
            }
            // The value turned out to be invalid after its beginning was written.
            Err(SendError::Invalid(_)) if !self.ledger.is_whole() => {
                self.ledger.broken = written == b"\n"
            }
            // Earlier messages of the batch may have been responded to.
            Err(SendError::Full) if more => {}
            Err(error) => {
                assert!(written.is_empty(), "{error:?}, but output was written");
                assert_eq!(state(&self.server), was, "{error:?}, but the state changed");
                assert!(
                    *error != SendError::Full || !self.tx.is_idle(),
                    "Full, but nothing is pending"
                );
            }
        }
        assert!(
            !self.intruding || written.is_empty(),
            "a call wrote into the open frame of another"
        );
        if !written.is_empty() {
            show(format_args!("-> {}", String::from_utf8_lossy(written).escape_debug()));
            record("Server", written.escape_ascii());
        }
        self.ledger.write(written);
        result
    }

    /// Repeats a call until it succeeds, or drops it if nothing has been written.
    pub(super) fn send<R>(
        &mut self,
        writer: Writer,
        mut call: impl FnMut(&mut Server<'d>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let mut begun = false;
        for _ in 0..20_000 {
            let result = self.attempt(&mut call);
            begun |= self.wrote_part;
            match result {
                Err(SendError::Full) if !begun && !self.ending && self.script.once_in(3) => {
                    return Err(SendError::Full);
                }
                Err(SendError::Full) => {
                    assert!(!self.tx.pending().is_empty(), "Full, but nothing is pending");
                    if begun && self.script.once_in(4) {
                        self.break_in(writer);
                    }
                    self.drain();
                }
                other => {
                    assert!(
                        self.by_hand || self.ledger.is_whole(),
                        "the call has returned, but its line is incomplete"
                    );
                    return other;
                }
            }
        }
        panic!("a repeated call does not terminate");
    }

    pub(super) fn break_in(&mut self, writer: Writer) {
        self.intruding = true;
        self.intrude(writer);
        self.intruding = false;
    }

    /// Drains some pending bytes, at least one.
    pub(super) fn drain(&mut self) {
        let pending = self.tx.pending().len();
        let most = *self.script.pick(&[usize::MAX, usize::MAX, 100, 17, 3, 1]);
        self.tx.advance(if self.ending { pending } else { pending.min(most) });
    }

    // --- Input.

    /// Receives bytes, in chunks.
    pub(super) fn arrive(&mut self, rx: &mut RxBuffer<Vec<u8>>, bytes: &[u8]) {
        let chunk = *self.script.pick(&[usize::MAX, 100, 1000, 33, 7, 1]);
        record("Client", bytes.escape_ascii());
        let mut rest = bytes;
        for _ in 0..100_000 {
            if self.frame.is_some() || rest.is_empty() {
                self.take_frames(rx);
            }
            if rest.is_empty() && (self.frame.is_none() || !self.ending) {
                return;
            }
            let n = rest.take(chunk as u64).read(rx.spare()).expect("a slice is read");
            rx.commit(n);
            self.read(&rest[..n]);
            rest = &rest[n..];
            if n == 0 {
                self.take_frames(rx);
                assert!(
                    self.frame.is_some() || !rx.spare().is_empty(),
                    "the buffer is full, but has no complete frame"
                );
            }
        }
        panic!("reading the input does not terminate");
    }

    /// Splits the same bytes into lines, independently.
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                self.lines.push_back(std::mem::take(&mut self.line));
            } else {
                self.line.push(*byte);
            }
        }
    }

    fn take_frames(&mut self, rx: &mut RxBuffer<Vec<u8>>) {
        loop {
            let Some(mut messages) = rx.next_messages() else {
                assert!(self.frame.is_none(), "a frame was lost");
                let mut lines = self.lines.drain(..);
                return assert!(lines.all(|line| is_blank(&line)), "a line has no frame");
            };
            if self.frame.is_none() {
                self.frame = Some((self.which(messages.frame()), 0));
            }
            if self.take_messages(&mut messages).is_err() {
                return;
            }
        }
    }

    /// Finds the line of a frame.
    fn which(&mut self, frame: Frame<'_>) -> Heard {
        loop {
            let line = self.lines.pop_front().expect("each frame is one of the lines");
            let text = String::from_utf8_lossy(&line);
            show(format_args!("<- {text}"));
            let is_it = match frame {
                Frame::Complete(own) => line.strip_suffix(b"\r").unwrap_or(&line).ends_with(own),
                Frame::Oversized { prefix, tail } => {
                    line.starts_with(prefix) && line.ends_with(tail)
                }
            };
            if is_it {
                return self.ledger.hear(&line);
            }
            assert!(is_blank(&line), "{frame:?} for {text:?}");
        }
    }

    fn take_messages(&mut self, messages: &mut Messages<'_>) -> Result<(), SendError> {
        for _ in 0..1000 {
            let (now, answers) = (self.instant(), self.ledger.answers);
            self.in_batch = self
                .frame
                .as_ref()
                .is_some_and(|(heard, ..)| heard.line.trim_ascii_start().starts_with('['));
            let event =
                self.send(Writer::NextEvent, |server, tx| server.next_event(now, messages, tx));
            self.in_batch = false;
            let Some((heard, counted)) = &mut self.frame else { panic!("no frame") };
            *counted += self.ledger.answers - answers;
            let Some(event) = event? else {
                assert!(heard.requests <= *counted, "only {counted} were answered: {heard:?}");
                self.frame = None;
                return Ok(());
            };
            match event {
                // These get no response.
                ServerEvent::Violation(found) => match found.violation {
                    Violation::TooLong | Violation::TooDeep | Violation::BatchNotAllowed => {
                        *counted += heard.requests;
                    }
                    Violation::IdInUse => self.ledger.forgive(heard.id.as_ref()),
                    _ => {}
                },
                ServerEvent::Request(_) | ServerEvent::Listening { .. } => *counted += 1,
                _ => {}
            }
            let id = heard.id.clone();
            self.saw(&event, id);
            match event {
                ServerEvent::Request(request) if self.script.once_in(5) => self.echo(&request),
                ServerEvent::Request(request) => self.task_request(&request),
                _ => {}
            }
        }
        panic!("handling a frame does not terminate");
    }

    /// Reads a line while another frame is open. A message that needs a response is not taken.
    pub(super) fn overhear(&mut self) {
        let line = corpus::interruption(&self.script, &self.ledger.asked);
        let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
        let mut messages = Messages::new(Frame::Complete(line));
        show(format_args!("<- (in between) {}", String::from_utf8_lossy(line)));
        record("Client", line.escape_ascii());
        let heard = self.ledger.hear(line);
        let now = self.instant();
        for _ in 0..100 {
            match self.attempt(|server, tx| server.next_event(now, &mut messages, tx)) {
                Ok(Some(event)) => {
                    if let ServerEvent::Violation(found) = event
                        && found.violation == Violation::IdInUse
                    {
                        self.ledger.forgive(heard.id.as_ref());
                    }
                    self.saw(&event, heard.id.clone());
                }
                Ok(None) => return,
                Err(error) => {
                    assert_eq!(error, SendError::Full);
                    return self.ledger.forgive(heard.id.as_ref());
                }
            }
        }
        panic!("handling a frame does not terminate");
    }

    pub(super) fn job(&mut self) -> Option<Job> {
        let n = self.application.jobs.len();
        (n > 0).then(|| self.application.jobs[self.script.below(n)].clone())
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
}

const ALL: Can = SERVER_FEATURES.with(Can::TASKS_LIST).with(Can::TASKS_CANCEL);
const FULL: ServerConfig =
    ServerConfig::new(Implementation::new("chaos", "0.0.0"), ALL).methods(&["own/method"]);

const WITH_PINGS: usize = 4;
static CONFIGS: [ServerConfig; 8] = [
    FULL,
    FULL,
    FULL.request_timeout(Duration::from_secs(50)),
    FULL.request_timeout(Duration::from_secs(5))
        .call_timeout(Duration::from_secs(2))
        .progress_interval(Duration::from_millis(5)),
    FULL.ping_interval(Duration::from_secs(3))
        .call_timeout(Duration::from_secs(9))
        .instructions("\u{1F980} \"do\"\n"),
    FULL.revisions(Revisions::MODERN)
        .send_server_info(false)
        .discover_cache(9, CacheScope::Private),
    FULL.revisions(Revisions::only(Revision::V2025_03_26)).request_timeout(Duration::ZERO),
    ServerConfig::new(Implementation::new("nothing", "0.0.0"), Can::NONE)
        .revisions(Revisions::LEGACY),
];
