//! The handling of the core's events: outcomes of calls, steps of tasks, questions, and the end of
//! times.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mcp_sansio::tasks::{TaskId, TaskKey};
use mcp_sansio::types::{InputRequest, SetLevelParams, TaskStatus, TaskSupport};
use mcp_sansio::{
    CallOutcome, Changed, ClientEvent, Connected, Instant, JsonStr, OwnedJson, PollStep, RawJson,
    RequestHandle, Revision, RpcError, ServerFeatures, ServerRequest, Violation, methods,
};

use super::calls::{Asked, Inputs, Pending};
use super::{
    CallId, ConnectState, Driver, InputId, Purpose, Question, State, Turn, Unsent, Waiting,
    task_time, tool,
};
use crate::errors::{CallError, InputRefusal, InputResponse};
use crate::tasks::{FollowedTask, MAX_TASK_INPUTS, TaskResponses, ToolSupport, of_task};

impl<D: Driver> Turn<'_, D> {
    pub(super) fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        if let Some(middleware) = self.driver.middleware() {
            middleware.event(now, event);
        }
        let about = match event {
            ClientEvent::Connected(connected) => return self.connected(now, connected),
            ClientEvent::ConnectFailed(error) => {
                return self.set_connect_state(ConnectState::Failed((*error).into()));
            }
            ClientEvent::CallFinished { call, outcome } => {
                let Some(pending) = self.state.calls.of(*call) else {
                    // Its cancellation waits for room.
                    if let CallOutcome::Task(task) = outcome {
                        self.cancel_task(*task);
                    }
                    return;
                };
                pending.is_in_flight = false;
                let id = pending.id;
                return self.outcome(now, id, outcome);
            }
            ClientEvent::UnexpectedTask(task) => return self.cancel_task(*task),
            ClientEvent::Request(request) => return self.request(now, request),
            ClientEvent::TaskProgress { task_id, params } => {
                return self.task_progress(*task_id, *params, event);
            }
            ClientEvent::RequestCancelled { request, .. }
            | ClientEvent::RequestTimedOut { request } => {
                self.withdraw_request(*request);
                None
            }
            ClientEvent::Progress { call, .. } => Some(*call),
            ClientEvent::Listening { call, filter } => {
                if let Some(pending) = self.state.calls.of(*call) {
                    pending.acknowledged = Some((*filter).into());
                    self.driver.updated(pending.id);
                }
                Some(*call)
            }
            ClientEvent::Changed { listen, what } => {
                match what {
                    Changed::Task(state) => self.task_state(now, *state),
                    Changed::Tools => self.state.support = ToolSupport::default(),
                    _ => {}
                }
                if listen.is_none() {
                    self.changed(*what, event);
                }
                *listen
            }
            ClientEvent::Unresponsive => {
                self.state.is_unresponsive = true;
                None
            }
            _ => None,
        };
        let about = about.and_then(|call| self.state.calls.of(call)).map(|pending| pending.id);
        self.driver.event(about, event);
    }

    fn connected(&mut self, now: Instant, connected: &Connected<'_>) {
        self.state.has_old_tasks = connected.revision == Revision::V2025_11_25
            && connected.capabilities.contains(ServerFeatures::TASKS);
        self.state.support = ToolSupport::default();
        let name = connected.server_info().and_then(|info| info.get("name"));
        let name = name.and_then(RawJson::as_string).map(|name| name.to_string());
        self.state.server = name.unwrap_or_default();
        self.state.connect_result = Some(connected.result.into());
        self.opened(now, connected.revision);
    }

    /// Ends the calls that wait for this.
    pub(super) fn set_connect_state(&mut self, state: ConnectState) {
        let result = match state {
            ConnectState::Connected => Ok(RawJson::EMPTY.into()),
            _ => Err(CallError::Closed),
        };
        self.state.connect_state = state;
        let waits = |it: &&Pending| it.asked == Asked::Nothing && !it.is_listen();
        let waiting: Vec<CallId> = self.state.calls.iter().filter(waits).map(|it| it.id).collect();
        waiting.into_iter().for_each(|id| self.finish(id, result.clone()));
    }

    /// Lets a call wait for nothing any more: neither for a response, about which the server gets
    /// this reason, nor for answers. Returns whether a request was in flight.
    pub(super) fn stop(&mut self, id: CallId, reason: Option<&str>) -> bool {
        // The rest of its frame will not come.
        self.state.is_cut_off |=
            self.state.is_first(id) && core::mem::take(&mut self.state.is_begun);
        self.state.calls.set_due(id, None);
        let Some(pending) = self.state.calls.open_mut(id) else { return false };
        self.state.new_calls -= usize::from(pending.is_new());
        let was_in_flight = core::mem::take(&mut pending.is_in_flight);
        if was_in_flight {
            // A cancellation, a notification, or the end of its time was faster than the response.
            let cancel = |call| Unsent::Cancel(call, reason.map(String::from));
            self.state.unsent.extend(pending.call.map(cancel));
        }
        let inputs = pending.inputs.take();
        self.withdraw(inputs.into_iter().flat_map(|inputs| inputs.open));
        was_in_flight
    }

    /// Ends a call, of which no middleware is told.
    pub(super) fn close(&mut self, id: CallId, result: Result<OwnedJson, CallError>) {
        let was_in_flight = self.stop(id, None);
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        let owner = pending.owner;
        pending.result = Some(result);
        self.driver.updated(id);
        if !was_in_flight {
            self.state.leave_queue();
        }
        if let Some(owner) = owner {
            self.subscribed(id, owner);
        }
    }

    /// Removes a call.
    pub(super) fn forget(&mut self, id: CallId, reason: Option<&str>) -> Option<Pending> {
        let was_in_flight = self.stop(id, reason);
        let pending = self.state.calls.remove(id)?;
        if pending.result.is_none() && !was_in_flight {
            self.state.leave_queue();
        }
        Some(pending)
    }

    pub(super) fn withdraw(&mut self, open: impl IntoIterator<Item = (String, InputId)>) {
        for (_, input) in open {
            self.state.inputs.retain(|(other, _)| *other != input);
            self.driver.withdrawn(input);
        }
    }

    fn outcome(&mut self, now: Instant, id: CallId, outcome: &CallOutcome<'_>) {
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        if let Some(task) = &mut pending.task {
            let report = match (pending.asked, outcome) {
                (Asked::State, CallOutcome::Result(state)) => task.note_state(*state),
                (Asked::Update, CallOutcome::Result(_)) => {
                    task.acknowledge();
                    None
                }
                _ => None,
            };
            let step = task.poll.on_outcome(now, self.driver.random(), outcome);
            self.report_status(id, report);
            return self.take_step(now, id, step);
        }
        let result = match outcome {
            CallOutcome::Result(result) => {
                if self.state.has_old_tasks && pending.method == methods::TOOLS_LIST {
                    self.state.support.note(*result);
                }
                if pending.method == methods::LOGGING_SET_LEVEL {
                    let params = pending.params.as_ref().and_then(|json| json.to().ok());
                    self.state.log_level = params.map(|it: SetLevelParams<'_>| it.level);
                }
                Ok((*result).into())
            }
            CallOutcome::InputRequired(input) => {
                if let Some(attempt) = &mut pending.attempt {
                    attempt.had_input = true;
                }
                let inputs = pending.inputs.insert(Inputs::default().into());
                inputs.round = Some((input.as_json().into(), input.round()));
                let requests = input.raw_requests().unwrap_or(RawJson::EMPTY);
                return self.ask(now, id, requests);
            }
            CallOutcome::Task(task) => {
                let (server, tool) = (self.state.server.clone(), tool(pending.params.as_ref()));
                let (now, random) = (task_time(self.driver, now), self.driver.random());
                match FollowedTask::created(now, random, self.state.revision, server, tool, *task) {
                    Some(followed) => {
                        pending.task = Some(followed.into());
                        self.driver.updated(id);
                        return self.next_step(now.now, id);
                    }
                    None => Err(CallError::Invalid(Violation::InvalidResult)),
                }
            }
            // A server says so that a tool needs a task, or may not have one (2025-11-25). Its list
            // of tools has precedence.
            CallOutcome::Error(error)
                if error.code() == METHOD_NOT_FOUND
                    && self.state.has_old_tasks
                    && pending.method == methods::TOOLS_CALL
                    && pending.params.is_some()
                    && !pending.was_refused
                    && self.state.support.of(&tool(pending.params.as_ref()))
                        != Some(match pending.options.task {
                            true => TaskSupport::Required,
                            false => TaskSupport::Forbidden,
                        }) =>
            {
                (pending.was_refused, pending.options.task) = (true, !pending.options.task);
                return self.state.repeat(now, id);
            }
            CallOutcome::Error(error) => Err(CallError::Server((*error).into())),
            CallOutcome::EndedByServer => Ok(RawJson::EMPTY.into()),
            CallOutcome::Invalid(violation) => Err(CallError::Invalid(*violation)),
            CallOutcome::TimedOut => Err(CallError::TimedOut),
            #[cfg(feature = "http")]
            CallOutcome::Http(failure) => Err(CallError::Http((*failure).into())),
            _ => Err(CallError::Closed),
        };
        self.finish_or_repeat(now, id, result);
    }

    // Tasks of the server.

    fn task_progress(&mut self, task: JsonStr<'_>, params: RawJson<'_>, event: &ClientEvent<'_>) {
        let Some(pending) = self.state.calls.of_task(task) else {
            return self.driver.event(None, event);
        };
        if let Some(task) = &mut pending.task {
            task.note_progress(params);
        }
        if let Some(call) = pending.call {
            self.driver.event(Some(pending.id), &ClientEvent::Progress { call, params });
        }
    }

    fn task_state(&mut self, now: Instant, state: RawJson<'_>) {
        let Some(id) = state.get("taskId").and_then(RawJson::as_string) else { return };
        let Some(pending) = self.state.calls.of_task(id) else { return };
        let (id, Some(task)) = (pending.id, &mut pending.task) else { return };
        let report = task.note_state(state);
        let step = task.poll.on_change(now, self.driver.random(), state);
        self.report_status(id, report);
        self.take_step(now, id, step);
    }

    /// Hands a new message about the status to the application, where it wants progress.
    fn report_status(&mut self, id: CallId, report: Option<OwnedJson>) {
        let Some(pending) = self.state.calls.get(id).filter(|pending| pending.options.progress)
        else {
            return;
        };
        if let (Some(call), Some(params)) = (pending.call, report) {
            self.driver.event(Some(id), &ClientEvent::Progress { call, params: params.as_json() });
        }
    }

    fn next_step(&mut self, now: Instant, id: CallId) {
        if let Some(task) = self.state.calls.open_mut(id).and_then(|pending| pending.task.as_mut())
        {
            let step = task.poll.next(now);
            self.take_step(now, id, step);
        }
    }

    fn take_step(&mut self, now: Instant, id: CallId, step: PollStep<'_>) {
        let stands_still = self.state.stands_still();
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        let Some(task) = &pending.task else { return };
        let limit = pending.limit().filter(|_| !stands_still);
        let due = [task.poll.expires(), limit].into_iter().flatten().min();
        if task.poll.status() != TaskStatus::InputRequired
            && let Some(inputs) = pending.inputs.take()
        {
            // What the application is still asked is not needed any more.
            self.withdraw(inputs.open);
        }
        self.state.calls.set_due(id, due);
        let result = match step {
            PollStep::Get => return self.state.ask_about(id, Asked::State),
            PollStep::Result => return self.state.ask_about(id, Asked::Result),
            PollStep::Update => return self.state.ask_about(id, Asked::Update),
            PollStep::Input(requests) => return self.ask(now, id, requests),
            PollStep::Sleep(until) => {
                self.state.calls.set_due(id, Some(due.map_or(until, |due| due.min(until))));
                return;
            }
            PollStep::Done(result) => Ok(result.into()),
            PollStep::Failed(error) => Err(CallError::Server(error.into())),
            PollStep::Cancelled => Err(CallError::TaskCancelled),
            PollStep::Gone(why) => Err(CallError::TaskGone(why)),
            PollStep::Invalid(violation) => {
                return self.give_up(id, CallError::Invalid(violation));
            }
            PollStep::Wait => return,
        };
        self.finish_or_repeat(now, id, result);
    }

    pub(super) fn hold(&mut self, now: Instant, id: CallId, is_held: bool) {
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        if !core::mem::replace(&mut pending.is_held, is_held) || is_held {
            return;
        }
        if core::mem::take(&mut pending.is_postponed) {
            self.state.waiting.push_back(Waiting::Call(id));
        } else {
            self.next_step(now, id);
        }
    }

    /// Ends a call whose task goes on, by cancelling that.
    fn give_up(&mut self, id: CallId, error: CallError) {
        if let Some(task) = self.state.calls.get(id).and_then(|pending| pending.task.as_ref()) {
            self.state.waiting.push_back(Waiting::CancelTask(task.id().to_string()));
        }
        self.finish(id, Err(error));
    }

    /// Cancels a task whose call was given up before.
    fn cancel_task(&mut self, task: RawJson<'_>) {
        let id = task.get("taskId").and_then(RawJson::as_string);
        self.state.waiting.extend(id.map(|id| Waiting::CancelTask(id.to_string())));
    }

    // Questions about a call, in one of its rounds or in its task.

    /// Asks the application what is new among the questions.
    fn ask(&mut self, now: Instant, id: CallId, requests: RawJson<'_>) {
        let revision = self.state.revision;
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        let task = pending.task.as_deref();
        let inputs = pending.inputs.get_or_insert_default();
        inputs.requests = task.is_some().then(|| requests.into());
        // A task has no more requests than the first number, and a round with more than the second
        // is refused. Each key is decoded once, not for each comparison.
        let max_inputs = self.state.limits.max_inputs;
        let most = MAX_TASK_INPUTS.max(max_inputs).saturating_add(1);
        let is_open = |key: JsonStr<'_>| task.is_none_or(|task| !task.poll.is_answered(key));
        let asked = requests.members().filter(|(key, _)| is_open(*key)).take(most);
        let mut asked: Vec<_> = asked.map(|(key, json)| (key.to_string(), json)).collect();
        // The server does not ask these any more.
        let is_gone = |(open, _): &mut (String, InputId)| asked.iter().all(|(key, _)| key != open);
        let gone: Vec<_> = inputs.open.extract_if(.., is_gone).collect();
        asked.retain(|(key, _)| {
            inputs.open.iter().all(|(open, _)| key != open)
                && inputs.responses.0.iter().all(|(answered, _)| key != answered)
        });
        self.withdraw(gone);
        if asked.len() > max_inputs {
            return self.refused(id, InputRefusal::TooMany, requests);
        }
        for (key, json) in asked {
            let request = match json.to::<InputRequest<'_>>() {
                Ok(request) => request,
                Err(error) => return self.give_up(id, CallError::Read(error)),
            };
            let (method, params) = (json.get("method"), json.get("params"));
            let method =
                method.and_then(RawJson::as_string).unwrap_or(JsonStr::from_static("\"\""));
            let input = self.state.number();
            let (about, params) = (Some(id), params.unwrap_or(RawJson::EMPTY));
            let question = Question { id: input, about, request, revision, method, params };
            let answer = self.driver.asked(question);
            let Some(inputs) = self.state.calls.open_mut(id).and_then(|it| it.inputs.as_mut())
            else {
                return;
            };
            match answer {
                Some(Ok(json)) => inputs.responses.0.push((key, json)),
                Some(Err(refusal)) => return self.refused(id, refusal, requests),
                None => {
                    inputs.open.push((key, input));
                    self.state.inputs.push((input, Purpose::Call(id)));
                }
            }
        }
        self.go_on(now, id);
    }

    fn refused(&mut self, id: CallId, refusal: InputRefusal, requests: RawJson<'_>) {
        let inputs = self.state.calls.get(id).and_then(|pending| pending.inputs.as_ref());
        let round = inputs.and_then(|inputs| inputs.round.as_ref()).map(|(result, _)| result);
        let result = round.or_else(|| inputs.and_then(|inputs| inputs.requests.as_ref()));
        let result = result.map_or_else(|| requests.into(), Clone::clone);
        self.give_up(id, CallError::InputRefused { refusal, result });
    }

    /// Sends the next round, or the update of the task, if all questions are answered. A task is
    /// asked for its state meanwhile.
    fn go_on(&mut self, now: Instant, id: CallId) {
        let Some(pending) = self.state.calls.open_mut(id) else { return };
        let all = pending.inputs.as_mut().filter(|inputs| inputs.open.is_empty());
        match (&mut pending.task, all) {
            (None, Some(_)) => self.state.repeat(now, id),
            (None, None) => {}
            (Some(task), all) => {
                if let Some(inputs) = all {
                    let TaskResponses(responses) = core::mem::take(&mut inputs.responses);
                    task.answer(responses);
                }
                self.next_step(now, id);
            }
        }
    }

    pub(super) fn answer(&mut self, now: Instant, input: InputId, answer: InputResponse) {
        let Some(at) = self.state.inputs.iter().position(|(other, _)| *other == input) else {
            return;
        };
        match self.state.inputs.swap_remove(at).1 {
            Purpose::Request(request, params) => {
                let answer =
                    answer.map(|json| of_task(json, params.as_json(), self.state.revision));
                self.state.unsent.push_back(Unsent::Response(request, answer));
            }
            Purpose::Hosted(task) => self.end_hosted(now, task, answer),
            Purpose::Call(id) => {
                let pending = self.state.calls.open_mut(id);
                let Some(inputs) = pending.and_then(|it| it.inputs.as_mut()) else { return };
                let of_input = |(_, other): &(String, InputId)| *other == input;
                let Some(at) = inputs.open.iter().position(of_input) else { return };
                let (key, _) = inputs.open.swap_remove(at);
                match answer {
                    Ok(json) => {
                        inputs.responses.0.push((key, json));
                        self.go_on(now, id);
                    }
                    Err(refusal) => self.refused(id, refusal, RawJson::EMPTY),
                }
            }
        }
    }

    // Requests of a legacy server, and the tasks that the client runs for it.

    fn request(&mut self, now: Instant, request: &ServerRequest<'_>) {
        let revision = self.state.revision;
        let (time, handle) = (task_time(self.driver, now), request.handle);
        self.expire_hosted(now);
        if let Some((response, stopped)) = self.state.hosted.handle(time, request) {
            self.state.unsent.extend(response);
            return stopped.into_iter().for_each(|key| self.stop_hosted(key));
        }
        let Ok(question) = request.input_request() else {
            let error = InputRefusal::Error(RpcError::invalid_params("Invalid params").into());
            return self.state.unsent.push_back(Unsent::Response(handle, Err(error)));
        };
        let task = match request.task.as_ref() {
            None => None,
            Some(task) => {
                let random = [(); 4].map(|()| u128::from(self.driver.random()));
                let id = random.into_iter().fold(0, |id, random| id << 32 | random);
                match self.state.hosted.create(time, TaskId::new(id.to_le_bytes()), task.ttl) {
                    Ok((key, reply)) => {
                        self.state.unsent.push_back(Unsent::Hosted(handle, reply));
                        Some(key)
                    }
                    Err(error) => {
                        let error = Err(InputRefusal::Error(error));
                        return self.state.unsent.push_back(Unsent::Response(handle, error));
                    }
                }
            }
        };
        let (id, params) = (self.state.number(), request.params.as_json());
        let (about, method) = (None, request.method);
        let question = Question { id, about, request: question, revision, method, params };
        match (self.driver.asked(question), task) {
            (Some(answer), None) => {
                let answer = answer.map(|json| of_task(json, params, revision));
                self.state.unsent.push_back(Unsent::Response(handle, answer));
            }
            (Some(answer), Some(key)) => self.end_hosted(now, key, answer),
            (None, None) => self.state.inputs.push((id, Purpose::Request(handle, params.into()))),
            (None, Some(key)) => self.state.inputs.push((id, Purpose::Hosted(key))),
        }
    }

    fn end_hosted(&mut self, now: Instant, task: TaskKey, answer: InputResponse) {
        let outcome = answer.map_err(|refusal| refusal.as_error().into());
        self.state.unsent.extend(self.state.hosted.end(task_time(self.driver, now), task, outcome));
    }

    fn expire_hosted(&mut self, now: Instant) {
        if self.state.hosted.next_timeout().is_some_and(|due| due <= now) {
            let time = task_time(self.driver, now);
            while let Some(key) = self.state.hosted.expire(time) {
                self.stop_hosted(key);
            }
        }
    }

    /// The answer to a task that has ended is not needed any more.
    fn stop_hosted(&mut self, key: TaskKey) {
        let of_task = |purpose: &Purpose| matches!(purpose, Purpose::Hosted(it) if *it == key);
        self.withdraw_where(of_task);
        self.state.unsent.extend(self.state.hosted.ended(key));
    }

    fn withdraw_request(&mut self, handle: RequestHandle) {
        self.state.hosted.forget(handle);
        let is_it = |purpose: &Purpose| matches!(purpose, Purpose::Request(it, _) if *it == handle);
        self.withdraw_where(is_it);
        self.state.unsent.retain(|unsent| match unsent {
            Unsent::Response(to, _) | Unsent::Hosted(to, _) => *to != handle,
            Unsent::Cancel(..) => true,
        });
    }

    pub(super) fn withdraw_where(&mut self, is_it: impl Fn(&Purpose) -> bool) {
        for (input, _) in self.state.inputs.extract_if(.., |(_, purpose)| is_it(purpose)) {
            self.driver.withdrawn(input);
        }
    }

    pub(super) fn handle_timeouts(&mut self, now: Instant) {
        self.expire_hosted(now);
        let stands_still = self.state.stands_still();
        let due: Vec<CallId> =
            self.state.times().take_while(|(due, _)| *due <= now).map(|(_, id)| id).collect();
        for id in due {
            if self.admit_delayed(now, id) {
                continue;
            }
            let Some(pending) = self.state.calls.open_mut(id) else { continue };
            let limit = pending.limit().filter(|_| !stands_still);
            if pending.task.is_none() || limit.is_some_and(|limit| limit <= now) {
                self.give_up(id, CallError::TimedOut);
            } else {
                self.next_step(now, id);
            }
        }
    }
}

