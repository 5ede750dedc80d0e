//! The application of a server, at any time.

use std::mem::discriminant;

use mcp_sansio::types::{
    ElicitParams, Field, LoggingLevel, RequestedSchema, StringSchema, TextResult,
};
use mcp_sansio::{
    Call, CallOutcome, Change, ClientFeatures, ClientRequest, Delivery, Instant, LogMessage,
    Progress, RawJson, RequestHandle, Revision, RpcError, SendError, Server, ServerEvent,
    Violation,
};

use super::corpus::SERVERS;
use super::end::{End, Op, Role};
use crate::chaos::script::{Script, show};
use crate::memory::new_server;
use crate::pair::Speaker;

type Machine = Server<'static>;

#[derive(Default)]
pub(super) struct ServerApp {
    jobs: Vec<RequestHandle>,
    listens: Vec<RequestHandle>,
    calls: Vec<Call>,
    gone: Vec<RequestHandle>,
    /// Changes that not every subscriber has been told of.
    changes: Vec<Change<'static>>,
    tokens: usize,
}

/// A call that can be repeated as it was.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Respond { request: RequestHandle, kind: usize },
    Progress { request: RequestHandle, done: usize },
    Log { request: Option<RequestHandle> },
    Publish { at: usize },
    EndListen { request: RequestHandle },
    Ask { kind: usize, parent: Option<RequestHandle>, token: usize },
    CancelCall { call: Call },
    Notify,
}

impl Role for ServerApp {
    type Machine = Machine;
    type Act = Act;
    const SPEAKER: Speaker = Speaker::Server;

    fn machine(script: &Script<'_>) -> Machine {
        new_server::<3, 3>(script.pick(&SERVERS))
    }

