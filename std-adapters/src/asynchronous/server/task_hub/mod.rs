//! Tasks of an application: calls that go on after their response. All connections share them.

mod listen;
mod options;
mod response;
mod state;
#[cfg(feature = "store")]
mod stored;
mod waiting;
mod work;

pub(crate) use listen::TaskListen;
pub use options::TaskOptions;
pub(crate) use response::{TaskOutcome, TaskResponse};
#[cfg(feature = "store")]
pub(crate) use stored::record;
#[cfg(feature = "store")]
pub(crate) use work::NewTask;
pub(crate) use work::{LiveTask, TaskWork};

#[cfg(feature = "http")]
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{self, Poll, Waker};
use std::time::{self, Duration, SystemTime};

use mcp_sansio::tasks::{
    GrowingTasksState, MAX_LISTENED, TaskEnd, TaskError, TaskId, TaskInfo, TaskKey, TaskOwner,
    TaskStep, TaskTime,
};
use mcp_sansio::{
    Change, ClientFeatures, Instant, Method, OwnedJson, RawJson, Request, Revision, RpcError,
    ToolError,
};
use mcp_sansio_engine::Places;

use super::broadcast::Broadcaster;
use super::context::Origin;
use super::reply::PendingResponse;
use super::source::RequestSource;
use crate::lock::lock;
use crate::runtime;
use response::OpenInput;
use state::{Input, Kept, State, Waiting, Woken};

/// The tasks. The mutex is locked for one call. No connection or site is called meanwhile, because
/// these call the tasks while they are locked.
pub(crate) struct TaskHub {
    options: TaskOptions,
    begun: time::Instant,
    #[cfg(feature = "http")]
    owners: RandomState,
    state: Mutex<State>,
}

/// Whose tasks a client has.
#[derive(Clone, Copy)]
pub(crate) struct TaskClient {
    pub(crate) owner: TaskOwner,
    /// The HTTP session, or the request without one, of a client without a principal. It lists
    /// only what it has created itself, since anybody may be the owner.
    session: Option<u64>,
}

/// What a client gets that asks about tasks.
pub(crate) enum TaskAnswer {
    Response(PendingResponse),
    /// The response when this task has ended.
    Wait((TaskKey, TaskId)),
}

impl TaskHub {
    pub(crate) fn new(options: TaskOptions) -> Self {
        let tasks = GrowingTasksState::new(options.max_tasks.min(u16::MAX - 1));
        let state = State {
            tasks,
            kept: Vec::new(),
            results: Places::new(),
            waiting: Places::new(),
            last_waiting: 0,
        };
        Self {
            options,
            begun: runtime::now(),
            #[cfg(feature = "http")]
            owners: RandomState::new(),
            state: Mutex::new(state),
        }
    }

