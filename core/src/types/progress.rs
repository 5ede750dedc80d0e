//! Progress and cancellation.

use super::Number;
use super::encode::macros::payload;
use crate::json::RawJson;

payload! {
    /// What `notifications/progress` says. Schema type `ProgressNotificationParams`.
    pub struct ProgressParams<'a> {
        new {
            /// The token of the request: a string or an integer.
            "progressToken" progress_token: of(RawJson<'a>);
            /// How far it is: more each time.
            "progress" progress: of(Number<'a>);
        }
        with {
            /// How far it will be in the end.
            "total" total: of(Number<'a>);
            /// What is going on. From 2025-03-26 on.
            "message" message: text, in BE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// What `notifications/cancelled` says. Schema type `CancelledNotificationParams`.
    pub struct CancelledParams<'a> {
        new {
            /// The request that is no longer wanted: a string or an integer. Required in effect; a notification without it says nothing.
            "requestId" request_id: of(RawJson<'a>);
        }
        with {
            /// Why, for people.
            "reason" reason: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// What a request or notification says that has nothing of its own to say. Schema types `RequestParams` and `NotificationParams`.
    pub struct EmptyParams<'a> {
        new {}
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// An answer with nothing of its own. Schema type `EmptyResult`; in 2026-07-28 also `SubscriptionsListenResult`.
    pub struct EmptyResult<'a> {
        new {}
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
