//! Formats of strings.

use core::fmt;

use crate::types::Text;

/// A format of strings: the name that the schema shows, and the function that checks it.
///
/// ```
/// use mcp_sansio::typed::{Format, Input, InputObject};
/// const COLOR: Format = Format::new("color", |text| {
///     text.chars().next() == Some('#')
///         && text.chars().count() == 7
///         && text.chars().skip(1).all(|c| c.is_ascii_hexdigit())
/// });
/// #[derive(Input)]
/// struct Paint<'a> {
///     #[arg(format = COLOR)]
///     color: mcp_sansio::types::Text<'a>,
/// }
/// let blue = mcp_sansio::RawJson::from_static(r##"{"color":"#0000ff"}"##);
/// assert_eq!(Paint::parse(blue).unwrap().color, "#0000ff");
/// ```
#[derive(Clone, Copy)]
pub struct Format {
    pub(super) name: &'static str,
    pub(super) is_valid: fn(Text<'_>) -> bool,
}

impl Format {
    /// `date`: an existing day as `2026-07-28` (RFC 3339).
    pub const DATE: Self = Self::new("date", |text| {
        let text = &mut text.chars();
        is_date(text) && text.next().is_none()
    });
    /// `date-time`: a date and a time with its offset as `2026-07-28T12:00:00.5+02:00` (RFC 3339).
    /// Every minute may have a leap second.
    pub const DATE_TIME: Self = Self::new("date-time", is_date_time);
    /// `email`: an address as `name@example.com`; a quoted name or an address literal is refused.
    pub const EMAIL: Self = Self::new("email", is_email);
    /// `uri`: a scheme, and then only characters of RFC 3986.
    pub const URI: Self = Self::new("uri", is_uri);

    /// Creates a format that `is_valid` checks.
    #[must_use]
    pub const fn new(name: &'static str, is_valid: fn(Text<'_>) -> bool) -> Self {
        Self { name, is_valid }
    }

    /// Whether it is one of the constants above, which a form may have.
    pub(super) const fn is_standard(&self) -> bool {
        matches!(self.name.as_bytes(), b"date" | b"date-time" | b"email" | b"uri")
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn is_date(text: &mut impl Iterator<Item = char>) -> bool {
    let (Some(century), Some(year), true, Some(month), true, Some(day)) = (
        digits(text, 2),
        digits(text, 2),
        is_next(text, '-'),
        digits(text, 2),
        is_next(text, '-'),
        digits(text, 2),
    ) else {
        return false;
    };
    // The first year of a century is a leap year if the century is divisible by four.
    let leap = if year == 0 { century } else { year } % 4 == 0;
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: Text<'_>) -> bool {
    let text = &mut text.chars();
    if !is_date(text) || !matches!(text.next(), Some('T' | 't')) || !is_hour_and_minute(text) {
        return false;
    }
    if !is_next(text, ':') || digits(text, 2).is_none_or(|second| second > 60) {
        return false;
    }
    let mut zone = text.next();
    if zone == Some('.') {
        let mut digits = 0;
        zone = text.find(|c| {
            digits += u32::from(c.is_ascii_digit());
            !c.is_ascii_digit()
        });
        if digits == 0 {
            return false;
        }
    }
    let has_offset = match zone {
        Some('Z' | 'z') => true,
        Some('+' | '-') => is_hour_and_minute(text),
        _ => false,
    };
    has_offset && text.next().is_none()
}

fn is_hour_and_minute(text: &mut impl Iterator<Item = char>) -> bool {
    digits(text, 2).is_some_and(|hour| hour < 24)
        && is_next(text, ':')
        && digits(text, 2).is_some_and(|minute| minute < 60)
}

fn digits(text: &mut impl Iterator<Item = char>, count: u32) -> Option<u32> {
    (0..count).try_fold(0, |value, _| Some(value * 10 + text.next()?.to_digit(10)?))
}

fn is_next(text: &mut impl Iterator<Item = char>, wanted: char) -> bool {
    text.next() == Some(wanted)
}

/// Checks that both sides of the `@` are parts joined by single dots.
fn is_email(text: Text<'_>) -> bool {
    let text = &mut text.chars();
    let (mut in_domain, mut last) = (false, '.');
    for c in text {
        let is_valid = match c {
            '.' => last != '.' && !(in_domain && last == '-'),
            '@' if !in_domain && last != '.' => {
                (in_domain, last) = (true, '.');
                continue;
            }
            '-' if in_domain => last != '.',
            _ => c.is_ascii_alphanumeric() || !in_domain && "!#$%&'*+-/=?^_`{|}~".contains(c),
        };
        if !is_valid {
            return false;
        }
        last = c;
    }
    in_domain && last != '.' && last != '-'
}

fn is_uri(text: Text<'_>) -> bool {
    let text = &mut text.chars();
    if !text.next().is_some_and(|c| c.is_ascii_alphabetic()) {
        return false;
    }
    let colon = text.find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
    if colon != Some(':') {
        return false;
    }
    while let Some(c) = text.next() {
        let is_valid = match c {
            '%' => (0..2).all(|_| text.next().is_some_and(|c| c.is_ascii_hexdigit())),
            _ => c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=".contains(c),
        };
        if !is_valid {
            return false;
        }
    }
    true
}
