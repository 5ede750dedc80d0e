//! The calls of an observer by the adapters.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use mcp_sansio::{Encode, Method, OwnedJson, RawJson, Request, ResponseKind, ToolError};

use super::{Disconnect, Ended, Observer, Refusal, RequestInfo, Transport, Watching, cut};
use crate::panics::{Panic, caught};

/// Returns a number that no other request or connection of the process has.
pub(super) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// An observer whose panics are caught, and the watch over handlers.
#[derive(Clone)]
pub(crate) struct Hooks<'o> {
    observer: Arc<dyn Observer + 'o>,
    watch: Option<Arc<Watching>>,
}

impl<'o> Hooks<'o> {
    pub(crate) fn new(observer: Arc<dyn Observer + 'o>, watch: Option<Arc<Watching>>) -> Self {
        Self { observer, watch }
    }

    pub(crate) fn tell(&self, call: impl FnOnce(&(dyn Observer + 'o))) {
        // The panic hook has reported it.
        let _ = caught(|| call(&*self.observer));
    }
}

#[cfg(feature = "asynchronous")]
impl Hooks<'static> {
    /// Starts the thread that watches handlers, unless it runs.
    pub(crate) fn start_watch(&self) {
        if let Some(watch) = &self.watch {
            watch.start_once(&self.observer);
        }
    }

    /// Reports a panic outside of handlers.
    pub(crate) fn panicked(&self, panic: &Panic) {
        self.tell(|observer| observer.panicked(None, &cut(&panic.0)));
    }
}

impl fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("is_watched", &self.watch.is_some()).finish_non_exhaustive()
    }
}

/// A connection that is observed. Some methods return what has to be called later, where no mutex
/// is locked.
#[derive(Debug)]
pub(crate) struct ObservedConnection<'o> {
    pub(crate) hooks: Hooks<'o>,
    number: u64,
    since: Instant,
    is_open: bool,
}

impl<'o> ObservedConnection<'o> {
    pub(crate) fn new(hooks: Hooks<'o>) -> Self {
        Self { hooks, number: next_number(), since: Instant::now(), is_open: true }
    }

    /// Creates what stands for the connection of requests without one.
    #[cfg(feature = "http")]
    pub(crate) fn none(hooks: Hooks<'o>) -> Self {
        Self { hooks, number: 0, since: Instant::now(), is_open: false }
    }

    pub(crate) fn connected(&self, transport: Transport) -> impl FnOnce() + Send + use<'o> {
        let (hooks, number) = (self.hooks.clone(), self.number);
        move || hooks.tell(|observer| observer.connected(number, transport))
    }

    /// Creates a request, whose begin has to be reported.
    pub(crate) fn request(&self, id: Option<&str>, request: &Request<'_>) -> ObservedRequest<'o> {
        ObservedRequest {
            hooks: self.hooks.clone(),
            info: Arc::new(RequestInfo::new(self.number, id.unwrap_or_default(), request)),
            is_open: AtomicBool::new(false),
            is_tool_failed: AtomicBool::new(false),
        }
    }

    /// A message that is no request for the application was refused.
    pub(crate) fn refused(&self, why: Refusal) -> impl FnOnce() + Send + use<'o> {
        let (hooks, number) = (self.hooks.clone(), self.number);
        move || hooks.tell(|observer| observer.refused(number, None, why))
    }

    /// Reports the end of the connection, once.
    pub(crate) fn disconnected(&mut self, how: Disconnect<'_>) {
        if std::mem::take(&mut self.is_open) {
            let after = self.since.elapsed();
            self.hooks.tell(|observer| observer.disconnected(self.number, how, after));
        }
    }
}

impl Drop for ObservedConnection<'_> {
    fn drop(&mut self) {
        self.disconnected(Disconnect::Closed);
    }
}

