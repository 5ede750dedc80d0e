//! Fast path: compares the most common members in their most common spelling, eight bytes at a
//! time; everything else falls back to `Envelope::read`.

use super::level::Level;
use super::member::Member;
use super::one_pass::Envelope;
use super::span::Span;
use crate::json::{byte, skip_clean, skip_digits};
use crate::lifecycle::Method;

/// Where to continue: behind a member, or at the first key in an object.
pub(super) enum Step {
    Skip(usize),
    Enter(Level, usize),
}

impl Envelope<'_> {
    /// Records the member at `at`, if it is one of these.
    #[inline(always)]
    pub(super) fn match_common(&mut self, text: &[u8], level: Level, at: usize) -> Option<Step> {
        let (rest, word) = load_word(text, at)?;
        macro_rules! after {
            ($known:literal) => {
                if starts_with(rest, word, $known) { Some(at + $known.len()) } else { None }
            };
        }
        match level {
            Level::Message => {
                if let Some(end) = after!(b"\"jsonrpc\":\"2.0\"") {
                    self.version = true;
                    return Some(self.skip(Member::Version, end - 5, end));
                }
                if let Some(value) = after!(b"\"method\":") {
                    let (method, len) = CommonMethod::from_prefix(rest.get(9..)?)?;
                    self.method = Some(method);
                    return Some(self.skip(Member::Method, value, value + len));
                }
                if let Some(value) = after!(b"\"id\":") {
                    let end = skip_digits(text, value);
                    let is_number = end > value
                        && byte(text, value) != b'0'
                        && matches!(byte(text, end), b',' | b'}');
                    return if is_number { Some(self.skip(Member::Id, value, end)) } else { None };
                }
                let inner = after!(b"\"params\":{\"")?;
                Some(self.enter(Level::Params, Member::Params, inner - 1))
            }
            Level::Params => {
                if let Some(inner) = after!(b"\"name\":\"") {
                    let end = skip_clean(text, inner);
                    return if byte(text, end) == b'"' {
                        Some(self.skip(Member::Name, inner - 1, end + 1))
                    } else {
                        None
                    };
                }
                if let Some(inner) = after!(b"\"arguments\":{\"") {
                    return Some(self.enter(Level::Arguments, Member::Arguments, inner - 1));
                }
                let inner = after!(b"\"_meta\":{\"")?;
                Some(self.enter(Level::Meta, Member::Meta, inner - 1))
            }
            Level::Arguments | Level::Meta => None,
        }
    }

    #[inline(always)]
    fn skip(&mut self, member: Member, value: usize, end: usize) -> Step {
        self.keep(member, Span::new(value, end));
        Step::Skip(end)
    }

    /// Enters the object whose first key starts at `key`.
    #[inline(always)]
    fn enter(&mut self, level: Level, member: Member, key: usize) -> Step {
        self.keep(member, Span::begun(key - 1));
        Step::Enter(level, key)
    }
}

/// The most frequent methods.
#[derive(Clone, Copy)]
pub(super) enum CommonMethod {
    ToolsCall,
    ResourcesRead,
    PromptsGet,
}

impl CommonMethod {
    /// Returns the method whose name `text` begins with, and the length of the name: quotes
    /// included, without escapes.
    #[inline(always)]
    fn from_prefix(text: &[u8]) -> Option<(Self, usize)> {
        macro_rules! among {
            ($($name:literal $method:ident),*) => {
                $(if text.starts_with($name) { Some((Self::$method, $name.len())) } else)* { None }
            };
        }
        among!(b"\"tools/call\"" ToolsCall, b"\"resources/read\"" ResourcesRead, b"\"prompts/get\"" PromptsGet)
    }
}

impl From<CommonMethod> for Method<'_> {
    #[inline]
    fn from(method: CommonMethod) -> Self {
        match method {
            CommonMethod::ToolsCall => Self::ToolsCall,
            CommonMethod::ResourcesRead => Self::ResourcesRead,
            CommonMethod::PromptsGet => Self::PromptsGet,
        }
    }
}

/// Returns the text from `at` on, and its first eight bytes as a word; `None` if there are fewer.
#[inline(always)]
pub(super) fn load_word(text: &[u8], at: usize) -> Option<(&[u8], u64)> {
    let rest = text.get(at..)?;
    Some((rest, u64::from_le_bytes(*rest.first_chunk()?)))
}

/// Returns whether `text`, whose first eight bytes are `word`, starts with `known`.
#[inline(always)]
pub(super) fn starts_with<const L: usize>(text: &[u8], word: u64, known: &[u8; L]) -> bool {
    match known.split_first_chunk() {
        Some((first, rest)) => {
            word == u64::from_le_bytes(*first)
                && text.get(8..).is_some_and(|text| text.starts_with(rest))
        }
        None => {
            let known = known.iter().rev().fold(0, |known, byte| known << 8 | u64::from(*byte));
            word << (8 * (8 - L)) == known << (8 * (8 - L))
        }
    }
}
