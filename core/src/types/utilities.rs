//! Utilities of the protocol: completion, log messages, progress, cancellation.

use super::macros::setters;
use super::macros::{encode_one_of, names, payload};
use super::{List, Number, Text};
use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use serde::{Deserialize, Deserializer, de};

// Completion: suggestions for the arguments of prompts and resource templates.

payload! {
    /// Parameters of `completion/complete`. Schema type `CompleteRequestParams`.
    pub struct CompleteParams<'a> {
        new {
            /// Prompt or resource template that the argument belongs to.
            "ref" reference: of(CompletionReference<'a>);
            /// The argument to complete.
            "argument" argument: of(CompletionArgument<'a>);
        }
        with {
            /// Context of the completion. Since 2025-06-18.
            "context" context: of(CompletionContext<'a>), since V2025_06_18;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

/// Prompt or resource template whose argument is completed: the member `ref` of schema type
/// `CompleteRequestParams`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CompletionReference<'a> {
    /// Type `ref/prompt`.
    Prompt(PromptReference<'a>),
    /// Type `ref/resource`.
    Resource(ResourceTemplateReference<'a>),
    /// Unknown type, as JSON.
    Other(RawJson<'a>),
}

encode_one_of! {
    CompletionReference<'_> {
        Self::Prompt(reference) => reference,
        Self::Resource(reference) => reference,
        Self::Other(reference) => reference,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for CompletionReference<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let Some(kind) = raw.get("type").and_then(RawJson::as_string) else {
            return Err(de::Error::missing_field("type"));
        };
        let read = if kind == "ref/prompt" {
            raw.to().map(Self::Prompt)
        } else if kind == "ref/resource" {
            raw.to().map(Self::Resource)
        } else {
            Ok(Self::Other(raw))
        };
        read.map_err(de::Error::custom)
    }
}

payload! {
    /// Reference to a prompt. Schema type `PromptReference`.
    pub struct PromptReference<'a> {
        tag "type" = "ref/prompt";
        new {
            /// Name of the prompt.
            "name" name: text;
        }
        with {
            /// Display name for user interfaces. Since 2025-06-18.
            "title" title: text, since V2025_06_18;
        }
    }
}

payload! {
    /// Reference to a resource or resource template. Schema type `ResourceTemplateReference`,
    /// before 2025-06-18 `ResourceReference`.
    pub struct ResourceTemplateReference<'a> {
        tag "type" = "ref/resource";
        new {
            /// URI of the resource, or URI template.
            "uri" uri: text;
        }
    }
}

payload! {
    /// Argument to complete: the member `argument` of schema type `CompleteRequestParams`.
    pub struct CompletionArgument<'a> {
        new {
            /// Name of the argument.
            "name" name: text;
            /// Value typed so far.
            "value" value: text;
        }
    }
}

payload! {
    /// Context of a completion: the member `context` of schema type `CompleteRequestParams`. Since
    /// 2025-06-18.
    pub struct CompletionContext<'a> {
        new {}
        with {
            /// Arguments that are already resolved: an object of strings.
            "arguments" arguments: object;
        }
    }
}

impl<'a> CompleteParams<'a> {
    /// Returns the already resolved argument `name` of the [`CompletionContext`], if it is a
    /// string.
    pub fn context_argument(&self, name: &str) -> Option<Text<'a>> {
        self.context?.arguments?.get(name).and_then(RawJson::as_string).map(Text::from_json)
    }
}

payload! {
    /// Result of `completion/complete`. Schema type `CompleteResult`.
    ///
    /// ```
    /// use mcp_sansio::types::{CompleteResult, Completion, Text};
    ///
    /// let values = [Text::new("python"), Text::new("pytorch")];
    /// let result = CompleteResult::new(Completion::new(&values).total(10).has_more(true));
    /// assert_eq!(result.completion.values.len(), 2);
    /// ```
    pub struct CompleteResult<'a> {
        new {
            /// The suggested values.
            "completion" completion: of(Completion<'a>);
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

/// Suggested values for an argument: the member `completion` of schema type `CompleteResult`.
///
/// The protocol allows 100 values. Of a longer list, the first 100 are written, with `hasMore` and,
/// unless it is set, the `total` of the list.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Completion<'a> {
    /// Suggested values, most relevant first.
    pub values: List<'a, Text<'a>>,
    /// Number of all matching values, those that are not in `values` included.
    pub total: Option<u64>,
    /// Whether there are more values than those in `values`.
    pub has_more: Option<bool>,
}

/// Maximum number of values in a result (server/utilities/completion).
const MAX_VALUES: usize = 100;

impl<'a> Completion<'a> {
    /// Creates a completion with these values, most relevant first.
    pub const fn new(values: &'a [Text<'a>]) -> Self {
        Self { values: List::new(values), total: None, has_more: None }
    }

    setters! {
        /// Sets the number of all matching values.
        total?: u64;
        /// Sets whether there are more values than those in `values`.
        has_more?: bool;
    }
}

impl Encode for Completion<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let count = self.values.len();
        let cut = count > MAX_VALUES;
        let total = self.total.or(cut.then_some(count as u64));
        let has_more = if cut { Some(true) } else { self.has_more };
        object!(to, {
            "values": First(&self.values),
            "total"?: total,
            "hasMore"?: has_more,
        });
    }
}

