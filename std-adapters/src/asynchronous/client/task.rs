//! Tasks of the server, followed until they end.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::types::{ProgressParams, TaskParams, TaskStatus};
use mcp_sansio::{CallOptions, Encode, OwnedJson, SendError, methods};
use mcp_sansio_engine::internal::CallEvent;
use mcp_sansio_engine::{CallError, CallId};

use super::connection::{Command, PendingCall, Session};
use super::handle::Client;
use crate::client::{Named, TaskRef};

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
        let call = self.start(CallOptions::new(), |session, now, options| {
            let Session { engine, app, .. } = session;
            let options = options.progress(true);
            let is_task = engine.asks_for_task(name);
            let options = if is_task { options.task(ttl) } else { options };
            let call = engine.call(now, methods::TOOLS_CALL, &params, options, app)?;
            engine.hold(now, call, true, app);
            Ok(call)
        });
        let call = call.await?;
        let mut task = ToolTask::new(self);
        let result = poll_fn(|cx| {
            self.0.inner.poll(cx, |session| {
                task.note(session, call.id);
                if task.status.is_some() {
                    return Poll::Ready(None);
                }
                while let Poll::Ready(event) = session.poll_call(call.id, cx) {
                    if let CallEvent::Finished(over) = event {
                        return Poll::Ready(Some(over.result));
                    }
                }
                Poll::Pending
            })
        });
        match result.await {
            Some(result) => task.result = Some(Ok(result?)),
            None => task.call = Some(call),
        }
        Ok(task)
    }

    /// Follows a task that an earlier connection, also of another process, has
    /// [detached](ToolTask::detach). Nothing is sent before it is waited for.
    ///
    /// # Errors
    /// [`CallError::OtherServer`] if the server has another name, or the connection another
    /// revision.
    pub async fn resume(&self, task: &TaskRef) -> Result<ToolTask, CallError> {
        self.connected().await?;
        let inner = &self.0.inner;
        let knows = |session: &mut Session| Poll::Ready(session.engine.knows(task));
        if !poll_fn(|cx| inner.poll(cx, knows)).await {
            return Err(CallError::OtherServer);
        }
        let mut resumed = ToolTask::new(self);
        (resumed.kept, resumed.status) = (Some(task.clone()), Some(TaskStatus::Working));
        Ok(resumed)
    }
}

/// A call that the server may run as a task ([`Client::call_tool_as_task`]), or a task of an
/// earlier connection ([`Client::resume`]).
///
/// Nothing is sent while nobody waits: the task goes on, and [`wait`](Self::wait) finds its state.
/// Dropping it cancels the task in the background (`tasks/cancel`), unless it has ended;
/// [`detach`](Self::detach) does not.
pub struct ToolTask {
    client: Client,
    /// The call that is the task, once it is waited for.
    call: Option<PendingCall>,
    /// What can be kept of the task, as last seen.
    kept: Option<TaskRef>,
    status: Option<TaskStatus>,
    message: Option<String>,
    result: Option<Result<OwnedJson, CallError>>,
}

impl ToolTask {
    fn new(client: &Client) -> Self {
        let client = client.clone();
        Self { client, call: None, kept: None, status: None, message: None, result: None }
    }

    /// Returns the latest known status; `None` if the server responded without a task.
    pub const fn status(&self) -> Option<TaskStatus> {
        self.status
    }

    /// Returns the latest message that describes the status.
    pub fn status_message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Waits for the result: a [`CallToolResult`](mcp_sansio::types::CallToolResult). What the task
    /// asks goes to the [handler](super::Connector::on_input_request).
    ///
    /// Cancel safe: the task goes on, and can be waited for again.
    ///
    /// # Errors
    /// [`CallError::Server`] if the task failed; [`CallError::TaskCancelled`],
    /// [`CallError::TaskGone`]; [`CallError::Closed`] if the connection has ended, after which the
    /// task can be detached and resumed on another one; [`CallError::InputRefused`]. Responses that
    /// are late, and failures of HTTP, do not end the wait.
    pub async fn wait(&mut self) -> Result<OwnedJson, CallError> {
        self.wait_with_progress(|_| ()).await
    }

