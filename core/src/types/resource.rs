//! Resources: data that a server provides, identified by URIs.

use super::macros::setters;
use super::macros::{page, payload};
use super::{Annotations, Blob, CacheScope, InputResponses, List, Text};
use crate::encode::{Encode, Encoder};
use crate::json::RawJson;
use serde::{Deserialize, Deserializer, de};

payload! {
    #![rendered]
    /// A resource that a server can read. Schema type `Resource`.
    ///
    /// ```
    /// use mcp_sansio::types::Resource;
    ///
    /// const LOG: Resource = Resource::new("file:///var/log/boot.log", "boot.log")
    ///     .description("Log of the last boot.")
    ///     .mime_type("text/plain");
    /// ```
    pub struct Resource<'a> {
        /// URI of the resource.
        "uri" uri: text;
        /// Name for programmatic use.
        "name" name: text;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
        /// Description of the resource, for the model.
        "description" description: text;
        /// MIME type of the resource, if known.
        "mimeType" mime_type: text;
        /// Size of the raw content in bytes, before base64 encoding.
        "size" size: of(u64);
        /// Icons for user interfaces. Since 2025-11-25.
        "icons" icons: icons, since V2025_11_25;
        /// Hints about audience, importance and age.
        "annotations" annotations: of(Annotations<'a>);
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

payload! {
    #![rendered]
    /// A template for the URIs of resources. Schema type `ResourceTemplate`.
    pub struct ResourceTemplate<'a> {
        /// URI template (RFC 6570).
        "uriTemplate" uri_template: text;
        /// Name for programmatic use.
        "name" name: text;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
        /// Description of the resources, for the model.
        "description" description: text;
        /// MIME type, if all matching resources have the same.
        "mimeType" mime_type: text;
        /// Icons for user interfaces. Since 2025-11-25.
        "icons" icons: icons, since V2025_11_25;
        /// Hints about audience, importance and age.
        "annotations" annotations: of(Annotations<'a>);
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

/// Contents of a resource or of a part of it. Schema types `TextResourceContents` and
/// `BlobResourceContents`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct ResourceContents<'a> {
    /// URI of the resource, or of a part of it.
    pub uri: Text<'a>,
    /// Text or binary data: the members `text` and `blob`.
    pub data: ResourceData<'a>,
    /// MIME type, if known.
    pub mime_type: Option<Text<'a>>,
    /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
    pub meta: Option<RawJson<'a>>,
    /// Annotations, as JSON. The schema defines them on
    /// [`EmbeddedResource`](super::EmbeddedResource) only, but examples of the specification put
    /// them here, too: kept, not required.
    pub annotations: Option<RawJson<'a>>,
}

/// The data in [`ResourceContents`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ResourceData<'a> {
    /// Text, in the member `text`.
    Text(Text<'a>),
    /// Binary data, in the member `blob`.
    Blob(Blob<'a>),
}

impl<'a> ResourceContents<'a> {
    /// Creates text contents of the resource `uri`.
    pub const fn text(uri: &'a str, text: &'a str) -> Self {
        Self::new(Text::new(uri), ResourceData::Text(Text::new(text)))
    }

    /// Creates binary contents of the resource `uri`.
    pub const fn blob(uri: &'a str, bytes: &'a [u8]) -> Self {
        Self::new(Text::new(uri), ResourceData::Blob(Blob::new(bytes)))
    }

    /// Creates contents from their parts, for example with the URI of the request.
    pub const fn new(uri: Text<'a>, data: ResourceData<'a>) -> Self {
        Self { uri, data, mime_type: None, meta: None, annotations: None }
    }

    /// Sets the MIME type.
    pub const fn mime_type(mut self, mime_type: &'a str) -> Self {
        self.mime_type = Some(Text::new(mime_type));
        self
    }

    setters! {
        /// Sets `_meta`: see [`meta`](crate::types::meta). Since 2025-06-18.
        meta?: RawJson<'a>;
    }
}

impl Encode for ResourceContents<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        self.members().encode(to);
    }
}

impl<'a> ResourceContents<'a> {
    fn members(&self) -> Members<'a> {
        let (text, blob) = match self.data {
            ResourceData::Text(text) => (Some(text), None),
            ResourceData::Blob(blob) => (None, Some(blob)),
        };
        let Self { uri, mime_type, meta, annotations, .. } = *self;
        Members { uri, mime_type, text, blob, meta, annotations }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ResourceContents<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members { uri, mime_type, text, blob, meta, annotations } =
            Members::deserialize(deserializer)?;
        let data = match (text, blob) {
            (Some(text), _) => ResourceData::Text(text),
            (None, Some(blob)) => ResourceData::Blob(blob),
            (None, None) => return Err(de::Error::missing_field("text")),
        };
        Ok(Self { uri, data, mime_type, meta, annotations })
    }
}

payload! {
    struct Members<'a> {
        "uri" uri: text;
        optional:
        "mimeType" mime_type: text;
        "text" text: text;
        "blob" blob: of(Blob<'a>);
        "_meta" meta: object, since V2025_06_18;
        "annotations" annotations: object, since V2025_06_18;
    }
}

page! {
    /// Result of `resources/list`. Schema type `ListResourcesResult`.
    pub struct ListResourcesResult<'a> {
        /// The resources of this page.
        "resources" resources: Resource<'a>;
    }
}

