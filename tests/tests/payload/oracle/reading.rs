//! The deserializer of the core.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::LazyLock;

use mcp_sansio::{JsonStr, RawJson};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::corpus::{ALL, GOOD, NUMBERS, TOKENS};
use super::random::{Random, mutate, rounds, spelled};
use super::zoo::*;
use super::{has_lone_surrogate, near, raw, written};

/// Asserts that both read it alike or both refuse it, apart from the allowed differences.
fn agrees<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let Ok(raw) = RawJson::parse(text) else { return };
    let ours = raw.to::<T>();
    match (ours, serde_json::from_str::<T>(text)) {
        (Ok(ours), Ok(theirs)) => {
            let close = || {
                near(&serde_json::to_value(&ours).unwrap(), &serde_json::to_value(&theirs).unwrap())
            };
            assert!(
                ours == theirs || has_lone_surrogate(text) || close(),
                "{text}\n  ours {ours:?}\ntheirs {theirs:?}"
            );
        }
        (Err(_), Err(_)) => {}
        (Ok(ours), Err(theirs)) => {
            assert!(
                has_lone_surrogate(text) || has_float(text) || has_odd_key(text),
                "the core reads {ours:?}, serde_json fails: {theirs}: {text}"
            );
        }
        (Err(ours), Ok(theirs)) => {
            assert!(beyond_f32(&raw), "serde_json reads {theirs:?}, the core fails: {ours}: {text}")
        }
    }
}

fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
        .filter(|token| token.contains(|c: char| c.is_ascii_digit()))
}

fn has_float(text: &str) -> bool {
    numbers(text).any(|token| token.contains(['.', 'e', 'E']) || token == "-0")
}

/// As keys, `"01"` and `"+1"` are integers for the core.
fn has_odd_key(text: &str) -> bool {
    numbers(text).any(|token| token.starts_with(['+', '0']) || token.starts_with("-0"))
}

fn beyond_f32(raw: &RawJson<'_>) -> bool {
    let beyond = raw.as_f64().is_some_and(|n| n.abs() > f32::MAX.into());
    beyond || raw.elements().any(|e| beyond_f32(&e)) || raw.members().any(|(_, m)| beyond_f32(&m))
}

macro_rules! agree {
    ($text:ident: $($type:ty;)+) => {$(
        agrees::<$type>($text);
    )+};
}

fn agrees_for_all(text: &str) {
    agree! { text:
        Plain; Strict; Unit; Newtype; Tuple; External; Internal; Adjacent; Untagged; Name; Flat;
        Maps; Wide; Std; (); bool; char; String; i8; u64; i128; f32; f64; Bytes;
        Option<Vec<Option<bool>>>; (u8, String); [String; 2]; BTreeMap<String, Value>;
        BTreeMap<i16, String>; BTreeMap<Newtype, Newtype>; BTreeMap<Name, IgnoredAnything>;
    }
}

/// All values are equal.
#[derive(Serialize, Debug)]
struct IgnoredAnything;

