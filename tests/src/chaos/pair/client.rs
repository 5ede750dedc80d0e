//! The application of a client, at any time.

use std::mem::discriminant;
use std::time::Duration;

use mcp_sansio::types::{LoggingLevel, SubscriptionFilter, Text};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, Delivery, Era,
    InputResponseParams, Instant, NotAllowed, Progress, RawJson, RequestHandle, Revision, RpcError,
    SendError, Violation,
};

use super::corpus::{ANSWERS, CLIENTS, REQUESTS, ROOMS, ROOTS, SAMPLED, rx};
use super::end::{End, Op, Role};
use crate::chaos::script::{Script, show};
use crate::line::Line;
use crate::memory::new_client;
use crate::pair::Speaker;

type Machine = Client<'static>;

#[derive(Default)]
pub(super) struct ClientApp {
    calls: Vec<Waiting>,
    asked: Vec<RequestHandle>,
    again: Vec<Again>,
    /// Handles of requests that have ended.
    gone: Vec<Call>,
    /// Number of responses that may come too late in this connection.
    given_up: usize,
    pub(super) failed: bool,
    /// The latest time so far; clocks go backwards, too.
    latest: u64,
}

#[derive(Debug)]
struct Waiting {
    call: Call,
    kind: usize,
    is_listen: bool,
    listening: bool,
    wants_progress: bool,
    progress: Option<f64>,
    timeout: u64,
    limit: u64,
    deadline: Option<u64>,
}

/// A call that will be retried with input responses.
#[derive(Clone, Debug)]
pub(super) struct Again {
    kind: usize,
    round: u8,
    state: Option<String>,
    answers: bool,
}

/// A call that can be repeated as it was.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Open,
    Request { kind: usize, options: usize },
    Retry(Again),
    Listen { kind: usize, options: usize },
    Cancel { call: Call, reason: bool },
    Respond { request: RequestHandle, kind: usize },
    Progress { request: RequestHandle, done: usize },
    Notify { kind: usize },
}

impl Role for ClientApp {
    type Machine = Machine;
    type Act = Act;
    const SPEAKER: Speaker = Speaker::Client;

    fn machine(script: &Script<'_>) -> Machine {
        new_client::<3>(script.pick(&CLIENTS))
    }

    fn choose(&mut self, machine: &Machine, script: &Script<'_>) -> Option<Act> {
        if let Some(again) = self.again.first().filter(|_| script.once_in(2)) {
            return Some(Act::Retry(again.clone()));
        }
        Some(match script.below(12) {
            0..4 => Act::Request { kind: script.below(REQUESTS.len()), options: script.below(8) },
            4 | 5 => Act::Listen { kind: script.below(3), options: script.below(8) },
            6 | 7 => {
                let calls = self.calls.len();
                let call = if calls == 0 {
                    *self.gone.last()?
                } else {
                    self.calls[script.below(calls)].call
                };
                Act::Cancel { call, reason: script.once_in(2) }
            }
            8 | 9 => Act::Respond { request: self.question(script)?, kind: script.below(4) },
            10 => Act::Progress { request: self.question(script)?, done: script.below(6) },
            _ if self.failed => return None,
            _ if !machine.is_open() => Act::Open,
            _ => Act::Notify { kind: script.below(3) },
        })
    }

