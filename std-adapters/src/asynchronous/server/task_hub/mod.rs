//! Tasks of an application: calls that go on after their response. All connections share them.

mod fleet;
mod work;

pub(crate) use mcp_sansio_engine::internal::{TaskClient, TaskResponse, TaskResult};
pub(crate) use work::{LiveTask, NewTask, TaskWork};

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::tasks::{TaskId, TaskKey, TaskOwner, TaskTime, TasksConfig};
use mcp_sansio::{
    Change, JsonStr, Method, OwnedRequest, Remaining, Request, Revision, RpcError, SendError,
    Server, Tx,
};
use mcp_sansio_engine::internal::{self, CLIENT_SHARE, TaskAnswer, TaskLimits, TaskQuestion};
use mcp_sansio_engine::site::OwnedHead;

use super::broadcast::Broadcaster;
use super::context::{ActiveRequest, Origin, parts_of_owner};
use super::reply::PendingResponse;
use super::source::RequestSource;
use crate::client::unix_ms;
use crate::lock::lock;
use crate::runtime::timer::Clock;
use crate::store::{DamagedRecord, StoreError, TaskRecord, TaskStore};

/// Limits and times of the tasks of an [`App`](crate::asynchronous::App). New versions add fields,
/// so a value ends with `..TaskOptions::new()`.
///
/// ```
/// # use std::time::Duration;
/// # use mcp_sansio::types::{Implementation, TaskSupport, Tool, ToolExecution};
/// # use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
/// # use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, TaskOptions};
/// static CONFIG: ServerConfig = ServerConfig::new(
///     Implementation::new("backup", "0.1.0"),
///     ServerFeatures::TOOLS.with(ServerFeatures::TASKS).with(ServerFeatures::TASKS_CANCEL),
/// );
/// static CATALOG: Catalog = Catalog::new().tools(entries![
///     Tool::new("backup", RawJson::from_static(r#"{"type":"object"}"#))
///         .execution(ToolExecution::new().task_support(TaskSupport::Optional)),
/// ]);
///
/// async fn backup(ctx: Context) -> HandlerResult {
///     let request = ctx.request()?;
///     for disk in 1..=3 {
///         ctx.tool(&request).set_status(format_args!("disk {disk}"));
///         // ...
///     }
///     ctx.text("done")
/// }
///
/// // A call that takes longer than two seconds becomes a task.
/// let options = TaskOptions { after: Duration::from_secs(2), ..TaskOptions::new() };
/// let app = App::new(&CONFIG, backup).catalog(&CATALOG).tasks(options);
/// ```
#[derive(Clone, Debug)]
pub struct TaskOptions {
    /// How long tasks are kept, how often they should be polled, and how many of them one owner can
    /// have.
    pub config: TasksConfig,
    /// Maximum number of tasks of all clients, ended ones included until their time is over. At the
    /// limit a tool that needs no task runs as a call, and one that does is refused (-32603). A
    /// task takes about 420 bytes and its result, and until it has ended about 900 more, its
    /// arguments and the future of its handler. Default: 1,024; at most 65,534.
    pub max_tasks: u16,
    /// Maximum number of bytes of the results of all tasks. A principal, or a connection that tasks
    /// are bound to, may have one result of any length, and several in a quarter of the limit. A
    /// task whose result has no room fails (-32603). Default: 64 MiB.
    pub max_results: usize,
    /// Maximum number of `tasks/result` that wait for the end of their tasks (2025-11-25). More are
    /// refused (-32603), and so are those of one principal or connection beyond a quarter of them,
    /// or over HTTP of one address without principals beyond its
    /// [share](crate::asynchronous::Limits::address_share). Default: 256.
    pub max_waiting: usize,
    /// Whether a task without a principal belongs to the connection, or the HTTP session, on which
    /// it was created. Then no other client sees it, also not its own after it has connected again.
    /// Over HTTP with 2026-07-28 there are no connections, so that it has no effect. Default: no,
    /// whoever has the id has the task. Over HTTP a list of tasks has only those of its session in
    /// any case.
    pub bind_to_connection: bool,
    /// Time that a call of a tool takes before it becomes a task, if the client supports that
    /// (2026-07-28). Until then the tool can ask in rounds, and what ends earlier is an ordinary
    /// result. Default: zero, which makes each call of such a tool a task.
    pub after: Duration,
    /// [`after`](Self::after) of single tools, by name.
    pub tool_after: Vec<(String, Duration)>,
    /// The store in which tasks are kept. A call becomes a task only when that is saved, and
    /// otherwise fails (-32603) or goes on as a call; a result is saved before it is told, and a
    /// task whose result cannot be saved fails (-32603). A single server loads them with
    /// [`App::resume_tasks`](crate::asynchronous::App::resume_tasks); those with
    /// [`HttpOptions::node`](crate::asynchronous::http::HttpOptions::node) have all tasks of their
    /// store together. Default: none.
    pub store: Option<TaskStore>,
}

