//! Fast path: compares the most common members in their most common spelling, eight bytes at a
//! time; everything else falls back to `Envelope::read`.
//!
//! A small processor, which does not load eight bytes at once, has no fast path.

use super::envelope::Envelope;
use super::member::{Level, Member};
use super::span::Span;
use crate::json::{byte, skip_clean, skip_digits};
use crate::lifecycle::CommonMethod;

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

/// Returns the text from `at` on, and its first eight bytes as a word. `None` on small processors,
/// and if there are fewer than eight bytes.
#[inline(always)]
pub(super) fn load_word(text: &[u8], at: usize) -> Option<(&[u8], u64)> {
    if cfg!(small) {
        return None;
    }
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

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, string::String};

    use super::*;
    use crate::message::Kind;
    use crate::message::id::Id;

    const KEPT: [Member; 11] = [
        Member::Version,
        Member::Id,
        Member::Method,
        Member::Result,
        Member::ProgressToken,
        Member::Params,
        Member::Arguments,
        Member::Name,
        Member::Uri,
        Member::Cursor,
        Member::Meta,
    ];

    /// Describes the message that was read, without whitespace.
    fn found(text: &str) -> String {
        let mut envelope = Envelope::new(text);
        let read = envelope.read(0, 0) == Ok(text.len());
        let kind = match envelope.kind() {
            Ok(Kind::Request { id, method }) => format!("request {} {method:?}", id.as_str()),
            Ok(Kind::Notification { method }) => format!("notification {method:?}"),
            Ok(Kind::Response { id, outcome }) => {
                format!("response {:?} {outcome:?}", id.map(Id::as_str))
            }
            Err(violation) => format!("{violation:?}"),
        };
        let kept = KEPT.map(|member| envelope.value(member));
        let arguments = envelope.params().arguments();
        let arguments = ["a", "b"].map(|key| arguments.get(key));
        let all = if read { format!("{kind} {:?} {arguments:?}", kept) } else { kind };
        format!("{read} {all}").replace(' ', "")
    }

    #[test]
    fn the_fast_path_reads_the_same_as_the_slow_path() {
        let heads = [
            "\"jsonrpc\":~\"2.0\"~",
            "\"jsonrpc\":~\"2.1\"~",
            "\"jsonrpc\":~\"2.0~",
            "\"json\\u0072pc\":~\"2.0\"~",
            "\"jsonrpc\":~2.0~",
            "\"jsonrpc\":~\"2.0\"~,~\"jsonrpc\":~\"2.0\"~",
            "\"jsonrpc\":~\"2.0\"~,~\"jsonrpc\":~\"1.0\"~",
        ];
        let ids = [
            "\"id\":~7~",
            "\"id\":~120~",
            "\"id\":~0~",
            "\"id\":~01~",
            "\"id\":~-1~",
            "\"id\":~1.5~",
            "\"id\":~1e2~",
            "\"id\":~\"7\"~",
            "\"id\":~null~",
            "\"id\":~",
            "\"id\":~7~,~\"id\":~8~",
            "\"i\":~7~",
            "\"idx\":~7~",
            "\"id\"~:~7~",
        ];
        let methods = [
            "\"method\":~\"tools/call\"~",
            "\"method\":~\"tools/calls\"~",
            "\"method\":~\"tools/call~",
            "\"method\":~\"prompts/get\"~",
            "\"method\":~\"resources/read\"~",
            "\"method\":~\"tools\\/call\"~",
            "\"method\":~7~",
            "\"result\":~{~}~",
            "\"method\":~\"tools/call\"~,~\"result\":~{~}~",
            "\"method\":~\"tools/call\"~,~\"method\":~\"ping\"~",
        ];
        let params = [
            "\"params\":~{~\"name\":~\"x\"~,~\"arguments\":~{~\"a\":~1~,~\"b\":~\"text\\n\"~}~}~",
            "\"params\":~{~\"arguments\":~{~\"\\u0061\":~[1]~}~,~\"name\":~\"a\\\"b\"~}~",
            "\"params\":~{~}~",
            "\"params\":~[1]~",
            "\"params\":~{~\"_meta\":~{~\"progressToken\":~3~}~,~\"name\":~7~}~",
            "\"params\":~{~\"name\":~\"x~",
            "\"params\":~{~\"name\":~\"x\"~,~\"name\":~\"y\"~}~",
            "\"params\":~{~\"arguments\":~{~}~,~\"arguments\":~{~\"a\":~1~}~}~",
            "\"params\":~{~\"a\":~1~}~,~\"params\":~{~\"a\":~1~}~",
            "\"params\":~{~\"cursor\":~\"c\"~,~}~",
        ];
        let check = |members: [&str; 4]| {
            let text = format!("{{~{}~}}", members.join(",~"));
            assert_eq!(found(&text.replace('~', "")), found(&text.replace('~', " ")), "{text}");
        };
        for head in heads {
            for id in ids {
                for method in methods {
                    for params in params {
                        check([head, id, method, params]);
                        check([method, params, head, id]);
                    }
                }
            }
        }
        assert!(
            found(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#)
                .starts_with("truerequest7ToolsCall")
        );
    }
}
