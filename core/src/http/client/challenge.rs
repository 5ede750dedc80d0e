//! `WWW-Authenticate` challenges (RFC 9110, 11.6.1).

use crate::http::ResponseHead;
use crate::http::param_headers::is_token;
use crate::text::split_once;

/// A challenge with its parameters: `Bearer resource_metadata="https://...", scope="files:read"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Challenge<'h> {
    /// The authentication scheme, e.g. `Bearer`. Case-insensitive.
    pub scheme: &'h str,
    parameters: &'h str,
}

/// Returns all challenges of a response.
pub fn challenges<'h>(head: &ResponseHead<'h>) -> impl Iterator<Item = Challenge<'h>> + use<'h> {
    let fields = head.fields;
    let values = (0..).map_while(move |n| fields.nth("www-authenticate", n));
    values.filter_map(|value| core::str::from_utf8(value).ok()).flat_map(|rest| Challenges { rest })
}

impl<'h> Challenge<'h> {
    /// Returns the value of a parameter without its quotes; escape sequences in it are kept. Names
    /// are case-insensitive. MCP defines `resource_metadata`, `scope`, `error` and
    /// `error_description` (2025-06-18 and later, basic/authorization).
    pub fn get(&self, name: &str) -> Option<&'h str> {
        self.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns all parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&'h str, &'h str)> + use<'h> {
        let mut rest = self.parameters;
        core::iter::from_fn(move || {
            loop {
                let (part, behind) = next_part(rest)?;
                rest = behind;
                if let Some(parameter) = parameter(part) {
                    return Some(parameter);
                }
            }
        })
    }
}

struct Challenges<'h> {
    rest: &'h str,
}

impl<'h> Iterator for Challenges<'h> {
    type Item = Challenge<'h>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest.trim_start_matches([' ', '\t', ',']);
        let len = start.bytes().take_while(|byte| is_token(*byte)).count();
        let (scheme, behind) = start.split_at_checked(len)?;
        if scheme.is_empty() {
            return None;
        }
        // The parameters end where the next scheme begins: a token that is followed by a space and
        // not by `=`.
        let (mut rest, mut end) = (behind, 0);
        while let Some((part, after)) = next_part(rest) {
            let is_first = rest.len() == behind.len();
            if !is_first && starts_challenge(part) {
                break;
            }
            rest = after;
            end = behind.len() - after.len();
        }
        let (parameters, behind) = behind.split_at_checked(end)?;
        self.rest = behind;
        Some(Challenge { scheme, parameters })
    }
}

fn starts_challenge(part: &str) -> bool {
    let part = part.trim();
    let word = part.bytes().take_while(|byte| is_token(*byte)).count();
    let behind = part.get(word..).unwrap_or_default();
    word > 0
        && (behind.is_empty()
            || behind.starts_with([' ', '\t']) && !behind.trim_start().starts_with('='))
}

/// Splits at the next comma outside of quotes.
fn next_part(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return Some((text.get(..at)?, text.get(at + 1..)?)),
            _ => {}
        }
    }
    Some((text, ""))
}

fn parameter(part: &str) -> Option<(&str, &str)> {
    let (name, value) = split_once(part, '=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || !name.bytes().all(is_token) {
        return None;
    }
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    Some((name, inner.unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn read<'h>(field: &'h [(&'h str, &'h str); 1]) -> Vec<(&'h str, Vec<(&'h str, &'h str)>)> {
        challenges(&ResponseHead::new(401, field))
            .map(|challenge| (challenge.scheme, challenge.iter().collect()))
            .collect()
    }

    #[test]
    fn auth_20_challenges_are_read_with_their_parameters() {
        for (value, expected) in [
            ("Bearer", &[("Bearer", &[][..])][..]),
            (
                r#"Bearer resource_metadata="https://a/b?c=d,e", scope="x y""#,
                &[("Bearer", &[("resource_metadata", "https://a/b?c=d,e"), ("scope", "x y")])],
            ),
            (
                r#"Basic realm="a, \"b", Bearer error=insufficient_scope , scope = "z""#,
                &[
                    ("Basic", &[("realm", r#"a, \"b"#)]),
                    ("Bearer", &[("error", "insufficient_scope"), ("scope", "z")]),
                ],
            ),
            ("Negotiate abc==, Bearer", &[("Negotiate", &[("abc", "=")]), ("Bearer", &[])]),
            (", ,Digest a=b,, c=\"\"", &[("Digest", &[("a", "b"), ("c", "")])]),
            (
                "Digest a=b,c=d, X e=f",
                &[("Digest", &[("a", "b"), ("c", "d")]), ("X", &[("e", "f")])],
            ),
            // A backslash escapes only within quotes, and a name must be a token.
            (
                r"Basic a=x\, Bearer scope=y",
                &[("Basic", &[("a", r"x\")]), ("Bearer", &[("scope", "y")])],
            ),
            ("Bearer a b=c, =d, e=f", &[("Bearer", &[("e", "f")])]),
            ("\"", &[]),
            ("", &[]),
        ] {
            let expected: Vec<(&str, Vec<(&str, &str)>)> =
                expected.iter().map(|(scheme, all)| (*scheme, all.to_vec())).collect();
            assert_eq!(read(&[("WWW-Authenticate", value)]), expected, "{value}");
        }
        let fields = [("www-authenticate", "Basic"), ("WWW-Authenticate", "bearer Scope=\"a\"")];
        let head = ResponseHead::new(403, &fields);
        let bearer = challenges(&head)
            .find(|challenge| challenge.scheme.eq_ignore_ascii_case("Bearer"))
            .unwrap();
        assert_eq!(bearer.get("scope"), Some("a"));
        assert_eq!(bearer.get("error"), None);
    }

    #[test]
    fn arbitrary_input_terminates() {
        let mut seed = 3u32;
        for _ in 0..20_000 {
            let text: std::string::String = (0..seed % 17)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"aB \",=\\\t;"[(seed >> 16) as usize % 9] as char
                })
                .collect();
            seed = seed.wrapping_add(1);
            assert!(read(&[("www-authenticate", &text)]).len() <= text.len());
        }
    }
}
