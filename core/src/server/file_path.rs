//! Conversion of a `file:` URI to a path (2026-07-28, server/resources: paths are sanitized against
//! traversal).

use super::Request;
use crate::bytes::utf8;

impl Request<'_> {
    /// Returns the path of `params.uri` if it is a `file:` URI: absolute, percent-decoded, at the
    /// beginning of `out`.
    ///
    /// Returns `None` for any other URI, for another host, for a path longer than `out`, and for an
    /// ambiguous path: with `.` or `..` as a segment, or a percent-encoded slash, backslash or NUL.
    /// The caller checks whether the client may read the path, and the file system that no symbolic
    /// link leads out of the permitted directory. Drive letters are kept: `/C:/x`.
    #[must_use]
    pub fn file_path<'o>(&self, out: &'o mut [u8]) -> Option<&'o str> {
        let mut chars = self.uri()?.chars();
        for expected in "file:".chars() {
            if chars.next()?.to_ascii_lowercase() != expected {
                return None;
            }
        }
        let mut len = 0;
        let mut put = |byte: u8| {
            *out.get_mut(len)? = byte;
            len += 1;
            Some(())
        };
        while let Some(c) = chars.next() {
            match c {
                '?' | '#' | '\\' | '\0' => return None,
                '%' => {
                    let (high, low) = (chars.next()?.to_digit(16)?, chars.next()?.to_digit(16)?);
                    match u8::try_from(high << 4 | low).ok()? {
                        b'/' | b'\\' | 0 => return None,
                        byte => put(byte)?,
                    }
                }
                c => {
                    for byte in utf8(c, &mut [0; 4]) {
                        put(*byte)?;
                    }
                }
            }
        }
        let path = core::str::from_utf8(out.get(..len)?).ok()?;
        // Two slashes precede the host.
        let path = match path.strip_prefix("//") {
            Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
            None => path,
        };
        let is_safe = path.starts_with('/')
            && !path.starts_with("//")
            && !path.split('/').any(|segment| matches!(segment, "." | ".."));
        is_safe.then_some(path)
    }
}
