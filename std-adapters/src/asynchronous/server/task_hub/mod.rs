//! Tasks of an application: calls that go on after their response. All connections share them.

mod mailbox;
mod options;
mod response;
mod work;

#[cfg(feature = "http")]
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};
use std::time::{self, Duration, SystemTime};

use mcp_sansio::tasks::{
    GrowingTasksState, TaskEnd, TaskError, TaskId, TaskInfo, TaskKey, TaskOwner, TaskReply,
    TaskStep, TaskTime, TaskTimeout,
};
use mcp_sansio::{
    ClientFeatures, Instant, OwnedJson, RawJson, Request, Revision, RpcError, ToolError,
};

use super::broadcast::OwnedChange;
use super::context::Origin;
use super::pending_responses::PendingResponse;
pub(super) use mailbox::{Mailbox, Message};
pub use options::{MAX_TASK_RESULTS, MAX_TASKS, TaskOptions};
pub(super) use response::TaskResponse;
use response::{Content, OpenInput, TaskOutcome};
pub(super) use work::TaskWork;

/// The tasks. The mutex is locked for one call. No connection or site is called meanwhile, because
/// these call the tasks while they are locked.
pub(super) struct TaskHub {
    options: TaskOptions,
    begun: time::Instant,
    #[cfg(feature = "http")]
    owners: RandomState,
    state: Mutex<State>,
}

struct State {
    tasks: GrowingTasksState,
    /// What is kept of each task, by [`TaskKey::index`].
    kept: Vec<Option<Kept>>,
    /// Bytes of all results.
    result_bytes: usize,
}

/// What is kept of a task.
struct Kept {
    /// Where its handler runs.
    runner: Arc<Mailbox>,
    outcome: Option<Arc<TaskOutcome>>,
    inputs: Vec<Input>,
    /// Capabilities of the client that made the call.
    client: ClientFeatures,
    /// Whether its runner knows of a change that it has not published yet.
    is_changed: bool,
}

/// An input request, until the handler has the response.
struct Input {
    request: OpenInput,
    response: Option<OwnedJson>,
    waker: Option<Waker>,
}

impl TaskHub {
    pub(super) fn new(options: TaskOptions) -> Self {
        let tasks = GrowingTasksState::new(options.max_tasks);
        let state = State { tasks, kept: Vec::new(), result_bytes: 0 };
        Self {
            options,
            begun: time::Instant::now(),
            #[cfg(feature = "http")]
            owners: RandomState::new(),
            state: Mutex::new(state),
        }
    }

