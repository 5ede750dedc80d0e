//! Frontmatter against `saphyr`, a YAML 1.2 library: what the core reads, it reads as that does.

use mcp_sansio::{MAX_FRONTMATTER_JSON, RawJson, SkillError, frontmatter_json};
use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value, json};

use super::random::{Random, rounds};

fn ours(yaml: &str) -> Result<Value, SkillError> {
    let mut out = vec![0; MAX_FRONTMATTER_JSON];
    let text = format!("---\n{yaml}\n---\nbody\n");
    let json = frontmatter_json(text.as_bytes(), &mut out)?;
    assert!(RawJson::parse(json.as_str()).is_ok());
    Ok(serde_json::from_str(json.as_str()).expect("JSON"))
}

fn theirs(yaml: &str) -> Option<Value> {
    let mut documents = Yaml::load_from_str(yaml).ok()?;
    if documents.len() == 1 { value(&documents.pop()?) } else { None }
}

fn value(yaml: &Yaml<'_>) -> Option<Value> {
    Some(match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(yes)) => json!(yes),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        Yaml::Value(Scalar::FloatingPoint(number)) => json!(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => json!(text),
        Yaml::Sequence(items) => items.iter().map(value).collect::<Option<_>>()?,
        Yaml::Mapping(members) => {
            let mut object = Map::new();
            for (key, member) in members {
                let key = match value(key)? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                object.insert(key, value(member)?);
            }
            Value::Object(object)
        }
        _ => return None,
    })
}

/// Whether both are the same, with numbers compared as floats.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|it| same(one, it)))
        }
        _ => one == other,
    }
}

#[test]
fn skl_07_frontmatter_that_authors_write_is_read() {
    for yaml in [
        "name: pdf-processing\ndescription: Extract, fill, and assemble PDF documents",
        "name: a\ndescription: >\n  Folded\n  text\n\n  of two paragraphs\nlicense: MIT",
        "name: a\ndescription: >-\n  Folded\n    more\n  text\nx: |+\n  kept\n\ny: 1",
        "description: |\n\n  begins with an empty line\n\n\nname: b # comment",
        "a: 'it''s'\nb: \"tab\\t\\u00e9\\x41\\U0001F600 \\\"q\\\"\"\nc: \"two\n  lines\n\n  and\\\n  more\\\n\n\n  then\"",
        "a: plain text\n  on two lines\n\n  and a third\nb: 1",
        "metadata:\n  version: \"1.0\"\n  deep:\n    er: {x: [1, 2.5, -3e2], 'y': null}\n  list:\n  - a\n  - b: c\n    d: e\n  -\n    - nested",
        "allowed-tools: [Bash(git *), \"Read\", Write]\nempty:\nnothing: ~\nyes: yes\nt: true\nd: 2024-01-01",
        "a: http://example.com:80/x#y\nb: x:y\nc: -dash\nd: ?q\ne: '#'\nf: a#b",
        "list:\n  # comment\n  - one # two\n\n  - three\nflow: [\n  a, # comment\n  b\n  ]",
        "a: [null, Null, NULL, nULL]\nb: [true, True, TRUE, tRUE]\nc: [false, False, FALSE, fALSE]",
        "ü: 語\r\nb: |\r\n  one\r\n  two\r\nc: d\r",
        "version: 1.2.3\nn: 007x\nm: 1e3\no: 0.5\np: 1_000\nq: -\u{2d}\nr: 12:30:45",
        "a: \"\"\nb: ''\nc: {}\nd: []\n\"quoted key\": 1\n'single': 2\ne: {a: , b}",
        "a: {\"b\":1, 'c':'d', \"e\":[f]}\nb: \"\\U00010000 \\U0010FFFF \\U00010400\"",
        "list:\n- \"a \\\"b\": 1\n  'c': 2\nobject:\n  'd e': 3\n\"quoted\" : 4\n'single'\t: 5",
    ] {
        let (ours, theirs) = (ours(yaml), theirs(yaml).unwrap_or_else(|| panic!("{yaml}")));
        let ours = ours.unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        assert!(same(&ours, &theirs), "{yaml}\n{ours}\n{theirs}");
    }
}

