//! Scopes: sets of tokens, written with spaces between them (RFC 6749, 3.3).

use core::fmt;

use mcp_sansio::internal::split;

/// Maximum length, in bytes, of a scope of a peer: work on two of them is quadratic in it.
pub const MAX_SCOPE: usize = 2048;

/// The scope with which a client asks for a refresh token (OpenID Connect Core 1.0, 11).
pub const OFFLINE_ACCESS: &str = "offline_access";

/// Whether the text is at most [`MAX_SCOPE`] bytes of scope tokens with single spaces between them.
pub fn is_valid(scope: &str) -> bool {
    scope.len() <= MAX_SCOPE && split(scope, ' ').all(is_token)
}

/// Whether the text is one scope token.
pub fn is_token(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// Returns the tokens of a scope.
pub fn tokens(scope: &str) -> impl Iterator<Item = &str> + Clone {
    split(scope, ' ').filter(|token| !token.is_empty())
}

/// Whether `scope` has the token.
pub fn contains(scope: &str, token: &str) -> bool {
    tokens(scope).any(|other| other == token)
}

/// Whether `scope` has all tokens of `needed`.
pub fn contains_all(scope: &str, needed: &str) -> bool {
    tokens(needed).all(|token| contains(scope, token))
}

pub(super) fn write_tokens<'t>(
    tokens: impl Iterator<Item = &'t str>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    tokens.enumerate().try_for_each(|(at, token)| {
        if at > 0 {
            f.write_str(" ")?;
        }
        f.write_str(token)
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    #[test]
    fn auth_114_a_scope_has_only_what_can_stand_in_a_challenge() {
        for scope in ["a", "files:read https://a/b#c", "!#[]~"] {
            assert!(is_valid(scope), "{scope}");
        }
        for scope in ["", " ", "a  b", " a", "a ", "a\tb", "a\r\nb", "\"", "\\", "\u{e9}", "\0"] {
            assert!(!is_valid(scope), "{scope:?}");
        }
        let long: String = (0..MAX_SCOPE).map(|_| 'a').collect();
        assert!(is_valid(&long) && !is_valid(&(long + "a")));
    }
}
