//! Private newtype names, recognized by our serializer (like `serde_json::value::RawValue`).
//!
//! Other serializers ignore the name and write the value inside, which is correct for the newest
//! revision. The payload types use them through `#[serde(serialize_with)]`.

use serde::Serialize;

use super::tell::Made;
use super::write::{WriteError, Writer};
use crate::lifecycle::Revision;

/// Around bytes that become a base64 string.
pub(crate) const BLOB: &str = "$mcp:blob";
/// A unit struct: ours writes nothing, not even the key.
pub(crate) const ABSENT: &str = "$mcp:absent";

/// Which revisions know a value, from the name of the newtype struct around it: `$mcp:CE` is known
/// from C to E and left out otherwise; `$mcp?CE` has an older form.
pub(crate) fn known_until(name: &str) -> Option<Known> {
    match name.as_bytes() {
        [b'$', b'm', b'c', b'p', kind @ (b':' | b'?'), first @ b'A'..=b'E', last @ b'A'..=b'E'] => {
            Some(Known { first: first - b'A', last: last - b'A', has_older_form: *kind == b'?' })
        }
        _ => None,
    }
}

/// Whether this revision is one of those that a marker ends with: `CE`, or `$mcp?CE`. All are where
/// there is none.
pub(super) fn knows(known: &str, revision: Revision) -> bool {
    match known.as_bytes() {
        [.., first, last] => (*first..=*last).contains(&(b'A' + revision as u8)),
        _ => true,
    }
}

/// A range of revisions, by their place in the order of publication.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    first: u8,
    last: u8,
    pub(crate) has_older_form: bool,
}

impl Known {
    pub(crate) fn includes(self, revision: Revision) -> bool {
        (self.first..=self.last).contains(&(revision as u8))
    }
}

/// Bytes, written as a base64 string.
pub(crate) struct Blob<'a>(pub(crate) &'a [u8]);

impl Made for Blob<'_> {
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        writer.base64(self.0)
    }

    fn show(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for chunk in self.0.chunks(48) {
            let mut text = [0; 64];
            crate::json::encode_base64(chunk, &mut text);
            let text = text
                .get(..chunk.len().div_ceil(3) * 4)
                .and_then(|text| core::str::from_utf8(text).ok());
            f.write_str(text.unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Serialize for Blob<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Inner<'a>(&'a [u8]);
        impl Serialize for Inner<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    let text = base64::display::Base64Display::new(
                        self.0,
                        &base64::engine::general_purpose::STANDARD,
                    );
                    serializer.collect_str(&text)
                } else {
                    serializer.serialize_bytes(self.0)
                }
            }
        }
        serializer.serialize_newtype_struct(BLOB, &Inner(self.0))
    }
}
