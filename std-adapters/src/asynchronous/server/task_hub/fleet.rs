//! Tasks of a fleet: what a server reads and writes in the store that all servers have.

use std::mem::replace;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll};
use std::time::Duration;

use mcp_sansio::tasks::{TaskError, TaskId, TaskTime, TasksConfig};
use mcp_sansio::{
    Encode, Method, OrToolError as _, OwnedJson, RawJson, Request, Revision, RpcError, SESSION_LEN,
    Server, Target, ToolError,
};
use mcp_sansio_engine::internal::{Claim, FleetStep, LEASE, TaskAnswer, listened_ids};

use super::{AboutTasks, NewTask, State, TaskClient, TaskHub};
use crate::asynchronous::server::admission::Found;
use crate::asynchronous::server::broadcast::Broadcaster;
use crate::asynchronous::server::context::{ActiveRequest, Context, Origin, owner_text};
use crate::asynchronous::server::reply::PendingResponse;
use crate::lock::lock;
use crate::runtime::timer::LazyTimer;
use crate::store::{StoreError, TaskCall, TaskOutcome, TaskRecord, TaskStore};

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

    /// Does a step in the store. Returns tasks that other servers have left, whose handlers are to
    /// be called.
    pub(crate) async fn work_in_store(
        self: &Arc<Self>,
        step: FleetStep,
        broadcaster: &Broadcaster,
    ) -> Result<Vec<(TaskRecord, NewTask)>, StoreError> {
        let (Some(store), Some(node)) = (self.store(), self.node()) else { return Ok(Vec::new()) };
        let hub = Arc::clone(self);
        match step {
            FleetStep::Renew => {
                let put = move |it: &TaskStore| it.store.put(&lease_of(&node), &[], Some(LEASE));
                let renewed = store.run(put).await;
                if renewed.is_err() {
                    self.with(|hub, time| hub.renewal_failed(time.now));
                }
                renewed.map(|()| Vec::new())
            }
            FleetStep::Sweep => store.run(move |store| hub.sweep(store, &node)).await,
            FleetStep::Compare(id) => {
                let compare = move |store: &TaskStore| {
                    hub.change(store, id, |record| hub.with(|it, time| it.compare(time, record)))
                };
                let compared = store.run(compare).await;
                self.publish_foreign(id, broadcaster);
                compared.map(|_| Vec::new())
            }
            FleetStep::Tell(_) | FleetStep::Wait(_) => Ok(Vec::new()),
        }
    }

    /// Polls for the next thing to do for the tasks of the fleet.
    pub(crate) fn poll_step(
        &self,
        timer: &mut LazyTimer,
        cx: &mut task::Context<'_>,
    ) -> Poll<FleetStep> {
        loop {
            // Without a fleet there is none, ever.
            let step = self.with(|hub, time| hub.next_step(time.now, cx.waker()));
            let Some(step) = step else { return Poll::Pending };
            let FleetStep::Wait(until) = step else { return Poll::Ready(step) };
            let until = self.clock.real_time(until);
            if !timer.poll(cx, until) {
                return Poll::Pending;
            }
        }
    }

    pub(super) fn node(&self) -> Option<String> {
        self.lock().node().map(str::to_owned)
    }

    /// Changes the record of a task, if there is one. Returns it as it is then.
    fn change(
        &self,
        store: &TaskStore,
        id: TaskId,
        mut change: impl FnMut(&TaskRecord) -> Option<TaskRecord>,
    ) -> Result<Option<TaskRecord>, StoreError> {
        let (record, is_changed) = store.change(id, |record| change(record?))?;
        self.with(|hub, time| {
            if is_changed {
                hub.tell(time.now, id);
            }
            record.iter().for_each(|record| hub.compared(record));
        });
        Ok(record)
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
        node: &str,
    ) -> Result<Vec<(TaskRecord, NewTask)>, StoreError> {
        let mut taken = Vec::new();
        // Without requests nothing else makes room.
        self.with(State::expire);
        // One server at a time is enough. One without room leaves it to others.
        let claim = |held: Option<&[u8]>| {
            store.store.compare_and_put(SWEEP, held, node.as_bytes(), Some(LEASE / 4))
        };
        if !self.lock().has_room() || !claim(None)? && !claim(Some(node.as_bytes()))? {
            return Ok(taken);
        }
        let mut last = (String::new(), false);
        let mut is_gone = |from: &str| {
            if last.0 != from {
                last = (from.to_owned(), store.store.get(&lease_of(from))?.is_none());
            }
            Ok::<_, StoreError>(last.1)
        };
        let mut count = 0;
        for key in store.store.keys(RUNS)? {
            let run = key.strip_prefix(RUNS).and_then(|key| key.split_once('/'));
            let Some((from, id)) = run else { continue };
            let Some(id) = TaskId::parse(id) else { continue };
            // A task that the server has taken over without learning of it is left, too.
            let is_left = match from == node {
                true => !lock(&self.saving).contains(&id) && !self.lock().has(id),
                false => is_gone(from)?,
            };
            if !is_left || !self.lock().has_room() {
                continue;
            }
            match self.take_over(store, id, (from, node)) {
                Ok(task) => taken.extend(task),
                // Those that are this server's are to be begun.
                Err(_) if !taken.is_empty() => break,
                Err(error) => return Err(error),
            }
            count += 1;
            if count == MAX_TAKEN {
                // The lease of this server is to be renewed in between.
                self.with(|hub, time| hub.sweep_on(time.now));
                break;
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
        let mut claim = Claim::None;
        let record = self.change(store, id, |record| {
            let mut record = record.clone();
            claim = Claim::of(&mut record, from, node);
            record.updated_unix_ms = self.time().unix_ms;
            (claim != Claim::None).then_some(record)
        })?;
        // Those that stay behind are removed with the next search, and one that has no room here by
        // now is found again.
        if from != node {
            let _ = store.store.remove(&left);
        }
        // It may be this server's already, with an earlier mark that has stayed behind, or be gone.
        let is_own = |it: &TaskRecord| it.outcome.is_none() && it.node.as_deref() == Some(node);
        let Some(record) = record.filter(is_own) else {
            let _ = store.store.remove(&own);
            return Ok(None);
        };
        if claim != Claim::Taken {
            return Ok(None);
        }
        let owner = self.owner_of_record(&record);
        let adopted = self.with(|hub, time| hub.adopt(time, owner, &record));
        Ok(adopted.map(|adopted| (record, NewTask::new(self, adopted, true))))
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
                listened_ids(request).into_iter().any(|id| hub.is_elsewhere(id))
            }
            _ => id_of(request).is_some_and(|id| hub.is_elsewhere(id)),
        }
    }

    /// Answers a request about tasks that other servers have. Returns the record of the task if it
    /// waits for the end of that.
    pub(crate) async fn answer_elsewhere(
        self: &Arc<Self>,
        request: &ActiveRequest,
    ) -> Result<TaskRecord, PendingResponse> {
        let error = match self.handle_elsewhere(request).await {
            Ok((Some(AboutTasks::Wait(task)), Some(record))) => {
                let _ = request.awaited.set(task);
                return Ok(record);
            }
            Ok((Some(AboutTasks::Response(response)), _)) => return Err(response),
            Ok(_) => RpcError::invalid_params("Unknown task"),
            Err(error) => {
                request.tell(|observed| observed.because(&error));
                RpcError::internal("The tasks of other servers cannot be read")
            }
        };
        Err(PendingResponse::Refused(error))
    }

    async fn handle_elsewhere(
        self: &Arc<Self>,
        request: &ActiveRequest,
    ) -> Result<(Option<AboutTasks>, Option<TaskRecord>), StoreError> {
        let Some(store) = self.store() else { return Ok((None, None)) };
        let (owned, list) = (request.request.clone(), list_of(&request.origin));
        let connection = request.slot.connection();
        let client = self.client(&owned.as_request(), &request.origin, connection);
        let hub = Arc::clone(self);
        let handle = move |store: &TaskStore| {
            let request = owned.as_request();
            match request.method {
                Method::TasksList => {
                    let ids = hub.listed(store, list.as_deref())?;
                    let listed = hub.with_loaded(store, &ids, |hub, time| {
                        hub.list(time, &request, client, &ids)
                    })?;
                    let page = listed.map(|page| AboutTasks::from(TaskAnswer::Page(page)));
                    Ok((page, None))
                }
                Method::SubscriptionsListen => {
                    let ids: Vec<_> = listened_ids(&request).into_iter().collect();
                    let listened = hub.with_loaded(store, &ids, |hub, time| {
                        hub.listened(time, &request, client.owner)
                    })?;
                    Ok((Some(hub.listen(&request, listened)), None))
                }
                _ => hub.handle_one(store, &request, client),
            }
        };
        store.run(handle).await
    }

    /// Makes a call with these tasks, also those that other servers have.
    fn with_loaded<R>(
        &self,
        store: &TaskStore,
        ids: &[TaskId],
        call: impl FnOnce(&mut State, TaskTime) -> R,
    ) -> Result<R, StoreError> {
        let mut records = Vec::new();
        for id in ids.iter().filter(|id| self.lock().is_elsewhere(**id)) {
            records.extend(store.get(*id)?);
        }
        Ok(self.with(|hub, time| {
            let load = |record| hub.load(time, self.owner_of_record(record), record);
            let loaded: Vec<_> = records.iter().filter_map(load).collect();
            let result = call(hub, time);
            loaded.into_iter().for_each(|task| hub.release(task));
            result
        }))
    }

    fn handle_one(
        self: &Arc<Self>,
        store: &TaskStore,
        request: &Request<'_>,
        client: TaskClient,
    ) -> Result<(Option<AboutTasks>, Option<TaskRecord>), StoreError> {
        let Some(id) = id_of(request) else { return Ok((None, None)) };
        let (mut answer, mut is_handled) = (None, false);
        let record = self.change(store, id, |record| {
            let of = (client, self.owner_of_record(record));
            self.with(|hub, time| {
                // The record has changed meanwhile. The answer stands unless the task has ended. A
                // cancellation does not count: another thread may have told the store of this one.
                let has_ended = !matches!(record.outcome, None | Some(TaskOutcome::Cancelled));
                if replace(&mut is_handled, true) && !has_ended {
                    return hub.compare(time, record);
                }
                let (handled, new) = hub.handle_shared(time, request, of, record);
                answer = handled;
                new
            })
        })?;
        if record.is_none() {
            return Ok((self.handle_here(request, client), None));
        }
        Ok((answer.map(AboutTasks::from), record))
    }

    /// Ends a task whose tool cannot be called here.
    pub(crate) fn fail(&self, id: TaskId) {
        let why = "The tool of the task is not there any more";
        self.with(|hub, time| hub.fail(time, id, why));
    }

    // The lists of tasks of clients, for `tasks/list` (2025-11-25).

    /// Returns the ids in a list.
    fn listed(&self, store: &TaskStore, list: Option<&str>) -> Result<Vec<TaskId>, StoreError> {
        let Some(list) = list else { return Ok(Vec::new()) };
        let found = store.store.get(list)?;
        let entries = found.as_ref().and_then(|sealed| store.keys.open_record(list, sealed));
        Ok(entries_of(entries.unwrap_or_default(), self.time().unix_ms).map(|(id, _)| id).collect())
    }

    /// Adds a task to a list, of which the owner may have so many in the fleet.
    fn enlist(&self, store: &TaskStore, list: &str, record: &TaskRecord) -> Result<(), StoreError> {
        let TasksConfig { max_per_owner, max_ttl, .. } = self.options.config;
        let until = record.created_unix_ms.saturating_add(record.ttl_ms);
        let left = Duration::from_millis(until.saturating_sub(self.time().unix_ms)).max(max_ttl);
        let is_put = self.change_list(store, list, left, |entries| {
            entries.push((record.id, until));
            entries.len() <= max_per_owner
        })?;
        is_put.then_some(()).ok_or_else(|| StoreError::Unavailable(TaskError::FullForOwner.into()))
    }

    /// Changes the entries of a list, unless `change` returns false. Returns whether it was put.
    fn change_list(
        &self,
        store: &TaskStore,
        list: &str,
        left: Duration,
        mut change: impl FnMut(&mut Vec<Entry>) -> bool,
    ) -> Result<bool, StoreError> {
        let now = self.time().unix_ms;
        store.store.update(list, Some(left), &mut |found| {
            let known = found.and_then(|sealed| store.keys.open_record(list, sealed));
            let mut entries = entries_of(known.unwrap_or_default(), now).collect();
            change(&mut entries).then(|| store.keys.seal_record(list, bytes_of(&entries)))
        })
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

    /// Removes a new task that its client was not told of.
    pub(super) fn withdraw(&self, store: &TaskStore, list: Option<&str>, id: TaskId) {
        if let Some(node) = self.node() {
            let _ = store.store.remove(&run_of(&node, id));
        }
        let _ = twice(|| store.remove(id));
        if let Some(list) = list {
            let _ = self.change_list(store, list, self.options.config.max_ttl, |entries| {
                let known = entries.len();
                entries.retain(|(other, _)| *other != id);
                entries.len() < known
            });
        }
    }

    /// Saves how a task has ended. Returns `false` if another end is in the store, or another
    /// server has the task.
    pub(super) fn save_end(
        &self,
        store: &TaskStore,
        ended: &TaskRecord,
    ) -> Result<bool, StoreError> {
        let Some(node) = &ended.node else { return twice(|| store.save(ended)).map(|()| true) };
        let mut is_this = true;
        twice(|| {
            store.change(ended.id, |record| {
                // One that the store has lost is saved again.
                let Some(record) = record else { return Some(ended.clone()) };
                is_this = record.node.as_ref() == Some(node)
                    && [&None, &ended.outcome].contains(&&record.outcome);
                if !is_this || record.outcome.is_some() {
                    return None;
                }
                let mut record = record.clone();
                record.outcome.clone_from(&ended.outcome);
                record.message.clone_from(&ended.message);
                record.updated_unix_ms = ended.updated_unix_ms.max(record.updated_unix_ms);
                Some(record)
            })
        })?;
        let _ = store.store.remove(&run_of(node, ended.id));
        self.with(|hub, time| hub.tell(time.now, ended.id));
        Ok(is_this)
    }

    /// Saves what a handler can go on from when it is called again, unless something later is, or
    /// is being saved. Returns `false` if the task is not this server's any more.
    pub(super) fn save_state(
        &self,
        store: &TaskStore,
        id: TaskId,
        state: &str,
        is_latest: impl Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let node = self.node();
        let is_own = |it: &&TaskRecord| it.node == node && it.outcome.is_none();
        let (saved, _) = store.change(id, |record| {
            let mut record = record.filter(is_own).filter(|_| is_latest())?.clone();
            record.saved = Some(state.to_owned());
            record.updated_unix_ms = self.time().unix_ms;
            Some(record)
        })?;
        Ok(saved.as_ref().is_some_and(|it| is_own(&it)))
    }
}

