//! The client, its buffers, and an application that does anything at any time.

use std::mem::discriminant;

use mcp_sansio::types::{SubscriptionFilter, Text};
use mcp_sansio::{
    Call, Client, ClientEvent, Delivery, Era, Frame, Inputs, Instant, Messages, Outcome, Position,
    Progress, RawJson, RequestHandle, Revision, RpcError, RxBuffer, SendError, Tx,
};

use super::attempt::{attempt, is_open};
use super::client_books::{Again, Books, How};
use super::corpus::{ANSWERS, CLIENTS, REQUESTS, ROOMS, ROOTS, SAMPLED, rx};
use super::show;
use crate::chaos::script::Script;
use crate::delivery::respond;
use crate::pair::Line;

pub(super) type Machine = Client<'static, 3>;

pub(super) struct ClientEnd {
    pub(super) client: Machine,
    pub(super) line: Line,
    pub(super) rx: RxBuffer<Vec<u8>>,
    /// Whether a frame may be given back: not one that was too long.
    roomy: bool,
    position: Option<Position>,
    /// The call whose frame has begun and not ended.
    pub(super) begun: Option<Op>,
    /// That call is repeated.
    going_on: bool,
    /// Two calls may write into one frame.
    crossing: bool,
    pub(super) books: Books,
    pub(super) events: u64,
}

/// A call that can be repeated as it was.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Open,
    Request { kind: usize, options: usize },
    Retry(Again),
    Listen { kind: usize, options: usize },
    Cancel { call: Call, reason: bool },
    Respond { request: RequestHandle, kind: usize },
    Progress { request: RequestHandle, done: usize },
    Notify { kind: usize },
    NextEvent,
    Timeout,
}

impl ClientEnd {
    pub(super) fn new(script: &mut Script<'_>) -> Self {
        let (rx, roomy) = rx(script);
        Self {
            client: Machine::with_table_sizes(script.pick(&CLIENTS)),
            line: Line::new(*script.pick(&ROOMS)),
            rx,
            roomy,
            position: None,
            begun: None,
            going_on: false,
            crossing: false,
            books: Books::default(),
            events: 0,
        }
    }

    /// The application does something.
    pub(super) fn act(&mut self, script: &mut Script<'_>, now: u64) {
        let Some(op) = self.choose(script) else { return };
        self.run(&op, now);
    }

    fn choose(&mut self, script: &mut Script<'_>) -> Option<Op> {
        if let Some(again) = self.books.again.first().filter(|_| script.once_in(2)) {
            return Some(Op::Retry(again.clone()));
        }
        Some(match script.below(12) {
            0..4 => Op::Request { kind: script.below(REQUESTS.len()), options: script.below(8) },
            4 | 5 => Op::Listen { kind: script.below(3), options: script.below(8) },
            6 | 7 => {
                let calls = self.books.calls.len();
                let call = if calls == 0 {
                    *self.books.gone.last()?
                } else {
                    self.books.calls[script.below(calls)].call
                };
                Op::Cancel { call, reason: script.once_in(2) }
            }
            8 | 9 => Op::Respond { request: self.question(script)?, kind: script.below(4) },
            10 => Op::Progress { request: self.question(script)?, done: script.below(6) },
            _ if self.books.failed => return None,
            _ if !self.client.is_open() => Op::Open,
            _ => Op::Notify { kind: script.below(3) },
        })
    }

    fn question(&self, script: &mut Script<'_>) -> Option<RequestHandle> {
        let n = self.books.asked.len();
        if n == 0 { None } else { Some(self.books.asked[script.below(n)]) }
    }

    /// A call is made, or goes on. What finds no room is given up.
    pub(super) fn run(&mut self, op: &Op, now: u64) {
        match self.perform(op, now) {
            Err(SendError::Full) if self.line.wrote_part => self.begun = Some(op.clone()),
            _ => self.check(),
        }
    }