impl TaskOptions {
    /// Creates the default options.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            config: TasksConfig::new(),
            max_tasks: 1024,
            max_results: 64 << 20,
            max_waiting: 256,
            bind_to_connection: false,
            after: Duration::ZERO,
            tool_after: Vec::new(),
            store: None,
        }
    }

    fn after_of(&self, tool: &str) -> Duration {
        let found = self.tool_after.iter().find(|(name, _)| name == tool);
        found.map_or(self.after, |(_, after)| *after)
    }
}

mcp_sansio::default_is_new!(TaskOptions);

/// The tasks behind a lock, which is held for one call. No connection or site is called meanwhile,
/// because these call the tasks while they are locked.
pub(crate) struct TaskHub {
    options: TaskOptions,
    clock: Clock,
    owners: RandomState,
    state: Mutex<State>,
    /// New tasks that a thread is saving, or removing again: they may be in the store only.
    saving: Mutex<BTreeSet<TaskId>>,
}

type State = internal::TaskHub<Weak<dyn RequestSource>, Channel>;
/// A request, and the way to its client.
pub(crate) type Channel = (Arc<ActiveRequest>, Arc<dyn RequestSource>);

/// The next step for a request about tasks.
pub(crate) enum AboutTasks {
    Response(PendingResponse),
    /// The response when this task has ended.
    Wait((TaskKey, TaskId)),
    /// The store knows more: [`TaskHub::answer_elsewhere`].
    Elsewhere,
}

impl From<TaskAnswer> for AboutTasks {
    fn from(answer: TaskAnswer) -> Self {
        match answer {
            TaskAnswer::Response(response) => Self::Response(response.into()),
            TaskAnswer::Page(page) => Self::Response(PendingResponse::Reply(page)),
            TaskAnswer::Wait(task, id) => Self::Wait((task, id)),
        }
    }
}

impl TaskHub {
    pub(crate) fn new(options: TaskOptions) -> Self {
        let TaskOptions { config, max_tasks, max_results, max_waiting, .. } = options;
        let limits = TaskLimits { config, max_tasks, max_results, max_waiting };
        Self {
            options,
            clock: Clock::new(),
            owners: RandomState::new(),
            state: Mutex::new(State::new(limits)),
            saving: Mutex::default(),
        }
    }

    /// A poisoned lock is used all the same: nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Changes the tasks, and wakes who waits for that.
    fn with<R>(&self, change: impl FnOnce(&mut State, TaskTime) -> R) -> R {
        let time = self.time();
        let mut state = self.lock();
        let result = change(&mut state, time);
        let woken = state.woken();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        result
    }

    fn time(&self) -> TaskTime {
        TaskTime::new(self.clock.now(), unix_ms())
    }

    /// Returns the client of a request. The owner of its tasks is its principal, or else all
    /// clients, or its connection if tasks are bound to that.
    pub(crate) fn client(
        &self,
        request: &Request<'_>,
        origin: &Origin,
        connection: u64,
    ) -> TaskClient {
        if let Some(origin) = origin {
            if let Some(principal) = &origin.principal {
                let owner = self.owner_of(&principal.issuer, &principal.subject);
                return TaskClient { owner, session: None };
            }
            // Servers of one application have equal keys.
            let session = || self.owners.hash_one((connection, origin.server));
            let session = origin.session.unwrap_or_else(session);
            let is_bound = self.options.bind_to_connection && !request.revision.is_modern();
            let owner = TaskOwner(if is_bound { session } else { 0 });
            return TaskClient { owner, session: Some(session) };
        }
        let owner = TaskOwner(if self.options.bind_to_connection { connection } else { 0 });
        TaskClient { owner, session: None }
    }

    fn owner_of(&self, issuer: &str, subject: &str) -> TaskOwner {
        TaskOwner(self.owners.hash_one((issuer, subject)))
    }

    /// Handles a request about tasks. Returns `None` for any other request.
    pub(crate) fn handle(
        self: &Arc<Self>,
        request: &Request<'_>,
        client: impl FnOnce() -> TaskClient,
    ) -> Option<AboutTasks> {
        let client = match request.method {
            Method::TasksGet
            | Method::TasksResult
            | Method::TasksUpdate
            | Method::TasksCancel
            | Method::TasksList
            | Method::SubscriptionsListen => client(),
            // Neither a lock nor the time of the hub is for those.
            _ => return None,
        };
        if self.is_elsewhere(request) {
            return Some(AboutTasks::Elsewhere);
        }
        self.handle_here(request, client)
    }

