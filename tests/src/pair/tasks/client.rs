//! A connection of the client, and the calls that its application follows.

use std::collections::HashSet;
use std::time::Duration;

use mcp_sansio::types::{Implementation, SubscriptionFilter, Task, Text, meta::RELATED_TASK};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Changed, Client, ClientConfig, ClientEvent, ClientFeatures,
    ClientState, Instant, PollStep, RawJson, RequestHandle, Revision, Revisions, RxBuffer,
    SendError, TaskGone, TaskPoll, Tx, Violation,
};
use serde_json::{Value, json};

use super::Clock;
use crate::chaos::script::{Script, show};
use crate::line::Line;
use crate::pair::end::rx;

const CONFIG: ClientConfig<'static> = ClientConfig::new(
    Implementation::new("c", "1"),
    ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS),
)
.send_client_info(false)
.call_timeout(Duration::from_secs(5));
static LEGACY: ClientConfig<'static> = CONFIG.revisions(Revisions::only(Revision::V2025_11_25));
static MODERN: ClientConfig<'static> = CONFIG.revisions(Revisions::MODERN);

/// A client, its buffers, and the calls of its application.
pub(super) struct ClientEnd<'d> {
    clock: Clock,
    script: Script<'d>,
    state: ClientState<8>,
    config: &'static ClientConfig<'static>,
    pub(super) line: Line,
    pub(super) rx: RxBuffer<Vec<u8>>,
    pub(super) followed: Vec<Followed>,
    calls: Vec<(Call, usize, Purpose)>,
    /// Questions of a session that wait for the user.
    asked: Vec<(RequestHandle, String)>,
    pub(super) has_failed: bool,
    /// Whether lines were lost or doubled, so that some come unexpectedly.
    pub(super) is_disturbed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Call,
    Poll { is_update: bool },
    Cancel,
    Listen,
}

/// A call, and the task that it has become.
pub struct Followed {
    /// The number of the call.
    pub label: u64,
    phase: Phase,
    revision: Revision,
    /// The time at which the client was told of the task.
    created: u64,
    /// Responses to input requests, by key.
    responses: Vec<(String, Value, Progress)>,
    /// Keys of the input requests that the user has seen since the poll began.
    seen: HashSet<String>,
    /// Keys and questions that the user thinks about.
    thinking: Vec<(String, String)>,
    wake: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    New,
    Sent,
    Acknowledged,
}

/// A client does not follow a task that has more open questions.
pub(super) const MAX_OPEN: usize = 8;

enum Phase {
    Calling,
    Following(Box<TaskPoll<MAX_OPEN>>, String),
    Over(Report, u64),
}

/// What the application is told of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// The text of the result, and whether it is an error of the tool.
    Done(String, bool),
    Failed(i64, String),
    Cancelled,
    /// The server does not have it any more.
    Gone(TaskGone),
    Invalid(Violation),
    /// The call has no response, or is no task.
    NoTask,
}

/// What to do, without a borrow.
enum Act {
    Request(&'static str, bool),
    Input(Vec<(String, String)>),
    Idle(Option<u64>),
    Over(Report),
}

impl<'d> ClientEnd<'d> {
    pub(super) fn new(clock: Clock, script: Script<'d>, revision: Revision, room: usize) -> Self {
        Self {
            clock,
            script,
            state: ClientState::new(),
            config: if revision.is_modern() { &MODERN } else { &LEGACY },
            line: Line::new(room),
            rx: rx(),
            followed: Vec::new(),
            calls: Vec::new(),
            asked: Vec::new(),
            has_failed: false,
            is_disturbed: false,
        }
    }

    pub(super) fn machine(&mut self) -> Client<'_> {
        self.state.client(self.config)
    }

    pub(super) fn connect(&mut self) {
        let at = self.clock.at();
        self.send(|client, tx| client.connect(at, tx)).expect("only Full");
    }

    /// The connection is lost. A new one begins, in this revision. Polls go on, or begin anew from
    /// what an application would have stored.
    pub(super) fn reconnect(&mut self, revision: Revision, room: usize) {
        while let Some(event) = self.machine().close() {
            self.event(&event);
        }
        assert!(self.calls.is_empty(), "each request ends once: {:?}", self.calls);
        assert_eq!((self.machine().open_calls(), self.machine().open_requests()), (0, 0));
        let mut followed = std::mem::take(&mut self.followed);
        for each in &mut followed {
            let Phase::Following(poll, _) = &mut each.phase else { continue };
            if each.revision == revision && !self.script.once_in(2) {
                continue;
            }
            let age = Duration::from_millis(self.clock.now() - each.created);
            **poll = TaskPoll::resume(self.clock.at(), revision, age);
            each.responses.retain(|(.., progress)| *progress == Progress::Acknowledged);
            each.seen.clear();
            each.thinking.clear();
            for (key, ..) in &each.responses {
                with_key(key, |key| poll.restore(key));
            }
            each.revision = revision;
        }
        let new = Self::new(self.clock.clone(), self.script.clone(), revision, room);
        *self = Self { followed, is_disturbed: true, ..new };
        self.connect();
    }

    fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Client<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let Self { state, config, line, .. } = self;
        line.send(|tx| call(&mut state.client(config), tx))
    }

    fn request(
        &mut self,
        index: usize,
        purpose: Purpose,
        method: &str,
        params: &Value,
        options: CallOptions,
    ) -> Result<(), SendError> {
        let params = params.to_string();
        let params = RawJson::parse(&params).expect("JSON");
        let at = self.clock.at();
        let call = self.send(|client, tx| client.request(at, method, &params, options, tx))?;
        self.calls.push((call, index, purpose));
        Ok(())
    }

    /// Calls the tool, as a task that the server keeps for this time.
    pub(super) fn call(&mut self, ttl: Option<Duration>) -> Result<(), SendError> {
        let index = self.followed.len();
        let label = index as u64;
        let params = json!({ "name": "work", "arguments": { "label": label } });
        let options = CallOptions::new().task(ttl);
        self.request(index, Purpose::Call, "tools/call", &params, options)?;
        let revision = self.machine().revision().expect("the client is connected");
        self.followed.push(Followed {
            label,
            phase: Phase::Calling,
            revision,
            created: self.clock.now(),
            responses: Vec::new(),
            seen: HashSet::new(),
            thinking: Vec::new(),
            wake: None,
        });
        Ok(())
    }

    pub(super) fn cancel(&mut self, index: usize) -> Result<(), SendError> {
        let Phase::Following(_, id) = &self.followed[index].phase else { return Ok(()) };
        let params = json!({ "taskId": id });
        self.request(index, Purpose::Cancel, "tasks/cancel", &params, CallOptions::new())
    }

    pub(super) fn listen(&mut self, index: usize) -> Result<(), SendError> {
        let Phase::Following(_, id) = &self.followed[index].phase else { return Ok(()) };
        let id = id.clone();
        let ids = [Text::new(&id)];
        let filter = SubscriptionFilter::new().task_ids(&ids);
        let (at, options) = (self.clock.at(), CallOptions::new());
        let call = self.send(|client, tx| client.listen(at, &filter, options, tx))?;
        self.calls.push((call, index, Purpose::Listen));
        Ok(())
    }

    pub(super) fn receive(&mut self) {
        let at = self.clock.at();
        let mut rx = std::mem::replace(&mut self.rx, RxBuffer::new(Vec::new()));
        while let Some(mut messages) = rx.next_messages() {
            loop {
                let event = self.send(|client, tx| client.next_event(at, &mut messages, tx));
                let Some(event) = event.expect("only Full") else { break };
                self.event(&event);
            }
        }
        self.rx = rx;
    }

    fn event(&mut self, event: &ClientEvent<'_>) {
        show(format_args!("   client saw {event:?}"));
        match event {
            ClientEvent::ConnectFailed(_) => self.has_failed = true,
            ClientEvent::CallFinished { call, outcome } => {
                let index = self.calls.iter().position(|(open, ..)| open == call);
                let (_, index, purpose) = self.calls.remove(index.expect("a request ends once"));
                self.finished(index, purpose, outcome);
            }
            ClientEvent::Listening { call, .. } => {
                let listen = self.calls.iter().find(|(open, ..)| open == call);
                let (_, index, _) = listen.expect("a subscription of ours");
                if let Phase::Following(poll, _) = &mut self.followed[*index].phase {
                    poll.set_listening(true);
                }
            }
            ClientEvent::Changed { what: Changed::Task(task), .. } => {
                let id = task.get("taskId").and_then(RawJson::as_string).expect("an id");
                let is_it = |each: &Followed| match &each.phase {
                    Phase::Following(_, own) => id == own.as_str(),
                    _ => false,
                };
                if let Some(index) = self.followed.iter().position(is_it) {
                    let (at, random) = (self.clock.at(), random(&self.script));
                    self.step(index, |poll| poll.on_change(at, random, *task));
                }
            }
            ClientEvent::Request(request) => {
                let params = request.params;
                let related = request.params.meta().and_then(|meta| meta.get(RELATED_TASK));
                let id = related.and_then(|related| related.get("taskId")?.as_string());
                let id = id.expect("the question of a task");
                let is_known = |each: &Followed| match &each.phase {
                    Phase::Following(_, own) => id == own.as_str(),
                    Phase::Calling => false,
                    Phase::Over(..) => true,
                };
                assert!(self.followed.iter().any(is_known), "a question of no task of ours");
                let message = params.get("message").and_then(RawJson::as_string);
                let message = message.and_then(|message| message.as_plain()).expect("a message");
                self.asked.push((request.handle, message.to_owned()));
            }
            ClientEvent::RequestCancelled { request, .. } => {
                self.asked.retain(|(asked, _)| asked != request);
            }
            ClientEvent::Violation(violation) => {
                assert!(self.is_disturbed, "{violation:?}");
            }
            _ => {}
        }
    }

    fn finished(&mut self, index: usize, purpose: Purpose, outcome: &CallOutcome<'_>) {
        let revision = self.machine().revision();
        let (now, at) = (self.clock.now(), self.clock.at());
        let followed = &mut self.followed[index];
        match (purpose, outcome) {
            (Purpose::Call, CallOutcome::Task(task)) => {
                let read = task.to::<Task<'_>>().expect("a valid task");
                let id = read.task_id.as_plain().expect("hexadecimal digits").to_owned();
                let revision = revision.expect("the client is connected");
                let poll = TaskPoll::new(at, random(&self.script), revision, &read);
                followed.created = now;
                followed.phase = Phase::Following(Box::new(poll), id);
            }
            (Purpose::Call, _) => followed.over(Report::NoTask, now),
            (Purpose::Poll { is_update }, outcome) => {
                if is_update {
                    followed.updated(outcome.result().is_some());
                }
                let random = random(&self.script);
                self.step(index, |poll| poll.on_outcome(at, random, outcome));
            }
            (Purpose::Cancel, _) => {}
            (Purpose::Listen, _) => {
                if let Phase::Following(poll, _) = &mut followed.phase {
                    poll.set_listening(false);
                }
            }
        }
    }

    /// Tells a poll something, and does what it says.
    fn step<'f>(
        &mut self,
        index: usize,
        tell: impl FnOnce(&mut TaskPoll<MAX_OPEN>) -> PollStep<'f>,
    ) {
        let Phase::Following(poll, _) = &mut self.followed[index].phase else { return };
        let act = Act::of(tell(poll), poll);
        self.act(index, act);
    }

    fn act(&mut self, index: usize, act: Act) {
        let followed = &mut self.followed[index];
        let Phase::Following(_, id) = &mut followed.phase else { return };
        match act {
            Act::Idle(wake) => followed.wake = wake,
            Act::Over(report) => followed.over(report, self.clock.now()),
            Act::Input(requests) => {
                for (key, message) in requests {
                    if !followed.thinking.iter().any(|(open, _)| *open == key) {
                        assert!(followed.seen.insert(key.clone()), "the user is asked once: {key}");
                        followed.thinking.push((key, message));
                    }
                }
            }
            Act::Request(method, is_update) => {
                let mut params = json!({ "taskId": id });
                let mut options = CallOptions::new();
                if is_update {
                    let mut responses = serde_json::Map::new();
                    for (key, value, progress) in &mut followed.responses {
                        if *progress == Progress::New {
                            *progress = Progress::Sent;
                            responses.insert(key.clone(), value.clone());
                        }
                    }
                    assert!(!responses.is_empty(), "an update has something to say");
                    params["inputResponses"] = responses.into();
                }
                if method == "tasks/result" {
                    // As long as an HTTP connection that is silent would be held.
                    options = options.timeout(Duration::from_secs(60));
                }
                let purpose = Purpose::Poll { is_update };
                match self.request(index, purpose, method, &params, options) {
                    Ok(()) => {}
                    // It is the application's to try later.
                    Err(error) => {
                        let is_later =
                            matches!(error, SendError::TooManyCalls | SendError::NotAllowed(_));
                        assert!(is_later, "{error:?}");
                        let (at, outcome) = (self.clock.at(), CallOutcome::TimedOut);
                        self.followed[index].updated(false);
                        self.step(index, |poll| poll.on_outcome(at, 0, &outcome));
                    }
                }
            }
        }
    }

    /// Does what follows from the time, and what the user wants.
    pub(super) fn settle(&mut self) {
        let at = self.clock.at();
        while let Some(event) =
            self.send(|client, tx| client.handle_timeout(at, tx)).expect("only Full")
        {
            self.event(&event);
        }
        for (request, message) in std::mem::take(&mut self.asked) {
            if self.script.once_in(4) {
                self.asked.push((request, message));
                continue;
            }
            let response = response(&message).to_string();
            let response = RawJson::parse(&response).expect("JSON");
            self.send(|client, tx| client.respond_raw(request, response, tx)).expect("only Full");
        }
        for index in 0..self.followed.len() {
            self.followed[index].think(&self.script);
            for turn in 0.. {
                assert!(turn < 100, "a poll does not rest");
                let is_open = self.machine().is_open();
                let Phase::Following(poll, _) = &mut self.followed[index].phase else { break };
                if !is_open && poll.expires().is_none_or(|expires| expires > at) {
                    break;
                }
                let act = Act::of(poll.next(at), poll);
                let is_idle = matches!(act, Act::Idle(_));
                self.act(index, act);
                if is_idle {
                    break;
                }
                self.followed[index].think(&self.script);
            }
        }
    }

    pub(super) fn next_timeout(&mut self) -> Option<u64> {
        let own = self.machine().poll_timeout().map(Instant::as_millis);
        let polls = self.followed.iter().filter_map(|each| match &each.phase {
            Phase::Following(poll, _) => {
                let expires = poll.expires().map(Instant::as_millis);
                each.wake.into_iter().chain(expires).min()
            }
            _ => None,
        });
        polls.chain(own).min()
    }

    /// Ends the subscriptions.
    pub(super) fn stop_listening(&mut self) {
        let is_listen = |(_, _, purpose): &(Call, usize, Purpose)| *purpose == Purpose::Listen;
        for (call, ..) in self.calls.extract_if(.., |call| is_listen(call)).collect::<Vec<_>>() {
            self.send(|client, tx| client.cancel_call(call, None, tx)).expect("only Full");
        }
    }

    /// Asserts that nothing is open.
    pub(super) fn is_over(&mut self) {
        assert!(self.calls.is_empty() && self.asked.is_empty(), "{:?}", self.calls);
        let machine = self.machine();
        assert_eq!((machine.open_calls(), machine.open_requests()), (0, 0));
    }
}

