//! Function pointers for optional capabilities, so that the linker drops those that are not
//! declared.

use super::Server;
use super::event::ServerEvent;
use super::params::{COMPLETION, RESOURCE, Rule};
use super::refusal::respond_empty;
use super::subscriptions::{subscribe, unsubscribe};
use crate::error::SendError;
use crate::json::RawJson;
use crate::lifecycle::{Revision, ServerFeatures};
use crate::message::{Id, Params};
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
}

/// Responds to a request of a session.
type HandleRequest = for<'f> fn(
    &mut Server<'_>,
    Id<'f>,
    Revision,
    &Params<'f>,
    &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError>;

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