    /// A poisoned lock is used all the same: nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn time(&self) -> TaskTime {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        TaskTime::new(Instant::from_millis(millis(self.begun.elapsed())), millis(unix))
    }

    /// Returns the time of the next [`expire`](Self::expire).
    pub(super) fn next_timeout(&self) -> Option<time::Instant> {
        let next = self.lock().tasks.tasks(&self.options.config).next_timeout()?;
        self.begun.checked_add(Duration::from_millis(next.as_millis()))
    }

    /// Returns the owner of the tasks that a client creates.
    pub(super) fn owner(&self, origin: &Origin) -> TaskOwner {
        #[cfg(feature = "http")]
        if let Some(principal) = origin.as_ref().and_then(|origin| origin.principal.as_deref()) {
            return TaskOwner(self.owners.hash_one((&principal.issuer, &principal.subject)));
        }
        let _ = origin;
        TaskOwner(0)
    }

    /// Ends and removes the tasks whose time is over.
    pub(super) fn expire(&self) {
        let time = self.time();
        self.lock().expire(&self.options, time);
    }

    /// Responds to a request about tasks. Returns `None` for any other request.
    pub(super) fn respond(
        &self,
        request: &Request<'_>,
        owner: TaskOwner,
    ) -> Option<PendingResponse> {
        let time = self.time();
        let mut state = self.lock();
        let mut tasks = state.tasks.tasks(&self.options.config);
        let step = tasks.handle(time, request, owner)?;
        let reply = match step {
            TaskStep::Respond(reply) => reply,
            TaskStep::List(reply) => {
                let page = OwnedJson::new(&tasks.list(&reply), request.revision);
                return Some(match page {
                    Ok(page) => PendingResponse::Reply(page),
                    Err(_) => PendingResponse::Refused(INTERNAL),
                });
            }
            TaskStep::Cancel(task, reply) => {
                tasks.end(task, TaskEnd::Cancelled, time);
                state.ended(task);
                reply
            }
            TaskStep::Update(task, responses, reply) => {
                let responses: Vec<(u32, OwnedJson)> =
                    responses.map(|(number, response)| (number, response.into())).collect();
                let wakers = state.update(task, responses);
                drop(state);
                wakers.into_iter().for_each(Waker::wake);
                return Some(self.response(reply));
            }
            TaskStep::Wait(task) => {
                let _ = task;
                return Some(PendingResponse::Refused(INTERNAL));
            }
        };
        Some(state.response(reply))
    }

    fn response(&self, reply: TaskReply) -> PendingResponse {
        self.lock().response(reply)
    }

    /// Creates a task, whose handler runs at `runner`.
    fn create(
        &self,
        owner: TaskOwner,
        ttl_ms: Option<u64>,
        client: ClientFeatures,
        runner: &Arc<Mailbox>,
    ) -> Result<(TaskKey, TaskInfo), TaskError> {
        let mut id = [0; 16];
        // Without random numbers ids could be guessed.
        getrandom::fill(&mut id).map_err(|_| TaskError::Full)?;
        let time = self.time();
        let mut state = self.lock();
        state.expire(&self.options, time);
        let mut tasks = state.tasks.tasks(&self.options.config);
        let key = tasks.create(time, TaskId::new(id), owner, ttl_ms)?;
        let info = tasks.info(key).ok_or(TaskError::Full)?;
        let kept = Kept {
            runner: Arc::clone(runner),
            outcome: None,
            inputs: Vec::new(),
            client,
            is_changed: false,
        };
        state.keep(key, kept);
        Ok((key, info))
    }

    fn is_live(&self, task: TaskKey) -> bool {
        let info = self.lock().tasks.tasks(&self.options.config).info(task);
        info.is_some_and(|info| info.is_live())
    }

    fn set_message(&self, task: TaskKey, message: &dyn std::fmt::Display) {
        // Formatted before the lock, since the code of the program may do anything.
        let message = message.to_string();
        let time = self.time();
        let mut state = self.lock();
        if state.tasks.tasks(&self.options.config).set_message(task, &message, time) {
            state.changed(task);
        }
    }

    pub(super) fn fail(&self, task: TaskKey, why: &str) {
        self.finish(task, Err(RpcError::internal(why).into()));
    }

    /// Ends a task with the outcome of its handler, unless it has ended already.
    fn finish(&self, task: TaskKey, outcome: TaskOutcome) {
        let time = self.time();
        let mut state = self.lock();
        let bytes = outcome.as_ref().map_or(0, |json| json.as_raw().as_str().len());
        let outcome = match bytes.saturating_add(state.result_bytes) > self.options.max_results {
            true => Err(RpcError::internal("There is no room for the result of the task").into()),
            false => outcome,
        };
        let (end, message) = match &outcome {
            Ok(result) if !crate::observer::is_error(result.as_raw()) => (TaskEnd::Completed, None),
            Ok(result) => (TaskEnd::ToolFailed, failure(result.as_raw())),
            Err(error) => (TaskEnd::Failed, Some(error.as_error().message.to_owned())),
        };
        let mut tasks = state.tasks.tasks(&self.options.config);
        if let Some(message) = message {
            tasks.set_message(task, &message, time);
        }
        if tasks.end(task, end, time) {
            state.result_bytes += outcome.as_ref().map_or(0, |_| bytes);
            if let Some(kept) = state.kept(task) {
                kept.outcome = Some(Arc::new(outcome));
            }
            state.ended(task);
        }
    }

    /// Returns how a task is now, for those that listen to it.
    pub(super) fn take_change(&self, task: TaskKey) -> Option<OwnedChange> {
        let (info, content, client) = {
            let mut state = self.lock();
            let info = state.tasks.tasks(&self.options.config).info(task)?;
            let kept = state.kept(task)?;
            kept.is_changed = false;
            (info, kept.content(), kept.client)
        };
        let details = info.details(task, &content, client);
        let details = OwnedJson::new(&details, Revision::V2026_07_28).ok()?;
        // Clients poll for more.
        if details.as_raw().as_str().len() > MAX_TOLD {
            return None;
        }
        Some(OwnedChange::Task(info.id().to_string().into(), Arc::new(details)))
    }

    /// Polls for the response to an input request of a task. `request` is `Some` the first time.
    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        task: TaskKey,
        request: Option<(OwnedJson, ClientFeatures)>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let time = self.time();
        let mut state = self.lock();
        if let Some((json, needs)) = request {
            let mut tasks = state.tasks.tasks(&self.options.config);
            let Some(number) = tasks.ask(task, time) else {
                let why = match tasks.info(task).is_some_and(|info| info.is_live()) {
                    true => ToolError::internal("The task has too many open input requests"),
                    false => ToolError::GONE,
                };
                return Poll::Ready(Err(why));
            };
            let request = OpenInput { number, request: Arc::new(json), needs };
            if let Some(kept) = state.kept(task) {
                kept.inputs.push(Input { request, response: None, waker: None });
            }
            state.changed(task);
            *place = Some(number.into());
        }
        let Some(kept) = state.kept(task) else { return Poll::Ready(Err(ToolError::GONE)) };
        let is_same = |input: &Input| Some(u64::from(input.request.number)) == *place;
        let Some(at) = kept.inputs.iter().position(is_same) else {
            return Poll::Ready(Err(ToolError::GONE));
        };
        match kept.inputs.get_mut(at) {
            Some(Input { response: None, waker, .. }) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => {
                let response = kept.inputs.swap_remove(at).response;
                Poll::Ready(response.ok_or(ToolError::GONE))
            }
        }
    }

    /// The handler does not wait for an input any more.
    fn leave_input(&self, task: TaskKey, place: u64) {
        let time = self.time();
        let mut state = self.lock();
        if let Some(kept) = state.kept(task) {
            kept.inputs.retain(|input| u64::from(input.request.number) != place);
        }
        let number = u32::try_from(place).unwrap_or(0);
        if state.tasks.tasks(&self.options.config).withdraw(task, number, time) {
            state.changed(task);
        }
    }
}

