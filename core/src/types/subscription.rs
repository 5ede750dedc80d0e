//! Subscriptions of 2026-07-28: a request that stays open, and the notifications that it selects.

use super::macros::payload;
use super::{List, Text};

payload! {
    /// Notification types that a client requests, or that a server grants. 2026-07-28, schema type
    /// `SubscriptionFilter`.
    pub struct SubscriptionFilter<'a> {
        new {}
        with {
            /// Selects `notifications/tools/list_changed`.
            "toolsListChanged" tools_list_changed: of(bool);
            /// Selects `notifications/prompts/list_changed`.
            "promptsListChanged" prompts_list_changed: of(bool);
            /// Selects `notifications/resources/list_changed`.
            "resourcesListChanged" resources_list_changed: of(bool);
            /// Selects `notifications/resources/updated` for the resources with these URIs.
            "resourceSubscriptions" resource_subscriptions: list(Text<'a>);
            /// Selects notifications about the tasks with these ids. Extension
            /// `io.modelcontextprotocol/tasks`.
            "taskIds" task_ids: list(Text<'a>);
        }
    }
}

impl SubscriptionFilter<'_> {
    /// Returns whether `other` selects everything that this filter selects.
    ///
    /// A client should compare the filter it requested with the one that the server acknowledged
    /// (2026-07-28, basic/patterns/subscriptions), and poll for changes that are not granted.
    #[must_use]
    pub fn is_subset(&self, other: &SubscriptionFilter<'_>) -> bool {
        let flag =
            |own: Option<bool>, other: Option<bool>| own != Some(true) || other == Some(true);
        flag(self.tools_list_changed, other.tools_list_changed)
            && flag(self.prompts_list_changed, other.prompts_list_changed)
            && flag(self.resources_list_changed, other.resources_list_changed)
            && has_all(other.resource_subscriptions, self.resource_subscriptions)
            && has_all(other.task_ids, self.task_ids)
    }
}

fn has_all(list: Option<List<'_, Text<'_>>>, wanted: Option<List<'_, Text<'_>>>) -> bool {
    let has = |wanted: Text<'_>| {
        list.iter().flat_map(|list| list.iter()).flatten().any(|text| text == wanted)
    };
    wanted.iter().flat_map(|wanted| wanted.iter()).flatten().all(has)
}

payload! {
    /// Parameters of `subscriptions/listen` and of `notifications/subscriptions/acknowledged`.
    /// 2026-07-28, schema types `SubscriptionsListenRequestParams` and
    /// `SubscriptionsAcknowledgedNotificationParams`.
    pub struct SubscriptionsListenParams<'a> {
        new {
            /// Notification types requested or granted.
            "notifications" notifications: of(SubscriptionFilter<'a>);
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}
