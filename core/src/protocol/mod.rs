//! Tables of revisions, methods and capabilities.

pub(crate) mod error;
mod features;

pub use features::{ClientFeatures, ServerFeatures};

use core::fmt;

use crate::json::JsonStr;
use crate::text::{Words, words};
use serde::{Serialize, Serializer};

/// A published revision of the Model Context Protocol, oldest first. [`Revisions::ALL`] has them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
#[repr(u8)]
pub enum Revision {
    /// 2024-11-05, legacy era.
    V2024_11_05,
    /// 2025-03-26, legacy era; the only one with JSON-RPC batches.
    V2025_03_26,
    /// 2025-06-18, legacy era.
    V2025_06_18,
    /// 2025-11-25, legacy era.
    V2025_11_25,
    /// 2026-07-28, modern era.
    V2026_07_28,
}

/// The way in which a revision opens a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Era {
    /// With an `initialize` handshake that opens a session.
    // Not 0, which is `None`: the memory of a client is all zeros.
    Legacy = 1,
    /// Without a handshake: each request carries its own version and capabilities.
    Modern,
}

impl Era {
    /// Both eras, the older first.
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Modern];
}

impl Revision {
    /// All revisions, newest first: the order in which `server/discover` lists them.
    pub(crate) const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision with an `initialize` handshake: the response to an unknown version in
    /// `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// Returns the date, as on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the revision with this date.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Returns the revision with this date, from a received string.
    pub fn from_json(text: JsonStr<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| text == *revision.as_str())
    }

    /// Returns the era of the revision.
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// Whether the revision is of the modern era.
    pub const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of revisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub struct Revisions(u8);

impl Revisions {
    /// All revisions.
    pub const ALL: Self = Self(0b1_1111);
    /// Revisions with an `initialize` handshake.
    pub const LEGACY: Self = Self(0b0_1111);
    /// Revisions without it.
    pub const MODERN: Self = Self(0b1_0000);

    /// Creates a set of one revision.
    pub const fn only(revision: Revision) -> Self {
        Self(1 << revision as u8)
    }

    /// Returns the union of both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set contains `revision`.
    pub const fn contains(self, revision: Revision) -> bool {
        self.0 & Self::only(revision).0 != 0
    }

    /// Returns the revisions, newest first.
    pub fn iter(self) -> impl Iterator<Item = Revision> {
        Revision::ALL.into_iter().filter(move |revision| self.contains(*revision))
    }

    /// Returns the newest revision with an `initialize` handshake.
    pub fn newest_legacy(self) -> Option<Revision> {
        self.iter().find(|revision| !revision.is_modern())
    }
}

/// Serializes as an array of dates, newest first.
impl Serialize for Revisions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Revision::as_str))
    }
}

// Methods of the requests that clients send: one row each.

