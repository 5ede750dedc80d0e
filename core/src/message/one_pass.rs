//! Reads a message in one pass: validates it and records its members on the way.

use super::fast_path::{CommonMethod, Step, load_word};
use super::index::Index;
use super::level::Level;
use super::member::Member;
use super::recorded::Params;
use super::span::Span;
use crate::json::{
    JsonStr, RawJson, ScanError, byte, next_byte, skip_clean, skip_escapes, skip_member,
};
use crate::lifecycle::Method;

/// The members of a message. `kind` checks them and classifies the message.
pub(crate) struct Envelope<'f> {
    text: &'f str,
    members: [Span; Member::KEPT],
    /// The first arguments.
    index: Index,
    arguments: usize,
    duplicate: bool,
    /// Whether the version is valid and was found by the fast path.
    pub(super) version: bool,
    /// The method, if it is a common one and was found by the fast path.
    pub(super) method: Option<CommonMethod>,
}

impl<'f> Envelope<'f> {
    /// Creates an envelope without members, for the message in `text`.
    #[inline]
    pub(crate) const fn new(text: &'f str) -> Self {
        Self {
            text,
            members: [Span::NONE; Member::KEPT],
            index: Index::EMPTY,
            arguments: 0,
            duplicate: false,
            version: false,
            method: None,
        }
    }

