//! A call that may become a task, as its handler and its runner see it.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use mcp_sansio::tasks::{TaskId, TaskInfo, TaskKey, TaskMode, TaskReply};
use mcp_sansio::types::{InputRequest, TaskSupport};
use mcp_sansio::{
    Amount, ClientFeatures, Entry, OwnedJson, Progress, ResponseKind, Revision, RpcError,
    SendError, ToolError,
};

use super::response::{Content, TaskOutcome, TaskResponse};
use super::{Mailbox, TaskClient, TaskHub};
use crate::asynchronous::server::app::Settings;
use crate::asynchronous::server::context::ActiveRequest;
use crate::asynchronous::server::reply::{HandlerResult, PendingResponse, Reply};
use crate::asynchronous::server::runner::PANICKED;
use crate::asynchronous::server::source::{Attempt, RequestSource};
use crate::lock::lock;
use crate::observer::is_error;
use crate::panics::Panic;
use crate::runtime;

/// A call that may become a task.
pub(crate) struct TaskWork {
    hub: Arc<TaskHub>,
    client: TaskClient,
    features: ClientFeatures,
    /// The time that the client asks for.
    ttl_ms: Option<u64>,
    /// When the call becomes a task.
    after: Duration,
    /// Whether the call must not be a call.
    is_required: bool,
    task: OnceLock<(TaskKey, TaskId)>,
    /// The progress that the client was told last, and when.
    reported: Mutex<Option<(Amount, Instant)>>,
    progress_interval: Duration,
}

impl TaskWork {
    /// Returns the work of a call that may be a task.
    pub(crate) fn new(
        settings: &Settings,
        tool: &Entry<'_>,
        mode: TaskMode,
        features: ClientFeatures,
        client: impl FnOnce() -> TaskClient,
    ) -> Option<Box<Self>> {
        let hub = &settings.tasks;
        let (ttl_ms, after, is_asked) = match mode {
            TaskMode::Call => return None,
            TaskMode::Either => (None, hub.options.after_of(tool.key().as_plain()?), false),
            TaskMode::Task { ttl_ms } => (ttl_ms, Duration::ZERO, true),
        };
        Some(Box::new(Self {
            hub: Arc::clone(hub),
            client: client(),
            features,
            ttl_ms,
            after,
            is_required: is_asked || tool.task_support() == TaskSupport::Required,
            task: OnceLock::new(),
            reported: Mutex::default(),
            progress_interval: settings.config.progress_interval,
        }))
    }

    pub(crate) fn after(&self) -> Duration {
        self.after
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
        runner: &Arc<Mailbox>,
    ) -> Result<Option<(TaskKey, TaskInfo)>, PendingResponse> {
        let session = (!revision.is_modern()).then(|| Arc::downgrade(source));
        match self.hub.create(self.client, self.ttl_ms, self.features, session, runner) {
            Ok(created) => Ok(Some(created)),
            Err(error) if self.is_required => {
                Err(PendingResponse::Refused(RpcError::internal(error.as_str())))
            }
            Err(_) => Ok(None),
        }
    }

    /// Makes the call the task. Returns the response.
    pub(crate) fn begin(&self, (key, info): (TaskKey, TaskInfo)) -> PendingResponse {
        let _ = self.task.set((key, info.id()));
        let (reply, content) = (TaskReply::created(info), Content::default());
        PendingResponse::Task(Box::new(TaskResponse { reply, content }))
    }

    /// Returns whether the call must be a task.
    #[cfg(feature = "store")]
    pub(crate) fn is_required(&self) -> bool {
        self.is_required
    }

    /// Returns the task, once the call is one.
    pub(crate) fn key(&self) -> Option<TaskKey> {
        self.task.get().map(|(key, _)| *key)
    }

    pub(crate) fn id(&self) -> Option<TaskId> {
        self.task.get().map(|(_, id)| *id)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.key().is_some_and(|task| self.hub.is_live(task))
    }

    pub(crate) fn set_message(&self, message: &dyn fmt::Display) {
        if let Some(task) = self.key() {
            self.hub.set_message(task, message);
        }
    }

    /// Sets the status message. Returns whether a client of 2025-11-25 is to be told.
    pub(crate) fn set_progress(&self, progress: &Progress<'_>, revision: Revision) -> bool {
        self.set_message(progress);
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

    /// Returns how the task ends with the result of its handler.
    pub(crate) fn outcome(
        request: &ActiveRequest,
        result: Result<HandlerResult, Panic>,
    ) -> TaskOutcome {
        let outcome = match result {
            Ok(Ok(Reply(json))) => Ok(json),
            Ok(Err(error)) => error.task_result(request.revision()),
            Err(panic) => {
                request.panicked(&panic);
                return Err(RpcError::internal(PANICKED).into());
            }
        };
        request.tell(|observed| {
            observed.responded(match &outcome {
                Ok(json) if is_error(json.as_raw()) => ResponseKind::ToolFailed,
                Ok(_) => ResponseKind::Result,
                Err(error) => ResponseKind::Error(error.as_error().code.number(request.revision())),
            });
        });
        outcome
    }

    /// Returns `false` if the task has ended already.
    pub(crate) fn end(&self, outcome: TaskOutcome) -> bool {
        self.key().is_some_and(|task| self.hub.finish(task, outcome))
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
                *place.insert(self.hub.ask(task, json, request.required_capabilities())?)
            }
        };
        match revision.is_modern() {
            true => self.hub.poll_update(cx, task, number),
            false => self.hub.poll_sent(cx, task, number),
        }
    }

    /// Sends a message of a task to its session (2025-11-25): over HTTP only with a `tasks/result`
    /// of the same session, since nothing else may read it.
    pub(crate) fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        task: TaskKey,
        (active, source): (&ActiveRequest, &dyn RequestSource),
        place: &mut Option<u64>,
        attempt: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>> {
        #[cfg(feature = "http")]
        if let Some(origin) = &active.origin {
            let channel = self.hub.channel(task).filter(|(request, _)| {
                request.origin.as_ref().is_some_and(|other| other.server == origin.server)
            });
            return match channel {
                Some((request, source)) => source.poll_send(cx, &request, place, attempt),
                None => Poll::Ready(Ok(())),
            };
        }
        let _ = task;
        source.poll_send(cx, active, place, attempt)
    }

    pub(crate) fn leave_input(&self, task: TaskKey, place: u64) {
        self.hub.leave_input(task, place);
    }
}
