//! Which members of a message are kept, and by which names they go.

use super::fast_path::starts_with;
use crate::json::JsonStr;

/// A member that is kept: those of the message and of `_meta`, which only the machine looks at,
/// then `params` and those of `params`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Member {
    Version,
    Id,
    Method,
    Result,
    Error,
    ProgressToken,
    ProtocolVersion,
    ClientCapabilities,
    LogLevel,
    Params,
    Arguments,
    Name,
    Uri,
    Cursor,
    InputResponses,
    RequestState,
    Meta,
    /// Any other, which is not.
    Other,
}

/// The objects whose members are told apart: the message, its `params`, and two in there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Message,
    Params,
    Arguments,
    Meta,
}

impl Member {
    /// How many are kept.
    pub(super) const KEPT: usize = Self::Other as usize;
    /// From here on an event has only their beginnings.
    pub(super) const FIRST_START: Self = Self::Name;
    pub(super) const STARTS: usize = Self::KEPT - Self::FIRST_START as usize;

    /// What is in it, when it is an object.
    #[inline]
    pub(super) const fn inside(self) -> Option<Level> {
        match self {
            Self::Params => Some(Level::Params),
            Self::Arguments => Some(Level::Arguments),
            Self::Meta => Some(Level::Meta),
            _ => None,
        }
    }

    /// Whether a second one is refused, and not taken in place of the first.
    #[inline]
    pub(super) const fn is_unique(self) -> bool {
        !matches!(
            self,
            Self::ProgressToken
                | Self::ProtocolVersion
                | Self::ClientCapabilities
                | Self::LogLevel
                | Self::Other
        )
    }
}

impl Level {
    /// How many objects are around its members.
    #[inline]
    pub(super) const fn depth(self) -> u32 {
        match self {
            Self::Message => 1,
            Self::Params => 2,
            Self::Arguments | Self::Meta => 3,
        }
    }

    /// What it is the inside of, and what is around that.
    #[inline]
    pub(super) const fn outside(self) -> Option<(Member, Self)> {
        match self {
            Self::Message => None,
            Self::Params => Some((Member::Params, Self::Message)),
            Self::Arguments => Some((Member::Arguments, Self::Params)),
            Self::Meta => Some((Member::Meta, Self::Params)),
        }
    }

    /// The member whose key a text begins with, and how long that is with its colon, if it is one
    /// that most messages have and is written as most writers do. Whole keys are compared a
    /// word at a time, which is much faster than to look for their ends; what is not found is for
    /// [`member`](Self::member) to say.
    #[inline(always)]
    pub(super) fn common_member(self, text: &[u8], word: u64) -> Option<(Member, usize)> {
        macro_rules! first_match {
            ($($known:literal $member:ident),*) => {
                $(if starts_with(text, word, $known) { Some((Member::$member, $known.len())) } else)* { None }
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

    /// The member whose key is this string, in which there is a backslash.
    #[cold]
    #[inline(never)]
    pub(super) fn member_escaped(self, string: Option<JsonStr<'_>>) -> Member {
        let mut decoded = [0; 48];
        // What is too long is none of ours.
        string
            .and_then(|string| string.copy_to(&mut decoded))
            .map_or(Member::Other, |name| self.member(name.as_bytes()))
    }

    /// The member with this key. Comparisons and no `match`, which compares byte by byte.
    pub(super) fn member(self, name: &[u8]) -> Member {
        macro_rules! first_match {
            ($($known:literal $member:ident),*) => {
                if cfg!(not(small)) {
                    $(if name == $known { Member::$member } else)* { Member::Other }
                } else {
                    search(name, &[$(($known, Member::$member)),*])
                }
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

/// The same as comparisons one by one, for machines on which a loop is much smaller.
fn search(name: &[u8], members: &[(&[u8], Member)]) -> Member {
    members.iter().find(|(known, _)| *known == name).map_or(Member::Other, |(_, member)| *member)
}