impl Followed {
    /// What the application was told, and when.
    pub fn report(&self) -> Option<(&Report, u64)> {
        match &self.phase {
            Phase::Over(report, when) => Some((report, *when)),
            _ => None,
        }
    }

    pub(super) const fn is_following(&self) -> bool {
        matches!(self.phase, Phase::Following(..))
    }

    fn over(&mut self, report: Report, now: u64) {
        assert!(!matches!(self.phase, Phase::Over(..)), "a call ends once");
        show(format_args!("   call {}: {report:?}", self.label));
        self.phase = Phase::Over(report, now);
    }

    /// The user responds to some questions.
    fn think(&mut self, script: &Script<'_>) {
        let Phase::Following(poll, _) = &mut self.phase else { return };
        for (key, question) in std::mem::take(&mut self.thinking) {
            if script.once_in(4) {
                self.thinking.push((key, question));
                continue;
            }
            with_key(&key, |key| poll.answered(key));
            self.responses.push((key, response(&question), Progress::New));
        }
    }

    /// An update has ended.
    fn updated(&mut self, is_acknowledged: bool) {
        for (.., progress) in &mut self.responses {
            if *progress == Progress::Sent {
                *progress = if is_acknowledged { Progress::Acknowledged } else { Progress::New };
            }
        }
    }
}