    pub(crate) fn text(&self) -> &'f str {
        self.text
    }

    /// Reads the object at `start`, which is nested in `used` levels; returns its end.
    ///
    /// One loop handles all levels: the open objects follow from the level, and from the spans that
    /// have no end yet.
    pub(crate) fn read(&mut self, start: usize, used: u32) -> Result<usize, ScanError> {
        let text = self.text.as_bytes();
        if byte(text, start) != b'{' {
            return Err(ScanError::at(start));
        }
        let mut level = Level::Message;
        let (mut at, mut first) = next_byte(text, start + 1);
        if first == b'}' {
            return Ok(at + 1);
        }
        loop {
            if first != b'"' {
                return Err(ScanError::at(at));
            }
            let end = if level == Level::Arguments {
                self.argument(text, at, used)?
            } else if let Some(step) = self.match_common(text, level, at) {
                match step {
                    Step::Skip(end) => end,
                    Step::Enter(inside, at_key) => {
                        (level, at) = (inside, at_key);
                        continue;
                    }
                }
            } else {
                let Key { member, end: key_end, escaped, colon } = key(self.text, level, at)?;
                let (value, first_of_value) = next_byte(text, colon + 1);
                if first_of_value == b'{'
                    && let Some(inside) = member.inside()
                {
                    self.keep(member, Span::begun(value));
                    level = inside;
                    (at, first) = next_byte(text, value + 1);
                    if first != b'}' {
                        continue;
                    }
                    at
                } else {
                    match skip_member(text, value, first_of_value, used + level.depth()) {
                        Ok(end) if level == Level::Arguments => {
                            self.add_argument(at, key_end, escaped, end);
                            end
                        }
                        Ok(end) => {
                            self.keep(member, Span::new(value, end));
                            end
                        }
                        Err(error) => {
                            self.keep(member, Span::begun(value));
                            return Err(error);
                        }
                    }
                }
            };
            // Most members are followed by another, and most writers put no space in between.
            if text.get(end..).is_some_and(|rest| rest.starts_with(b",\"")) {
                (at, first) = (end + 1, b'"');
                continue;
            }
            (at, first) = next_byte(text, end);
            // Close every object that ends here.
            while first == b'}' {
                at += 1;
                let Some((ended, outer)) = level.outside() else { return Ok(at) };
                if let Some(span) = self.members.get_mut(ended as usize) {
                    span.finish(at);
                }
                level = outer;
                (at, first) = next_byte(text, at);
            }
            if first != b',' {
                return Err(ScanError::at(at));
            }
            (at, first) = next_byte(text, at + 1);
        }
    }

    /// Records the argument at `at` and returns its end. Does the same as for other members,
    /// without the steps that arguments do not need.
    #[inline(always)]
    fn argument(&mut self, text: &[u8], at: usize, used: u32) -> Result<usize, ScanError> {
        let Key { end: key_end, escaped, colon, .. } = key(self.text, Level::Arguments, at)?;
        let (value, first_of_value) = next_byte(text, colon + 1);
        let end = skip_member(text, value, first_of_value, used + Level::Arguments.depth())?;
        self.add_argument(at, key_end, escaped, end);
        Ok(end)
    }

    #[inline]
    fn add_argument(&mut self, quote: usize, key_end: usize, escaped: bool, end: usize) {
        self.index.add(self.arguments, quote, key_end, escaped, end);
        self.arguments += 1;
    }

    #[inline]
    pub(super) fn keep(&mut self, member: Member, place: Span) {
        let Some(span) = self.members.get_mut(member as usize) else { return };
        let again = !span.is_empty() && member.bit() & Member::UNIQUE != 0;
        *span = place;
        self.duplicate |= again;
    }

    /// Returns `params` as the application gets them.
    #[inline]
    pub(crate) fn params(&self) -> Params<'f> {
        let mut starts = [0; Member::STARTS];
        for (start, span) in
            starts.iter_mut().zip(self.members.iter().skip(Member::FIRST_START as usize))
        {
            *start = span.start() as u32;
        }
        let (whole, arguments) = (self.span(Member::Params), self.span(Member::Arguments));
        Params { text: self.text, whole, arguments, starts, index: self.index }
    }
    /// Whether a member that may occur only once occurs twice.
    #[inline]
    pub(super) fn has_duplicate(&self) -> bool {
        self.duplicate
    }

    #[inline]
    pub(super) fn has_valid_version(&self) -> bool {
        self.version
            || self.span(Member::Version).bytes(self.text) == b"\"2.0\""
            || self.has_escaped_version()
    }

    #[cold]
    #[inline(never)]
    fn has_escaped_version(&self) -> bool {
        self.value(Member::Version)
            .and_then(RawJson::as_string)
            .is_some_and(|version| version == "2.0")
    }

    /// Returns the method, if the fast path found a common one.
    #[inline]
    pub(super) fn common_method(&self) -> Option<Method<'f>> {
        self.method.map(Method::from)
    }

    fn span(&self, member: Member) -> Span {
        self.members.get(member as usize).copied().unwrap_or(Span::NONE)
    }

    pub(crate) fn value(&self, member: Member) -> Option<RawJson<'f>> {
        self.span(member).value(self.text)
    }

    pub(crate) fn has(&self, member: Member) -> bool {
        !self.span(member).is_empty()
    }

    /// Whether a member was found, even if the text ends within its value.
    pub(super) fn has_begun(&self, member: Member) -> bool {
        self.span(member).is_begun()
    }

    /// Returns the first byte of a member, which shows its JSON type, or zero for a missing member.
    pub(crate) fn first_byte(&self, member: Member) -> u8 {
        let start = self.span(member).start();
        if start == 0 { 0 } else { byte(self.text.as_bytes(), start) }
    }

    /// Returns the position behind a member; zero if it is missing.
    pub(super) fn end_of(&self, member: Member) -> usize {
        self.span(member).end()
    }
}

/// A parsed key: its member, and the positions of its closing quote and its colon.
struct Key {
    member: Member,
    end: usize,
    escaped: bool,
    colon: usize,
}

/// Reads the key at `at`.
#[inline(always)]
fn key(text: &str, level: Level, at: usize) -> Result<Key, ScanError> {
    let bytes = text.as_bytes();
    if let Some((rest, word)) = load_word(bytes, at)
        && let Some((member, len)) = level.common_member(rest, word)
    {
        return Ok(Key { member, end: at + len - 2, escaped: false, colon: at + len - 1 });
    }
    let mut end = skip_clean(bytes, at + 1);
    let escaped = byte(bytes, end) != b'"';
    let member = if !escaped {
        if level == Level::Arguments {
            Member::Other
        } else {
            level.member(bytes.get(at + 1..end).unwrap_or_default())
        }
    } else {
        end = skip_escapes(bytes, end)? - 1;
        level.member_escaped(text.get(at..end + 1).map(JsonStr::scanned))
    };
    match next_byte(bytes, end + 1) {
        (colon, b':') => Ok(Key { member, end, escaped, colon }),
        _ => Err(ScanError::at(end + 1)),
    }
}
