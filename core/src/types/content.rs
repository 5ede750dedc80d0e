//! Content blocks: text, images, audio and resources in results and prompts.

use core::fmt;

use super::macros::{names, one_of, payload};
use super::{Blob, Number, ResourceContents, Text};
use crate::encode::{DisplayText, Encode, Encoder, object};
use crate::json::RawJson;
use crate::protocol::Revision;

one_of! {
    /// A block of content. Schema type `ContentBlock`.
    ///
    /// A block that the peer's revision does not define is written as a text block that describes
    /// it: audio in 2024-11-05, resource links before 2025-06-18. A block of an unknown `type` is
    /// written unchanged.
    ///
    /// ```
    /// use mcp_sansio::RawJson;
    /// use mcp_sansio::types::ContentBlock;
    ///
    /// let blocks = [
    ///     ContentBlock::text("A red pixel:"),
    ///     ContentBlock::image(b"P3 1 1 255 255 0 0", "image/x-portable-pixmap"),
    ///     ContentBlock::resource_link("file:///pixel.ppm", "pixel.ppm"),
    /// ];
    /// assert!(blocks[0].as_text().is_some());
    ///
    /// let received = RawJson::from_static(r#"{"type": "text", "text": "hi"}"#);
    /// let block: ContentBlock = received.to().unwrap();
    /// assert!(block.as_text().is_some_and(|text| text == "hi"));
    /// ```
    #[non_exhaustive]
    pub enum ContentBlock<'a> by "type" {
        /// Type `text`.
        "text" => Text(TextContent<'a>),
        /// Type `image`.
        "image" => Image(ImageContent<'a>),
        /// Type `audio`. Since 2025-03-26.
        "audio" => Audio(AudioContent<'a>),
        /// Type `resource_link`. Since 2025-06-18.
        "resource_link" => ResourceLink(ResourceLink<'a>),
        /// Type `resource`: the contents of a resource.
        "resource" => Resource(EmbeddedResource<'a>),
    } else {
        /// Unknown type, as JSON.
        Other(RawJson<'a>),
    }
}

impl<'a> ContentBlock<'a> {
    /// Creates a text block.
    pub const fn text(text: &'a str) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Creates an image block from the bytes of an image file.
    pub const fn image(data: &'a [u8], mime_type: &'a str) -> Self {
        Self::Image(ImageContent::new(Blob::new(data), mime_type))
    }

    /// Creates an audio block from the bytes of an audio file. Since 2025-03-26.
    pub const fn audio(data: &'a [u8], mime_type: &'a str) -> Self {
        Self::Audio(AudioContent::new(Blob::new(data), mime_type))
    }

    /// Creates a block that embeds the contents of a resource.
    pub const fn resource(contents: ResourceContents<'a>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// Creates a link to a resource. Since 2025-06-18.
    pub const fn resource_link(uri: &'a str, name: &'a str) -> Self {
        Self::ResourceLink(ResourceLink::new(uri, name))
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self {
            Self::Text(content) => Some(content.text),
            _ => None,
        }
    }
}

/// Creates a text block.
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

payload! {
    /// A text block. Schema type `TextContent`.
    pub struct TextContent<'a> {
        tag "type" = "text";
        writer write_members;
        /// The text.
        "text" text: text;
        optional:
        /// Hints about audience, importance and age.
        "annotations" annotations: of(Annotations<'a>);
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

payload! {
    /// An image block. Schema type `ImageContent`.
    pub struct ImageContent<'a> {
        tag "type" = "image";
        writer write_members;
        /// The file, base64 on the wire.
        "data" data: of(Blob<'a>);
        /// MIME type of the file.
        "mimeType" mime_type: text;
        optional:
        /// Hints about audience, importance and age.
        "annotations" annotations: of(Annotations<'a>);
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

payload! {
    /// An audio block. Since 2025-03-26, schema type `AudioContent`; for 2024-11-05 written as a
    /// text block that describes it.
    pub struct AudioContent<'a> {
        tag "type" = "audio";
        writer write_or_describe;
        /// The file, base64 on the wire.
        "data" data: of(Blob<'a>);
        /// MIME type of the file.
        "mimeType" mime_type: text;
        optional:
        /// Hints about audience, importance and age.
        "annotations" annotations: of(Annotations<'a>);
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

impl AudioContent<'_> {
    /// Writes the block; for 2024-11-05 a text block that describes it.
    fn write_or_describe(&self, to: &mut Encoder<'_>) {
        if to.revision() < Revision::V2025_03_26 {
            FallbackText { text: self, annotations: self.annotations }.encode(to);
        } else {
            self.write_members(to);
        }
    }
}

/// The text that replaces the block for revisions without audio.
impl fmt::Display for AudioContent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        fmt::Display::fmt(&self.mime_type, f)?;
        f.write_str(" audio: this protocol revision has no audio content]")
    }
}

payload! {
    /// A block that embeds the contents of a resource. Schema type `EmbeddedResource`.
    pub struct EmbeddedResource<'a> {
        tag "type" = "resource";
        writer write_members;
        /// Contents of the resource.
        "resource" resource: of(ResourceContents<'a>);
        optional:
        /// Hints about audience, importance and age.
        "annotations" annotations: of(Annotations<'a>);
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

payload! {
    /// A link to a resource that the client can read. Since 2025-06-18, schema type `ResourceLink`;
    /// for older revisions written as a text block that describes it.
    pub struct ResourceLink<'a> {
        tag "type" = "resource_link";
        writer write_or_describe;
        /// URI of the resource.
        "uri" uri: text;
        /// Name for programmatic use.
        "name" name: text;
        optional:
        /// Display name for user interfaces.
        "title" title: text;
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
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

impl ResourceLink<'_> {
    /// Writes the block; before 2025-06-18 a text block that describes it.
    fn write_or_describe(&self, to: &mut Encoder<'_>) {
        if to.revision() < Revision::V2025_06_18 {
            FallbackText { text: self, annotations: self.annotations }.encode(to);
        } else {
            self.write_members(to);
        }
    }
}

/// The text that replaces the block for revisions without links.
impl fmt::Display for ResourceLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_link(self.name, self.uri, f)
    }
}

/// Writes the description of a link.
pub(super) fn show_link(name: Text<'_>, uri: Text<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[resource ")?;
    fmt::Display::fmt(&name, f)?;
    f.write_str(": ")?;
    fmt::Display::fmt(&uri, f)?;
    f.write_str("]")
}

payload! {
    #![rendered]
    /// Hints for the client on how to use or display an object. Schema type `Annotations`.
    pub struct Annotations<'a> {
        writer write_members;
        optional:
        /// Intended audience.
        "audience" audience: list(Role);
        /// Importance, from 0 (optional) to 1 (effectively required).
        "priority" priority: of(Number<'a>);
        /// Time of the last modification, in ISO 8601, e.g. `2025-01-12T15:00:58Z`. Since
        /// 2025-06-18.
        "lastModified" last_modified: text, since V2025_06_18;
    }
}

names! {
    /// Sender or recipient of a message. Schema type `Role`.
    pub enum Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

/// A text block that replaces content that a revision does not define.
pub(super) struct FallbackText<'x, 'a> {
    pub(super) text: &'x dyn fmt::Display,
    pub(super) annotations: Option<Annotations<'a>>,
}

impl Encode for FallbackText<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        object!(to, {
            "type" = "text",
            "text": DisplayText(self.text),
            "annotations"?: self.annotations,
        });
    }
}
