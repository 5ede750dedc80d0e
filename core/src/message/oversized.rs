//! Identifies the request in a line that did not fit, by the id at its start or at its very end.

use super::envelope::Envelope;
use super::id::Id;
use crate::json::{skip_string, skip_value, skip_whitespace};

/// The parts of the message that were found.
pub(crate) struct Found<'f> {
    pub(crate) id: Option<Id<'f>>,
    /// Whether it is a response, which must not be responded to.
    is_response: bool,
}

impl Found<'_> {
    /// Returns whether no error response may be sent: the message is a response, or it has no known
    /// id and may be a response or a notification.
    pub(crate) fn forbids_response(&self) -> bool {
        self.is_response || self.id.is_none()
    }
}

/// Searches the first and the last bytes of a line.
pub(crate) fn identify<'f>(prefix: &'f [u8], tail: &'f [u8]) -> Found<'f> {
    let text = valid_prefix(prefix);
    let mut envelope = Envelope::new(text);
    // This fails where the line was cut; the members before that are recorded.
    let _ = envelope.read(skip_whitespace(text.as_bytes(), 0), 0);
    Found {
        id: envelope.complete_id().or_else(|| id_at_the_end(tail)),
        is_response: envelope.starts_as_response(),
    }
}

/// Returns the id if it is the last member of the outermost object: `,"id":` value `}` and nothing
/// else. Only the last brace closes that object, and inside a string the quotes around `id` would
/// be escaped.
fn id_at_the_end(tail: &[u8]) -> Option<Id<'_>> {
    const KEY: &[u8] = b"\"id\"";
    let line = tail.trim_ascii_end();
    let body = line.strip_suffix(b"}")?.trim_ascii_end();
    // Searches backwards; the id is short.
    let lowest = body.len().saturating_sub(super::id::MAX_ID + 16);
    let key = (lowest..body.len()).rev().find(|at| body.get(*at..*at + KEY.len()) == Some(KEY))?;
    if body.get(..key)?.trim_ascii_end().last() != Some(&b',') {
        return None;
    }
    let colon = skip_whitespace(body, key + KEY.len());
    if body.get(colon) != Some(&b':') {
        return None;
    }
    let start = skip_whitespace(body, colon + 1);
    let end = match body.get(start)? {
        b'"' => skip_string(body, start).ok()?,
        _ => skip_value(body, start, 1).ok()?,
    };
    if end != body.len() {
        return None;
    }
    Id::parse(core::str::from_utf8(body.get(start..end)?).ok()?)
}

fn valid_prefix(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => bytes
            .get(..e.valid_up_to())
            .and_then(|valid| core::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    }
}