#[derive(Debug)]
pub(crate) struct ObservedRequest<'o> {
    hooks: Hooks<'o>,
    info: Arc<RequestInfo>,
    /// Whether its begin has been reported and its end has not.
    is_open: AtomicBool,
    /// Whether its result says that the tool failed.
    is_tool_failed: AtomicBool,
}

impl ObservedRequest<'_> {
    pub(crate) fn began(&self) {
        self.is_open.store(true, Ordering::Relaxed);
        self.hooks.tell(|observer| observer.began(&self.info));
    }

    /// Runs the handler of the request until it ends or waits.
    pub(crate) fn run<R>(&self, handler: impl FnOnce() -> R) -> Result<R, Panic> {
        let watch = self.hooks.watch.as_ref();
        let _watched = watch.map(|watch| watch.0.begin(&self.info));
        let (mut handler, mut done) = (Some(handler), None);
        let mut call = || {
            if let Some(handler) = handler.take() {
                done = Some(caught(handler));
            }
        };
        self.hooks.tell(|observer| observer.run(&self.info, &mut call));
        // The observer may not have called it.
        call();
        done.unwrap_or_else(|| Err(Panic(String::new())))
    }

    /// Reports the error of a handler.
    pub(crate) fn failed(&self, error: &ToolError<'_>) {
        if !error.is_gone() && !error.is_input_required() {
            self.hooks.tell(|observer| observer.failed(&self.info, error));
        }
    }

    pub(crate) fn refused(&self, why: Refusal) {
        let Self { hooks, info, .. } = self;
        hooks.tell(|observer| observer.refused(info.connection, Some(info), why));
    }

    pub(crate) fn panicked(&self, panic: &Panic) {
        self.hooks.tell(|observer| observer.panicked(Some(&self.info), &cut(&panic.0)));
        self.ended(Ended::Panicked);
    }

    /// Records whether a result that was sent says that a tool failed.
    #[cfg_attr(not(feature = "blocking"), expect(dead_code, reason = "others know their results"))]
    pub(crate) fn sent<T: Encode + ?Sized>(&self, request: &Request<'_>, result: &T) {
        let is_tool_failed = request.method == Method::ToolsCall
            && OwnedJson::new(result, request.revision).is_ok_and(|json| is_error(json.as_raw()));
        self.is_tool_failed.store(is_tool_failed, Ordering::Relaxed);
    }

    /// Reports the end of a request that has got a response of this kind.
    pub(crate) fn responded(&self, kind: ResponseKind) {
        self.ended(match kind {
            ResponseKind::ToolFailed => Ended::ToolFailed,
            ResponseKind::InputRequired => Ended::InputRequired,
            ResponseKind::Error(code) => Ended::Error(code),
            _ if self.is_tool_failed.load(Ordering::Relaxed) => Ended::ToolFailed,
            _ => Ended::Responded,
        });
    }

    /// Reports the end of the request, once.
    pub(crate) fn ended(&self, how: Ended) {
        if self.is_open.swap(false, Ordering::Relaxed) {
            let took = self.info.began.elapsed();
            self.hooks.tell(|observer| observer.ended(&self.info, how, took));
        }
    }
}

#[cfg(feature = "asynchronous")]
impl ObservedRequest<'static> {
    /// Returns what has to be told of a request that gets a response without a handler.
    pub(crate) fn without_handler(self: Box<Self>, why: Refusal, kind: ResponseKind) -> Telling {
        Box::new(move || {
            self.began();
            if kind != ResponseKind::Result {
                self.refused(why);
            }
            self.responded(kind);
        })
    }
}

/// A call of an observer that is made later, where no mutex is locked.
#[cfg(feature = "asynchronous")]
pub(crate) type Telling = Box<dyn FnOnce() + Send>;

impl Drop for ObservedRequest<'_> {
    fn drop(&mut self) {
        self.ended(Ended::Gone);
    }
}

/// Returns whether the result of a tool says that it failed.
pub(crate) fn is_error(result: RawJson<'_>) -> bool {
    result.get("isError").and_then(RawJson::as_bool) == Some(true)
}
