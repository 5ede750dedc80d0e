//! Blocks of content: what tools, prompts and resources give to a model or a person.

use core::fmt;

use serde::{Deserialize, Deserializer, de};

use super::encode::macros::{names, payload};
use super::encode::older::{Notice, OrElse};
use super::encode::tell::{payload_told, tell_one_of};
use super::{Blob, Icon, Number, ResourceContents, Text};
use crate::json::RawJson;

/// A block of content. Schema type `ContentBlock`.
///
/// What the peer's revision does not know is written as a text block that says what is missing:
/// audio in 2024-11-05, links to resources before 2025-06-18. A block of an unknown `type` is kept
/// as it is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ContentBlock<'a> {
    /// Text.
    Text(TextContent<'a>),
    /// A picture.
    Image(ImageContent<'a>),
    /// Sound. From 2025-03-26 on.
    Audio(AudioContent<'a>),
    /// A link to a resource. From 2025-06-18 on.
    ResourceLink(ResourceLink<'a>),
    /// The contents of a resource.
    Resource(EmbeddedResource<'a>),
    /// Of a type that is not known.
    Other(RawJson<'a>),
}

impl<'a> ContentBlock<'a> {
    /// Text of the application's.
    #[must_use]
    pub const fn text(text: &'a str) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture.
    #[must_use]
    pub const fn image(data: &'a [u8], mime_type: &'a str) -> Self {
        Self::Image(ImageContent::new(Blob::new(data), mime_type))
    }

    /// Sound.
    #[must_use]
    pub const fn audio(data: &'a [u8], mime_type: &'a str) -> Self {
        Self::Audio(AudioContent::new(Blob::new(data), mime_type))
    }

    /// The contents of a resource.
    #[must_use]
    pub const fn resource(contents: ResourceContents<'a>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// A link to a resource.
    #[must_use]
    pub const fn resource_link(uri: &'a str, name: &'a str) -> Self {
        Self::ResourceLink(ResourceLink::new(uri, name))
    }

    /// The text, when it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self {
            Self::Text(content) => Some(content.text),
            _ => None,
        }
    }
}

/// A text block, of whatever kind of text.
impl<'a> From<Text<'a>> for ContentBlock<'a> {
    fn from(text: Text<'a>) -> Self {
        Self::Text(TextContent::from(text))
    }
}

impl<'a> From<Text<'a>> for TextContent<'a> {
    fn from(text: Text<'a>) -> Self {
        Self { text, ..TextContent::new("") }
    }
}

tell_one_of! {
    ContentBlock<'_> {
        Self::Text(content) => content,
        Self::Image(content) => content,
        Self::Audio(content) => content.or_notice(&content.notice()),
        Self::ResourceLink(link) => OrElse("$mcp?CE", link, &Notice { text: link, annotations: link.annotations.as_ref() }),
        Self::Resource(content) => content,
        Self::Other(content) => content,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ContentBlock<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let Some(kind) = raw.get("type").and_then(RawJson::as_string) else {
            return Err(de::Error::missing_field("type"));
        };
        let read = if kind == "text" {
            raw.to().map(Self::Text)
        } else if kind == "image" {
            raw.to().map(Self::Image)
        } else if kind == "audio" {
            raw.to().map(Self::Audio)
        } else if kind == "resource_link" {
            raw.to().map(Self::ResourceLink)
        } else if kind == "resource" {
            raw.to().map(Self::Resource)
        } else {
            Ok(Self::Other(raw))
        };
        read.map_err(de::Error::custom)
    }
}

payload! {
    /// Text. Schema type `TextContent`.
    pub struct TextContent<'a> {
        tag "type" = "text";
        new {
            /// The text.
            "text" text: text;
        }
        with {
            /// Hints for the client.
            "annotations" annotations: of(Annotations<'a>);
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

payload! {
    /// A picture. Schema type `ImageContent`.
    pub struct ImageContent<'a> {
        tag "type" = "image";
        new {
            /// The file.
            "data" data: of(Blob<'a>);
            /// What kind of file.
            "mimeType" mime_type: text;
        }
        with {
            /// Hints for the client.
            "annotations" annotations: of(Annotations<'a>);
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

payload! {
    /// Sound. From 2025-03-26 on, schema type `AudioContent`.
    pub struct AudioContent<'a> {
        tag "type" = "audio";
        new {
            /// The file.
            "data" data: of(Blob<'a>);
            /// What kind of file.
            "mimeType" mime_type: text;
        }
        with {
            /// Hints for the client.
            "annotations" annotations: of(Annotations<'a>);
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

impl<'a> AudioContent<'a> {
    /// As it is, or for 2024-11-05 a text block that says what is missing.
    pub(super) fn or_notice<'x>(
        &'x self,
        notice: &'x Notice<'x, 'a>,
    ) -> OrElse<'x, Self, Notice<'x, 'a>> {
        OrElse("$mcp?BE", self, notice)
    }

    pub(super) fn notice(&self) -> Notice<'_, 'a> {
        Notice { text: self, annotations: self.annotations.as_ref() }
    }
}

/// What is said in its place where it is not known.
impl fmt::Display for AudioContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        fmt::Display::fmt(&self.mime_type, f)?;
        f.write_str(" audio: this protocol revision has no audio content]")
    }
}

payload! {
    /// The contents of a resource, within other content. Schema type `EmbeddedResource`.
    pub struct EmbeddedResource<'a> {
        tag "type" = "resource";
        new {
            /// The contents.
            "resource" resource: of(ResourceContents<'a>);
        }
        with {
            /// Hints for the client.
            "annotations" annotations: of(Annotations<'a>);
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

payload! {
    /// A link to a resource. From 2025-06-18 on, schema type `ResourceLink`.
    pub struct ResourceLink<'a> {
        tag "type" = "resource_link";
        new {
            /// Where it can be read.
            "uri" uri: text;
            /// For programs.
            "name" name: text;
        }
        with {
            /// The name for people.
            "title" title: text;
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
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

/// What is said in its place where it is not known.
impl fmt::Display for ResourceLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[resource ")?;
        fmt::Display::fmt(&self.name, f)?;
        f.write_str(": ")?;
        fmt::Display::fmt(&self.uri, f)?;
        f.write_str("]")
    }
}

payload! {
    /// Hints on who should see something, and how much it matters. Schema type `Annotations`.
    pub struct Annotations<'a> {
        new {}
        with {
            /// Whom it is for.
            "audience" audience: list(Role);
            /// From 0 (may be left out) to 1 (is needed).
            "priority" priority: of(Number<'a>);
            /// ISO 8601. From 2025-06-18 on.
            "lastModified" last_modified: text, in CE;
        }
    }
}

names! {
    /// Who speaks, or is spoken to. Schema type `Role`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Role {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

payload_told! { ContentBlock<'a> }
