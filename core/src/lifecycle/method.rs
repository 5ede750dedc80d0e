//! The requests of a client, and which revision and capability each needs.

use super::capability::ServerFeatures;
use super::revision::Revision;
use crate::json::JsonStr;

/// A request that a client can make of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Method<'f> {
    /// `initialize`
    Initialize,
    /// `ping`
    Ping,
    /// `shutdown`, which no revision has but some guides tell clients to send.
    Shutdown,
    /// `server/discover`
    ServerDiscover,
    /// `tools/list`
    ToolsList,
    /// `tools/call`
    ToolsCall,
    /// `resources/list`
    ResourcesList,
    /// `resources/templates/list`
    ResourcesTemplatesList,
    /// `resources/read`
    ResourcesRead,
    /// `resources/subscribe`
    ResourcesSubscribe,
    /// `resources/unsubscribe`
    ResourcesUnsubscribe,
    /// `prompts/list`
    PromptsList,
    /// `prompts/get`
    PromptsGet,
    /// `completion/complete`
    CompletionComplete,
    /// `logging/setLevel`
    LoggingSetLevel,
    /// `subscriptions/listen`
    SubscriptionsListen,
    /// Any other: one that the configuration names, or nobody knows.
    Other(JsonStr<'f>),
}

/// What a method needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    first: Revision,
    last: Revision,
    needs: ServerFeatures,
}

impl<'f> Method<'f> {
    /// The method with this name.
    pub(crate) fn from_json(name: JsonStr<'f>) -> Self {
        match Self::named(name.inner()) {
            Some(method) => method,
            // Some writers escape the slash.
            None if name.inner().contains('\\') => {
                let mut decoded = [0; 32];
                name.copy_to(&mut decoded).and_then(Self::named).unwrap_or(Self::Other(name))
            }
            None => Self::Other(name),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match NAMES.iter().position(|known| *known == name)? {
            0 => Self::Initialize,
            1 => Self::Ping,
            2 => Self::Shutdown,
            3 => Self::ServerDiscover,
            4 => Self::ToolsList,
            5 => Self::ToolsCall,
            6 => Self::ResourcesList,
            7 => Self::ResourcesTemplatesList,
            8 => Self::ResourcesRead,
            9 => Self::ResourcesSubscribe,
            10 => Self::ResourcesUnsubscribe,
            11 => Self::PromptsList,
            12 => Self::PromptsGet,
            13 => Self::CompletionComplete,
            14 => Self::LoggingSetLevel,
            15 => Self::SubscriptionsListen,
            _ => return None,
        })
    }

    /// Which revisions know it and which capability must have been declared; `None` for one that no
    /// revision knows.
    pub(crate) const fn rule(self) -> Option<Rule> {
        use Revision as R;
        use ServerFeatures as C;
        let (first, last, needs) = match self {
            Self::Initialize | Self::Ping | Self::Shutdown => {
                (R::V2024_11_05, R::V2025_11_25, C::NONE)
            }
            Self::ServerDiscover => (R::V2026_07_28, R::V2026_07_28, C::NONE),
            Self::ToolsList | Self::ToolsCall => (R::V2024_11_05, R::V2026_07_28, C::TOOLS),
            Self::ResourcesList | Self::ResourcesTemplatesList | Self::ResourcesRead => {
                (R::V2024_11_05, R::V2026_07_28, C::RESOURCES)
            }
            Self::ResourcesSubscribe | Self::ResourcesUnsubscribe => {
                (R::V2024_11_05, R::V2025_11_25, C::RESOURCES_SUBSCRIBE)
            }
            Self::PromptsList | Self::PromptsGet => (R::V2024_11_05, R::V2026_07_28, C::PROMPTS),
            Self::CompletionComplete => (R::V2024_11_05, R::V2026_07_28, C::COMPLETIONS),
            Self::LoggingSetLevel => (R::V2024_11_05, R::V2025_11_25, C::LOGGING),
            Self::SubscriptionsListen => (R::V2026_07_28, R::V2026_07_28, C::NONE),
            Self::Other(_) => return None,
        };
        Some(Rule { first, last, needs })
    }

    /// Whether the application answers it; all others the machine does.
    pub(crate) const fn is_for_the_application(self) -> bool {
        !matches!(
            self,
            Self::Initialize
                | Self::Ping
                | Self::Shutdown
                | Self::ServerDiscover
                | Self::LoggingSetLevel
                | Self::ResourcesSubscribe
                | Self::ResourcesUnsubscribe
                | Self::SubscriptionsListen
        )
    }

    /// The method without its lifetime, or the name of one that is not known.
    #[cfg(feature = "alloc")]
    pub(crate) fn known(self) -> Result<Method<'static>, JsonStr<'f>> {
        Ok(match self {
            Self::Initialize => Method::Initialize,
            Self::Ping => Method::Ping,
            Self::Shutdown => Method::Shutdown,
            Self::ServerDiscover => Method::ServerDiscover,
            Self::ToolsList => Method::ToolsList,
            Self::ToolsCall => Method::ToolsCall,
            Self::ResourcesList => Method::ResourcesList,
            Self::ResourcesTemplatesList => Method::ResourcesTemplatesList,
            Self::ResourcesRead => Method::ResourcesRead,
            Self::ResourcesSubscribe => Method::ResourcesSubscribe,
            Self::ResourcesUnsubscribe => Method::ResourcesUnsubscribe,
            Self::PromptsList => Method::PromptsList,
            Self::PromptsGet => Method::PromptsGet,
            Self::CompletionComplete => Method::CompletionComplete,
            Self::LoggingSetLevel => Method::LoggingSetLevel,
            Self::SubscriptionsListen => Method::SubscriptionsListen,
            Self::Other(name) => return Err(name),
        })
    }

    /// Whether its answer may be an input-required result (2026-07-28, basic/patterns/mrtr).
    #[must_use]
    pub const fn may_require_input(self) -> bool {
        matches!(self, Self::ToolsCall | Self::PromptsGet | Self::ResourcesRead)
    }
}

/// In the order of the variants, so that a place is a method without a table.
const NAMES: [&str; 16] = [
    "initialize",
    "ping",
    "shutdown",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
];

/// A method that clients call all the time.
#[derive(Clone, Copy)]
pub(crate) enum Usual {
    ToolsCall,
    ResourcesRead,
    PromptsGet,
}

impl Usual {
    /// The one whose name a text begins with, quotes included and written as most writers do, and
    /// how long that is.
    #[inline(always)]
    pub(crate) fn named(text: &[u8]) -> Option<(Self, usize)> {
        macro_rules! among {
            ($($name:literal $method:ident),*) => {
                $(if text.starts_with($name) { Some((Self::$method, $name.len())) } else)* { None }
            };
        }
        among!(b"\"tools/call\"" ToolsCall, b"\"resources/read\"" ResourcesRead, b"\"prompts/get\"" PromptsGet)
    }
}

impl From<Usual> for Method<'_> {
    #[inline]
    fn from(usual: Usual) -> Self {
        match usual {
            Usual::ToolsCall => Self::ToolsCall,
            Usual::ResourcesRead => Self::ResourcesRead,
            Usual::PromptsGet => Self::PromptsGet,
        }
    }
}

impl Rule {
    /// Whether this revision has the method.
    pub(crate) fn exists_in(self, revision: Revision) -> bool {
        (self.first..=self.last).contains(&revision)
    }

    /// Whether a server with these capabilities answers it in this revision.
    pub(crate) fn allows(self, revision: Revision, declared: ServerFeatures) -> bool {
        self.exists_in(revision) && declared.contains(self.needs)
    }
}
