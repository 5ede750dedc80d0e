//! Valid and invalid JSON, and the position of errors.

use mcp_sansio::{MAX_DEPTH, RawJson};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::error::Category;

use super::corpus::{BAD, GOOD, NUMBERS};
use super::has_lone_surrogate;
use super::random::{Random, mutated, rounds};

/// Returns the nesting depth of brackets, outside of strings.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut string, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn agrees(text: &str) {
    // This checks the grammar alone: no strings are built, and numbers and depth have no limit.
    let theirs = serde_json::from_str::<IgnoredAny>(text);
    match RawJson::parse(text) {
        Ok(raw) => {
            assert!(
                theirs.is_ok(),
                "the core accepts {text:?}, serde_json fails: {}",
                theirs.unwrap_err()
            );
            assert!(depth(text) <= MAX_DEPTH as usize, "{text:?} is too deep");
            assert_eq!(raw.as_str(), text.trim_matches([' ', '\t', '\n', '\r']));
        }
        Err(e) if e.too_deep => assert_eq!(
            depth(&text[..=e.at]),
            MAX_DEPTH as usize + 1,
            "{text:?} is not too deep at {}",
            e.at
        ),
        Err(e) => {
            assert!(theirs.is_err(), "serde_json accepts {text:?}, the core fails: {e}");
            // serde_json reads four hexadecimal digits at once and checks surrogates.
            let escape = text[..e.at].rfind("\\u").is_some_and(|escape| e.at - escape < 6);
            if escape || has_lone_surrogate(text) {
                return;
            }
            assert_ne!(
                is_wrong(&text[..e.at]),
                Some(true),
                "{text:?}: it is wrong before byte {}",
                e.at
            );
            if let Some(wrong) = text[e.at..].chars().next() {
                let end = e.at + wrong.len_utf8();
                assert_ne!(
                    is_wrong(&text[..end]),
                    Some(false),
                    "{text:?}: it is not yet wrong at byte {}",
                    e.at
                );
            }
        }
    }
}

/// Whether a text is invalid whatever follows; `None` where serde_json stops at a number that is
/// too large.
fn is_wrong(prefix: &str) -> Option<bool> {
    match serde_json::from_str::<Value>(prefix) {
        Err(e) if e.to_string().starts_with("number out of range") => None,
        result => Some(result.is_err_and(|e| e.classify() != Category::Eof)),
    }
}

#[test]
fn corpus_is_accepted_and_rejected_as_by_the_oracle() {
    for text in GOOD.iter().chain(NUMBERS.iter()) {
        assert!(RawJson::parse(text).is_ok(), "{text}");
        agrees(text);
    }
    for text in BAD.iter() {
        assert!(RawJson::parse(text).is_err(), "{text:?}");
        agrees(text);
        // It is also invalid inside an array. In braces it could become valid.
        if !text.contains(['[', ']', '{', '}', ',', ':', '"', '/']) && !text.trim().is_empty() {
            agrees(&format!("[{text}]"));
            agrees(&format!("{{\"a\":{text},\"b\":1}}"));
        }
    }
}

#[test]
fn every_prefix_of_the_corpus_agrees() {
    for text in GOOD.iter().chain(NUMBERS.iter()) {
        for (end, _) in text.char_indices() {
            agrees(&text[..end]);
        }
    }
}

#[test]
fn mutations_are_accepted_and_rejected_as_by_the_oracle() {
    let mut accepted = 0;
    for seed in 0..rounds() * 4 {
        let text = mutated(&mut Random::new(seed));
        accepted += u64::from(RawJson::parse(&text).is_ok());
        agrees(&text);
    }
    assert!(
        accepted * 10 > rounds() && accepted < rounds() * 4,
        "the mutations are too weak or too strong: {accepted}"
    );
}

#[test]
fn each_byte_that_ends_or_breaks_a_string_is_found_at_each_place() {
    let specials = (0..=0x20)
        .chain([0x22, 0x5c, 0x7f, 0x80, 0xa0, 0xff, 0x7ff, 0xffff])
        .map(|c| char::from_u32(c).unwrap());
    for special in specials {
        for at in (0..200).chain([511, 512, 513]) {
            let mut text = String::from("\"");
            text.extend(std::iter::repeat_n('x', at));
            text.push(special);
            text.push_str("nnnnnnnnnnnnn\"");
            let result = RawJson::parse(&text);
            match special {
                '\u{0}'..='\u{1f}' => assert_eq!(result.unwrap_err().at, at + 1),
                '"' => assert_eq!(result.unwrap_err().at, at + 2),
                _ => assert_eq!(result.unwrap().as_str(), text),
            }
        }
    }
}

#[test]
fn nesting_ends_at_the_maximum() {
    let max = MAX_DEPTH as usize;
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[", "]}]")] {
        let levels = open.matches(['[', '{']).count();
        for n in [1, max / levels, max / levels + 1, 200, 100_000] {
            let text = format!("{}1{}", open.repeat(n), close.repeat(n));
            let result = RawJson::parse(&text);
            assert_eq!(result.is_ok(), n * levels <= max, "{n} times {open}");
            if let Err(e) = result {
                assert!(e.too_deep);
            }
        }
    }
    // An empty key counts, too.
    let text = format!("{}{{}}{}", "[".repeat(max), "]".repeat(max));
    assert!(RawJson::parse(&text).unwrap_err().too_deep);
}

#[test]
fn constants_are_checked_as_everything_else() {
    const RAW: RawJson = RawJson::from_static("{\"a\": [1, \"\\u00e9\"]}");
    assert_eq!(RAW.as_str(), "{\"a\": [1, \"\\u00e9\"]}");
    for text in GOOD.iter().chain(NUMBERS.iter()).chain(BAD.iter()) {
        let bare = text.trim_matches([' ', '\t', '\n', '\r']) == *text;
        let result = std::panic::catch_unwind(|| RawJson::from_static(text));
        // A duplicate key is valid JSON, but not a valid constant.
        let twice = text.starts_with(r#"{"a":1,"a":"#);
        assert_eq!(result.is_ok(), bare && !twice && RawJson::parse(text).is_ok(), "{text:?}");
    }
}
