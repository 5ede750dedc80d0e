//! A call that may become a task, as its handler and its runner see it.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::{self, Poll};
use std::time::Duration;

use mcp_sansio::tasks::{TaskId, TaskInfo, TaskKey, TaskMode, TaskOwner, TaskReply};
use mcp_sansio::types::{InputRequest, TaskSupport};
use mcp_sansio::{
    ClientFeatures, OwnedJson, OwnedRpcError, Progress, ResponseKind, Revision, RpcError, ToolError,
};

use super::super::context::ActiveRequest;
use super::super::pending_responses::PendingResponse;
use super::super::reply::{HandlerResult, Reply};
use super::super::runner::PANICKED;
use super::response::{Content, TaskResponse};
use super::{Mailbox, TaskHub};
use crate::asynchronous::panics::Panic;
use crate::observer::is_error;

/// A call that may become a task.
pub(in super::super) struct TaskWork {
    hub: Arc<TaskHub>,
    owner: TaskOwner,
    client: ClientFeatures,
    /// The time that the client asks for.
    ttl_ms: Option<u64>,
    /// When the call becomes a task.
    after: Duration,
    /// Whether the call must not be a call.
    is_required: bool,
    task: OnceLock<(TaskKey, TaskId)>,
}

impl TaskWork {
    /// Returns the work of a call that may be a task.
    pub(in super::super) fn new(
        hub: &Arc<TaskHub>,
        mode: TaskMode,
        support: TaskSupport,
        tool: &str,
        client: ClientFeatures,
        owner: TaskOwner,
    ) -> Option<Box<Self>> {
        let (ttl_ms, after, is_asked) = match mode {
            TaskMode::Call => return None,
            TaskMode::Either => (None, hub.options.after_of(tool), false),
            TaskMode::Task { ttl_ms } => (ttl_ms, Duration::ZERO, true),
        };
        Some(Box::new(Self {
            hub: Arc::clone(hub),
            owner,
            client,
            ttl_ms,
            after,
            is_required: is_asked || support == TaskSupport::Required,
            task: OnceLock::new(),
        }))
    }

    pub(in super::super) fn after(&self) -> Duration {
        self.after
    }

    /// Makes the call a task. Returns the response, and `None` if it goes on as a call because
    /// there are too many tasks.
    ///
    /// # Errors
    /// The response to a call that has to be a task.
    pub(in super::super) fn begin(
        &self,
        runner: &Arc<Mailbox>,
    ) -> Result<Option<(TaskKey, PendingResponse)>, PendingResponse> {
        match self.hub.create(self.owner, self.ttl_ms, self.client, runner) {
            Ok((key, info)) => {
                let _ = self.task.set((key, info.id()));
                Ok(Some((key, created(info))))
            }
            Err(error) if self.is_required => {
                Err(PendingResponse::Refused(RpcError::internal(error.as_str())))
            }
            Err(_) => Ok(None),
        }
    }

    /// Returns the task, once the call is one.
    pub(in super::super) fn key(&self) -> Option<TaskKey> {
        self.task.get().map(|(key, _)| *key)
    }

    pub(in super::super) fn id(&self) -> Option<TaskId> {
        self.task.get().map(|(_, id)| *id)
    }

    pub(in super::super) fn is_live(&self) -> bool {
        self.key().is_some_and(|task| self.hub.is_live(task))
    }

    pub(in super::super) fn set_message(&self, message: &dyn fmt::Display) {
        if let Some(task) = self.key() {
            self.hub.set_message(task, message);
        }
    }

    pub(in super::super) fn set_progress(&self, progress: &Progress<'_>) -> bool {
        self.set_message(progress);
        false
    }

    /// Ends the task with the result of its handler.
    pub(in super::super) fn finish(
        &self,
        request: &ActiveRequest,
        result: Result<HandlerResult, Panic>,
    ) {
        let outcome = match result {
            Ok(Ok(Reply(json))) => Ok(json),
            Ok(Err(error)) => error.task_result(request.revision()),
            Err(panic) => {
                request.panicked(&panic);
                return self.fail(RpcError::internal(PANICKED));
            }
        };
        if let Some(observed) = &request.observed {
            observed.responded(match &outcome {
                Ok(json) if is_error(json.as_raw()) => ResponseKind::ToolFailed,
                Ok(_) => ResponseKind::Result,
                Err(error) => ResponseKind::Error(error.as_error().code.number(request.revision())),
            });
        }
        self.end(outcome);
    }

    pub(in super::super) fn fail(&self, error: RpcError<'_>) {
        self.end(Err(error.into()));
    }

    fn end(&self, outcome: Result<OwnedJson, OwnedRpcError>) {
        if let Some(task) = self.key() {
            self.hub.finish(task, outcome);
        }
    }

    pub(in super::super) fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        task: TaskKey,
        request: &InputRequest<'_>,
        revision: Revision,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let new = match place {
            Some(_) => None,
            None => {
                let needs = request.required_capabilities();
                Some((OwnedJson::new(request, revision)?, needs))
            }
        };
        self.hub.poll_input(cx, task, new, place)
    }

    pub(in super::super) fn leave_input(&self, task: TaskKey, place: u64) {
        self.hub.leave_input(task, place);
    }
}

fn created(info: TaskInfo) -> PendingResponse {
    let (reply, content) = (TaskReply::created(info), Content::default());
    PendingResponse::Task(Box::new(TaskResponse { reply, content }))
}
