//! Middleware whose panics are caught.

use std::time::Duration;

use mcp_sansio::{ClientEvent, Instant, OwnedJson};
use mcp_sansio_engine::{Before, CallError, Middleware, OutgoingCall};

use crate::panics::caught;

/// Where it panics, the call goes on as if there were no middleware.
pub(crate) struct Caught<M>(pub(crate) M);

impl<M: Middleware> Middleware for Caught<M> {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        caught(|| self.0.before(call)).unwrap_or(Before::Send)
    }

    fn after(
        &mut self,
        call: &OutgoingCall<'_>,
        result: &mut Result<OwnedJson, CallError>,
    ) -> Option<Duration> {
        caught(|| self.0.after(call, result)).unwrap_or(None)
    }

    fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        let _ = caught(|| self.0.event(now, event));
    }

    fn connecting(&mut self) {
        let _ = caught(|| self.0.connecting());
    }
}
