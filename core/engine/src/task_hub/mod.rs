//! The tasks of a server, which all its connections share: calls that go on after their response.

#[cfg(feature = "store")]
mod fleet;

#[cfg(feature = "store")]
pub use fleet::{Claim, FleetStep, LEASE};

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{replace, take};
use core::task::{Poll, Waker};

use mcp_sansio::tasks::{
    GrowingTasksState, MAX_LISTENED, TaskContent, TaskEnd, TaskError, TaskId, TaskInfo, TaskKey,
    TaskOwner, TaskReply, TaskStep, TaskTime, TaskTimeout, Tasks, TasksConfig,
};
use mcp_sansio::{
    Client, ClientFeatures, Encoder, OwnedJson, OwnedRpcError, Progress, RawJson, Request,
    RequestHandle, ResponseKind, Revision, RpcError, SendError, Server, ToolError, Tx,
};

use crate::places::{NoPlace, PlaceLimit, Places};
#[cfg(feature = "store")]
use crate::record::{TaskOutcome, TaskRecord};
use crate::rounds::Response;

/// The tasks of a server, what they have asked, their results, and the `tasks/result` that wait for
/// them.
///
/// Each call that changes something may leave wakers, which [`woken`](Self::woken) returns: they
/// are to be called where no lock is held. `S` reaches the session that created a task, `C` the
/// request with which messages of a task are sent.
pub struct TaskHub<S, C> {
    limits: TaskLimits,
    tasks: GrowingTasksState,
    /// An entry for each task, by [`TaskKey::index`].
    kept: Vec<Option<Kept<S, C>>>,
    /// Bytes of all results, by owner.
    results: Places<TaskOwner>,
    /// The `tasks/result` that wait, by client, and the number of the last one.
    waiting: Places<u64>,
    last_waiting: u64,
    woken: Vec<Waker>,
    /// Number of tasks that this server runs, or has run.
    own: usize,
    #[cfg(feature = "store")]
    fleet: Option<fleet::Fleet>,
}

/// The limits of a [`TaskHub`].
#[derive(Clone, Debug)]
pub struct TaskLimits {
    /// The times of tasks, and the number of those of one owner.
    pub config: TasksConfig,
    /// Maximum number of tasks, at most 65,534.
    pub max_tasks: u16,
    /// Maximum number of bytes of all results; those of an owner, beside one of any length, have
    /// [`CLIENT_SHARE`] of it.
    pub max_results: usize,
    /// Maximum number of `tasks/result` that wait.
    pub max_waiting: usize,
}

/// Whose tasks a client has.
#[derive(Clone, Copy)]
pub struct TaskClient {
    /// The owner of its tasks.
    pub owner: TaskOwner,
    /// The HTTP session, or the request without one, of a client without a principal. It lists
    /// only what it has created itself, since anybody may be the owner.
    pub session: Option<u64>,
}

/// How a task has ended: with the result of the call, or with its error.
pub type TaskResult = Result<OwnedJson, OwnedRpcError>;

/// The answer to a client that asks about tasks.
pub enum TaskAnswer {
    /// This response.
    Response(TaskResponse),
    /// This page of the list.
    Page(OwnedJson),
    /// The response when this task has ended: [`TaskHub::wait`].
    Wait(TaskKey, TaskId),
}

/// The hub's part of a task, beside that of [`GrowingTasksState`].
struct Kept<S, C> {
    key: TaskKey,
    /// Wakes the life of its call, which is told of the end and of changes.
    life: Option<Waker>,
    outcome: Option<Arc<TaskResult>>,
    /// Number of bytes that its result takes, or is going to take.
    len: usize,
    progress: Option<Arc<Progress<'static>>>,
    /// Whose share its result is in; `None` if everybody is the owner.
    owner: Option<TaskOwner>,
    /// By their numbers.
    inputs: BTreeMap<u32, Input>,
    /// Capabilities of the client that made the call.
    client: ClientFeatures,
    /// The session that is told of changes (2025-11-25).
    session: Option<S>,
    /// The session in which it was created: see [`TaskClient`].
    created_in: Option<u64>,
    /// Whether there was a subscription to it (2026-07-28).
    is_listened: bool,
    /// Number of subscriptions that are being acknowledged.
    listening: usize,
    /// The `tasks/result` that wait for its end.
    waiting: Vec<Waiting<C>>,
    /// Whether there was a change that clients were not told of yet.
    is_changed: bool,
    #[cfg(feature = "store")]
    shared: fleet::Shared,
}

