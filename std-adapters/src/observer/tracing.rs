//! An observer that makes spans and events of the crate `tracing`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use mcp_sansio::Printable;
use tracing::field::{Empty, display};
use tracing::{Span, debug, error, info_span, warn};

use super::{Event, Observer, RequestInfo};
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
    fn spans(&self) -> MutexGuard<'_, HashMap<u64, Span>> {
        lock(&self.spans)
    }

    /// Returns the span of a request; an empty one if it has ended.
    fn span(&self, request: Option<&RequestInfo>) -> Span {
        let span = request.and_then(|request| self.spans().get(&request.number).cloned());
        span.unwrap_or_else(Span::none)
    }

    /// Opens the span of a request, until it ends.
    fn open(&self, request: &RequestInfo) {
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
}

impl fmt::Debug for TracingObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracingObserver").finish_non_exhaustive()
    }
}

impl Observer for TracingObserver {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Connected { connection, transport } => {
                debug!(connection, %transport, "connected");
            }
            Event::Began { request } => self.open(request),
            Event::Ended { request, how, .. } => {
                let span = self.spans().remove(&request.number);
                if let Some(span) = span {
                    span.record("outcome", display(how)).record("failed", how.is_failure());
                }
            }
            Event::Refused { connection, request, why } => {
                let span = self.span(request);
                warn!(parent: &span, connection, request = request.map(display), %why, "refused");
            }
            Event::Failed { request, error } => {
                let (span, error) = (self.span(Some(request)), Printable::new(error));
                warn!(parent: &span, %request, %error, "failed");
            }
            Event::Panicked { request, message } => {
                let (span, panic) = (self.span(request), Printable::new(message));
                error!(parent: &span, request = request.map(display), %panic, "panicked");
            }
            Event::Stalled { request, after } => {
                warn!(parent: &self.span(Some(request)), %request, ?after, "stalled");
            }
            Event::Disconnected { connection, how, after } => {
                debug!(connection, how = %Printable::new(how), ?after, "disconnected");
            }
            _ => {}
        }
    }

    fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
        self.span(Some(request)).in_scope(handler);
    }
}
