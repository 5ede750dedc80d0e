//! Calls that the server runs as tasks.

use std::time::Duration;

use mcp_sansio::types::{TaskParams, TaskStatus};
use mcp_sansio::{CallOptions, Encode, methods};
use mcp_sansio_engine::Detached;

use super::{CallId, Client, Error};
use crate::client::{CallError, Named, TaskRef};

/// Tasks. [`wait`](Client::wait) and all calls of tools wait for the end of the tasks that the
/// server makes of them; these functions are for applications that want to know.
impl Client<'_> {
    /// Sends a call of a tool without waiting, which runs as a task where the server allows it:
    /// always with 2025-11-25 if the tool does, and as the server likes with 2026-07-28. `ttl` is
    /// the time for which the server is asked to keep the task (2025-11-25).
    /// The [handler](super::Handler) gets its progress and its status messages as
    /// [`Progress`](mcp_sansio::ClientEvent::Progress).
    /// [`wait`](Self::wait) returns its result, [`detach`](Self::detach) leaves it to the server,
    /// [`cancel`](Self::cancel) cancels it.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    pub fn call_tool_as_task<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
        ttl: Option<Duration>,
    ) -> Result<CallId, Error> {
        let options = CallOptions::new().progress(true);
        let options = match self.engine.asks_for_task(name) {
            true => options.task(ttl),
            false => options,
        };
        self.start(methods::TOOLS_CALL, &Named { name, arguments }, options)
    }

    /// Returns the latest known status of the task that the server runs the call as; `None` before
    /// it has said so, and if it does not.
    pub fn task_status(&self, call: CallId) -> Option<TaskStatus> {
        self.engine.task_status(call)
    }

    /// Returns the latest message that describes the status.
    pub fn task_message(&self, call: CallId) -> Option<&str> {
        self.engine.task_message(call)
    }

    /// Leaves the task of a call to the server. Returns what is needed to [resume](Self::resume) it
    /// later, also in another process. Waits until the server has said whether the call is a task;
    /// `None` if it is not: then [`wait`](Self::wait) returns its result.
    ///
    /// After the [end of the connection](Error::Closed) the task of a call can still be detached,
    /// and resumed on the next one.
    ///
    /// # Errors
    /// Errors of the connection, and [`Error::UnknownCall`].
    pub fn detach(&mut self, call: CallId) -> Result<Option<TaskRef>, Error> {
        self.catch_up();
        while self.engine.is_known(call) {
            match self.engine.detach(self.app.now(), call, &mut self.app) {
                Detached::Task(task) => return Ok(Some(task)),
                Detached::Undecided => self.step(None).map(|_| ())?,
                _ => return Ok(None),
            }
        }
        Err(Error::UnknownCall)
    }

    /// Follows a task that an earlier connection, also of another process, has
    /// [detached](Self::detach), as a call in flight.
    ///
    /// # Errors
    /// [`CallError::OtherServer`] if the server has another name, or the connection another
    /// revision.
    pub fn resume(&mut self, task: &TaskRef) -> Result<CallId, Error> {
        self.make_room(methods::TASKS_GET)?;
        let resumed = self.engine.resume(self.app.now(), task, &mut self.app);
        let other = || Error::of(methods::TASKS_GET, CallError::OtherServer);
        let id = resumed.ok_or_else(other)?;
        let _ = self.flush();
        Ok(id)
    }

    /// Cancels a task, and waits until the server has acknowledged it. Returns `false` if it has
    /// ended before.
    pub(super) fn cancel_task(&mut self, id: &str) -> Result<bool, Error> {
        match self.request(methods::TASKS_CANCEL, &TaskParams::new(id), CallOptions::new()) {
            // A server that cannot cancel tasks ends them by itself.
            Ok(_) | Err(Error::Call { error: CallError::NotSent(_), .. }) => Ok(true),
            Err(Error::Call { error: CallError::Server(_), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