impl Act {
    fn of(step: PollStep<'_>, poll: &TaskPoll<MAX_OPEN>) -> Self {
        match step {
            PollStep::Get => Self::Request("tasks/get", false),
            PollStep::Result => Self::Request("tasks/result", false),
            PollStep::Update => Self::Request("tasks/update", true),
            PollStep::Input(requests) => {
                let open = requests.members().filter(|(key, _)| !poll.is_answered(*key));
                let message = |request: RawJson<'_>| {
                    let message = request.get("params")?.get("message")?.as_string()?;
                    message.as_plain().map(str::to_owned)
                };
                let read = open.map(|(key, request)| {
                    let key = key.as_plain().expect("digits").to_owned();
                    (key, message(request).expect("a question"))
                });
                Self::Input(read.collect())
            }
            PollStep::Sleep(until) => Self::Idle(Some(until.as_millis())),
            PollStep::Done(result) => {
                let text = result.get("content").and_then(|content| {
                    content.elements().next()?.get("text")?.as_string()?.as_plain()
                });
                let is_error = result.get("isError").and_then(RawJson::as_bool) == Some(true);
                Self::Over(Report::Done(text.expect("a text").to_owned(), is_error))
            }
            PollStep::Failed(error) => {
                let message = error.message().and_then(|message| message.as_plain());
                Self::Over(Report::Failed(error.code(), message.unwrap_or_default().to_owned()))
            }
            PollStep::Cancelled => Self::Over(Report::Cancelled),
            PollStep::Gone(gone) => Self::Over(Report::Gone(gone)),
            PollStep::Invalid(violation) => Self::Over(Report::Invalid(violation)),
            _ => Self::Idle(None),
        }
    }
}

/// What the user says to a question.
fn response(question: &str) -> Value {
    json!({ "action": "accept", "content": { "said": question } })
}

fn with_key(key: &str, then: impl FnOnce(mcp_sansio::JsonStr<'_>)) {
    let json = json!(key).to_string();
    then(RawJson::parse(&json).expect("JSON").as_string().expect("a string"));
}

fn random(script: &Script<'_>) -> u32 {
    u32::from(script.byte()) << 24
}
