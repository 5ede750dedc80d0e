//! Tasks that a client runs for its server: sampling and elicitation (2025-11-25).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use mcp_sansio::tasks::{
    GrowingTasksState, TaskContent, TaskEnd, TaskId, TaskKey, TaskOwner, TaskReply, TaskStep,
    TaskTime, TaskTimeout, TasksConfig,
};
use mcp_sansio::{
    Client, Encoder, ErrorCode, Instant, OwnedJson, OwnedRpcError, RequestHandle, RpcError,
    SendError, ServerRequest, Tx,
};

/// The tasks of one connection, which nobody else sees.
pub(crate) struct HostedTasks {
    memory: GrowingTasksState,
    outcomes: BTreeMap<TaskKey, TaskOutcome>,
    /// Requests that wait for the end of a task.
    waiting: Vec<(TaskKey, RequestHandle)>,
}

/// How the handler has responded.
pub(crate) type TaskOutcome = Result<OwnedJson, OwnedRpcError>;

/// A response about a task, with what it needs of the task.
pub(crate) struct HostedReply {
    reply: TaskReply,
    outcome: Option<TaskOutcome>,
    list: Option<OwnedJson>,
}

/// What is to be done for a request about tasks, beside the response.
pub(crate) enum HostedStep {
    /// Nothing.
    Respond(HostedReply),
    /// Stop this task, and respond.
    Cancel(TaskKey, HostedReply),
    /// The response comes when the task has ended.
    Wait,
}

impl HostedTasks {
    /// Creates the memory of at most so many tasks.
    #[must_use]
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
    ) -> Result<(TaskKey, HostedReply), OwnedRpcError> {
        let mut tasks = self.memory.tasks(&CONFIG);
        let created = tasks.create(now, id, OWNER, ttl_ms);
        let refused = |text| OwnedRpcError::from(RpcError::internal(text));
        let key = created.map_err(|error| refused(error.as_str()))?;
        let info = tasks.info(key).ok_or_else(|| refused("Internal error"))?;
        Ok((key, HostedReply::of(TaskReply::created(info))))
    }

    /// Handles a request about tasks; `None` for any other.
    pub(crate) fn handle(
        &mut self,
        now: TaskTime,
        request: &ServerRequest<'_>,
    ) -> Option<HostedStep> {
        let mut tasks = self.memory.tasks(&CONFIG);
        Some(match tasks.handle_server_request(now, request, OWNER)? {
            TaskStep::Respond(reply) => HostedStep::Respond(self.with_outcome(reply)),
            TaskStep::List(reply) => {
                let revision = mcp_sansio::Revision::V2025_11_25;
                let list = OwnedJson::new(&tasks.list(&reply), revision).ok();
                HostedStep::Respond(HostedReply { reply, outcome: None, list })
            }
            TaskStep::Cancel(key, reply) => HostedStep::Cancel(key, HostedReply::of(reply)),
            // Input requests of tasks belong to 2026-07-28.
            TaskStep::Update(_, _, reply) => HostedStep::Respond(HostedReply::of(reply)),
            TaskStep::Wait(key) => {
                self.waiting.push((key, request.handle));
                HostedStep::Wait
            }
        })
    }

    /// Ends a task. Returns the responses to requests that have waited for that.
    pub(crate) fn end(
        &mut self,
        now: TaskTime,
        key: TaskKey,
        outcome: TaskOutcome,
    ) -> Vec<(RequestHandle, HostedReply)> {
        let end = if outcome.is_ok() { TaskEnd::Completed } else { TaskEnd::Failed };
        if self.memory.tasks(&CONFIG).end(key, end, now) {
            self.outcomes.insert(key, outcome);
        }
        self.ended(key)
    }

    /// Returns the responses to requests that have waited for the end of a task.
    pub(crate) fn ended(&mut self, key: TaskKey) -> Vec<(RequestHandle, HostedReply)> {
        let reply = self.memory.tasks(&CONFIG).result(key);
        let handles = self.waiting.extract_if(.., |(of, _)| *of == key);
        let handles: Vec<RequestHandle> = handles.map(|(_, handle)| handle).collect();
        handles.into_iter().map(|handle| (handle, self.with_outcome(reply))).collect()
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
        self.memory.tasks(&CONFIG).next_timeout()
    }

    fn with_outcome(&self, reply: TaskReply) -> HostedReply {
        let outcome = reply.content_of().and_then(|key| self.outcomes.get(&key).cloned());
        HostedReply { reply, outcome, list: None }
    }
}

impl HostedReply {
    const fn of(reply: TaskReply) -> Self {
        Self { reply, outcome: None, list: None }
    }

    /// Makes one attempt to respond.
    ///
    /// # Errors
    /// As [`Client::respond`].
    pub(crate) fn send(
        &self,
        client: &mut Client<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match &self.list {
            Some(list) => client.respond_raw(request, list.as_raw(), tx),
            None => self.reply.send_to_server(self, client, request, tx),
        }
    }
}

impl TaskContent for HostedReply {
    fn result(&self, _: TaskKey, to: &mut Encoder<'_>) {
        if let Some(Ok(result)) = &self.outcome {
            to.raw(result.as_raw());
        }
    }

    fn error(&self, _: TaskKey) -> RpcError<'_> {
        match &self.outcome {
            Some(Err(error)) => error.as_error(),
            _ => RpcError::new(ErrorCode::InternalError, "Internal error"),
        }
    }
}

/// The connection is the only owner of its tasks.
const OWNER: TaskOwner = TaskOwner(0);
static CONFIG: TasksConfig = TasksConfig::new().max_ttl(Duration::from_secs(3600));