/// An input request, until the handler has the response.
struct Input {
    request: OpenInput,
    response: Option<Response>,
    waker: Option<Waker>,
    /// Whether it is part of a `tasks/result` (2025-11-25), and the number of that.
    travels: bool,
    asked_by: Option<u64>,
}

/// A `tasks/result` that waits. The requests of its task are sent as part of it.
struct Waiting<C> {
    number: u64,
    /// Its place in [`TaskHub::waiting`].
    client: Option<u64>,
    waker: Option<Waker>,
    /// For messages of the task.
    channel: C,
    /// Whether requests can be sent as part of it.
    is_open: bool,
}

/// A question that travels with a `tasks/result`.
pub struct TaskQuestion {
    /// The number of the input request.
    pub input: u32,
    /// The request, until it is sent.
    pub json: Option<OwnedJson>,
    /// Its place among the input requests of the connection.
    pub place: Option<u64>,
}

impl<S: Clone, C: Clone> TaskHub<S, C> {
    /// Creates a hub without tasks.
    pub fn new(limits: TaskLimits) -> Self {
        Self {
            // As many again for tasks of other servers, while requests are about them.
            tasks: GrowingTasksState::new(limits.max_tasks.saturating_mul(2).min(u16::MAX - 1)),
            limits,
            kept: Vec::new(),
            results: Places::new(),
            waiting: Places::new(),
            last_waiting: 0,
            woken: Vec::new(),
            own: 0,
            #[cfg(feature = "store")]
            fleet: None,
        }
    }

    /// Returns who is to be woken since the last call.
    pub fn woken(&mut self) -> Vec<Waker> {
        take(&mut self.woken)
    }

    /// Ends and removes the tasks whose time is over.
    pub fn expire(&mut self, time: TaskTime) {
        while let Some(timeout) = self.tasks().handle_timeout(time) {
            match timeout {
                TaskTimeout::Expired(task) => {
                    self.ended(task);
                    self.differs(task, time);
                }
                TaskTimeout::Gone(task) => self.forget(task),
            }
        }
    }

    /// Handles a request about tasks. Returns `None` for any other request.
    pub fn handle(
        &mut self,
        time: TaskTime,
        request: &Request<'_>,
        client: TaskClient,
    ) -> Option<TaskAnswer> {
        let mut tasks = self.tasks.tasks(&self.limits.config);
        let reply = match tasks.handle(time, request, client.owner)? {
            TaskStep::Respond(reply) => reply,
            TaskStep::List(reply) => {
                let is_listed = |task: TaskKey| {
                    let kept = self.kept.get(task.index()).and_then(Option::as_ref);
                    let created_in = kept.and_then(|kept| kept.created_in);
                    client.session.is_none() || created_in == client.session
                };
                let list = tasks.list(&reply).only(&is_listed);
                return Some(match OwnedJson::new(&list, request.revision) {
                    Ok(page) => TaskAnswer::Page(page),
                    Err(_) => TaskAnswer::Response(TaskResponse::error(INTERNAL)),
                });
            }
            TaskStep::Cancel(task, reply) => {
                tasks.end(time, task, TaskEnd::Cancelled);
                self.ended(task);
                self.differs(task, time);
                reply
            }
            TaskStep::Update(task, responses, reply) => {
                let mut is_changed = false;
                for (number, response) in responses {
                    is_changed = true;
                    self.respond_to_input(task, number, Ok(response.into()));
                }
                if is_changed {
                    self.changed(task);
                    self.differs(task, time);
                }
                reply
            }
            TaskStep::Wait(task) => {
                let id = tasks.info(task)?.id();
                return Some(TaskAnswer::Wait(task, id));
            }
        };
        Some(TaskAnswer::Response(self.response(reply)))
    }

