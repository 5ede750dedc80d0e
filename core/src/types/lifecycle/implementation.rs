//! Name and version of a client or server.

use crate::types::macros::payload;

payload! {
    /// Name and version of a client or server. Schema type `Implementation`.
    pub struct Implementation<'a> {
        new {
            /// Name for programmatic use.
            "name" name: text;
            /// Version of the program.
            "version" version: text;
        }
        with {
            /// Display name for user interfaces. Since 2025-06-18.
            "title" title: text, since V2025_06_18;
            /// Description of what the program does. Since 2025-11-25.
            "description" description: text, since V2025_11_25;
            /// Icons for user interfaces. Since 2025-11-25.
            "icons" icons: icons, since V2025_11_25;
            /// URL of the website of the program. Since 2025-11-25.
            "websiteUrl" website_url: text, since V2025_11_25;
        }
    }
}
