//! `subscriptions/listen` with `taskIds`.

use std::sync::{Arc, Mutex};

use mcp_sansio::tasks::{TaskId, TaskKey};
use mcp_sansio::{Change, JsonStr, OwnedRequest, Remaining, Request, SendError, Server, Tx};

use super::TaskHub;
use crate::lock::lock;

/// The acknowledgement of a subscription to tasks. How they are follows it, so that no change since
/// their creation is lost.
pub(crate) struct TaskListen {
    hub: Arc<TaskHub>,
    request: OwnedRequest,
    /// Those that the client may see, in the order of their ids.
    tasks: Vec<(TaskId, TaskKey)>,
    sent: Mutex<Sent>,
}

/// What has been sent.
#[derive(Default)]
struct Sent {
    is_acknowledged: bool,
    tasks: usize,
    /// Listeners of the next task.
    position: u16,
}

impl TaskListen {
    pub(super) fn new(
        hub: &Arc<TaskHub>,
        request: &Request<'_>,
        tasks: Vec<(TaskId, TaskKey)>,
    ) -> Self {
        let (hub, request) = (Arc::clone(hub), OwnedRequest::from(request));
        Self { hub, request, tasks, sent: Mutex::default() }
    }

    pub(crate) fn send(&self, server: &mut Server<'_>, tx: &mut Tx<'_>) -> Result<(), SendError> {
        let request = self.request.as_request();
        let mut sent = lock(&self.sent);
        if !sent.is_acknowledged {
            let mut may_see = |id: JsonStr<'_>| {
                let of = |id| self.tasks.binary_search_by_key(&id, |(id, _)| *id).is_ok();
                TaskId::parse(id).is_some_and(of)
            };
            server.listen_to_tasks(&request, &mut may_see, tx)?;
            sent.is_acknowledged = true;
        }
        // It is not, if it has been refused.
        while server.is_request_open(request.handle)
            && let Some((id, task)) = self.tasks.get(sent.tasks)
        {
            if let Some(details) = self.hub.details(*task) {
                let id = id.to_string();
                let mut change = Change::task(&id, details.as_raw()).resume(sent.position);
                while let Ok(Remaining::More) = match server.publish(&mut change, tx) {
                    Err(SendError::Full) => {
                        sent.position = change.position();
                        return Err(SendError::Full);
                    }
                    result => result,
                } {}
            }
            (sent.tasks, sent.position) = (sent.tasks + 1, 0);
        }
        Ok(())
    }
}
