//! The constant schemas.

use mcp_sansio::typed::InputObject;
use mcp_sansio::types::Tool;
use mcp_sansio::{Catalog, Entry, RawJson};

use crate::zoo::*;

const QUERY: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""sql":{"type":"string","minLength":1,"maxLength":20,"title":"SQL","description":"The statement, in one \"line\".\nAnother paragraph."},"#,
    r#""limit":{"type":"integer","minimum":1,"maximum":1000,"default":100},"#,
    r#""mode":{"type":"string","enum":["fast","very_exact","best-effort"],"description":"How it is run.","default":"fast"},"#,
    r#""tags":{"type":"array","items":{"type":"string"},"maxItems":3,"description":"**Short** words."},"#,
    r#""columns":{"type":"array","items":{"type":"object","properties":{"columnName":{"type":"string"},"type":{"type":"string","enum":["text","big-integer"],"description":"*Type* of values: * a text or é integer."},"ascending":{"type":"boolean"}},"required":["columnName","ascending"],"additionalProperties":false,"description":"A column."}},"#,
    r#""region":{"type":"string","default":"eu\"west\"","x-mcp-header":"Region"}"#,
    r#"},"required":["sql"],"additionalProperties":false}"#,
);

const DRAWING: &str = concat!(
    r#"{"type":"object","properties":{"shapes":{"type":"array","items":{"type":"object","oneOf":["#,
    r#"{"properties":{"kind":{"const":"circle"},"radius":{"type":"integer","minimum":1,"maximum":65535},"label":{"type":"string"}},"required":["kind","radius"],"additionalProperties":false,"description":"A circle."},"#,
    r#"{"properties":{"kind":{"const":"line"},"from":{"type":"object","properties":{"x":{"type":"integer","minimum":-100,"maximum":100},"y":{"type":"integer","default":-1}},"required":["x"],"description":"A point."},"to":{"type":"object","properties":{"x":{"type":"integer","minimum":-100,"maximum":100},"y":{"type":"integer","default":-1}},"required":["x"],"description":"A point."}},"required":["kind","from","to"],"additionalProperties":false,"description":"A line."},"#,
    r#"{"properties":{"kind":{"const":"nothing"}},"required":["kind"],"additionalProperties":false}]},"minItems":1},"#,
    r#""origin":{"type":"object","properties":{"x":{"type":"integer","minimum":-100,"maximum":100},"y":{"type":"integer","default":-1}},"required":["x"],"description":"Where it begins."},"#,
    r#""opacity":{"type":"number","minimum":0.0,"maximum":1.5e0,"default":0.5},"#,
    r#""offset":{"type":"number","minimum":-0.25},"scale":{"type":"number"},"#,
    r#""angle":{"type":"integer","minimum":0,"maximum":359,"description":"An angle."},"#,
    r#""is_filled":{"type":"boolean","default":false},"type":{}},"#,
    r#""required":["shapes","origin"],"additionalProperties":false}"#,
);

#[test]
fn the_schema_is_a_constant_text() {
    assert_eq!(Query::SCHEMA.as_str(), QUERY);
    assert_eq!(Drawing::SCHEMA.as_str(), DRAWING);
    let expected = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    assert_eq!(Nothing::SCHEMA.as_str(), expected);
    const _: RawJson<'static> = Query::SCHEMA;
}

#[test]
fn the_schema_is_valid_for_the_meta_schema_and_for_the_catalog() {
    for schema in
        [Query::SCHEMA, Drawing::SCHEMA, Numbers::SCHEMA, Formats::SCHEMA, Nothing::SCHEMA]
    {
        let value = serde_json::from_str(schema.as_str()).unwrap();
        assert!(jsonschema::draft202012::meta::is_valid(&value), "{schema}");
        Catalog::new().tools(&[Entry::from(&Tool::new("tool", schema))]).check().unwrap();
    }
}
