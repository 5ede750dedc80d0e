//! Checks of a catalog that need no server.

use crate::catalog::list::List;
use crate::catalog::schema::is_known_dialect;
use crate::catalog::{CatalogError, Entry};
use crate::json::RawJson;
use crate::types::Text;

pub(crate) fn check<'c>(
    tools: List<'c>,
    resources: &'c [Entry<'c>],
    templates: &'c [Entry<'c>],
    prompts: &'c [Entry<'c>],
) -> Result<(), CatalogError<'c>> {
    for (at, tool) in tools.iter().enumerate() {
        let reason =
            |reason| Err(CatalogError { entry: tool.key.as_plain().unwrap_or("(a tool)"), reason });
        if !is_tool_name(tool.key) {
            return reason("a tool name must be 1 to 128 characters of A-Z a-z 0-9 _ - .");
        }
        if tools.iter().take(at).any(|other| other.key == tool.key) {
            return reason("two tools have this name");
        }
        if let Err(found) = check_schema(tool.input_schema()) {
            return reason(found);
        }
        if tool
            .input_schema()
            .get("type")
            .and_then(RawJson::as_string)
            .is_none_or(|kind| kind != "object")
        {
            return reason("the type of an input schema must be object");
        }
        #[cfg(feature = "http")]
        if let Err(found) = crate::param_headers::check_schema(tool.input_schema()) {
            return reason(found);
        }
        if let Some(found) = tool.output_schema().and_then(|schema| check_schema(schema).err()) {
            return reason(found);
        }
    }
    for (at, resource) in resources.iter().enumerate() {
        let reason = |reason| {
            Err(CatalogError { entry: resource.key.as_plain().unwrap_or("(a resource)"), reason })
        };
        if !resource.key.as_plain().is_some_and(is_uri) {
            return reason(
                "a resource URI must have a scheme and only characters that RFC 3986 allows",
            );
        }
        if resources.iter().take(at).any(|other| other.key == resource.key) {
            return reason("two resources have this URI");
        }
    }
    for (at, template) in templates.iter().enumerate() {
        let reason = |reason| {
            Err(CatalogError { entry: template.key.as_plain().unwrap_or("(a template)"), reason })
        };
        let Some(pattern) = template.key.as_plain() else {
            return reason("a template may not contain JSON escapes");
        };
        if !crate::uri_template::is_valid(pattern) {
            return reason(
                "only {name} and {+name} are supported in a template, with literal text between two of them",
            );
        }
        if !(pattern.starts_with('{') || begins_with_scheme(pattern))
            || !crate::uri_template::literals(pattern).all(has_uri_characters)
        {
            return reason(
                "a template must have a scheme and only characters that RFC 3986 allows",
            );
        }
        if templates.iter().take(at).any(|other| other.key == template.key) {
            return reason("two templates are the same");
        }
    }
    for (at, prompt) in prompts.iter().enumerate() {
        let reason = |reason| {
            Err(CatalogError { entry: prompt.key.as_plain().unwrap_or("(a prompt)"), reason })
        };
        if prompt.key.as_plain().is_some_and(str::is_empty) {
            return reason("a prompt must have a name");
        }
        if prompts.iter().take(at).any(|other| other.key == prompt.key) {
            return reason("two prompts have this name");
        }
    }
    Ok(())
}

fn is_tool_name(name: Text<'_>) -> bool {
    let Some(name) = name.as_plain() else { return false };
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// RFC 3986: a scheme, a colon, and only characters that may stand in a URI.
fn is_uri(uri: &str) -> bool {
    begins_with_scheme(uri) && has_uri_characters(uri)
}

fn begins_with_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

fn has_uri_characters(text: &str) -> bool {
    let encoded = |digits: &str| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b))
        && text.split('%').skip(1).all(|rest| rest.get(..2).is_some_and(encoded))
}

/// Checks that a schema is an object, of a known dialect, without duplicate keys and external
/// references.
fn check_schema(schema: RawJson<'_>) -> Result<(), &'static str> {
    if !schema.is_object() {
        return Err("a schema must be a JSON object");
    }
    if schema.has_duplicate_key() {
        return Err("two members of an object in a schema have the same key");
    }
    if !is_known_dialect(schema) {
        return Err("the dialect of a schema must be JSON Schema 2020-12 or draft-07");
    }
    if refers_outside(schema) {
        return Err("a schema may not contain external references");
    }
    Ok(())
}

/// Whether a `$ref` or `$dynamicRef` does not begin with `#`. Searches the text for the keys, since
/// schemas may be nested to any depth.
pub(super) fn refers_outside(schema: RawJson<'_>) -> bool {
    let text = schema.as_str();
    text.match_indices("\"$ref\"").chain(text.match_indices("\"$dynamicRef\"")).any(|(at, key)| {
        let rest = text.get(at + key.len()..).unwrap_or_default().trim_start();
        let Some(value) = rest.strip_prefix(':') else { return false };
        let value = value.trim_start();
        value.starts_with('"') && !value.starts_with("\"#")
    })
}