impl State {
    /// Forgets the calls that were over before it was their turn, once they are many.
    fn leave_queue(&mut self) {
        self.over += 1;
        if self.over > self.waiting.len() / 2 {
            let calls = &self.calls;
            let is_open = |id: &CallId| calls.get(*id).is_some_and(|it| it.result.is_none());
            self.waiting.retain(|it| !matches!(it, Waiting::Call(id) if !is_open(id)));
            self.over = 0;
        }
    }

    /// Whether a call is the next to be sent.
    fn is_first(&self, call: CallId) -> bool {
        matches!(self.waiting.front(), Some(Waiting::Call(first)) if *first == call)
    }

    fn ask_about(&mut self, id: CallId, asked: Asked) {
        if let Some(pending) = self.calls.get_mut(id) {
            pending.asked = asked;
            pending.is_postponed = pending.is_held;
            self.waiting.extend((!pending.is_held).then_some(Waiting::Call(id)));
        }
    }

    /// Sends a call once more, which has its time anew.
    fn repeat(&mut self, now: Instant, id: CallId) {
        let due = self.calls.get(id).map(|pending| self.end_of(now, &pending.options));
        self.calls.set_due(id, due);
        self.waiting.push_back(Waiting::Call(id));
    }

    fn number(&mut self) -> InputId {
        self.asked += 1;
        InputId(self.asked)
    }

    // Times that the core does not know: of tasks, and of calls that were not sent.

    /// Returns the calls that need something at a time, the earliest first.
    pub(super) fn times(&self) -> impl Iterator<Item = (Instant, CallId)> {
        let has_task = |id| self.calls.get(id).is_some_and(|pending| pending.task.is_some());
        let stands_still = self.stands_still();
        self.calls.times().filter(move |(_, id)| !stands_still || has_task(*id))
    }

    /// Whether the time of calls stands still.
    const fn stands_still(&self) -> bool {
        #[cfg(feature = "http")]
        return self.login.is_some();
        #[cfg(not(feature = "http"))]
        return false;
    }
}

/// The code of an error for a method that a server does not have.
const METHOD_NOT_FOUND: i64 = -32601;
