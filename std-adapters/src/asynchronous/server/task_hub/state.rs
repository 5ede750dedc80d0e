//! The state of the hub: its tasks, their results, and the requests that wait for them.

use std::mem::{replace, take};
use std::sync::{Arc, Weak};
use std::task::Waker;

use mcp_sansio::tasks::{GrowingTasksState, TaskKey, TaskOwner, TaskReply, TaskTime, TaskTimeout};
use mcp_sansio::{ClientFeatures, OwnedJson, ToolError};
use mcp_sansio_engine::{NoPlace, PlaceLimit, Places};

use super::options::TaskOptions;
use super::response::{self, Content, OpenInput, TaskOutcome, TaskResponse};
use super::waiting::CLIENT_SHARE;
#[cfg(feature = "http")]
use crate::asynchronous::server::context::ActiveRequest;
use crate::asynchronous::server::reply::PendingResponse;
use crate::asynchronous::server::source::RequestSource;

pub(super) struct State {
    pub(super) tasks: GrowingTasksState,
    /// An entry for each task, by [`TaskKey::index`].
    pub(super) kept: Vec<Option<Kept>>,
    /// Bytes of all results, by owner.
    pub(super) results: Places<TaskOwner>,
    /// The `tasks/result` that wait, by client, and the number of the last one.
    pub(super) waiting: Places<u64>,
    pub(super) last_waiting: u64,
}

/// The hub's part of a task, beside that of [`GrowingTasksState`].
pub(super) struct Kept {
    pub(super) key: TaskKey,
    /// Wakes the life of its call, which is told of the end and of changes.
    pub(super) life: Option<Waker>,
    pub(super) outcome: Option<Arc<TaskOutcome>>,
    /// Whose share its result is in; `None` if everybody is the owner.
    pub(super) owner: Option<TaskOwner>,
    pub(super) inputs: Vec<Input>,
    /// Capabilities of the client that made the call.
    pub(super) client: ClientFeatures,
    /// The connection that the call came on, if it is told of changes (2025-11-25).
    pub(super) session: Option<Weak<dyn RequestSource>>,
    /// The session in which it was created: see [`TaskClient`](super::TaskClient).
    pub(super) created_in: Option<u64>,
    /// Whether there was a subscription to it (2026-07-28).
    pub(super) is_listened: bool,
    /// The `tasks/result` that wait for its end.
    pub(super) waiting: Vec<Waiting>,
    /// Whether there was a change that clients were not told of yet.
    pub(super) is_changed: bool,
}

/// An input request, until the handler has the response.
pub(super) struct Input {
    pub(super) request: OpenInput,
    pub(super) response: Option<Result<OwnedJson, ToolError<'static>>>,
    pub(super) waker: Option<Waker>,
    /// Whether it is part of a `tasks/result` (2025-11-25), and the number of that.
    pub(super) travels: bool,
    pub(super) asked_by: Option<u64>,
}

/// A `tasks/result` that waits. The requests of its task are sent as part of it.
pub(super) struct Waiting {
    pub(super) number: u64,
    /// Its place in [`State::waiting`].
    pub(super) client: Option<u64>,
    pub(super) waker: Option<Waker>,
    /// For messages of the task.
    #[cfg(feature = "http")]
    pub(super) request: Arc<ActiveRequest>,
    #[cfg(feature = "http")]
    pub(super) source: Arc<dyn RequestSource>,
    /// Whether requests can be sent as part of it.
    pub(super) is_open: bool,
}

/// Wakers to be called when the mutex is unlocked.
#[derive(Default)]
pub(super) struct Woken(pub(super) Vec<Waker>);

impl Woken {
    pub(super) fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

impl Input {
    pub(super) fn has_number(&self, number: u64) -> bool {
        u64::from(self.request.number) == number
    }

    pub(super) fn is_to_be_asked(&self) -> bool {
        self.travels && self.asked_by.is_none() && self.response.is_none()
    }
}

impl State {
    pub(super) fn kept(&mut self, task: TaskKey) -> Option<&mut Kept> {
        // Its place may have become that of another.
        self.kept.get_mut(task.index())?.as_mut().filter(|kept| kept.key == task)
    }

