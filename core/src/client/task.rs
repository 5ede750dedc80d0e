//! Tasks of a server: results that create one, and notifications about it.

use core::time::Duration;

use super::call::NewCall;
use super::config::CallOptions;
use super::event::{CallOutcome, ClientEvent};
use super::inflight::InflightCall;
use super::input::InputRequired;
use super::{Client, Connection};
use crate::error::NotAllowed;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{ClientFeatures, Method, Revision, ServerFeatures, methods};
use crate::message::{Id, Params};
use crate::tasks::wanted_ttl;
use crate::types::meta::RELATED_TASK;
use crate::types::{Task, TaskMetadata};
use crate::violation::Violation;

/// Whether the result of a call may be a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TaskResult {
    Never,
    /// The server decides (2026-07-28).
    Optional,
    /// The client asked for a task (2025-11-25).
    Always,
    /// The result is the state of a task, to which servers before the released text of 2026-07-28
    /// give the type `task`, too.
    State,
}

/// Returns the rule that forbids to ask for a task.
pub(super) fn broken_rule(new: &NewCall<'_>, session: Connection) -> Option<NotAllowed> {
    if !new.options.task || session.revision.is_modern() {
        None
    } else if new.method != methods::TOOLS_CALL {
        Some(NotAllowed::Method)
    } else if session.revision != Revision::V2025_11_25 {
        Some(NotAllowed::Revision)
    } else {
        let declared = session.capabilities.unwrap_or_default();
        (!declared.contains(ServerFeatures::TASKS)).then_some(NotAllowed::Capability)
    }
}

/// Returns the member `task` of the parameters.
pub(super) fn metadata(options: &CallOptions, revision: Revision) -> Option<TaskMetadata> {
    if !options.task || revision != Revision::V2025_11_25 {
        return None;
    }
    let ttl = options.task_ttl.map(millis);
    Some(ttl.map_or(TaskMetadata::new(), |ttl| TaskMetadata::new().ttl(ttl)))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Client<'_> {
    pub(super) fn task_result(&self, new: &NewCall<'_>) -> TaskResult {
        let is_modern = new.revision.is_modern();
        let declared = self.config.capabilities.contains(ClientFeatures::TASKS);
        match new.method {
            methods::TOOLS_CALL if is_modern && declared => TaskResult::Optional,
            methods::TOOLS_CALL if !is_modern && new.options.task => TaskResult::Always,
            methods::TASKS_GET if is_modern => TaskResult::State,
            _ => TaskResult::Never,
        }
    }

    /// Classifies the results that a task makes different from others.
    pub(super) fn classify_task<'f>(
        &self,
        outgoing: &InflightCall,
        result: RawJson<'f>,
    ) -> Option<CallOutcome<'f>> {
        let kind = || result.get("resultType").and_then(RawJson::as_string);
        let is_task = || kind().is_some_and(|kind| kind == "task");
        let task = match outgoing.task_result {
            TaskResult::Optional if is_task() => Some(result),
            TaskResult::Always => result.get("task"),
            // Requests in it are treated like others of the server.
            TaskResult::State if !self.allows_input(result) => {
                return Some(CallOutcome::Invalid(Violation::InputNotAllowed));
            }
            TaskResult::State if is_task() => return Some(CallOutcome::Result(result)),
            _ => return None,
        };
        Some(match task.filter(|task| task.to::<Task<'_>>().is_ok()) {
            Some(task) => CallOutcome::Task(task),
            None => CallOutcome::Invalid(Violation::InvalidResult),
        })
    }

    /// Whether the client declared the capabilities that the input requests of a task need.
    fn allows_input(&self, task: RawJson<'_>) -> bool {
        let needs = InputRequired::new(task, 0).required_features();
        needs.is_some_and(|needs| self.declared().contains(needs))
    }

    /// Returns the task of `notifications/tasks/status` (2025-11-25) or `notifications/tasks`
    /// (2026-07-28).
    pub(super) fn task_notification<'f>(
        &self,
        method: JsonStr<'f>,
        params: &Params<'f>,
    ) -> Option<RawJson<'f>> {
        let name = match self.revision()? {
            Revision::V2025_11_25 => "notifications/tasks/status",
            revision if revision.is_modern() => "notifications/tasks",
            _ => return None,
        };
        let task = params.given().filter(|_| method == *name)?;
        if !self.allows_input(task) {
            return None;
        }
        task.to::<Task<'_>>().is_ok().then_some(task)
    }

    /// Handles progress whose call has created a task: 2025-11-25 keeps the token until the task
    /// ends. Without the id of a task the notification is late.
    pub(super) fn task_progress<'f>(
        &self,
        token: Id<'f>,
        params: &Params<'f>,
    ) -> Option<ClientEvent<'f>> {
        let is_ours = token.as_u32().is_some_and(|token| token <= self.peer.calls_made);
        if !is_ours || self.revision() != Some(Revision::V2025_11_25) {
            return None;
        }
        let task_id = params.meta()?.get(RELATED_TASK)?.get("taskId")?.as_string()?;
        Some(ClientEvent::TaskProgress { task_id, params: params.raw() })
    }
}

/// Tasks that the client runs for its server (2025-11-25).
impl Client<'_> {
    /// Returns the method as that of a request to the client, if the client has declared it.
    pub(super) fn hosted_method(&self, method: Method<'_>) -> Option<JsonStr<'static>> {
        use ClientFeatures as C;
        let declared = self.declared();
        let has_tasks =
            declared.contains(C::TASKS_SAMPLING) || declared.contains(C::TASKS_ELICITATION);
        let (name, is_declared) = match method {
            Method::TasksGet => ("\"tasks/get\"", has_tasks),
            Method::TasksResult => ("\"tasks/result\"", has_tasks),
            Method::TasksList => ("\"tasks/list\"", has_tasks && declared.contains(C::TASKS_LIST)),
            Method::TasksCancel => {
                ("\"tasks/cancel\"", has_tasks && declared.contains(C::TASKS_CANCEL))
            }
            _ => return None,
        };
        (is_declared && self.is_open()).then(|| JsonStr::from_static(name))
    }

    /// Returns the task that a request asks for, or what is wrong with it. A client that did not
    /// declare such tasks ignores the wish.
    pub(super) fn wanted_task(
        &self,
        method: JsonStr<'_>,
        params: &Params<'_>,
    ) -> Result<Option<TaskMetadata>, &'static str> {
        let needed = if method == "sampling/createMessage" {
            ClientFeatures::TASKS_SAMPLING
        } else if method == "elicitation/create" {
            ClientFeatures::TASKS_ELICITATION
        } else {
            return Ok(None);
        };
        let task = params.get("task").filter(|_| self.declared().contains(needed));
        task.map(|task| Ok(TaskMetadata { ttl: wanted_ttl(task)? })).transpose()
    }
}
