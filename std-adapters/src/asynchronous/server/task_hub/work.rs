//! A call that may become a task, and the task that it becomes.

use std::fmt;
use std::future::{Future as _, poll_fn};
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use mcp_sansio::tasks::{TaskEnd, TaskError, TaskId, TaskInfo, TaskKey, TaskMode};
use mcp_sansio::types::{InputRequest, TaskSupport};
use mcp_sansio::{
    Amount, ClientFeatures, OwnedJson, Progress, Request, Revision, RpcError, Server, Target,
    ToolError,
};
use mcp_sansio_engine::internal::is_error;

use super::fleet::{Again, call_of, list_of};
use super::{Channel, State, TaskClient, TaskHub, TaskResponse, TaskResult};
use crate::asynchronous::server::admission::Found;
use crate::asynchronous::server::app::Settings;
use crate::asynchronous::server::broadcast::Broadcaster;
use crate::asynchronous::server::context::{ActiveRequest, owner_text};
use crate::asynchronous::server::reply::{HandlerResult, PANICKED, PendingResponse, Reply};
use crate::asynchronous::server::source::RequestSource;
use crate::lock::lock;
use crate::observer::Ended;
use crate::panics::Panic;
use crate::runtime;
use crate::runtime::timer::Timer;
use crate::store::{StoreError, TaskOutcome, TaskRecord, TaskStore};

/// A call that may become a task.
pub(crate) struct TaskWork {
    hub: Arc<TaskHub>,
    client: TaskClient,
    features: ClientFeatures,
    /// The time that the client asks for.
    ttl_ms: Option<u64>,
    /// When the call becomes a task.
    pub(crate) after: Duration,
    /// Whether the call must not be a call.
    pub(crate) is_required: bool,
    task: OnceLock<(TaskKey, TaskId)>,
    pub(crate) again: Again,
    /// Number of states that the handler has begun to save.
    pub(super) saves: AtomicU64,
    /// The progress that the client was told last, and when.
    reported: Mutex<Option<(Amount, Instant)>>,
    progress_interval: Duration,
}

