//! The server, its buffers, and an application that does anything at any time.

use std::mem::discriminant;

use mcp_sansio::types::{
    ElicitParams, Field, InputRequest, InputRequiredResult, LoggingLevel, RequestedSchema,
    StringSchema, TextResult,
};
use mcp_sansio::{
    Call, Change, ClientFeatures, ClientRequest, Delivery, Frame, Instant, LogMessage, Messages,
    Position, Progress, RawJson, RequestHandle, Revision, RpcError, RxBuffer, SendError, Server,
    Tx,
};

use super::attempt::{attempt, is_open};
use super::corpus::{ROOMS, SERVERS, rx};
use super::server_books::Books;
use super::show;
use crate::chaos::script::Script;
use crate::delivery::respond;
use crate::pair::Line;

pub(super) type Machine = Server<'static, 3, 3>;

pub(super) struct ServerEnd {
    pub(super) server: Machine,
    pub(super) line: Line,
    pub(super) rx: RxBuffer<Vec<u8>>,
    roomy: bool,
    position: Option<Position>,
    /// The call whose frame has begun and not ended.
    pub(super) begun: Option<Op>,
    going_on: bool,
    books: Books,
    /// Changes that not all who want to know have been told of.
    changes: Vec<Change<'static>>,
    /// Progress tokens.
    tokens: usize,
    pub(super) events: u64,
}

/// A call that can be repeated as it was.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Respond { request: RequestHandle, kind: usize },
    Progress { request: RequestHandle, done: usize },
    Log { request: Option<RequestHandle> },
    Publish { at: usize },
    EndListen { request: RequestHandle },
    Ask { kind: usize, parent: Option<RequestHandle>, token: usize },
    CancelCall { call: Call },
    Notify,
    NextEvent,
    Timeout,
}

impl ServerEnd {
    pub(super) fn new(script: &mut Script<'_>) -> Self {
        let (rx, roomy) = rx(script);
        Self {
            server: Machine::with_table_sizes(script.pick(&SERVERS)),
            line: Line::new(*script.pick(&ROOMS)),
            rx,
            roomy,
            position: None,
            begun: None,
            going_on: false,
            books: Books::default(),
            changes: Vec::new(),
            tokens: 0,
            events: 0,
        }
    }

    /// The application does something.
    pub(super) fn act(&mut self, script: &mut Script<'_>, now: u64) {
        let Some(op) = self.choose(script) else { return };
        self.run(&op, now);
    }

