//! Tasks of a fleet. Servers with one store have the same tasks: the record in the store is the
//! truth, with which the server that runs a task compares it, and so do those whose clients follow
//! it.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{replace, take};
use core::task::Waker;
use core::time::Duration;

use mcp_sansio::tasks::{TaskEnd, TaskError, TaskId, TaskInfo, TaskKey, TaskOwner, TaskTime};
use mcp_sansio::{
    Amount, ClientFeatures, Instant, OwnedJson, Progress, RawJson, Request, Revision, RpcError,
    ToolError,
};

use super::{
    Input, Kept, OpenInput, TaskAnswer, TaskClient, TaskHub, TaskResponse, kept_in, len, share_of,
};
use crate::places::PlaceLimit;
use crate::record::{TaskInput, TaskOutcome, TaskRecord};
use crate::tasks::With;

/// The part that a server has in the tasks of its fleet.
pub(super) struct Fleet {
    /// Names this run of the server.
    node: String,
    /// The tasks that are compared, in the order of the times of that.
    due: BTreeSet<(Instant, TaskId)>,
    renews_at: Instant,
    sweeps_at: Instant,
    /// Those that the others are to be told of.
    changed: BTreeSet<TaskId>,
    /// Wakes who takes the steps.
    waker: Option<Waker>,
}

/// The next operation for the tasks of a fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FleetStep {
    /// To store that this run of the server goes on, for [`LEASE`].
    Renew,
    /// To look for tasks whose servers are gone, which [`Claim::of`] takes over.
    Sweep,
    /// To change the record of this task with [`TaskHub::compare`].
    Compare(TaskId),
    /// To tell the other servers that the record of this task has changed.
    Tell(TaskId),
    /// There is nothing to do before this time.
    Wait(Instant),
}

/// A task in the store as a server sees it that takes over what others have left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It has ended, or a server that is there has it.
    None,
    /// It may not be repeated, so it has failed.
    Failed,
    /// It is this server's, to be begun again.
    Taken,
}

/// The hub's part of a task in a fleet.
#[derive(Default)]
pub(super) struct Shared {
    /// Whether another server runs it.
    is_foreign: bool,
    /// The times of the next comparison, and of the last.
    due: Option<Instant>,
    compared: Option<Instant>,
    /// Input requests that the store does not have. Clients are not told of them before, since
    /// another server may get the response.
    pub(super) asked: Vec<OpenInput>,
    /// Whether its end is in the store.
    is_end_stored: bool,
    /// Responses of clients that the store may not have yet. `None`: it was refused.
    answered: Vec<(u32, Option<OwnedJson>)>,
    /// Input requests that it made where it ran before, and makes again.
    earlier: VecDeque<TaskInput>,
}

impl Claim {
    /// Takes a task over that the server `from` has left, for the server `by`.
    pub fn of(record: &mut TaskRecord, from: &str, by: &str) -> Self {
        if record.outcome.is_some() || record.node.as_deref() != Some(from) {
            return Self::None;
        }
        let is_saved = record.saved.is_some();
        let again = record.call.as_mut().filter(|call| call.is_repeatable || is_saved);
        let error = match again {
            // A server that has taken it over without learning of it has not begun it.
            Some(call) if from == by || call.runs < MAX_RUNS => {
                call.runs += u8::from(from != by);
                record.node = Some(by.to_string());
                return Self::Taken;
            }
            Some(_) => "The servers that ran the task are gone, three in a row",
            None => "The server that ran the task is gone",
        };
        record.message = error.to_string();
        record.outcome = TaskOutcome::failed(error);
        Self::Failed
    }
}

impl<S: Clone, C: Clone> TaskHub<S, C> {
    /// Makes the server a member of a fleet. `node` names this run of it.
    pub fn join(&mut self, now: Instant, node: String) {
        if self.fleet.is_some() {
            return;
        }
        let fleet = Fleet {
            node,
            due: BTreeSet::new(),
            renews_at: now,
            sweeps_at: now.saturating_add(PERIOD),
            changed: BTreeSet::new(),
            waker: None,
        };
        self.fleet = Some(fleet);
    }

