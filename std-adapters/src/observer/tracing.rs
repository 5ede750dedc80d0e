//! An observer that makes spans and events of the crate `tracing`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use mcp_sansio::Printable;
use tracing::field::{DisplayValue, debug, display};
use tracing::{Span, debug, error, info, info_span, warn};

use super::{Ended, Event, Observer, RequestInfo};
use crate::lock::lock;

/// Writes an event at the level of an end.
macro_rules! at_level {
    ($how:expr, $($event:tt)*) => {
        match $how {
            Ended::Panicked => error!(target: TARGET, $($event)*),
            how if how.is_failure() => warn!(target: TARGET, $($event)*),
            _ => info!(target: TARGET, $($event)*),
        }
    };
}

/// Makes a span of the crate `tracing` for each request, and one event for each request, task,
/// refusal and failure, at its end.
///
/// ```text
///  INFO mcp.request{..}: mcp: tools/call divide (id 3): responded took=214µs
///  WARN mcp: refused connection=1 why=Method not found
/// ```
///
/// The span is called `mcp.request`, at level INFO, and has the fields `method`, `name`, `id`,
/// `connection`, `peer`, `principal`, `traceparent` and `tracestate`, as far as they are known, and
/// at its end `task`, `outcome` and `failed`. Handlers run inside of it, so that their own spans
/// and events belong to it; that of a task ends with the task. Where a filter leaves out the span,
/// its event has the client, too. Spans and events have the target `mcp`. The span has no parent:
/// see [`on_span`](Self::on_span).
///
/// | event | level |
/// | --- | --- |
/// | a panic | ERROR |
/// | a failed request or task, a refused message, a denied request, a handler that stalls | WARN |
/// | any other end of a request or a task | INFO |
/// | connections | DEBUG |
#[derive(Default)]
#[must_use]
pub struct TracingObserver {
    spans: Mutex<HashMap<u64, Span>>,
    on_span: Option<Box<OnSpan>>,
}

type OnSpan = dyn Fn(&RequestInfo, &Span) + Send + Sync;

impl TracingObserver {
    /// Sets what is done with each new span before its handler runs: for example, sets its parent
    /// to that of [`RequestInfo::traceparent`] in a layer that exports traces.
    pub fn on_span(self, on_span: impl Fn(&RequestInfo, &Span) + Send + Sync + 'static) -> Self {
        Self { on_span: Some(Box::new(on_span)), ..self }
    }

    /// Returns the span of a request; an empty one if it has ended.
    fn span(&self, request: Option<&RequestInfo>) -> Span {
        let span = request.and_then(|request| lock(&self.spans).get(&request.number).cloned());
        span.unwrap_or_else(Span::none)
    }

    /// Opens the span of a request, until it ends.
    fn open(&self, request: &RequestInfo) {
        let span = info_span!(
            target: TARGET,
            parent: None,
            "mcp.request",
            method = text(&request.method),
            name = text(&request.name),
            id = text(&request.id),
            connection = known(request.connection),
            peer = request.peer.map(display),
            principal = request.principal.as_deref().map(printable),
            traceparent = request.traceparent.as_deref(),
            tracestate = request.tracestate.as_deref(),
            task = tracing::field::Empty,
            outcome = tracing::field::Empty,
            failed = tracing::field::Empty,
        );
        if span.is_disabled() {
            return;
        }
        if let Some(on_span) = &self.on_span {
            on_span(request, &span);
        }
        lock(&self.spans).insert(request.number, span);
    }

    /// Writes the event of a request that ends, and completes its span.
    fn ended(&self, request: &RequestInfo, how: Ended, error: Option<&str>, took: Duration) {
        let span = self.span(Some(request));
        let client = span.is_disabled().then_some(request);
        at_level!(
            how,
            parent: &span,
            connection = client.and_then(|request| known(request.connection)),
            peer = client.and_then(|request| request.peer).map(display),
            principal = client.and_then(|request| request.principal.as_deref()).map(printable),
            took = short(took),
            error = error.map(printable),
            "{request}: {how}",
        );
        if let Ended::Task(task) = how {
            span.record("task", display(task));
        } else {
            self.close(request, how);
        }
    }

    fn close(&self, request: &RequestInfo, how: Ended) {
        let span = lock(&self.spans).remove(&request.number);
        if let Some(span) = span {
            span.record("outcome", display(how)).record("failed", how.is_failure());
        }
    }
}

mcp_sansio::opaque_debug!(TracingObserver {});

impl Observer for TracingObserver {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Connected { connection, transport, peer } => {
                let peer = peer.map(display);
                debug!(target: TARGET, parent: None, connection, peer, %transport, "connected");
            }
            Event::Began { request } => self.open(request),
            Event::Ended { request, how, error, took } => self.ended(request, how, error, took),
            Event::TaskEnded { task, tool, request, how, error, took } => {
                let span = self.span(request);
                let is_named = span.is_disabled();
                at_level!(
                    how,
                    parent: &span,
                    task = is_named.then(|| display(task)),
                    took = short(took),
                    error = error.map(printable),
                    "task of {}: {how}",
                    Printable::new(tool),
                );
                if let Some(request) = request {
                    self.close(request, how);
                }
            }
            Event::StoreFailed { request, error } => {
                let (span, error) = (self.span(Some(request)), printable(error));
                warn!(target: TARGET, parent: &span, error, "{request}: not stored as a task");
            }
            Event::Refused { connection, peer, why, place } => {
                let (connection, peer) = (known(connection), peer.map(display));
                let place = place.map(display);
                warn!(target: TARGET, parent: None, connection, peer, %why, place, "refused");
            }
            Event::FleetFailed { error } => {
                warn!(target: TARGET, parent: None, error = printable(error), "fleet");
            }
            Event::Denied { denial } => warn!(
                target: TARGET,
                parent: None,
                peer = denial.peer.map(display),
                principal = denial.principal.as_deref().map(printable),
                status = denial.status,
                missing_scope = text(&denial.missing_scope),
                error = printable(&denial.error),
                "{denial}",
            ),
            Event::Panicked { message } => {
                error!(target: TARGET, parent: None, error = text(message), "panicked");
            }
            Event::Stalled { request, after } => {
                let (span, after) = (self.span(Some(request)), short(after));
                warn!(target: TARGET, parent: &span, after, "{request}: still runs");
            }
            Event::Disconnected { connection, how, after } => {
                let (how, after) = (printable(how), short(after));
                debug!(target: TARGET, parent: None, connection, how, after, "disconnected");
            }
            _ => {}
        }
    }

    fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
        self.span(Some(request)).in_scope(handler);
    }
}

fn printable<T: fmt::Display>(text: T) -> DisplayValue<Printable<T>> {
    display(Printable::new(text))
}

/// Returns a text to be written, unless it is empty.
fn text(text: &str) -> Option<DisplayValue<Printable<&str>>> {
    (!text.is_empty()).then(|| printable(text))
}

/// Returns the number of a connection, unless it is that of requests without a session.
fn known(connection: u64) -> Option<u64> {
    (connection != 0).then_some(connection)
}

/// Returns a time in microseconds.
fn short(time: Duration) -> tracing::field::DebugValue<Duration> {
    debug(Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
}

const TARGET: &str = "mcp";