    fn choose(&mut self, script: &mut Script<'_>) -> Option<Op> {
        let some = |script: &mut Script<'_>, from: &[RequestHandle]| {
            (!from.is_empty()).then(|| *script.pick(from))
        };
        let books = &self.books;
        Some(match script.below(16) {
            0..4 => Op::Respond { request: some(script, &books.jobs)?, kind: script.below(9) },
            4 => Op::Respond { request: *books.gone.last()?, kind: 0 },
            5..8 => Op::Progress { request: some(script, &books.jobs)?, done: script.below(40) },
            8 => Op::Log { request: some(script, &books.jobs) },
            9 | 10 => {
                if self.changes.is_empty() || script.once_in(3) {
                    let uri = *script.pick(&["m://1", "m://2"]);
                    let resource = Change::resource(uri);
                    self.changes.push(*script.pick(&[Change::tools(), resource, resource]));
                }
                Op::Publish { at: script.below(self.changes.len()) }
            }
            11 => Op::EndListen { request: some(script, &books.listens)? },
            12 | 13 => {
                let parent = if script.once_in(2) { some(script, &books.jobs) } else { None };
                self.tokens += 1;
                Op::Ask { kind: script.below(5), parent, token: self.tokens }
            }
            14 if !books.calls.is_empty() => Op::CancelCall { call: *script.pick(&books.calls) },
            _ => Op::Notify,
        })
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
        if same(self.begun.as_ref().expect("a frame is open"), &op) {
            return;
        }
        let result = self.perform(&op, now);
        assert!(
            result.is_ok() || !self.line.wrote_part,
            "{op:?} in the middle of {:?}",
            self.begun
        );
        self.check();
    }

    fn perform(&mut self, op: &Op, now: u64) -> Result<(), SendError> {
        let result = self.perform_once(op, now);
        show(format_args!("   server {op:?}: {result:?}"));
        result
    }

    fn perform_once(&mut self, op: &Op, now: u64) -> Result<(), SendError> {
        let at = Instant::from_millis(now);
        match op {
            Op::NextEvent => return self.next_event(now),
            Op::Timeout => return self.timeouts(now),
            Op::Respond { request, kind } => {
                let request = *request;
                let is_job = self.books.jobs.contains(&request);
                let questions = [("k", InputRequest::Elicit(FORM)), ("r", InputRequest::ListRoots)];
                let long = "a \"text\"\n".repeat(60);
                let (state, nothing) = (
                    InputRequiredResult::new().request_state("state"),
                    InputRequiredResult::ask(&questions),
                );
                let answered = match kind {
                    0 | 1 => self.respond(request, |server, tx| {
                        server.respond(request, &TextResult::new("ok"), tx)
                    }),
                    2 => self.respond(request, |server, tx| {
                        server.respond(request, &TextResult::new(&long), tx)
                    }),
                    3 => self.respond(request, |server, tx| server.respond_raw(request, RAW, tx)),
                    4 => self.respond(request, |server, tx| {
                        server.respond_error(request, &RpcError::internal("no"), tx)
                    }),
                    5 => self.respond(request, |server, tx| {
                        server.respond_invalid_arguments(request, &"not \"so\"", tx)
                    }),
                    6 => self
                        .respond(request, |server, tx| server.input_required(request, &state, tx)),
                    7 => self.respond(request, |server, tx| {
                        server.input_required(request, &nothing, tx)
                    }),
                    _ => {
                        let one = InputRequiredResult::ask(&questions[..1]).request_state("state");
                        self.respond(request, |server, tx| server.input_required(request, &one, tx))
                    }
                };
                match answered? {
                    Delivery::Sent => assert!(is_job, "a request ends once"),
                    other => assert!(other == Delivery::Gone && !is_job, "{other:?}"),
                }
                self.books.forget(request);
                // What was asked on its behalf is cancelled by and by.
                self.books.calls.retain(|call| self.server.is_call_open(*call));
            }
            Op::Progress { request, done } => {
                let progress = Progress::of(*done as u64).total(30).message("so \"far\"");
                let told = self.attempt(|server, tx| server.progress(at, *request, &progress, tx));
                assert!(!self.line.wrote_part, "{told:?}");
                assert!(told != Ok(Delivery::Gone) || !self.books.jobs.contains(request));
                _ = told?;
            }
            Op::Log { request } => {
                let message = LogMessage::new(LoggingLevel::Warning, "so it goes");
                let told = match request {
                    Some(request) => self.attempt(|server, tx| server.log(*request, &message, tx)),
                    None => self.attempt(|server, tx| server.log_unrelated(&message, tx)),
                };
                assert!(!self.line.wrote_part, "{told:?}");
                _ = told?;
            }
            Op::Publish { at } => {
                // The list is shorter once somebody else has come to the end of his.
                let Some(mut change) = self.changes.get(*at).copied() else { return Ok(()) };
                let more = self.attempt(|server, tx| server.publish(&mut change, tx))?;
                self.changes[*at] = change;
                if !more {
                    self.changes.remove(*at);
                }
            }
            Op::EndListen { request } => {
                let known = self.books.listens.contains(request);
                if !self.attempt(|server, tx| server.end_listen(*request, tx))? && known {
                    self.books.forget(*request);
                }
            }
            Op::Ask { kind, parent, token } => {
                let form = FORM;
                let with_token = format!(
                    r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"?"}}}}],"maxTokens":9,"_meta":{{"progressToken":"t{token}"}}}}"#
                );
                let raw = RawJson::parse(&with_token).expect("JSON");
                let call = match kind {
                    0 => self.ask(ClientRequest::roots(), *parent, at),
                    1 => self.ask(
                        ClientRequest::new(
                            "sampling/createMessage",
                            Some(&raw),
                            ClientFeatures::SAMPLING,
                        ),
                        *parent,
                        at,
                    ),
                    2 => self.ask(ClientRequest::elicitation(&form), *parent, at),
                    3 => self.ask(ClientRequest::ping(), *parent, at),
                    _ => self.ask(
                        ClientRequest::new("own/question", Some(&RAW), ClientFeatures::NONE),
                        *parent,
                        at,
                    ),
                }?;
                self.books.calls.push(call);
                self.books.calls.retain(|call| self.server.is_call_open(*call));
            }
            Op::CancelCall { call } => {
                let open = self.books.calls.contains(call);
                // Meanwhile the request that it belonged to may have ended: then nobody waits for
                // it, but it is there.
                let ended = self.attempt(|server, tx| server.cancel_call(at, *call, tx))?;
                assert!(ended || !open, "a request ends once");
                self.books.calls.retain(|open| open != call);
            }
            Op::Notify => {
                self.attempt(|server, tx| server.notify("notifications/own", &RAW, tx))?
            }
        }
        Ok(())
    }

    fn ask<P: mcp_sansio::Payload + ?Sized>(
        &mut self,
        request: ClientRequest<'_, P>,
        parent: Option<RequestHandle>,
        at: Instant,
    ) -> Result<Call, SendError> {
        let request = match parent {
            Some(parent) => request.on_behalf_of(parent),
            None => request,
        };
        self.attempt(|server, tx| server.request(at, &request, tx))
    }

    fn attempt<R>(
        &mut self,
        call: impl FnOnce(&mut Machine, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        attempt(&mut self.server, &mut self.line, state, self.begun.is_some(), call)
    }

    fn respond(
        &mut self,
        request: RequestHandle,
        call: impl FnOnce(&mut Machine, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.attempt(|server, tx| respond(server, request, tx, call))
    }

    fn next_event(&mut self, now: u64) -> Result<(), SendError> {
        let intrudes = self.begun.is_some();
        let Some(frame) = self.rx.next_frame() else { return Ok(()) };
        let complete = matches!(frame, Frame::Complete(_));
        let mut messages = match self.position.take() {
            Some(position) => Messages::resume(frame, position),
            None => Messages::new(frame),
        };
        loop {
            let at = Instant::from_millis(now);
            let call =
                |server: &mut Machine, tx: &mut Tx<'_>| server.next_event(at, &mut messages, tx);
            match attempt(&mut self.server, &mut self.line, state, intrudes, call) {
                Ok(Some(event)) => {
                    self.going_on = false;
                    self.events += 1;
                    self.books.event(&self.server, &event, self.roomy);
                }
                Ok(None) => return Ok(()),
                Err(error) if complete => {
                    assert!(matches!(error, SendError::Full), "{error:?}");
                    self.position = Some(messages.position());
                    self.rx.unread();
                    return Err(error);
                }
                // What was too long cannot be given back.
                Err(_) => self.line.drain(usize::MAX),
            }
        }
    }

    fn timeouts(&mut self, now: u64) -> Result<(), SendError> {
        let intrudes = self.begun.is_some();
        for _ in 0..100 {
            let (due, at) = (self.server.poll_timeout(), Instant::from_millis(now));
            let idle = due.is_none_or(|due| due > at);
            let before = self.line.tx.pending().len();
            let event = attempt(&mut self.server, &mut self.line, state, intrudes, |server, tx| {
                server.handle_timeout(at, tx)
            });
            let wrote = self.line.tx.pending().len() > before;
            let nothing = matches!(event, Ok(None)) && !wrote;
            assert!(
                !idle || nothing || self.going_on,
                "late: due at {due:?}, now is {now}: {event:?}"
            );
            self.going_on &= event.is_err();
            if let Some(event) = event? {
                self.events += 1;
                self.books.event(&self.server, &event, self.roomy);
            } else if !wrote {
                let due = self.server.poll_timeout().is_some_and(|due| due <= at);
                assert!(intrudes || now >= u64::MAX / 4 || !due, "due, and nothing is done");
                return Ok(());
            }
        }
        panic!("time does not end");
    }

    /// The connection is lost.
    pub(super) fn close(&mut self, script: &mut Script<'_>) {
        self.server.close();
        assert_eq!(
            (self.server.open_requests(), self.server.open_calls(), self.server.poll_timeout()),
            (0, 0, None)
        );
        *self = Self {
            // Perhaps it is another one by now.
            server: if script.once_in(3) {
                Machine::with_table_sizes(script.pick(&SERVERS))
            } else {
                std::mem::replace(&mut self.server, Machine::with_table_sizes(&SERVERS[0]))
            },
            tokens: self.tokens,
            events: self.events,
            ..Self::new(script)
        };
    }

    fn check(&self) {
        assert_eq!(self.begun.is_some(), is_open(&self.line), "{:?}", self.begun);
        assert!(
            self.books
                .jobs
                .iter()
                .chain(&self.books.listens)
                .all(|request| self.server.is_request_open(*request))
        );
        assert!(self.books.calls.iter().all(|call| self.server.is_call_open(*call)));
        assert!(
            !self.books.gone.iter().rev().take(8).any(|gone| self.server.is_request_open(*gone))
        );
        // One that is being acknowledged is there already.
        let more = self.server.open_requests() - self.books.jobs.len() - self.books.listens.len();
        assert!(
            more == 0 || more == 1 && matches!(self.begun, Some(Op::NextEvent)),
            "{more} requests that nobody knows of"
        );
    }

    /// One thing on the way to an end. `false` when there is nothing left.
    pub(super) fn finish(&mut self, now: u64) -> bool {
        let op = if let Some(request) = self.books.jobs.first() {
            Op::Respond { request: *request, kind: 0 }
        } else if let Some(request) = self.books.listens.first() {
            Op::EndListen { request: *request }
        } else if let Some(call) = self.books.calls.first() {
            Op::CancelCall { call: *call }
        } else if !self.changes.is_empty() {
            Op::Publish { at: 0 }
        } else {
            return false;
        };
        self.run(&op, now);
        true
    }
}

fn state(server: &Machine) -> (usize, usize, Option<Revision>) {
    (server.open_requests(), server.open_calls(), server.legacy_revision())
}

/// Whether two calls would write into one frame. To make the second then would be a mistake of the
/// application's.
fn same(one: &Op, other: &Op) -> bool {
    match (one, other) {
        (Op::Respond { request: one, .. }, Op::Respond { request: other, .. }) => one == other,
        (Op::CancelCall { call: one }, Op::CancelCall { call: other }) => one == other,
        // A cancellation has one wording, so the machine may go on with it when the time is over as
        // well.
        (Op::CancelCall { .. }, Op::Timeout) | (Op::Timeout, Op::CancelCall { .. }) => true,
        _ => discriminant(one) == discriminant(other),
    }
}

const RAW: RawJson<'static> = RawJson::from_static(r#"{ "a" : [ 1.50 ], "b": "\u00e9" }"#);
const FORM: ElicitParams = ElicitParams::form(
    "Who?",
    RequestedSchema::new(&[Field::optional("who", StringSchema::new().schema())]),
);
