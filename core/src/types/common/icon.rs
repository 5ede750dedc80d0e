//! Icons.

use crate::types::Text;
use crate::types::macros::{names, payload};

payload! {
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
