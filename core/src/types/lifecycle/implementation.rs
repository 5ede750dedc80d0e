//! Who a client or server is.

use crate::types::Icon;
use crate::types::encode::macros::payload;

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
