//! Roots: the directories that a client lets a server work in.

use super::Text;
use super::encode::macros::payload;
use super::encode::tell::{Tell, Teller, serialize_told};

payload! {
    /// A directory or file that a server may work in. Schema type `Root`.
    pub struct Root<'a> {
        new {
            /// Begins with `file://`, and goes nowhere else than it says. Any other is not written.
            "uri" uri: text, via FileUri;
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
    /// Whether its URI is one of a file, as every revision requires, and leads where it seems to:
    /// no `.` or `..` as a segment, no backslash, no NUL, no slash in percent-encoding
    /// (client/roots, "Security Considerations").
    #[must_use]
    pub fn is_valid(&self) -> bool {
        leads_to_a_file(self.uri).is_some()
    }
}

/// `None` when it does not.
fn leads_to_a_file(uri: Text<'_>) -> Option<()> {
    let mut chars = uri.chars();
    for expected in "file://".chars() {
        chars.next().filter(|c| c.to_ascii_lowercase() == expected)?;
    }
    // Of the segment: how many characters, and how many of them dots.
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

struct FileUri<'x, 'a>(&'x Text<'a>);

impl Tell for FileUri<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        match leads_to_a_file(*self.0) {
            Some(()) => self.0.tell(to),
            None => to.refuse(),
        }
    }
}

serialize_told!(FileUri<'_, '_>);

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