/// The part of a call by which another server can go on with its task, or by which it goes on with
/// one that another has begun.
pub(crate) struct Again {
    /// The agreement of `initialize`, before 2026-07-28.
    agreed: Option<[u8; SESSION_LEN]>,
    /// The task that it goes on with.
    task: Mutex<Option<NewTask>>,
    /// The state that its handler has saved there.
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
        let work = self.active.task.as_ref();
        let Some((work, id)) = work.and_then(|work| Some((work, work.id()?))) else {
            return Err(ToolError::internal("Only a task can save something"));
        };
        let hub = Arc::clone(&self.source.settings().tasks);
        let Some(store) = hub.store().cloned() else {
            return Err(ToolError::internal("The server has no store for tasks"));
        };
        // If the future is dropped, the store is called all the same, perhaps after the next time.
        let (number, active) = (work.saves.fetch_add(1, Relaxed) + 1, Arc::clone(&self.active));
        let save = move |store: &TaskStore| {
            let latest = || active.task.as_ref().map(|work| work.saves.load(Relaxed));
            hub.save_state(store, id, json.as_json().as_str(), || latest() == Some(number))
        };
        let is_saved = store.run(save).await.or_internal()?;
        is_saved.then_some(()).ok_or(ToolError::GONE)
    }

    /// Returns what the handler has saved when another server has called it with this request.
    #[must_use]
    pub fn saved(&self) -> Option<RawJson<'_>> {
        Some(self.active.task.as_ref()?.again.saved.as_ref()?.as_json())
    }
}

