//! Function pointers for optional capabilities and settings, so that the linker drops the code of
//! those that a program does not use.

use core::fmt;
use core::ops::ControlFlow;
use core::time::Duration;

use super::Server;
use super::event::ServerEvent;
use super::params::{COMPLETION, RESOURCE, Rule};
use super::refusal::respond_empty;
use super::subscriptions::{GRANTS, Grants, subscribe, unsubscribe};
use crate::error::SendError;
use crate::inflight::Slot;
use crate::json::RawJson;
use crate::lifecycle::{Method, Revision, ServerFeatures};
use crate::message::{Envelope, Id, Params};
use crate::time::Instant;
use crate::tx::Tx;
use crate::types::LoggingLevel;

/// The hooks, empty for capabilities that are not declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapabilityHooks {
    pub(super) resource_rules: &'static [Rule],
    pub(super) completion_rules: &'static [Rule],
    pub(super) subscribe: Option<HandleRequest>,
    pub(super) unsubscribe: Option<HandleRequest>,
    pub(super) set_level: Option<HandleRequest>,
    pub(super) grants: Option<&'static Grants>,
}

/// Responds to a request of a session.
type HandleRequest = for<'f> fn(
    &mut Server<'_>,
    Id<'f>,
    Revision,
    &Params<'f>,
    &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError>;

/// A setting, and the code that only a server with this setting links.
#[derive(Clone, Copy)]
pub(super) struct Linked<T, F> {
    pub(super) value: T,
    pub(super) code: F,
}

impl<T: fmt::Debug, F> fmt::Debug for Linked<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Code for timeouts of requests.
#[derive(Clone, Copy)]
pub(super) struct RequestTimeout {
    pub(super) deadline: fn(Instant, Duration) -> Instant,
    pub(super) handle: HandleTimeout,
}

/// Handles the next timeout of a kind; [`Continue`](ControlFlow::Continue) if none is due.
pub(super) type HandleTimeout =
    fn(&mut Server<'_>, Instant, &mut Tx<'_>) -> Result<TimedOut, SendError>;

/// Whether a timeout was handled, and its event.
pub(super) type TimedOut = ControlFlow<Option<ServerEvent<'static>>>;

/// Ends what a restarted peer does not know of: [`Server::reconnect`].
pub(super) type Reconnect = fn(
    &mut Server<'_>,
    Id<'_>,
    Method<'_>,
    &Envelope<'_>,
    &Tx<'_>,
) -> Result<Option<ServerEvent<'static>>, SendError>;

/// Code for deadlines: linked by the settings and the calls that have one.
pub(super) struct Timers {
    pub(super) next: fn(&Server<'_>) -> Option<Instant>,
    pub(super) handle: fn(
        &mut Server<'_>,
        Instant,
        &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError>,
}

impl Timers {
    pub(super) const ALL: &Self = &Self {
        next: |server| server.next_deadline(),
        handle: |server, now, tx| server.handle_deadline(now, tx),
    };
}

/// Code for pings.
#[derive(Clone, Copy)]
pub(super) struct KeepAlive {
    pub(super) due: fn(&Server<'_>) -> Option<Instant>,
    pub(super) ping: fn(&mut Server<'_>, Instant, &mut Tx<'_>) -> Result<(), SendError>,
}

/// Reports the response to a call: [`Server::call_response`].
pub(super) type CallResponse = for<'f> fn(
    &mut Server<'_>,
    Instant,
    Id<'f>,
    Result<RawJson<'f>, RawJson<'f>>,
    &Tx<'_>,
) -> Option<ServerEvent<'f>>;

/// Code for calls that are open: linked by the functions that make one.
pub(super) struct CallHooks {
    pub(super) timers: &'static Timers,
    pub(super) response: CallResponse,
    pub(super) time_out: HandleTimeout,
    pub(super) cancel_nested: fn(&mut Server<'_>, Slot),
    /// Removes calls up to the first that the application knows of.
    pub(super) end_next: fn(&mut Server<'_>) -> Option<ServerEvent<'static>>,
}

impl CallHooks {
    pub(super) const ALL: &Self = &Self {
        timers: Timers::ALL,
        response: |server, now, id, outcome, tx| server.call_response(now, id, outcome, tx),
        time_out: |server, now, tx| server.time_out_call(now, tx),
        cancel_nested: |server, parent| server.cancel_nested(parent),
        end_next: |server| server.end_next_call(),
    };
}

impl fmt::Debug for CallHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallHooks")
    }
}

impl CapabilityHooks {
    pub(super) const fn of(capabilities: ServerFeatures) -> Self {
        use ServerFeatures as C;
        let subscribes = capabilities.contains(C::RESOURCES_SUBSCRIBE);
        Self {
            resource_rules: if capabilities.contains(C::RESOURCES) { &RESOURCE } else { &[] },
            completion_rules: if capabilities.contains(C::COMPLETIONS) { &COMPLETION } else { &[] },
            subscribe: if subscribes { Some(subscribe) } else { None },
            unsubscribe: if subscribes { Some(unsubscribe) } else { None },
            set_level: if capabilities.contains(C::LOGGING) { Some(set_level) } else { None },
            grants: if capabilities.has_changes() { Some(&GRANTS) } else { None },
        }
    }
}

pub(super) fn set_level<'f>(
    server: &mut Server<'_>,
    id: Id<'f>,
    revision: Revision,
    params: &Params<'f>,
    tx: &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError> {
    let level = params.get("level").and_then(RawJson::as_string).and_then(LoggingLevel::from_json);
    // The level has been checked.
    let Some(level) = level else { return Ok(None) };
    respond_empty(id, revision, tx)?;
    if let Some(session) = &mut server.peer.session {
        session.log_level = level;
    }
    Ok(Some(ServerEvent::LogLevel(level)))
}
