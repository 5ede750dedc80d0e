//! Resources: data that a server lends, each under a URI.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::encode::macros::payload;
use super::encode::tell::{Tell, Teller};
use super::{Annotations, Blob, CacheScope, Icon, InputResponses, Text};
use crate::json::RawJson;

payload! {
    /// A resource that can be read. Schema type `Resource`.
    pub struct Resource<'a> {
        new {
            /// Where it can be read.
            "uri" uri: text;
            /// For programs.
            "name" name: text;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
            /// What it is, for the model.
            "description" description: text;
            /// What kind of data.
            "mimeType" mime_type: text;
            /// How many bytes.
            "size" size: of(u64);
            /// Pictures of it. From 2025-11-25 on.
            "icons" icons: list(Icon<'a>), in DE;
            /// Hints for the client.
            "annotations" annotations: of(Annotations<'a>);
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

payload! {
    /// A family of resources whose URIs follow a template. Schema type `ResourceTemplate`.
    pub struct ResourceTemplate<'a> {
        new {
            /// RFC 6570.
            "uriTemplate" uri_template: text;
            /// For programs.
            "name" name: text;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
            /// What they are, for the model.
            "description" description: text;
            /// What kind of data, when it is the same for all.
            "mimeType" mime_type: text;
            /// Pictures of them. From 2025-11-25 on.
            "icons" icons: list(Icon<'a>), in DE;
            /// Hints for the client.
            "annotations" annotations: of(Annotations<'a>);
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

/// What a resource, or a part of it, contains. Schema types `TextResourceContents` and
/// `BlobResourceContents`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResourceContents<'a> {
    /// Where it was read.
    pub uri: Text<'a>,
    /// Text or bytes.
    pub data: ResourceData<'a>,
    /// What kind of data.
    pub mime_type: Option<Text<'a>>,
    /// From 2025-06-18 on.
    pub meta: Option<RawJson<'a>>,
    /// The schema has them on the block around an embedded resource, but servers were told to put
    /// them here, too: kept, never required.
    pub annotations: Option<RawJson<'a>>,
}

/// The data in [`ResourceContents`].
#[derive(Clone, Copy, Debug)]
pub enum ResourceData<'a> {
    /// Text.
    Text(Text<'a>),
    /// Anything else.
    Blob(Blob<'a>),
}

impl<'a> ResourceContents<'a> {
    /// Text.
    #[must_use]
    pub const fn text(uri: &'a str, text: &'a str) -> Self {
        Self::new(Text::new(uri), ResourceData::Text(Text::new(text)))
    }

    /// Bytes.
    #[must_use]
    pub const fn blob(uri: &'a str, bytes: &'a [u8]) -> Self {
        Self::new(Text::new(uri), ResourceData::Blob(Blob::new(bytes)))
    }

    /// Either; `uri` may come from the request.
    #[must_use]
    pub const fn new(uri: Text<'a>, data: ResourceData<'a>) -> Self {
        Self { uri, data, mime_type: None, meta: None, annotations: None }
    }

    /// What kind of data.
    #[must_use]
    pub const fn mime_type(mut self, mime_type: &'a str) -> Self {
        self.mime_type = Some(Text::new(mime_type));
        self
    }

    /// From 2025-06-18 on.
    #[must_use]
    pub const fn meta(mut self, meta: RawJson<'a>) -> Self {
        self.meta = Some(meta);
        self
    }
}

impl Tell for ResourceContents<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        self.members().tell(to);
    }
}

impl Serialize for ResourceContents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members().serialize(serializer)
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
        new {
            "uri" uri: text;
        }
        with {
            "mimeType" mime_type: text;
            "text" text: text;
            "blob" blob: of(Blob<'a>);
            "_meta" meta: object, in CE;
            "annotations" annotations: object, in CE;
        }
    }
}

payload! {
    /// The answer to `resources/list`. Schema type `ListResourcesResult`.
    pub struct ListResourcesResult<'a> {
        new {
            /// The resources of this page.
            "resources" resources: list(Resource<'a>);
        }
        with {
            /// Where the next page begins; none when this is the last.
            "nextCursor" next_cursor: text;
            /// For how many milliseconds it stays fresh. From 2026-07-28 on, where it is required.
            "ttlMs" ttl_ms: millis = 0, in EE;
            /// Who may share it. From 2026-07-28 on, where it is required.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// The answer to `resources/templates/list`. Schema type `ListResourceTemplatesResult`.
    pub struct ListResourceTemplatesResult<'a> {
        new {
            /// The templates of this page.
            "resourceTemplates" resource_templates: list(ResourceTemplate<'a>);
        }
        with {
            /// Where the next page begins; none when this is the last.
            "nextCursor" next_cursor: text;
            /// For how many milliseconds it stays fresh. From 2026-07-28 on, where it is required.
            "ttlMs" ttl_ms: millis = 0, in EE;
            /// Who may share it. From 2026-07-28 on, where it is required.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// What `resources/read` asks for. Schema type `ReadResourceRequestParams`.
    pub struct ReadResourceParams<'a> {
        new {
            /// The resource.
            "uri" uri: text;
        }
        with {
            /// Answers to what the server wanted to know first. From 2026-07-28 on.
            "inputResponses" input_responses: of(InputResponses<'a>), in EE;
            /// What the server wants back, as it was. From 2026-07-28 on.
            "requestState" request_state: text, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// The answer to `resources/read`. Schema type `ReadResourceResult`.
    pub struct ReadResourceResult<'a> {
        new {
            /// The resource, or its parts.
            "contents" contents: list(ResourceContents<'a>);
        }
        with {
            /// For how many milliseconds it stays fresh. From 2026-07-28 on, where it is required.
            "ttlMs" ttl_ms: millis = 0, in EE;
            /// Who may share it. From 2026-07-28 on, where it is required.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// What `resources/subscribe` and `resources/unsubscribe` ask for, and `notifications/resources/updated` says. Schema types
    /// `SubscribeRequestParams`, `UnsubscribeRequestParams` (up to 2025-11-25) and `ResourceUpdatedNotificationParams`.
    pub struct ResourceParams<'a> {
        new {
            /// The resource; in a notification, it may be one below that which was subscribed.
            "uri" uri: text;
        }
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