/// Returns what another server needs to go on with a call.
pub(super) fn call_of(request: &ActiveRequest) -> Option<TaskCall> {
    let as_request = request.request.as_request();
    let Some(Target::Tool(tool)) = request.found.as_ref().map(Found::target) else { return None };
    let annotations = OwnedJson::new(tool, Revision::LATEST).ok();
    let hint = |name| {
        let annotations = annotations.as_ref()?.as_json().get("annotations")?;
        annotations.get(name)?.as_bool()
    };
    let is_repeatable = [hint("readOnlyHint"), hint("idempotentHint")].contains(&Some(true));
    let revision = as_request.revision;
    let mut call = TaskCall::new(revision, as_request.capabilities, is_repeatable);
    // A stream has no session: what is bound to it is nobody's at other servers.
    call.session = request.origin.as_ref().map_or(Some(u64::MAX), |origin| origin.session);
    call.agreed = request.task.as_ref().and_then(|task| task.again.agreed);
    let meta = as_request.params.get("_meta").filter(|_| revision.is_modern());
    call.meta = meta.map(|meta| meta.as_str().to_owned());
    Some(call)
}

/// Returns the list in which the tasks of a client are, if it has one.
pub(super) fn list_of(origin: &Origin) -> Option<String> {
    let owner = owner_text(origin);
    let session = || Some(format!("session:{:016x}", origin.as_ref()?.session?));
    Some(format!("{LISTS}{}", owner.or_else(session)?))
}