    /// Returns the name of this run of the server, if it is a member of a fleet.
    pub fn node(&self) -> Option<&str> {
        self.fleet.as_ref().map(|fleet| &*fleet.node)
    }

    /// Returns the next step. `waker` is woken when there may be another one.
    pub fn next_step(&mut self, now: Instant, waker: &Waker) -> Option<FleetStep> {
        let fleet = self.fleet.as_mut()?;
        let next = now.saturating_add(PERIOD);
        if fleet.renews_at <= now {
            fleet.renews_at = next;
            return Some(FleetStep::Renew);
        }
        if let Some(id) = fleet.changed.pop_first() {
            return Some(FleetStep::Tell(id));
        }
        if fleet.sweeps_at <= now {
            fleet.sweeps_at = next;
            return Some(FleetStep::Sweep);
        }
        while let Some(id) = self.pop_due(now) {
            // One that has gone since is not compared.
            let Some(task) = self.tasks().find(id) else { continue };
            let is_live = self.is_live(task);
            let Some(kept) = self.kept(task) else { continue };
            (kept.shared.due, kept.shared.compared) = (None, Some(now));
            if is_live || kept.is_run_here() && !kept.shared.is_end_stored {
                self.compare_at(task, next);
            }
            return Some(FleetStep::Compare(id));
        }
        let fleet = self.fleet.as_mut()?;
        fleet.waker = Some(waker.clone());
        let first = fleet.due.first().map(|(due, _)| *due);
        let until = fleet.renews_at.min(fleet.sweeps_at);
        Some(FleetStep::Wait(first.map_or(until, |first| first.min(until))))
    }

    fn pop_due(&mut self, now: Instant) -> Option<TaskId> {
        let due = &mut self.fleet.as_mut()?.due;
        due.first().filter(|(at, _)| *at <= now)?;
        due.pop_first().map(|(_, id)| id)
    }

    /// The lease was not renewed. It is tried again in a second, and nothing is taken over before
    /// the others had their time for that: the store may have failed for all.
    pub fn renewal_failed(&mut self, now: Instant) {
        if let Some(fleet) = &mut self.fleet {
            fleet.renews_at = now.saturating_add(RETRY);
            fleet.sweeps_at = now.saturating_add(LEASE);
        }
    }

    /// Lets the search for tasks that were left go on at once.
    pub fn sweep_on(&mut self, now: Instant) {
        if let Some(fleet) = &mut self.fleet {
            fleet.sweeps_at = now;
        }
    }

    /// Ends a task that this server cannot run.
    pub fn fail(&mut self, time: TaskTime, id: TaskId, why: &'static str) {
        if let Some(task) = self.tasks().find(id) {
            self.finish(time, task, Err(RpcError::internal(why).into()));
        }
    }

    /// Records that the record of a task has changed, as another server says. Without an id: that
    /// those of all tasks may have.
    pub fn signal(&mut self, now: Instant, id: Option<TaskId>) {
        let tasks: Vec<TaskKey> = match id {
            Some(id) => self.tasks().find(id).into_iter().collect(),
            None => self.kept.iter().flatten().map(|kept| kept.key).collect(),
        };
        tasks.into_iter().for_each(|task| self.compare_at(task, now));
    }

    /// Records that the record of a task was changed here.
    pub fn tell(&mut self, now: Instant, id: TaskId) {
        if let Some(fleet) = &mut self.fleet {
            fleet.changed.insert(id);
            self.woken.extend(fleet.waker.take());
        }
        // Clients here may follow it, too.
        if let Some(task) = self.tasks().find(id)
            && self.kept(task).is_some_and(|kept| kept.shared.is_foreign)
        {
            self.compare_at(task, now);
        }
    }

    /// Returns whether this server runs a task, or has its end, which is not in the store yet.
    pub fn has(&mut self, id: TaskId) -> bool {
        let task = self.tasks().find(id);
        let kept = task.and_then(|task| self.kept(task));
        kept.is_some_and(|kept| kept.is_run_here() && !kept.shared.is_end_stored)
    }

