//! Tasks of a fleet: what a server reads and writes in the store that all servers have.
#![cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP servers form fleets"))]

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll};
use std::time::Duration;

use mcp_sansio::tasks::{MAX_LISTENED, TaskId};
use mcp_sansio::{
    Encode, Method, OrToolError as _, OwnedJson, RawJson, Request, Revision, RpcError, SESSION_LEN,
    Server, Target, ToolError,
};
use mcp_sansio_engine::internal::{Claim, FleetStep, LEASE};

use super::{AboutTasks, NewTask, TaskClient, TaskHub};
use crate::asynchronous::server::broadcast::Broadcaster;
use crate::asynchronous::server::catalog::Found;
use crate::asynchronous::server::context::{ActiveRequest, Context, Origin, owner_text};
use crate::asynchronous::server::reply::PendingResponse;
use crate::lock::lock;
use crate::runtime::timer::{LazyTimer, later};
use crate::store::{StoreError, TaskCall, TaskOutcome, TaskRecord, TaskStore};

/// What the server of an application does for the tasks of its fleet.
pub(crate) enum Shared {
    /// To tell the others that the record of a task has changed.
    Tell(TaskId),
    /// To call the handlers of tasks that other servers have left.
    Begin(Vec<(TaskRecord, NewTask)>),
    /// It could not be done; it is tried again.
    Failed(StoreError),
}

impl TaskHub {
    /// Makes the tasks those of a fleet, if there is a store. `name` is that of the server, and
    /// `random` tells its runs apart.
    pub(crate) fn join(&self, name: &str, random: [u8; 8]) {
        if self.store().is_some() {
            let node = format!("{name}-{:016x}", u64::from_be_bytes(random));
            self.with(|hub, time| hub.join(time.now, node));
        }
    }

    /// Another server has changed the record of a task. `None`: perhaps those of all tasks.
    pub(crate) fn signal(&self, id: Option<TaskId>) {
        self.with(|hub, time| hub.signal(time.now, id));
    }

    /// Returns the next thing for the server to do, until when it works in the store.
    pub(crate) async fn next_shared(
        self: &Arc<Self>,
        timer: &mut LazyTimer,
        broadcaster: &Broadcaster,
    ) -> Shared {
        loop {
            let step = poll_fn(|cx| self.poll_step(timer, cx)).await;
            let Some(store) = self.store() else { continue };
            let hub = Arc::clone(self);
            let done = match step {
                FleetStep::Tell(id) => return Shared::Tell(id),
                FleetStep::Renew => {
                    let Some(lease) = hub.node().map(|node| lease_of(&node)) else { continue };
                    store
                        .run(move |it| it.store.put(&lease, &[], Some(LEASE)))
                        .await
                        .map(|()| Vec::new())
                }
                FleetStep::Sweep if broadcaster.is_shutting_down() => continue,
                FleetStep::Sweep => store.run(move |store| hub.sweep(store)).await,
                FleetStep::Compare(id) => {
                    let compared = store.run(move |store| hub.compare(store, id)).await;
                    self.publish_foreign(id, broadcaster);
                    compared.map(|()| Vec::new())
                }
                FleetStep::Wait(_) => continue,
            };
            match done {
                Ok(left) if left.is_empty() => {}
                Ok(left) => return Shared::Begin(left),
                Err(error) => return Shared::Failed(error),
            }
        }
    }

    fn poll_step(&self, timer: &mut LazyTimer, cx: &mut task::Context<'_>) -> Poll<FleetStep> {
        loop {
            // Without a fleet there is none, ever.
            let step = self.with(|hub, time| hub.next_step(time.now, cx.waker()));
            let Some(step) = step else { return Poll::Pending };
            let FleetStep::Wait(until) = step else { return Poll::Ready(step) };
            let until = later(self.begun, Duration::from_millis(until.as_millis()));
            if !timer.poll(cx, until) {
                return Poll::Pending;
            }
        }
    }

    pub(super) fn node(&self) -> Option<String> {
        self.lock().node().map(str::to_owned)
    }

    /// Compares a task with its record.
    fn compare(&self, store: &TaskStore, id: TaskId) -> Result<(), StoreError> {
        self.change(store, id, |record| self.with(|hub, time| hub.compare(time, record)))
    }

