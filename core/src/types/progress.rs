//! Progress, cancellation, and messages without parameters or results of their own.

use super::Number;
use super::macros::payload;
use crate::json::RawJson;

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