impl TaskWork {
    /// Returns the work of a call of a tool that may become a task.
    ///
    /// # Errors
    /// The response to a call that the tool does not take in this way.
    pub(crate) fn new(
        settings: &Settings,
        request: &Request<'_>,
        found: Option<&Found>,
        client: impl FnOnce() -> TaskClient,
        server: &Server<'_>,
    ) -> Result<Option<Box<Self>>, RpcError<'static>> {
        let Some(Target::Tool(tool)) = found.map(Found::target) else { return Ok(None) };
        let hub = &settings.tasks;
        let (ttl_ms, after, is_asked) = match server.task_mode(request, tool.task_support())? {
            TaskMode::Call => return Ok(None),
            TaskMode::Either => {
                let Some(name) = tool.key().as_plain() else { return Ok(None) };
                (None, hub.options.after_of(name), false)
            }
            TaskMode::Task { ttl_ms } => (ttl_ms, Duration::ZERO, true),
        };
        Ok(Some(Box::new(Self {
            hub: Arc::clone(hub),
            client: client(),
            features: request.capabilities,
            ttl_ms,
            after,
            is_required: is_asked || tool.task_support() == TaskSupport::Required,
            task: OnceLock::new(),
            again: Again::new(server),
            saves: AtomicU64::new(0),
            reported: Mutex::default(),
            progress_interval: settings.config.progress_interval,
        })))
    }

    /// Creates the task, which no client knows yet. Returns `None` if the call goes on as a call
    /// because there are too many tasks.
    ///
    /// # Errors
    /// The response to a call that has to be a task.
    pub(crate) fn create(
        &self,
        revision: Revision,
        source: &Arc<dyn RequestSource>,
    ) -> Result<Option<NewTask>, PendingResponse> {
        let session = (!revision.is_modern()).then(|| Arc::downgrade(source));
        let Self { client, ttl_ms, features, .. } = *self;
        let mut id = [0; 16];
        // Without random numbers ids could be guessed.
        let created = getrandom::fill(&mut id).map_err(|_| TaskError::Full).and_then(|()| {
            let id = TaskId::new(id);
            self.hub.with(|hub, time| hub.create(time, id, client, ttl_ms, features, session))
        });
        match created {
            Ok(created) => Ok(Some(NewTask::new(&self.hub, created, false))),
            Err(error) if self.is_required => {
                Err(PendingResponse::Refused(RpcError::internal(error.as_str())))
            }
            Err(_) => Ok(None),
        }
    }

    /// Makes the call the task, and tells the observer. Returns the response.
    pub(crate) fn begin<'l>(
        &self,
        mut new: NewTask,
        request: &ActiveRequest,
        broadcaster: &'l Broadcaster,
    ) -> (LiveTask<'l>, PendingResponse) {
        new.is_told = true;
        let id = new.info.id();
        let _ = self.task.set((new.key, id));
        request.tell(|observed| observed.became(id));
        let response = TaskResponse::created(new.info).into();
        (LiveTask { new, broadcaster, is_over: false }, response)
    }

    /// Returns the task, once the call is one.
    pub(crate) fn key(&self) -> Option<TaskKey> {
        self.task.get().map(|(key, _)| *key)
    }

    pub(crate) fn id(&self) -> Option<TaskId> {
        self.task.get().map(|(_, id)| *id)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.key().is_some_and(|task| self.hub.lock().is_live(task))
    }

    pub(crate) fn set_message(
        &self,
        message: &dyn fmt::Display,
        progress: Option<Progress<'static>>,
    ) {
        if let Some(task) = self.key() {
            // Formatted before the lock, since the code of the program may do anything.
            let message = message.to_string();
            self.hub.with(|hub, time| hub.set_message(time, task, &message, progress));
        }
    }

    /// Sets the progress and the status message. Returns whether a client of 2025-11-25 is to be
    /// told.
    pub(crate) fn set_progress(&self, progress: &Progress<'_>, revision: Revision) -> bool {
        self.set_message(progress, Some(progress.numbers()));
        if revision.is_modern() {
            return false;
        }
        let mut reported = lock(&self.reported);
        let is_more = reported.is_none_or(|(done, at)| {
            progress.done() > done && runtime::elapsed(at) >= self.progress_interval
        });
        if is_more {
            *reported = Some((progress.done(), runtime::now()));
        }
        is_more
    }

    /// Returns how the task ends with the result of its handler, and what an observer is told.
    pub(crate) fn outcome(
        &self,
        request: &ActiveRequest,
        result: Result<HandlerResult, Panic>,
    ) -> (TaskResult, Ended) {
        let mut outcome = match result {
            Ok(Ok(Reply(json))) => Ok(json),
            Ok(Err(error)) => error.task_result(request.revision()),
            Err(panic) => {
                request.tell(|observed| observed.panic(&panic));
                return (Err(RpcError::internal(PANICKED).into()), Ended::Panicked);
            }
        };
        // Before it is saved: other servers read that, and so does the next process.
        let keep_room = |task| self.hub.with(|hub, time| hub.keep_room(time, task, &outcome));
        if let Some(Err(error)) = self.key().map(keep_room) {
            request.tell(|observed| observed.because(&error));
            outcome = Err(error.into());
        }
        let how = match &outcome {
            Ok(json) if is_error(json.as_json()) => Ended::ToolFailed,
            Ok(_) => Ended::Responded,
            Err(error) => Ended::Error(error.as_error().code.number(request.revision())),
        };
        (outcome, how)
    }

    /// Ends the task, and tells the observer. Returns `false` if it has ended already, unless that
    /// is this end, which the store had first, with its time.
    pub(crate) fn end(
        &self,
        request: &ActiveRequest,
        outcome: TaskResult,
        (how, stored): (Ended, Option<u64>),
    ) -> bool {
        let Some(task) = self.key() else { return false };
        let is_first = self.hub.with(|hub, mut time| {
            time.unix_ms = stored.unwrap_or(time.unix_ms);
            hub.finish(time, task, outcome)
        });
        let is_first = is_first || stored.is_some() && self.hub.node().is_some();
        if is_first {
            request.tell(|observed| observed.ended(how));
        }
        is_first
    }

    /// Tells the observer that the task is over without its handler.
    pub(crate) fn is_over(&self, request: &ActiveRequest) {
        request.tell(|observed| {
            let state = self.key().map(|task| {
                let mut hub = self.hub.lock();
                (hub.info(task).and_then(|info| info.end()), hub.is_run_here(task))
            });
            observed.ended(match state {
                Some((Some(TaskEnd::Cancelled), _)) => Ended::Cancelled,
                Some((_, false)) => Ended::Gone,
                _ => Ended::Expired,
            });
        });
    }

    pub(crate) fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        task: TaskKey,
        request: &InputRequest<'_>,
        revision: Revision,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let number = match *place {
            Some(number) => number,
            None => {
                let json = OwnedJson::new(request, revision)?;
                let (needs, travels) = (request.required_capabilities(), !revision.is_modern());
                let ask = self.hub.with(|hub, time| hub.ask(time, task, json, needs, travels));
                *place.insert(ask?)
            }
        };
        self.hub.lock().poll_input(cx.waker(), task, number)
    }

    /// Returns the request with which a message of a task goes to its session (2025-11-25): over
    /// HTTP only a `tasks/result` of the same session, since nothing else may read it.
    pub(crate) fn channel(&self, task: TaskKey, active: &ActiveRequest) -> Option<Channel> {
        let server = |request: &ActiveRequest| request.origin.as_ref().map(|it| it.server);
        // Servers of one application have equal keys.
        let is_same = |request: &ActiveRequest| {
            request.slot.connection() == active.slot.connection()
                && server(request) == server(active)
        };
        self.hub.lock().channel(task).filter(|(request, _)| is_same(request))
    }

    pub(crate) fn leave_input(&self, task: TaskKey, place: u64) {
        self.hub.with(|hub, time| hub.leave_input(time, task, place));
    }
}

