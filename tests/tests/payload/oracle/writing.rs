//! The serializer of the core.

use std::collections::BTreeMap;
use std::fmt::Debug;

use mcp_sansio::{
    Encode, InvalidPayload, Json, MAX_DEPTH, OwnedJson, RawJson, Revision, SendError, to_slice,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::corpus::{GOOD, NUMBERS};
use super::random::{Random, float, rounds, spelled, text, value};
use super::zoo::*;
use super::{near, raw, same, written};

/// Asserts that both serializers write the same value, and that both read it back.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let ours = written(value);
    let theirs = serde_json::to_string(value).unwrap();
    let (as_value, expected): (Value, Value) =
        (serde_json::from_str(&ours).unwrap(), serde_json::from_str(&theirs).unwrap());
    assert!(same(&as_value, &expected), "ours {ours}\ntheirs {theirs}");
    assert_eq!(raw(&ours).to::<T>().unwrap_or_else(|e| panic!("{e}: {ours}")), *value, "{ours}");
    assert_eq!(
        raw(&theirs).to::<T>().unwrap_or_else(|e| panic!("{e}: {theirs}")),
        *value,
        "{theirs}"
    );
}

#[test]
fn random_values_are_written_as_by_the_oracle() {
    for seed in 0..rounds() {
        let mut random = Random::new(seed);
        let value = value(&mut random, 4);
        let ours = written(&value);
        let theirs = value.to_string();
        let read: Value = serde_json::from_str(&ours).unwrap();
        assert!(near(&read, &value), "{ours}\n{value}");
        let read: Value = raw(&ours).to().unwrap();
        assert!(same(&read, &value), "{ours}\n{value}");
        if !theirs.contains(['.', 'e', 'E']) {
            assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn random_members_of_the_zoo_make_the_round_trip() {
    for seed in 0..rounds() / 4 {
        let mut random = Random::new(seed);
        let plain = plain(&mut random, 2);
        assert_eq!(raw(&written(&plain)).to::<Plain>().unwrap(), plain);
        round_trip(&Plain { float: 0.5, absent: None, ..plain });
        round_trip(&external(&mut random, 3));
        let internal = internal(&mut random, 3);
        assert_eq!(raw(&written(&internal)).to::<Internal>().unwrap(), internal);
        round_trip(&adjacent(&mut random, 3));
        round_trip(&untagged(&mut random, 3));
        round_trip(&flat(&mut random));
        round_trip(&maps(&mut random));
        round_trip(&Tuple(random.next() as i8, text(&mut random)));
        round_trip(&Bytes((0..random.below(20)).map(|_| random.next() as u8).collect()));
    }
}

#[test]
fn the_rest_of_the_zoo_makes_the_round_trip() {
    round_trip(&Unit);
    round_trip(&());
    round_trip(&Newtype(7));
    round_trip(&Strict { a: 1, b: 2 });
    round_trip(&Some(Some(Newtype(7))));
    round_trip(&None::<u8>);
    round_trip(&((), (1,), (1, (2, "3".to_owned()))));
    round_trip(&vec![External::Renamed, External::Quote(1)]);
    round_trip(&BTreeMap::from([(-1, BTreeMap::from([('"', vec![(); 3])]))]));
    for extreme in [(i128::MIN, u128::MAX), (i128::MAX, 0), (-1, 1 << 127)] {
        let wide = Wide {
            i128: extreme.0,
            u128: extreme.1,
            i64: extreme.0.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            u64: extreme.1 as u64,
            i8: extreme.0 as i8,
            u32: extreme.1 as u32,
            f32: 0.1,
            f64: 0.1,
        };
        assert_eq!(raw(&written(&wide)).to::<Wide>().unwrap(), wide);
        let expected = serde_json::from_str(&written(&wide)).unwrap();
        assert_eq!(raw(&written(&wide)).to::<Wide>().unwrap(), expected);
    }
    round_trip(&Std {
        cow: "cow\n".into(),
        boxed: [1, 2].into(),
        duration: std::time::Duration::new(3, 4),
        range: 1..9,
        result: Err("no".into()),
        address: "::1".parse().unwrap(),
        path: "a/b".into(),
        nonzero: 9.try_into().unwrap(),
        nested: Some(Some(1)),
        wrapping: std::num::Wrapping(-5),
        bound: std::ops::Bound::Excluded(4),
    });
}

#[test]
fn floats_make_the_round_trip_to_the_last_bit() {
    for seed in 0..rounds() * 2 {
        let mut random = Random::new(seed);
        let double = float(&mut random);
        let ours = written(&double);
        assert_eq!(raw(&ours).to::<f64>().unwrap().to_bits(), double.to_bits(), "{ours}");
        assert_eq!(raw(&ours).as_f64().unwrap().to_bits(), double.to_bits(), "{ours}");
        let read: Value = serde_json::from_str(&ours).unwrap();
        assert!(near(&read, &json!(double)), "{ours}: the value is still a float");

        let single = f32::from_bits(random.next() as u32);
        if single.is_finite() {
            let ours = written(&single);
            assert_eq!(raw(&ours).to::<f32>().unwrap().to_bits(), single.to_bits(), "{ours}");
        }
    }
    for single in
        [0.0, -0.0, f32::MIN_POSITIVE, f32::MAX, f32::MIN, f32::from_bits(1), 1e16, 16_777_216.0]
    {
        assert_eq!(raw(&written(&single)).to::<f32>().unwrap().to_bits(), single.to_bits());
    }
    for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!((written(&none), written(&(none as f32))), ("null".into(), "null".into()));
    }
}

#[test]
fn integers_are_written_as_by_the_oracle() {
    for seed in 0..rounds() {
        let mut random = Random::new(seed);
        let n = random.next() >> random.below(64);
        assert_eq!(written(&n), n.to_string());
        assert_eq!(written(&(n as i64)), (n as i64).to_string());
        assert_eq!(written(&(n as i8)), (n as i8).to_string());
        assert_eq!(written(&-i128::from(n)), (-i128::from(n)).to_string());
    }
    for n in [
        0,
        9,
        10,
        99,
        u64::from(u32::MAX) - 1,
        u64::from(u32::MAX),
        u64::from(u32::MAX) + 1,
        42_949_672_959,
        42_949_672_960,
        u64::MAX,
    ] {
        assert_eq!(written(&n), n.to_string());
        assert_eq!(written(&(n as i64).wrapping_neg()), (n as i64).wrapping_neg().to_string());
    }
    assert_eq!(written(&i64::MIN), i64::MIN.to_string());
}

#[test]
fn raw_json_is_written_as_it_is() {
    for text in GOOD.iter().chain(NUMBERS.iter()).filter(|text| !text.contains("[[[[")) {
        let value = raw(text);
        let expected = value.as_str().replace(['\n', '\r'], " ");
        assert_eq!(written(&value), expected);
        assert_eq!(written(&(value, 1)), format!("[{expected},1]"));
        assert_eq!(written(&BTreeMap::from([("k", value)])), format!("{{\"k\":{expected}}}"));
    }
}

#[test]
fn stdio_01_no_newline_is_written_whatever_the_value() {
    for seed in 0..rounds() / 4 {
        let mut random = Random::new(seed);
        let value = value(&mut random, 3);
        let text = spelled(&mut random, &value);
        let ours = written(&(raw(&text), &value, External::Renamed, Strict { a: 1, b: 2 }));
        assert!(!ours.contains(['\n', '\r']), "{ours:?}");
        let read: Value = raw(&ours).to().unwrap();
        assert!(near(&read[0], &value) && same(&read[1], &value), "{ours}");
    }
}

#[test]
fn a_value_fits_exactly_or_is_too_large() {
    for seed in 0..rounds() / 50 {
        let mut random = Random::new(seed);
        let value = (value(&mut random, 2), float(&mut random), i128::MAX);
        let expected = written(&value);
        let mut out = vec![0; expected.len()];
        assert_eq!(to_slice(&Json(&value), Revision::LATEST, &mut out).unwrap().as_str(), expected);
        for short in 0..expected.len() {
            assert_eq!(
                to_slice(&Json(&value), Revision::LATEST, &mut out[..short]),
                Err(SendError::TooLarge)
            );
        }
    }
}

/// Serializes a map with one key of any type.
struct Keyed<K>(K);

impl<K: Serialize> Serialize for Keyed<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(&self.0, 1)])
    }
}

