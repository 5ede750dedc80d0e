//! Holds each call's events until its future is polled.

use std::collections::VecDeque;
use std::task::Waker;

use mcp_sansio::{Call, CallOutcome, Changed, ClientEvent, OwnedJson, RawJson};

use super::error::CallError;
use super::listen::{Change, LegacyFilter};
use crate::client::ServerError;

/// The entries of all calls. Each has a number as long as its future exists.
#[derive(Default)]
pub(crate) struct CallTable {
    entries: Vec<Entry>,
    free: Vec<usize>,
    /// By the index of the call in the core's table.
    by_call: Vec<Option<(Call, usize)>>,
}

#[derive(Default)]
struct Entry {
    is_used: bool,
    /// The call, while it is in flight.
    call: Option<Call>,
    /// Kinds of changes to report, for a subscription to a legacy server.
    legacy_filter: Option<LegacyFilter>,
    /// The task whose states and progress to report.
    task_id: Option<String>,
    events: VecDeque<CallEvent>,
    /// Bytes of the progress reports and changes among the events.
    bytes: usize,
    waker: Option<Waker>,
}

pub(crate) enum CallEvent {
    Progress(OwnedJson),
    /// A subscription was acknowledged, with this filter.
    Listening(OwnedJson),
    Change(Change),
    /// The state of a task, from a notification.
    TaskState(OwnedJson),
    Finished(OwnedOutcome),
}

/// An owned [`CallOutcome`] of a call.
pub(crate) enum OwnedOutcome {
    Result(OwnedJson),
    InputRequired {
        result: OwnedJson,
        round: u8,
    },
    /// The server runs the call as a task.
    Task(OwnedJson),
    /// The server ended a subscription.
    ByServer,
    Error(CallError),
}

impl CallTable {
    /// Adds an entry, for a call or for a subscription without one.
    pub(crate) fn open(&mut self, call: Option<Call>) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() - 1
        });
        if let Some(entry) = self.entries.get_mut(number) {
            entry.is_used = true;
            entry.call = call;
        }
        if let Some(call) = call {
            if self.by_call.len() <= call.index() {
                self.by_call.resize(call.index() + 1, None);
            }
            if let Some(place) = self.by_call.get_mut(call.index()) {
                *place = Some((call, number));
            }
        }
        number
    }

    /// Removes an entry. Returns the call if it is in flight.
    pub(crate) fn close(&mut self, number: usize) -> Option<Call> {
        let entry = self.entries.get_mut(number).filter(|entry| entry.is_used)?;
        entry.is_used = false;
        entry.events.clear();
        entry.bytes = 0;
        entry.waker = None;
        entry.legacy_filter = None;
        (entry.task_id = None);
        let call = entry.call.take();
        self.free.push(number);
        if let Some(place) = call.and_then(|call| self.by_call.get_mut(call.index())) {
            *place = None;
        }
        call
    }

    /// Makes an entry receive changes that a legacy server reports.
    pub(crate) fn set_legacy_filter(&mut self, number: usize, legacy_filter: LegacyFilter) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.legacy_filter = Some(legacy_filter);
        }
    }

    /// Makes an entry receive the states and the progress of a task.
    pub(crate) fn set_task(&mut self, number: usize, task_id: &str) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.task_id = Some(task_id.to_owned());
        }
    }

    /// Hands an event about a task to who follows it.
    fn deliver_to_task(&mut self, event: &ClientEvent<'_>, wakers: &mut Vec<Waker>) {
        let (task_id, call_event) = match event {
            ClientEvent::TaskProgress { task_id, params } => {
                (*task_id, CallEvent::Progress((*params).into()))
            }
            ClientEvent::Changed { what: Changed::Task(task), .. } => {
                let Some(id) = task.get("taskId").and_then(RawJson::as_string) else { return };
                (id, CallEvent::TaskState((*task).into()))
            }
            _ => return,
        };
        let is_it = |entry: &&mut Entry| entry.task_id.as_ref().is_some_and(|id| task_id == **id);
        if let Some(entry) = self.entries.iter_mut().find(is_it) {
            wakers.extend(entry.push(call_event));
        }
    }

    /// Takes the oldest event. If there is none, keeps the waker.
    pub(crate) fn take(&mut self, number: usize, waker: &Waker) -> Option<CallEvent> {
        let entry = self.entries.get_mut(number)?;
        let call_event = entry.pop();
        if call_event.is_none() && !entry.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            entry.waker = Some(waker.clone());
        }
        call_event
    }

    /// Hands an event to its call. Returns `false` if it belongs to none.
    pub(crate) fn deliver(&mut self, event: &ClientEvent<'_>, wakers: &mut Vec<Waker>) -> bool {
        self.deliver_to_task(event, wakers);
        let (call, call_event) = match event {
            ClientEvent::CallFinished { call, outcome } => {
                (*call, CallEvent::Finished(OwnedOutcome::from(*outcome)))
            }
            ClientEvent::Progress { call, params } => {
                (*call, CallEvent::Progress((*params).into()))
            }
            ClientEvent::Listening { call, filter } => {
                (*call, CallEvent::Listening((*filter).into()))
            }
            ClientEvent::Changed { listen: Some(call), what } => {
                (*call, CallEvent::Change(Change::from(*what)))
            }
            ClientEvent::Changed { listen: None, what } => {
                let change = Change::from(*what);
                for entry in self.entries.iter_mut().filter(|entry| {
                    entry.legacy_filter.is_some_and(|legacy_filter| legacy_filter.has(&change))
                }) {
                    wakers.extend(entry.push(CallEvent::Change(change.clone())));
                }
                return false;
            }
            _ => return false,
        };
        let Some(place) = self
            .by_call
            .get_mut(call.index())
            .filter(|place| place.is_some_and(|(known, _)| known == call))
        else {
            // The future of the call was dropped.
            return true;
        };
        let Some(entry) = place.and_then(|(_, number)| self.entries.get_mut(number)) else {
            return true;
        };
        if matches!(call_event, CallEvent::Finished(_)) {
            entry.call = None;
            *place = None;
        }
        wakers.extend(entry.push(call_event));
        true
    }

    /// Ends the entries without a call when the connection ends.
    pub(crate) fn finish_all(&mut self, wakers: &mut Vec<Waker>) {
        for entry in self.entries.iter_mut().filter(|entry| entry.is_without_call()) {
            entry.legacy_filter = None;
            (entry.task_id = None);
            wakers.extend(entry.push(CallEvent::Finished(OwnedOutcome::Error(CallError::Closed))));
        }
    }
}

