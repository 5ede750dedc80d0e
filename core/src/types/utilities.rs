//! Utilities of the protocol: completion, log messages, progress, cancellation.

use super::macros::{names, one_of, payload};
use super::{Number, Text};
use crate::encode::{Encoder, With, object};
use crate::json::RawJson;

// Completion: suggestions for the arguments of prompts and resource templates.

payload! {
    /// Parameters of `completion/complete`. Schema type `CompleteRequestParams`.
    pub struct CompleteParams<'a> {
        /// Prompt or resource template that the argument belongs to.
        "ref" reference: of(CompletionReference<'a>);
        /// The argument to complete.
        "argument" argument: of(CompletionArgument<'a>);
        optional:
        /// Context of the completion. Since 2025-06-18.
        "context" context: of(CompletionContext<'a>), since V2025_06_18;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

one_of! {
    /// Prompt or resource template whose argument is completed: the member `ref` of schema type
    /// `CompleteRequestParams`.
    #[non_exhaustive]
    pub enum CompletionReference<'a> by "type" {
        /// Type `ref/prompt`.
        "ref/prompt" => Prompt(PromptReference<'a>),
        /// Type `ref/resource`.
        "ref/resource" => Resource(ResourceTemplateReference<'a>),
    } else {
        /// Unknown type, as JSON.
        Other(RawJson<'a>),
    }
}

payload! {
    /// Reference to a prompt. Schema type `PromptReference`.
    pub struct PromptReference<'a> {
        tag "type" = "ref/prompt";
        /// Name of the prompt.
        "name" name: text;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
    }
}

payload! {
    /// Reference to a resource or resource template. Schema type `ResourceTemplateReference`,
    /// before 2025-06-18 `ResourceReference`.
    pub struct ResourceTemplateReference<'a> {
        tag "type" = "ref/resource";
        /// URI of the resource, or URI template.
        "uri" uri: text;
    }
}

payload! {
    /// Argument to complete: the member `argument` of schema type `CompleteRequestParams`.
    pub struct CompletionArgument<'a> {
        /// Name of the argument.
        "name" name: text;
        /// Value typed so far.
        "value" value: text;
    }
}

payload! {
    /// Context of a completion: the member `context` of schema type `CompleteRequestParams`. Since
    /// 2025-06-18.
    pub struct CompletionContext<'a> {
        optional:
        /// Arguments that are already resolved: an object of strings.
        "arguments" arguments: object;
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
        /// The suggested values.
        "completion" completion: of(Completion<'a>);
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Suggested values for an argument: the member `completion` of schema type `CompleteResult`.
    ///
    /// The protocol allows 100 values. Of a longer list, the first 100 are written, with `hasMore`
    /// and, unless it is set, the `total` of the list.
    pub struct Completion<'a> {
        encode write_limited;
        /// Suggested values, most relevant first.
        "values" values: list(Text<'a>);
        optional:
        /// Number of all matching values, those that are not in `values` included.
        "total" total: of(u64);
        /// Whether there are more values than those in `values`.
        "hasMore" has_more: of(bool);
    }
}

/// Maximum number of values in a result (server/utilities/completion).
const MAX_VALUES: usize = 100;

impl Completion<'_> {
    fn write_limited(&self, to: &mut Encoder<'_>) {
        let count = self.values.len();
        let cut = count > MAX_VALUES;
        let total = self.total.or(cut.then_some(count as u64));
        let has_more = if cut { Some(true) } else { self.has_more };
        let values = With(|to: &mut Encoder<'_>| {
            // Elements that are not strings are omitted.
            let json = self.values.as_json().unwrap_or(RawJson::NULL).elements();
            let json = json.filter_map(RawJson::as_string).map(Text::from_json);
            let own = self.values.as_slice().unwrap_or_default().iter().copied();
            to.array(own.chain(json).take(MAX_VALUES));
        });
        object!(to, {
            "values": values,
            "total"?: total,
            "hasMore"?: has_more,
        });
    }
}

// Log messages of a server. Deprecated in 2026-07-28.

names! {
    /// Severity of a log message, lowest first, as in syslog (RFC 5424). Schema type
    /// `LoggingLevel`.
    #[derive(PartialOrd, Ord)]
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

/// All levels, from the lowest to the highest.
pub const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

payload! {
    /// Parameters of `logging/setLevel`. Up to 2025-11-25, schema type `SetLevelRequestParams`.
    pub struct SetLevelParams<'a> {
        /// Lowest level of the messages that the server should send.
        "level" level: of(LoggingLevel);
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Parameters of `notifications/message`, a log message. Schema type
    /// `LoggingMessageNotificationParams`.
    pub struct LoggingMessageParams<'a> {
        /// Severity of the message.
        "level" level: of(LoggingLevel);
        /// The message: any JSON value.
        "data" data: any;
        optional:
        /// Name of the logger.
        "logger" logger: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

// Progress, cancellation, and messages without parameters or results of their own.

payload! {
    /// Parameters of `notifications/progress`. Schema type `ProgressNotificationParams`.
    pub struct ProgressParams<'a> {
        /// Progress token of the request: a string or an integer.
        "progressToken" progress_token: of(RawJson<'a>);
        /// Progress so far; must increase with each notification.
        "progress" progress: of(Number<'a>);
        optional:
        /// Progress at completion, if known.
        "total" total: of(Number<'a>);
        /// Description of the current progress. Since 2025-03-26.
        "message" message: text, since V2025_03_26;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Parameters of `notifications/cancelled`. Schema type `CancelledNotificationParams`.
    pub struct CancelledParams<'a> {
        /// Id of the cancelled request: a string or an integer. The schema declares it
        /// optional, but a notification without it cancels nothing.
        "requestId" request_id: of(RawJson<'a>);
        optional:
        /// Reason for the cancellation, for logs and users.
        "reason" reason: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Parameters of a request or notification that defines none of its own. Schema types
    /// `RequestParams` and `NotificationParams`.
    pub struct EmptyParams<'a> {
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Result without members of its own. Schema type `EmptyResult`; in 2026-07-28 also
    /// `SubscriptionsListenResult`.
    pub struct EmptyResult<'a> {
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}
