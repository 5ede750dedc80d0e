//! Events of calls before their results, kept until somebody asks.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::ToString as _;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{Changed, ClientEvent, OwnedJson, RawJson};

use super::{CallId, Finished};

/// Something that changed: cached copies of it are stale.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI, or a sub-resource of it.
    Resource(Arc<str>),
    /// The state of the task with this id.
    Task(Arc<str>),
    /// Changes were dropped, because more arrived than are kept: anything subscribed to may have
    /// changed.
    Missed,
}

/// The events of all calls. Those that wait for one are [woken](Self::woken) where no lock is held.
#[derive(Default)]
pub struct CallEvents {
    calls: BTreeMap<CallId, Entry>,
    woken: Vec<Waker>,
}

/// The events of one call before its result.
#[derive(Default)]
struct Entry {
    events: VecDeque<CallEvent>,
    /// Bytes of the progress reports and changes among the events.
    bytes: usize,
    waker: Option<Waker>,
}

/// An event of a call.
pub enum CallEvent {
    /// A report of its progress.
    Progress(OwnedJson),
    /// A change that it subscribes to.
    Change(Change),
    /// Its end.
    Finished(Finished),
}

impl CallEvents {
    /// Keeps the events of a call from now on.
    #[inline]
    pub fn open(&mut self, call: CallId) {
        self.calls.insert(call, Entry::default());
    }

    /// Forgets a call.
    #[inline]
    pub fn close(&mut self, call: CallId) {
        self.calls.remove(&call);
    }

    /// Takes the oldest event of a call. If there is none, keeps the waker.
    #[inline]
    pub fn take(&mut self, call: CallId, waker: &Waker) -> Option<CallEvent> {
        let entry = self.calls.get_mut(&call)?;
        let event = entry.pop();
        if event.is_none() && !entry.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            entry.waker = Some(waker.clone());
        }
        event
    }

    /// Keeps the waker for the next news of a call.
    pub fn wake_by(&mut self, call: CallId, waker: &Waker) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.waker = Some(waker.clone());
        }
    }

    /// Tells these subscriptions that they have missed changes.
    pub fn missed(&mut self, is_lost: impl Fn(CallId) -> bool) {
        for (_, entry) in self.calls.iter_mut().filter(|(call, _)| is_lost(**call)) {
            self.woken.extend(entry.push(CallEvent::Change(Change::Missed)));
        }
    }

    /// Wakes who waits for news of a call: see [`Driver::updated`](crate::Driver::updated).
    #[inline]
    pub fn updated(&mut self, call: CallId) {
        self.woken.extend(self.calls.get_mut(&call).and_then(|entry| entry.waker.take()));
    }

    /// Keeps an [event](crate::Driver::event) of a call. Returns `false` if it is for the
    /// application.
    pub fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) -> bool {
        let event = match event {
            ClientEvent::Progress { params, .. } => CallEvent::Progress((*params).into()),
            // The engine keeps it.
            ClientEvent::Listening { .. } => return true,
            ClientEvent::Changed { listen, what } if about.is_some() || listen.is_some() => {
                CallEvent::Change(Change::from(*what))
            }
            _ => return false,
        };
        let entry = about.and_then(|call| self.calls.get_mut(&call));
        self.woken.extend(entry.and_then(|entry| entry.push(event)));
        true
    }

    /// Returns who is to be woken since the last call.
    #[inline]
    pub fn woken(&mut self) -> Vec<Waker> {
        core::mem::take(&mut self.woken)
    }
}

impl Entry {
    fn pop(&mut self) -> Option<CallEvent> {
        let event = self.events.pop_front()?;
        self.bytes -= event.bytes();
        Some(event)
    }

    fn push(&mut self, event: CallEvent) -> Option<Waker> {
        let bytes = event.bytes();
        match &event {
            // The latest report supersedes the others.
            CallEvent::Progress(_) => {
                while self.is_full(bytes)
                    && matches!(self.events.front(), Some(CallEvent::Progress(_)))
                {
                    self.pop();
                }
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
                    self.events.retain(|event| !matches!(event, CallEvent::Change(_)));
                    self.bytes = self.events.iter().map(CallEvent::bytes).sum();
                    self.events.push_back(CallEvent::Change(Change::Missed));
                    return self.waker.take();
                }
            }
            _ => {}
        }
        self.bytes += bytes;
        self.events.push_back(event);
        self.waker.take()
    }

    /// Returns whether there is no room for this many bytes more.
    fn is_full(&self, bytes: usize) -> bool {
        self.events.len() >= MAX_EVENTS || self.bytes + bytes > MAX_EVENT_BYTES
    }
}

impl CallEvent {
    /// Reports progress. Returns the end of the call.
    pub fn finished(self, on_progress: &mut impl FnMut(&ProgressParams<'_>)) -> Option<Finished> {
        match self {
            Self::Finished(over) => return Some(over),
            Self::Progress(params) => params.to().iter().for_each(on_progress),
            _ => {}
        }
        None
    }

    /// Returns the size of events that can be numerous.
    fn bytes(&self) -> usize {
        match self {
            Self::Progress(params) => params.as_raw().as_str().len(),
            Self::Change(Change::Resource(uri)) => uri.len(),
            _ => 0,
        }
    }
}

impl From<Changed<'_>> for Change {
    fn from(changed: Changed<'_>) -> Self {
        match changed {
            Changed::Tools => Self::Tools,
            Changed::Prompts => Self::Prompts,
            Changed::Resources => Self::Resources,
            Changed::Resource { uri } => Self::Resource(uri.to_string().into()),
            Changed::Task(task) => {
                let id = task.get("taskId").and_then(RawJson::as_string);
                id.map_or(Self::Missed, |id| Self::Task(id.to_string().into()))
            }
            _ => Self::Missed,
        }
    }
}

/// Maximum number of events that are kept for a call. Older progress is dropped, and changes become
/// one [`Change::Missed`].
const MAX_EVENTS: usize = 64;
/// Maximum number of bytes of them. The latest progress report is kept even if it is longer.
const MAX_EVENT_BYTES: usize = 64 << 10;