    fn choose(&mut self, _: &Machine, script: &Script<'_>) -> Option<Act> {
        let some = |script: &Script<'_>, from: &[RequestHandle]| {
            (!from.is_empty()).then(|| *script.pick(from))
        };
        Some(match script.below(16) {
            0..4 => Act::Respond { request: some(script, &self.jobs)?, kind: script.below(9) },
            4 => Act::Respond { request: *self.gone.last()?, kind: 0 },
            5..8 => Act::Progress { request: some(script, &self.jobs)?, done: script.below(40) },
            8 => Act::Log { request: some(script, &self.jobs) },
            9 | 10 => {
                if self.changes.is_empty() || script.once_in(3) {
                    let uri = *script.pick(&["m://1", "m://2"]);
                    let resource = Change::resource(uri);
                    self.changes.push(*script.pick(&[Change::tools(), resource, resource]));
                }
                Act::Publish { at: script.below(self.changes.len()) }
            }
            11 => Act::EndListen { request: some(script, &self.listens)? },
            12 | 13 => {
                let parent = if script.once_in(2) { some(script, &self.jobs) } else { None };
                self.tokens += 1;
                Act::Ask { kind: script.below(5), parent, token: self.tokens }
            }
            14 if !self.calls.is_empty() => Act::CancelCall { call: *script.pick(&self.calls) },
            _ => Act::Notify,
        })
    }

    fn perform(end: &mut End<Self>, act: &Act, now: u64) -> Result<(), SendError> {
        let at = Instant::from_millis(now);
        match act {
            Act::Respond { request, kind } => {
                let request = *request;
                let is_job = end.app.jobs.contains(&request);
                let questions = [("k", ClientRequest::from(&FORM)), ("r", ClientRequest::roots())];
                let long = "a \"text\"\n".repeat(60);
                let answered = end.respond(request, |server, tx| match kind {
                    0 | 1 => server.respond(request, &TextResult::new("ok"), tx),
                    2 => server.respond(request, &TextResult::new(&long), tx),
                    3 => server.respond_raw(request, RAW, tx),
                    4 => server.respond_error(request, &RpcError::internal("no"), tx),
                    5 => server.respond_invalid_arguments(request, &"not \"so\"", tx),
                    6 => server.input_required(request, &[], Some("state"), tx),
                    7 => server.input_required(request, &questions, None, tx),
                    _ => server.input_required(request, &questions[..1], Some("state"), tx),
                });
                match answered? {
                    Delivery::Sent => assert!(is_job, "a request ends once"),
                    other => assert!(other == Delivery::Gone && !is_job, "{other:?}"),
                }
                end.app.forget(request);
                // Its nested calls are cancelled with later calls.
                end.app.calls.retain(|call| end.machine.is_call_open(*call));
            }
            Act::Progress { request, done } => {
                let progress = Progress::of(*done as u64).total(30).message("so \"far\"");
                let told = end.attempt(|server, tx| server.progress(at, *request, &progress, tx));
                assert!(!end.wrote_part, "{told:?}");
                assert!(told != Ok(Delivery::Gone) || !end.app.jobs.contains(request));
                _ = told?;
            }
            Act::Log { request } => {
                let message = LogMessage::new(LoggingLevel::Warning, "so it goes");
                let told = match request {
                    Some(request) => end.attempt(|server, tx| server.log(*request, &message, tx)),
                    None => end.attempt(|server, tx| server.log_unrelated(&message, tx)),
                };
                assert!(!end.wrote_part, "{told:?}");
                _ = told?;
            }
            Act::Publish { at } => {
                // The list is shorter after another change has been published completely.
                let Some(mut change) = end.app.changes.get(*at).copied() else { return Ok(()) };
                let remaining = end.attempt(|server, tx| server.publish(&mut change, tx))?;
                end.app.changes[*at] = change;
                if !remaining.is_more() {
                    end.app.changes.remove(*at);
                }
            }
            Act::EndListen { request } => {
                let known = end.app.listens.contains(request);
                let remaining = end.attempt(|server, tx| server.end_listen(*request, tx))?;
                if !remaining.is_more() && known {
                    end.app.forget(*request);
                }
            }
            Act::Ask { kind, parent, token } => {
                let form = FORM;
                let with_token = format!(
                    r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"?"}}}}],"maxTokens":9,"_meta":{{"progressToken":"t{token}"}}}}"#
                );
                let raw = RawJson::parse(&with_token).expect("JSON");
                let sampling = ClientFeatures::SAMPLING;
                let mut request = match kind {
                    0 => ClientRequest::roots(),
                    1 => ClientRequest::new("sampling/createMessage", Some(&raw), sampling),
                    2 => ClientRequest::from(&form),
                    3 => ClientRequest::ping(),
                    _ => ClientRequest::new("own/question", Some(&RAW), ClientFeatures::NONE),
                };
                if let Some(parent) = parent {
                    request = request.parent(*parent);
                }
                let call = end.attempt(|server, tx| server.request(at, request, tx))?;
                end.app.calls.push(call);
                end.app.calls.retain(|call| end.machine.is_call_open(*call));
            }
            Act::CancelCall { call } => {
                end.attempt(|server, tx| server.cancel_call(at, *call, tx))?;
                assert!(!end.machine.is_call_open(*call));
                end.app.calls.retain(|open| open != call);
            }
            Act::Notify => {
                end.attempt(|server, tx| server.notify("notifications/own", &RAW, tx))?
            }
        }
        Ok(())
    }

    fn event(&mut self, server: &Machine, event: &ServerEvent<'_>, _: u64, roomy: bool) {
        show(format_args!("   server saw {event:?}"));
        match event {
            ServerEvent::Request(request) => {
                assert!(server.is_request_open(request.handle));
                self.jobs.push(request.handle);
            }
            ServerEvent::Listening { request } => self.listens.push(*request),
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                assert!(
                    !server.is_request_open(*request) && self.forget(*request),
                    "each request ends once"
                );
            }
            ServerEvent::CallFinished { outcome: CallOutcome::Cancelled, .. } => {}
            ServerEvent::CallFinished { call, .. } => {
                let ended = self.calls.extract_if(.., |open| open == call).next();
                ended.expect("each request ends once");
            }
            ServerEvent::Violation(found) => match found.violation {
                Violation::TooLong => assert!(!roomy),
                Violation::TooManyRequests
                | Violation::UnknownMethod
                | Violation::InvalidParams
                | Violation::UnsupportedVersion => {}
                // The probe, at a server without the modern era.
                Violation::NotInitialized => {
                    assert!(!server.config().revisions.contains(Revision::LATEST));
                }
                other => panic!("{other:?}"),
            },
            ServerEvent::PeerError(error) => panic!("{error:?}"),
            _ => {}
        }
        // A request that ends takes its nested calls with it.
        self.calls.retain(|call| server.is_call_open(*call));
    }

    fn same(one: &Op<Act>, other: &Op<Act>) -> bool {
        use Act::{CancelCall, Respond};
        match (one, other) {
            (Op::Act(one), Op::Act(other)) => match (one, other) {
                (Respond { request: one, .. }, Respond { request: other, .. }) => one == other,
                (CancelCall { call: one }, CancelCall { call: other }) => one == other,
                _ => discriminant(one) == discriminant(other),
            },
            // A timeout may write the same cancellation, so the machine may continue it there.
            (Op::Act(CancelCall { .. }), Op::Timeout)
            | (Op::Timeout, Op::Act(CancelCall { .. })) => true,
            _ => discriminant(one) == discriminant(other),
        }
    }

    fn check(end: &End<Self>) {
        let mut requests = end.app.jobs.iter().chain(&end.app.listens);
        assert!(requests.all(|request| end.machine.is_request_open(*request)));
        assert!(end.app.calls.iter().all(|call| end.machine.is_call_open(*call)));
        assert!(!end.app.gone.iter().rev().take(8).any(|gone| end.machine.is_request_open(*gone)));
        // A subscription that is being acknowledged is open already.
        let more = end.machine.open_requests() - end.app.jobs.len() - end.app.listens.len();
        assert!(
            more == 0 || more == 1 && matches!(end.begun, Some(Op::NextEvent)),
            "{more} requests that nobody knows of"
        );
    }

    fn finish(&self) -> Option<Act> {
        Some(if let Some(request) = self.jobs.first() {
            Act::Respond { request: *request, kind: 0 }
        } else if let Some(request) = self.listens.first() {
            Act::EndListen { request: *request }
        } else if let Some(call) = self.calls.first() {
            Act::CancelCall { call: *call }
        } else if !self.changes.is_empty() {
            Act::Publish { at: 0 }
        } else {
            return None;
        })
    }
}

