//! Roots: the directories that a client lets a server work in.

use super::macros::payload;

payload! {
    /// A directory or file that a server may work in. Schema type `Root`.
    pub struct Root<'a> {
        new {
            /// Begins with `file://`.
            "uri" uri: text;
        }
        with {
            /// The name for people.
            "name" name: text;
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

impl Root<'_> {
    /// Whether its URI is one of a file, as every revision requires.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.uri.chars().map(|c| c.to_ascii_lowercase()).take(7).eq("file://".chars())
    }
}

payload! {
    /// The answer to `roots/list`. Schema type `ListRootsResult`.
    pub struct ListRootsResult<'a> {
        new {
            /// The roots.
            "roots" roots: list(Root<'a>);
        }
        with {
            /// Up to 2025-11-25.
            "_meta" meta: object, in AD;
        }
    }
}