    /// Returns the tasks that a subscription names and that its client may see, in the order of
    /// their ids. From now on their changes are told.
    pub fn listened(
        &mut self,
        time: TaskTime,
        request: &Request<'_>,
        owner: TaskOwner,
    ) -> Vec<(TaskId, TaskKey)> {
        let tasks = self.tasks();
        let visible = |id: TaskId| {
            let found = tasks.find_visible(time, id.to_string().as_str(), owner)?;
            Some((id, found))
        };
        let listened: Vec<(TaskId, TaskKey)> =
            listened_ids(request).into_iter().filter_map(visible).collect();
        for (_, task) in &listened {
            if let Some(kept) = self.kept(*task) {
                (kept.is_listened, kept.listening) = (true, kept.listening + 1);
            }
        }
        listened
    }

    /// A subscription is acknowledged, or has come to nothing, and its client was told how these
    /// tasks are.
    pub fn acknowledged(&mut self, tasks: impl IntoIterator<Item = TaskKey>) {
        for task in tasks {
            if let Some(kept) = self.kept(task) {
                kept.listening -= 1;
            }
            #[cfg(feature = "store")]
            self.release(task);
        }
    }

    /// Creates a task. `features` are those of the client that makes the call, `session` is told of
    /// changes (2025-11-25).
    ///
    /// # Errors
    /// There is no room for it.
    pub fn create(
        &mut self,
        time: TaskTime,
        id: TaskId,
        client: TaskClient,
        ttl_ms: Option<u64>,
        features: ClientFeatures,
        session: Option<S>,
    ) -> Result<(TaskKey, TaskInfo), TaskError> {
        self.expire(time);
        if !self.has_room() {
            return Err(TaskError::Full);
        }
        let mut tasks = self.tasks();
        let key = tasks.create(time, id, client.owner, ttl_ms)?;
        let info = tasks.info(key).ok_or(TaskError::Full)?;
        let kept = Kept {
            owner: share_of(client.owner),
            client: features,
            session,
            created_in: client.session,
            ..Kept::new(key)
        };
        self.keep(kept);
        self.differs(key, time);
        Ok((key, info))
    }

    /// Takes a task of an earlier process over. Returns `false` if it is not needed any more, or
    /// has no room.
    #[cfg(feature = "store")]
    pub fn restore(&mut self, time: TaskTime, owner: TaskOwner, record: &TaskRecord) -> bool {
        if !self.has_room() {
            return false;
        }
        let restored = self.tasks().restore(time, record.id, owner, &record.stored());
        let Ok(Some(key)) = restored else { return false };
        let outcome = record.outcome.as_ref().and_then(TaskOutcome::result);
        let len = outcome.as_ref().map_or(0, len);
        let outcome = outcome.map(Arc::new);
        self.keep(Kept { outcome, owner: share_of(owner), ..Kept::new(key) });
        let _ = self.take_room(key, len, PlaceLimit::UNLIMITED);
        true
    }

    /// Removes a task whose creation was not told. Its owner may have seen it in a list: a
    /// `tasks/result` that waits for it gets an error.
    pub fn remove(&mut self, task: TaskKey) {
        self.ended(task);
        self.tasks().remove(task);
        self.forget(task);
    }

    /// Gives back what a task takes that is gone.
    fn forget(&mut self, task: TaskKey) {
        let place = self.kept.get_mut(task.index());
        let kept = place.and_then(|place| place.take_if(|kept| kept.key == task));
        let Some(kept) = kept else { return };
        self.own -= usize::from(kept.is_run_here());
        let Kept { len, owner, waiting, .. } = kept;
        self.results.give_back(len, owner.as_ref());
        for Waiting { client, waker, .. } in waiting {
            self.waiting.give_back(1, client.as_ref());
            self.woken.extend(waker);
        }
    }

    /// Returns whether one more task has room, beside those of other servers.
    pub fn has_room(&self) -> bool {
        self.own < usize::from(self.limits.max_tasks)
    }

    /// Returns a task, as long as it is kept.
    pub fn info(&mut self, task: TaskKey) -> Option<TaskInfo> {
        self.tasks().info(task)
    }

    /// Returns whether a task has not ended.
    pub fn is_live(&mut self, task: TaskKey) -> bool {
        self.info(task).is_some_and(|info| info.is_live())
    }