impl PartialEq for IgnoredAnything {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<'de> Deserialize<'de> for IgnoredAnything {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Texts that match some type of the zoo.
static TYPED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let plain = r#"
    "Unit" "Newtype" "Tuple" "Nothing" {"Unit":null} {"Unit":1} {"U\u006eit":null} "\u0055nit"
    {"Newtype":1.5} {"Newtype":1,"Unit":null} {"Tuple":[1]} {"Tuple":[1,"a",2]} {"Tuple":{}}
    {"Struct":{"a":null,"b":[]}} {"Struct":[null,[]]} {"Struct":{"b":[]}} {"Struct":null}
    {"Struct":{"a":"Unit","b":["Renamed",{"Empty":{}}],"c":1}}
    {"Empty":{}} {"Empty":{"x":1}} {"Empty":[]} {"\"":1} {"\u0022":1} "\\\u007f\n"
    "NewUnit" {"NewUnit":null} {"NewOption":null} {"NewOption":1}
    {"type":"unitOne"} {"type":"unitOne","more":1} {"type":1} {"type":"newPlain"}
    {"a":1,"type":"structOne","list":[]} {"type":"structOne","a":1} ["structOne",1,[]]
    {"t":"Unit"} {"t":"Unit","c":null} {"t":"Unit","t":"Unit"} {"t":"Nothing"} ["Unit"]
    {"c":"x","t":"Newtype"} ["Newtype","x"] {"t":"Tuple","c":[1,-1]} {"t":"Tuple","c":[1]}
    {"t":"Struct","c":{"a":true,"inner":{"t":"Unit"}}}
    {"number":1,"float":2,"text":"t","option":null,"tuple":[true,"c",[1,2]],"unit":null}
    {"number":1,"float":2,"text":"t","option":3,"tuple":[true,"cc",[1,2]],"unit":null}
    {"number":1,"float":2,"text":"t","tuple":[true,"c",[1,2]],"unit":null,"unknown":[{"a":[1,{}]},"\ud800",1e400]}
    {"number":1,"float":2,"text":"t","tuple":[true,"c",[1,2,3]],"unit":null}
    {"number":1,"number":2}
    [1,2,"t",null,null,[true,"c",[1,2]],null] [1,2,"t",null,null,[true,"c",[1,2]],null,8]
    {"id":1,"x":"x","y":null,"z":{"more":[1]}} {"id":1,"x":"x"} {"id":1} {"a":1}
    {"text":{},"i8":{"-1":1},"u16":{"7":7},"i64":{},"u64":{"18446744073709551615":1},"i128":{"-170141183460469231731687303715884105728":1},"newtype":{"1":2},"name":{"first-one":1},"character":{"\n":1},"set":[1,1]}
    {} {"1":"a"} {"-1":"a"} {"a":"a"} {"":"a"} {"1.5":"a"} {"1e1":"a"} {"99999":"a"} {"\u0031":"a"}
    {"-":"a"} {"--1":"a"} {"1":1} {"first-one":null} {"first-on\u0065":null} {"third":null}
    "a" "ab" "\n" "" "é" {"a":1,"b":null} {"a":256,"b":null}
    [] [1] [256] [-1] [1,"a"] [1,"a",2] ["a","b"] [true,null,false] [1,[2,3]] [1,"a"]
    [[1,"a"],{"a":2,"b":[true]}]
    "#;
    let others = [
        r#"{ "Tuple" : [ 1 , "a" ] }"#,
        r#"{"a":1,"quoted \"name\"\\\n":2}"#,
        r#"{"a":1,"quoted \"name\"\\\n":2,"x":3}"#,
        r#"{" 1":"a"}"#,
        r#"{"1 ":"a"}"#,
    ];
    plain.split_whitespace().chain(others).collect()
});

#[test]
fn types_accept_and_refuse_the_same_texts_as_the_oracle() {
    for text in TYPED.iter().chain(GOOD.iter()).chain(NUMBERS.iter()).chain(ALL) {
        agrees_for_all(text);
    }
}

#[test]
fn types_take_and_refuse_mutations_as_with_the_oracle() {
    for seed in 0..rounds() / 3 {
        let mut random = Random::new(seed);
        let base = match random.below(8) {
            0 => written(&plain(&mut random, 1)),
            1 => written(&external(&mut random, 2)),
            2 => written(&internal(&mut random, 2)),
            3 => written(&adjacent(&mut random, 2)),
            4 => written(&untagged(&mut random, 2)),
            5 => written(&maps(&mut random)),
            6 => written(&flat(&mut random)),
            _ => random.pick(&TYPED).to_owned(),
        };
        let base = match raw(&base).to::<Value>() {
            Ok(value) if random.one_in(2) => spelled(&mut random, &value),
            _ => base,
        };
        agrees_for_all(&base);
        let mut chars: Vec<char> = base.chars().collect();
        for _ in 0..=random.below(3) {
            mutate(&mut random, &mut chars);
        }
        agrees_for_all(&chars.into_iter().collect::<String>());
        // Replacing whole tokens keeps more of the text valid.
        let token = random.pick(&TOKENS);
        for part in numbers(&base).take(3) {
            agrees_for_all(&base.replacen(part, token, 1));
        }
    }
}

