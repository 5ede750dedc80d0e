//! Calls whose results the application has not taken yet.

use mcp_sansio::{Call, CallOptions, JsonStr, OwnedJson};

use super::{CallId, CallResult, Error};

/// Calls whose results have not been taken, in the order in which they were started.
#[derive(Default)]
pub(super) struct PendingCalls {
    calls: Vec<PendingCall>,
    made: u64,
}

/// A call of the application.
pub(super) struct PendingCall {
    pub(super) id: CallId,
    /// The core's handle of the latest attempt.
    pub(super) call: Call,
    pub(super) method: String,
    /// Parameters for another attempt; the filter of a `subscriptions/listen`.
    pub(super) params: Option<OwnedJson>,
    pub(super) options: CallOptions,
    /// Whether the server has acknowledged a `subscriptions/listen`.
    pub(super) acknowledged: bool,
    /// What the server runs the call as.
    pub(super) task: Option<Box<super::task::PendingTask>>,
    /// Whether the server has refused to make the call a task, or not to.
    pub(super) was_refused: bool,
    pub(super) started: mcp_sansio::Instant,
    pub(super) result: Option<CallResult>,
}

impl PendingCalls {
    pub(super) fn add(
        &mut self,
        call: Call,
        method: &str,
        params: Option<OwnedJson>,
        options: CallOptions,
    ) -> CallId {
        self.made += 1;
        let id = CallId(self.made);
        self.calls.push(PendingCall {
            id,
            call,
            method: method.to_owned(),
            params,
            options,
            acknowledged: false,
            task: None,
            was_refused: false,
            started: mcp_sansio::Instant::from_millis(0),
            result: None,
        });
        id
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut PendingCall> {
        self.calls.iter_mut().find(|pending| pending.id == id)
    }

    /// Returns the time at which something is to be done for a task.
    pub(super) fn next_task(&self) -> Option<mcp_sansio::Instant> {
        self.calls.iter().filter_map(PendingCall::task_due).min()
    }

    /// Removes a call for which something is to be done now, for [`put_back`](Self::put_back).
    pub(super) fn take_due(&mut self, now: mcp_sansio::Instant) -> Option<(usize, PendingCall)> {
        let is_due = |pending: &PendingCall| pending.task_due().is_some_and(|due| due <= now);
        let at = self.calls.iter().position(is_due)?;
        Some((at, self.calls.remove(at)))
    }

    /// Removes the call that the server runs as this task, for [`put_back`](Self::put_back).
    pub(super) fn take_task(&mut self, id: JsonStr<'_>) -> Option<(usize, PendingCall)> {
        let at = self.calls.iter().position(|pending| pending.is_task(id))?;
        Some((at, self.calls.remove(at)))
    }

    pub(super) fn get(&self, id: CallId) -> Option<&PendingCall> {
        self.calls.iter().find(|pending| pending.id == id)
    }

    /// Returns the call whose latest attempt has this handle of the core.
    pub(super) fn of(&mut self, call: Call) -> Option<&mut PendingCall> {
        self.calls.iter_mut().find(|pending| pending.call == call && pending.result.is_none())
    }

    /// Removes a call for [`put_back`](Self::put_back).
    pub(super) fn take_out(&mut self, call: Call) -> Option<(usize, PendingCall)> {
        let at = self
            .calls
            .iter()
            .position(|pending| pending.call == call && pending.result.is_none())?;
        Some((at, self.calls.remove(at)))
    }

    pub(super) fn put_back(&mut self, at: usize, pending: PendingCall) {
        self.calls.insert(at, pending);
    }

    /// Removes a call.
    pub(super) fn forget(&mut self, id: CallId) -> Option<PendingCall> {
        let at = self.calls.iter().position(|pending| pending.id == id)?;
        Some(self.calls.remove(at))
    }

    /// Removes and returns the result of this call, or of the first that has one.
    pub(super) fn take_result(&mut self, id: Option<CallId>) -> Option<(CallId, CallResult)> {
        let is_it = |pending: &PendingCall| {
            pending.result.is_some() && id.is_none_or(|id| id == pending.id)
        };
        let at = self.calls.iter().position(is_it)?;
        let pending = self.calls.remove(at);
        Some((pending.id, pending.result?))
    }

    /// Returns whether there is a call to wait for. An open `subscriptions/listen` does not count,
    /// since it may never end.
    pub(super) fn is_any(&self) -> bool {
        self.calls.iter().any(|pending| pending.result.is_some() || !pending.is_listen())
    }

    /// Ends all calls with an error.
    pub(super) fn end(&mut self, why: impl Fn() -> Error) {
        for pending in self.calls.iter_mut().filter(|pending| pending.result.is_none()) {
            pending.result = Some(Err(why()));
        }
    }

    /// Returns the `subscriptions/listen` calls that have ended with the connection.
    pub(super) fn lost_listens(&self) -> Vec<CallId> {
        let lost = |pending: &&PendingCall| {
            pending.is_listen() && matches!(pending.result, Some(Err(Error::Closed(_))))
        };
        self.calls.iter().filter(lost).map(|pending| pending.id).collect()
    }

    /// Replaces the attempt of a call.
    pub(super) fn set_attempt(&mut self, id: CallId, call: Call) {
        if let Some(pending) = self.calls.iter_mut().find(|pending| pending.id == id) {
            (pending.call, pending.acknowledged, pending.result) = (call, false, None);
        }
    }
}

impl PendingCall {
    fn task_due(&self) -> Option<mcp_sansio::Instant> {
        self.task.as_ref().filter(|_| self.result.is_none())?.due
    }

    fn is_task(&self, id: JsonStr<'_>) -> bool {
        let task = self.task.as_ref().filter(|_| self.result.is_none());
        task.is_some_and(|task| id == *task.followed.id())
    }
}

impl PendingCall {
    fn is_listen(&self) -> bool {
        self.method == LISTEN
    }
}

pub(super) const LISTEN: &str = "subscriptions/listen";