    fn perform(end: &mut End<Self>, act: &Act, now: u64) -> Result<(), SendError> {
        let at = Instant::from_millis(now);
        match act {
            Act::Open => {
                let opened = end.attempt(|client, tx| client.connect(at, tx));
                assert!(
                    !matches!(opened, Err(SendError::TooManyCalls | SendError::Invalid(_))),
                    "{opened:?}"
                );
                opened?;
            }
            Act::Request { kind, options } => {
                let (method, params) = REQUESTS[*kind];
                let how = How::of(*options, end.machine.config());
                let call =
                    end.attempt(|client, tx| client.request(at, method, &params, how.options, tx))?;
                end.app.calls.push(how.waiting(call, Some(*kind), now));
            }
            Act::Retry(again) => {
                let (method, params) = REQUESTS[again.kind];
                let how = How::of(0, end.machine.config());
                let state = again.state.as_deref().map(Text::new);
                let mut inputs = InputResponseParams::new(again.round).state(state);
                if again.answers {
                    inputs = inputs.responses(&ANSWERS);
                }
                let result = end.attempt(|client, tx| {
                    client.retry(at, method, &params, &inputs, how.options, tx)
                });
                if !matches!(result, Err(SendError::Full)) && !end.app.again.is_empty() {
                    end.app.again.remove(0);
                }
                end.app.calls.push(how.waiting(result?, Some(again.kind), now));
            }
            Act::Listen { kind, options } => {
                let how = How::of(*options, end.machine.config());
                let uris = [Text::new("m://1"), Text::new("m://2")];
                let filter = SubscriptionFilter::new()
                    .tools_list_changed(*kind != 1)
                    .resource_subscriptions(&uris[..*kind]);
                let call = end.attempt(|client, tx| client.listen(at, &filter, how.options, tx))?;
                end.app.calls.push(how.waiting(call, None, now));
            }
            Act::Cancel { call, reason } => {
                let words = "because of a \"reason\"";
                let was_open = end.machine.is_call_open(*call);
                end.attempt(|client, tx| client.cancel_call(*call, reason.then_some(words), tx))?;
                assert!(!end.machine.is_call_open(*call));
                let known = end.app.calls.extract_if(.., |waiting| waiting.call == *call).next();
                assert_eq!(was_open, known.is_some(), "a request ends once");
                if known.is_some() {
                    end.app.given_up += 1;
                    end.app.gone.push(*call);
                }
            }
            Act::Respond { request, kind } => {
                let request = *request;
                let open = end.app.asked.contains(&request);
                let answered = end.respond(request, |client, tx| match kind {
                    0 => client.respond_raw(request, ROOTS, tx),
                    1 => client.respond_error(request, &RpcError::internal("never"), tx),
                    2 => client.respond(request, &SAMPLED, tx),
                    _ => client.respond_raw(request, ANSWERS, tx),
                })?;
                assert_eq!(answered, if open { Delivery::Sent } else { Delivery::Gone });
                end.app.asked.retain(|asked| *asked != request);
            }
            Act::Progress { request, done } => {
                let progress = Progress::of(*done as u64).total(5).message("so \"far\"");
                let told = end.attempt(|client, tx| client.progress(at, *request, &progress, tx));
                assert!(!matches!(told, Ok(Delivery::Gone)) || !end.app.asked.contains(request));
                assert!(!end.wrote_part, "{told:?}");
                assert!(
                    !matches!(told, Err(SendError::NotAllowed(_) | SendError::Invalid(_))),
                    "{told:?}"
                );
                _ = told?;
            }
            Act::Notify { kind } => match kind {
                0 => end.attempt(|client, tx| client.roots_changed(tx))?,
                1 => end.attempt(|client, tx| client.notify("notifications/own", &ANSWERS, tx))?,
                _ => {
                    let refused = end.attempt(|client, tx| {
                        client.notify("notifications/cancelled", &ANSWERS, tx)
                    });
                    assert_eq!(refused, Err(SendError::NotAllowed(NotAllowed::Method)));
                }
            },
        }
        Ok(())
    }

