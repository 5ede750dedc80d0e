//! What a server has because it declares it. A program that declares less contains less: what is
//! reached through a pointer that a constant configuration does not have is not linked.

use super::admit::{check_completion, check_prompts, check_resources};
use super::event::ServerEvent;
use super::listen::{Subscribed, subscribe, unsubscribe};
use super::receive::set_level;
use crate::error::SendError;
use crate::lifecycle::{Revision, ServerFeatures};
use crate::message::{Id, Params};
use crate::tx::Tx;
use crate::types::LoggingLevel;

/// By capability; without it nothing is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Features {
    pub(super) check_resources: Option<Check>,
    pub(super) check_prompts: Option<Check>,
    pub(super) check_completion: Option<Check>,
    pub(super) subscribe: Option<Answer>,
    pub(super) unsubscribe: Option<Answer>,
    pub(super) set_level: Option<Answer>,
}

/// Whether the parameters are what the methods of a capability take.
type Check = fn(&Params<'_>) -> Result<(), &'static str>;

/// Answers a request of a session.
type Answer = for<'f> fn(
    &mut Session<'_>,
    Id<'f>,
    Revision,
    &Params<'f>,
    &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError>;

/// What such an answer may change.
pub(super) struct Session<'s> {
    pub(super) subscribed: Subscribed<'s>,
    pub(super) log_level: Option<&'s mut LoggingLevel>,
}

impl Features {
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
