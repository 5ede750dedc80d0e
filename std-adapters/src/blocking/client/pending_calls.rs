//! What the application waits for.

use mcp_sansio::{Call, CallOptions, OwnedJson};

use super::{CallId, CallResult, Error};

/// The requests that have not been waited for, in the order in which they began.
#[derive(Default)]
pub(super) struct PendingCalls {
    calls: Vec<PendingCall>,
    made: u64,
}

/// A request of the application's.
pub(super) struct PendingCall {
    pub(super) id: CallId,
    /// That of the latest attempt.
    pub(super) call: Call,
    pub(super) method: String,
    /// For another attempt; of a `subscriptions/listen`, the filter.
    pub(super) params: Option<OwnedJson>,
    pub(super) options: CallOptions,
    /// Of a `subscriptions/listen`.
    pub(super) acknowledged: bool,
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
            result: None,
        });
        id
    }

    pub(super) fn get(&self, id: CallId) -> Option<&PendingCall> {
        self.calls.iter().find(|waiting| waiting.id == id)
    }

    /// The one that this call of the machine is the latest attempt of.
    pub(super) fn of(&mut self, call: Call) -> Option<&mut PendingCall> {
        self.calls.iter_mut().find(|waiting| waiting.call == call && waiting.result.is_none())
    }

    /// Takes one out, to be put back.
    pub(super) fn take_out(&mut self, call: Call) -> Option<(usize, PendingCall)> {
        let at = self
            .calls
            .iter()
            .position(|waiting| waiting.call == call && waiting.result.is_none())?;
        Some((at, self.calls.remove(at)))
    }

    pub(super) fn put_back(&mut self, at: usize, waiting: PendingCall) {
        self.calls.insert(at, waiting);
    }

    /// Forgets one.
    pub(super) fn forget(&mut self, id: CallId) -> Option<PendingCall> {
        let at = self.calls.iter().position(|waiting| waiting.id == id)?;
        Some(self.calls.remove(at))
    }

    /// The result of this one, or of the first that has one.
    pub(super) fn take_result(&mut self, id: Option<CallId>) -> Option<(CallId, CallResult)> {
        let is_it = |waiting: &PendingCall| {
            waiting.result.is_some() && id.is_none_or(|id| id == waiting.id)
        };
        let at = self.calls.iter().position(is_it)?;
        let waiting = self.calls.remove(at);
        Some((waiting.id, waiting.result?))
    }

    /// Whether there is any to wait for; listens end when they please.
    pub(super) fn is_any(&self) -> bool {
        self.calls.iter().any(|waiting| waiting.result.is_some() || !waiting.is_listen())
    }

    /// All of them end.
    pub(super) fn end(&mut self, why: impl Fn() -> Error) {
        for waiting in self.calls.iter_mut().filter(|waiting| waiting.result.is_none()) {
            waiting.result = Some(Err(why()));
        }
    }

    /// Listens that have ended with the connection.
    pub(super) fn lost_listens(&self) -> Vec<CallId> {
        let lost = |waiting: &&PendingCall| {
            waiting.is_listen() && matches!(waiting.result, Some(Err(Error::Closed(_))))
        };
        self.calls.iter().filter(lost).map(|waiting| waiting.id).collect()
    }

    /// Another attempt has begun.
    pub(super) fn begun_again(&mut self, id: CallId, call: Call) {
        if let Some(waiting) = self.calls.iter_mut().find(|waiting| waiting.id == id) {
            (waiting.call, waiting.acknowledged, waiting.result) = (call, false, None);
        }
    }
}

impl PendingCall {
    fn is_listen(&self) -> bool {
        self.method == LISTEN
    }
}

pub(super) const LISTEN: &str = "subscriptions/listen";
