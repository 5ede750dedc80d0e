//! Calls of tools that the server runs as tasks.

use std::time::Duration;

use mcp_sansio::types::{ProgressParams, TaskSupport};
use mcp_sansio::{CallOptions, Encode, OwnedJson, RawJson, Revision, ServerFeatures, methods};

use super::connector::Connected;
use super::deadline::Deadline;
use super::error::CallError;
use super::handle::{Answer, Client};
use super::task::ToolTask;
use crate::client::{FollowedTask, Named, TaskRef, random, server_name, task_time};

/// Tasks. All calls of tools wait for the end of the tasks that the server makes of them; these
/// functions are for applications that want to know.
impl Client {
    /// Calls a tool as a task where the server allows it: always with 2025-11-25 if the tool does,
    /// and as the server likes with 2026-07-28. `ttl` is the time for which the server is asked to
    /// keep the task (2025-11-25). A tool that is no task responds as usual: then
    /// [`wait`](ToolTask::wait) returns at once.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn call_tool_as_task<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
        ttl: Option<Duration>,
    ) -> Result<ToolTask, CallError> {
        let params = Named { name, arguments };
        let connected = self.connected().await?;
        let support = self.0.inner.with(|state| state.tool_support.of(name));
        let options = CallOptions::new();
        // 2026-07-28 has no progress of tasks.
        let options = match has_old_tasks(&connected) && support != Some(TaskSupport::Forbidden) {
            true => options.task(ttl).progress(true),
            false => options,
        };
        let answer = self.answer(methods::TOOLS_CALL, &params, options, &mut |_| ()).await?;
        match answer {
            Answer::Result(result) => Ok(ToolTask::of_result(self, result)),
            Answer::Task(task) => self.follow(&connected, name.to_owned(), &task),
        }
    }

    /// Follows a task that an earlier connection, also of another process, has
    /// [detached](ToolTask::detach). Nothing is sent before it is waited for.
    ///
    /// # Errors
    /// [`CallError::OtherServer`] if the server has another name, or the connection another
    /// revision.
    pub async fn resume(&self, task: &TaskRef) -> Result<ToolTask, CallError> {
        let connected = self.connected().await?;
        let server = server_name(connected.result.as_ref());
        let is_same = server.is_empty() || task.server().is_empty() || server == task.server();
        if !is_same || connected.revision != task.revision() {
            return Err(CallError::OtherServer);
        }
        let followed = FollowedTask::resumed(task_time(self.0.inner.now()), task.clone());
        Ok(ToolTask::of_task(self, followed))
    }

    /// Makes a request, and waits for the end of the task that the server makes of it.
    pub(crate) async fn request_or_task<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError>
    where
        P: Encode + ?Sized,
    {
        let deadline =
            options.limit.map_or(Deadline::NEVER, |limit| Deadline::after(limit, &self.0.inner));
        let task = match self.answer(method, params, options, on_progress).await? {
            Answer::Result(result) => return Ok(result),
            Answer::Task(task) => task,
        };
        let connected = self.connected().await?;
        let mut task = self.follow(&connected, tool(params, connected.revision), &task)?;
        Box::pin(task.wait_before(deadline, on_progress)).await
    }

    fn follow(
        &self,
        connected: &Connected,
        tool: String,
        task: &OwnedJson,
    ) -> Result<ToolTask, CallError> {
        let server = server_name(connected.result.as_ref());
        let now = self.0.inner.now();
        let followed = FollowedTask::created(
            task_time(now),
            random(),
            connected.revision,
            server,
            tool,
            task.as_raw(),
        );
        // The core has checked that it is a task.
        followed.map(|followed| ToolTask::of_task(self, followed)).ok_or(CallError::Closed)
    }

    /// Makes a request. In 2025-11-25 a tool that must be called as a task is called as one, and
    /// one that must not is not.
    async fn answer<P>(
        &self,
        method: &str,
        params: &P,
        options: CallOptions,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Result<Answer, CallError>
    where
        P: Encode + ?Sized,
    {
        let (is_call, is_list) = (method == methods::TOOLS_CALL, method == methods::TOOLS_LIST);
        if !is_call && !is_list {
            return self.rounds(method, params, options, on_progress).await;
        }
        let deadline = Deadline::after(self.limit(options), &self.0.inner);
        let connected = self.connected_before(deadline).await?;
        let has_tasks = has_old_tasks(&connected);
        let mut options = options.limit(deadline.left(&self.0.inner));
        if has_tasks && is_call && !options.task && self.needs_task(params, connected.revision) {
            options = options.task(None);
        }
        let answer = self.rounds(method, params, options, on_progress).await;
        match answer {
            Ok(Answer::Result(page)) if has_tasks && is_list => {
                self.0.inner.with(|state| state.tool_support.note(page.as_raw()));
                Ok(Answer::Result(page))
            }
            // The tool has not been listed: this is how a server says that it needs a task, or may
            // not have one.
            Err(CallError::Server(error)) if has_tasks && is_call && error.code == -32601 => {
                let mut other = options.limit(deadline.left(&self.0.inner));
                other.task = !options.task;
                let answer = Box::pin(self.rounds(method, params, other, on_progress)).await;
                match answer {
                    // The tool does not exist.
                    Err(CallError::Server(_)) => Err(CallError::Server(error)),
                    answer => answer,
                }
            }
            answer => answer,
        }
    }

    /// Whether the tool has been listed as one that must be called as a task.
    fn needs_task<P: Encode + ?Sized>(&self, params: &P, revision: Revision) -> bool {
        if self.0.inner.with(|state| state.tool_support.is_empty()) {
            return false;
        }
        let tool = tool(params, revision);
        let support = self.0.inner.with(|state| state.tool_support.of(&tool));
        support == Some(TaskSupport::Required)
    }
}

/// Whether the server has the tasks of 2025-11-25.
fn has_old_tasks(connected: &Connected) -> bool {
    let has_tasks = connected.capabilities.is_some_and(|all| all.contains(ServerFeatures::TASKS));
    has_tasks && connected.revision == Revision::V2025_11_25
}

/// Returns the name of the tool that is called.
fn tool<P: Encode + ?Sized>(params: &P, revision: Revision) -> String {
    let params = OwnedJson::new(params, revision).ok();
    let name = params.as_ref().and_then(|params| params.as_raw().get("name"));
    name.and_then(RawJson::as_string).map(|name| name.to_string()).unwrap_or_default()
}