/// The first [`MAX_VALUES`] elements.
struct First<'x, 'a>(&'x List<'a, Text<'a>>);

impl Encode for First<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        // Elements that are not strings are omitted.
        let json = self
            .0
            .as_json()
            .unwrap_or(RawJson::NULL)
            .elements()
            .filter_map(RawJson::as_string)
            .map(Text::from_json);
        let own = self.0.as_slice().unwrap_or_default().iter().copied();
        to.array(own.chain(json).take(MAX_VALUES));
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Completion<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members { values, total, has_more } = Members::deserialize(deserializer)?;
        Ok(Self { values, total, has_more })
    }
}

payload! {
    struct Members<'a> {
        new {
            "values" values: list(Text<'a>);
        }
        with {
            "total" total: of(u64);
            "hasMore" has_more: of(bool);
        }
    }
}

// Log messages of a server. Deprecated in 2026-07-28.

names! {
    /// Severity of a log message, lowest first, as in syslog (RFC 5424). Schema type
    /// `LoggingLevel`.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum LoggingLevel {
        /// Details for debugging.
        Debug = "debug",
        /// Normal operation.
        Info = "info",
        /// Normal but significant event.
        Notice = "notice",
        /// Warning condition.
        Warning = "warning",
        /// Error condition.
        Error = "error",
        /// Critical condition, e.g. the failure of a component.
        Critical = "critical",
        /// Condition that requires immediate action.
        Alert = "alert",
        /// System is unusable.
        Emergency = "emergency",
    }
}

payload! {
    /// Parameters of `logging/setLevel`. Up to 2025-11-25, schema type `SetLevelRequestParams`.
    pub struct SetLevelParams<'a> {
        new {
            /// Lowest level of the messages that the server should send.
            "level" level: of(LoggingLevel);
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

payload! {
    /// Parameters of `notifications/message`, a log message. Schema type
    /// `LoggingMessageNotificationParams`.
    pub struct LoggingMessageParams<'a> {
        new {
            /// Severity of the message.
            "level" level: of(LoggingLevel);
            /// The message: any JSON value.
            "data" data: any;
        }
        with {
            /// Name of the logger.
            "logger" logger: text;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

// Progress, cancellation, and messages without parameters or results of their own.

payload! {
    /// Parameters of `notifications/progress`. Schema type `ProgressNotificationParams`.
    pub struct ProgressParams<'a> {
        new {
            /// Progress token of the request: a string or an integer.
            "progressToken" progress_token: of(RawJson<'a>);
            /// Progress so far; must increase with each notification.
            "progress" progress: of(Number<'a>);
        }
        with {
            /// Progress at completion, if known.
            "total" total: of(Number<'a>);
            /// Description of the current progress. Since 2025-03-26.
            "message" message: text, since V2025_03_26;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

payload! {
    /// Parameters of `notifications/cancelled`. Schema type `CancelledNotificationParams`.
    pub struct CancelledParams<'a> {
        new {
            /// Id of the cancelled request: a string or an integer. The schema declares it
            /// optional, but a notification without it cancels nothing.
            "requestId" request_id: of(RawJson<'a>);
        }
        with {
            /// Reason for the cancellation, for logs and users.
            "reason" reason: text;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

payload! {
    /// Parameters of a request or notification that defines none of its own. Schema types
    /// `RequestParams` and `NotificationParams`.
    pub struct EmptyParams<'a> {
        new {}
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

payload! {
    /// Result without members of its own. Schema type `EmptyResult`; in 2026-07-28 also
    /// `SubscriptionsListenResult`.
    pub struct EmptyResult<'a> {
        new {}
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}
