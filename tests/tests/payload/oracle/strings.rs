//! Strings that stay as they were written.

use mcp_sansio::JsonStr;

use super::corpus::GOOD;
use super::random::{Random, rounds, spell_string, text};
use super::{has_lone_surrogate, raw, written};

fn string(json: &str) -> JsonStr<'_> {
    raw(json).as_string().unwrap_or_else(|| panic!("not a string: {json}"))
}

fn means(json: &str, meaning: &str) {
    let ours = string(json);
    assert_eq!(ours.as_json().as_str(), json);
    assert_eq!(ours.inner(), &json[1..json.len() - 1]);
    assert_eq!(ours.to_string(), meaning, "{json}");
    assert_eq!(ours.chars().collect::<String>(), meaning, "{json}");
    assert!(ours == *meaning && ours == meaning, "{json}");
    assert_eq!(ours.as_plain(), (!json.contains('\\')).then_some(meaning), "{json}");
    for change in [format!("{meaning}x"), format!("x{meaning}"), meaning.chars().skip(1).collect()]
    {
        assert_eq!(ours == *change, meaning == change, "{json} {change}");
    }
    let mut out = vec![0xff; meaning.len()];
    assert_eq!(ours.copy_to(&mut out), Some(meaning), "{json}");
    assert_eq!(ours.copy_to(&mut vec![0; meaning.len() + 7]), Some(meaning), "{json}");
    if let Some(short) = meaning.len().checked_sub(1) {
        assert_eq!(ours.copy_to(&mut vec![0; short]), None, "{json}");
    }
    assert_eq!(raw(json).to::<String>().unwrap(), meaning, "{json}");
    assert_eq!(written(&ours), json);
    assert!(ours.is_well_formed(), "{json}");
    assert_eq!(serde_json::to_value(ours).unwrap(), meaning);
}

#[test]
fn corpus_strings_are_those_of_the_oracle() {
    for json in GOOD.iter().filter(|json| json.starts_with('"')) {
        match serde_json::from_str::<String>(json) {
            Ok(meaning) => means(json, &meaning),
            Err(_) => {
                assert!(has_lone_surrogate(json) && !string(json).is_well_formed(), "{json}");
            }
        }
    }
}

#[test]
fn random_strings_are_those_of_the_oracle() {
    for seed in 0..rounds() {
        let mut random = Random::new(seed);
        let meaning = text(&mut random);
        let (mut one, mut other) = (String::new(), String::new());
        spell_string(&mut random, &meaning, &mut one);
        spell_string(&mut random, &meaning, &mut other);
        assert_eq!(serde_json::from_str::<String>(&one).unwrap(), meaning);
        means(&one, &meaning);
        assert_eq!(string(&one), string(&other));
        let unlike = text(&mut random);
        let mut spelled = String::new();
        spell_string(&mut random, &unlike, &mut spelled);
        assert_eq!(string(&one) == string(&spelled), meaning == unlike);
        assert_eq!(string(&one) == *unlike, meaning == unlike);
    }
}

#[test]
fn every_escaped_code_unit_is_decoded() {
    for unit in 0..=0xffffu32 {
        let json = format!("\"\\u{unit:04x}\"");
        let expected = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        assert!(string(&json).chars().eq([expected]), "{json}");
        if unit % 97 == 0 && expected != char::REPLACEMENT_CHARACTER {
            means(&json, &serde_json::from_str::<String>(&json).unwrap());
        }
    }
}

#[test]
fn surrogate_pairs_are_decoded_and_halves_replaced() {
    for c in ['\u{10000}', '\u{103ff}', '\u{10400}', '😀', '\u{fffff}', '\u{100000}', '\u{10ffff}']
    {
        let units: String =
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect();
        means(&format!("\"{units}\""), &c.to_string());
        means(&format!("\"a{units}{c}b\""), &format!("a{c}{c}b"));
    }
    for (json, expected) in [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud800\n""#, "\u{fffd}\n"),
        (r#""\ud800\\ude00""#, "\u{fffd}\\ude00"),
        (r#""\ud800\u0041""#, "\u{fffd}A"),
        (r#""\ud800😀""#, "\u{fffd}😀"),
        (r#""\ud7ff\ue000""#, "\u{d7ff}\u{e000}"),
        (r#""\ud800\ue000""#, "\u{fffd}\u{e000}"),
        (r#""\ud800\udbff""#, "\u{fffd}\u{fffd}"),
        (r#""\udc00\udc00""#, "\u{fffd}\u{fffd}"),
        (r#""\uFFFF\u0000""#, "\u{ffff}\0"),
    ] {
        assert_eq!(string(json).to_string(), expected);
        assert_eq!(raw(json).to::<String>().unwrap(), expected);
        assert!(string(json) == expected && string(json) != "x");
    }
}

#[test]
fn every_control_character_is_escaped_as_by_the_oracle() {
    for c in (0..=0x2ff)
        .chain([0x2027, 0x2028, 0x2029, 0x202a, 0xfeff, 0xfffd, 0xffff, 0x10ffff])
        .filter_map(char::from_u32)
    {
        for text in [c.to_string(), format!("{c}{c}"), format!("0123456{c}89abcde{c}")] {
            let ours = written(&text);
            assert_eq!(ours, serde_json::to_string(&text).unwrap());
            assert_eq!(serde_json::from_str::<String>(&ours).unwrap(), text);
            means(&ours, &text);
        }
        assert_eq!(written(&c), serde_json::to_string(&c).unwrap());
    }
}

#[test]
fn escapes_are_written_at_each_place() {
    for len in 0..150 {
        for special in ['"', '\\', '\n', '\u{1f}'] {
            let text = format!("{}{special}{}", "é".repeat(len / 2), "x".repeat(len % 7));
            assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }
}

#[test]
fn constants_are_checked() {
    const STRING: JsonStr = JsonStr::from_static("\"caf\\u00e9\"");
    assert!(STRING == "café");
    for json in [
        "", "\"", "a", "\"a", "a\"", "\"a\"b", "1", "null", "\"\\x\"", " \"a\"", "\"a\" ", "\"\n\"",
    ] {
        assert!(std::panic::catch_unwind(|| JsonStr::from_static(json)).is_err(), "{json}");
    }
}
