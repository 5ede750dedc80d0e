//! Function pointers for optional capabilities, so that the linker drops those that are not
//! declared.

use super::Server;
use super::event::ServerEvent;
use super::params::{check_completion, check_prompts, check_resources};
use super::refusal::{Refusal, refuse, respond_empty};
use super::subscriptions::{subscribe, unsubscribe};
use crate::error::SendError;
use crate::json::RawJson;
use crate::lifecycle::{Revision, ServerFeatures};
use crate::message::{Id, Params};
use crate::tx::Tx;
use crate::types::LoggingLevel;

/// The hooks, `None` for capabilities that are not declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapabilityHooks {
    pub(super) check_resources: Option<CheckParams>,
    pub(super) check_prompts: Option<CheckParams>,
    pub(super) check_completion: Option<CheckParams>,
    pub(super) subscribe: Option<HandleRequest>,
    pub(super) unsubscribe: Option<HandleRequest>,
    pub(super) set_level: Option<HandleRequest>,
}

/// Checks the parameters of the methods of a capability.
type CheckParams = fn(&Params<'_>) -> Result<(), &'static str>;

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
        let (resources, prompts) =
            (capabilities.contains(C::RESOURCES), capabilities.contains(C::PROMPTS));
        let subscribes = capabilities.contains(C::RESOURCES_SUBSCRIBE);
        Self {
            check_resources: if resources { Some(check_resources) } else { None },
            check_prompts: if prompts { Some(check_prompts) } else { None },
            check_completion: if capabilities.contains(C::COMPLETIONS) {
                Some(check_completion)
            } else {
                None
            },
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
    let Some(level) = level else {
        return refuse(Some(id), revision, Refusal::params("Unknown log level"), tx);
    };
    respond_empty(id, revision, tx)?;
    if let Some(session) = &mut server.peer.session {
        session.log_level = level;
    }
    Ok(Some(ServerEvent::LogLevel(level)))
}
