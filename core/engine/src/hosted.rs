//! Tasks that a client runs for its server: sampling and elicitation (2025-11-25).

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mcp_sansio::tasks::{
    GrowingTasksState, TaskId, TaskKey, TaskOwner, TaskReply, TaskStep, TaskTime, TaskTimeout,
    TasksConfig,
};
use mcp_sansio::{
    Instant, OwnedJson, OwnedRpcError, RequestHandle, Revision, RpcError, ServerRequest,
};

use crate::client::Unsent;
use crate::task_hub::{INTERNAL, TaskResponse, TaskResult, end_of};

/// The tasks of one connection, which nobody else sees.
pub(crate) struct HostedTasks {
    memory: GrowingTasksState,
    outcomes: BTreeMap<TaskKey, Arc<TaskResult>>,
    /// Requests that wait for the end of a task.
    waiting: Vec<(TaskKey, RequestHandle)>,
}

impl HostedTasks {
    /// Creates the memory of at most so many tasks.
    pub(crate) const fn new(max_tasks: u16) -> Self {
        Self {
            memory: GrowingTasksState::new(max_tasks),
            outcomes: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Makes a task of a request.
    ///
    /// # Errors
    /// The error to respond with.
    pub(crate) fn create(
        &mut self,
        now: TaskTime,
        id: TaskId,
        ttl_ms: Option<u64>,
    ) -> Result<(TaskKey, TaskResponse), OwnedRpcError> {
        let mut tasks = self.memory.tasks(&CONFIG);
        let created = tasks.create(now, id, OWNER, ttl_ms);
        let key = created.map_err(|error| RpcError::internal(error.as_str()))?;
        let info = tasks.info(key).ok_or(INTERNAL)?;
        Ok((key, TaskResponse::created(info)))
    }

    /// Handles a request about tasks; `None` for any other. Returns the response, unless it comes
    /// when the task has ended, and the task that is to be stopped.
    pub(crate) fn handle(
        &mut self,
        now: TaskTime,
        request: &ServerRequest<'_>,
    ) -> Option<(Option<Unsent>, Option<TaskKey>)> {
        let mut tasks = self.memory.tasks(&CONFIG);
        let (mut stopped, handle) = (None, request.handle);
        let response = match tasks.handle_server_request(now, request, OWNER)? {
            TaskStep::Respond(reply) => self.with_outcome(reply),
            TaskStep::List(reply) => {
                match OwnedJson::new(&tasks.list(&reply), Revision::V2025_11_25) {
                    Ok(page) => return Some((Some(Unsent::Response(handle, Ok(page))), None)),
                    Err(_) => TaskReply::error(INTERNAL).into(),
                }
            }
            TaskStep::Cancel(key, reply) => {
                stopped = Some(key);
                reply.into()
            }
            // Input requests of tasks belong to 2026-07-28.
            TaskStep::Update(_, _, reply) => reply.into(),
            TaskStep::Wait(key) => {
                self.waiting.push((key, handle));
                return Some((None, None));
            }
        };
        Some((Some(Unsent::Hosted(handle, response)), stopped))
    }

    /// Ends a task. Returns the responses to requests that have waited for that.
    pub(crate) fn end(&mut self, now: TaskTime, key: TaskKey, outcome: TaskResult) -> Vec<Unsent> {
        let (end, message) = end_of(&outcome);
        let mut tasks = self.memory.tasks(&CONFIG);
        if let Some(message) = message {
            tasks.set_message(now, key, &message);
        }
        if tasks.end(now, key, end) {
            self.outcomes.insert(key, Arc::new(outcome));
        }
        self.ended(key)
    }

    /// Returns the responses to requests that have waited for the end of a task.
    pub(crate) fn ended(&mut self, key: TaskKey) -> Vec<Unsent> {
        let reply = self.memory.tasks(&CONFIG).result(key);
        let waiting: Vec<_> = self.waiting.extract_if(.., |(of, _)| *of == key).collect();
        let hosted = |(_, handle)| Unsent::Hosted(handle, self.with_outcome(reply));
        waiting.into_iter().map(hosted).collect()
    }

    /// Forgets a request that waits.
    pub(crate) fn forget(&mut self, request: RequestHandle) {
        self.waiting.retain(|(_, handle)| *handle != request);
    }

    /// Returns a task whose time is over, and that must be stopped.
    pub(crate) fn expire(&mut self, now: TaskTime) -> Option<TaskKey> {
        loop {
            match self.memory.tasks(&CONFIG).handle_timeout(now)? {
                TaskTimeout::Expired(key) => return Some(key),
                TaskTimeout::Gone(key) => drop(self.outcomes.remove(&key)),
            }
        }
    }

    /// Returns the time of the next [`expire`](Self::expire).
    pub(crate) fn next_timeout(&mut self) -> Option<Instant> {
        self.memory.tasks(&CONFIG).poll_timeout()
    }

    fn with_outcome(&self, reply: TaskReply) -> TaskResponse {
        let outcome = reply.content_of().and_then(|key| self.outcomes.get(&key).cloned());
        TaskResponse::new(reply, outcome)
    }
}

/// The connection is the only owner of its tasks.
const OWNER: TaskOwner = TaskOwner(0);
static CONFIG: TasksConfig = TasksConfig::new().max_ttl(Duration::from_secs(3600));
