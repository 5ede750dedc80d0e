//! Subscriptions of 2026-07-28: one request that stays open, and the notifications that it asks for.

use super::Text;
use super::macros::payload;

payload! {
    /// The kinds of notifications that are wanted, or that will come. 2026-07-28, schema type `SubscriptionFilter`.
    pub struct SubscriptionFilter<'a> {
        new {}
        with {
            /// The list of tools has changed.
            "toolsListChanged" tools_list_changed: of(bool);
            /// The list of prompts has changed.
            "promptsListChanged" prompts_list_changed: of(bool);
            /// The list of resources has changed.
            "resourcesListChanged" resources_list_changed: of(bool);
            /// One of these resources has changed: URIs.
            "resourceSubscriptions" resource_subscriptions: list(Text<'a>);
            /// One of these tasks has changed: ids. Extension `io.modelcontextprotocol/tasks`.
            "taskIds" task_ids: list(Text<'a>);
        }
    }
}

payload! {
    /// What `subscriptions/listen` asks for, and `notifications/subscriptions/acknowledged` grants. 2026-07-28, schema types
    /// `SubscriptionsListenRequestParams` and `SubscriptionsAcknowledgedNotificationParams`.
    pub struct SubscriptionParams<'a> {
        new {
            /// The kinds of notifications.
            "notifications" notifications: of(SubscriptionFilter<'a>);
        }
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
