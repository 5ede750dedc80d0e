//! Values of JSON texts.

use mcp_sansio::RawJson;
use serde_json::Value;

use super::corpus::{GOOD, NUMBERS};
use super::random::{Random, mutated, rounds, spelled, value};
use super::{has_lone_surrogate, near, raw, same};

fn agrees(text: &str) {
    let Ok(raw) = RawJson::parse(text) else { return };
    let ours = raw.to::<Value>();
    match serde_json::from_str::<Value>(text) {
        Ok(theirs) => {
            let ours = ours.unwrap_or_else(|e| panic!("{e}: {text}"));
            assert!(near(&ours, &theirs), "{text}\n  ours {ours}\ntheirs {theirs}");
            let bridged = serde_json::to_value(raw).unwrap();
            assert!(same(&bridged, &ours), "{text}\nbridged {bridged}\nread {ours}");
            walks(raw, &theirs);
        }
        Err(_) if has_lone_surrogate(text) || ours.as_ref().is_ok_and(|_| nears_infinity(raw)) => {}
        Err(theirs) => assert!(
            ours.is_err() && serde_json::to_value(raw).is_err(),
            "serde_json fails: {theirs}: {text}"
        ),
    }
}

/// Numbers that serde_json, which is not exact, may read as infinite.
fn nears_infinity(raw: RawJson<'_>) -> bool {
    raw.as_f64().is_some_and(|n| n.abs() > 1.797e308)
        || raw.elements().any(nears_infinity)
        || raw.members().any(|(_, m)| nears_infinity(m))
}

/// Compares the accessors with the oracle's value.
fn walks(raw: RawJson<'_>, value: &Value) {
    assert_eq!(raw.is_null(), value.is_null());
    assert_eq!(raw.is_array(), value.is_array());
    assert_eq!(raw.is_object(), value.is_object());
    assert_eq!(raw.is_number(), value.is_number());
    assert_eq!(raw.as_bool(), value.as_bool());
    assert_eq!(raw.as_string().map(|s| s.to_string()).as_deref(), value.as_str());
    if value.is_i64() || value.is_u64() || !value.is_number() {
        assert_eq!(raw.as_i64(), value.as_i64(), "{raw}");
        assert_eq!(raw.as_u64(), value.as_u64(), "{raw}");
    }
    match (raw.as_f64(), value.as_f64()) {
        (Some(ours), Some(theirs)) => {
            assert!(near(&ours.into(), &theirs.into()), "{raw}: {ours} {theirs}")
        }
        (ours, theirs) => assert_eq!(ours, theirs, "{raw}"),
    }
    let elements: Vec<_> = raw.elements().collect();
    assert_eq!(elements.len(), value.as_array().map_or(0, Vec::len));
    for (element, value) in elements.into_iter().zip(value.as_array().into_iter().flatten()) {
        walks(element, value);
    }
    let members: Vec<_> = raw.members().collect();
    assert!(members.len() >= value.as_object().map_or(0, serde_json::Map::len));
    for (key, member) in &members {
        let name = key.to_string();
        // The oracle has the last of several members with the same key; `get` returns the first.
        let last = members.iter().rev().find(|(other, _)| other == key).unwrap().1;
        let first = members.iter().find(|(other, _)| other == key).unwrap().1;
        assert_eq!(raw.get(&name).unwrap().as_str(), first.as_str());
        if last.as_str().as_ptr() == member.as_str().as_ptr() {
            walks(*member, &value[&name]);
        }
    }
    assert!(raw.get("no such key").is_none());
}

#[test]
fn corpus_values_equal_those_of_the_oracle() {
    for text in GOOD.iter().chain(NUMBERS.iter()) {
        agrees(text);
    }
}

#[test]
fn random_values_equal_those_they_were_written_from() {
    for seed in 0..rounds() {
        let mut random = Random::new(seed);
        let value = value(&mut random, 4);
        let text = spelled(&mut random, &value);
        let ours: Value = raw(&text).to().unwrap();
        assert!(near(&ours, &value), "{text}\nours {ours}\nmeant {value}");
        agrees(&text);
    }
}

