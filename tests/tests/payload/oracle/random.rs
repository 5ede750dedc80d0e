//! Random inputs from a seed: the same on every machine, more of them with `ORACLE_ROUNDS`.

pub(crate) use mcp_sansio_tests::random::Random;
use serde_json::{Map, Number, Value};

use super::corpus;

/// Number of random inputs of a test.
pub(crate) fn rounds() -> u64 {
    std::env::var("ORACLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4_000)
}

/// Returns random text: ASCII, characters that need escapes, and characters of two to four bytes.
pub(crate) fn text(random: &mut Random) -> String {
    let len = if random.one_in(12) { random.below(400) } else { random.below(12) };
    (0..len).map(|_| character(random)).collect()
}

fn character(random: &mut Random) -> char {
    match random.below(8) {
        0 => random.pick(&[
            '"', '\\', '/', '\n', '\r', '\t', '\u{8}', '\u{c}', '\u{7f}', '\u{80}', '\u{2028}',
            '\u{2029}', '\u{feff}',
        ]),
        1 => char::from(random.below(0x20) as u8),
        2 => random.pick(&[
            'é',
            '\u{7ff}',
            '\u{800}',
            '語',
            '\u{d7ff}',
            '\u{e000}',
            '\u{fffd}',
            '\u{ffff}',
            '😀',
            '\u{10000}',
            '\u{10ffff}',
        ]),
        _ => char::from(b' ' + random.below(95) as u8),
    }
}

/// Returns a random finite float, extremes included.
pub(crate) fn float(random: &mut Random) -> f64 {
    match random.below(4) {
        0 => random.pick(&[
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            1e16,
            1e21,
            1e-7,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            f64::EPSILON,
            9_007_199_254_740_993.0,
            123_456_789.123_456_79,
        ]),
        1 => random.next() as i32 as f64 / 100.0,
        _ => loop {
            let float = f64::from_bits(random.next());
            if float.is_finite() {
                return float;
            }
        },
    }
}

fn number(random: &mut Random) -> Number {
    match random.below(4) {
        0 => Number::from(random.pick(&[0, 1, -1, i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1])),
        1 => Number::from(random.pick(&[u64::MAX, u64::MAX - 1, 1 << 63])),
        2 => Number::from(random.next() as i64 >> random.below(64)),
        _ => Number::from_f64(float(random)).unwrap(),
    }
}

/// Returns a random value.
pub(crate) fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.one_in(2)),
        2 => Value::Number(number(random)),
        3 | 4 => Value::String(text(random)),
        5 | 6 => Value::Array((0..random.below(5)).map(|_| value(random, depth - 1)).collect()),
        _ => Value::Object(
            (0..random.below(5))
                .map(|_| (text(random), value(random, depth - 1)))
                .collect::<Map<_, _>>(),
        ),
    }
}

/// Writes `value` as unusual JSON: whitespace, needless escapes, other spellings of numbers.
pub(crate) fn spelled(random: &mut Random, value: &Value) -> String {
    let mut out = String::new();
    space(random, &mut out);
    spell(random, value, &mut out);
    space(random, &mut out);
    out
}

fn space(random: &mut Random, out: &mut String) {
    for _ in 0..random.below(6).saturating_sub(3) {
        out.push(random.pick(&[' ', '\t', '\n', '\r']));
    }
}

fn spell(random: &mut Random, value: &Value, out: &mut String) {
    match value {
        Value::String(text) => spell_string(random, text, out),
        Value::Number(number) => spell_number(random, number, out),
        Value::Array(elements) => {
            out.push('[');
            space(random, out);
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                space(random, out);
                spell(random, element, out);
                space(random, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            space(random, out);
            for (i, (key, member)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                space(random, out);
                spell_string(random, key, out);
                space(random, out);
                out.push(':');
                space(random, out);
                spell(random, member, out);
                space(random, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

pub(crate) fn spell_string(random: &mut Random, text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let short = match c {
            '"' | '\\' | '/' => Some(c),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let must = c < ' ' || c == '"' || c == '\\';
        match short {
            Some(short) if random.one_in(2) => out.extend(['\\', short]),
            _ if must || random.one_in(6) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let hex = if random.one_in(2) {
                        format!("\\u{unit:04x}")
                    } else {
                        format!("\\u{unit:04X}")
                    };
                    out.push_str(&hex);
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

fn spell_number(random: &mut Random, number: &Number, out: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            let spelling = match random.below(4) {
                0 => format!("{float}"),
                1 => format!("{float:e}")
                    .replace('e', random.pick(&["e", "E", "e+"]))
                    .replace("+-", "-"),
                2 => format!("{float:.20e}"),
                _ => format!("{float:?}"),
            };
            out.push_str(&spelling);
            if !spelling.contains(['.', 'e', 'E']) {
                out.push_str(".0");
            }
        }
        _ => out.push_str(&number.to_string()),
    }
}

/// Returns JSON text, perhaps with some characters changed.
pub(crate) fn mutated(random: &mut Random) -> String {
    let base = if random.one_in(2) {
        random.pick(corpus::ALL).to_owned()
    } else {
        let value = value(random, 4);
        spelled(random, &value)
    };
    let mut chars: Vec<char> = base.chars().collect();
    for _ in 0..random.below(4) {
        mutate(random, &mut chars);
    }
    chars.into_iter().collect()
}

pub(crate) fn mutate(random: &mut Random, chars: &mut Vec<char>) {
    let at = random.below(chars.len() + 1);
    let end = (at + random.below(6)).min(chars.len());
    match random.below(7) {
        0 => drop(chars.drain(at..end)),
        1 => chars.truncate(at),
        2 => {
            let again: Vec<char> = chars[at..end].to_vec();
            chars.splice(at..at, again);
        }
        3 if at < chars.len() => {
            let other = random.below(chars.len());
            chars.swap(at, other);
        }
        4 if at < chars.len() => chars[at] = random.pick(corpus::CHARACTERS),
        5 => {
            let token = random.pick(&corpus::TOKENS);
            chars.splice(at..end, token.chars());
        }
        _ => chars.insert(at, random.pick(corpus::CHARACTERS)),
    }
}
