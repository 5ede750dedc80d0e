//! Log messages.

use super::encode::macros::{names, payload};

names! {
    /// How bad something is, the least first. Schema type `LoggingLevel`.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum LoggingLevel {
        /// For debugging.
        Debug = "debug",
        /// As expected.
        Info = "info",
        /// Worth knowing.
        Notice = "notice",
        /// Something may be wrong.
        Warning = "warning",
        /// Something went wrong.
        Error = "error",
        /// A part has failed.
        Critical = "critical",
        /// Someone must act now.
        Alert = "alert",
        /// Nothing works.
        Emergency = "emergency",
    }
}

payload! {
    /// What `logging/setLevel` asks for. Up to 2025-11-25, schema type `SetLevelRequestParams`.
    pub struct SetLevelParams<'a> {
        new {
            /// The least level that is wanted.
            "level" level: of(LoggingLevel);
        }
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// A log message: what `notifications/message` says. Schema type `LoggingMessageNotificationParams`.
    pub struct LoggingMessageParams<'a> {
        new {
            /// How bad it is.
            "level" level: of(LoggingLevel);
            /// What is said: any JSON.
            "data" data: any;
        }
        with {
            /// Who says it.
            "logger" logger: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
