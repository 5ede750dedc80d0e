//! RFC 6570 as far as resources use it: `{name}` stands for one segment of a path, `{+name}` for
//! anything.

use crate::json::JsonStr;

/// Whether `uri` is an expansion of `template`.
pub(crate) fn matches(template: &str, uri: JsonStr<'_>) -> bool {
    walk(template, uri, &mut |_, _, _| {}).is_some()
}

/// What the variable `name` stands for in `uri`.
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
    while let Some((expression, after)) = split(rest, b'{').and_then(|(_, rest)| split(rest, b'}'))
    {
        if name == *expression.strip_prefix('+').unwrap_or(expression) {
            return true;
        }
        rest = after;
    }
    false
}

/// Whether a peer's text looks like a URI: a scheme, and no white space. More is not asked of it,
/// since many write what RFC 3986 wants encoded.
pub(crate) fn is_uri(text: JsonStr<'_>) -> bool {
    let mut chars = text.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let colon = chars.find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    letter && colon == Some(':') && !chars.any(|c| c.is_whitespace() || c.is_control())
}

/// Whether all expressions are of the two kinds that are understood.
pub(crate) fn is_valid(template: &str) -> bool {
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { return false };
        let name = expression.strip_prefix('+').unwrap_or(expression);
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return false;
        }
        // Where one variable would end and the next begin, nobody could tell.
        if after.starts_with('{') {
            return false;
        }
        rest = after;
    }
    !rest.contains('}')
}

/// What stands between the expressions.
pub(crate) fn literals(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').enumerate().map(|(at, part)| {
        if at == 0 { part } else { part.split_once('}').map_or(part, |(_, after)| after) }
    })
}

/// Goes along template and URI; `None` where they part. A variable ends where the literal character
/// behind it comes first, and takes at least one character.
fn walk(template: &str, uri: JsonStr<'_>, bind: &mut dyn FnMut(&str, usize, usize)) -> Option<()> {
    let mut chars = uri.chars().peekable();
    let mut at = 0;
    let mut rest = template;
    loop {
        let (literal, expression) = match split(rest, b'{') {
            Some((literal, after)) => (literal, Some(split(after, b'}')?)),
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

/// `split_once` that cannot panic, as the standard library's may as far as a linker knows.
fn split(text: &str, at: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == at)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}
