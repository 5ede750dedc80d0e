//! Log messages of a server. Deprecated in 2026-07-28.

use super::macros::{names, payload};

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