    /// Returns a task that another server runs, and whether clients are to be told of a change.
    pub fn foreign(&mut self, id: TaskId) -> Option<(TaskKey, bool)> {
        let task = self.tasks().find(id)?;
        let kept = self.kept(task)?;
        kept.shared.is_foreign.then_some((task, kept.is_changed))
    }

    /// Lets a task be compared at this time, if it was not to be earlier.
    pub(super) fn compare_at(&mut self, task: TaskKey, at: Instant) {
        let Some(id) = self.tasks().info(task).map(|info| info.id()) else { return };
        let Some(kept) = kept_in(&mut self.kept, task) else { return };
        let Some(fleet) = &mut self.fleet else { return };
        if kept.shared.due.is_some_and(|due| due <= at) {
            return;
        }
        if let Some(due) = kept.shared.due.replace(at) {
            fleet.due.remove(&(due, id));
        }
        fleet.due.insert((at, id));
        self.woken.extend(fleet.waker.take());
    }

    /// A message has changed: not every one is worth a comparison.
    pub(super) fn compare_soon(&mut self, task: TaskKey, now: Instant) {
        let spacing = self.limits.config.poll_interval;
        let last = self.kept(task).and_then(|kept| kept.shared.compared);
        let at = last.map_or(now, |last| last.saturating_add(spacing).max(now));
        self.compare_at(task, at);
    }

    /// Returns whether requests about a task are for the store: another server runs it, or none, or
    /// it asks something that is not there yet.
    pub fn is_elsewhere(&mut self, id: TaskId) -> bool {
        let Some(task) = self.tasks().find(id) else { return self.fleet.is_some() };
        self.kept(task).is_some_and(|kept| kept.shared.is_foreign || kept.is_unstored())
    }

    /// Records what the store has of a task, after a comparison.
    pub fn compared(&mut self, record: &TaskRecord) {
        let Some(task) = self.tasks().find(record.id) else { return };
        let Some(kept) = self.kept(task) else { return };
        let stored = |number: u32| record.inputs.iter().find(|stored| stored.number == number);
        kept.shared.asked.retain(|asked| stored(asked.number).is_none());
        kept.shared.answered.retain(|(number, _)| stored(*number).is_some_and(TaskInput::is_open));
        kept.shared.is_end_stored |= record.outcome.is_some();
        if kept.is_changed {
            let life = kept.life.take();
            self.woken.extend(life);
        }
        self.release(task);
    }

    /// Compares a task with its record. Returns the record as it is to be stored, if it has to
    /// change: then this is called again if another record is there by now.
    pub fn compare(&mut self, time: TaskTime, record: &TaskRecord) -> Option<TaskRecord> {
        let is_own = record.node.as_deref() == Some(&self.fleet.as_ref()?.node);
        let task = self.tasks().find(record.id)?;
        let info = self.tasks().info(task)?;
        let kept = self.kept(task)?;
        let mut new = None;
        if record.outcome.is_none() {
            let mut changed = record.clone();
            if is_own && kept.is_run_here() {
                kept.write(&info, &mut changed);
            } else {
                kept.write_answers(&mut changed);
                if info.end() == Some(TaskEnd::Cancelled) {
                    changed.outcome = Some(TaskOutcome::Cancelled);
                }
                if changed != *record {
                    changed.updated_unix_ms = changed.updated_unix_ms.max(time.unix_ms);
                }
            }
            new = Some(changed).filter(|changed| changed != record);
        }
        if !is_own {
            // The life of a task that another server has taken over ends.
            self.leave_to_others(task);
        }
        self.read(time, task, new.as_ref().unwrap_or(record));
        new
    }

    /// Another server has taken a task over, or its end: what is known of it is in the store.
    pub fn leave_to_others(&mut self, task: TaskKey) {
        let Some(kept) = self.kept(task) else { return };
        if !replace(&mut kept.shared.is_foreign, true) {
            kept.shared.asked.clear();
            let life = kept.life.take();
            let inputs = take(&mut kept.inputs);
            self.woken.extend(life);
            self.woken.extend(inputs.into_values().filter_map(|input| input.waker));
            self.own -= 1;
        }
    }

