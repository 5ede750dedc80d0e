//! Tasks of a server: results that create one, notifications about it, and the way to its end.

use core::time::Duration;

use super::call::{InputRequired, NewCall};
use super::event::{CallOptions, CallOutcome, ClientEvent};
use super::{Client, Connection};
use crate::json::{JsonStr, RawJson, hash_text};
use crate::message::{Id, Params};
use crate::protocol::error::{NotAllowed, Violation};
use crate::protocol::{ClientFeatures, Method, Revision, ServerFeatures, methods};
use crate::rpc::PeerError;
use crate::time::Instant;
use crate::types::meta::RELATED_TASK;
use crate::types::task::wanted_ttl;
use crate::types::{Task, TaskMetadata, TaskStatus};

/// Whether the result of a call may be a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TaskResult {
    Never,
    /// The server decides (2026-07-28).
    Optional,
    /// The client asked for a task (2025-11-25).
    Always,
    /// The result is the state of a task, to which servers before the released text of 2026-07-28
    /// give the type `task`, too.
    State,
}

/// Returns the rule that forbids to ask for a task.
pub(super) fn broken_rule(new: &NewCall<'_>, session: Connection) -> Option<NotAllowed> {
    if !new.options.task || session.revision.is_modern() {
        None
    } else if new.method != methods::TOOLS_CALL {
        Some(NotAllowed::Method)
    } else if session.revision != Revision::V2025_11_25 {
        Some(NotAllowed::Revision)
    } else {
        let declared = session.capabilities.unwrap_or_default();
        (!declared.contains(ServerFeatures::TASKS)).then_some(NotAllowed::Capability)
    }
}

/// Returns the member `task` of the parameters.
pub(super) fn metadata(options: &CallOptions, revision: Revision) -> Option<TaskMetadata> {
    if !options.task || revision != Revision::V2025_11_25 {
        return None;
    }
    let ttl = options.task_ttl.map(millis);
    Some(ttl.map_or(TaskMetadata::new(), |ttl| TaskMetadata::new().ttl(ttl)))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Client<'_> {
    pub(super) fn task_result(&self, new: &NewCall<'_>) -> TaskResult {
        let is_modern = new.revision.is_modern();
        let declared = self.config.capabilities.contains(ClientFeatures::TASKS);
        match new.method {
            methods::TOOLS_CALL if is_modern && declared => TaskResult::Optional,
            methods::TOOLS_CALL if !is_modern && new.options.task => TaskResult::Always,
            methods::TASKS_GET if is_modern => TaskResult::State,
            _ => TaskResult::Never,
        }
    }

    /// Classifies the results that a task makes different from others.
    pub(super) fn classify_task<'f>(
        &self,
        expected: TaskResult,
        result: RawJson<'f>,
    ) -> Option<CallOutcome<'f>> {
        let kind = || result.get("resultType").and_then(RawJson::as_string);
        let is_task = || kind().is_some_and(|kind| kind == "task");
        let task = match expected {
            TaskResult::Optional if is_task() => Some(result),
            TaskResult::Always => result.get("task"),
            // Requests in it are treated like others of the server.
            TaskResult::State if !self.allows_input(result) => {
                return Some(CallOutcome::Invalid(Violation::InputNotAllowed));
            }
            TaskResult::State if is_task() => return Some(CallOutcome::Result(result)),
            _ => return None,
        };
        Some(match task.filter(|task| task.to::<Task<'_>>().is_ok()) {
            Some(task) => CallOutcome::Task(task),
            None => CallOutcome::Invalid(Violation::InvalidResult),
        })
    }

    /// Returns the task that the late result of a call has created.
    pub(super) fn unexpected_task<'f>(
        &self,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
    ) -> Option<ClientEvent<'f>> {
        let is_modern = self.current_revision().is_modern();
        let expected = if is_modern { TaskResult::Optional } else { TaskResult::Always };
        match self.classify_task(expected, outcome.ok()?)? {
            CallOutcome::Task(task) => Some(ClientEvent::UnexpectedTask(task)),
            _ => None,
        }
    }

    /// Whether the client declared the capabilities that the input requests of a task need.
    fn allows_input(&self, task: RawJson<'_>) -> bool {
        let needs = InputRequired::new(task, 0).required_features();
        needs.is_some_and(|needs| self.declared().contains(needs))
    }

    /// Returns the task of `notifications/tasks/status` (2025-11-25) or `notifications/tasks`
    /// (2026-07-28).
    pub(super) fn task_notification<'f>(
        &self,
        method: JsonStr<'f>,
        params: &Params<'f>,
    ) -> Option<RawJson<'f>> {
        let name = match self.revision()? {
            Revision::V2025_11_25 => "notifications/tasks/status",
            revision if revision.is_modern() => "notifications/tasks",
            _ => return None,
        };
        let task = params.given().filter(|_| method == *name)?;
        if !self.allows_input(task) {
            return None;
        }
        task.to::<Task<'_>>().is_ok().then_some(task)
    }

    /// Handles progress whose call has created a task: 2025-11-25 keeps the token until the task
    /// ends. Without the id of a task the notification is late.
    pub(super) fn task_progress<'f>(
        &self,
        token: Id<'f>,
        params: &Params<'f>,
    ) -> Option<ClientEvent<'f>> {
        let is_ours = token.as_u32().is_some_and(|token| token <= self.peer.calls_made);
        if !is_ours || self.revision() != Some(Revision::V2025_11_25) {
            return None;
        }
        let task_id = params.meta()?.get(RELATED_TASK)?.get("taskId")?.as_string()?;
        Some(ClientEvent::TaskProgress { task_id, params: params.as_json() })
    }
}