    /// Handles a request about tasks that are known here.
    fn handle_here(
        self: &Arc<Self>,
        request: &Request<'_>,
        client: TaskClient,
    ) -> Option<AboutTasks> {
        if request.method == Method::SubscriptionsListen {
            let tasks = self.with(|state, time| state.listened(time, request, client.owner));
            return Some(self.listen(request, tasks));
        }
        self.with(|state, time| state.handle(time, request, client)).map(AboutTasks::from)
    }

    fn listen(
        self: &Arc<Self>,
        request: &Request<'_>,
        tasks: Vec<(TaskId, TaskKey)>,
    ) -> AboutTasks {
        let listen = TaskListen::new(self, request, tasks);
        AboutTasks::Response(PendingResponse::Listen(Box::new(listen), None))
    }

    /// Tells clients how a task is now: the session that created it (2025-11-25), and those that
    /// subscribed to it.
    pub(crate) fn publish(&self, task: TaskKey, broadcaster: &Broadcaster) {
        let Some(news) = self.lock().news(task) else { return };
        let id = news.info.id().to_string();
        if let Some(session) = news.session.as_ref().and_then(Weak::upgrade)
            && let Some(details) = news.details(Revision::V2025_11_25)
        {
            session.tell(&Change::session_task(&id, details.as_json()));
        }
        if news.is_listened
            && let Some(details) = news.details(Revision::V2026_07_28)
        {
            broadcaster.publish(Change::task(&id, details.as_json()));
        }
    }

    /// Keeps a `tasks/result` until its task has ended.
    ///
    /// # Errors
    /// The response, if there are too many or the task has ended.
    pub(crate) fn wait<'r>(
        &'r self,
        (task, elsewhere): (TaskKey, Option<TaskRecord>),
        request: &'r Arc<ActiveRequest>,
        source: &'r Arc<dyn RequestSource>,
        address_share: u8,
    ) -> Result<ResultOf<'r>, PendingResponse> {
        let waiter = self.waiter(request, address_share);
        let channel = (Arc::clone(request), Arc::clone(source));
        let (task, number) = self.with(|hub, time| {
            let load = |record: &TaskRecord| hub.load(time, self.owner_of_record(record), record);
            let task = elsewhere.as_ref().and_then(load).unwrap_or(task);
            (task, hub.wait(task, waiter, channel))
        });
        let number = number.map_err(PendingResponse::Task)?;
        Ok(ResultOf { hub: self, task, number, request, source, asked: Vec::new() })
    }

    /// Returns in whose share a `tasks/result` waits, and the share in percent: that of a principal
    /// or a connection, or of all without a principal from an address.
    fn waiter(&self, request: &ActiveRequest, address_share: u8) -> (Option<u64>, u8) {
        if let Some(origin) = &request.origin {
            let peer = origin.head.as_ref().and_then(OwnedHead::peer_address);
            return match &origin.principal {
                Some(of) => (Some(self.owner_of(&of.issuer, &of.subject).0), CLIENT_SHARE),
                None => (peer.map(|peer| self.owners.hash_one(peer)), address_share),
            };
        }
        (Some(request.slot.connection()), CLIENT_SHARE)
    }

    pub(crate) fn store(&self) -> Option<&TaskStore> {
        self.options.store.as_ref()
    }

    /// Loads the tasks of an earlier process. Those that it did not end have failed: `lost` gets
    /// them. An error is returned when all others are loaded.
    pub(crate) fn restore(
        &self,
        mut damaged: impl FnMut(DamagedRecord),
        lost: impl Fn(&TaskRecord),
    ) -> Result<usize, StoreError> {
        let Some(store) = self.store() else { return Ok(0) };
        let (mut records, mut restored) = (Vec::new(), 0);
        let mut result = store.load(|record| match record {
            Ok(record) => records.push(record),
            Err(error) => damaged(error),
        });
        for mut record in records {
            // One of a fleet is that of another server.
            if record.node.is_some() {
                continue;
            }
            if record.outcome.is_none() {
                let error = RpcError::internal("The server was restarted");
                record.end(unix_ms(), &Err(error.into()));
                result = result.and(store.save(&record));
                lost(&record);
            }
            let owner = self.owner_of_record(&record);
            restored += usize::from(self.with(|hub, time| hub.restore(time, owner, &record)));
        }
        result.map(|()| restored)
    }

    /// Returns whose task a record is of.
    fn owner_of_record(&self, record: &TaskRecord) -> TaskOwner {
        if let Some((issuer, subject)) = record.owner.as_deref().and_then(parts_of_owner) {
            return self.owner_of(issuer, subject);
        }
        if !self.options.bind_to_connection {
            return TaskOwner(0);
        }
        // As in `client`. Without a session in the fleet its connection is gone.
        let Some(call) = &record.call else { return TaskOwner(u64::MAX) };
        let is_modern = Revision::parse(&call.revision).is_some_and(Revision::is_modern);
        TaskOwner(call.session.unwrap_or(if is_modern { 0 } else { u64::MAX }))
    }
}