    /// Returns the task of a record that another server has. `None` if it has no room, or its time
    /// is over.
    pub fn load(
        &mut self,
        time: TaskTime,
        owner: TaskOwner,
        record: &TaskRecord,
    ) -> Option<TaskKey> {
        self.expire(time);
        if let Some(task) = self.tasks().find(record.id) {
            return Some(task);
        }
        // As many places are for those of this server.
        if self.tasks().len().saturating_sub(self.own) >= usize::from(self.limits.max_tasks) {
            return None;
        }
        let task = self.restore_shared(time, owner, record)?;
        self.read(time, task, record);
        self.compare_at(task, time.now.saturating_add(PERIOD));
        Some(task)
    }

    /// Creates the task of a record that this server has taken over, whose handler is to be called.
    pub fn adopt(
        &mut self,
        time: TaskTime,
        owner: TaskOwner,
        record: &TaskRecord,
    ) -> Option<(TaskKey, TaskInfo)> {
        self.expire(time);
        let task = match self.tasks().find(record.id) {
            Some(task) => task,
            None => self.restore_shared(time, owner, record)?,
        };
        self.read(time, task, record);
        let info = self.tasks().info(task)?;
        let kept = self.kept(task)?;
        if replace(&mut kept.shared.is_foreign, false) {
            kept.shared.earlier = record.inputs.clone().into();
            self.own += 1;
        }
        self.compare_at(task, time.now.saturating_add(PERIOD));
        Some((task, info))
    }

    fn restore_shared(
        &mut self,
        time: TaskTime,
        owner: TaskOwner,
        record: &TaskRecord,
    ) -> Option<TaskKey> {
        // The owner has them in the fleet already.
        let config = self.limits.config.max_per_owner(usize::MAX);
        let restored = self.tasks.tasks(&config).restore(time, record.id, owner, &record.stored());
        let task = restored.ok()??;
        let call = record.call.as_ref();
        self.keep(Kept {
            owner: share_of(owner),
            client: call
                .map_or(ClientFeatures::NONE, |it| ClientFeatures::from_bits(it.capabilities)),
            created_in: call.and_then(|call| call.session),
            shared: Shared { is_foreign: true, ..Shared::default() },
            ..Kept::new(task)
        });
        Some(task)
    }

    /// Handles a request about a task that another server has, as its record says. Returns the
    /// response, and the record if it has to change: as [`compare`](Self::compare).
    pub fn handle_shared(
        &mut self,
        time: TaskTime,
        request: &Request<'_>,
        (client, owner): (TaskClient, TaskOwner),
        record: &TaskRecord,
    ) -> (Option<TaskAnswer>, Option<TaskRecord>) {
        let Some(task) = self.load(time, owner, record) else {
            // Unless its time is over.
            let is_full = record.created_unix_ms.saturating_add(record.ttl_ms) > time.unix_ms;
            let error = TaskResponse::error(RpcError::internal(TaskError::Full.as_str()));
            return match is_full {
                true => (Some(TaskAnswer::Response(error)), None),
                false => (self.handle(time, request, client), None),
            };
        };
        self.read(time, task, record);
        let answer = self.handle(time, request, client);
        (answer, self.compare(time, record))
    }

    /// Returns the list of those of these tasks that a client may see.
    pub fn list(
        &mut self,
        time: TaskTime,
        request: &Request<'_>,
        client: TaskClient,
        tasks: &[TaskId],
    ) -> Option<OwnedJson> {
        let state = self.tasks();
        let visible = |id: &TaskId| {
            let found = state.find_visible(time, id.to_string().as_str(), client.owner)?;
            state.info(found)
        };
        let infos: Vec<TaskInfo> = tasks.iter().filter_map(visible).collect();
        // An owner has a limited number of them in the fleet, so the list is in one piece.
        let list = With { object: RawJson::EMPTY, name: "tasks", value: &infos };
        OwnedJson::new(&list, request.revision).ok()
    }