/// Tasks that the client runs for its server (2025-11-25).
impl Client<'_> {
    /// Returns the method as that of a request to the client, if the client has declared it.
    pub(super) fn task_method_served(&self, method: Method<'_>) -> Option<JsonStr<'static>> {
        use ClientFeatures as C;
        let declared = self.declared();
        let has_tasks =
            declared.contains(C::TASKS_SAMPLING) || declared.contains(C::TASKS_ELICITATION);
        let (name, is_declared) = match method {
            Method::TasksGet => ("\"tasks/get\"", has_tasks),
            Method::TasksResult => ("\"tasks/result\"", has_tasks),
            Method::TasksList => ("\"tasks/list\"", has_tasks && declared.contains(C::TASKS_LIST)),
            Method::TasksCancel => {
                ("\"tasks/cancel\"", has_tasks && declared.contains(C::TASKS_CANCEL))
            }
            _ => return None,
        };
        (is_declared && self.is_open()).then(|| JsonStr::from_static(name))
    }

    /// Returns the task that a request asks for, or what is wrong with it. A client that did not
    /// declare such tasks ignores the wish.
    pub(super) fn wanted_task(
        &self,
        method: JsonStr<'_>,
        params: &Params<'_>,
    ) -> Result<Option<TaskMetadata>, &'static str> {
        let needed = if method == "sampling/createMessage" {
            ClientFeatures::TASKS_SAMPLING
        } else if method == "elicitation/create" {
            ClientFeatures::TASKS_ELICITATION
        } else {
            return Ok(None);
        };
        let task = params.get("task").filter(|_| self.declared().contains(needed));
        task.map(|task| Ok(TaskMetadata { ttl: wanted_ttl(task)? })).transpose()
    }
}

/// Says what a client does next about a task of its server, until the task ends. It does no I/O and
/// allocates nothing: it is told outcomes of calls, notifications and the time.
///
/// ```text
/// call ends with CallOutcome::Task     TaskPoll::new, then next
/// step Get, Result or Update           send the request; its outcome goes to on_outcome
/// step Input                           handle the input requests, answered for each key, next
/// step Sleep(until)                    next at that time
/// Changed::Task of this task           on_change
/// ```
///
/// A client of 2025-11-25 asks for the state until the task ends or needs input, then for the
/// result, which blocks until there is one; the input requests come as requests of the server. A
/// client of 2026-07-28 gets input requests and the result with the state.
///
/// The time between two requests for the state is the latest that the server suggested, at least
/// [`MIN_INTERVAL`](Self::MIN_INTERVAL); without a suggestion, and while requests fail, one second
/// at first, growing to [`MAX_PAUSE`](Self::MAX_PAUSE). Up to an eighth is added at random. Failed
/// connections do not end the wait; the end of the task's time does, counted by the own clock from
/// the answer that created the task.
///
/// `K` is the number of input requests that a task may have at once (2026-07-28). As many answered
/// keys are kept. Memory: 16 bytes for each of `K`, and about 100 more.
#[derive(Clone, Debug)]
pub struct TaskPoll<const K: usize = 16> {
    is_modern: bool,
    status: TaskStatus,
    /// The request in flight.
    asked: Asked,
    /// Suggestion of the server.
    interval: Option<Duration>,
    /// The next pause without a suggestion.
    pause: Duration,
    next_at: Instant,
    /// Time of the first answer of this connection, and the age of the task then.
    since: Instant,
    age: Duration,
    expires: Instant,
    /// Whether a subscription tells about the task.
    is_listening: bool,
    /// Whether the latest request failed.
    is_faulty: bool,
    /// Whether the latest state of the task makes a request for the result worthwhile (2025-11-25).
    is_result_due: bool,
    /// Whether there are responses to be sent.
    is_update_due: bool,
    is_new_session: bool,
    /// Error responses in a row.
    errors: u8,
    /// Error responses to requests for the result.
    result_errors: u8,
    keys: [AnsweredKey; K],
    states: u32,
}

