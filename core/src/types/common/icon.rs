//! Icons.

use core::fmt;
use core::ops::Deref;

use serde::{Deserialize, Deserializer};

use crate::encode::{Encode, Encoder};
use crate::json::RawJson;
use crate::types::macros::{names, payload, render};
use crate::types::rendered::{Of, Renderer};
use crate::types::{List, Text};

payload! {
    #![rendered]
    /// An icon for user interfaces. Since 2025-11-25, schema type `Icon`.
    pub struct Icon<'a> {
        new {
            /// URI of the image, with the scheme `https` or `data`.
            "src" src: text;
        }
        with {
            /// MIME type, if that of the source is missing or generic.
            "mimeType" mime_type: text;
            /// Sizes of the image in pixels, each as `48x48`, or `any` for a scalable format.
            "sizes" sizes: list(Text<'a>);
            /// Background that the icon is designed for.
            "theme" theme: of(IconTheme);
        }
    }
}

impl Icon<'_> {
    /// Returns whether the URI has the scheme `https` or `data`. A client must reject all other
    /// schemes (2025-11-25, basic/index, "Icons"), and should also check that it trusts the host.
    #[must_use]
    pub fn has_allowed_scheme(&self) -> bool {
        let starts_with = |scheme: &str| {
            self.src.chars().map(|c| c.to_ascii_lowercase()).take(scheme.len()).eq(scheme.chars())
        };
        starts_with("https://") || starts_with("data:")
    }
}

/// A list of icons, with the code that writes it: firmware without icons does not link it.
#[derive(Clone, Copy)]
pub struct Icons<'a> {
    list: List<'a, Icon<'a>>,
    write: fn(&List<'_, Icon<'_>>, &mut Encoder<'_>),
}

impl<'a> Icons<'a> {
    /// Creates a list of the application's icons.
    #[must_use]
    pub const fn new(icons: &'a [Icon<'a>]) -> Self {
        Self { list: List::new(icons), write: |list, to| list.encode(to) }
    }
}

impl<'a> Deref for Icons<'a> {
    type Target = List<'a, Icon<'a>>;

    fn deref(&self) -> &Self::Target {
        &self.list
    }
}

impl fmt::Debug for Icons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl Encode for Icons<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (self.write)(&self.list, to);
    }
}

impl Of<'_, Icons<'_>> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        render!(@value list (self.0.list) to);
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Icons<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = List::deserialize(deserializer)?;
        Ok(Self { list, write: |list, to| to.raw(list.as_json().unwrap_or(RawJson::EMPTY)) })
    }
}

names! {
    /// Background that an [`Icon`] is designed for: `theme` of schema type `Icon`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum IconTheme {
        /// Light background.
        Light = "light",
        /// Dark background.
        Dark = "dark",
    }
}