#[test]
fn skl_18_frontmatter_that_readers_may_read_differently_is_refused() {
    let short = [
        "", "- a", "text", "{a: b}", "a", "a: b: c", "a: &x b", "a: *x", "? a\n: b", "a: 007",
        "a: +1", "a: 0x1f", "a: 0o17", "a: .5", "a: 1.", "a: .inf", "a: .Inf", "a: -.INF",
        "a: .nan", "a: .NaN", "a: .NAN", "a: 'b", "a: \"b", "a: [b", "a: {b: c", "a: [b] c",
        "a: @b", "a: `b", "a: %b", " a: b", "a: \u{7}", "a: - b", "a: [- b]", "a: [-]", "a: {-}",
        "a: ]", "\u{0}: b",
    ];
    let long = [
        "# only a comment",
        "a: !!str b",
        "<<: {a: b}",
        "a: |2\n  b",
        "a: \"\\q\"",
        "a: \"\\ud800\"",
        "a: [b c: d]",
        "a:\n   b: c\n  d: e",
        "a: b\n\tc: d",
        "a:\n-\tRead",
        "a:\n- \tb: c",
        "a: one\n  \t\nb: 1",
        "a: one\n  \t\n  two",
        "a: b\n  c: d",
        "%YAML 1.2\na: b",
        "a: 1\na: 2",
        "x: {a: 1, a: 2}",
        "a: \u{7f}",
        "a: b\rc: d",
        "a: \"b\nc\"",
        "- a: b\nc: d",
        "a: [?, b]",
    ];
    for yaml in short.into_iter().chain(long) {
        let read = ours(yaml);
        assert!(matches!(read, Err(SkillError::Frontmatter(_))), "{yaml:?} {read:?}");
    }
    let deep = |levels: usize| ours(&format!("a: {}{}", "[".repeat(levels), "]".repeat(levels)));
    assert!(deep(7).is_ok() && deep(8).is_err() && deep(10_000).is_err());
    let many = |count: usize| ours(&(0..count).map(|at| format!("k{at}: v\n")).collect::<String>());
    assert!(many(256).is_ok() && many(257).is_err());
    let many = |count: usize| {
        ours(&format!("a: {{{}}}", (0..count).map(|at| format!("k{at},")).collect::<String>()))
    };
    assert!(many(256).is_ok() && many(257).is_err());
    let long = |len: usize| ours(&format!("a: {}", "x".repeat(len)));
    assert!(long((16 << 10) - 10).is_ok() && long(16 << 10).is_err());
    for text in ["", "---", "---\n", "---\na: b", "--- \na: b\n---\n", "x\n---\na: b\n---\n"] {
        assert!(frontmatter_json(text.as_bytes(), &mut [0; 100]).is_err(), "{text:?}");
    }
    assert!(frontmatter_json(b"---\na: \xff\n---\n", &mut [0; 100]).is_err());
    assert!(frontmatter_json(b"---\na: b\n---\n", &mut [0; 8]).is_err());
    for text in ["\u{feff}---\na: b\n---", "---\r\na: b\r\n--- \t\r\nbody", "---\na: b\n---\n---\n"]
    {
        let expected = Ok(r#"{"a":"b"}"#);
        assert_eq!(frontmatter_json(text.as_bytes(), &mut [0; 100]).map(RawJson::as_str), expected);
    }
}

/// The largest growth, from a list of keys without values, fits.
#[test]
fn frontmatter_fits_into_the_memory_that_is_said_to_suffice() {
    let letters = || ('a'..='z').chain('A'..='Z').map(|letter| format!("{letter},"));
    let keys: String =
        (0..130).map(|list| format!("k{list}: {{{}}}\n", letters().collect::<String>())).collect();
    assert!(keys.len() < 16 << 10 && keys.len() > 10 << 10, "{}", keys.len());
    assert!(ours(&keys).is_ok());
    let escapes = format!("a: \"{}\"", "\\0".repeat((16 << 10) / 2 - 10));
    assert!(ours(&escapes).is_ok());
}

#[test]
fn skl_07_random_frontmatter_is_refused_or_read_as_yaml() {
    // saphyr takes a tab behind a colon only if a space follows.
    const PARTS: [&str; 46] = [
        "a", "b", "key", "x y", ": ", ":", "\n", "\n", "\n  ", "\n    ", "\n\n", " ", "- ", "-",
        "[", "]", "{", "}", ",", ", ", "'", "''", "\"", "\\n", "\\", "|", ">", "|-", ">+", "#",
        " # c", "1", "0", ".", "e", "true", "null", "~", "é", "?", "!", "&", "*", "a: b\n", "\t ",
        "\n  \t",
    ];
    let mut random = Random::new(7);
    let mut read = 0;
    for _ in 0..rounds() * 8 {
        let mut yaml =
            String::from(random.pick(&["a: ", "k: b\nl: ", "a:\n  ", "a:\n- ", "a: >\n "]));
        for _ in 0..random.below(14) {
            yaml.push_str(random.pick(&PARTS));
        }
        // Both end text at `---`, and a directive or a document end is no frontmatter.
        if yaml.contains("---") || yaml.contains("...") {
            continue;
        }
        let Ok(ours) = ours(&yaml) else { continue };
        read += 1;
        // Many parsers accept brackets that are closed at the beginning of a line, but saphyr does
        // not.
        let is_closed = |line: &str| line.trim_start().starts_with([']', '}']);
        match theirs(&format!("{yaml}\n")) {
            Some(theirs) => assert!(same(&ours, &theirs), "{yaml:?}\n{ours}\n{theirs}"),
            None => assert!(yaml.lines().any(is_closed), "{yaml:?} is read: {ours}"),
        }
    }
    assert!(read > rounds() / 4, "{read}");
}
