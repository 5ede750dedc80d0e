//! An observer that makes spans and events of the crate `tracing`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use mcp_sansio::{Printable, ToolError};
use tracing::field::{Empty, display};
use tracing::{Span, debug, error, info_span, warn};

use super::{Disconnect, Ended, Observer, Refusal, RequestInfo, Transport};
use crate::lock::lock;

/// Makes a span for each request, and events of the crate `tracing` for everything else.
///
/// The span is called `mcp.request`, at level INFO, and has the fields `method`, `name`, `id`,
/// `connection`, `traceparent`, `tracestate`, `outcome` and `failed`. Handlers run inside of it, so
/// that their own spans and events belong to it. Events have the request, too, for programs whose
/// filter leaves out the span. The span has no parent: a layer that exports traces finds the parent
/// in `traceparent`.
///
/// | event | level |
/// | --- | --- |
/// | a panic | ERROR |
/// | the error of a handler, a message that was refused, a handler that stalls | WARN |
/// | connections | DEBUG |
#[derive(Default)]
pub struct TracingObserver {
    spans: Mutex<HashMap<u64, Span>>,
}

impl TracingObserver {
    /// Creates the observer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn spans(&self) -> MutexGuard<'_, HashMap<u64, Span>> {
        lock(&self.spans)
    }

    /// Returns the span of a request; an empty one if it has ended.
    fn span(&self, request: Option<&RequestInfo>) -> Span {
        let span = request.and_then(|request| self.spans().get(&request.number).cloned());
        span.unwrap_or_else(Span::none)
    }
}

impl fmt::Debug for TracingObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracingObserver").finish_non_exhaustive()
    }
}

impl Observer for TracingObserver {
    fn connected(&self, connection: u64, transport: Transport) {
        debug!(connection, %transport, "connected");
    }

    fn began(&self, request: &RequestInfo) {
        let RequestInfo { method, name, id, connection, .. } = request;
        let span = info_span!(
            parent: None,
            "mcp.request",
            method = %Printable::new(method),
            name = Empty,
            id = %Printable::new(id),
            connection,
            traceparent = request.traceparent.as_deref(),
            tracestate = request.tracestate.as_deref(),
            outcome = Empty,
            failed = Empty,
        );
        if !name.is_empty() {
            span.record("name", display(Printable::new(name)));
        }
        if !span.is_disabled() {
            self.spans().insert(request.number, span);
        }
    }

    fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
        self.span(Some(request)).in_scope(handler);
    }

    fn ended(&self, request: &RequestInfo, how: Ended, _: Duration) {
        let span = self.spans().remove(&request.number);
        if let Some(span) = span {
            span.record("outcome", display(how)).record("failed", how.is_failure());
        }
    }

    fn refused(&self, connection: u64, request: Option<&RequestInfo>, why: Refusal) {
        let span = self.span(request);
        warn!(parent: &span, connection, request = request.map(display), %why, "refused");
    }

    fn failed(&self, request: &RequestInfo, error: &ToolError<'_>) {
        warn!(parent: &self.span(Some(request)), %request, error = %Printable::new(error), "failed");
    }

    fn panicked(&self, request: Option<&RequestInfo>, message: &str) {
        let (span, panic) = (self.span(request), Printable::new(message));
        error!(parent: &span, request = request.map(display), %panic, "panicked");
    }

    fn stalled(&self, request: &RequestInfo, after: Duration) {
        warn!(parent: &self.span(Some(request)), %request, ?after, "stalled");
    }

    fn disconnected(&self, connection: u64, how: Disconnect<'_>, after: Duration) {
        debug!(connection, how = %Printable::new(how), ?after, "disconnected");
    }
}