    /// What has begun goes on.
    pub(super) fn go_on(&mut self, now: u64) {
        let Some(op) = self.begun.take() else { return };
        self.going_on = true;
        let result = self.perform(&op, now);
        let goes_on = std::mem::take(&mut self.going_on);
        match result {
            Err(SendError::Full) if self.line.wrote_part => self.begun = Some(op),
            // Without an end so far; otherwise it is something new that found no room.
            Err(SendError::Full) if goes_on => self.begun = Some(op),
            _ => self.check(),
        }
    }

    /// While a frame is open somebody else tries.
    pub(super) fn intrude(&mut self, script: &mut Script<'_>, now: u64) {
        let op = match script.below(4) {
            0 if self.roomy => Op::NextEvent,
            1 => Op::Timeout,
            _ => match self.choose(script) {
                Some(op) => op,
                None => return,
            },
        };
        let begun = self.begun.as_ref().expect("a frame is open");
        if same(begun, &op) {
            return;
        }
        // While the conversation opens the machine may go on with its frame in either of these.
        let by_itself = |op: &Op| matches!(op, Op::NextEvent | Op::Timeout);
        self.crossing = !self.client.is_open() && by_itself(begun) && by_itself(&op);
        let result = self.perform(&op, now);
        assert!(
            self.crossing || !(result.is_err() && self.line.wrote_part),
            "{op:?} in the middle of {:?}",
            self.begun
        );
        self.crossing = false;
        if !is_open(&self.line) {
            self.begun = None;
        }
        self.check();
    }

    fn perform(&mut self, op: &Op, now: u64) -> Result<(), SendError> {
        let result = self.perform_once(op, now);
        show(format_args!("   client {op:?}: {result:?}"));
        result
    }

    fn perform_once(&mut self, op: &Op, now: u64) -> Result<(), SendError> {
        let at = Instant::from_millis(now);
        match op {
            Op::NextEvent => return self.next_event(now),
            Op::Timeout => return self.timeouts(now),
            Op::Open => {
                let opened = self.attempt(|client, tx| client.connect(at, tx));
                assert!(
                    !matches!(opened, Err(SendError::TooMany | SendError::Value)),
                    "{opened:?}"
                );
                opened?;
            }
            Op::Request { kind, options } => {
                let (method, params) = REQUESTS[*kind];
                let how = How::of(*options, self.client.config());
                let call = self
                    .attempt(|client, tx| client.request(at, method, &params, how.options, tx))?;
                self.books.calls.push(how.waiting(call, Some(*kind), now));
            }
            Op::Retry(again) => {
                let (method, params) = REQUESTS[again.kind];
                let how = How::of(0, self.client.config());
                let answers = again.answers.then_some(&ANSWERS);
                let state = again.state.as_deref().map(Text::new);
                let result = match answers {
                    Some(answers) => {
                        let inputs = Inputs::new(again.round).responses(answers).state(state);
                        self.attempt(|client, tx| {
                            client.retry(at, method, &params, &inputs, how.options, tx)
                        })
                    }
                    None => {
                        let inputs = Inputs::<RawJson<'_>>::new(again.round).state(state);
                        self.attempt(|client, tx| {
                            client.retry(at, method, &params, &inputs, how.options, tx)
                        })
                    }
                };
                if !matches!(result, Err(SendError::Full)) && !self.books.again.is_empty() {
                    self.books.again.remove(0);
                }
                self.books.calls.push(how.waiting(result?, Some(again.kind), now));
            }
            Op::Listen { kind, options } => {
                let how = How::of(*options, self.client.config());
                let uris = [Text::new("m://1"), Text::new("m://2")];
                let filter = SubscriptionFilter::new()
                    .tools_list_changed(*kind != 1)
                    .resource_subscriptions(&uris[..*kind]);
                let call =
                    self.attempt(|client, tx| client.listen(at, &filter, how.options, tx))?;
                self.books.calls.push(how.waiting(call, None, now));
            }
            Op::Cancel { call, reason } => {
                let known = self.books.calls.iter().position(|waiting| waiting.call == *call);
                let words = "because of a \"reason\"";
                let given_up =
                    self.attempt(|client, tx| client.cancel(*call, reason.then_some(words), tx))?;
                assert_eq!(given_up, known.is_some(), "a request ends once");
                if let Some(at) = known {
                    self.books.calls.remove(at);
                    self.books.given_up += 1;
                    self.books.gone.push(*call);
                }
            }
            Op::Respond { request, kind } => {
                let request = *request;
                let open = self.books.asked.contains(&request);
                let answered = match kind {
                    0 => self.respond(request, |client, tx| client.respond_raw(request, ROOTS, tx)),
                    1 => self.respond(request, |client, tx| {
                        client.respond_error(request, &RpcError::internal("never"), tx)
                    }),
                    2 => self.respond(request, |client, tx| client.respond(request, &SAMPLED, tx)),
                    _ => {
                        self.respond(request, |client, tx| client.respond_raw(request, ANSWERS, tx))
                    }
                }?;
                assert_eq!(answered, if open { Delivery::Sent } else { Delivery::Gone });
                self.books.asked.retain(|asked| *asked != request);
            }
            Op::Progress { request, done } => {
                let progress = Progress::of(*done as u64).total(5).message("so \"far\"");
                let told = self.attempt(|client, tx| client.progress(at, *request, &progress, tx));
                assert!(!matches!(told, Ok(Delivery::Gone)) || !self.books.asked.contains(request));
                assert!(!self.line.wrote_part, "{told:?}");
                assert!(!matches!(told, Err(SendError::NotAllowed | SendError::Value)), "{told:?}");
                _ = told?;
            }
            Op::Notify { kind } => match kind {
                0 => self.attempt(|client, tx| client.roots_changed(tx))?,
                1 => self.attempt(|client, tx| client.notify("notifications/own", &ANSWERS, tx))?,
                _ => {
                    let refused = self.attempt(|client, tx| {
                        client.notify("notifications/cancelled", &ANSWERS, tx)
                    });
                    assert_eq!(refused, Err(SendError::NotAllowed));
                }
            },
        }
        Ok(())
    }

