//! JSON Schema: schemas that a catalog accepts, validation of arguments and, by a client, of
//! structured content, and the schemas of the examples.

use std::time::{Duration, Instant};

use mcp_sansio::types::{RequestedSchema, Tool};
use mcp_sansio::{Catalog, Entry, MAX_DEPTH, RawJson, Revision, entries, to_slice};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, raw};
use super::{everything_catalog, everything_forms};

fn check(schema: &str) -> Result<(), String> {
    Catalog::new()
        .tools(&[Entry::from(&Tool::new("t", raw(schema)))])
        .check()
        .map_err(|fault| fault.to_string())
}

/// Validates arguments by the schema.
fn fault(schema: &str, arguments: &str) -> Option<String> {
    let (mut peer, mut found) = (Peer::new(Revision::LATEST), None);
    let tool = Tool::new("t", raw(schema));
    let mut message = peer.request("tools/call", json!({"name": "t"})).to_string();
    message.insert_str(
        message.find(r#""name":"#).expect("a name"),
        &format!(r#""arguments":{arguments},"#),
    );
    peer.say_text(&message, |_, event, _| {
        let mcp_sansio::ServerEvent::Request(request) = event else { panic!("{event:?}") };
        // An entry that owns its text has read the schema before.
        let [text, read] = [Entry::from(&tool), Entry::from(tool)].map(|entry| {
            let checked = entry.check_arguments(&request.arguments());
            checked.err().map(|fault| fault.to_string())
        });
        assert_eq!(text, read, "{schema} {arguments}");
        found = read;
    });
    found
}

/// Validates structured content by the output schema of a listed tool, as a client does.
fn verdict(schema: &str, content: Option<&str>) -> Option<String> {
    let listed = format!(r#"{{"name":"t","inputSchema":{DEFAULT},"outputSchema":{schema}}}"#);
    let tool: Tool<'_> = raw(&listed).to().expect("a tool");
    let [text, read] = [Entry::from(&tool), Entry::from(tool)]
        .map(|entry| entry.check_structured(content.map(raw)).err().map(|fault| fault.to_string()));
    assert_eq!(text, read, "{schema} {content:?}");
    read
}

const DEFAULT: &str = r#"{"type":"object"}"#;
const NEW: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}"#;

#[test]
fn sch_01_the_newest_dialect_is_taken_and_is_the_default() {
    for schema in [
        DEFAULT,
        NEW,
        &NEW.replace("schema\"", "schema#\""),
        &NEW.replace("2020-12/", "2020-12\\/"),
    ] {
        assert_eq!(check(schema), Ok(()), "{schema}");
    }
    // A keyword beside a reference counts in 2020-12, which is the default dialect.
    let beside = r##""$defs":{"a":{}},"properties":{"a":{"$ref":"#/$defs/a","type":"string"}}}"##;
    for dialect in ["", r#""$schema":"https://json-schema.org/draft/2020-12/schema","#] {
        let schema = format!(r#"{{{dialect}"type":"object",{beside}"#);
        assert_eq!(check(&schema), Ok(()));
        let wrong = r#"{"a":1}"#;
        for found in [fault(&schema, wrong), verdict(&schema, Some(wrong))] {
            assert_eq!(found.as_deref(), Some("a: must be of type string, is 1"));
        }
        // Elements before the others, which draft-07 writes in another way.
        let schema = format!(
            r#"{{{dialect}"type":"object","properties":{{"a":{{"prefixItems":[{{"type":"string"}}],"items":{{"type":"integer"}}}}}}}}"#
        );
        assert_eq!(fault(&schema, r#"{"a":["x",1]}"#), None);
    }
}

#[test]
fn sch_02_each_dialect_is_read_by_its_own_rules() {
    let beside = r##""definitions":{"a":{}},"properties":{"a":{"$ref":"#/definitions/a","type":"string"}}}"##;
    for name in
        ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema"]
    {
        let schema = format!(r#"{{"$schema":"{name}","type":"object",{beside}"#);
        // It ignores keywords beside a reference.
        assert_eq!((check(&schema), fault(&schema, r#"{"a":1}"#)), (Ok(()), None));
        assert_eq!(verdict(&schema, Some(r#"{"a":1}"#)), None);
        let items = format!(
            r##"{{"$schema":"{name}","type":"object","definitions":{{"a":{{}}}},"properties":{{"l":{{"type":"array","items":{{"$ref":"#/definitions/a","type":"string"}}}}}}}}"##
        );
        assert_eq!(fault(&items, r#"{"l":[1]}"#), None);
        let schema = format!(
            r##"{{"$schema":"{name}","$ref":"#/definitions/a","type":"object","required":["a"],"definitions":{{"a":{{}}}}}}"##
        );
        assert_eq!((check(&schema), fault(&schema, "{}")), (Ok(()), None));
        let schema = format!(r#"{{"$schema":"{name}","type":"object","required":["a"]}}"#);
        assert_eq!(fault(&schema, "{}").as_deref(), Some("a: is missing"));
    }
    // Another dialect is never treated as one of these two.
    let schema = r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"exclusiveMinimum":true}}}"#;
    assert!(fault(schema, r#"{"a":1}"#).is_some_and(|fault| fault.contains("dialect")));
}

#[test]
fn sch_03_an_unknown_dialect_is_refused_with_the_reason() {
    for dialect in [
        r#""http://json-schema.org/draft-04/schema#""#,
        r#""http://json-schema.org/draft-06/schema#""#,
        r#""https://json-schema.org/draft/2019-09/schema""#,
        r#""https://json-schema.org/draft/2020-12""#,
        r#""https://example.com/mine""#,
        r#""""#,
        "7",
        "null",
    ] {
        let schema = format!(r#"{{"$schema":{dialect},"type":"object"}}"#);
        let reason = "t: the dialect of a schema must be JSON Schema 2020-12 or draft-07";
        assert_eq!(check(&schema), Err(reason.into()), "{schema}");
        let reason = "$schema: the dialect must be JSON Schema 2020-12 or draft-07";
        for found in [fault(&schema, "{}"), verdict(&schema, Some("{}"))] {
            assert_eq!(found.as_deref(), Some(reason), "{schema}");
        }
        // An output schema as well.
        let tool = Tool::new("t", raw(DEFAULT)).output_schema(raw(&schema));
        assert!(Catalog::new().tools(&[Entry::from(&tool)]).check().is_err());
    }
}

#[test]
fn sch_05_the_dialects_are_documented() {
    let source = include_str!("../../../../core/src/catalog/mod.rs");
    let documentation = source.split("pub struct Catalog<'c>").next().expect("the beginning");
    for part in ["/// Schemas are JSON Schema 2020-12", "draft-07"] {
        assert!(documentation.contains(part), "{part}");
    }
}

#[test]
fn sch_06_sch_07_sch_09_nothing_outside_of_a_schema_is_referred_to() {
    for reference in [
        "https://example.com/a.json",
        "http://localhost/a",
        "a.json",
        "/a",
        "//example.com/a",
        "urn:x:y",
        "file:///a",
        "",
        "?a#b",
    ] {
        for key in ["$ref", "$dynamicRef", r"\u0024ref", r"$dynamic\u0052ef"] {
            for schema in [
                format!(r#"{{"type":"object","{key}":"{reference}"}}"#),
                format!(
                    r#"{{"type":"object","properties":{{"a":{{"items":[{{"{key}" : "{reference}"}}]}}}}}}"#
                ),
                format!("{{\"type\":\"object\",\"allOf\":[{{\"{key}\"\t:\r\n\"{reference}\"}}]}}"),
            ] {
                let reason = "t: a schema may not contain external references";
                assert_eq!(check(&schema), Err(reason.into()), "{schema}");
                // An unchecked reference is not followed: nothing is sent.
                assert_eq!(fault(&schema, "{}"), None);
                // A client does not believe a result that such a schema describes.
                let reason = "$ref: is an external reference, which is not supported";
                assert_eq!(verdict(&schema, Some("{}")).as_deref(), Some(reason), "{schema}");
            }
        }
    }
    for inside in ["#", "#/$defs/a", "#anchor"] {
        let schema = format!(r#"{{"type":"object","properties":{{"a":{{"$ref":"{inside}"}}}}}}"#);
        assert_eq!((check(&schema), verdict(&schema, Some("{}"))), (Ok(()), None));
    }
    // An argument with that name, and a text that contains it.
    let schema = r#"{"type":"object","properties":{"$ref":{"type":"string"}},"description":"\"$ref\":\"https://example.com\""}"#;
    assert_eq!(check(schema), Ok(()));
}

#[test]
fn sch_10_deep_and_long_schemas_cost_bounded_time_and_no_stack() {
    let nested = |levels: usize| {
        let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        format!(r#"{{"type":"object","properties":{open}1{close}}}"#)
    };
    let most = usize::try_from(MAX_DEPTH).expect("a small number");
    let deepest = nested(most - 1);
    assert_eq!((check(&deepest), fault(&deepest, r#"{"a":{"a":{}}}"#)), (Ok(()), None));
    assert!(RawJson::parse(&nested(most)).is_err(), "RawJson refuses the nesting");
    let in_a_tool = nested(most - 2);
    assert_eq!(verdict(&in_a_tool, Some(r#"{"a":{"a":{}}}"#)), None);
    let (open, close) = (r#"{"items":"#.repeat(20), "}".repeat(20));
    let lists =
        format!(r#"{{"type":"object","properties":{{"a":{open}{{"type":"string"}}{close}}}}}"#);
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(20), "]".repeat(20));
    assert_eq!(fault(&lists, &deep), None, "nesting beyond the limit is not searched");

    let text = "x".repeat(300);
    let join = |one: &dyn Fn(u32) -> String| (0..200).map(one).collect::<Vec<_>>().join(",");
    let properties = join(&|n| {
        format!(r##""property{n}":{{"type":"string","$ref":"#/{n}","description":"{text}"}}"##)
    });
    let required = join(&|n| format!(r#""property{n}""#));
    let schema = format!(
        r#"{{"type":"object","properties":{{{properties}}},"required":[{required}],"additionalProperties":false}}"#
    );
    assert!(schema.len() > 1 << 16);
    let arguments = format!("{{{}}}", join(&|n| format!(r#""property{n}":"""#)));
    let begun = Instant::now();
    assert_eq!((check(&schema), fault(&schema, &arguments)), (Ok(()), None));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn tool_17_tool_19_arguments_are_measured_by_the_schema() {
    let schema = r##"{"type":"object","properties":{
        "city":{"type":"string","minLength":2,"maxLength":4},
        "count":{"type":"integer","minimum":1,"maximum":9007199254740993},
        "share":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},
        "on":{"type":"boolean"},
        "none":{"type":"null"},
        "unit":{"enum":["C","F",1,null,[1]]},
        "kind":{"const":"k"},
        "tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","minLength":1}},
        "either":{"type":["string","integer"]},
        "other":{"type":"object","properties":{"deep":{"type":"string"}}},
        "free":{},
        "yes":true,
        "never":false,
        "n\u00e9":{"type":"string"},
        "a\"b":{"type":"string"}
    },"required":["city"],"additionalProperties":false}"##;
    assert_eq!(check(schema), Ok(()));
    for good in [
        r#"{"city":"ab"}"#,
        r#"{"c\u0069ty":"\u0061\ud83d\ude00bc"}"#,
        r#"{"city":"ab","count":1,"share":0.5,"on":false,"none":null,"unit":"\u0043","kind":"k","tags":["x","y"],"either":"x"}"#,
        r#"{"city":"ab","count":9007199254740993,"either":-1,"unit":1.0}"#,
        r#"{"city":"ab","count":4.0,"unit":null}"#,
        r#"{"city":"ab","count":1e2,"unit":[2]}"#,
        r#"{"city":"ab","other":{"deep":7},"free":[{}],"yes":1,"né":""}"#,
    ] {
        assert_eq!(fault(schema, good), None, "{good}");
    }
    for (bad, name) in [
        ("{}", "city"),
        (r#"{"city":7}"#, "city"),
        (r#"{"city":null}"#, "city"),
        (r#"{"city":"a"}"#, "city"),
        (r#"{"city":"\u0061bcde"}"#, "city"),
        (r#"{"city":"ab","count":0}"#, "count"),
        (r#"{"city":"ab","count":9007199254740994}"#, "count"),
        (r#"{"city":"ab","count":1.5}"#, "count"),
        (r#"{"city":"ab","count":"1"}"#, "count"),
        (r#"{"city":"ab","share":0}"#, "share"),
        (r#"{"city":"ab","share":1.0}"#, "share"),
        (r#"{"city":"ab","share":true}"#, "share"),
        (r#"{"city":"ab","on":"true"}"#, "on"),
        (r#"{"city":"ab","on":0}"#, "on"),
        (r#"{"city":"ab","none":false}"#, "none"),
        (r#"{"city":"ab","unit":"K"}"#, "unit"),
        (r#"{"city":"ab","unit":2}"#, "unit"),
        (r#"{"city":"ab","unit":"1"}"#, "unit"),
        (r#"{"city":"ab","unit":{}}"#, "unit"),
        (r#"{"city":"ab","kind":"l"}"#, "kind"),
        (r#"{"city":"ab","kind":null}"#, "kind"),
        (r#"{"city":"ab","tags":[]}"#, "tags"),
        (r#"{"city":"ab","tags":["a","b","c"]}"#, "tags"),
        (r#"{"city":"ab","tags":["a",1]}"#, "tags"),
        (r#"{"city":"ab","tags":[""]}"#, "tags"),
        (r#"{"city":"ab","tags":{}}"#, "tags"),
        (r#"{"city":"ab","either":1.5}"#, "either"),
        (r#"{"city":"ab","either":null}"#, "either"),
        (r#"{"city":"ab","other":[]}"#, "other"),
        (r#"{"city":"ab","never":1}"#, "never"),
        (r#"{"city":"ab","n\u00e9":1}"#, r"n\u00e9"),
        (r#"{"city":"ab","City":"ab"}"#, "City"),
    ] {
        let found = fault(schema, bad).unwrap_or_else(|| panic!("{bad} passes"));
        assert_eq!(found.split(": ").next(), Some(name), "{bad}: {found}");
    }
    // Escapes are of the letters that they stand for: none of these is a keyword.
    let others =
        r#"{"\type":"array","\required":["b"],"properties":{"a":{"type":"\number","e\num":[1]}}}"#;
    assert_eq!(fault(others, r#"{"a":"b"}"#), None);
    // Open schemas allow more; a pattern may allow anything.
    for (rest, expected) in [
        ("", None),
        (r#","additionalProperties":{}"#, None),
        (r#","additionalProperties":false,"patternProperties":{"a":{}}"#, None),
        (r#","additionalProperties":false"#, Some("a: is unknown")),
    ] {
        let found = fault(&format!(r#"{{"type":"object"{rest}}}"#), r#"{"a":1}"#);
        assert_eq!(found.as_deref(), expected, "{rest}");
    }
}

#[test]
fn tool_17_a_schema_that_was_read_before_has_the_rules_of_its_text() {
    static READ: &[Entry<'static>] =
        entries![Tool::new("t", RawJson::EMPTY).output_schema(SCHEMA), Tool::new("u", SCHEMA)];
    const SCHEMA: RawJson = RawJson::from_static(
        r#"{
        "type":"object","required":["c\u0061t","n"],"additionalProperties":false,
        "properties":{"cat":{"enum":["a","b"]},"n":{"type":"integer","maximum":3}}}"#,
    );
    let tool = Tool::new("t", RawJson::EMPTY).output_schema(SCHEMA);
    for (content, fault) in [
        (r#"{"cat":"a","n":3}"#, None),
        (r#"{"n":3,"c\u0061t":"\u0062"}"#, None),
        (r#"{"cat":"a"}"#, Some("n: is missing")),
        (r#"{"n":1,"n":2}"#, Some(r"c\u0061t: is missing")),
        (r#"{"n":4,"cat":"a"}"#, Some("n: must be at most 3, is 4")),
        (r#"{"cat":"a","n":1,"m":1}"#, Some("m: is unknown, must be one of cat, n")),
        ("[]", Some("the value: must be of type object, is an array")),
    ] {
        for entry in [&READ[0], &Entry::from(&tool)] {
            let checked = entry.check_structured(Some(raw(content)));
            assert_eq!(checked.err().map(|error| error.to_string()).as_deref(), fault);
        }
    }
    // More names than are counted, names that are not properties, and what is no name.
    let members = |count: usize, value: &str| {
        (0..count).map(|at| format!(r#""m{at}"{value}"#)).collect::<Vec<_>>().join(",")
    };
    for required in [members(300, ""), r#"1,"m70""#.into(), r#""m70","other""#.into()] {
        let schema = format!(
            r#"{{"type":"object","properties":{{{}}},"required":[{required}]}}"#,
            members(80, ":{}")
        );
        let missing = fault(&schema, &format!("{{{}}}", members(70, ":1")));
        assert_eq!(missing.as_deref(), Some("m70: is missing"));
    }
}

#[test]
fn tool_11_a_result_is_measured_by_the_output_schema_of_its_tool() {
    let schema = r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#;
    let tool = Tool::new("a\u{1b}d", raw(DEFAULT)).output_schema(raw(schema));
    let fault = |result: &str, revision| {
        let checked = Entry::from(&tool).check_result(&raw(result), revision);
        checked.err().map(|error| error.to_string())
    };
    let content = |value: &str| format!(r#"{{"content":[],"structuredContent":{value}}}"#);
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        assert_eq!(fault(&content(r#"{"sum":7,"more":1}"#), revision), None);
        assert_eq!(fault(r#"{"content":[],"isError":true}"#, revision), None);
        assert_eq!(fault(r#"{"resultType":"input_required"}"#, revision), None);
        for (result, words) in [
            (content(r#"{"sum":"7"}"#), r#"sum: must be of type integer, is "7""#),
            (content("{}"), "sum: is missing"),
            (content("[]"), "the value: must be of type object, is an array"),
            (r#"{"content":[],"isError":false}"#.into(), "structuredContent: is missing"),
            (r#"{"content":[],"resultType":"complete"}"#.into(), "structuredContent: is missing"),
        ] {
            let words = format!("the result of a\\u001bd breaks its output schema: {words}");
            assert_eq!(fault(&result, revision), Some(words));
        }
    }
    assert_eq!(fault(r#"{"content":[]}"#, Revision::V2025_03_26), None);
    // Clients before 2026-07-28 see neither a schema of a list nor what is no object.
    let list = Tool::new("t", raw(DEFAULT)).output_schema(raw(r#"{"type":"array"}"#));
    for revision in REVISIONS {
        let checked = Entry::from(&list).check_result(&raw(r#"{"content":[]}"#), revision);
        assert_eq!(checked.is_err(), revision.is_modern(), "{revision}");
    }
    let without = Tool::new("t", raw(DEFAULT));
    assert!(Entry::from(&without).check_result(&raw("{}"), Revision::LATEST).is_ok());
}

#[test]
fn tool_11_structured_content_is_measured_by_the_output_schema() {
    let weather = r#"{"type":"object","properties":{"degrees":{"type":"number"},"sky":{"enum":["sun","rain"]}},"required":["degrees"]}"#;
    assert_eq!(verdict(weather, Some(r#"{"degrees":21.5,"sky":"rain"}"#)), None);
    assert_eq!(verdict(weather, None).as_deref(), Some("structuredContent: is missing"));
    assert_eq!(verdict(weather, Some("{}")).as_deref(), Some("degrees: is missing"));
    for (content, place) in [
        (r#"{"degrees":"21"}"#, "degrees"),
        (r#"{"degrees":21,"sky":"snow"}"#, "sky"),
        ("null", "the value"),
    ] {
        assert!(verdict(weather, Some(content)).is_some_and(|fault| fault.starts_with(place)));
    }
    // From 2026-07-28 on it can be anything.
    let list = r#"{"type":"array","items":{"type":"integer"}}"#;
    assert_eq!(
        (verdict(list, Some("[1,2]")), verdict(list, Some(r#"[1,"2"]"#)).is_some()),
        (None, true)
    );
    assert_eq!(verdict(r#"{"type":"null"}"#, Some("null")), None);
    // Arrays in arrays are checked down to two levels.
    let nested = format!(r#"{{"items":{{"items":{list}}}}}"#);
    assert_eq!(verdict(&nested, Some("[[[1]]]")), None);
    assert!(verdict(&nested, Some("[[1]]")).is_some(), "the second level");
    assert_eq!(verdict(&nested, Some(r#"[[["not checked"]]]"#)), None);
    let without = Tool::new("t", raw(DEFAULT));
    for content in [None, Some(RawJson::NULL)] {
        assert!(Entry::from(&without).check_structured(content).is_ok());
    }
    // The result of the example's tool.
    let tools = everything();
    let structured = tools.iter().find(|tool| tool["name"] == "structured").expect("the tool");
    let schema = structured["outputSchema"].to_string();
    let result = r#"{"city":"x","temperature":21.5,"conditions":"sun"}"#;
    assert_eq!(verdict(&schema, Some(result)), None);
    assert!(verdict(&schema, Some(&result.replace("21.5", "\"warm\""))).is_some());
}

#[test]
fn sch_04_sch_11_schemas_that_the_examples_publish_are_valid_ones_of_2020_12() {
    let mut schemas = Vec::new();
    for tool in everything() {
        schemas.push(tool["inputSchema"].clone());
        schemas.extend(tool.get("outputSchema").cloned());
    }
    let mut buffer = vec![0; 1 << 14];
    for form in [
        RequestedSchema::of::<everything_forms::Name>(),
        RequestedSchema::of::<everything_forms::Confirm>(),
        RequestedSchema::of::<everything_forms::Colour>(),
        RequestedSchema::of::<everything_forms::Purpose>(),
        RequestedSchema::of::<everything_forms::User>(),
        RequestedSchema::of::<everything_forms::Defaults>(),
        everything_forms::CHOICES,
    ] {
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            let text = to_slice(&form, revision, &mut buffer).expect("the value can be written");
            let read: RequestedSchema<'_> = text.to().expect("a form");
            assert_eq!(read.validate(), Ok(()));
            schemas.push(serde_json::from_str(text.as_str()).expect("JSON"));
        }
    }
    assert!(schemas.len() > 50);
    for schema in &schemas {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{schema}");
        assert!(
            schema["type"] == "object"
                && schema.get("$schema").is_none_or(|dialect| dialect == "https://json-schema.org/draft/2020-12/schema")
        );
    }
}

/// Returns the tools of the everything server.
fn everything() -> Vec<Value> {
    let (mut peer, catalog) = (Peer::new(Revision::LATEST), everything_catalog::CATALOG);
    let mut list = peer.look_up(&catalog, "tools/list", json!({}));
    serde_json::from_value(list["result"]["tools"].take()).expect("a list")
}