    /// Forgets a task of another server that no client follows here.
    pub fn release(&mut self, task: TaskKey) {
        let is_live = self.is_live(task);
        let Some(kept) = self.kept(task) else { return };
        let is_followed = kept.is_listened && (is_live || kept.is_changed)
            || kept.listening > 0
            || !kept.waiting.is_empty()
            || !kept.shared.answered.is_empty();
        if !kept.shared.is_foreign || is_followed || kept.life.is_some() {
            return;
        }
        let due = kept.shared.due;
        if let (Some(due), Some(fleet), Some(info)) =
            (due, &mut self.fleet, self.tasks.tasks(&self.limits.config).info(task))
        {
            fleet.due.remove(&(due, info.id()));
        }
        self.remove(task);
    }

    /// Returns the number of an input request that the handler has made before, when another server
    /// ran it. Requests are made again in the same order; at the first that differs, the rest is
    /// closed.
    pub(super) fn ask_again(
        &mut self,
        time: TaskTime,
        task: TaskKey,
        json: &OwnedJson,
    ) -> Option<u32> {
        let kept = self.kept(task)?;
        let next = kept.shared.earlier.pop_front()?;
        let number = next.number;
        if next.request == json.as_json().as_str() && !next.is_closed {
            if let Some(answer) = next.answer.as_deref().and_then(parsed) {
                let request = OpenInput::of(&next)?;
                let response = Some(Ok(answer));
                let input = Input { response, ..Input::new(request, false) };
                kept.inputs.insert(number, input);
            }
            return Some(number);
        }
        let earlier = take(&mut kept.shared.earlier);
        for input in core::iter::once(next).chain(earlier).filter(TaskInput::is_open) {
            self.leave_input(time, task, input.number.into());
        }
        None
    }

    /// Takes over what the record of a task says.
    fn read(&mut self, time: TaskTime, task: TaskKey, record: &TaskRecord) {
        let Some(before) = self.tasks().info(task) else { return };
        let open = record.open_inputs();
        if !before.is_live() && record.outcome.is_none() {
            return;
        }
        let Some(kept) = self.kept(task) else { return };
        if !kept.shared.is_foreign && record.outcome.is_none() {
            let Kept { inputs, .. } = kept;
            let unanswered = inputs.iter().filter(|(_, input)| input.response.is_none());
            let numbers: Vec<u32> = unanswered.map(|(number, _)| *number).collect();
            for stored in record.inputs.iter().filter(|stored| numbers.contains(&stored.number)) {
                let answer = match stored.answer.as_deref().and_then(parsed) {
                    Some(answer) => Ok(answer),
                    None if stored.is_closed => Err(ToolError::internal(REFUSED)),
                    None => continue,
                };
                self.wake_with(task, stored.number, answer);
                self.withdraw(time, task, stored.number);
            }
            return;
        }
        let travels = record.is_legacy();
        kept.inputs.retain(|number, _| open.contains(number));
        for stored in record.inputs.iter().filter(|stored| open.contains(&stored.number)) {
            if !kept.inputs.contains_key(&stored.number) {
                let request = OpenInput::of(stored).map(|it| (it.number, Input::new(it, travels)));
                kept.inputs.extend(request);
            }
        }
        let progress = record.numbers().map(Arc::new);
        let is_further = progress != kept.progress;
        kept.progress = progress;
        if let Some(outcome) = record.outcome.as_ref().filter(|_| !kept.shared.is_end_stored) {
            let outcome = outcome.result().map(Arc::new);
            // An end of its own that the store did not take does not count. Whether it has taken
            // it is known later.
            kept.shared.is_end_stored = kept.shared.is_foreign;
            let len = outcome.as_deref().map_or(0, len);
            kept.outcome = outcome;
            let _ = self.take_room(task, len, PlaceLimit::UNLIMITED);
        }
        self.tasks().set_stored(task, &record.stored().open_inputs(&open));
        let Some(after) = self.tasks().info(task) else { return };
        if !after.is_live() && before.is_live() {
            self.ended(task);
        }
        if before.updated_unix_ms() != after.updated_unix_ms()
            || before.is_live() != after.is_live()
            || !before.open_inputs().eq(after.open_inputs())
            || is_further
        {
            self.changed(task);
            self.wake_askers(task);
        }
    }
}

