//! The objects of a message whose members are distinguished, and the keys of these members.

use super::fast_path::starts_with;
use super::member::Member;
use crate::json::JsonStr;

/// The objects whose members are distinguished: the message, its `params`, and two objects in
/// `params`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Message,
    Params,
    Arguments,
    Meta,
}

impl Member {
    /// Number of recorded members.
    pub(super) const KEPT: usize = Self::Other as usize;
    /// The first of the members of which [`Params`](super::Params) has only the start.
    pub(super) const FIRST_START: Self = Self::Meta;
    pub(super) const STARTS: usize = Self::KEPT - Self::FIRST_START as usize;

    /// Returns the level of its members, if it is an object whose members are distinguished.
    #[inline]
    pub(super) const fn inside(self) -> Option<Level> {
        match self {
            Self::Params => Some(Level::Params),
            Self::Arguments => Some(Level::Arguments),
            Self::Meta => Some(Level::Meta),
            _ => None,
        }
    }
}

impl Level {
    /// Returns the number of objects around its members.
    #[inline]
    pub(super) const fn depth(self) -> u32 {
        match self {
            Self::Message => 1,
            Self::Params => 2,
            Self::Arguments | Self::Meta => 3,
        }
    }

    /// Returns the member that is this object, and the level of that member.
    #[inline]
    pub(super) const fn outside(self) -> Option<(Member, Self)> {
        match self {
            Self::Message => None,
            Self::Params => Some((Member::Params, Self::Message)),
            Self::Arguments => Some((Member::Arguments, Self::Params)),
            Self::Meta => Some((Member::Meta, Self::Params)),
        }
    }

    /// Returns the member whose key `text` starts with, and the length of the key with its colon.
    /// Finds only the most common members in their most common spelling, by comparing whole keys a
    /// word at a time, which is much faster than searching for their ends. [`member`](Self::member)
    /// finds the others.
    #[inline(always)]
    pub(super) fn common_member(self, text: &[u8], word: u64) -> Option<(Member, usize)> {
        macro_rules! first_match {
            ($($known:literal $member:ident),*) => {
                $(if starts_with(text, word, $known) {
                    Some((Member::$member, $known.len()))
                } else)* {
                    None
                }
            };
        }
        match self {
            Self::Message => {
                first_match!(b"\"id\":" Id, b"\"method\":" Method, b"\"params\":" Params)
            }
            Self::Params => {
                first_match!(b"\"name\":" Name, b"\"arguments\":" Arguments, b"\"_meta\":" Meta)
            }
            Self::Arguments => None,
            Self::Meta => first_match!(
                b"\"io.modelcontextprotocol/protocolVersion\":" ProtocolVersion,
                b"\"io.modelcontextprotocol/clientInfo\":" Other,
                b"\"io.modelcontextprotocol/clientCapabilities\":" ClientCapabilities,
                b"\"progressToken\":" ProgressToken
            ),
        }
    }

    /// Returns the member whose key is this string, which contains a backslash.
    #[cold]
    #[inline(never)]
    pub(super) fn member_escaped(self, string: Option<JsonStr<'_>>) -> Member {
        let mut decoded = [0; 48];
        // A key that does not fit is not one of the known keys.
        string
            .and_then(|string| string.copy_to(&mut decoded))
            .map_or(Member::Other, |name| self.member(name.as_bytes()))
    }

    /// Returns the member with this key. Uses comparisons, since a `match` compares byte by byte.
    pub(super) fn member(self, name: &[u8]) -> Member {
        macro_rules! first_match {
            ($($known:literal $member:ident),*) => {
                $(if name == $known { Member::$member } else)* { Member::Other }
            };
        }
        match self {
            Self::Message => {
                first_match!(b"jsonrpc" Version, b"id" Id, b"method" Method, b"params" Params, b"result" Result, b"error" Error)
            }
            Self::Params => first_match!(
                b"name" Name, b"arguments" Arguments, b"_meta" Meta, b"uri" Uri, b"cursor" Cursor, b"inputResponses" InputResponses,
                b"requestState" RequestState
            ),
            Self::Arguments => Member::Other,
            Self::Meta => first_match!(
                b"progressToken" ProgressToken,
                b"io.modelcontextprotocol/protocolVersion" ProtocolVersion,
                b"io.modelcontextprotocol/clientCapabilities" ClientCapabilities,
                b"io.modelcontextprotocol/logLevel" LogLevel
            ),
        }
    }
}