/// A `tasks/result` that waits (2025-11-25). The questions of its task travel as part of it.
/// Dropping it gives its place back, and withdraws what it has asked.
pub(crate) struct ResultOf<'r> {
    hub: &'r TaskHub,
    task: TaskKey,
    number: u64,
    request: &'r Arc<ActiveRequest>,
    source: &'r Arc<dyn RequestSource>,
    asked: Vec<TaskQuestion>,
}

impl ResultOf<'_> {
    /// Sends the questions of the task, and polls for its result.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<PendingResponse> {
        let Self { hub, task, number, request, source, asked } = self;
        let withdrawn = hub.lock().take_questions(*task, *number, cx.waker(), asked);
        let Some(withdrawn) = withdrawn else {
            return Poll::Ready(hub.lock().result(*task).into());
        };
        withdrawn.into_iter().for_each(|place| source.leave_input(request, place));
        asked.retain_mut(|TaskQuestion { input, json, place }| {
            match source.poll_input(cx, request, json.take(), place) {
                Poll::Pending => return true,
                // This request is over: the question becomes part of another.
                Poll::Ready(Err(error)) if error.is_gone() => {
                    hub.with(|state, _| state.give_up(*task, *number, *input));
                }
                Poll::Ready(result) => {
                    hub.with(|state, time| state.answer(time, *task, *input, result));
                }
            }
            false
        });
        Poll::Pending
    }
}

impl Drop for ResultOf<'_> {
    fn drop(&mut self) {
        self.hub.with(|state, _| state.leave(self.task, self.number));
        for place in self.asked.iter().filter_map(|asked| asked.place) {
            self.source.leave_input(self.request, place);
        }
    }
}

/// The acknowledgement of a subscription to tasks. How they are follows it, so that no change since
/// their creation is lost.
pub(crate) struct TaskListen {
    hub: Arc<TaskHub>,
    request: OwnedRequest,
    /// Those that the client may see, in the order of their ids.
    tasks: Vec<(TaskId, TaskKey)>,
    sent: Mutex<Sent>,
}

/// What has been sent.
#[derive(Default)]
struct Sent {
    is_acknowledged: bool,
    tasks: usize,
    /// Listeners of the next task.
    position: u16,
}

impl Drop for TaskListen {
    fn drop(&mut self) {
        let tasks = self.tasks.iter().map(|(_, task)| *task);
        self.hub.with(|hub, _| hub.acknowledged(tasks));
    }
}

impl TaskListen {
    fn new(hub: &Arc<TaskHub>, request: &Request<'_>, tasks: Vec<(TaskId, TaskKey)>) -> Self {
        let (hub, request) = (Arc::clone(hub), OwnedRequest::from(request));
        Self { hub, request, tasks, sent: Mutex::default() }
    }

    pub(crate) fn send(&self, server: &mut Server<'_>, tx: &mut Tx<'_>) -> Result<(), SendError> {
        let request = self.request.as_request();
        let mut sent = lock(&self.sent);
        if !sent.is_acknowledged {
            let mut may_see = |id: JsonStr<'_>| {
                let of = |id| self.tasks.binary_search_by_key(&id, |(id, _)| *id).is_ok();
                TaskId::parse(id).is_some_and(of)
            };
            server.listen_to_tasks(&request, &mut may_see, tx)?;
            sent.is_acknowledged = true;
        }
        // It is not, if it has been refused.
        while server.is_request_open(request.handle)
            && let Some((id, task)) = self.tasks.get(sent.tasks)
        {
            let view = self.hub.lock().view(*task);
            if let Some(details) = view.and_then(|view| view.details(Revision::V2026_07_28)) {
                let id = id.to_string();
                let mut change = Change::task(&id, details.as_json()).resume(sent.position);
                while let Ok(Remaining::More) = match server.publish(&mut change, tx) {
                    Err(SendError::Full) => {
                        sent.position = change.position();
                        return Err(SendError::Full);
                    }
                    result => result,
                } {}
            }
            (sent.tasks, sent.position) = (sent.tasks + 1, 0);
        }
        Ok(())
    }
}