    /// Returns whether a task is live, and whether clients are to be told of a change. The life of
    /// its call is woken when either is different.
    pub fn watch(&mut self, task: TaskKey, life: &Waker) -> (bool, bool) {
        let is_live = self.is_live(task);
        let Some(kept) = self.kept(task) else { return (false, false) };
        if !kept.is_run_here() {
            return (false, kept.is_changed);
        }
        kept.life = Some(life.clone());
        #[cfg(feature = "store")]
        if kept.is_unstored() {
            return (is_live, false);
        }
        (is_live, kept.is_changed)
    }

    /// Sets the status message of a task, and its progress if there is some.
    pub fn set_message(
        &mut self,
        time: TaskTime,
        task: TaskKey,
        message: &str,
        progress: Option<Progress<'static>>,
    ) {
        if !self.is_live(task) {
            return;
        }
        let mut is_new = self.tasks().set_message(time, task, &message);
        if progress.is_some()
            && let Some(kept) = self.kept(task)
        {
            is_new |= kept.progress.as_deref() != progress.as_ref();
            kept.progress = progress.map(Arc::new);
        }
        if is_new {
            self.changed(task);
            #[cfg(feature = "store")]
            self.compare_soon(task, time.now);
        }
    }

    /// Takes the room for the result of a task that is going to end with it: an owner may have one
    /// of any length. Does nothing for a task that has ended.
    ///
    /// # Errors
    /// The error with which the task is to end: there is no room.
    pub fn keep_room(
        &mut self,
        time: TaskTime,
        task: TaskKey,
        outcome: &TaskResult,
    ) -> Result<(), RpcError<'static>> {
        // Results whose time is over take no room.
        self.expire(time);
        if !self.is_live(task) {
            return Ok(());
        }
        let mut limit = PlaceLimit::percent(self.limits.max_results, CLIENT_SHARE);
        let owner = self.kept(task).and_then(|kept| kept.owner);
        if owner.is_some_and(|owner| self.results.taken_by(&owner) == 0) {
            limit.share = limit.total;
        }
        self.take_room(task, len(outcome), limit)
            .map_err(|_| RpcError::internal("There is no room for the result of the task"))
    }

    /// Ends a task with the outcome of its handler, after [`keep_room`](Self::keep_room) if that is
    /// a result. Returns `false` if it has ended already.
    pub fn finish(&mut self, time: TaskTime, task: TaskKey, outcome: TaskResult) -> bool {
        self.expire(time);
        if !self.is_run_here(task) {
            return false;
        }
        let (end, message) = end_of(&outcome);
        let mut tasks = self.tasks();
        if let Some(message) = message {
            tasks.set_message(time, task, &message);
        }
        let is_first = tasks.end(time, task, end);
        if is_first {
            if let Some(kept) = self.kept(task) {
                kept.outcome = Some(Arc::new(outcome));
            }
            self.ended(task);
            self.differs(task, time);
        }
        is_first
    }

    /// Returns how a task is now, and forgets that clients are to be told of a change.
    pub fn news(&mut self, task: TaskKey) -> Option<TaskView<S>> {
        let view = self.view(task)?;
        self.kept(task)?.is_changed = false;
        Some(view)
    }

    /// Returns how a task is now.
    pub fn view(&mut self, task: TaskKey) -> Option<TaskView<S>> {
        let info = self.tasks().info(task)?;
        let kept = self.kept(task)?;
        let Kept { client, is_listened, ref session, .. } = *kept;
        let (content, session) = (kept.content(), session.clone());
        Some(TaskView { task, info, content, client, session, is_listened })
    }

    // What a task asks its client.

    /// Begins to wait for input. Returns the number of the input request.
    ///
    /// # Errors
    /// The error for the handler: the task has too many open ones, or has ended.
    pub fn ask(
        &mut self,
        time: TaskTime,
        task: TaskKey,
        json: OwnedJson,
        needs: ClientFeatures,
        travels: bool,
    ) -> Result<u64, ToolError<'static>> {
        #[cfg(feature = "store")]
        if let Some(number) = self.ask_again(time, task, &json) {
            return Ok(number.into());
        }
        let Some(number) = self.tasks().ask(time, task) else {
            return Err(match self.is_live(task) {
                true => ToolError::internal("The task has too many open input requests"),
                false => ToolError::GONE,
            });
        };
        let request = OpenInput { number, request: Arc::new(json), needs };
        #[cfg(feature = "store")]
        let is_fleet = self.fleet.is_some();
        if let Some(kept) = self.kept(task) {
            #[cfg(feature = "store")]
            if is_fleet {
                kept.shared.asked.push(request.clone());
            }
            kept.inputs.insert(number, Input::new(request, travels));
        }
        self.wake_askers(task);
        self.changed(task);
        self.differs(task, time);
        Ok(number.into())
    }

    /// Polls for the response to an input request.
    pub fn poll_input(&mut self, waker: &Waker, task: TaskKey, number: u64) -> Poll<Response> {
        let number = u32::try_from(number).unwrap_or(0);
        let Some(kept) = self.kept(task) else { return Poll::Ready(Err(ToolError::GONE)) };
        match kept.inputs.get_mut(&number) {
            Some(input) if input.response.is_none() => {
                input.waker = Some(waker.clone());
                Poll::Pending
            }
            _ => {
                let response = kept.inputs.remove(&number).and_then(|input| input.response);
                Poll::Ready(response.unwrap_or(Err(ToolError::GONE)))
            }
        }
    }

    /// Hands in the response to an input request that was part of another request.
    pub fn answer(&mut self, time: TaskTime, task: TaskKey, number: u32, response: Response) {
        self.respond_to_input(task, number, response);
        self.withdraw(time, task, number);
        self.differs(task, time);
    }

    /// The handler does not wait for an input any more.
    pub fn leave_input(&mut self, time: TaskTime, task: TaskKey, place: u64) {
        let number = u32::try_from(place).unwrap_or(0);
        if self.kept(task).is_some_and(|kept| kept.inputs.remove(&number).is_some()) {
            self.wake_askers(task);
        }
        self.withdraw(time, task, number);
    }

    fn respond_to_input(&mut self, task: TaskKey, number: u32, response: Response) {
        #[cfg(feature = "store")]
        if self.fleet.is_some()
            && let Some(kept) = self.kept(task)
        {
            kept.shared.answered(number, response.as_ref().ok().cloned());
        }
        self.wake_with(task, number, response);
    }

    fn wake_with(&mut self, task: TaskKey, number: u32, response: Response) {
        if let Some(input) = self.kept(task).and_then(|kept| kept.inputs.get_mut(&number)) {
            input.response = Some(response);
            let waker = input.waker.take();
            self.woken.extend(waker);
        }
    }

    fn withdraw(&mut self, time: TaskTime, task: TaskKey, number: u32) {
        if self.tasks().withdraw(time, task, number) {
            self.changed(task);
            self.differs(task, time);
        }
    }

    /// A task is not as its record says.
    fn differs(&mut self, task: TaskKey, time: TaskTime) {
        #[cfg(feature = "store")]
        self.compare_at(task, time.now);
        #[cfg(not(feature = "store"))]
        let _ = (task, time);
    }

    // Requests of 2025-11-25 that wait for the result of a task.

    /// Keeps a `tasks/result` until its task has ended, in the share of this client, in percent.
    /// Returns its number.
    ///
    /// # Errors
    /// The response, if there are too many or the task has ended.
    pub fn wait(
        &mut self,
        task: TaskKey,
        (client, share): (Option<u64>, u8),
        channel: C,
    ) -> Result<u64, Box<TaskResponse>> {
        if !self.is_live(task) {
            return Err(Box::new(self.result(task)));
        }
        let limit = PlaceLimit::percent(self.limits.max_waiting, share);
        if self.waiting.take(1, client.as_ref(), limit).is_err() {
            let error = RpcError::internal("Too many requests wait for tasks: poll with tasks/get");
            return Err(Box::new(TaskResponse::error(error)));
        }
        self.last_waiting += 1;
        let number = self.last_waiting;
        let Some(kept) = self.kept(task) else {
            self.waiting.give_back(1, client.as_ref());
            return Err(Box::new(TaskResponse::error(INTERNAL)));
        };
        kept.waiting.push(Waiting { number, client, waker: None, channel, is_open: true });
        Ok(number)
    }

    /// Returns the response to a request that has waited for the end of a task.
    pub fn result(&mut self, task: TaskKey) -> TaskResponse {
        let reply = self.tasks().result(task);
        self.response(reply)
    }

    /// Returns the `tasks/result` that messages of a task can be sent with.
    pub fn channel(&mut self, task: TaskKey) -> Option<C> {
        let waiting = self.kept(task)?.waiting.iter().find(|waiting| waiting.is_open)?;
        Some(waiting.channel.clone())
    }

    /// Adds the questions that travel with no other request to those that were `asked` with this
    /// one. Returns the places of those whose handler does not wait any more, and `None` if the
    /// task has ended.
    pub fn take_questions(
        &mut self,
        task: TaskKey,
        number: u64,
        waker: &Waker,
        asked: &mut Vec<TaskQuestion>,
    ) -> Option<Vec<u64>> {
        if !self.is_live(task) {
            return None;
        }
        let Kept { inputs, waiting, .. } = self.kept(task)?;
        let waiting = waiting.iter_mut().find(|waiting| waiting.number == number)?;
        waiting.waker = Some(waker.clone());
        let mut withdrawn = Vec::new();
        asked.retain(|asked| {
            let is_awaited = inputs.contains_key(&asked.input);
            withdrawn.extend(asked.place.filter(|_| !is_awaited));
            is_awaited
        });
        for input in inputs.values_mut().filter(|input| waiting.is_open && input.is_to_be_asked()) {
            input.asked_by = Some(number);
            let json = Some((*input.request.request).clone());
            asked.push(TaskQuestion { input: input.request.number, json, place: None });
        }
        Some(withdrawn)
    }

    /// Leaves a question to another request, since nothing more can be sent with this one.
    pub fn give_up(&mut self, task: TaskKey, number: u64, input: u32) {
        let Some(kept) = self.kept(task) else { return };
        if let Some(waiting) = kept.waiting.iter_mut().find(|waiting| waiting.number == number) {
            waiting.is_open = false;
        }
        if let Some(input) = kept.inputs.get_mut(&input) {
            input.asked_by = None;
        }
        self.wake_askers(task);
    }

    /// A `tasks/result` does not wait any more. Gives its place and its questions back.
    pub fn leave(&mut self, task: TaskKey, number: u64) {
        let Some(kept) = self.kept(task) else { return };
        let is_this = |waiting: &Waiting<C>| waiting.number == number;
        let Some(at) = kept.waiting.iter().position(is_this) else { return };
        let client = kept.waiting.remove(at).client;
        for input in kept.inputs.values_mut() {
            input.asked_by = input.asked_by.filter(|by| *by != number);
        }
        self.waiting.give_back(1, client.as_ref());
        self.wake_askers(task);
        #[cfg(feature = "store")]
        self.release(task);
    }

    /// Returns whether this server runs a task, or has.
    pub fn is_run_here(&mut self, task: TaskKey) -> bool {
        self.kept(task).is_some_and(|kept| kept.is_run_here())
    }

    fn tasks(&mut self) -> Tasks<'_> {
        self.tasks.tasks(&self.limits.config)
    }

    fn kept(&mut self, task: TaskKey) -> Option<&mut Kept<S, C>> {
        kept_in(&mut self.kept, task)
    }

    fn keep(&mut self, kept: Kept<S, C>) {
        self.own += usize::from(kept.is_run_here());
        let index = kept.key.index();
        if self.kept.len() <= index {
            self.kept.resize_with(index + 1, || None);
        }
        if let Some(place) = self.kept.get_mut(index) {
            *place = Some(kept);
        }
    }

    fn response(&mut self, reply: TaskReply) -> TaskResponse {
        let kept = reply.content_of().and_then(|task| self.kept(task));
        TaskResponse { reply, content: kept.map_or_else(Content::default, |kept| kept.content()) }
    }

    /// Clients are to be told of a change.
    fn changed(&mut self, task: TaskKey) {
        if let Some(kept) = self.kept(task)
            && (kept.is_listened || kept.session.is_some())
            && !replace(&mut kept.is_changed, true)
        {
            let life = kept.life.take();
            self.woken.extend(life);
        }
    }

    /// Counts the bytes of the result of a task in the share of its owner, in place of those that
    /// it has.
    fn take_room(&mut self, task: TaskKey, len: usize, limit: PlaceLimit) -> Result<(), NoPlace> {
        let Self { kept, results, .. } = self;
        let Some(kept) = kept_in(kept, task) else { return Ok(()) };
        results.give_back(replace(&mut kept.len, 0), kept.owner.as_ref());
        results.take(len, kept.owner.as_ref(), limit)?;
        kept.len = len;
        Ok(())
    }

    /// The handler is not needed any more, and the result can be told.
    fn ended(&mut self, task: TaskKey) {
        let Some(kept) = self.kept(task) else { return };
        let len = kept.outcome.as_deref().map_or(0, len);
        let _ = self.take_room(task, len, PlaceLimit::UNLIMITED);
        let Some(kept) = self.kept(task) else { return };
        let (life, inputs) = (kept.life.take(), take(&mut kept.inputs));
        let waiting = kept.waiting.iter_mut().filter_map(|waiting| waiting.waker.take());
        let woken: Vec<Waker> = waiting.chain(life).collect();
        self.woken.extend(woken);
        self.woken.extend(inputs.into_values().filter_map(|input| input.waker));
        // The life of one that runs here tells it.
        if !self.is_run_here(task) {
            self.changed(task);
        }
    }

    /// Wakes the requests that questions can be sent with.
    fn wake_askers(&mut self, task: TaskKey) {
        let Some(kept) = kept_in(&mut self.kept, task) else { return };
        let open = kept.waiting.iter_mut().filter(|waiting| waiting.is_open);
        self.woken.extend(open.filter_map(|waiting| waiting.waker.take()));
    }
}