/// The key of an input request that has a response.
#[derive(Clone, Copy, Debug)]
struct AnsweredKey {
    /// Zero where empty.
    hash: u64,
    /// Number of the latest state that had the key.
    seen: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Nothing,
    State,
    Result,
    Update,
}

/// The next step with a task: a request to send, inputs to answer, or a wait.
#[derive(Clone, Copy, Debug)]
pub enum PollStep<'f> {
    /// Send `tasks/get`.
    Get,
    /// Send `tasks/result`, without a timeout (2025-11-25).
    Result,
    /// Handle these [`InputRequests`](crate::types::InputRequests), except those whose keys
    /// [are answered](TaskPoll::is_answered), as if they were requests of their own; then tell
    /// [`answered`](TaskPoll::answered) each key (2026-07-28). [`next`](TaskPoll::next) can be
    /// called meanwhile, and may say this again.
    Input(RawJson<'f>),
    /// Send `tasks/update` with the responses that the server has not acknowledged: those of the
    /// latest [`Input`](Self::Input) (2026-07-28).
    Update,
    /// Do nothing until this time.
    Sleep(Instant),
    /// Do nothing until the request in flight has an outcome.
    Wait,
    /// The task has this result, that of the original request.
    Done(RawJson<'f>),
    /// The task has failed with this error.
    Failed(PeerError<'f>),
    /// The task was cancelled.
    Cancelled,
    /// The server does not have the task any more.
    Gone(TaskGone),
    /// The response of the server is invalid.
    Invalid(Violation),
}

/// The reason why a task is gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TaskGone {
    /// The server does not know its id (any more).
    Unknown,
    /// The server has begun a new session, in which it does not know the id.
    NewSession,
    /// The server does not support tasks any more.
    Unsupported,
    /// The time for which the server keeps the task is over.
    Expired,
}

impl core::fmt::Display for TaskGone {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the server does not know the task",
            Self::NewSession => "the server does not know the task in its new session",
            Self::Unsupported => "the server does not support tasks any more",
            Self::Expired => "the time of the task is over",
        })
    }
}

impl core::error::Error for TaskGone {}

impl<const K: usize> TaskPoll<K> {
    /// The minimum time between two requests for the state.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(100);
    /// The maximum of a suggested time between two requests for the state.
    pub const MAX_INTERVAL: Duration = Duration::from_secs(3600);
    /// The maximum time between two requests where the server suggests none, or does not respond.
    pub const MAX_PAUSE: Duration = Duration::from_secs(30);
    /// Error responses in a row with which the task counts as failed.
    pub const MAX_ERRORS: u8 = 8;

    /// Follows a task that was just created: [`CallOutcome::Task`]. `random` is a random number,
    /// here and below.
    pub fn new(now: Instant, random: u32, revision: Revision, task: &Task<'_>) -> Self {
        let mut poll = Self::resume(now, revision, Duration::ZERO);
        poll.take(task);
        if task.status == TaskStatus::Working {
            poll.sleep(now, random);
        }
        poll
    }

    /// Follows a task of an earlier connection, which was created this time ago. Tell
    /// [`restore`](Self::restore) the keys that were answered.
    pub fn resume(now: Instant, revision: Revision, age: Duration) -> Self {
        Self {
            is_modern: revision.is_modern(),
            status: TaskStatus::Working,
            asked: Asked::Nothing,
            interval: None,
            pause: FIRST_PAUSE,
            next_at: now,
            since: now,
            age,
            expires: Instant::NEVER,
            is_listening: false,
            is_faulty: false,
            is_result_due: false,
            is_update_due: false,
            is_new_session: false,
            errors: 0,
            result_errors: 0,
            keys: [AnsweredKey { hash: 0, seen: 0 }; K],
            states: 0,
        }
    }

    /// Returns the latest known state.
    pub const fn status(&self) -> TaskStatus {
        self.status
    }

    /// Returns the time at which the task is gone; `None`: never.
    pub fn expires(&self) -> Option<Instant> {
        self.expires.or_none()
    }