    /// Waits for the result, and reports progress: what the server reports (2025-11-25), and what
    /// is new in the state of the task: the message that describes the status, and the numbers if
    /// the server is one of this library
    /// ([`TASK_PROGRESS`](mcp_sansio::types::meta::TASK_PROGRESS)). Without them the numbers are
    /// those so far, at first zero.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn wait_with_progress(
        &mut self,
        mut on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError> {
        if let Some(result) = &self.result {
            return result.clone();
        }
        let waits = Waits::begin(self).await?;
        let result = loop {
            let event = poll_fn(|cx| waits.0.poll_event(cx)).await;
            if let Some(over) = event.finished(&mut on_progress) {
                break over.result;
            }
        };
        waits.0.call = None;
        // After the end of the connection it can be resumed on another one.
        if !matches!(result, Err(CallError::Closed)) {
            waits.0.result = Some(result.clone());
        }
        result
    }

    fn poll_event(&mut self, cx: &Context<'_>) -> Poll<CallEvent> {
        let Some(call) = self.call.as_ref().map(|call| call.id) else { return Poll::Pending };
        let inner = Arc::clone(&self.client.0.inner);
        inner.poll(cx, |session| {
            self.note(session, call);
            session.poll_call(call, cx)
        })
    }

    /// Takes what the engine knows of the task.
    fn note(&mut self, session: &Session, call: CallId) {
        let Some(status) = session.engine.task_status(call) else { return };
        self.status = Some(status);
        self.message = session.engine.task_message(call).map(str::to_owned);
        self.kept = session.engine.task(call).cloned();
    }

    /// Leaves the task to the server. Returns what is needed to [resume](Client::resume) it later,
    /// also in another process; `None` if the server responded without a task.
    pub fn detach(mut self) -> Option<TaskRef> {
        if let Some(call) = self.call.take() {
            let inner = Arc::clone(&self.client.0.inner);
            let cx = Context::from_waker(Waker::noop());
            // If the connection works with it just now, what was seen last is kept.
            let _ = inner.poll(&cx, |session| {
                self.note(session, call.id);
                Poll::Ready(())
            });
            inner.command(Command::Detach(call.id));
        }
        self.kept.take()
    }

    /// Cancels the task, and waits until the server has acknowledged it. With 2026-07-28 the task
    /// may end otherwise all the same. A server of 2025-11-25 that did not declare `tasks.cancel`
    /// is not told, and ends the task by itself.
    ///
    /// Cancel safe: dropping the future cancels the task in the background.
    ///
    /// # Errors
    /// See [`CallError`]; in 2025-11-25 a task that has ended is an error, too.
    pub async fn cancel(self) -> Result<(), CallError> {
        let Some(kept) = self.kept.clone() else { return Ok(()) };
        let params = TaskParams::new(kept.task_id());
        let options = CallOptions::new();
        let cancelled = self.client.request(methods::TASKS_CANCEL, &params, options).await;
        let _ = self.detach();
        match cancelled {
            Ok(_) | Err(CallError::NotSent(SendError::NotAllowed(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A wait for a task. Nothing is sent for the task after it.
struct Waits<'t>(&'t mut ToolTask);

impl<'t> Waits<'t> {
    async fn begin(task: &'t mut ToolTask) -> Result<Self, CallError> {
        let owner = &task.client.0;
        match (&task.call, &task.kept) {
            (Some(call), _) => {
                let released = poll_fn(|cx| {
                    owner.inner.poll(cx, |Session { engine, app, is_changed, .. }| {
                        engine.hold(owner.inner.clock.now(), call.id, false, app);
                        *is_changed = true;
                        Poll::Ready(())
                    })
                });
                released.await;
            }
            (None, Some(kept)) => {
                let resumed = PendingCall::begin_unless(owner, |session, now| {
                    Ok(session.engine.resume(now, kept, &mut session.app))
                });
                task.call = Some(resumed.await?.ok_or(CallError::OtherServer)?);
            }
            (None, None) => return Err(CallError::Closed),
        }
        Ok(Self(task))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if let Some(call) = &self.0.call {
            self.0.client.0.inner.command(Command::Hold(call.id));
        }
    }
}

/// Cancels a task that was resumed, and not waited for.
impl Drop for ToolTask {
    fn drop(&mut self) {
        if let (None, None, Some(kept)) = (&self.call, &self.result, self.kept.take()) {
            let task = kept.task_id().to_owned();
            self.client.0.inner.command(Command::CancelTask(task));
        }
    }
}

mcp_sansio::opaque_debug!(ToolTask |it| {
    tool: it.kept.as_ref().map(TaskRef::tool), status, message
});