fn kept_in<S, C>(all: &mut [Option<Kept<S, C>>], task: TaskKey) -> Option<&mut Kept<S, C>> {
    // Its place may have become that of another.
    all.get_mut(task.index())?.as_mut().filter(|kept| kept.key == task)
}

impl<S, C> Kept<S, C> {
    fn new(key: TaskKey) -> Self {
        Self {
            key,
            life: None,
            outcome: None,
            len: 0,
            progress: None,
            owner: None,
            inputs: BTreeMap::new(),
            client: ClientFeatures::NONE,
            session: None,
            created_in: None,
            is_listened: false,
            listening: 0,
            waiting: Vec::new(),
            is_changed: false,
            #[cfg(feature = "store")]
            shared: fleet::Shared::default(),
        }
    }

    /// Whether this server runs it, or has.
    const fn is_run_here(&self) -> bool {
        #[cfg(feature = "store")]
        return !self.shared.is_foreign();
        #[cfg(not(feature = "store"))]
        true
    }

    fn content(&self) -> Content {
        let open = self.inputs.values().filter(|input| input.response.is_none());
        Content {
            outcome: self.outcome.clone(),
            progress: self.progress.clone(),
            inputs: open.map(|input| input.request.clone()).collect(),
        }
    }
}

impl Input {
    const fn new(request: OpenInput, travels: bool) -> Self {
        Self { request, response: None, waker: None, travels, asked_by: None }
    }

