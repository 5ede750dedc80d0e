//! The calls of an observer by the adapters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mcp_sansio::{Encode, Method, OwnedJson, Request, ResponseKind, ToolError};
use mcp_sansio_engine::internal::is_error;

use super::{
    Disconnect, Ended, Event, Observer, Refusal, RequestInfo, Transport, Watching, cut, next_number,
};
use crate::panics::{Panic, caught};

/// An observer whose panics are caught, and the watch over handlers.
#[derive(Clone)]
pub(crate) struct Hooks<'o> {
    pub(crate) observer: Arc<dyn Observer + 'o>,
    pub(crate) watch: Option<Arc<Watching>>,
}

impl<'o> Hooks<'o> {
    pub(crate) fn tell(&self, event: Event<'_>) {
        // The panic hook has reported it.
        let _ = caught(|| self.observer.on(event));
    }

    /// Creates a request, whose begin has to be told.
    pub(crate) fn request(
        &self,
        connection: u64,
        id: Option<&str>,
        request: &Request<'_>,
    ) -> ObservedRequest<'o> {
        ObservedRequest {
            hooks: self.clone(),
            info: Arc::new(RequestInfo::new(
                next_number(),
                connection,
                id.unwrap_or_default(),
                request,
            )),
            since: Instant::now(),
            is_open: AtomicBool::new(false),
            is_tool_failed: AtomicBool::new(false),
        }
    }
}

/// A connection of which an observer is told.
pub(crate) struct ObservedConnection<'o> {
    pub(crate) hooks: Hooks<'o>,
    pub(crate) number: u64,
    since: Instant,
    is_open: bool,
}

impl<'o> ObservedConnection<'o> {
    /// Creates a connection and tells of it.
    pub(crate) fn new(hooks: Hooks<'o>, transport: Transport) -> Self {
        let (number, since) = (next_number(), Instant::now());
        hooks.tell(Event::Connected { connection: number, transport });
        Self { hooks, number, since, is_open: true }
    }

    /// Tells of the end of the connection, once.
    pub(crate) fn disconnected(&mut self, how: Disconnect<'_>) {
        if std::mem::take(&mut self.is_open) {
            let (connection, after) = (self.number, self.since.elapsed());
            self.hooks.tell(Event::Disconnected { connection, how, after });
        }
    }
}

impl Drop for ObservedConnection<'_> {
    fn drop(&mut self) {
        self.disconnected(Disconnect::Closed);
    }
}

pub(crate) struct ObservedRequest<'o> {
    hooks: Hooks<'o>,
    info: Arc<RequestInfo>,
    since: Instant,
    /// Whether its begin has been reported and its end has not.
    is_open: AtomicBool,
    /// Whether its result says that the tool failed.
    is_tool_failed: AtomicBool,
}

impl ObservedRequest<'_> {
    pub(crate) fn began(&self) {
        self.is_open.store(true, Ordering::Relaxed);
        self.hooks.tell(Event::Began { request: &self.info });
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
        let _ = caught(|| self.hooks.observer.run(&self.info, &mut call));
        // The observer may not have called it.
        call();
        done.unwrap_or_else(|| Err(Panic(String::new())))
    }

    /// Reports the error of a handler.
    pub(crate) fn failed(&self, error: &ToolError<'_>) {
        if !error.is_gone() && !error.is_input_required() {
            self.hooks.tell(Event::Failed { request: &self.info, error });
        }
    }

    pub(crate) fn refused(&self, why: Refusal) {
        let Self { hooks, info, .. } = self;
        hooks.tell(Event::Refused { connection: info.connection, request: Some(info), why });
    }

    pub(crate) fn panicked(&self, panic: &Panic) {
        self.hooks.tell(Event::Panicked { request: Some(&self.info), message: &cut(&panic.0) });
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
        self.ended(match Ended::from(kind) {
            Ended::Responded if self.is_tool_failed.load(Ordering::Relaxed) => Ended::ToolFailed,
            ended => ended,
        });
    }

    /// Reports the end of the request, once.
    pub(crate) fn ended(&self, how: Ended) {
        if self.is_open.swap(false, Ordering::Relaxed) {
            let took = self.since.elapsed();
            self.hooks.tell(Event::Ended { request: &self.info, how, took });
        }
    }
}

/// What an observer is told later, where no mutex is locked.
#[cfg(feature = "asynchronous")]
pub(crate) enum Telling {
    Event(Event<'static>),
    /// A request begins, and ends with a response of this kind: its handler is not called.
    Responded(Box<ObservedRequest<'static>>, Refusal, ResponseKind),
    /// Code has panicked: for a request that begins and ends with it, or for none.
    Panicked(Option<Box<ObservedRequest<'static>>>, Panic),
}

#[cfg(feature = "asynchronous")]
impl Telling {
    /// A message that is not a request for the application was refused.
    pub(crate) const fn refused(connection: u64, why: Refusal) -> Self {
        Self::Event(Event::Refused { connection, request: None, why })
    }

    pub(crate) fn tell(self, hooks: &Hooks<'_>) {
        match self {
            Self::Event(event) => hooks.tell(event),
            Self::Responded(request, why, kind) => {
                request.began();
                if kind != ResponseKind::Result {
                    request.refused(why);
                }
                request.responded(kind);
            }
            Self::Panicked(Some(request), panic) => {
                request.began();
                request.panicked(&panic);
            }
            Self::Panicked(None, panic) => {
                hooks.tell(Event::Panicked { request: None, message: &cut(&panic.0) });
            }
        }
    }
}

impl Drop for ObservedRequest<'_> {
    fn drop(&mut self) {
        self.ended(Ended::Gone);
    }
}