impl ServerApp {
    fn forget(&mut self, request: RequestHandle) -> bool {
        let before = self.jobs.len() + self.listens.len();
        self.jobs.retain(|job| *job != request);
        self.listens.retain(|listen| *listen != request);
        self.gone.push(request);
        self.jobs.len() + self.listens.len() < before
    }
}

impl End<ServerApp> {
    pub(super) fn close(&mut self, script: &Script<'_>) {
        self.machine.close();
        assert_eq!(
            (self.machine.open_requests(), self.machine.open_calls(), self.machine.poll_timeout()),
            (0, 0, None)
        );
        // Sometimes another server takes its place.
        let machine = if script.once_in(3) {
            new_server::<3, 3>(script.pick(&SERVERS))
        } else {
            std::mem::replace(&mut self.machine, new_server::<3, 3>(&SERVERS[0]))
        };
        let before = std::mem::replace(self, Self::new(script));
        (self.machine, self.app.tokens) = (machine, before.app.tokens);
    }
}

const RAW: RawJson<'static> = RawJson::from_static(r#"{ "a" : [ 1.50 ], "b": "\u00e9" }"#);
const FORM: ElicitParams = ElicitParams::form(
    "Who?",
    RequestedSchema::new(&[Field::optional("who", StringSchema::new().schema())]),
);