    pub(super) fn keep(&mut self, task: TaskKey, kept: Kept) {
        if self.kept.len() <= task.index() {
            self.kept.resize_with(task.index() + 1, || None);
        }
        if let Some(place) = self.kept.get_mut(task.index()) {
            *place = Some(kept);
        }
    }

    pub(super) fn response(&mut self, reply: TaskReply) -> PendingResponse {
        let kept = reply.content_of().and_then(|task| self.kept(task));
        let content = kept.map_or_else(Content::default, |kept| kept.content());
        PendingResponse::Task(Box::new(TaskResponse { reply, content }))
    }

    /// Clients are to be told of a change.
    pub(super) fn changed(&mut self, task: TaskKey) {
        if let Some(kept) = self.kept(task)
            && (kept.is_listened || kept.session.is_some())
            && !replace(&mut kept.is_changed, true)
            && let Some(life) = kept.life.take()
        {
            life.wake();
        }
    }

    /// Counts the bytes of a result in the share of its owner, who may have one of any length.
    pub(super) fn keep_result(
        &mut self,
        len: usize,
        owner: Option<TaskOwner>,
        options: &TaskOptions,
    ) -> Result<(), NoPlace> {
        let mut limit = PlaceLimit::percent(options.max_results, CLIENT_SHARE);
        if owner.is_some_and(|owner| self.results.taken_by(&owner) == 0) {
            limit.share = limit.total;
        }
        self.results.take(len, owner.as_ref(), limit)
    }

    /// The handler is not needed any more, and the result can be told.
    pub(super) fn ended(&mut self, task: TaskKey) -> Woken {
        let Some(kept) = self.kept(task) else { return Woken::default() };
        let waiting = take(&mut kept.waiting);
        let mut wakers: Vec<Waker> = kept.life.take().into_iter().collect();
        wakers.extend(take(&mut kept.inputs).into_iter().filter_map(|input| input.waker));
        for Waiting { client, waker, .. } in waiting {
            self.waiting.give_back(1, client.as_ref());
            wakers.extend(waker);
        }
        Woken(wakers)
    }

    /// Keeps the responses to input requests. Returns who waits for them.
    pub(super) fn update(&mut self, task: TaskKey, responses: Vec<(u32, OwnedJson)>) -> Woken {
        let mut wakers = Vec::new();
        let is_changed = !responses.is_empty();
        for (number, response) in responses {
            let inputs = self.kept(task).map(|kept| &mut kept.inputs);
            let input = inputs
                .and_then(|inputs| inputs.iter_mut().find(|input| input.request.number == number));
            if let Some(input) = input {
                input.response = Some(Ok(response));
                wakers.extend(input.waker.take());
            }
        }
        if is_changed {
            self.changed(task);
        }
        Woken(wakers)
    }

    pub(super) fn expire(&mut self, options: &TaskOptions, time: TaskTime) -> Woken {
        let mut woken = Woken::default();
        while let Some(timeout) = self.tasks.tasks(&options.config).handle_timeout(time) {
            match timeout {
                TaskTimeout::Expired(task) => woken.0.extend(self.ended(task).0),
                TaskTimeout::Gone(task) => {
                    let kept = self.kept.get_mut(task.index()).and_then(Option::take);
                    let Some(Kept { outcome: Some(outcome), owner, .. }) = kept else { continue };
                    self.results.give_back(response::len(&outcome), owner.as_ref());
                }
            }
        }
        woken
    }
}

impl Kept {
    /// Returns the requests that questions can be sent with.
    pub(super) fn askers(&mut self) -> Woken {
        let open = self.waiting.iter_mut().filter(|waiting| waiting.is_open);
        Woken(open.filter_map(|waiting| waiting.waker.take()).collect())
    }

    pub(super) fn content(&self) -> Content {
        let open = self.inputs.iter().filter(|input| input.response.is_none());
        Content {
            outcome: self.outcome.clone(),
            inputs: open.map(|input| input.request.clone()).collect(),
        }
    }
}
