//! Roots: the directories and files that a client exposes to a server. Deprecated in 2026-07-28.

use super::Text;
use super::macros::payload;
use crate::encode::{Encode, Encoder};
use crate::error::InvalidPayload;

payload! {
    /// A directory or file that a server may operate on. Schema type `Root`.
    pub struct Root<'a> {
        new {
            /// URI of the root. Must be [valid](Root::is_valid), otherwise encoding fails with
            /// [`RootUri`](InvalidPayload::RootUri).
            "uri" uri: text => via FileUri;
        }
        with {
            /// Display name for user interfaces.
            "name" name: text;
            /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
            "_meta" meta: object, since V2025_06_18;
        }
    }
}

impl Root<'_> {
    /// Returns whether the URI has the scheme `file`, which all revisions require, and no path
    /// traversal: no segment `.` or `..`, no backslash, no NUL and no percent-encoded slash
    /// (client/roots, "Security Considerations").
    #[must_use]
    pub fn is_valid(&self) -> bool {
        check_file_uri(self.uri).is_some()
    }
}

/// Returns `Some` if the URI is a safe `file:` URI.
fn check_file_uri(uri: Text<'_>) -> Option<()> {
    let mut chars = uri.chars();
    for expected in "file://".chars() {
        chars.next().filter(|c| c.to_ascii_lowercase() == expected)?;
    }
    // Number of characters of the current segment, and of dots among them.
    let (mut len, mut dots) = (0, 0);
    loop {
        let c = match chars.next() {
            Some('%') => {
                let (high, low) = (chars.next()?.to_digit(16)?, chars.next()?.to_digit(16)?);
                char::from_u32(high << 4 | low)
                    .filter(|c| !matches!(c, '/' | '\\' | '\0'))
                    .map(Some)?
            }
            Some('\\' | '\0') => return None,
            c => c,
        };
        match c {
            Some('/') | None if len == dots && matches!(dots, 1 | 2) => return None,
            Some('/') => (len, dots) = (0, 0),
            Some(c) => (len, dots) = (len + 1, dots + u32::from(c == '.')),
            None => return Some(()),
        }
    }
}

/// Refuses to encode an unsafe URI.
struct FileUri<'x, 'a>(&'x Text<'a>);

impl Encode for FileUri<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if check_file_uri(*self.0).is_none() {
            to.invalid(InvalidPayload::RootUri);
        }
        self.0.encode(to);
    }
}

payload! {
    /// Result of `roots/list`. Schema type `ListRootsResult`.
    pub struct ListRootsResult<'a> {
        writer write_members;
        new {
            /// Roots of the client.
            "roots" roots: list(Root<'a>);
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
            "_meta" meta: object, until V2025_11_25;
        }
    }
}