    /// A poisoned lock is used all the same: nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn time(&self) -> TaskTime {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        TaskTime::new(Instant::from_millis(millis(runtime::elapsed(self.begun))), millis(unix))
    }

    /// Returns the client of a request. The owner of its tasks is its principal, or else all
    /// clients, or its connection if tasks are bound to that.
    pub(crate) fn client(
        &self,
        request: &Request<'_>,
        origin: &Origin,
        connection: u64,
    ) -> TaskClient {
        #[cfg(feature = "http")]
        if let Some(origin) = origin {
            if let Some(principal) = &origin.principal {
                let owner = self.owner_of(&principal.issuer, &principal.subject);
                return TaskClient { owner, session: None };
            }
            // Servers of one application have equal keys.
            let session = self.owners.hash_one((connection, origin.server));
            let is_bound = self.options.bind_to_connection && !request.revision.is_modern();
            let owner = TaskOwner(if is_bound { session } else { 0 });
            return TaskClient { owner, session: Some(session) };
        }
        let _ = (request, origin);
        let owner = TaskOwner(if self.options.bind_to_connection { connection } else { 0 });
        TaskClient { owner, session: None }
    }

    #[cfg(feature = "http")]
    fn owner_of(&self, issuer: &str, subject: &str) -> TaskOwner {
        TaskOwner(self.owners.hash_one((issuer, subject)))
    }

    /// Ends and removes the tasks whose time is over.
    pub(crate) fn expire(&self) {
        let time = self.time();
        let woken = self.lock().expire(&self.options, time);
        woken.wake();
    }

    /// Handles a request about tasks. Returns `None` for any other request.
    pub(crate) fn handle(
        self: &Arc<Self>,
        request: &Request<'_>,
        client: impl FnOnce() -> TaskClient,
    ) -> Option<TaskAnswer> {
        match request.method {
            Method::TasksGet
            | Method::TasksResult
            | Method::TasksUpdate
            | Method::TasksCancel
            | Method::TasksList => {}
            Method::SubscriptionsListen => {
                let listen = TaskListen::new(self, request, self.listened(request, client().owner));
                return Some(TaskAnswer::Response(PendingResponse::Listen(Box::new(listen))));
            }
            // Neither a lock nor the time of the hub is for those.
            _ => return None,
        }
        let client = client();
        let time = self.time();
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut tasks = state.tasks.tasks(&self.options.config);
        let mut woken = Woken::default();
        let reply = match tasks.handle(time, request, client.owner)? {
            TaskStep::Respond(reply) => reply,
            TaskStep::List(reply) => {
                let is_listed = |task: TaskKey| {
                    let kept = state.kept.get(task.index()).and_then(Option::as_ref);
                    let created_in = kept.and_then(|kept| kept.created_in);
                    client.session.is_none() || created_in == client.session
                };
                let list = tasks.list(&reply).only(&is_listed);
                let page = OwnedJson::new(&list, request.revision);
                return Some(TaskAnswer::Response(match page {
                    Ok(page) => PendingResponse::Reply(page),
                    Err(_) => PendingResponse::Refused(INTERNAL),
                }));
            }
            TaskStep::Cancel(task, reply) => {
                tasks.end(task, TaskEnd::Cancelled, time);
                woken = state.ended(task);
                reply
            }
            TaskStep::Update(task, responses, reply) => {
                let responses: Vec<(u32, OwnedJson)> =
                    responses.map(|(number, response)| (number, response.into())).collect();
                woken = state.update(task, responses);
                reply
            }
            TaskStep::Wait(task) => {
                let id = tasks.info(task)?.id();
                return Some(TaskAnswer::Wait((task, id)));
            }
        };
        let response = state.response(reply);
        drop(guard);
        woken.wake();
        Some(TaskAnswer::Response(response))
    }

    /// Returns the tasks that a subscription names and that its client may see, in order.
    fn listened(&self, request: &Request<'_>, owner: TaskOwner) -> Vec<(TaskId, TaskKey)> {
        let time = self.time();
        let mut state = self.lock();
        let ids = request.params.get("notifications").and_then(|filter| filter.get("taskIds"));
        let ids = ids.filter(|ids| ids.is_array()).into_iter().flat_map(RawJson::elements);
        // More are refused.
        let ids = ids.take(MAX_LISTENED).filter_map(RawJson::as_string);
        let tasks = state.tasks.tasks(&self.options.config);
        let visible = |id| Some((TaskId::parse(id)?, tasks.find_visible(id, owner, time)?));
        let mut listened: Vec<(TaskId, TaskKey)> = ids.filter_map(visible).collect();
        listened.sort_unstable_by_key(|(id, _)| *id);
        listened.dedup();
        for (_, task) in &listened {
            if let Some(kept) = state.kept(*task) {
                kept.is_listened = true;
            }
        }
        listened
    }

    /// Returns the response to a request that has waited for the end of a task.
    pub(crate) fn result(&self, task: TaskKey) -> PendingResponse {
        let mut state = self.lock();
        let reply = state.tasks.tasks(&self.options.config).result(task);
        state.response(reply)
    }

    /// Creates a task.
    fn create(
        &self,
        TaskClient { owner, session: created_in }: TaskClient,
        ttl_ms: Option<u64>,
        client: ClientFeatures,
        session: Option<Weak<dyn RequestSource>>,
    ) -> Result<(TaskKey, TaskInfo), TaskError> {
        let mut id = [0; 16];
        // Without random numbers ids could be guessed.
        getrandom::fill(&mut id).map_err(|_| TaskError::Full)?;
        let time = self.time();
        self.expire();
        let mut state = self.lock();
        let mut tasks = state.tasks.tasks(&self.options.config);
        let key = tasks.create(time, TaskId::new(id), owner, ttl_ms)?;
        let info = tasks.info(key).ok_or(TaskError::Full)?;
        let kept = Kept {
            key,
            life: None,
            outcome: None,
            owner: share_of(owner),
            inputs: Vec::new(),
            client,
            is_changed: false,
            is_listened: false,
            session,
            created_in,
            waiting: Vec::new(),
        };
        state.keep(key, kept);
        Ok((key, info))
    }

    /// Removes a task whose creation was not told. Its owner may have seen it in a list: a
    /// `tasks/result` that waits for it gets an error.
    pub(crate) fn remove(&self, task: TaskKey) {
        let mut state = self.lock();
        let woken = state.ended(task);
        state.tasks.tasks(&self.options.config).remove(task);
        if state.kept(task).is_some()
            && let Some(kept) = state.kept.get_mut(task.index())
        {
            *kept = None;
        }
        drop(state);
        woken.wake();
    }

    /// Returns whether a task is live, and whether clients are to be told of a change. The life of
    /// its call is woken when either is different.
    fn watch(&self, task: TaskKey, life: &Waker) -> (bool, bool) {
        let mut state = self.lock();
        let info = state.tasks.tasks(&self.options.config).info(task);
        let Some(kept) = state.kept(task) else { return (false, false) };
        kept.life = Some(life.clone());
        (info.is_some_and(|info| info.is_live()), kept.is_changed)
    }

    pub(crate) fn is_live(&self, task: TaskKey) -> bool {
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

    pub(crate) fn fail(&self, task: TaskKey, why: &str) {
        self.finish(task, Err(RpcError::internal(why).into()));
    }

    /// Ends a task with the outcome of its handler. Returns `false` if it has ended already.
    fn finish(&self, task: TaskKey, outcome: TaskOutcome) -> bool {
        // Results whose time is over take no room.
        self.expire();
        let time = self.time();
        let mut state = self.lock();
        let owner = state.kept(task).and_then(|kept| kept.owner);
        let outcome = match state.keep_result(response::len(&outcome), owner, &self.options) {
            Ok(()) => outcome,
            Err(_) => Err(RpcError::internal("There is no room for the result of the task").into()),
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
        let is_first = tasks.end(task, end, time);
        if is_first {
            if let Some(kept) = state.kept(task) {
                kept.outcome = Some(Arc::new(outcome));
            }
            let woken = state.ended(task);
            drop(state);
            woken.wake();
        } else {
            state.results.give_back(response::len(&outcome), owner.as_ref());
        }
        is_first
    }

    /// Tells clients how a task is now: the session that created it (2025-11-25), and those that
    /// subscribed to it.
    pub(crate) fn publish(&self, task: TaskKey, broadcaster: &Broadcaster) {
        let (info, session, is_listened) = {
            let mut state = self.lock();
            let Some(info) = state.tasks.tasks(&self.options.config).info(task) else { return };
            let Some(kept) = state.kept(task) else { return };
            kept.is_changed = false;
            (info, kept.session.as_ref().and_then(Weak::upgrade), kept.is_listened)
        };
        if let Some(session) = session
            && let Ok(json) = OwnedJson::new(&info, Revision::V2025_11_25)
        {
            session.tell(&Change::session_task(&info.id().to_string(), json.as_raw()));
        }
        if is_listened && let Some(details) = self.details(task) {
            broadcaster.publish(Change::task(&info.id().to_string(), details.as_raw()));
        }
    }

    /// Returns how a task is now, for those that subscribed to it.
    fn details(&self, task: TaskKey) -> Option<OwnedJson> {
        let (info, content, client) = {
            let mut state = self.lock();
            let info = state.tasks.tasks(&self.options.config).info(task)?;
            let kept = state.kept(task)?;
            (info, kept.content(), kept.client)
        };
        let details = info.details(task, &content, client);
        let details = OwnedJson::new(&details, Revision::V2026_07_28).ok()?;
        // Clients poll for more.
        Some(details).filter(|details| details.as_raw().as_str().len() <= MAX_TOLD)
    }

    /// Begins to wait for input. Returns the number of the input request.
    fn ask(
        &self,
        task: TaskKey,
        json: OwnedJson,
        needs: ClientFeatures,
        travels: bool,
    ) -> Result<u64, ToolError<'static>> {
        let time = self.time();
        let mut state = self.lock();
        let mut tasks = state.tasks.tasks(&self.options.config);
        let Some(number) = tasks.ask(task, time) else {
            return Err(match tasks.info(task).is_some_and(|info| info.is_live()) {
                true => ToolError::internal("The task has too many open input requests"),
                false => ToolError::GONE,
            });
        };
        let request = OpenInput { number, request: Arc::new(json), needs };
        let mut woken = Woken::default();
        if let Some(kept) = state.kept(task) {
            let input = Input { request, response: None, waker: None, travels, asked_by: None };
            kept.inputs.push(input);
            woken = kept.askers();
        }
        state.changed(task);
        drop(state);
        woken.wake();
        Ok(number.into())
    }

    /// Polls for the response to an input request.
    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        task: TaskKey,
        number: u64,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let mut state = self.lock();
        let Some(kept) = state.kept(task) else { return Poll::Ready(Err(ToolError::GONE)) };
        let Some(at) = kept.inputs.iter().position(|input| input.has_number(number)) else {
            return Poll::Ready(Err(ToolError::GONE));
        };
        match kept.inputs.get_mut(at) {
            Some(Input { response: None, waker, .. }) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => {
                let response = kept.inputs.swap_remove(at).response;
                Poll::Ready(response.unwrap_or(Err(ToolError::GONE)))
            }
        }
    }

    /// Hands in the response to an input request that was part of another request.
    fn answer(&self, task: TaskKey, number: u32, response: Result<OwnedJson, ToolError<'static>>) {
        let time = self.time();
        let mut state = self.lock();
        let inputs = state.kept(task).map(|kept| &mut kept.inputs);
        let input = inputs
            .and_then(|inputs| inputs.iter_mut().find(|input| input.request.number == number));
        let waker = input.and_then(|input| {
            input.response = Some(response);
            input.waker.take()
        });
        if state.tasks.tasks(&self.options.config).withdraw(task, number, time) {
            state.changed(task);
        }
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The handler does not wait for an input any more.
    fn leave_input(&self, task: TaskKey, place: u64) {
        let time = self.time();
        let mut state = self.lock();
        let mut woken = Woken::default();
        if let Some(kept) = state.kept(task)
            && let Some(at) = kept.inputs.iter().position(|input| input.has_number(place))
        {
            kept.inputs.swap_remove(at);
            woken = kept.askers();
        }
        let number = u32::try_from(place).unwrap_or(0);
        if state.tasks.tasks(&self.options.config).withdraw(task, number, time) {
            state.changed(task);
        }
        drop(state);
        woken.wake();
    }
}

/// Returns in whose share a result is: everybody has none.
fn share_of(owner: TaskOwner) -> Option<TaskOwner> {
    (owner.0 > 0).then_some(owner)
}

/// Returns the text of a result with `isError`.
fn failure(result: RawJson<'_>) -> Option<String> {
    let text = result.get("content")?.elements().next()?.get("text")?;
    Some(text.as_string()?.to_string())
}

/// Maximum length of the state of a task in a notification.
const MAX_TOLD: usize = 64 << 10;
const INTERNAL: RpcError<'static> = RpcError::internal("Internal error");
