//! Who a client or server is, and pictures of things.

use super::Text;
use super::macros::{names, payload};

payload! {
    /// Name and version of a client or server. Schema type `Implementation`.
    pub struct Implementation<'a> {
        new {
            /// For programs.
            "name" name: text;
            /// The version of the program.
            "version" version: text;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
            /// What it is for. From 2025-11-25 on.
            "description" description: text, in DE;
            /// Pictures of it. From 2025-11-25 on.
            "icons" icons: list(Icon<'a>), in DE;
            /// Its page in the web. From 2025-11-25 on.
            "websiteUrl" website_url: text, in DE;
        }
    }
}

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