impl State {
    fn kept(&mut self, task: TaskKey) -> Option<&mut Kept> {
        self.kept.get_mut(task.index())?.as_mut()
    }

    fn keep(&mut self, task: TaskKey, kept: Kept) {
        if self.kept.len() <= task.index() {
            self.kept.resize_with(task.index() + 1, || None);
        }
        if let Some(place) = self.kept.get_mut(task.index()) {
            *place = Some(kept);
        }
    }

    fn response(&mut self, reply: TaskReply) -> PendingResponse {
        let kept = reply.content_of().and_then(|task| self.kept(task));
        let content = kept.map_or_else(Content::default, |kept| kept.content());
        PendingResponse::Task(Box::new(TaskResponse { reply, content }))
    }

    /// Clients are to be told of a change.
    fn changed(&mut self, task: TaskKey) {
        if let Some(kept) = self.kept(task)
            && !std::mem::replace(&mut kept.is_changed, true)
        {
            kept.runner.post(Message::Changed(task));
        }
    }

    /// The handler is not needed any more.
    fn ended(&mut self, task: TaskKey) {
        if let Some(kept) = self.kept(task) {
            kept.inputs.clear();
            kept.runner.post(Message::Over(task));
        }
    }

    /// Keeps the responses to input requests. Returns who waits for them.
    fn update(&mut self, task: TaskKey, responses: Vec<(u32, OwnedJson)>) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let is_changed = !responses.is_empty();
        for (number, response) in responses {
            let inputs = self.kept(task).map(|kept| &mut kept.inputs);
            let input = inputs
                .and_then(|inputs| inputs.iter_mut().find(|input| input.request.number == number));
            if let Some(input) = input {
                input.response = Some(response);
                wakers.extend(input.waker.take());
            }
        }
        if is_changed {
            self.changed(task);
        }
        wakers
    }

    fn expire(&mut self, options: &TaskOptions, time: TaskTime) {
        while let Some(timeout) = self.tasks.tasks(&options.config).handle_timeout(time) {
            match timeout {
                TaskTimeout::Expired(task) => self.ended(task),
                TaskTimeout::Gone(task) => {
                    let kept = self.kept.get_mut(task.index()).and_then(Option::take);
                    if let Some(Ok(result)) = kept.and_then(|kept| kept.outcome).as_deref() {
                        self.result_bytes -= result.as_raw().as_str().len();
                    }
                }
            }
        }
    }
}

impl Kept {
    fn content(&self) -> Content {
        let open = self.inputs.iter().filter(|input| input.response.is_none());
        Content {
            outcome: self.outcome.clone(),
            inputs: open.map(|input| input.request.clone()).collect(),
        }
    }
}

/// Returns the text of a result with `isError`.
fn failure(result: RawJson<'_>) -> Option<String> {
    let text = result.get("content")?.elements().next()?.get("text")?;
    Some(text.as_string()?.to_string())
}

/// Maximum length of the state of a task in a notification.
const MAX_TOLD: usize = 64 << 10;
const INTERNAL: RpcError<'static> = RpcError::internal("Internal error");