    fn attempt<R>(
        &mut self,
        call: impl FnOnce(&mut Machine, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        attempt(
            &mut self.client,
            &mut self.line,
            state,
            self.begun.is_some() && !self.crossing,
            call,
        )
    }

    fn respond(
        &mut self,
        request: RequestHandle,
        call: impl FnOnce(&mut Machine, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.attempt(|client, tx| respond(client, request, tx, call))
    }

    fn next_event(&mut self, now: u64) -> Result<(), SendError> {
        let intrudes = self.begun.is_some() && !self.crossing;
        let Some(frame) = self.rx.next_frame() else { return Ok(()) };
        let complete = matches!(frame, Frame::Complete(_));
        let mut messages = match self.position.take() {
            Some(position) => Messages::resume(frame, position),
            None => Messages::new(frame),
        };
        loop {
            let at = Instant::from_millis(now);
            let call =
                |client: &mut Machine, tx: &mut Tx<'_>| client.next_event(at, &mut messages, tx);
            let event = match attempt(&mut self.client, &mut self.line, state, intrudes, call) {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(()),
                Err(error) if complete => {
                    assert!(matches!(error, SendError::Full), "{error:?}");
                    self.position = Some(messages.position());
                    self.rx.unread();
                    return Err(error);
                }
                // What was too long cannot be given back.
                Err(_) => {
                    self.line.drain(usize::MAX);
                    continue;
                }
            };
            self.going_on = false;
            self.events += 1;
            self.books.event(&self.client, &event, now, self.roomy);
        }
    }

    fn timeouts(&mut self, now: u64) -> Result<(), SendError> {
        let intrudes = self.begun.is_some() && !self.crossing;
        self.books.latest = self.books.latest.max(now);
        for _ in 0..100 {
            let due = self.client.poll_timeout();
            let at = Instant::from_millis(now);
            let idle = due.is_none_or(|due| due > at) && !self.crossing;
            let before = self.line.tx.pending().len();
            let event = attempt(&mut self.client, &mut self.line, state, intrudes, |client, tx| {
                client.handle_timeout(at, tx)
            });
            let wrote = self.line.tx.pending().len() > before;
            // A frame that had begun goes on whatever the time is.
            let nothing = matches!(event, Ok(None)) && !wrote;
            assert!(
                !idle || nothing || self.going_on,
                "late: due at {due:?}, now is {now}: {event:?}"
            );
            self.going_on &= event.is_err();
            let Some(event) = event? else {
                let due = self.client.poll_timeout().is_some_and(|due| due <= at);
                if due && wrote {
                    continue;
                }
                if !intrudes && now < u64::MAX / 4 {
                    assert!(!due, "due, and nothing is done");
                    let overdue =
                        self.books.calls.iter().find(|waiting| {
                            waiting.deadline.is_some_and(|deadline| deadline <= now)
                        });
                    assert!(overdue.is_none(), "overdue at {now}: {overdue:?}");
                }
                return Ok(());
            };
            self.going_on = false;
            self.events += 1;
            self.books.event(&self.client, &event, now, self.roomy);
        }
        panic!("time does not end");
    }

    /// The connection is lost.
    pub(super) fn close(&mut self, script: &mut Script<'_>) {
        while let Some(event) = self.client.close() {
            let ClientEvent::CallFinished { call, outcome: Outcome::Closed } = event else {
                panic!("{event:?}")
            };
            let at = self
                .books
                .calls
                .iter()
                .position(|waiting| waiting.call == call)
                .expect("it ends twice");
            self.books.gone.push(self.books.calls.remove(at).call);
        }
        assert!(self.books.calls.is_empty(), "without an end: {:?}", self.books.calls);
        assert_eq!(
            (self.client.open_calls(), self.client.open_requests(), self.client.poll_timeout()),
            (0, 0, None)
        );
        self.books.asked.clear();
        self.books.again.clear();
        self.begun = None;
        self.position = None;
        self.books.given_up = 0;
        self.books.failed = false;
        self.line = Line::new(*script.pick(&ROOMS));
        (self.rx, self.roomy) = rx(script);
        match script.below(8) {
            0 => self.client.set_era(None),
            1 => self.client.set_era(Some(Era::Legacy)),
            2 => self.client.set_era(Some(Era::Modern)),
            _ => {}
        }
    }

    /// What is true whenever no call is under way.
    fn check(&self) {
        assert_eq!(self.begun.is_some(), is_open(&self.line), "{:?}", self.begun);
        assert!(self.books.calls.iter().all(|waiting| self.client.is_call_open(waiting.call)));
        assert!(self.books.asked.iter().all(|asked| self.client.is_request_open(*asked)));
        assert!(!self.books.gone.iter().rev().take(8).any(|gone| self.client.is_call_open(*gone)));
        assert_eq!(self.client.open_requests(), self.books.asked.len());
        // One that opens, or one that finds out whether the server is alive.
        let more = self.client.open_calls() - self.books.calls.len();
        assert!(more <= 1, "{more} requests that nobody made");
    }

    /// One thing on the way to an end. `false` when there is nothing left.
    pub(super) fn finish(&mut self, now: u64) -> bool {
        let op = if let Some(request) = self.books.asked.first() {
            Op::Respond { request: *request, kind: 0 }
        } else if let Some(waiting) = self.books.calls.first() {
            Op::Cancel { call: waiting.call, reason: true }
        } else {
            return false;
        };
        self.run(&op, now);
        true
    }
}

fn state(client: &Machine) -> (usize, usize, Option<Revision>) {
    (client.open_calls(), client.open_requests(), client.revision())
}

/// Whether two calls would write into one frame. To make the second then would be a mistake of the
/// application's.
fn same(one: &Op, other: &Op) -> bool {
    match (one, other) {
        (Op::Cancel { call: one, .. }, Op::Cancel { call: other, .. }) => one == other,
        (Op::Respond { request: one, .. }, Op::Respond { request: other, .. }) => one == other,
        (Op::Request { .. } | Op::Retry(_), Op::Request { .. } | Op::Retry(_)) => true,
        _ => discriminant(one) == discriminant(other),
    }
}