impl<S, C> Kept<S, C> {
    /// Whether it asks something that the store does not have.
    pub(super) const fn is_unstored(&self) -> bool {
        !self.shared.asked.is_empty()
    }

    /// Writes how a task is that runs here.
    fn write(&self, info: &TaskInfo, record: &mut TaskRecord) {
        record.update(info);
        if !info.is_live() {
            let outcome = self.outcome.as_deref().and_then(TaskOutcome::of);
            record.outcome = outcome.or_else(|| match info.end() {
                Some(_) => Some(TaskOutcome::Cancelled),
                None => TaskOutcome::failed("The task has expired"),
            });
            return;
        }
        record.progress = self.progress.as_deref().map(|numbers| {
            let (done, total) = (numbers.done(), numbers.total_amount());
            (done.to_string(), total.map(|total| total.to_string()))
        });
        for asked in &self.shared.asked {
            if !record.inputs.iter().any(|stored| stored.number == asked.number) {
                let mut new = TaskInput::new(asked.number, asked.request.as_json().as_str());
                new.needs = asked.needs.bits();
                record.inputs.push(new);
            }
        }
        self.write_answers(record);
        let is_awaited = |number| info.open_inputs().any(|open| open == number);
        for stored in record.inputs.iter_mut().filter(|stored| stored.is_open()) {
            stored.is_closed = !is_awaited(stored.number);
        }
    }

    fn write_answers(&self, record: &mut TaskRecord) {
        for (number, answer) in &self.shared.answered {
            let is_this = |stored: &&mut TaskInput| stored.number == *number && stored.is_open();
            let Some(stored) = record.inputs.iter_mut().find(is_this) else { continue };
            match answer {
                Some(answer) => stored.answer = Some(answer.as_json().as_str().to_string()),
                None => stored.is_closed = true,
            }
        }
    }
}

impl Shared {
    /// Records a response for the store.
    pub(super) fn answered(&mut self, number: u32, answer: Option<OwnedJson>) {
        if !self.answered.iter().any(|(answered, _)| *answered == number) {
            self.answered.push((number, answer));
        }
    }

    pub(super) const fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}

impl OpenInput {
    fn of(stored: &TaskInput) -> Option<Self> {
        Some(Self {
            number: stored.number,
            request: Arc::new(parsed(&stored.request)?),
            needs: ClientFeatures::from_bits(stored.needs),
        })
    }
}

impl TaskRecord {
    fn is_legacy(&self) -> bool {
        let revision = self.call.as_ref().and_then(|call| Revision::parse(&call.revision));
        revision.is_some_and(|revision| !revision.is_modern())
    }

    /// Returns its progress.
    fn numbers(&self) -> Option<Progress<'static>> {
        let amount = |text: &String| text.parse::<f64>().ok().map(Amount::from);
        let (done, total) = self.progress.as_ref()?;
        let progress = Progress::of(amount(done)?);
        Some(match total.as_ref().and_then(amount) {
            Some(total) => progress.total(total),
            None => progress,
        })
    }
}

fn parsed(json: &str) -> Option<OwnedJson> {
    RawJson::parse(json).ok().map(OwnedJson::from)
}

/// Time for which a server says that it goes on. After it others take over what it ran.
pub const LEASE: Duration = Duration::from_secs(15);
/// Time between two renewals of it, between two searches for tasks that were left, and between two
/// comparisons of a task of which nothing is heard.
const PERIOD: Duration = Duration::from_secs(5);
/// Time after which a lease is renewed again that could not be.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum number of times that a task is begun: it may be the reason why its servers end.
const MAX_RUNS: u8 = 3;
const REFUSED: &str = "The client has refused the request";