    fn event(&mut self, client: &Machine, event: &ClientEvent<'_>, now: u64, roomy: bool) {
        show(format_args!("   client saw {event:?}"));
        match event {
            ClientEvent::Connected(opened) => {
                assert_eq!(client.revision(), Some(opened.revision));
                assert!(client.config().revisions.contains(opened.revision));
                assert_eq!(client.era(), Some(opened.revision.era()));
            }
            ClientEvent::ConnectFailed(_) => {
                assert!(!client.is_open() && client.open_calls() == 0);
                self.failed = true;
            }
            ClientEvent::CallFinished { call, outcome } => {
                assert!(!client.is_call_open(*call));
                let waiting = self.forget(*call);
                match outcome {
                    CallOutcome::InputRequired(input) => {
                        assert!(REQUESTS[waiting.kind].1.is_object() && !waiting.is_listen);
                        assert!(
                            client.revision() == Some(Revision::LATEST)
                                && input.round() < client.config().max_rounds
                        );
                        let state = input.state().map(|state| {
                            state.as_plain().expect("the request state is ours").to_owned()
                        });
                        let (kind, round) = (waiting.kind, input.round());
                        let answers = input.raw_requests().is_some();
                        self.again.push(Again { kind, round, state, answers });
                    }
                    CallOutcome::Invalid(violation) => assert!(
                        matches!(violation, Violation::TooManyRounds | Violation::InputNotAllowed)
                            || *violation == Violation::TooLong && !roomy,
                        "{violation:?}"
                    ),
                    CallOutcome::EndedByServer => {
                        assert!(waiting.is_listen && waiting.listening);
                        self.given_up += 1;
                    }
                    CallOutcome::TimedOut => {
                        assert!(
                            waiting.deadline.is_some_and(|deadline| deadline <= self.latest),
                            "timed out too early: {waiting:?}, {now}"
                        );
                        self.given_up += 1;
                    }
                    CallOutcome::Closed => panic!("outcome Closed without a call of close"),
                    _ => {}
                }
            }
            ClientEvent::Progress { call, params } => {
                let prolongs = client.config().progress_extends_timeout;
                let waiting = self.waiting(*call);
                assert!(waiting.wants_progress);
                let done = params.get("progress").and_then(RawJson::as_f64).expect("a number");
                assert!(
                    waiting.progress.is_none_or(|last| last < done),
                    "the progress did not increase"
                );
                waiting.progress = Some(done);
                if prolongs && !waiting.is_listen {
                    waiting.deadline = Some(now.saturating_add(waiting.timeout).min(waiting.limit));
                }
            }
            ClientEvent::Listening { call, .. } => {
                let waiting = self.waiting(*call);
                assert!(waiting.is_listen && !waiting.listening);
                waiting.listening = true;
                waiting.deadline = None;
            }
            ClientEvent::Changed { listen, .. } => match listen {
                Some(call) => {
                    assert!(
                        self.waiting(*call).listening,
                        "a change notification before the acknowledgement"
                    )
                }
                None => assert!(client.revision().is_some_and(|revision| !revision.is_modern())),
            },
            ClientEvent::Request(request) => {
                assert!(
                    client.is_request_open(request.handle)
                        && client.revision().is_some_and(|revision| !revision.is_modern())
                );
                self.asked.push(request.handle);
            }
            ClientEvent::RequestCancelled { request, .. }
            | ClientEvent::RequestTimedOut { request } => {
                let ended = self.asked.extract_if(.., |asked| asked == request).next();
                ended.expect("each request ends once");
                assert!(!client.is_request_open(*request));
            }
            ClientEvent::Unresponsive => self.given_up += 1,
            ClientEvent::Violation(found) => match found.violation {
                // The client remembers as many ids as it has slots for calls, and one or two of
                // connecting.
                Violation::UnexpectedResponse => {
                    assert!(self.given_up > 1, "an unexpected response")
                }
                Violation::TooLong => assert!(!roomy),
                // Connecting failed, and the connection is not closed yet.
                Violation::UnexpectedRequest => assert!(self.failed),
                Violation::UnknownMethod
                | Violation::InvalidParams
                | Violation::TooManyRequests => {}
                other => panic!("{other:?}"),
            },
            ClientEvent::Log { .. }
            | ClientEvent::Notification { .. }
            | ClientEvent::UnexpectedDiscovery(_) => {}
            other => panic!("{other:?}"),
        }
    }

    fn same(one: &Op<Act>, other: &Op<Act>) -> bool {
        use Act::{Cancel, Request, Respond, Retry};
        match (one, other) {
            (Op::Act(one), Op::Act(other)) => match (one, other) {
                (Cancel { call: one, .. }, Cancel { call: other, .. }) => one == other,
                (Respond { request: one, .. }, Respond { request: other, .. }) => one == other,
                (Request { .. } | Retry(_), Request { .. } | Retry(_)) => true,
                _ => discriminant(one) == discriminant(other),
            },
            _ => discriminant(one) == discriminant(other),
        }
    }

    /// While the client connects, either of these may continue its frame.
    fn may_cross(client: &Machine, begun: &Op<Act>, op: &Op<Act>) -> bool {
        let of_machine = |op: &Op<Act>| matches!(op, Op::NextEvent | Op::Timeout);
        !client.is_open() && of_machine(begun) && of_machine(op)
    }