page! {
    /// Result of `resources/templates/list`. Schema type `ListResourceTemplatesResult`.
    pub struct ListResourceTemplatesResult<'a> {
        /// The templates of this page.
        "resourceTemplates" resource_templates: ResourceTemplate<'a>;
    }
}

payload! {
    /// Parameters of `resources/read`. Schema type `ReadResourceRequestParams`.
    pub struct ReadResourceParams<'a> {
        /// URI of the resource.
        "uri" uri: text;
        optional:
        /// Responses to the input requests of an
        /// [`InputRequiredResult`](crate::types::InputRequiredResult), by the same keys. Since
        /// 2026-07-28.
        "inputResponses" input_responses: of(InputResponses<'a>), since V2026_07_28;
        /// The `requestState` of that result, unchanged. Since 2026-07-28.
        "requestState" request_state: text, since V2026_07_28;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Result of `resources/read`. Schema type `ReadResourceResult`.
    ///
    /// ```
    /// use mcp_sansio::types::{CacheScope, ReadResourceResult, ResourceContents};
    ///
    /// const CONTENTS: &[ResourceContents] =
    ///     &[ResourceContents::text("file:///motd", "Welcome!").mime_type("text/plain")];
    /// const RESULT: ReadResourceResult =
    ///     ReadResourceResult::new(CONTENTS).ttl_ms(60_000).cache_scope(CacheScope::Public);
    /// ```
    pub struct ReadResourceResult<'a> {
        /// Contents of the resource, or of its parts.
        "contents" contents: list(ResourceContents<'a>);
        optional:
        /// Time that the result stays fresh, in milliseconds; 0 if missing or negative. Since
        /// 2026-07-28, where it is required.
        "ttlMs" ttl_ms: millis = 0, since V2026_07_28;
        /// Whether caches may share the result between users; private if missing. Since
        /// 2026-07-28, where it is required.
        "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, since V2026_07_28;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Parameters of `resources/subscribe` and `resources/unsubscribe` (both up to 2025-11-25) and
    /// of `notifications/resources/updated`. Schema types `ResourceRequestParams`,
    /// `SubscribeRequestParams`, `UnsubscribeRequestParams` and
    /// `ResourceUpdatedNotificationParams`.
    pub struct ResourceParams<'a> {
        /// URI of the resource. In a notification, it may name a sub-resource of the subscribed
        /// one.
        "uri" uri: text;
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

// Subscriptions of 2026-07-28: a request that stays open, and the notifications that it selects.

payload! {
    /// Notification types that a client requests, or that a server grants. 2026-07-28, schema type
    /// `SubscriptionFilter`.
    pub struct SubscriptionFilter<'a> {
        optional:
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

impl SubscriptionFilter<'_> {
    /// Returns whether `other` selects everything that this filter selects.
    ///
    /// A client should compare the filter it requested with the one that the server acknowledged
    /// (2026-07-28, basic/patterns/subscriptions), and poll for changes that are not granted.
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
        /// Notification types requested or granted.
        "notifications" notifications: of(SubscriptionFilter<'a>);
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}
