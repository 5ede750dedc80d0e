//! The calls of a client.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use mcp_sansio::{Call, CallOptions, Instant, JsonStr, OwnedJson};

use super::InputId;
use crate::errors::CallError;
use crate::tasks::{FollowedTask, TaskResponses};

/// Id of a call. It stays the same over all rounds of input, and while the call is a task. Valid
/// only for the client that made the call. Later calls have greater ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(u64);

/// A call whose result was not taken yet.
pub(super) struct Pending {
    pub(super) id: CallId,
    /// The core's handle of the latest request for it.
    pub(super) call: Option<Call>,
    /// The subject of that request, or of the next one.
    pub(super) asked: Asked,
    pub(super) is_in_flight: bool,
    pub(super) method: String,
    /// Parameters for another attempt; the filter of a `subscriptions/listen`.
    pub(super) params: Option<OwnedJson>,
    pub(super) options: CallOptions,
    /// Later by the time that logins took.
    pub(super) started: Instant,
    /// Time at which the call, or its task, needs something without being told.
    due: Option<Instant>,
    pub(super) inputs: Option<Box<Inputs>>,
    pub(super) task: Option<Box<FollowedTask>>,
    /// The filter of a subscription, as the server has acknowledged it.
    pub(super) acknowledged: Option<OwnedJson>,
    /// The subscription that the engine makes the call for; nobody takes the result.
    pub(super) owner: Option<CallId>,
    /// Whether the server has refused to make the call a task, or not to.
    pub(super) was_refused: bool,
    /// Whether nothing is sent for its task.
    pub(super) is_held: bool,
    /// Whether a request about its task is not sent therefore.
    pub(super) is_postponed: bool,
    pub(super) result: Option<Result<OwnedJson, CallError>>,
    /// If a middleware has seen the call.
    pub(super) attempt: Option<Box<Attempt>>,
}

/// An attempt of a call that a middleware has seen.
pub(super) struct Attempt {
    /// From 1.
    pub(super) number: u32,
    /// The time at which the middleware was asked.
    pub(super) at: Instant,
    /// The time before which the middleware is not asked again.
    pub(super) until: Option<Instant>,
    /// Whether the server has asked for input.
    pub(super) had_input: bool,
    /// The number that [`Driver::authorization`](super::Driver::authorization) returned then.
    pub(super) authorization: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing: the call ends when the server is connected, or is a subscription to a legacy
    /// server, or one that the next server has not heard of.
    Nothing,
    Call,
    Notification,
    State,
    Result,
    Update,
}

/// The questions of one round, or of one task.
#[derive(Default)]
pub(super) struct Inputs {
    /// The result that asked, and its round. `None` for a task.
    pub(super) round: Option<(OwnedJson, u8)>,
    /// The requests of a task, as last received.
    pub(super) requests: Option<OwnedJson>,
    pub(super) open: Vec<(String, InputId)>,
    pub(super) responses: TaskResponses,
}

#[derive(Default)]
pub(super) struct Calls {
    all: BTreeMap<CallId, Pending>,
    /// By the index in the core's table.
    by_call: Vec<Option<CallId>>,
    /// The calls that need something at a time.
    times: BTreeSet<(Instant, CallId)>,
    made: u64,
}

impl Calls {
    pub(super) fn add(
        &mut self,
        started: Instant,
        method: String,
        params: Option<OwnedJson>,
        options: CallOptions,
    ) -> &mut Pending {
        self.made += 1;
        let id = CallId(self.made);
        self.all.entry(id).or_insert(Pending {
            id,
            call: None,
            asked: Asked::Call,
            is_in_flight: false,
            method,
            params,
            options,
            started,
            due: None,
            inputs: None,
            task: None,
            acknowledged: None,
            owner: None,
            was_refused: false,
            is_held: false,
            is_postponed: false,
            result: None,
            attempt: None,
        })
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Pending> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Pending> {
        self.all.get_mut(&id)
    }

    /// Returns a call that has no result.
    pub(super) fn open_mut(&mut self, id: CallId) -> Option<&mut Pending> {
        self.get_mut(id).filter(|pending| pending.result.is_none())
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Pending> {
        self.set_due(id, None)?;
        self.all.remove(&id)
    }

    /// Sets the time at which a call needs something. `None` if there is no such call.
    pub(super) fn set_due(&mut self, id: CallId, due: Option<Instant>) -> Option<()> {
        let pending = self.get_mut(id)?;
        if let Some(before) = core::mem::replace(&mut pending.due, due) {
            self.times.remove(&(before, id));
        }
        self.times.extend(due.map(|due| (due, id)));
        Some(())
    }

    /// Adds the time of a login, since which the time of all calls has stood still.
    #[cfg(feature = "http")]
    pub(super) fn postpone(&mut self, since: Instant, now: Instant) {
        self.times.clear();
        let open = self.all.values_mut().filter(|pending| pending.result.is_none());
        for pending in open {
            let by = now.saturating_duration_since(pending.started.max(since));
            pending.started = pending.started.saturating_add(by);
            pending.due = match pending.task {
                None => pending.due.map(|due| due.saturating_add(by)),
                Some(_) => [pending.due, pending.limit()].into_iter().flatten().min(),
            };
            self.times.extend(pending.due.map(|due| (due, pending.id)));
        }
    }

    /// Returns the calls that need something at a time, the earliest first.
    pub(super) fn times(&self) -> impl Iterator<Item = (Instant, CallId)> {
        self.times.iter().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.all.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Pending> {
        self.all.values_mut()
    }

    /// Notes that a request for a call was sent.
    pub(super) fn sent(&mut self, id: CallId, call: Call) {
        let Some(pending) = self.get_mut(id) else { return };
        (pending.call, pending.is_in_flight) = (Some(call), true);
        if self.by_call.len() <= call.index() {
            self.by_call.resize(call.index() + 1, None);
        }
        if let Some(place) = self.by_call.get_mut(call.index()) {
            *place = Some(id);
        }
    }

    /// Returns the call whose latest request is this one.
    pub(super) fn of(&mut self, call: Call) -> Option<&mut Pending> {
        let id = (*self.by_call.get(call.index())?)?;
        self.open_mut(id).filter(|pending| pending.call == Some(call))
    }

    pub(super) fn of_task(&mut self, task: JsonStr<'_>) -> Option<&mut Pending> {
        let is_it = |followed: &FollowedTask| task == *followed.id();
        self.iter_mut()
            .filter(|pending| pending.result.is_none())
            .find(|pending| pending.task.as_deref().is_some_and(is_it))
    }
}

impl Pending {
    /// Returns the time at which a call with a limit of its own ends.
    pub(super) fn limit(&self) -> Option<Instant> {
        self.options.limit.map(|limit| self.started.saturating_add(limit))
    }

    /// Whether nothing was sent for the call.
    pub(super) fn is_new(&self) -> bool {
        self.call.is_none() && self.task.is_none() && self.asked != Asked::Nothing
    }

    pub(super) fn is_listen(&self) -> bool {
        self.method == LISTEN
    }

    /// Returns its task, unless that has ended: it goes on after the end of the connection.
    pub(super) fn live_task(&self) -> Option<&FollowedTask> {
        let is_live = matches!(self.result, None | Some(Err(CallError::Closed)));
        self.task.as_deref().filter(|_| is_live)
    }

    /// Whether it is a subscription that has ended with the connection.
    pub(super) fn is_lost(&self) -> bool {
        self.is_listen() && matches!(self.result, Some(Err(CallError::Closed)))
    }
}

pub(super) const LISTEN: &str = "subscriptions/listen";
