//! Schemas of tools, checked by the client.

use mcp_sansio::types::Tool;
use mcp_sansio::{Entry, RawJson};

use super::support::raw;

/// Validates `content` by the output schema of a listed tool.
fn fault(schema: &str, content: &str) -> Option<String> {
    let listed =
        format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}"#);
    let tool: Tool<'_> = raw(&listed).to().expect("a tool");
    // An entry that owns its text has read the schema before.
    let [text, read] = [Entry::from(&tool), Entry::from(tool)].map(|entry| {
        entry.check_structured(Some(raw(content))).err().map(|fault| fault.to_string())
    });
    assert_eq!(text, read, "{schema} {content}");
    read
}

#[test]
fn sch_01_sch_02_results_are_read_by_the_dialect_of_their_schema() {
    let rest = r##""$defs":{"a":{}},"properties":{"a":{"$ref":"#/$defs/a","type":"string"}}}"##;
    for new in ["", r#""$schema":"https://json-schema.org/draft/2020-12/schema","#] {
        let found = fault(&format!("{{{new}{rest}"), r#"{"a":1}"#);
        assert_eq!(found.as_deref(), Some("a: must be of type string, is 1"));
    }
    let old = format!(r#"{{"$schema":"http://json-schema.org/draft-07/schema#",{rest}"#);
    assert_eq!(fault(&old, r#"{"a":1}"#), None, "draft-07 ignores keywords beside a reference");
}

#[test]
fn sch_03_results_of_an_unknown_dialect_are_not_believed() {
    for dialect in [
        r#""http://json-schema.org/draft-04/schema#""#,
        r#""https://example.com/mine""#,
        "7",
        "null",
    ] {
        let found = fault(&format!(r#"{{"$schema":{dialect},"type":"object"}}"#), "{}");
        let expected = "$schema: the dialect must be JSON Schema 2020-12 or draft-07";
        assert_eq!(found.as_deref(), Some(expected), "{dialect}");
    }
}

#[test]
fn sch_06_sch_07_sch_09_a_schema_that_refers_outside_of_itself_is_rejected() {
    for reference in ["https://example.com/a.json", "a.json", "/a", "file:///a", "urn:x:y", ""] {
        for key in ["$ref", "$dynamicRef"] {
            let schema =
                format!(r#"{{"type":"object","properties":{{"a":{{"{key}":"{reference}"}}}}}}"#);
            let expected = "$ref: is an external reference, which is not supported";
            assert_eq!(fault(&schema, "{}").as_deref(), Some(expected), "{reference}");
        }
    }
    assert_eq!(fault(r##"{"type":"object","$ref":"#/$defs/a"}"##, "{}"), None);
}

#[test]
fn sch_10_a_servers_schema_costs_bounded_time_and_no_stack() {
    let nested = |depth: usize| format!(r#"{}1{}"#, r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let schema = |depth: usize| format!(r#"{{"type":"object","properties":{}}}"#, nested(depth));
    let deep = usize::try_from(mcp_sansio::MAX_DEPTH).expect("a small number") - 3;
    assert_eq!(fault(&schema(deep), r#"{"a":{"a":{}}}"#), None);
    assert!(RawJson::parse(&schema(deep + 10)).is_err(), "RawJson refuses the nesting");
}