    const fn is_to_be_asked(&self) -> bool {
        self.travels && self.asked_by.is_none() && self.response.is_none()
    }
}

/// A task at one moment, which is written where no lock is held.
pub struct TaskView<S> {
    task: TaskKey,
    /// How it goes.
    pub info: TaskInfo,
    content: Content,
    client: ClientFeatures,
    /// The session that is told of changes (2025-11-25).
    pub session: Option<S>,
    /// Whether there was a subscription to it (2026-07-28).
    pub is_listened: bool,
}

impl<S> TaskView<S> {
    /// Returns what its session (2025-11-25) and those that subscribed to it (2026-07-28) are told.
    /// `None` if it is long: clients poll for more.
    pub fn details(&self, revision: Revision) -> Option<OwnedJson> {
        let details = self.info.details(self.task, &self.content, self.client);
        let details = OwnedJson::new(&details, revision).ok()?;
        Some(details).filter(|details| details.as_json().as_str().len() <= MAX_TOLD)
    }
}

/// A response about a task, with what it needs of the content of the task.
pub struct TaskResponse {
    reply: TaskReply,
    content: Content,
}

/// The content of a task at one moment.
#[derive(Default)]
struct Content {
    outcome: Option<Arc<TaskResult>>,
    progress: Option<Arc<Progress<'static>>>,
    inputs: Vec<OpenInput>,
}