#[test]
fn values_of_mutations_equal_those_of_the_oracle() {
    for seed in 0..rounds() * 2 {
        agrees(&mutated(&mut Random::new(seed ^ 0x5555)));
    }
}

/// Returns the exact integer of a number's text, from its digits and power of ten.
fn exact_integer(text: &str) -> Option<i128> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 =
        exponent.parse().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    let mut exponent = exponent - fraction.len() as i64;
    if !digits.contains(|c: char| ('1'..='9').contains(&c)) {
        return Some(0);
    }
    while exponent < 0 && digits.ends_with('0') {
        digits.pop();
        exponent += 1;
    }
    if !(0..100).contains(&exponent) {
        return None;
    }
    digits.extend(std::iter::repeat_n('0', exponent as usize));
    digits.parse().ok()
}

macro_rules! assert_integers {
    ($raw:ident, $exact:ident: $($type:ident)+) => {$(
        assert_eq!($raw.to().ok(), $exact.and_then(|n| $type::try_from(n).ok()), "{}", $raw);
    )+};
}

#[test]
fn numbers_are_read_exactly() {
    for text in NUMBERS.iter() {
        let raw = raw(text);
        assert!(raw.is_number());
        let exact = exact_integer(text);
        assert_eq!(raw.as_i64(), exact.and_then(|n| n.try_into().ok()), "{text}");
        assert_eq!(raw.as_u64(), exact.and_then(|n| n.try_into().ok()), "{text}");
        assert_integers!(raw, exact: i8 u8 i16 u16 i32 u32 i64 u64 i128);
        assert_eq!(
            raw.to().ok(),
            exact.and_then(|n| u128::try_from(n).ok()).or_else(|| text.parse().ok()),
            "{text}"
        );

        let float = Some(text.parse::<f64>().unwrap()).filter(|n| n.is_finite());
        assert_eq!(raw.as_f64().map(f64::to_bits), float.map(f64::to_bits), "{text}");
        assert_eq!(raw.to::<f64>().ok().map(f64::to_bits), float.map(f64::to_bits), "{text}");
        let float = Some(text.parse::<f32>().unwrap()).filter(|n| n.is_finite());
        assert_eq!(raw.to::<f32>().ok().map(f32::to_bits), float.map(f32::to_bits), "{text}");
    }
}

#[test]
fn long_numbers_take_no_time_and_no_overflow() {
    let zeros = "0".repeat(100_000);
    for (text, expected) in [
        (format!("0.{zeros}"), Some(0)),
        (format!("0.{zeros}1"), None),
        (format!("1{zeros}e-100000"), Some(1)),
        (format!("1{zeros}"), None),
        (format!("0.{zeros}7e100001"), Some(7)),
        (format!("1e{zeros}2"), Some(100)),
        ("1e2147483647".into(), None),
        ("1e-2147483648".into(), None),
        ("0e2147483647".into(), Some(0)),
        ("12345e2147483647".into(), None),
        ("0.00001e2147483647".into(), None),
    ] {
        assert_eq!(raw(&text).as_i64(), expected, "{}", &text[..20.min(text.len())]);
    }
}

#[test]
fn accessors_return_none_for_other_kinds() {
    for text in ["null", "true", "\"1\"", "[1]", "{\"a\":1}"] {
        let raw = raw(text);
        assert_eq!((raw.as_i64(), raw.as_u64(), raw.as_f64()), (None, None, None));
        assert!(raw.as_bool().is_none() || text == "true");
        assert!(raw.as_string().is_none() || text == "\"1\"");
        assert!(raw.elements().next().is_none() || text == "[1]");
        assert!(raw.members().next().is_none() || text == "{\"a\":1}");
        assert!(raw.get("a").is_none() || text == "{\"a\":1}");
    }
    assert_eq!(RawJson::EMPTY.members().count(), 0);
    assert!(RawJson::NULL.is_null());
    assert_eq!(raw("{\"a\":1,\"\\u0061\":2}").get("a").unwrap().as_i64(), Some(1));
    assert_eq!(raw("1.0"), raw(" 1.0 "));
    assert_ne!(raw("1.0"), raw("1"));
}