impl Entry {
    fn is_without_call(&self) -> bool {
        if self.task_id.is_some() {
            return true;
        }
        self.legacy_filter.is_some()
    }

    fn pop(&mut self) -> Option<CallEvent> {
        let call_event = self.events.pop_front()?;
        self.bytes -= call_event.bytes();
        Some(call_event)
    }

    fn push(&mut self, call_event: CallEvent) -> Option<Waker> {
        let bytes = call_event.bytes();
        match &call_event {
            // The latest report supersedes the others.
            CallEvent::Progress(_) => {
                while self.is_full(bytes)
                    && matches!(self.events.front(), Some(CallEvent::Progress(_)))
                {
                    self.pop();
                }
            }
            // The latest state supersedes the others.
            CallEvent::TaskState(_) => {
                let is_other = |kept: &CallEvent| !matches!(kept, CallEvent::TaskState(_));
                self.events.retain(is_other);
                self.bytes = self.events.iter().map(CallEvent::bytes).sum();
            }
            CallEvent::Change(change) => {
                let is_told = |kept: &CallEvent| {
                    matches!(
                        kept,
                        CallEvent::Change(kept) if kept == change || *kept == Change::Missed
                    )
                };
                if self.events.iter().any(is_told) {
                    return None;
                }
                if self.is_full(bytes) {
                    self.events.retain(|call_event| !matches!(call_event, CallEvent::Change(_)));
                    self.bytes = self.events.iter().map(CallEvent::bytes).sum();
                    self.events.push_back(CallEvent::Change(Change::Missed));
                    return self.waker.take();
                }
            }
            _ => {}
        }
        self.bytes += bytes;
        self.events.push_back(call_event);
        self.waker.take()
    }

    /// Returns whether there is no room for this many bytes more.
    fn is_full(&self, bytes: usize) -> bool {
        self.events.len() >= MAX_EVENTS || self.bytes + bytes > MAX_EVENT_BYTES
    }
}

impl CallEvent {
    /// Returns the size of events that can be numerous.
    fn bytes(&self) -> usize {
        match self {
            Self::Progress(params) => params.as_raw().as_str().len(),
            Self::Change(Change::Resource(uri)) => uri.len(),
            _ => 0,
        }
    }
}

impl OwnedOutcome {
    /// Returns the error of a call that ended without the expected result.
    pub(crate) fn into_error(self) -> CallError {
        if let Self::Error(error) = self { error } else { CallError::Closed }
    }
}

impl From<CallOutcome<'_>> for OwnedOutcome {
    fn from(outcome: CallOutcome<'_>) -> Self {
        Self::Error(match outcome {
            CallOutcome::Result(result) => return Self::Result(result.into()),
            CallOutcome::InputRequired(input) => {
                return Self::InputRequired {
                    result: input.as_json().into(),
                    round: input.round(),
                };
            }
            CallOutcome::Task(task) => return Self::Task(task.into()),
            CallOutcome::EndedByServer => return Self::ByServer,
            CallOutcome::Error(error) => CallError::Server(ServerError::from(error)),
            CallOutcome::Invalid(violation) => CallError::Invalid(violation),
            CallOutcome::TimedOut => CallError::TimedOut,
            #[cfg(feature = "http")]
            CallOutcome::Http(failure) => CallError::Http(failure.into()),
            _ => CallError::Closed,
        })
    }
}

/// Maximum number of events that are kept for a call. Older progress is dropped, and changes become
/// one [`Change::Missed`].
const MAX_EVENTS: usize = 64;
/// Maximum number of bytes of them. The latest progress report is kept even if it is longer.
const MAX_EVENT_BYTES: usize = 64 << 10;