#[test]
fn keys_are_strings_and_integers() {
    fn fails<K: Serialize>(key: K) {
        // Not `to_slice`, which reads what is written.
        let written = OwnedJson::new(&Json(Keyed(key)), Revision::LATEST);
        assert_eq!(written, Err(SendError::Invalid(InvalidPayload::Serialize)));
    }
    assert_eq!(written(&Keyed("a\"")), r#"{"a\"":1}"#);
    assert_eq!(written(&Keyed('\n')), r#"{"\n":1}"#);
    assert_eq!(written(&Keyed(-7)), r#"{"-7":1}"#);
    assert_eq!(written(&Keyed(u128::MAX)), format!(r#"{{"{}":1}}"#, u128::MAX));
    assert_eq!(written(&Keyed(Newtype(7))), r#"{"7":1}"#);
    assert_eq!(written(&Keyed(Some(Name::FirstOne))), r#"{"first-one":1}"#);
    assert_eq!(written(&Keyed(std::net::Ipv4Addr::LOCALHOST)), r#"{"127.0.0.1":1}"#);
    assert_eq!(written(&Keyed(raw(r#""\u0061""#).as_string())), r#"{"\u0061":1}"#);
    assert_eq!(written(&Keyed(raw(r#""\u0061""#))), r#"{"\u0061":1}"#);
    fails(1.5);
    fails(true);
    fails(());
    fails(None::<u8>);
    fails([1]);
    fails(BTreeMap::from([(1, 1)]));
    fails(External::NewUnit(()));
    fails(Plain {
        number: 1,
        float: 1.0,
        text: String::new(),
        option: None,
        absent: None,
        tuple: (true, 'a', [0, 0]),
        unit: (),
    });
    for text in ["1", "null", "true", "[]", "{}"] {
        fails(raw(text));
    }
}

/// Writes key and value with two calls.
struct Separately<T>(&'static str, T);

impl<T: Serialize> Serialize for Separately<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_key(self.0)?;
        map.serialize_value(&self.1)?;
        map.end()
    }
}

#[test]
fn a_key_and_its_value_may_come_in_two_calls() {
    assert_eq!(written(&Separately("a", 1)), r#"{"a":1}"#);
}

#[test]
fn a_value_that_fails_is_an_error_at_any_depth() {
    struct Failing;
    impl Serialize for Failing {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    #[derive(Serialize)]
    struct Flat<T> {
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, T>,
    }
    assert_eq!(written(&Flat { a: 1, rest: BTreeMap::from([("b", 'c')]) }), r#"{"a":1,"b":"c"}"#);
    struct Display;
    impl std::fmt::Display for Display {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a\"")?;
            Err(std::fmt::Error)
        }
    }
    impl Serialize for Display {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    struct Name;
    impl Serialize for Name {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(Display, 1)])
        }
    }
    let map = || BTreeMap::from([("b", Failing)]);
    for value in [
        &Json(Failing) as &dyn Encode,
        &Json((1, Failing)),
        &Json(map()),
        &Json(Flat { a: 1, rest: map() }),
        &Json(Display),
        &Json(Name),
    ] {
        let expected = Err(SendError::Invalid(InvalidPayload::Serialize));
        assert_eq!(to_slice(value, Revision::LATEST, &mut [0; 99]), expected);
        assert!(OwnedJson::new(value, Revision::LATEST).is_err());
    }
}

#[test]
fn values_too_deep_to_be_read_are_not_written() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let max = MAX_DEPTH as usize;
    assert_eq!(written(&nested(max)).len(), 2 * max + 1);
    let expected = Err(SendError::Invalid(InvalidPayload::Serialize));
    assert_eq!(to_slice(&Json(nested(max + 1)), Revision::LATEST, &mut [0; 999]), expected);
    assert!(RawJson::parse(&nested(max + 1).to_string()).is_err());
}
