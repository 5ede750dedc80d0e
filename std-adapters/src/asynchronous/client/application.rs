//! The application as the engine sees it: handlers of questions, futures of calls, and the function
//! for events.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{Changed, ClientEvent, OwnedJson};
use mcp_sansio_engine::{CallId, Driver, Finished, InputId, InputRefusal, InputResponse, Question};

use super::connector::OnEvent;
use super::input::{InputFuture, InputHandler};
use super::listen::Change;
use crate::client::OwnedInputRequest;
use crate::client::{random, unix_ms};
use crate::panics::caught;
use crate::runtime::tasks::Tasks;

pub(crate) struct Application {
    input_handler: InputHandler,
    on_event: Option<OnEvent>,
    inputs: Tasks<InputId, InputFuture>,
    /// Questions whose futures are to be dropped: not here, since that calls the application.
    withdrawn: Vec<InputId>,
    calls: BTreeMap<CallId, Entry>,
    /// Called once nobody works with the session: a waker may poll a call.
    pub(crate) wakers: Vec<Waker>,
}

/// What a call has to tell before its result.
#[derive(Default)]
struct Entry {
    events: VecDeque<CallEvent>,
    /// Bytes of the progress reports and changes among the events.
    bytes: usize,
    waker: Option<Waker>,
}

pub(crate) enum CallEvent {
    Progress(OwnedJson),
    Change(Change),
    Finished(Finished),
}

impl Application {
    pub(crate) fn new(input_handler: InputHandler, on_event: Option<OnEvent>) -> Self {
        Self {
            input_handler,
            on_event,
            inputs: Tasks::new(),
            withdrawn: Vec::new(),
            calls: BTreeMap::new(),
            wakers: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, call: CallId) {
        self.calls.insert(call, Entry::default());
    }

    pub(crate) fn close(&mut self, call: CallId) {
        self.calls.remove(&call);
    }

    /// Takes the oldest event of a call. If there is none, keeps the waker.
    pub(crate) fn take(&mut self, call: CallId, waker: &Waker) -> Option<CallEvent> {
        let entry = self.calls.get_mut(&call)?;
        let event = entry.pop();
        if event.is_none() && !entry.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            entry.waker = Some(waker.clone());
        }
        event
    }

    /// Tells these subscriptions that they have missed changes.
    pub(crate) fn missed(&mut self, is_lost: impl Fn(CallId) -> bool) {
        for (_, entry) in self.calls.iter_mut().filter(|(call, _)| is_lost(**call)) {
            self.wakers.extend(entry.push(CallEvent::Change(Change::Missed)));
        }
    }

    /// Keeps the waker for the next news of a call.
    pub(crate) fn wake_by(&mut self, call: CallId, waker: &Waker) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.waker = Some(waker.clone());
        }
    }

    /// Polls the futures that were woken. Returns an answer that is ready.
    pub(crate) fn poll_input(&mut self, cx: &Context<'_>) -> Option<(InputId, InputResponse)> {
        for withdrawn in std::mem::take(&mut self.withdrawn) {
            self.inputs.drop_where(|input| *input == withdrawn);
        }
        while let Poll::Ready(polled) = self.inputs.poll_next(cx) {
            if let Some((input, answer)) = polled {
                return Some((input, answer.unwrap_or(Err(InputRefusal::Panicked))));
            }
        }
        None
    }

    #[cfg(test)]
    pub(crate) fn open_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Drops all futures.
    pub(crate) fn drop_inputs(&mut self) {
        self.withdrawn.clear();
        self.inputs = Tasks::new();
    }
}

impl Driver for Application {
    fn unix_ms(&mut self) -> u64 {
        unix_ms()
    }

    fn random(&mut self) -> u32 {
        random()
    }

    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse> {
        match OwnedInputRequest::of(&question) {
            Ok(request) => {
                self.inputs.insert(question.id, (self.input_handler)(request));
                None
            }
            Err(refusal) => Some(Err(refusal)),
        }
    }

    fn withdrawn(&mut self, input: InputId) {
        self.withdrawn.push(input);
    }

    fn updated(&mut self, call: CallId) {
        self.wakers.extend(self.calls.get_mut(&call).and_then(|entry| entry.waker.take()));
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        let entry = about.and_then(|call| self.calls.get_mut(&call));
        let call_event = |entry: Option<&mut Entry>, event| entry.and_then(|it| it.push(event));
        let waker = match event {
            ClientEvent::Progress { params, .. } => {
                call_event(entry, CallEvent::Progress((*params).into()))
            }
            // The engine keeps it.
            ClientEvent::Listening { .. } => None,
            ClientEvent::Changed { listen, what } if about.is_some() || listen.is_some() => {
                call_event(entry, CallEvent::Change(Change::from(*what)))
            }
            _ => {
                if let Some(on_event) = &mut self.on_event {
                    let _ = caught(|| on_event(event));
                }
                return;
            }
        };
        self.wakers.extend(waker);
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
    pub(crate) fn finished(
        self,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Option<Finished> {
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
                let id = task.get("taskId").and_then(mcp_sansio::RawJson::as_string);
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
