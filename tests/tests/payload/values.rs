//! Accessors of the types: lists, maps, numbers, binary data, texts, forms and conversations.

use mcp_sansio::types::*;
use mcp_sansio::{
    Encode, Json, JsonStr, OwnedJson, Printable, RawJson, ReadError, Revision, Revisions,
    ToolError, to_slice,
};
use mcp_sansio_tests::json::{REVISIONS, raw};
use serde::Deserialize;

fn string(text: &str) -> JsonStr<'_> {
    raw(text).as_string().expect("a string")
}

fn written<T: Encode + ?Sized>(value: &T, revision: Revision) -> String {
    to_slice(value, revision, &mut [0; 4096]).expect("the value can be written").as_str().to_owned()
}

fn latest<T: Encode + ?Sized>(value: &T) -> String {
    written(value, Revision::LATEST)
}

#[test]
fn a_list_from_a_slice_equals_a_list_from_json() {
    let (own, read) = (List::new(&[3u8, 5]), raw("[3, 5]").to::<List<'_, u8>>().unwrap());
    for list in [
        own,
        read,
        List::from(&[3, 5]),
        List::from(&[3, 5][..]),
        Clone::clone(&own),
        Clone::clone(&read),
    ] {
        assert_eq!(list.iter().collect::<Result<Vec<_>, _>>().unwrap(), [3, 5]);
        assert_eq!(list.get(1).unwrap().unwrap(), 5);
        assert!(list.len() == 2 && !list.is_empty() && list.get(2).is_none());
        assert_eq!(latest(&list).replace(' ', ""), "[3,5]");
        assert_eq!(format!("{list:?}").replace(' ', ""), "[3,5]");
    }
    assert!(own.as_json().is_none() && own.as_slice() == Some(&[3, 5]));
    assert!(read.as_json().is_some() && read.as_slice().is_none());
    for empty in [List::<u8>::EMPTY, List::default(), raw("[]").to().unwrap()] {
        assert!(empty.is_empty() && matches!(empty.len(), 0) && empty.iter().next().is_none());
    }
    assert!(List::<u8>::from_json(raw("{}")).is_none());
    assert!(raw("null").to::<List<'_, u8>>().is_err());
    // An element of another type is an error, and written as it was read.
    let mixed: List<'_, u8> = raw(r#"[3,{"a":1.50},5]"#).to().unwrap();
    assert_eq!(mixed.iter().map(Result::ok).collect::<Vec<_>>(), [Some(3), None, Some(5)]);
    assert_eq!(latest(&mixed), r#"[3,{"a":1.50},5]"#);
}

#[test]
fn a_map_from_a_slice_equals_a_map_from_json() {
    let (own, read) =
        (Map::new(&[("a", 3u8), ("b", 5)]), raw(r#"{"a":3, "b":5}"#).to::<Map<'_, u8>>().unwrap());
    for map in [own, read] {
        let pairs: Vec<_> =
            map.iter().map(|(key, value)| (key.to_string(), value.unwrap())).collect();
        assert_eq!(pairs, [("a".to_owned(), 3), ("b".to_owned(), 5)]);
        assert_eq!(map.get("a").unwrap().unwrap(), 3);
        assert_eq!(map.get("b").unwrap().unwrap(), 5);
        assert!(map.get("c").is_none() && !map.is_empty());
        assert_eq!(latest(&map).replace(' ', ""), r#"{"a":3,"b":5}"#);
        assert_eq!(format!("{map:?}").replace(' ', ""), r#"{"a":3,"b":5}"#);
    }
    assert!(own.as_json().is_none() && own.as_slice().is_some_and(|entries| entries.len() == 2));
    assert!(read.as_json().is_some() && read.as_slice().is_none());
    assert!(Map::<u8>::new(&[]).is_empty() && raw("{}").to::<Map<'_, u8>>().unwrap().is_empty());
    assert!(Map::<u8>::from_json(raw("[]")).is_none());
    assert!(raw(r#"{"b":"x"}"#).to::<Map<'_, u8>>().unwrap().get("b").unwrap().is_err());
}

#[test]
fn a_name_that_is_formatted_has_any_length() {
    #[derive(PartialEq, Eq, Hash)]
    struct Length(usize);

    impl serde::Serialize for Length {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("\"{:1$}\n", 7, self.0))
        }
    }

    for length in [1, 20, 60, 61, 62, 63, 64, 65, 500] {
        let map = std::collections::HashMap::<Length, u8>::from([(Length(length), 1)]);
        assert_eq!(latest(&Json(&map)), serde_json::to_string(&map).unwrap());
    }
}

#[test]
fn line_breaks_of_a_printable_text_are_kept_if_asked() {
    struct Pieces<'a>(&'a [&'a str]);

    impl std::fmt::Display for Pieces<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.iter().try_for_each(|piece| f.write_str(piece))
        }
    }

    let text = "a\r\nb\n\rc\u{1b}[2J\r";
    assert_eq!(Printable::new(text).to_string(), r"a\r\nb\n\rc\u001b[2J\r");
    let kept = |pieces: &[&str]| Printable::new(Pieces(pieces)).with_line_breaks().to_string();
    assert_eq!(kept(&[text]), "a\r\nb\n\\rc\\u001b[2J\\r");
    let pieces = ["a\r", "\nb", "\r", "c\r", "\r", "\n\u{7}", "\n"];
    assert_eq!(kept(&pieces), "a\r\nb\\rc\\r\r\n\\u0007\n");
}

#[test]
fn a_task_is_written_for_each_revision_that_has_it() {
    let task = Task::new("t", TaskStatus::Working, "a", "b", Some(5));
    let members = r#""taskId":"t","status":"working","createdAt":"a","lastUpdatedAt":"b""#;
    assert_eq!(written(&task, Revision::V2025_11_25), format!(r#"{{{members},"ttl":5}}"#));
    assert_eq!(latest(&task), format!(r#"{{{members},"ttlMs":5}}"#));
}

#[test]
fn the_time_of_a_task_is_the_nearest_one_that_there_is() {
    for (ttl, expected) in [
        ("null", None),
        ("7.0", Some(7)),
        ("7.9", Some(7)),
        ("-1", Some(0)),
        ("-1e400", Some(0)),
        ("18446744073709551616", Some(u64::MAX)),
        ("1e400", Some(u64::MAX)),
    ] {
        let text = format!(r#"{{"taskId":"t","status":"working","ttlMs":{ttl}}}"#);
        let task: Task<'_> = RawJson::parse(&text).unwrap().to().unwrap();
        assert_eq!(task.ttl_ms, expected, "{ttl}");
    }
}

#[test]
fn numbers_have_the_value_of_their_digits() {
    for (number, text, integer) in [
        (Number::new(0), "0", Some(0)),
        (Number::new(i64::MIN), "-9223372036854775808", Some(i64::MIN)),
        (Number::new(i64::MAX), "9223372036854775807", Some(i64::MAX)),
        (Number::from(-7i8), "-7", Some(-7)),
        (Number::decimal(85, 2), "0.85", None),
        (Number::decimal(-5, 1), "-0.5", None),
        (Number::decimal(-5, 3), "-0.005", None),
        (Number::decimal(12345, 2), "123.45", None),
        (Number::decimal(1200, 2), "12.00", Some(12)),
        (Number::decimal(1, 18), "0.000000000000000001", None),
        (Number::decimal(i64::MIN, 18), "-9.223372036854775808", None),
        // More places than an integer of 64 bits has digits for count as 18.
        (Number::decimal(1, 19), "0.000000000000000001", None),
        (Number::decimal(1, 255), "0.000000000000000001", None),
        (Number::from_json(raw("1.50")).unwrap(), "1.50", None),
        (Number::from_json(raw("4e1")).unwrap(), "4e1", Some(40)),
        (raw("1e2").to().unwrap(), "1e2", Some(100)),
    ] {
        assert_eq!((number.to_string().as_str(), format!("{number:?}").as_str()), (text, text));
        assert_eq!(latest(&number), text);
        assert_eq!(number.as_i64(), integer, "{text}");
        let float: f64 = text.parse().unwrap();
        assert_eq!(number.as_f64().to_bits(), float.to_bits(), "{text}");
        assert!(
            number == Number::from_json(raw(text)).unwrap() && number != Number::new(77),
            "{text}"
        );
    }
    assert!(Number::from_json(raw("\"1\"")).is_none());
}

#[test]
fn binary_data_is_decoded_where_it_is_base64_and_fits() {
    for len in [0usize, 1, 2, 3, 46, 47, 48, 49, 95, 96, 97, 143, 144, 145] {
        let bytes: Vec<u8> = (0..len).map(|n| (n * 37) as u8).collect();
        let own = Blob::new(&bytes);
        let text = latest(&own);
        let read: Blob<'_> = raw(&text).to().unwrap();
        assert_eq!(
            text,
            format!("\"{}\"", base64(&bytes)),
            "the core's output equals that of the crate base64"
        );
        for blob in [own, read, Blob::from(&bytes[..])] {
            assert_eq!(blob.decoded_len(), Ok(len));
            assert_eq!(blob.decode_to(&mut [0; 145]).unwrap(), bytes);
            assert_eq!(blob.decode_to(&mut vec![0; len]).unwrap(), bytes);
            if len > 0 {
                assert_eq!(blob.decode_to(&mut vec![0; len - 1]), Err(BlobError::OutputTooSmall));
            }
            assert_eq!(latest(&blob), text);
        }
        assert!(
            own.as_base64().is_none()
                && read.as_base64().is_some_and(|base64| base64 == string(&text))
        );
        // Nothing may follow padding, and every group must be complete.
        let inner = text.trim_matches('"');
        let all: Vec<String> = vec![
            format!("{inner}="),
            format!("{inner}A"),
            format!("{inner}AA==AAAA"),
            format!("\u{e9}{inner}"),
            "AP/+Pj8".to_owned(),
            "AP-_Pj8=".to_owned(),
        ];
        for wrong in all {
            let wrong = format!("\"{wrong}\"");
            assert_eq!(
                raw(&wrong).to::<Blob<'_>>().unwrap().decoded_len(),
                Err(BlobError::InvalidBase64),
                "{wrong}"
            );
        }
    }
    // Escapes do not count.
    assert_eq!(
        raw(r#""QUJ\u0044""#).to::<Blob<'_>>().unwrap().decode_to(&mut [0; 3]).unwrap(),
        b"ABC"
    );
    let found = format!("{:?} {:?}", Blob::new(b"abc"), Blob::from_base64(Text::new("QQ==")));
    assert_eq!(found, "Blob(3 bytes) Blob(\"QQ==\")");
    assert_eq!(BlobError::InvalidBase64.to_string(), "invalid base64");
    assert_eq!(BlobError::OutputTooSmall.to_string(), "output buffer too small");
}

#[test]
fn a_text_is_the_same_however_it_is_written() {
    let (own, plain, escaped) =
        (Text::new("a/b"), Text::from(string(r#""a/b""#)), Text::from(string(r#""a\/b""#)));
    for one in [own, plain, escaped] {
        for other in [own, plain, escaped] {
            assert_eq!(one, other);
        }
        assert!(
            one == "a/b"
                && one != "a/c"
                && one != Text::new("a")
                && one != Text::from(string(r#""a\\b""#))
        );
        assert!(one == string(r#""a\u002fb""#) && one != string(r#""a""#));
        assert_eq!((one.to_string().as_str(), one.chars().count()), ("a/b", 3));
        assert_eq!(serde_json::to_value(one).unwrap(), "a/b");
        assert_eq!(one.copy_to(&mut [0; 3]), Some("a/b"));
        assert_eq!(one.copy_to(&mut [0; 2]), None);
        assert!(!one.is_empty());
    }
    let expected = (Some("a/b"), Some("a/b"), None);
    assert_eq!((own.as_plain(), plain.as_plain(), escaped.as_plain()), expected);
    let expected = (r#""a/b""#.to_owned(), r#""a\/b""#.to_owned());
    assert_eq!((format!("{own:?}"), format!("{escaped:?}")), expected);
    assert!(Text::default().is_empty() && Text::from(string("\"\"")).is_empty());
    // Any kind of text can become a text block.
    let block = ContentBlock::from(escaped);
    assert!(block.as_text() == Some(own) && latest(&block) == r#"{"type":"text","text":"a\/b"}"#);
    assert!(ContentBlock::image(b"", "image/png").as_text().is_none());
}

#[test]
fn supported_versions_say_which_they_are() {
    let own = SupportedVersions::new(Revisions::ALL);
    let text = latest(&own);
    assert_eq!(text, r#"["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]"#);
    let read: SupportedVersions<'_> = raw(&text).to().unwrap();
    let one: SupportedVersions<'_> = raw(r#"["2025-06-18", "2099-01-01"]"#).to().unwrap();
    for revision in REVISIONS {
        assert!(own.contains(revision) && read.contains(revision));
        assert_eq!(one.contains(revision), revision == Revision::V2025_06_18);
    }
    assert!(
        !SupportedVersions::new(Revisions::only(Revision::V2024_11_05)).contains(Revision::LATEST)
    );
    assert!(own.as_list().is_none() && one.as_list().is_some_and(|list| list.len() == 2));
    assert!(format!("{one:?}").contains("2099-01-01") && format!("{own:?}").len() > 10);
}

/// Blocks of each kind, and their fallback for clients without the type (2024-11-05, and 2025-03-26
/// for audio).
const TURNS: &[(SamplingMessage<'static>, [&str; 2])] = &[
    (SamplingMessage::new(Role::User, SamplingMessageContent::text("hello")), ["hello", "hello"]),
    (
        SamplingMessage::new(
            Role::Assistant,
            SamplingMessageContent::many(&[
                SamplingMessageContentBlock::Text(TextContent::new("one")),
                SamplingMessageContentBlock::Audio(AudioContent::new(
                    Blob::new(b"ab"),
                    "audio/wav",
                )),
                SamplingMessageContentBlock::Image(ImageContent::new(
                    Blob::new(b"cd"),
                    "image/png",
                )),
                SamplingMessageContentBlock::ToolUse(ToolUseContent::new(
                    "7",
                    "find",
                    RawJson::from_static(r#"{"key":"x"}"#),
                )),
            ]),
        ),
        [
            r#"one|[audio/wav audio]|image|[use of tool find: {"key":"x"}]"#,
            r#"one|audio|image|[use of tool find: {"key":"x"}]"#,
        ],
    ),
    (
        SamplingMessage::new(
            Role::User,
            SamplingMessageContent::One(SamplingMessageContentBlock::ToolResult(
                ToolResultContent::new(
                    "7",
                    &[
                        ContentBlock::text("found"),
                        ContentBlock::image(b"ab", "image/png"),
                        ContentBlock::audio(b"ab", "audio/wav"),
                        ContentBlock::resource(ResourceContents::text("file:///a", "content")),
                        ContentBlock::resource_link("file:///b", "b"),
                        ContentBlock::Other(RawJson::from_static(r#"{"type":"hologram"}"#)),
                    ],
                ),
            )),
        ),
        ["[tool result: found [image/png image] [audio/wav audio] file:///a [resource b: file:///b] [content of an unknown type]]";
            2],
    ),
    (
        SamplingMessage::new(
            Role::Assistant,
            SamplingMessageContent::One(SamplingMessageContentBlock::Other(RawJson::from_static(
                r#"{"type":"hologram"}"#,
            ))),
        ),
        ["hologram"; 2],
    ),
];

/// Returns what is written, without the explanation that replaces audio of the application, too.
fn value(messages: &impl Encode, revision: Revision) -> serde_json::Value {
    let text = written(messages, revision);
    let explanation = ": this protocol revision has no audio content";
    serde_json::from_str(&text.replace(explanation, "")).unwrap()
}

#[test]
fn prm_12_a_conversation_given_as_json_is_written_for_each_revision_like_typed_blocks() {
    let messages: Vec<SamplingMessage<'_>> = TURNS.iter().map(|(message, _)| *message).collect();
    let own = CreateMessageParams::new(&messages, 100);
    let newest = latest(&own);
    let read: CreateMessageParams<'_> = raw(&newest).to().unwrap();
    let whole: serde_json::Value = serde_json::from_str(&newest).unwrap();
    assert_eq!(whole["messages"].as_array().map(Vec::len), Some(TURNS.len()));
    for revision in REVISIONS {
        let ours = value(&own, revision);
        assert_eq!(value(&read, revision), ours, "{revision}");
        if revision >= Revision::V2025_11_25 {
            continue;
        }
        // Older ones get each block in a message of its own.
        let said = |message: &serde_json::Value| {
            let content = &message["content"];
            match content["type"].as_str() {
                Some("text") => content["text"].as_str().unwrap().to_owned(),
                other => other.unwrap().to_owned(),
            }
        };
        let all: Vec<String> = ours["messages"].as_array().unwrap().iter().map(said).collect();
        let expected: Vec<&str> = TURNS
            .iter()
            .map(|(_, said)| said[usize::from(revision > Revision::V2024_11_05)])
            .collect();
        assert_eq!(all.join("|"), expected.join("|"), "{revision}");
    }
}

#[test]
fn a_sampling_result_given_as_json_is_written_for_each_revision_like_typed_blocks() {
    for (message, _) in TURNS {
        let own = CreateMessageResult::new(Role::Assistant, message.content, "m");
        let newest = latest(&own);
        let read: CreateMessageResult<'_> = raw(&newest).to().unwrap();
        for revision in REVISIONS {
            let ours = value(&own, revision);
            assert_eq!(value(&read, revision), ours, "{revision}");
            if revision < Revision::V2025_11_25 {
                // One block: several become one text, a line each.
                assert!(ours["content"].is_object(), "{ours}");
                let lines = ours["content"]["text"].as_str().map_or(1, |text| text.lines().count());
                assert_eq!(lines, message.content.iter().count(), "{ours}");
            }
        }
    }
}

#[test]
fn errors_are_described() {
    fn error<'a, T: Deserialize<'a>>(text: &'a str) -> String {
        raw(text).to::<T>().map(|_| ()).unwrap_err().to_string()
    }
    assert_eq!(RawJson::parse("[1,]").unwrap_err().to_string(), "invalid JSON at byte 3");
    let deep = "[".repeat(65) + &"]".repeat(65);
    assert_eq!(RawJson::parse(&deep).unwrap_err().to_string(), "JSON nested too deeply at byte 64");
    assert_eq!(error::<List<'_, u8>>("{}"), "invalid type: another value, expected an array");
    assert_eq!(error::<Map<'_, u8>>("[]"), "invalid type: another value, expected an object");
    assert_eq!(error::<Number<'_>>("\"1\""), "invalid type: another value, expected a number");
    assert_eq!(error::<Text<'_>>("1"), "invalid type: another value, expected a string");
    assert_eq!(error::<Role>("\"robot\""), "invalid value: another string, expected a Role");
    assert_eq!(error::<u8>("1.5"), "invalid type: floating point `1.5`, expected u8");
    assert_eq!(error::<u8>("256"), "number out of range");
    for (text, expected) in
        [("1e18", ""), ("1.5e18", ""), ("1e30", "number out of range"), ("0.5e18", "")]
    {
        assert_eq!(
            raw(text).to::<u64>().map(|_| ()).map_err(|e| e.to_string()).err().unwrap_or_default(),
            expected,
            "{text}"
        );
    }
    assert_eq!(error::<u64>("1.5e30"), "expected an integer");
    assert_eq!(error::<u64>("1000000000000000000.5"), "expected an integer");
    let e: ReadError = raw("256").to::<u8>().unwrap_err();
    // `main` shows an error by `Debug`, which has the words of `Display`.
    assert_eq!(format!("{e:?}"), "number out of range");
    let error = ToolError::failed("The disk is full");
    assert_eq!(format!("{error:?}"), "The disk is full");
    let owned = OwnedJson::new(&[1, 2], Revision::LATEST).unwrap();
    assert_eq!(format!("{owned:?}"), "[1,2]");
    // Another deserializer has no JSON text.
    let e = serde_json::from_str::<RawJson<'_>>("1").map(|_| ()).unwrap_err().to_string();
    assert!(e.contains("JSON text to borrow (deserialize it from a RawJson)"), "{e}");
    let e = serde_json::from_str::<JsonStr<'_>>("1").map(|_| ()).unwrap_err().to_string();
    assert!(e.contains("expected a string"), "{e}");
}

#[test]
fn a_selection_field_has_a_title_a_description_and_a_default() {
    let choices = [Text::new("a")];
    let plain = SingleSelectEnumSchema::untitled(&choices)
        .title("T")
        .description("D")
        .default("a")
        .schema();
    let expected = r#"{"type":"string","title":"T","description":"D","enum":["a"],"default":"a"}"#;
    assert_eq!(latest(&plain), expected);
    // 2025-06-18 has single selection only.
    let many = MultiSelectEnumSchema::untitled(&choices).title("T").description("D").schema();
    let old: serde_json::Value =
        serde_json::from_str(&written(&many, Revision::V2025_06_18)).unwrap();
    assert_eq!(
        old,
        serde_json::json!({"type": "string", "title": "T", "description": "D", "enum": ["a"]})
    );
}

fn base64(bytes: &[u8]) -> String {
    let engine = &base64::engine::general_purpose::STANDARD;
    base64::display::Base64Display::new(bytes, engine).to_string()
}