#[derive(Deserialize)]
struct Borrowed<'a> {
    plain: &'a str,
    #[serde(borrow)]
    cow: Cow<'a, str>,
    #[serde(borrow)]
    raw: RawJson<'a>,
    #[serde(borrow)]
    string: JsonStr<'a>,
    #[serde(borrow)]
    list: Vec<&'a str>,
    #[serde(borrow)]
    maybe: Option<RawJson<'a>>,
    #[serde(borrow, default)]
    never: Option<JsonStr<'a>>,
}

fn lies_in(part: &str, whole: &str) -> bool {
    let (part, whole) = (part.as_bytes().as_ptr_range(), whole.as_bytes().as_ptr_range());
    whole.start <= part.start && part.end <= whole.end
}

#[test]
fn strings_without_escapes_are_borrowed() {
    let text = String::from(
        r#" { "plain" : "a/b é", "cow": "c\n", "raw" : [ 1 , "\u0061" ] , "string" : "tools\/call", "list":["x","y"], "maybe": null, "ignored": {"a":[]} } "#,
    );
    let read: Borrowed<'_> = raw(&text).to().unwrap();
    let found = (read.plain, &*read.cow, read.raw.as_str(), read.string.as_json().as_str());
    assert_eq!(found, ("a/b é", "c\n", "[ 1 , \"\\u0061\" ]", "\"tools\\/call\""));
    assert!(
        read.string == "tools/call"
            && read.list == ["x", "y"]
            && read.maybe.is_none()
            && read.never.is_none()
    );
    for part in [read.plain, read.raw.as_str(), read.string.as_json().as_str(), read.list[1]] {
        assert!(lies_in(part, &text), "{part}");
    }
    // A string with escapes cannot be borrowed.
    assert!(
        raw(r#""a\n""#).to::<&str>().is_err() && serde_json::from_str::<&str>(r#""a\n""#).is_err()
    );
    assert!(raw(r#"["a","\u0061"]"#).to::<Vec<&str>>().is_err());
    assert_eq!(raw(r#""ab""#).to::<&[u8]>().unwrap(), b"ab");
}

#[test]
fn raw_values_are_lent_whole() {
    for text in GOOD.iter().chain(NUMBERS.iter()).filter(|text| !text.contains("[[[[")) {
        let value = raw(text);
        assert_eq!(value.to::<RawJson<'_>>().unwrap(), value);
        assert_eq!(value.to::<Option<RawJson<'_>>>().unwrap(), (!value.is_null()).then_some(value));
        assert_eq!(
            value.to::<JsonStr<'_>>().ok().map(JsonStr::as_json),
            value.as_string().map(JsonStr::as_json),
            "{text}"
        );
        let list = format!("[ {text} , {text}]");
        let list: Vec<RawJson<'_>> = raw(&list).to().unwrap();
        assert_eq!(list, [value, value]);
        let map = format!("{{\"k\" : {text} , \"l\":{text}}}");
        let map: BTreeMap<&str, RawJson<'_>> = raw(&map).to().unwrap();
        assert_eq!((map["k"], map["l"]), (value, value));
        if value.is_array() {
            let expected = value.elements().collect::<Vec<_>>();
            assert_eq!(value.to::<Vec<RawJson<'_>>>().unwrap(), expected);
        }
    }
}

#[test]
fn raw_values_need_the_text_itself() {
    #[derive(Deserialize, Debug)]
    struct Buffered<'a> {
        #[serde(flatten, borrow)]
        _inside: Inside<'a>,
    }
    #[derive(Deserialize, Debug)]
    struct Inside<'a> {
        #[serde(borrow)]
        _raw: RawJson<'a>,
    }
    let text = r#"{"_raw":1}"#;
    assert!(raw(text).to::<Inside<'_>>().is_ok());
    // A value buffered by serde, or from another deserializer, has no JSON text.
    assert!(raw(text).to::<Buffered<'_>>().is_err());
    assert!(serde_json::from_str::<Inside<'_>>(text).is_err());
    assert!(serde_json::from_str::<JsonStr<'_>>(r#""a""#).is_err());
}

#[test]
fn long_strings_with_escapes_become_strings() {
    for len in [0, 1, 63, 125, 126, 127, 128, 129, 130, 255, 256, 1000, 100_000] {
        for fill in ["x", "é", "😀"] {
            let meaning = format!("\n{}", fill.repeat(len));
            let json = serde_json::to_string(&meaning).unwrap();
            assert_eq!(raw(&json).to::<String>().unwrap(), meaning);
            assert_eq!(raw(&json).to::<Value>().unwrap(), meaning.as_str());
            assert_eq!(raw(&json).to::<Cow<'_, str>>().unwrap(), meaning);
            assert_eq!(
                raw(&format!("{{{json}:{json}}}")).to::<BTreeMap<String, String>>().unwrap()
                    [&meaning],
                meaning
            );
        }
    }
}

#[test]
fn faults_have_a_message_that_names_them() {
    fn fault<T: DeserializeOwned + Debug>(text: &str) -> String {
        raw(text).to::<T>().unwrap_err().to_string()
    }
    assert_eq!(fault::<Inner>("{}"), "missing field `x`");
    assert_eq!(fault::<Inner>(r#"{"x":"","x":""}"#), "duplicate field `x`");
    assert!(fault::<Strict>(r#"{"z":1}"#).contains("unknown field `z`"));
    assert!(fault::<External>(r#""Zebra""#).contains("unknown variant `Zebra`"));
    assert_eq!(fault::<u8>("256"), "number out of range");
    assert_eq!(fault::<u8>("-1"), "number out of range");
    assert_eq!(fault::<f64>("1e400"), "number out of range");
    assert_eq!(fault::<u8>("\"1\""), "expected an integer");
    assert!(fault::<u8>("1.5").contains("floating point"));
    assert_eq!(fault::<f64>("\"1\""), "expected a number");
    assert_eq!(fault::<bool>("1"), "expected a boolean");
    assert_eq!(fault::<String>("1"), "expected a string");
    assert_eq!(fault::<()>("1"), "expected null");
    assert_eq!(fault::<Vec<u8>>("{}"), "expected an array");
    assert_eq!(fault::<Inner>("1"), "expected an object");
    assert_eq!(fault::<(u8, u8)>("[1,2,3]"), "expected fewer elements");
    assert!(fault::<(u8, u8)>("[1]").contains("invalid length 1"));
}

#[test]
fn numbers_inside_untagged_enums_keep_their_kind() {
    for (text, expected) in [
        ("1", Untagged::Int(1)),
        ("-1", Untagged::Int(-1)),
        ("18446744073709551615", Untagged::Big(u64::MAX)),
        ("1.0", Untagged::Float(1.0)),
        ("1e2", Untagged::Float(100.0)),
        ("18446744073709551616", Untagged::Float(18_446_744_073_709_551_616.0)),
        ("null", Untagged::Unit),
        ("[1,\"\\n\"]", Untagged::Pair(1, "\n".into())),
        ("{\"b\":null,\"a\":1}", Untagged::Struct { a: 1, b: Box::new(Untagged::Unit) }),
    ] {
        assert_eq!(raw(text).to::<Untagged>().unwrap(), expected);
        assert_eq!(serde_json::from_str::<Untagged>(text).unwrap(), expected);
    }
}

#[test]
fn deep_values_are_read() {
    let text = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let ours: Value = raw(&text).to().unwrap();
    assert!(near(&ours, &serde_json::from_str(&text).unwrap()));
    assert_eq!(serde_json::to_value(raw(&text)).unwrap(), ours);
    assert_ne!(ours, json!([]));
}