    /// Sets whether a subscription to the task is open: then the client asks a quarter as often.
    pub const fn set_listening(&mut self, is_listening: bool) {
        self.is_listening = is_listening;
    }

    /// Notes that the server has begun a new session (2025-11-25, HTTP), which may hide the task.
    pub const fn session_changed(&mut self) {
        self.is_new_session = true;
    }

    /// Whether the input request with this key has a response.
    pub fn is_answered(&self, key: JsonStr<'_>) -> bool {
        let hash = hash_of(key);
        self.keys.iter().any(|known| known.hash == hash)
    }

    /// Notes that the input request with this key has a response, to be sent with the next
    /// [`Update`](PollStep::Update).
    pub fn answered(&mut self, key: JsonStr<'_>) {
        self.restore(key);
        self.is_update_due = true;
        self.pause = FIRST_PAUSE;
        self.next_at = Instant::from_millis(0);
    }

    /// Notes that the server has acknowledged the response with this key, before
    /// [`resume`](Self::resume).
    pub fn restore(&mut self, key: JsonStr<'_>) {
        let hash = hash_of(key);
        if self.is_answered(key) {
            return;
        }
        // In place of one that the server has not shown for the longest time.
        if let Some(place) = self.keys.iter_mut().min_by_key(|known| (known.hash != 0, known.seen))
        {
            *place = AnsweredKey { hash, seen: self.states };
        }
    }

