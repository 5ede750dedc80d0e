//! Schemas of serde's types.

use mcp_sansio::types::Tool;
use mcp_sansio::{Catalog, Entry};
use mcp_sansio_adapters::schema_of;
use schemars::JsonSchema;
use serde_json::{Value, json};

/// Arguments of a search.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only the schema is of interest")]
struct Search {
    /// What to look for
    #[schemars(length(min = 1))]
    text: String,
    limit: Option<u16>,
    weight: Option<f32>,
    from: Option<Place>,
    /// Where it ends
    to: Option<Place>,
    mode: Option<Mode>,
    #[schemars(default)]
    seen: Option<bool>,
    /// May be null, but not missing.
    #[schemars(required)]
    note: Option<String>,
    nested: Vec<Place>,
    title: String,
    any: Option<Value>,
}

/// A place.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only the schema is of interest")]
struct Place {
    x: i64,
    /// Its name
    title: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code, reason = "only the schema is of interest")]
enum Mode {
    Fast,
    Exact,
}

#[derive(JsonSchema)]
#[schemars(title = "A tree of texts")]
#[allow(dead_code, reason = "only the schema is of interest")]
struct Tree {
    text: Option<String>,
    children: Vec<Tree>,
}

fn schema<T: JsonSchema>() -> Value {
    let schema = schema_of::<T>();
    Catalog::new().tools(&[Entry::from(&Tool::new("tool", schema))]).check().unwrap();
    serde_json::from_str(schema.as_str()).unwrap()
}

#[test]
fn types_are_inlined_and_optional_members_are_not_nullable() {
    let place = json!({
        "type": "object",
        "description": "A place.",
        "properties": {
            "x": {"type": "integer"},
            "title": {"type": "string", "description": "Its name"},
        },
        "required": ["x"],
    });
    let mut to = place.clone();
    to["description"] = json!("Where it ends");
    assert_eq!(
        schema::<Search>(),
        json!({
            "type": "object",
            "description": "Arguments of a search.",
            "properties": {
                "text": {"type": "string", "description": "What to look for", "minLength": 1},
                "limit": {"type": "integer", "minimum": 0, "maximum": 65535},
                "weight": {"type": "number"},
                "from": place,
                "to": to,
                "mode": {"type": "string", "enum": ["fast", "exact"]},
                "seen": {"type": "boolean"},
                "note": {"type": "string", "description": "May be null, but not missing."},
                "nested": {"type": "array", "items": place},
                "title": {"type": "string"},
                "any": true,
            },
            "required": ["text", "note", "nested", "title"],
        })
    );
}

#[test]
fn recursive_types_refer_to_themselves_and_a_chosen_title_stays() {
    let schema = schema::<Tree>();
    assert_eq!(schema["title"], "A tree of texts");
    assert_eq!(schema["properties"]["text"], json!({"type": "string"}));
    let children = &schema["properties"]["children"]["items"]["$ref"];
    assert!(children.as_str().is_some_and(|path| path.starts_with('#')), "{schema}");
}
