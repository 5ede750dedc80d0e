//! A peer that begins again on a stream that has not ended: nobody else tells of the old one's end.

use super::Server;
use super::event::ServerEvent;
use super::listen::Subscriptions;
use super::pending::Purpose;
use crate::client::CallOutcome;
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::lifecycle::Method;
use crate::message::{Envelope, Id, Member};
use crate::tx::Tx;

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// What ends because this request cannot come from the peer that we know: one thing a call,
    /// until there is none left.
    #[cfg_attr(small, inline(never))]
    pub(super) fn restart(
        &mut self,
        id: Id<'_>,
        method: Method<'_>,
        envelope: &Envelope<'_>,
        tx: &Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        let anew = self.scope.is_some()
            && matches!(method, Method::Initialize)
            && !envelope.has(Member::ProtocolVersion);
        let slot =
            if anew { self.requests.slots().next() } else { self.requests.find(id, id.hash()) };
        // The acknowledgement that has begun is this very request's.
        let slot = slot.filter(|slot| self.acknowledging != Some(*slot));
        // What has begun must be finished, for which what it is about must be there.
        if (anew || slot.is_some()) && tx.has_open() {
            return Err(SendError::Full);
        }
        if let Some(slot) = slot {
            self.forget(slot);
            return Ok(Some(ServerEvent::RequestCancelled {
                request: RequestHandle(slot),
                reason: None,
            }));
        }
        if anew {
            loop {
                let Some(slot) = self.calls.slots().next() else { break };
                // Of a ping the application knows nothing.
                if self.end_call(self.heard, slot) != Some(Purpose::KeepAlive) {
                    return Ok(Some(ServerEvent::CallFinished {
                        call: Call(slot),
                        outcome: CallOutcome::Cancelled,
                    }));
                }
            }
            self.subscriptions = Subscriptions::new();
            self.scope = None;
        }
        Ok(None)
    }
}