    /// Returns the next step, at any time.
    pub fn next(&mut self, now: Instant) -> PollStep<'static> {
        if now >= self.expires {
            return PollStep::Gone(TaskGone::Expired);
        }
        if self.asked != Asked::Nothing {
            return PollStep::Wait;
        }
        if !self.is_modern && self.status == TaskStatus::Cancelled {
            return PollStep::Cancelled;
        }
        if self.is_result_due {
            self.asked = Asked::Result;
            return PollStep::Result;
        }
        if now < self.next_at {
            return PollStep::Sleep(self.next_at.min(self.expires));
        }
        if self.is_update_due {
            // There may be more responses before the acknowledgement of these.
            self.is_update_due = false;
            self.asked = Asked::Update;
            return PollStep::Update;
        }
        self.asked = Asked::State;
        PollStep::Get
    }

    /// Takes the outcome of the request that the latest step said to send, and returns the next
    /// step.
    pub fn on_outcome<'f>(
        &mut self,
        now: Instant,
        random: u32,
        outcome: &CallOutcome<'f>,
    ) -> PollStep<'f> {
        let asked = core::mem::replace(&mut self.asked, Asked::Nothing);
        self.is_update_due |= asked == Asked::Update && outcome.result().is_none();
        match outcome {
            CallOutcome::Result(result) => {
                self.is_faulty = false;
                self.is_new_session = false;
                match asked {
                    Asked::Result => return PollStep::Done(*result),
                    Asked::State => {
                        self.errors = 0;
                        let step = self.on_state(now, random, *result);
                        if self.is_update_due && matches!(step, PollStep::Sleep(_)) {
                            self.next_at = now;
                            return self.next(now);
                        }
                        return step;
                    }
                    Asked::Update => {
                        self.errors = 0;
                        self.pause = FIRST_PAUSE;
                        if self.is_update_due {
                            return self.next(now);
                        }
                    }
                    Asked::Nothing => {}
                }
                self.sleep(now, random)
            }
            CallOutcome::Error(error) => self.on_error(now, random, asked, *error),
            CallOutcome::Invalid(violation) => PollStep::Invalid(*violation),
            _ => self.on_fault(now, random),
        }
    }

    /// Takes a notification about the task ([`Changed::Task`](super::Changed::Task)), and returns
    /// the next step. After a step that ends the wait, the request in flight is of no use.
    pub fn on_change<'f>(&mut self, now: Instant, random: u32, task: RawJson<'f>) -> PollStep<'f> {
        let (pause, next_at) = (self.pause, self.next_at);
        match self.on_state(now, random, task) {
            // The next request is not postponed, and only the end of the task ends the wait.
            PollStep::Invalid(_) | PollStep::Sleep(_) => {
                (self.pause, self.next_at) = (pause, next_at);
                self.next(now)
            }
            step => step,
        }
    }

    /// Takes the state of the task.
    fn on_state<'f>(&mut self, now: Instant, random: u32, state: RawJson<'f>) -> PollStep<'f> {
        let Ok(task) = state.to::<Task<'_>>() else {
            return PollStep::Invalid(Violation::InvalidResult);
        };
        self.take(&task);
        match task.status {
            TaskStatus::Working => self.sleep(now, random),
            TaskStatus::Cancelled => PollStep::Cancelled,
            _ if !self.is_modern => self.next(now),
            TaskStatus::InputRequired => self.on_input(now, random, task.input_requests),
            TaskStatus::Completed => match task.result {
                Some(result) => PollStep::Done(result),
                None => PollStep::Invalid(Violation::InvalidResult),
            },
            TaskStatus::Failed => {
                PollStep::Failed(PeerError::new(task.error.unwrap_or(UNKNOWN_ERROR)))
            }
        }
    }

    fn on_input<'f>(
        &mut self,
        now: Instant,
        random: u32,
        requests: Option<RawJson<'f>>,
    ) -> PollStep<'f> {
        self.states = self.states.wrapping_add(1);
        let (mut number, mut is_any) = (0, false);
        let requests = requests.unwrap_or(RawJson::EMPTY);
        for (key, _) in requests.members() {
            number += 1;
            let hash = hash_of(key);
            match self.keys.iter_mut().find(|known| known.hash == hash) {
                Some(known) => known.seen = self.states,
                None => is_any = true,
            }
        }
        if number > K {
            return PollStep::Invalid(Violation::TooManyRounds);
        }
        // One update at a time.
        let asks = is_any && !self.is_update_due && self.asked != Asked::Update;
        let sleep = self.sleep(now, random);
        if asks { PollStep::Input(requests) } else { sleep }
    }

    fn on_error<'f>(
        &mut self,
        now: Instant,
        random: u32,
        asked: Asked,
        error: PeerError<'f>,
    ) -> PollStep<'f> {
        if asked == Asked::Result {
            self.result_errors = self.result_errors.saturating_add(1);
            if self.status == TaskStatus::Failed || self.result_errors >= Self::MAX_ERRORS {
                return PollStep::Failed(error);
            }
            // Of the task, or of the request for its result: the state says which.
            if self.result_errors > 1 {
                return self.on_fault(now, random);
            }
            self.is_result_due = false;
            self.next_at = now;
            return self.next(now);
        }
        match error.code() {
            -32602 if self.is_new_session => PollStep::Gone(TaskGone::NewSession),
            -32602 => PollStep::Gone(TaskGone::Unknown),
            -32601 => PollStep::Gone(TaskGone::Unsupported),
            _ => {
                self.errors = self.errors.saturating_add(1);
                if self.errors >= Self::MAX_ERRORS {
                    return PollStep::Failed(error);
                }
                self.on_fault(now, random)
            }
        }
    }

    fn on_fault(&mut self, now: Instant, random: u32) -> PollStep<'static> {
        self.is_faulty = true;
        self.is_result_due = false;
        self.sleep(now, random)
    }

    /// Takes the state, the interval and the time limit of the task.
    fn take(&mut self, task: &Task<'_>) {
        if self.status != task.status {
            self.pause = FIRST_PAUSE;
        }
        self.status = task.status;
        let interval = task.poll_interval_ms.map(Duration::from_millis);
        self.interval =
            interval.map(|interval| interval.clamp(Self::MIN_INTERVAL, Self::MAX_INTERVAL));
        self.expires = match task.ttl_ms {
            Some(ttl) => {
                self.since.saturating_add(Duration::from_millis(ttl).saturating_sub(self.age))
            }
            None => Instant::NEVER,
        };
        let is_quiet = matches!(task.status, TaskStatus::Working | TaskStatus::Cancelled);
        self.is_result_due = !self.is_modern && !is_quiet;
    }

    fn sleep(&mut self, now: Instant, random: u32) -> PollStep<'static> {
        let mut pause = match self.interval {
            Some(interval) if !self.is_faulty => interval,
            interval => {
                let pause = self.pause;
                self.pause = pause.saturating_add(pause / 2).min(Self::MAX_PAUSE);
                pause.max(interval.unwrap_or_default())
            }
        };
        if self.is_listening {
            pause = pause.saturating_mul(4);
        }
        let most = u64::try_from(pause.as_millis() / 8).unwrap_or(u64::MAX);
        let jitter = (most.saturating_mul(u64::from(random))) >> 32;
        self.next_at = now.saturating_add(pause).saturating_add(Duration::from_millis(jitter));
        PollStep::Sleep(self.next_at.min(self.expires))
    }
}

/// Returns the hash of a key, which is not zero.
fn hash_of(key: JsonStr<'_>) -> u64 {
    hash_text(key).max(1)
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The error of a failed task that has none.
const UNKNOWN_ERROR: RawJson<'static> =
    RawJson::from_static(r#"{"code":-32603,"message":"The task failed without an error"}"#);