    /// Changes the record of a task, if there is one.
    fn change(
        &self,
        store: &TaskStore,
        id: TaskId,
        mut change: impl FnMut(&TaskRecord) -> Option<TaskRecord>,
    ) -> Result<(), StoreError> {
        let (record, is_changed) = store.change(id, |record| change(record?))?;
        self.with(|hub, time| {
            record.iter().for_each(|record| hub.compared(record));
            if is_changed {
                hub.tell(time.now, id);
            }
        });
        Ok(())
    }

    /// Tells clients of the change of a task that another server runs.
    fn publish_foreign(&self, id: TaskId, broadcaster: &Broadcaster) {
        let Some((task, is_changed)) = self.lock().foreign(id) else { return };
        if is_changed {
            self.publish(task, broadcaster);
        }
        self.with(|hub, _| hub.release(task));
    }

    /// Looks for tasks whose servers are gone. Those that may not be repeated fail, the others are
    /// this server's from now on.
    fn sweep(
        self: &Arc<Self>,
        store: &TaskStore,
    ) -> Result<Vec<(TaskRecord, NewTask)>, StoreError> {
        let mut taken = Vec::new();
        let Some(node) = self.node() else { return Ok(taken) };
        // One server at a time is enough.
        if !store.store.compare_and_put(SWEEP, None, node.as_bytes(), Some(LEASE / 4))? {
            return Ok(taken);
        }
        let mut last = (String::new(), false);
        let mut is_gone = |from: &str| {
            if last.0 != from {
                last = (from.to_owned(), store.store.get(&lease_of(from))?.is_none());
            }
            Ok::<_, StoreError>(last.1)
        };
        for key in store.store.keys(RUNS)? {
            let run = key.strip_prefix(RUNS).and_then(|key| key.split_once('/'));
            let Some((from, id)) = run else { continue };
            let Some(id) = TaskId::parse(id) else { continue };
            // A task that the server has taken over without learning of it is left, too.
            let is_left = match from == node {
                true => !self.lock().has(id),
                false => is_gone(from)?,
            };
            if is_left && self.lock().has_room() {
                match self.take_over(store, id, (from, &node)) {
                    Ok(task) => taken.extend(task),
                    // Those that are this server's are to be begun.
                    Err(_) if !taken.is_empty() => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(taken)
    }

    fn take_over(
        self: &Arc<Self>,
        store: &TaskStore,
        id: TaskId,
        (from, node): (&str, &str),
    ) -> Result<Option<(TaskRecord, NewTask)>, StoreError> {
        let left = run_of(from, id);
        let Some(record) = store.get(id)? else {
            store.store.remove(&left)?;
            return Ok(None);
        };
        // Before the record says so: otherwise nobody finds it if this server ends in between.
        let own = run_of(node, id);
        store.store.put(&own, &[], Some(record.remaining()))?;
        let mut claimed = (Claim::None, None);
        self.change(store, id, |record| {
            let mut record = record.clone();
            let claim = record.claim(from, node);
            record.updated_unix_ms = self.time().unix_ms;
            claimed = (claim, Some(record.clone()));
            (claim != Claim::None).then_some(record)
        })?;
        let task = match claimed {
            (Claim::Taken, Some(record)) => self.adopt(&record).map(|task| (record, task)),
            _ => None,
        };
        // Those that stay behind are removed with the next search.
        let done = [(task.is_none(), &own), (from != node, &left)];
        for (_, key) in done.into_iter().filter(|(is_over, _)| *is_over) {
            let _ = store.store.remove(key);
        }
        Ok(task)
    }

    fn adopt(self: &Arc<Self>, record: &TaskRecord) -> Option<NewTask> {
        let owner = self.owner_of_record(record);
        let (key, info) = self.with(|hub, time| hub.adopt(time, owner, record))?;
        Some(NewTask::adopted(self, key, info))
    }

    /// Returns whether a request is about tasks that other servers have, or may have.
    pub(super) fn is_elsewhere(&self, request: &Request<'_>) -> bool {
        let mut hub = self.lock();
        if hub.node().is_none() {
            return false;
        }
        match request.method {
            Method::TasksList => true,
            Method::SubscriptionsListen => {
                ids_of(request).into_iter().any(|id| hub.is_elsewhere(id))
            }
            _ => id_of(request).is_some_and(|id| hub.is_elsewhere(id)),
        }
    }

    /// Answers a request about tasks that other servers have, unless it waits for the end of one.
    pub(crate) async fn answer_elsewhere(
        self: &Arc<Self>,
        request: &ActiveRequest,
    ) -> Result<(), PendingResponse> {
        match self.handle_elsewhere(request).await {
            Ok(Some(AboutTasks::Wait(task))) => {
                let _ = request.awaited.set(task);
                Ok(())
            }
            Ok(Some(AboutTasks::Response(response))) => Err(response),
            Ok(_) => {
                let unknown = RpcError::invalid_params("Unknown task");
                Err(PendingResponse::Refused(unknown))
            }
            Err(error) => {
                request.tell(|observed| observed.because(&error));
                let error = RpcError::internal("The tasks of other servers cannot be read");
                Err(PendingResponse::Refused(error))
            }
        }
    }

    async fn handle_elsewhere(
        self: &Arc<Self>,
        request: &ActiveRequest,
    ) -> Result<Option<AboutTasks>, StoreError> {
        let Some(store) = self.store() else { return Ok(None) };
        let (owned, list) = (request.request.clone(), list_of(&request.origin));
        let connection = request.slot.connection();
        let client = self.client(&owned.as_request(), &request.origin, connection);
        let hub = Arc::clone(self);
        let handle = move |store: &TaskStore| {
            let request = owned.as_request();
            let ids = match request.method {
                Method::TasksList => hub.listed(store, list.as_deref())?,
                Method::SubscriptionsListen => ids_of(&request),
                _ => return hub.handle_one(store, &request, client),
            };
            let mut loaded = Vec::new();
            for id in ids {
                if let Some(record) = store.get(id)? {
                    let owner = hub.owner_of_record(&record);
                    loaded.extend(hub.with(|hub, time| hub.load(time, owner, &record)));
                }
            }
            let answer = hub.handle_here(&request, client);
            hub.with(|hub, _| loaded.into_iter().for_each(|task| hub.release(task)));
            Ok(answer)
        };
        store.run(handle).await
    }

    fn handle_one(
        &self,
        store: &TaskStore,
        request: &Request<'_>,
        client: TaskClient,
    ) -> Result<Option<AboutTasks>, StoreError> {
        let Some(id) = id_of(request) else { return Ok(None) };
        let mut answer = None;
        self.change(store, id, |record| {
            let of = (client, self.owner_of_record(record));
            let (handled, new) =
                self.with(|hub, time| hub.handle_shared(time, request, of, record));
            answer = handled;
            new
        })?;
        Ok(answer.map(AboutTasks::from))
    }

    /// Ends a task whose tool cannot be called here.
    pub(crate) async fn fail(self: &Arc<Self>, mut record: TaskRecord) {
        let Some(store) = self.store() else { return };
        let hub = Arc::clone(self);
        let error = RpcError::internal("The tool of the task is not there any more");
        record.outcome = TaskOutcome::of(&Err(error.into()));
        record.updated_unix_ms = self.time().unix_ms;
        // If the store does not take it either, the task expires.
        let _ = store.run(move |store| hub.save_end(store, &record)).await;
    }

    // Which tasks a client has, for `tasks/list` (2025-11-25).

    /// Returns the ids in a list.
    fn listed(&self, store: &TaskStore, list: Option<&str>) -> Result<Vec<TaskId>, StoreError> {
        let Some(list) = list else { return Ok(Vec::new()) };
        let found = store.store.get(list)?;
        let entries = found.as_ref().and_then(|sealed| store.keys.open_record(list, sealed));
        Ok(entries_of(entries.unwrap_or_default(), self.time().unix_ms).map(|(id, _)| id).collect())
    }

    /// Adds a task to a list, of which the owner may have so many in the fleet.
    fn enlist(&self, store: &TaskStore, list: &str, record: &TaskRecord) -> Result<(), StoreError> {
        let now = self.time().unix_ms;
        let mut is_full = false;
        let until = record.created_unix_ms.saturating_add(record.ttl_ms);
        let left =
            Duration::from_millis(until.saturating_sub(now)).max(self.options.config.max_ttl);
        store.store.update(list, Some(left), &mut |found| {
            let known = found.and_then(|sealed| store.keys.open_record(list, sealed));
            let known: Vec<_> = entries_of(known.unwrap_or_default(), now).collect();
            is_full = known.len() >= self.options.config.max_per_owner;
            let entries = known.into_iter().chain([(record.id, until)]).filter(|_| !is_full);
            let bytes =
                entries.flat_map(|(id, until)| [&id.as_bytes()[..], &until.to_be_bytes()].concat());
            let bytes: Vec<u8> = bytes.collect();
            (!is_full).then(|| store.keys.seal_record(list, bytes))
        })?;
        if is_full { Err(StoreError::Full) } else { Ok(()) }
    }

    /// Saves a new task, so that other servers find it.
    pub(super) fn save_new(
        &self,
        store: &TaskStore,
        list: Option<&str>,
        record: &TaskRecord,
    ) -> Result<(), StoreError> {
        if let Some(list) = list {
            self.enlist(store, list, record)?;
        }
        if let Some(node) = &record.node {
            store.store.put(&run_of(node, record.id), &[], Some(record.remaining()))?;
        }
        store.save(record)
    }

    /// Saves how a task has ended. Returns `false` if its end is in the store already, or another
    /// server has it.
    pub(super) fn save_end(
        &self,
        store: &TaskStore,
        ended: &TaskRecord,
    ) -> Result<bool, StoreError> {
        let Some(node) = &ended.node else { return store.save(ended).map(|()| true) };
        let mut is_first = true;
        store.change(ended.id, |record| {
            // One that the store has lost is saved again.
            let Some(record) = record else { return Some(ended.clone()) };
            is_first = record.outcome.is_none() && record.node.as_ref() == Some(node);
            let mut record = record.clone();
            record.outcome.clone_from(&ended.outcome);
            record.message.clone_from(&ended.message);
            record.updated_unix_ms = ended.updated_unix_ms;
            is_first.then_some(record)
        })?;
        store.store.remove(&run_of(node, ended.id))?;
        self.with(|hub, time| hub.tell(time.now, ended.id));
        Ok(is_first)
    }

    /// Saves what a handler can go on from when it is called again. Returns `false` if the task is
    /// not this server's any more.
    pub(super) fn save_state(
        &self,
        store: &TaskStore,
        id: TaskId,
        state: &str,
    ) -> Result<bool, StoreError> {
        let node = self.node();
        let saved = store.change(id, |record| {
            let is_own = |it: &&TaskRecord| it.node == node && it.outcome.is_none();
            let mut record = record.filter(is_own)?.clone();
            record.saved = Some(state.to_owned());
            Some(record)
        })?;
        Ok(saved.1)
    }
}

/// What a call has of its task that another server can go on with it, or has begun it.
pub(crate) struct Again {
    /// What `initialize` has agreed on with the client, before 2026-07-28.
    agreed: Option<[u8; SESSION_LEN]>,
    /// The task that it goes on with.
    task: Mutex<Option<NewTask>>,
    /// What its handler has saved.
    saved: Option<OwnedJson>,
}

impl Again {
    pub(crate) fn new(server: &Server<'_>) -> Self {
        Self { agreed: server.session(), task: Mutex::default(), saved: None }
    }

    /// Makes the call that of a task which another server has begun.
    pub(crate) fn adopt(&mut self, task: NewTask, record: &TaskRecord) {
        self.task = Mutex::new(Some(task));
        let saved = record.saved.as_deref().and_then(|json| RawJson::parse(json).ok());
        self.saved = saved.map(OwnedJson::from);
    }

    /// Returns the task that the call goes on with.
    pub(crate) fn take(&self) -> Option<NewTask> {
        lock(&self.task).take()
    }
}

impl Context {
    /// Saves what the handler of a task needs to go on when another server of the fleet calls it
    /// again ([`saved`](Self::saved)), in place of what it has saved before. A task that has saved
    /// something is begun again when its server is gone, also if its tool is neither read-only nor
    /// idempotent.
    ///
    /// # Errors
    /// The call is no task or has ended, or another server goes on with it: the handler should end.
    /// Also if the store has failed, or the server has none.
    pub async fn save(&self, state: impl Encode) -> Result<(), ToolError<'static>> {
        let json = OwnedJson::new(&state, self.active.revision())?;
        let Some(id) = self.active.task.as_ref().and_then(|task| task.id()) else {
            return Err(ToolError::internal("Only a task can save something"));
        };
        let hub = Arc::clone(&self.source.settings().tasks);
        let Some(store) = hub.store().cloned() else {
            return Err(ToolError::internal("The server has no store for tasks"));
        };
        let save = move |store: &TaskStore| hub.save_state(store, id, json.as_raw().as_str());
        match store.run(save).await.or_internal()? {
            true => Ok(()),
            false => Err(ToolError::GONE),
        }
    }

    /// Returns what the handler has saved when another server has called it with this request.
    #[must_use]
    pub fn saved(&self) -> Option<RawJson<'_>> {
        Some(self.active.task.as_ref()?.again.saved.as_ref()?.as_raw())
    }
}

/// Returns what another server needs to go on with a call.
pub(super) fn call_of(request: &ActiveRequest) -> Option<TaskCall> {
    let as_request = request.request.as_request();
    let Some(Target::Tool(tool)) = request.found.as_ref().map(Found::target) else { return None };
    let annotations = OwnedJson::new(tool, Revision::LATEST).ok();
    let hint = |name| {
        let annotations = annotations.as_ref()?.as_raw().get("annotations")?;
        annotations.get(name)?.as_bool()
    };
    let is_repeatable = [hint("readOnlyHint"), hint("idempotentHint")].contains(&Some(true));
    let revision = as_request.revision;
    let mut call = TaskCall::new(revision, as_request.capabilities, is_repeatable);
    call.session = session_of(&request.origin);
    call.agreed = request.task.as_ref().and_then(|task| task.again.agreed);
    let meta = as_request.params.get("_meta").filter(|_| revision.is_modern());
    call.meta = meta.map(|meta| meta.as_str().to_owned());
    Some(call)
}

/// Returns the list in which the tasks of a client are, if it has one.
pub(super) fn list_of(origin: &Origin) -> Option<String> {
    let owner = owner_text(origin);
    let session = || Some(format!("session:{:016x}", session_of(origin)?));
    Some(format!("{LISTS}{}", owner.or_else(session)?))
}

/// Returns the number of the session of a request.
#[cfg(feature = "http")]
fn session_of(origin: &Origin) -> Option<u64> {
    origin.as_ref()?.session
}

#[cfg(not(feature = "http"))]
const fn session_of(_: &Origin) -> Option<u64> {
    None
}

fn id_of(request: &Request<'_>) -> Option<TaskId> {
    TaskId::parse(request.params.get("taskId")?.as_string()?)
}

/// Returns the ids of the tasks that a subscription names.
fn ids_of(request: &Request<'_>) -> Vec<TaskId> {
    let ids = request.params.get("notifications").and_then(|filter| filter.get("taskIds"));
    let ids = ids.into_iter().flat_map(RawJson::elements).take(MAX_LISTENED);
    ids.filter_map(|id| TaskId::parse(id.as_string()?)).collect()
}

/// Returns the ids of a list whose time is not over, and the ends of their times.
fn entries_of(bytes: &[u8], now: u64) -> impl Iterator<Item = (TaskId, u64)> {
    let entries = bytes.as_chunks::<24>().0.iter().map(|entry| {
        let (id, until) = entry.split_first_chunk().unwrap_or((&[0; 16], &[]));
        (TaskId::new(*id), until.first_chunk().map_or(0, |until| u64::from_be_bytes(*until)))
    });
    entries.filter(move |(_, until)| now < *until)
}

fn lease_of(node: &str) -> String {
    format!("task-server/{node}")
}

fn run_of(node: &str, id: TaskId) -> String {
    format!("{RUNS}{node}/{id}")
}

/// What runs of servers have begun and not ended.
const RUNS: &str = "task-run/";
const LISTS: &str = "task-list/";
/// A lease of the server that looks for tasks that were left.
const SWEEP: &str = "task-sweep";
