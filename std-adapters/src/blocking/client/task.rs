//! Calls that the server runs as tasks.

use std::time::Duration;

use mcp_sansio::types::{TaskParams, TaskStatus, TaskSupport};
use mcp_sansio::{
    CallOptions, CallOutcome, ClientEvent, Connected, Encode, Instant, JsonStr, OwnedJson,
    PollStep, RawJson, RequestHandle, Revision, SendError, ServerFeatures, ServerRequest, methods,
};

use super::application::{Application, ClientTurn};
use super::pending_calls::PendingCall;
use super::{CallId, Client, Error};
use crate::client::{
    FollowedTask, HostedReply, HostedStep, Named, TaskRef, ToolSupport, random, task_id, task_time,
};

/// Tasks. [`wait`](Client::wait) and all calls of tools wait for the end of the tasks that the
/// server makes of them; these functions are for applications that want to know.
impl Client<'_> {
    /// Sends a call of a tool without waiting, which runs as a task where the server allows it:
    /// always with 2025-11-25 if the tool does, and as the server likes with 2026-07-28. `ttl` is
    /// the time for which the server is asked to keep the task (2025-11-25).
    /// The [handler](super::Handler) gets its progress and its status messages as
    /// [`Progress`](ClientEvent::Progress).
    /// [`wait`](Self::wait) returns its result, [`detach`](Self::detach) leaves it to the server,
    /// [`cancel`](Self::cancel) cancels it.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    pub fn call_tool_as_task<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
        ttl: Option<Duration>,
    ) -> Result<CallId, Error> {
        let options = CallOptions::new().progress(true);
        let is_forbidden = self.app.tasks.support.of(name) == Some(TaskSupport::Forbidden);
        let options = match self.app.tasks.has_old && !is_forbidden {
            true => options.task(ttl),
            false => options,
        };
        self.start(methods::TOOLS_CALL, &Named { name, arguments }, options)
    }

    /// Returns the latest known status of the task that the server runs the call as; `None` before
    /// it has said so, and if it does not.
    #[must_use]
    pub fn task_status(&self, call: CallId) -> Option<TaskStatus> {
        self.task(call).map(FollowedTask::status)
    }

    /// Returns the latest message that describes the status.
    #[must_use]
    pub fn task_message(&self, call: CallId) -> Option<&str> {
        self.task(call)?.message()
    }

    /// Leaves the task of a call to the server. Returns what is needed to [resume](Self::resume) it
    /// later, also in another process. Waits until the server has said whether the call is a task;
    /// `None` if it is not: then [`wait`](Self::wait) returns its result.
    ///
    /// After the [end of the connection](Error::Closed) the task of a call can still be detached,
    /// and resumed on the next one.
    ///
    /// # Errors
    /// Errors of the connection, and [`Error::UnknownCall`].
    pub fn detach(&mut self, call: CallId) -> Result<Option<TaskRef>, Error> {
        self.catch_up();
        loop {
            let pending = self.app.calls.get(call).ok_or(Error::UnknownCall)?;
            let is_over = !matches!(pending.result, None | Some(Err(Error::Closed(_))));
            match &pending.task {
                Some(task) if !is_over => {
                    let kept = task.followed.kept().clone();
                    let pending = self.app.calls.forget(call);
                    if let Some(call) = pending.map(|pending| pending.call) {
                        self.send(|core, _, tx| core.cancel_call(call, None, tx))?;
                    }
                    return Ok(Some(kept));
                }
                _ if pending.result.is_some() => return Ok(None),
                _ => self.step(None).map(|_| ())?,
            }
        }
    }

    /// Follows a task that an earlier connection, also of another process, has
    /// [detached](Self::detach), as a call in flight.
    ///
    /// # Errors
    /// [`Error::OtherServer`] if the server has another name, or the connection another revision.
    pub fn resume(&mut self, task: &TaskRef) -> Result<CallId, Error> {
        self.make_room(methods::TASKS_GET)?;
        let server = self.app.tasks.server.as_str();
        let is_same = server.is_empty() || task.server().is_empty() || server == task.server();
        if !is_same || self.revision() != Some(task.revision()) {
            return Err(Error::OtherServer);
        }
        let mut pending =
            PendingTask::new(FollowedTask::resumed(task_time(self.app.now()), task.clone()));
        pending.followed.poll.next(self.app.now());
        pending.asked = Some(Asked::State);
        pending.session = self.app.tasks.sessions;
        let params = TaskParams::new(task.task_id());
        let options = CallOptions::new();
        let sent =
            self.send(|core, now, tx| core.request(now, methods::TASKS_GET, &params, options, tx));
        let options = options.progress(true);
        let id = self.app.add_call(sent, methods::TOOLS_CALL, None, options)?;
        if let Some(call) = self.app.calls.get_mut(id) {
            call.task = Some(Box::new(pending));
        }
        let _ = self.flush();
        Ok(id)
    }

    /// Cancels a task, and waits until the server has acknowledged it. Returns `false` if it has
    /// ended before.
    pub(super) fn cancel_task(&mut self, id: &str) -> Result<bool, Error> {
        match self.request(methods::TASKS_CANCEL, &TaskParams::new(id), CallOptions::new()) {
            // A server that cannot cancel tasks ends them by itself.
            Ok(_) | Err(Error::Unsupported { .. }) => Ok(true),
            Err(Error::Server(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn task(&self, call: CallId) -> Option<&FollowedTask> {
        Some(&self.app.calls.get(call)?.task.as_ref()?.followed)
    }
}

/// Facts about the server that concern tasks.
#[derive(Default)]
pub(super) struct TaskFacts {
    /// Whether it has the tasks of 2025-11-25.
    pub(super) has_old: bool,
    support: ToolSupport,
    /// Name of the server.
    server: String,
    /// Number of the session, over HTTP.
    pub(super) sessions: u32,
}

impl TaskFacts {
    pub(super) fn connected(&mut self, opened: &Connected<'_>) {
        self.has_old = opened.revision == Revision::V2025_11_25
            && opened.capabilities.contains(ServerFeatures::TASKS);
        let name = opened.server_info().and_then(|info| info.get("name"));
        let name = name.and_then(RawJson::as_string).map(|name| name.to_string());
        self.server = name.unwrap_or_default();
    }

    /// Returns the options of a call. A tool that must be called as a task is.
    pub(super) fn options(
        &self,
        method: &str,
        params: Option<&OwnedJson>,
        options: CallOptions,
    ) -> CallOptions {
        if !self.has_old || method != methods::TOOLS_CALL || options.task {
            return options;
        }
        match self.support.of(&tool(params)) {
            Some(TaskSupport::Required) => options.task(None),
            _ => options,
        }
    }
}

/// Returns the name of the tool that is called.
fn tool(params: Option<&OwnedJson>) -> String {
    let name = params.and_then(|params| params.as_raw().get("name")).and_then(RawJson::as_string);
    name.map(|name| name.to_string()).unwrap_or_default()
}

/// A task that a call is run as.
pub(super) struct PendingTask {
    pub(super) followed: FollowedTask,
    /// The request in flight.
    asked: Option<Asked>,
    /// Time at which something is to be done.
    pub(super) due: Option<Instant>,
    /// Number of the session that the task was last seen in.
    session: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    State,
    Result,
    Update,
}

impl PendingTask {
    const fn new(followed: FollowedTask) -> Self {
        Self { followed, asked: None, due: None, session: 0 }
    }
}

impl Application<'_> {
    /// Handles a result that concerns tasks. Returns `false` for all others.
    pub(super) fn handle_task_result(
        &mut self,
        pending: &mut PendingCall,
        outcome: &CallOutcome<'_>,
        turn: &mut ClientTurn<'_>,
    ) -> bool {
        if pending.task.is_some() {
            self.handle_answer(pending, outcome, turn);
            return true;
        }
        match outcome {
            CallOutcome::Task(task) => {
                let revision = turn.parts().0.revision().unwrap_or(Revision::LATEST);
                let (server, tool) = (self.tasks.server.clone(), tool(pending.params.as_ref()));
                let now = task_time(self.now());
                let Some(followed) =
                    FollowedTask::created(now, random(), revision, server, tool, *task)
                else {
                    return false;
                };
                let task =
                    PendingTask { session: self.tasks.sessions, ..PendingTask::new(followed) };
                pending.task = Some(Box::new(task));
                self.next_step(pending, turn);
                true
            }
            CallOutcome::Error(error) if error.code() == -32601 => {
                self.repeat_for_task(pending, turn)
            }
            CallOutcome::Result(page) if self.tasks.has_old => {
                if pending.method == methods::TOOLS_LIST {
                    self.tasks.support.note(*page);
                }
                false
            }
            _ => false,
        }
    }

    /// Sends a call again as a task, or without one: -32601 is how a server says that a tool needs
    /// a task, or may not have one (2025-11-25).
    fn repeat_for_task(&mut self, pending: &mut PendingCall, turn: &mut ClientTurn<'_>) -> bool {
        let is_call = self.tasks.has_old && pending.method == methods::TOOLS_CALL;
        let Some(params) = pending.params.as_ref().filter(|_| is_call && !pending.was_refused)
        else {
            return false;
        };
        let mut options = pending.options;
        options.task = !options.task;
        let sent = self.send(turn, |core, now, tx| {
            core.request(now, methods::TOOLS_CALL, params, options, tx)
        });
        let Ok(call) = sent else { return false };
        (pending.call, pending.options, pending.was_refused) = (call, options, true);
        true
    }

    /// Handles the response to a request about the task.
    fn handle_answer(
        &mut self,
        pending: &mut PendingCall,
        outcome: &CallOutcome<'_>,
        turn: &mut ClientTurn<'_>,
    ) {
        let (now, sessions) = (self.now(), self.tasks.sessions);
        let Some(task) = &mut pending.task else { return };
        if task.session != sessions {
            task.session = sessions;
            task.followed.poll.session_changed();
        }
        let mut report = None;
        match (task.asked.take(), outcome) {
            (Some(Asked::State), CallOutcome::Result(state)) => {
                report = task.followed.note_state(*state);
            }
            (Some(Asked::Update), CallOutcome::Result(_)) => task.followed.acknowledge(),
            _ => {}
        }
        let step = task.followed.poll.on_outcome(now, random(), outcome);
        self.report_status(pending, report);
        self.take_step(pending, step, turn);
    }

    /// Handles a notification about the state of a task.
    pub(super) fn handle_task_state(&mut self, state: RawJson<'_>, turn: &mut ClientTurn<'_>) {
        let Some(id) = state.get("taskId").and_then(RawJson::as_string) else { return };
        let Some((at, mut pending)) = self.calls.take_task(id) else { return };
        let now = self.now();
        if let Some(task) = &mut pending.task {
            let report = task.followed.note_state(state);
            let step = task.followed.poll.on_change(now, random(), state);
            self.report_status(&pending, report);
            self.take_step(&mut pending, step, turn);
        }
        self.calls.put_back(at, pending);
    }

    /// Hands the progress of a task to the handler, as that of its call.
    pub(super) fn handle_task_progress(
        &mut self,
        id: JsonStr<'_>,
        params: RawJson<'_>,
        event: &ClientEvent<'_>,
    ) {
        let Some((at, mut pending)) = self.calls.take_task(id) else {
            return self.report(None, event);
        };
        if let Some(task) = &mut pending.task {
            task.followed.note_progress(params);
        }
        let (about, call) = (pending.id, pending.call);
        self.calls.put_back(at, pending);
        self.report(Some(about), &ClientEvent::Progress { call, params });
    }

    /// Hands a new message about the status to the handler, where it wants progress.
    fn report_status(&mut self, pending: &PendingCall, report: Option<OwnedJson>) {
        if let Some(params) = report.filter(|_| pending.options.progress) {
            let (call, params) = (pending.call, params.as_raw());
            self.report(Some(pending.id), &ClientEvent::Progress { call, params });
        }
    }

    /// Does what is due for tasks.
    pub(super) fn handle_task_timeouts(&mut self, turn: &mut ClientTurn<'_>) {
        while let Some((at, mut pending)) = self.calls.take_due(self.now()) {
            let limit = limit(&pending);
            if limit.is_some_and(|limit| limit <= self.now()) {
                let error = Error::TimedOut { method: pending.method.clone() };
                self.give_up(&mut pending, error, turn);
            } else {
                self.next_step(&mut pending, turn);
            }
            self.calls.put_back(at, pending);
        }
    }

    fn next_step(&mut self, pending: &mut PendingCall, turn: &mut ClientTurn<'_>) {
        let now = self.now();
        if let Some(task) = &mut pending.task {
            let step = task.followed.poll.next(now);
            self.take_step(pending, step, turn);
        }
    }

    fn take_step(
        &mut self,
        pending: &mut PendingCall,
        step: PollStep<'_>,
        turn: &mut ClientTurn<'_>,
    ) {
        let limit = limit(pending);
        let Some(task) = &mut pending.task else { return };
        task.due = [task.followed.poll.expires(), limit].into_iter().flatten().min();
        match step {
            PollStep::Get => self.ask(pending, Asked::State, turn),
            PollStep::Result => self.ask(pending, Asked::Result, turn),
            PollStep::Update => self.ask(pending, Asked::Update, turn),
            PollStep::Input(requests) => match self.answer_task(pending, requests, turn) {
                Ok(()) => self.next_step(pending, turn),
                Err(error) => self.give_up(pending, error, turn),
            },
            PollStep::Sleep(until) => {
                task.due = [Some(until), task.due].into_iter().flatten().min();
            }
            PollStep::Done(result) => self.finish(pending, Ok(result.into()), turn),
            PollStep::Failed(error) => self.finish(pending, Err(Error::Server(error.into())), turn),
            PollStep::Cancelled => self.finish(pending, Err(Error::TaskCancelled), turn),
            PollStep::Gone(why) => self.finish(pending, Err(Error::TaskGone(why)), turn),
            PollStep::Invalid(violation) => {
                let method = pending.method.clone();
                self.give_up(pending, Error::Invalid { method, violation }, turn);
            }
            _ => {}
        }
    }

    fn ask(&mut self, pending: &mut PendingCall, asked: Asked, turn: &mut ClientTurn<'_>) {
        let Some(task) = &mut pending.task else { return };
        let params = TaskParams::new(task.followed.id());
        let options = CallOptions::new();
        let sent = self.send(turn, |core, now, tx| match asked {
            Asked::State => core.request(now, methods::TASKS_GET, &params, options, tx),
            Asked::Result => core.request(now, methods::TASKS_RESULT, &params, options, tx),
            Asked::Update => {
                let params = task.followed.update();
                core.request(now, methods::TASKS_UPDATE, &params, options, tx)
            }
        });
        match sent {
            Ok(call) => (pending.call, task.asked) = (call, Some(asked)),
            // The table of calls is full: as if there were no response.
            Err(SendError::TooManyCalls | SendError::Full) => {
                let now = self.now();
                let step = task.followed.poll.on_outcome(now, random(), &CallOutcome::TimedOut);
                self.take_step(pending, step, turn);
            }
            Err(error) => pending.result = Some(Err(error.into())),
        }
    }

    /// Calls the handler for the input requests that are new.
    fn answer_task(
        &mut self,
        pending: &mut PendingCall,
        requests: RawJson<'_>,
        turn: &mut ClientTurn<'_>,
    ) -> Result<(), Error> {
        let Some(mut task) = pending.task.take() else { return Ok(()) };
        let poll = &task.followed.poll;
        let new = requests.members().filter(|(key, _)| !poll.is_answered(*key));
        let new = new.map(|(key, request)| (key, request.to()));
        let responses = self.find_input(pending, new, requests, turn);
        let answered = responses.map(|responses| task.followed.answer(responses));
        pending.task = Some(task);
        answered
    }

    /// Ends a call whose task goes on, by cancelling that.
    fn give_up(&mut self, pending: &mut PendingCall, error: Error, turn: &mut ClientTurn<'_>) {
        if let Some(task) = &pending.task {
            let (params, options) = (TaskParams::new(task.followed.id()), CallOptions::new());
            // Without room the server ends it when its time is over.
            let _ = self.send(turn, |core, now, tx| {
                core.request(now, methods::TASKS_CANCEL, &params, options, tx)
            });
        }
        self.finish(pending, Err(error), turn);
    }

    fn finish(
        &mut self,
        pending: &mut PendingCall,
        result: super::CallResult,
        turn: &mut ClientTurn<'_>,
    ) {
        let is_asked = pending.task.as_mut().and_then(|task| task.asked.take()).is_some();
        if is_asked {
            // A notification was faster than the response.
            let call = pending.call;
            let _ = self.send(turn, |core, _, tx| core.cancel_call(call, None, tx));
        }
        pending.result = Some(result);
    }
}

/// Requests of the server that run as tasks (2025-11-25), and requests about them. The handler
/// responds while the server may already ask for the task, so no task is ever cancelled or waited
/// for.
impl Application<'_> {
    /// Returns `false` for a request that has nothing to do with tasks.
    pub(super) fn handle_hosted(
        &mut self,
        request: &ServerRequest<'_>,
        turn: &mut ClientTurn<'_>,
    ) -> bool {
        let (now, handle) = (task_time(self.now()), request.handle);
        while self.hosted.expire(now).is_some() {}
        match self.hosted.handle(now, request) {
            Some(HostedStep::Respond(reply) | HostedStep::Cancel(_, reply)) => {
                self.send_hosted(handle, &reply, turn);
            }
            Some(HostedStep::Wait) => {}
            None => {
                let (Some(task), Ok(input)) = (&request.task, request.input_request()) else {
                    return false;
                };
                let key = match self.hosted.create(now, task_id(), task.ttl) {
                    Ok((key, reply)) => {
                        self.send_hosted(handle, &reply, turn);
                        key
                    }
                    Err(error) => {
                        let error = error.as_error();
                        let _ =
                            self.send(turn, |core, _, tx| core.respond_error(handle, &error, tx));
                        return true;
                    }
                };
                let response = self.call_handler(None, input, turn);
                let outcome = response.map_err(|refusal| refusal.as_error().into());
                let now = task_time(self.now());
                for (handle, reply) in self.hosted.end(now, key, outcome) {
                    self.send_hosted(handle, &reply, turn);
                }
            }
        }
        true
    }

    fn send_hosted(
        &mut self,
        handle: RequestHandle,
        reply: &HostedReply,
        turn: &mut ClientTurn<'_>,
    ) {
        // An error means that the request is over.
        let _ = self.send(turn, |core, _, tx| reply.send(core, handle, tx));
    }
}

/// Returns the time at which a call with a limit of its own ends.
fn limit(pending: &PendingCall) -> Option<Instant> {
    pending.options.limit.map(|limit| pending.started.saturating_add(limit))
}
