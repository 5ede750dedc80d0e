//! Pictures of things.

use crate::types::Text;
use crate::types::encode::macros::{names, payload};

payload! {
    /// A picture of something. From 2025-11-25 on, schema type `Icon`.
    pub struct Icon<'a> {
        new {
            /// URI of the picture: `https:` or `data:`.
            "src" src: text;
        }
        with {
            /// In case the source does not say it, or not exactly.
            "mimeType" mime_type: text;
            /// Sizes it can be used at, each like `48x48`, or `any`.
            "sizes" sizes: list(Text<'a>);
            /// The background it is made for.
            "theme" theme: of(IconTheme);
        }
    }
}

impl Icon<'_> {
    /// Whether its URI may be used: one of `https:` or `data:`, as the protocol requires of a
    /// client (2025-11-25, basic: Icons). Whether the host is one to be trusted is for you to
    /// say.
    #[must_use]
    pub fn has_allowed_scheme(&self) -> bool {
        let begins = |scheme: &str| {
            self.src.chars().map(|c| c.to_ascii_lowercase()).take(scheme.len()).eq(scheme.chars())
        };
        begins("https://") || begins("data:")
    }
}

names! {
    /// The background that an [`Icon`] is made for.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum IconTheme {
        /// A light one.
        Light = "light",
        /// A dark one.
        Dark = "dark",
    }
}