/// A task that no client was told of. Dropping it removes the task again, and its record.
pub(crate) struct NewTask {
    hub: Arc<TaskHub>,
    key: TaskKey,
    info: TaskInfo,
    expires: Timer,
    is_told: bool,
    record: Arc<Mutex<Record>>,
}

/// What has become of the record of a new task.
#[derive(Default, PartialEq)]
enum Record {
    #[default]
    None,
    /// And it is in this list.
    Saved(Option<String>),
    /// It is not wanted any more: whoever saves it removes it.
    Withdrawn,
}

impl NewTask {
    /// `is_told` says that clients know the task, since this server calls its handler again.
    pub(super) fn new(hub: &Arc<TaskHub>, (key, info): (TaskKey, TaskInfo), is_told: bool) -> Self {
        let age = hub.time().unix_ms.saturating_sub(info.created_unix_ms());
        let left = Duration::from_millis(info.ttl_ms().saturating_sub(age));
        let (hub, record) = (Arc::clone(hub), Arc::default());
        Self { hub, key, info, expires: Timer::after(left), is_told, record }
    }

    /// Saves the record of the task, if there is a store.
    pub(crate) async fn save(&self, request: &ActiveRequest) -> Result<(), StoreError> {
        let Some(store) = self.hub.store() else { return Ok(()) };
        let hub = Arc::clone(&self.hub);
        let new = record(&hub, request, &self.info, None);
        let list = list_of(&request.origin).filter(|_| new.node.is_some());
        let stage = Arc::clone(&self.record);
        let save = move |store: &TaskStore| {
            lock(&hub.saving).insert(new.id);
            let saved = hub.save_new(store, list.as_deref(), &new);
            if replace(&mut *lock(&stage), Record::Saved(list.clone())) == Record::Withdrawn {
                hub.withdraw(store, list.as_deref(), new.id);
            }
            lock(&hub.saving).remove(&new.id);
            saved
        };
        store.run(save).await
    }
}

