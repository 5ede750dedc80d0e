//! The part of RFC 6570 that resources use: `{name}` matches one path segment, `{+name}` any text.

use crate::json::JsonStr;

/// Whether `uri` is an expansion of `template`.
pub(crate) fn matches(template: &str, uri: JsonStr<'_>) -> bool {
    walk(template, uri, &mut |_, _, _| {}).is_some()
}

/// Returns the value of the variable `name` in `uri`.
pub(crate) fn variable<'f>(
    template: &str,
    name: &str,
    uri: JsonStr<'f>,
) -> Option<impl Iterator<Item = char> + use<'f>> {
    let mut found = None;
    walk(template, uri, &mut |variable, start, len| {
        if variable == name {
            found = Some((start, len));
        }
    })?;
    let (start, len) = found?;
    Some(uri.chars().skip(start).take(len))
}

/// Whether the template has the variable `name`.
pub(crate) fn has_variable(template: &str, name: JsonStr<'_>) -> bool {
    let mut rest = template;
    while let Some((expression, after)) =
        split_at_byte(rest, b'{').and_then(|(_, rest)| split_at_byte(rest, b'}'))
    {
        if name == *expression.strip_prefix('+').unwrap_or(expression) {
            return true;
        }
        rest = after;
    }
    false
}

/// Whether received text looks like a URI: a scheme, and no white space. Peers often do not
/// percent-encode as RFC 3986 requires, so more is not checked.
pub(crate) fn is_uri(text: JsonStr<'_>) -> bool {
    let chars = &mut text.chars();
    takes_scheme(chars) && !chars.any(|c| c.is_whitespace() || c.is_control())
}

/// Whether text begins with a scheme and a colon, which are taken.
pub(crate) fn takes_scheme(chars: &mut impl Iterator<Item = char>) -> bool {
    let letter = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let colon = chars.find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    letter && colon == Some(':')
}

/// Whether text has only characters that RFC 3986 allows in a URI.
pub(crate) fn has_uri_characters(chars: &mut impl Iterator<Item = char>) -> bool {
    while let Some(c) = chars.next() {
        let is_valid = match c {
            '%' => (0..2).all(|_| chars.next().is_some_and(|c| c.is_ascii_hexdigit())),
            _ => c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=".contains(c),
        };
        if !is_valid {
            return false;
        }
    }
    true
}

/// Whether all expressions are of the two supported kinds.
pub(crate) fn is_valid(template: &str) -> bool {
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { return false };
        let name = expression.strip_prefix('+').unwrap_or(expression);
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return false;
        }
        // Two adjacent variables are ambiguous.
        if after.starts_with('{') {
            return false;
        }
        rest = after;
    }
    !rest.contains('}')
}

/// Returns the literal parts between the expressions.
pub(crate) fn literals(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').enumerate().map(|(at, part)| {
        if at == 0 { part } else { part.split_once('}').map_or(part, |(_, after)| after) }
    })
}

/// Matches template and URI, `None` on a mismatch. A variable ends at the first occurrence of the
/// literal character behind it, and has at least one character.
fn walk(template: &str, uri: JsonStr<'_>, bind: &mut dyn FnMut(&str, usize, usize)) -> Option<()> {
    let mut chars = uri.chars().peekable();
    let mut at = 0;
    let mut rest = template;
    loop {
        let (literal, expression) = match split_at_byte(rest, b'{') {
            Some((literal, after)) => (literal, Some(split_at_byte(after, b'}')?)),
            None => (rest, None),
        };
        for expected in literal.chars() {
            if chars.next()? != expected {
                return None;
            }
            at += 1;
        }
        let Some((expression, after)) = expression else { break };
        let (name, reserved) = match expression.strip_prefix('+') {
            Some(name) => (name, true),
            None => (expression, false),
        };
        let stop = after.chars().next();
        let start = at;
        while chars
            .peek()
            .is_some_and(|c| Some(*c) != stop && (reserved || !matches!(c, '/' | '?' | '#')))
        {
            chars.next();
            at += 1;
        }
        if at == start {
            return None;
        }
        bind(name, start, at - start);
        rest = after;
    }
    chars.next().is_none().then_some(())
}

/// `split_once` without panic paths: the linker keeps those of the standard library.
fn split_at_byte(text: &str, at: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == at)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}
