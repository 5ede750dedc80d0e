//! The JSON of the core against `serde_json`, on a corpus and on seeded mutations of it.
//!
//! `ORACLE_ROUNDS` sets the number of random inputs for each test. The two may differ only in this:
//!
//! - Nesting: the core accepts [`MAX_DEPTH`](mcp_sansio::MAX_DEPTH) levels, serde_json 127.
//! - Lone surrogates (`"\ud800"`): both accept them as JSON; the core reads U+FFFD, serde_json
//!   refuses to build a string.
//! - Integers: the core takes `4.0`, `1e2` and `-0` for integers.
//! - Floats: the core is exact, serde_json may be some units in the last place off. A number beyond
//!   `f32` is refused by the core and infinite in serde_json.
//! - Keys: strings and integers in the core, also booleans and floats in serde_json.
//! - Duplicate keys: `RawJson::get` returns the first member, a map has the last.

mod corpus;
mod digest;
mod documents;
mod forms;
mod frontmatter;
mod random;
mod reading;
mod strings;
mod syntax;
mod urls;
mod values;
mod writing;
mod zoo;

use mcp_sansio::{Json, Revision};
use mcp_sansio_tests::json::raw;
use serde::Serialize;
use serde_json::Value;

/// Serializes a value with the core.
fn written<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = vec![0; 1 << 16];
    let raw = mcp_sansio::to_slice(&Json(value), Revision::LATEST, &mut out)
        .expect("the value can be written");
    raw.as_str().to_owned()
}

/// Compares values, with the sign of zero; floats within the error of the oracle's parser.
fn near(ours: &Value, theirs: &Value) -> bool {
    compare(ours, theirs, &|a, b| {
        a == b || (a - b).abs() <= a.abs().max(b.abs()) * 4.0 * f64::EPSILON + f64::from_bits(4)
    })
}

/// Compares values, floats to the last bit.
fn same(a: &Value, b: &Value) -> bool {
    compare(a, b, &|a, b| a.to_bits() == b.to_bits())
}

fn compare(a: &Value, b: &Value, floats: &dyn Fn(f64, f64) -> bool) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare(a, b, floats))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| compare(a, b, floats)))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a.is_sign_negative() == b.is_sign_negative() && floats(a, b)
        }
        _ => a == b,
    }
}

/// Whether a string of this JSON text contains half a surrogate pair.
fn has_lone_surrogate(json: &str) -> bool {
    let mut high = None;
    let mut rest = json.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let unit = match (first, after) {
            (b'\\', [b'u', digits @ ..]) if digits.len() >= 4 => {
                rest = &digits[4..];
                std::str::from_utf8(&digits[..4])
                    .ok()
                    .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            }
            (b'\\', [_, after @ ..]) => {
                rest = after;
                None
            }
            _ => {
                rest = after;
                None
            }
        };
        match (high.take(), unit) {
            (None, Some(0xd800..=0xdbff)) => high = unit,
            (Some(_), Some(0xdc00..=0xdfff)) => {}
            (Some(_), _) | (None, Some(0xdc00..=0xdfff)) => return true,
            _ => {}
        }
    }
    high.is_some()
}

#[test]
fn lone_surrogates_are_told_from_pairs() {
    for (text, lone) in [
        (r#""\ud83d\ude00""#, false),
        (r#""\ud83d""#, true),
        (r#""\ud83d\ud83d\ude00""#, true),
        (r#""\ude00""#, true),
        (r#""\\ud83d""#, false),
        (r#""\ud83dx\ude00""#, true),
        (r#""\u0041""#, false),
    ] {
        assert_eq!(has_lone_surrogate(text), lone, "{text}");
    }
}