/// Returns the record of a task. `end` is how it has ended, if it has.
fn record(
    hub: &TaskHub,
    request: &ActiveRequest,
    info: &TaskInfo,
    end: Option<Option<&TaskResult>>,
) -> TaskRecord {
    let arguments = request.request.as_request().arguments().as_json().as_str().to_owned();
    let (created, ttl) = (info.created_unix_ms(), info.ttl_ms());
    let mut record = TaskRecord::new(info.id(), request.name(), arguments, created, ttl);
    record.update(info);
    record.owner = owner_text(&request.origin);
    record.node = hub.node();
    record.call = record.node.as_ref().and_then(|_| call_of(request));
    match end {
        None => {}
        Some(Some(end)) => record.end(hub.time().unix_ms, end),
        Some(None) if info.end() == Some(TaskEnd::Cancelled) => {
            record.outcome = Some(TaskOutcome::Cancelled);
        }
        Some(None) => {
            let expired = RpcError::internal("The task has expired");
            record.end(info.updated_unix_ms(), &Err(expired.into()));
        }
    }
    record
}

impl Drop for NewTask {
    fn drop(&mut self) {
        if self.is_told {
            return;
        }
        let saved = replace(&mut *lock(&self.record), Record::Withdrawn);
        let (hub, id, key) = (Arc::clone(&self.hub), self.info.id(), self.key);
        if let Record::Saved(list) = saved
            && let Some(store) = self.hub.store()
        {
            // While the task is here, this server does not take it for one that was left.
            return store.run_apart(move |store| {
                hub.withdraw(store, list.as_deref(), id);
                hub.with(|hub, _| hub.remove(key));
            });
        }
        hub.with(|hub, _| hub.remove(key));
    }
}

/// A call that is a task. Dropping it ends the task.
pub(crate) struct LiveTask<'l> {
    new: NewTask,
    broadcaster: &'l Broadcaster,
    is_over: bool,
}

impl LiveTask<'_> {
    /// Tells clients of changes. Returns `Ready` when the task is over.
    pub(crate) fn poll_over(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        loop {
            let NewTask { hub, key, expires, .. } = &mut self.new;
            let (is_live, is_changed) = hub.lock().watch(*key, cx.waker());
            if is_changed {
                hub.publish(*key, self.broadcaster);
            }
            if !is_live {
                return Poll::Ready(());
            }
            if Pin::new(&mut *expires).poll(cx).is_pending() {
                return Poll::Pending;
            }
            hub.with(State::expire);
            *expires = Timer::after(Duration::from_millis(1));
        }
    }

    /// Tells clients of the end. A task that is live has failed, as the server does not go on; in a
    /// fleet another may.
    pub(crate) fn over(&mut self) {
        if !replace(&mut self.is_over, true) {
            let NewTask { hub, key, .. } = &self.new;
            let is_told = hub.with(|hub, time| {
                if hub.is_live(*key) && hub.node().is_some() {
                    hub.leave_to_others(*key);
                } else if hub.is_live(*key) {
                    hub.finish(time, *key, Err(RpcError::internal(SHUT_DOWN).into()));
                }
                hub.is_run_here(*key)
            });
            if is_told {
                hub.publish(*key, self.broadcaster);
            }
        }
    }

    /// Saves how the task has ended, if there is a store: with an outcome, or without its handler.
    ///
    /// In a fleet it may have ended elsewhere, or be another server's: then that counts. Returns
    /// the time of this end if it is now in the store; in a fleet it counts, whatever happens here.
    pub(crate) async fn save(
        &mut self,
        request: &ActiveRequest,
        outcome: Option<&TaskResult>,
    ) -> Result<Option<u64>, StoreError> {
        let hub = Arc::clone(&self.new.hub);
        let (Some(store), Some(info)) = (hub.store(), hub.lock().info(self.new.key)) else {
            return Ok(None);
        };
        let record = record(&hub, request, &info, Some(outcome));
        let unix_ms = record.updated_unix_ms;
        let saver = Arc::clone(&hub);
        let mut saving = pin!(store.run(move |store| saver.save_end(store, &record)));
        let saved = poll_fn(|cx| {
            if self.poll_over(cx).is_ready() {
                self.over();
            }
            saving.as_mut().poll(cx)
        })
        .await;
        if let Ok(false) = saved {
            hub.with(|hub, _| hub.leave_to_others(self.new.key));
        }
        Ok(saved?.then_some(unix_ms))
    }
}

impl Drop for LiveTask<'_> {
    fn drop(&mut self) {
        self.over();
    }
}

/// The error of tasks that run for longer than the server.
const SHUT_DOWN: &str = "The server was shut down";