/// Makes a call again if it did not reach the store: otherwise one lost connection would make a
/// failure of a result, and leave the record of a task that nobody runs.
fn twice<R>(mut call: impl FnMut() -> Result<R, StoreError>) -> Result<R, StoreError> {
    match call() {
        Err(StoreError::Unavailable(_)) => call(),
        result => result,
    }
}

fn id_of(request: &Request<'_>) -> Option<TaskId> {
    TaskId::parse(request.params.get("taskId")?.as_string()?)
}

/// A task of a list, and the end of its time.
type Entry = (TaskId, u64);

/// Returns the entries of a list whose time is not over.
fn entries_of(bytes: &[u8], now: u64) -> impl Iterator<Item = Entry> {
    let entries = bytes.as_chunks::<24>().0.iter().map(|entry| {
        let (id, until) = entry.split_first_chunk().unwrap_or((&[0; 16], &[]));
        (TaskId::new(*id), until.first_chunk().map_or(0, |until| u64::from_be_bytes(*until)))
    });
    entries.filter(move |(_, until)| now < *until)
}

fn bytes_of(entries: &[Entry]) -> Vec<u8> {
    let bytes = |(id, until): &Entry| [&id.as_bytes()[..], &until.to_be_bytes()].concat();
    entries.iter().flat_map(bytes).collect()
}

fn lease_of(node: &str) -> String {
    format!("task-server/{node}")
}

fn run_of(node: &str, id: TaskId) -> String {
    format!("{RUNS}{node}/{id}")
}

/// Keys of the tasks that runs of servers have begun and not ended.
const RUNS: &str = "task-run/";
const LISTS: &str = "task-list/";
/// Number of tasks that are taken over, or fail, in one search.
const MAX_TAKEN: usize = 16;
/// A lease of the server that looks for tasks that were left.
const SWEEP: &str = "task-sweep";
