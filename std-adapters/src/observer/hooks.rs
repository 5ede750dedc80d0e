//! The calls of an observer by the adapters.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mcp_sansio::{
    Encode, Method, OwnedJson, RawJson, Request, RequestHandle, ResponseKind, Server, ServerEvent,
    ToolError,
};

use super::{Disconnect, Ended, Observer, Refusal, RequestInfo, Transport, Watch, cut};
use crate::panics::{Panic, caught};

/// Returns a number that no other request or connection of the process has.
pub(super) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// An observer whose panics are caught, and the watch over handlers.
#[derive(Clone, Copy)]
pub(crate) struct Hooks<'o> {
    pub(crate) observer: &'o dyn Observer,
    pub(crate) watch: Option<&'o Watch>,
}

impl Hooks<'_> {
    pub(crate) fn tell(&self, call: impl FnOnce(&dyn Observer)) {
        // The panic hook has reported it.
        let _ = caught(|| call(self.observer));
    }

    /// Runs the handler of a request until it ends or waits.
    pub(crate) fn run<R>(
        &self,
        request: &Arc<RequestInfo>,
        handler: impl FnOnce() -> R,
    ) -> Result<R, Panic> {
        let _watched = self.watch.map(|watch| watch.begin(request));
        let (mut handler, mut done) = (Some(handler), None);
        let mut call = || {
            if let Some(handler) = handler.take() {
                done = Some(caught(handler));
            }
        };
        self.tell(|observer| observer.run(request, &mut call));
        // The observer may not have called it.
        call();
        done.unwrap_or_else(|| Err(Panic(String::new())))
    }

    pub(crate) fn panicked(&self, request: Option<&RequestInfo>, panic: &Panic) {
        self.tell(|observer| observer.panicked(request, &cut(&panic.0)));
    }
}

impl fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("is_watched", &self.watch.is_some()).finish_non_exhaustive()
    }
}

/// A request that is observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed<'r> {
    pub(crate) hooks: Hooks<'r>,
    pub(crate) request: &'r RequestInfo,
    /// The end of the request, where only the caller knows it.
    pub(crate) how: &'r Cell<Option<Ended>>,
}

impl Observed<'_> {
    /// Reports the error of a handler.
    pub(crate) fn failed(&self, error: &ToolError<'_>) {
        if !error.is_gone() && !error.is_input_required() {
            self.hooks.tell(|observer| observer.failed(self.request, error));
        }
    }

    /// Records how a request was responded to, if its result says that a tool failed.
    pub(crate) fn responded<T: Encode + ?Sized>(&self, request: &Request<'_>, result: &T) {
        if request.method == Method::ToolsCall
            && OwnedJson::new(result, request.revision).is_ok_and(|json| is_error(json.as_raw()))
        {
            self.how.set(Some(Ended::ToolFailed));
        }
    }

    pub(crate) fn refused(&self, why: Refusal) {
        let Self { hooks, request, .. } = self;
        hooks.tell(|observer| observer.refused(request.connection, Some(request), why));
    }
}

/// Returns whether the result of a tool says that it failed.
pub(crate) fn is_error(result: RawJson<'_>) -> bool {
    result.get("isError").and_then(RawJson::as_bool) == Some(true)
}

/// A connection that is observed, with its open requests.
pub(crate) struct Observation<'o> {
    pub(crate) hooks: Hooks<'o>,
    connection: u64,
    since: Instant,
    open: HashMap<RequestHandle, Arc<RequestInfo>>,
    is_connected: bool,
}

impl<'o> Observation<'o> {
    pub(crate) fn connected(hooks: Hooks<'o>, transport: Transport) -> Self {
        let connection = next_number();
        hooks.tell(|observer| observer.connected(connection, transport));
        let (since, open) = (Instant::now(), HashMap::new());
        Self { hooks, connection, since, open, is_connected: true }
    }

    /// Returns the request, which began now or earlier.
    pub(crate) fn began(&mut self, server: &Server<'_>, request: &Request<'_>) -> Arc<RequestInfo> {
        let info = self.open.entry(request.handle).or_insert_with(|| {
            let id = server.request_id(request.handle).unwrap_or_default();
            let info = Arc::new(RequestInfo::new(self.connection, id, request));
            self.hooks.tell(|observer| observer.began(&info));
            info
        });
        Arc::clone(info)
    }

    /// Reports a request that has been responded to. `how` is more than the server can know.
    pub(crate) fn responded(
        &mut self,
        server: &Server<'_>,
        request: RequestHandle,
        how: Option<Ended>,
    ) {
        let kind = || match server.response_kind(request) {
            ResponseKind::ToolFailed => Ended::ToolFailed,
            ResponseKind::InputRequired => Ended::InputRequired,
            ResponseKind::Error(code) => Ended::Error(code),
            _ => Ended::Responded,
        };
        if !server.is_request_open(request) {
            self.ended(request, how.unwrap_or_else(kind));
        }
    }

    pub(crate) fn ended(&mut self, request: RequestHandle, how: Ended) {
        if let Some(info) = self.open.remove(&request) {
            self.hooks.tell(|observer| observer.ended(&info, how, info.began.elapsed()));
        }
    }

    /// Reports events other than requests.
    pub(crate) fn event(&mut self, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::RequestCancelled { request, .. } => self.ended(*request, Ended::Cancelled),
            ServerEvent::RequestTimedOut { request } => self.ended(*request, Ended::TimedOut),
            ServerEvent::Violation(violation) => {
                let why = Refusal::Violation(*violation);
                self.hooks.tell(|observer| observer.refused(self.connection, None, why));
            }
            _ => {}
        }
    }

    /// Reports the end of the connection, once.
    pub(crate) fn disconnected(&mut self, how: Disconnect<'_>) {
        if !std::mem::take(&mut self.is_connected) {
            return;
        }
        for (_, info) in self.open.drain() {
            self.hooks.tell(|observer| observer.ended(&info, Ended::Gone, info.began.elapsed()));
        }
        let after = self.since.elapsed();
        self.hooks.tell(|observer| observer.disconnected(self.connection, how, after));
    }
}

impl Drop for Observation<'_> {
    fn drop(&mut self) {
        self.disconnected(Disconnect::Closed);
    }
}