/// An input request of a task.
#[derive(Clone)]
struct OpenInput {
    number: u32,
    request: Arc<OwnedJson>,
    needs: ClientFeatures,
}

impl TaskResponse {
    pub(crate) fn new(reply: TaskReply, outcome: Option<Arc<TaskResult>>) -> Self {
        Self { reply, content: Content { outcome, ..Content::default() } }
    }

    /// The response to a call that has become a task.
    pub fn created(info: TaskInfo) -> Self {
        TaskReply::created(info).into()
    }

    fn error(error: RpcError<'static>) -> Self {
        TaskReply::error(error).into()
    }

    /// Returns the error, if there is no task.
    pub const fn as_error(&self) -> Option<&RpcError<'static>> {
        self.reply.as_error()
    }

    /// Returns the kind of the response.
    pub fn kind(&self, revision: Revision) -> ResponseKind {
        self.reply.kind(revision)
    }

    /// Makes one attempt to respond.
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.reply.send(&self.content, server, request, tx)
    }

    /// Makes one attempt to respond to a server.
    pub(crate) fn send_to_server(
        &self,
        client: &mut Client<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.reply.send_to_server(&self.content, client, request, tx)
    }
}

impl From<TaskReply> for TaskResponse {
    fn from(reply: TaskReply) -> Self {
        Self::new(reply, None)
    }
}

