//! Schemas of serde's types.

use mcp_sansio::RawJson;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

/// Returns the JSON Schema of a type, for a tool whose arguments or structured content it is.
///
/// It is written as most clients read it: nested types stand where they are used, unless they are
/// recursive; without `$schema`, the name of the type as `title`, and formats of numbers, which
/// JSON Schema does not know. An optional member is not nullable, but may be missing.
///
/// The schema is made by each call and kept for good: call it once for each type, at start.
///
/// ```
/// use mcp_sansio_adapters::schema_of;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Add {
///     /// The first summand
///     a: u32,
///     b: Option<u32>,
/// }
///
/// let schema: serde_json::Value = schema_of::<Add>().to().unwrap();
/// assert_eq!(
///     schema,
///     serde_json::json!({
///         "type": "object",
///         "properties": {
///             "a": {"type": "integer", "description": "The first summand", "minimum": 0},
///             "b": {"type": "integer", "minimum": 0},
///         },
///         "required": ["a"],
///         "additionalProperties": false,
///     })
/// );
/// ```
///
/// The catalog checks the first level of the arguments, and the tool reads them:
///
/// ```no_run
/// # use mcp_sansio::types::{Implementation, TextResult, Tool};
/// # use mcp_sansio::{Catalog, Entry, RpcError, ServerConfig, ServerFeatures};
/// # use mcp_sansio_adapters::blocking::{App, Error};
/// # use mcp_sansio_adapters::schema_of;
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Add { a: u32, b: Option<u32> }
/// # static CONFIG: ServerConfig =
/// #     ServerConfig::new(Implementation::new("adder", "0.1.0"), ServerFeatures::TOOLS);
/// # fn main() -> Result<(), Error> {
/// let add = Tool::new("add", schema_of::<Add>()).description("Adds two numbers");
/// let tools = [Entry::from(&add)];
/// let catalog = Catalog::new().tools(&tools);
/// App::new(&CONFIG).catalog(&catalog).serve(|ctx| match ctx.request()?.arguments().to() {
///     Ok(Add { a, b }) => {
///         let sum = u64::from(a) + u64::from(b.unwrap_or(0));
///         ctx.respond(&TextResult::new(&sum.to_string()))
///     }
///     Err(_) => ctx.respond_error(&RpcError::invalid_params("Invalid arguments")),
/// })
/// # }
/// ```
#[must_use]
pub fn schema_of<T: JsonSchema>() -> RawJson<'static> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if schema.get("title").and_then(Value::as_str) == Some(&T::schema_name()) {
        schema.remove("title");
    }
    RecursiveTransform(simplify).transform(&mut schema);
    // A `Value` always is JSON, and only then a schema.
    RawJson::parse(schema.to_value().to_string().leak()).unwrap_or(RawJson::EMPTY)
}

fn simplify(schema: &mut schemars::Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    let is_number = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    let has_number = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        kind => kind.is_some_and(is_number),
    };
    if has_number {
        schema.remove("format");
    }
    let required = match schema.get("required") {
        Some(Value::Array(required)) => required.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        if !required.iter().any(|required| required == name) {
            take_null(property);
        }
    }
}

/// Takes `null` out of what a member may be.
fn take_null(property: &mut Value) {
    let Value::Object(property) = property else { return };
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &mut kinds[..] {
            let kind = kind.take();
            property.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    if let Some(Value::Array(schemas)) = property.get_mut("anyOf") {
        schemas.retain(|schema| schema.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = &mut schemas[..] {
            let only = std::mem::take(only);
            property.remove("anyOf");
            for (keyword, value) in only {
                // The words of the member itself stand before those of its type.
                property.entry(keyword).or_insert(value);
            }
        }
    }
}