/// Generates [`Method`], the module [`methods`] and the rules from one row per method:
///
/// - the variant, the constant and the name on the wire,
/// - the first and the last revision that have the method,
/// - the capability that the server must have declared,
/// - `machine` when this library responds, `application` when the application does,
/// - `input` when the result may be an input-required result (2026-07-28, basic/patterns/mrtr).
///
/// The rows behind `with "FEATURE"` exist with this feature only; the application responds to them.
macro_rules! table {
    ($($(#[$doc:meta])* $variant:ident $constant:ident = $name:literal
        in $first:ident ..= $last:ident, needs $needs:ident, $by:ident $($input:ident)?;)*
     $(; with $feature:literal { $($extra:ident $extra_constant:ident = $extra_name:literal
        in $extra_first:ident ..= $extra_last:ident, needs $extra_needs:ident;)* })*) => {
        /// Method of a request that a client sends to a server.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Method<'f> {
            $(#[doc = concat!("`", $name, "`")] $(#[doc = ""] #[$doc])* $variant,)*
            $($(#[doc = concat!("`", $extra_name, "`")] #[cfg(feature = $feature)] $extra,)*)*
            /// Any other method: one that the configuration names, or an unknown one.
            Other(JsonStr<'f>),
        }

        /// Names of the protocol's methods, for [`Client::request`](crate::Client::request).
        ///
        /// ```
        /// assert_eq!(mcp_sansio::methods::TOOLS_CALL, "tools/call");
        /// ```
        pub mod methods {
            $(#[doc = concat!("`", $name, "`")] $(#[doc = ""] #[$doc])*
            pub const $constant: &str = $name;)*
            $($(#[doc = concat!("`", $extra_name, "`")] #[cfg(feature = $feature)]
            pub const $extra_constant: &str = $extra_name;)*)*
        }

        /// Names in the order of the variants.
        const NAMES: Words = words![$($name),*];

        impl<'f> Method<'f> {
            /// Returns the method with this name.
            pub(crate) fn from_name<T: PartialEq<str> + ?Sized>(name: &T) -> Option<Self> {
                // Indices as constants: the compiler turns the match into arithmetic, and no table
                // of methods is linked.
                #[repr(usize)]
                enum Index { $($variant),* }
                $(const $constant: usize = Index::$variant as usize;)*
                match NAMES.position(name) {
                    $(Some($constant) => Some(Self::$variant),)*
                    _ => Self::extra_from_name(name),
                }
            }

            /// Returns the method of an optional feature with this name.
            #[inline]
            fn extra_from_name<T: PartialEq<str> + ?Sized>(name: &T) -> Option<Self> {
                let _ = name;
                $($(#[cfg(feature = $feature)]
                if *name == *$extra_name {
                    return Some(Self::$extra);
                })*)*
                None
            }

            /// Returns the revisions and the capability that the method needs; `None` for a method
            /// that no revision has.
            pub(crate) const fn rule(self) -> Option<Rule> {
                let (first, last, needs) = match self {
                    $(Self::$variant => {
                        (Revision::$first, Revision::$last, ServerFeatures::$needs)
                    })*
                    $($(#[cfg(feature = $feature)]
                    Self::$extra => (
                        Revision::$extra_first,
                        Revision::$extra_last,
                        ServerFeatures::$extra_needs,
                    ),)*)*
                    Self::Other(_) => return None,
                };
                Some(Rule { first, last, needs })
            }

            /// Whether the application responds; this library responds to all other methods.
            pub(crate) const fn is_for_application(self) -> bool {
                match self {
                    $(Self::$variant => table!(@$by),)*
                    $($(#[cfg(feature = $feature)] Self::$extra => true,)*)*
                    Self::Other(_) => true,
                }
            }

            /// Whether the result may be an input-required result (2026-07-28,
            /// basic/patterns/mrtr).
            pub const fn may_require_input(self) -> bool {
                match self {
                    $(Self::$variant => table!(@result $($input)?),)*
                    $($(#[cfg(feature = $feature)] Self::$extra => false,)*)*
                    Self::Other(_) => false,
                }
            }

            /// Returns the method without its lifetime, or the name of an unknown one.
            pub(crate) fn known(self) -> Result<Method<'static>, JsonStr<'f>> {
                Ok(match self {
                    $(Self::$variant => Method::$variant,)*
                    $($(#[cfg(feature = $feature)] Self::$extra => Method::$extra,)*)*
                    Self::Other(name) => return Err(name),
                })
            }
        }

        /// Writes the name, for example `tools/call`. An unknown one is text of the client.
        impl fmt::Display for Method<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($name),)*
                    $($(#[cfg(feature = $feature)] Self::$extra => f.write_str($extra_name),)*)*
                    Self::Other(name) => fmt::Display::fmt(name, f),
                }
            }
        }
    };
    (@machine) => { false };
    (@application) => { true };
    (@result) => { false };
    (@result input) => { true };
}

table! {
    Initialize INITIALIZE = "initialize" in V2024_11_05..=V2025_11_25, needs NONE, machine;
    Ping PING = "ping" in V2024_11_05..=V2025_11_25, needs NONE, machine;
    /// In no revision, but some guides tell clients to send it.
    Shutdown SHUTDOWN = "shutdown" in V2024_11_05..=V2025_11_25, needs NONE, machine;
    ServerDiscover SERVER_DISCOVER = "server/discover"
        in V2026_07_28..=V2026_07_28, needs NONE, machine;
    ToolsList TOOLS_LIST = "tools/list" in V2024_11_05..=V2026_07_28, needs TOOLS, application;
    ToolsCall TOOLS_CALL = "tools/call"
        in V2024_11_05..=V2026_07_28, needs TOOLS, application input;
    ResourcesList RESOURCES_LIST = "resources/list"
        in V2024_11_05..=V2026_07_28, needs RESOURCES, application;
    ResourcesTemplatesList RESOURCES_TEMPLATES_LIST = "resources/templates/list"
        in V2024_11_05..=V2026_07_28, needs RESOURCES, application;
    ResourcesRead RESOURCES_READ = "resources/read"
        in V2024_11_05..=V2026_07_28, needs RESOURCES, application input;
    ResourcesSubscribe RESOURCES_SUBSCRIBE = "resources/subscribe"
        in V2024_11_05..=V2025_11_25, needs RESOURCES_SUBSCRIBE, machine;
    ResourcesUnsubscribe RESOURCES_UNSUBSCRIBE = "resources/unsubscribe"
        in V2024_11_05..=V2025_11_25, needs RESOURCES_SUBSCRIBE, machine;
    PromptsList PROMPTS_LIST = "prompts/list"
        in V2024_11_05..=V2026_07_28, needs PROMPTS, application;
    PromptsGet PROMPTS_GET = "prompts/get"
        in V2024_11_05..=V2026_07_28, needs PROMPTS, application input;
    CompletionComplete COMPLETION_COMPLETE = "completion/complete"
        in V2024_11_05..=V2026_07_28, needs COMPLETIONS, application;
    LoggingSetLevel LOGGING_SET_LEVEL = "logging/setLevel"
        in V2024_11_05..=V2025_11_25, needs LOGGING, machine;
    SubscriptionsListen SUBSCRIPTIONS_LISTEN = "subscriptions/listen"
        in V2026_07_28..=V2026_07_28, needs NONE, machine;
    ; with "tasks" {
        TasksGet TASKS_GET = "tasks/get" in V2025_11_25..=V2026_07_28, needs TASKS;
        TasksResult TASKS_RESULT = "tasks/result" in V2025_11_25..=V2025_11_25, needs TASKS;
        TasksList TASKS_LIST = "tasks/list" in V2025_11_25..=V2025_11_25, needs TASKS_LIST;
        TasksUpdate TASKS_UPDATE = "tasks/update" in V2026_07_28..=V2026_07_28, needs TASKS;
        TasksCancel TASKS_CANCEL = "tasks/cancel" in V2025_11_25..=V2026_07_28, needs TASKS_CANCEL;
    }
    ; with "skills" {
        SkillsList SKILLS_LIST = "skills/list" in V2025_06_18..=V2026_07_28, needs SKILLS;
        SkillsGet SKILLS_GET = "skills/get" in V2025_06_18..=V2026_07_28, needs SKILLS;
        ResourcesDirectoryRead RESOURCES_DIRECTORY_READ = "resources/directory/read"
            in V2025_06_18..=V2026_07_28, needs SKILLS_DIRECTORIES;
    }
}

/// Revisions and capability that a method needs.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Rule {
    first: Revision,
    last: Revision,
    needs: ServerFeatures,
}

impl<'f> Method<'f> {
    /// Returns the method with this name, as it stands in a message.
    pub(crate) fn from_json(name: JsonStr<'f>) -> Self {
        // Few writers escape the slash.
        let plain = if cfg!(small) { None } else { Self::from_name(name.inner()) };
        plain.or_else(|| Self::from_name(&name)).unwrap_or(Self::Other(name))
    }
}

impl Rule {
    /// Whether this revision has the method.
    pub(crate) fn exists_in(self, revision: Revision) -> bool {
        (self.first..=self.last).contains(&revision)
    }

    /// Whether a client must have seen the capability declared before it uses the method.
    #[cfg(feature = "skills")]
    pub(crate) fn must_be_declared(self) -> bool {
        self.needs.contains(ServerFeatures::SKILLS_DIRECTORIES)
    }

    /// Whether a server with these capabilities has the method in this revision.
    pub(crate) fn allows(self, revision: Revision, declared: ServerFeatures) -> bool {
        let is_declared = |needs| declared.contains(needs);
        // The extension for tasks has no capability of its own for `tasks/cancel`.
        self.exists_in(revision)
            && (is_declared(self.needs)
                || revision.is_modern() && is_declared(self.needs.known_in(revision)))
    }
}
