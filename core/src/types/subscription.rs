//! Subscriptions of 2026-07-28: one request that stays open, and the notifications that it asks
//! for.

use super::encode::macros::payload;
use super::{List, Text};

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

impl SubscriptionFilter<'_> {
    /// Whether a server that acknowledged `granted` honours all of this (2026-07-28,
    /// basic/patterns/subscriptions: SHOULD be compared). What it does not honour
    /// has to be asked for now and then.
    #[must_use]
    pub fn is_subset(&self, granted: &SubscriptionFilter<'_>) -> bool {
        let flag = |wanted: Option<bool>, granted: Option<bool>| {
            wanted != Some(true) || granted == Some(true)
        };
        flag(self.tools_list_changed, granted.tools_list_changed)
            && flag(self.prompts_list_changed, granted.prompts_list_changed)
            && flag(self.resources_list_changed, granted.resources_list_changed)
            && has_all(granted.resource_subscriptions, self.resource_subscriptions)
            && has_all(granted.task_ids, self.task_ids)
    }
}

fn has_all(granted: Option<List<'_, Text<'_>>>, wanted: Option<List<'_, Text<'_>>>) -> bool {
    let has = |one: Text<'_>| {
        granted.iter().flat_map(|granted| granted.iter()).flatten().any(|other| other == one)
    };
    wanted.iter().flat_map(|wanted| wanted.iter()).flatten().all(has)
}

payload! {
    /// What `subscriptions/listen` asks for, and `notifications/subscriptions/acknowledged` grants. 2026-07-28, schema types
    /// `SubscriptionsListenRequestParams` and `SubscriptionsAcknowledgedNotificationParams`.
    pub struct SubscriptionsListenParams<'a> {
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