    fn before_timeouts(&mut self, now: u64) {
        self.latest = self.latest.max(now);
    }

    fn after_timeouts(&self, now: u64) {
        let is_over = |waiting: &&Waiting| waiting.deadline.is_some_and(|it| it <= now);
        let overdue = self.calls.iter().find(is_over);
        assert!(overdue.is_none(), "overdue at {now}: {overdue:?}");
    }

    fn check(end: &End<Self>) {
        assert!(end.app.calls.iter().all(|waiting| end.machine.is_call_open(waiting.call)));
        assert!(end.app.asked.iter().all(|asked| end.machine.is_request_open(*asked)));
        assert!(!end.app.gone.iter().rev().take(8).any(|gone| end.machine.is_call_open(*gone)));
        assert_eq!(end.machine.open_requests(), end.app.asked.len());
        // `initialize` or `server/discover`, or a ping.
        let more = end.machine.open_calls() - end.app.calls.len();
        assert!(more <= 1, "{more} unexpected requests");
    }

    fn finish(&self) -> Option<Act> {
        if let Some(request) = self.asked.first() {
            return Some(Act::Respond { request: *request, kind: 0 });
        }
        let waiting = self.calls.first()?;
        Some(Act::Cancel { call: waiting.call, reason: true })
    }
}

impl ClientApp {
    fn question(&self, script: &Script<'_>) -> Option<RequestHandle> {
        let n = self.asked.len();
        if n == 0 { None } else { Some(self.asked[script.below(n)]) }
    }

    fn waiting(&mut self, call: Call) -> &mut Waiting {
        self.calls.iter_mut().find(|waiting| waiting.call == call).expect("the call is open")
    }

    fn forget(&mut self, call: Call) -> Waiting {
        self.gone.push(call);
        let ended = self.calls.extract_if(.., |waiting| waiting.call == call).next();
        ended.expect("each request ends once")
    }
}

impl End<ClientApp> {
    pub(super) fn close(&mut self, script: &Script<'_>) {
        while let Some(event) = self.machine.close() {
            let ClientEvent::CallFinished { call, outcome: CallOutcome::Closed } = event else {
                panic!("{event:?}")
            };
            self.app.forget(call);
        }
        assert!(self.app.calls.is_empty(), "calls without an outcome: {:?}", self.app.calls);
        assert_eq!(
            (self.machine.open_calls(), self.machine.open_requests(), self.machine.poll_timeout()),
            (0, 0, None)
        );
        self.app.asked.clear();
        self.app.again.clear();
        self.begun = None;
        self.app.given_up = 0;
        self.app.failed = false;
        self.line = Line::new(*script.pick(&ROOMS));
        (self.rx, self.roomy) = rx(script);
        match script.below(8) {
            0 => self.machine.set_era(None),
            1 => self.machine.set_era(Some(Era::Legacy)),
            2 => self.machine.set_era(Some(Era::Modern)),
            _ => {}
        }
    }
}

/// Options of a call, and its time limits.
struct How {
    options: CallOptions,
    timeout: u64,
    limit: u64,
    wants_progress: bool,
}

impl How {
    fn of(kind: usize, config: &ClientConfig<'_>) -> Self {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (timeout, limit) = (millis(config.call_timeout), millis(config.call_limit));
        let mut how =
            Self { options: CallOptions::new(), timeout, limit, wants_progress: kind & 1 > 0 };
        if how.wants_progress {
            how.options = how.options.progress(true);
        }
        if kind & 2 > 0 {
            how.timeout = 700;
            how.options =
                how.options.timeout(Duration::from_millis(700)).log_level(LoggingLevel::Info);
        }
        if kind & 4 > 0 {
            how.limit = 1000;
            how.options = how.options.limit(Duration::from_millis(1000));
        }
        how
    }

    fn waiting(self, call: Call, kind: Option<usize>, now: u64) -> Waiting {
        let limit = if kind.is_some() { now.saturating_add(self.limit) } else { u64::MAX };
        Waiting {
            call,
            kind: kind.unwrap_or(0),
            is_listen: kind.is_none(),
            listening: false,
            wants_progress: self.wants_progress,
            progress: None,
            timeout: self.timeout,
            limit,
            deadline: Some(now.saturating_add(self.timeout).min(limit)),
        }
    }
}
