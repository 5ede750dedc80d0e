//! The state of the client's application, and checks of the events.

use std::time::Duration;

use mcp_sansio::types::LoggingLevel;
use mcp_sansio::{
    Call, CallOptions, CallOutcome, ClientConfig, ClientEvent, RawJson, RequestHandle, Revision,
    Violation,
};

use super::client::Machine;
use super::corpus::REQUESTS;
use crate::chaos::script::show;

/// State of the application.
#[derive(Default)]
pub(super) struct ClientApp {
    pub(super) calls: Vec<Waiting>,
    pub(super) asked: Vec<RequestHandle>,
    pub(super) again: Vec<Again>,
    /// Handles of requests that have ended.
    pub(super) gone: Vec<Call>,
    /// Number of responses that may come too late in this connection.
    pub(super) given_up: usize,
    /// Whether connecting failed.
    pub(super) failed: bool,
    /// The latest time so far; clocks go backwards, too.
    pub(super) latest: u64,
}

/// A request that waits for its response.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) call: Call,
    pub(super) kind: usize,
    pub(super) is_listen: bool,
    pub(super) listening: bool,
    pub(super) wants_progress: bool,
    pub(super) progress: Option<f64>,
    pub(super) timeout: u64,
    pub(super) limit: u64,
    pub(super) deadline: Option<u64>,
}

/// A call that will be retried with input responses.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub(super) kind: usize,
    pub(super) round: u8,
    pub(super) state: Option<String>,
    pub(super) answers: bool,
}

impl ClientApp {
    pub(super) fn check_event(
        &mut self,
        client: &Machine,
        event: &ClientEvent<'_>,
        now: u64,
        roomy: bool,
    ) {
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

    fn waiting(&mut self, call: Call) -> &mut Waiting {
        self.calls.iter_mut().find(|waiting| waiting.call == call).expect("the call is open")
    }

    pub(super) fn forget(&mut self, call: Call) -> Waiting {
        self.gone.push(call);
        let ended = self.calls.extract_if(.., |waiting| waiting.call == call).next();
        ended.expect("each request ends once")
    }
}

/// Options of a call, and its time limits.
pub(super) struct How {
    pub(super) options: CallOptions,
    timeout: u64,
    limit: u64,
    wants_progress: bool,
}

impl How {
    pub(super) fn of(kind: usize, config: &ClientConfig<'_>) -> Self {
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

    pub(super) fn waiting(self, call: Call, kind: Option<usize>, now: u64) -> Waiting {
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
