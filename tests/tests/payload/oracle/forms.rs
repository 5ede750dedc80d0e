//! Queries and bodies of authorization against the crate `form_urlencoded`.
//!
//! It writes `*` as it is and `~` encoded; ours keeps what RFC 3986 calls unreserved, so that the
//! text also stands in a URL's query.

use std::collections::BTreeSet;

use mcp_sansio_oauth::{
    RedirectAnswer, RedirectOutcome, Writer,
    form::{self, Encoded, Form},
    scope,
};
use url::form_urlencoded;

use super::random::{self, Random, rounds};

fn written(pairs: &[(String, String)]) -> String {
    let mut memory = vec![0; 1 << 14];
    let mut out = Writer::new(&mut memory);
    let mut form = Form::new(&mut out);
    for (name, value) in pairs {
        form.pair(name, value);
    }
    out.finish().unwrap().to_owned()
}

fn theirs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Returns a query of pieces, good and bad ones.
fn random_query(random: &mut Random) -> String {
    const PIECES: &[&str] = &[
        "&",
        "&",
        "=",
        "=",
        "+",
        "%",
        "%4",
        "%41",
        "%zz",
        "%26",
        "%3d",
        "%2B",
        "%00",
        "%ff",
        "%c3",
        "%a9",
        "%E2%82%AC",
        "%e2%82",
        "%f0%9f%98",
        "%ed%a0%80",
        "é",
        "a",
        "code",
        "state",
        "iss",
        "\0",
    ];
    (0..random.below(16)).map(|_| random.pick(PIECES)).collect()
}

#[test]
fn auth_71_auth_114_forms_are_written_as_the_crate_form_urlencoded_does() {
    let mut random = Random::new(5);
    for _ in 0..rounds() {
        let pairs: Vec<_> = (0..random.below(4))
            .map(|_| (random::text(&mut random), random::text(&mut random)))
            .collect();
        let ours = written(&pairs);
        let expected =
            form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
        assert_eq!(ours, expected.replace("%7E", "~").replace('*', "%2A"));
        assert_eq!(theirs(&ours), pairs);
        let url = format!("https://a/?{ours}");
        assert_eq!(url::Url::parse(&url).unwrap().as_str(), url);
    }
}

#[test]
fn auth_78_queries_are_read_as_the_crate_form_urlencoded_does() {
    let mut random = Random::new(6);
    for _ in 0..rounds() {
        let query = random_query(&mut random);
        let expected = theirs(&query);
        let ours: Vec<_> = form::pairs(&query).collect();
        let texts = ours.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        assert!(texts.eq(expected.iter().cloned()), "{query:?}");
        for ((_, value), (_, text)) in ours.iter().zip(&expected) {
            let mut memory = [0; 64];
            // Bytes that are not UTF-8 are shown with U+FFFD, and are no text.
            let copied = value.copy_to(&mut memory).map(str::to_owned);
            assert!(copied.as_ref().is_none_or(|copied| copied == text), "{query:?}");
            assert_eq!(copied.is_none(), text.contains('\u{fffd}'), "{query:?}");
            assert_eq!(value.equals_secret(text), copied.is_some());
            assert_eq!(*value == **text, copied.is_some());
            assert!(!value.equals_secret(&format!("{text}x")));
        }
        redirect(&query, &expected);
    }
}

/// Compares an authorization response with its parameters.
fn redirect(query: &str, pairs: &[(String, String)]) {
    const NAMES: [&str; 5] = ["state", "code", "error", "error_description", "iss"];
    let all = |name: &'static str| pairs.iter().filter(move |(other, _)| other == name);
    let Ok(answer) = RedirectAnswer::parse(query) else {
        assert!(NAMES.iter().any(|name| all(name).count() > 1), "{query:?}");
        return;
    };
    assert!(NAMES.iter().all(|name| all(name).count() < 2), "{query:?}");
    let value = |name| all(name).next().map(|(_, value)| &value[..]);
    let (state, iss) = (value("state"), value("iss"));
    let is_text = |text: &str| !text.contains('\u{fffd}');
    assert_eq!(answer.has_state(state.unwrap_or("x")), state.is_some_and(is_text), "{query:?}");
    let outcome = answer.check(state.unwrap_or("x"), iss.unwrap_or("x"), iss.is_some());
    if let Ok(RedirectOutcome::Code(code)) = outcome {
        assert_eq!(Some(&code.to_string()[..]), value("code"));
    }
    let is_good = state.is_some_and(is_text) && iss.is_none_or(is_text);
    let has_outcome = value("code").is_some_and(|code| !code.is_empty());
    assert_eq!(outcome.is_ok(), is_good && has_outcome, "{query:?}");
}

#[test]
fn encoded_texts_are_compared_by_what_they_say() {
    let mut random = Random::new(7);
    for _ in 0..rounds() {
        let (one, other) = (random::text(&mut random), random::text(&mut random));
        let encoded: String = form_urlencoded::byte_serialize(one.as_bytes()).collect();
        let ours = Encoded::new(&encoded);
        assert!(ours == *one && ours.equals_secret(&one) && ours.bytes().eq(one.bytes()));
        assert_eq!(ours.equals_secret(&other), one == other);
    }
}

#[test]
fn scopes_are_sets() {
    let mut random = Random::new(8);
    let mut text = || -> String {
        let pieces = ["a", "b", "ab", "files:read", "A", "offline_access", " ", " ", "  "];
        (0..random.below(9)).flat_map(|_| [random.pick(&pieces), random.pick(&[" ", ""])]).collect()
    };
    for _ in 0..rounds() {
        let (one, other) = (text(), text());
        let [first, second] =
            [&one, &other].map(|it| it.split_whitespace().collect::<BTreeSet<_>>());
        assert_eq!(
            scope::contains_all(&one, &other),
            first.is_superset(&second),
            "{one:?} {other:?}"
        );
        let tokens: Vec<&str> = one.split_whitespace().collect();
        assert!(tokens.is_empty() || scope::is_valid(&tokens.join(" ")), "{one:?}");
    }
}