impl Content {
    fn input(&self, number: u32) -> Option<&OpenInput> {
        self.inputs.iter().find(|input| input.number == number)
    }
}

impl TaskContent for Content {
    fn result(&self, _: TaskKey, to: &mut Encoder<'_>) {
        if let Some(Ok(result)) = self.outcome.as_deref() {
            to.raw(result.as_json());
        }
    }

    fn error(&self, _: TaskKey) -> RpcError<'_> {
        match self.outcome.as_deref() {
            Some(Err(error)) => error.as_error(),
            _ => INTERNAL,
        }
    }

    fn input_request(&self, _: TaskKey, number: u32, to: &mut Encoder<'_>) {
        if let Some(input) = self.input(number) {
            to.raw(input.request.as_json());
        }
    }

    fn progress(&self, _: TaskKey) -> Option<Progress<'_>> {
        self.progress.as_deref().copied()
    }

    fn needs(&self, _: TaskKey, number: u32) -> ClientFeatures {
        self.input(number).map_or(ClientFeatures::NONE, |input| input.needs)
    }
}

/// Returns the ids of the tasks that a subscription names. It is refused if it names more than
/// [`MAX_LISTENED`].
pub fn listened_ids(request: &Request<'_>) -> BTreeSet<TaskId> {
    let ids = request.params.get("notifications").and_then(|filter| filter.get("taskIds"));
    let ids = ids.filter(|ids| ids.is_array()).into_iter().flat_map(RawJson::elements);
    ids.take(MAX_LISTENED).filter_map(|id| TaskId::parse(id.as_string()?)).collect()
}

/// Returns how a task ends with the result of its handler, and its status message then, unless it
/// keeps the one that it has.
pub(crate) fn end_of(outcome: &TaskResult) -> (TaskEnd, Option<String>) {
    match outcome {
        Ok(result) if !is_error(result.as_json()) => (TaskEnd::Completed, None),
        Ok(result) => (TaskEnd::ToolFailed, failure(result.as_json())),
        Err(error) => (TaskEnd::Failed, Some(error.as_error().message.to_owned())),
    }
}

/// Returns the number of bytes of a result.
fn len(outcome: &TaskResult) -> usize {
    outcome.as_ref().map_or(0, |result| result.as_json().as_str().len())
}

/// Returns in whose share a result is: everybody has none.
fn share_of(owner: TaskOwner) -> Option<TaskOwner> {
    (owner.0 > 0).then_some(owner)
}

/// Returns whether the result of a tool says that it failed.
pub fn is_error(result: RawJson<'_>) -> bool {
    result.get("isError").and_then(RawJson::as_bool) == Some(true)
}

/// Returns the text of a result with `isError`.
pub fn failure(result: RawJson<'_>) -> Option<String> {
    let text = result.get("content")?.elements().next()?.get("text")?;
    Some(text.as_string()?.to_string())
}

/// The share of an owner of tasks, in percent.
pub const CLIENT_SHARE: u8 = 25;
/// Maximum length of the state of a task in a notification.
const MAX_TOLD: usize = 64 << 10;
pub(crate) const INTERNAL: RpcError<'static> = RpcError::internal("Internal error");
