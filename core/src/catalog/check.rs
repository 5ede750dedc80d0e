//! Checks of a catalog that need no server.

use crate::catalog::entry::Kind;
use crate::catalog::list::EntryList;
use crate::catalog::schema::is_known_dialect;
use crate::catalog::{CatalogError, Entry};
use crate::json::RawJson;
#[cfg(feature = "skills")]
use crate::skills::ServedSkill;
use crate::types::Text;

pub(super) fn check<'c>(list: EntryList<'c>) -> Result<(), CatalogError<'c>> {
    for (at, entry) in list.iter().enumerate() {
        let others = list.iter().take(at);
        check_entry(entry, others).map_err(|reason| {
            let unnamed = match entry.list() {
                Kind::TOOL => "(a tool)",
                Kind::RESOURCE => "(a resource)",
                Kind::TEMPLATE => "(a template)",
                _ => "(a prompt)",
            };
            CatalogError { entry: entry.key().as_plain().unwrap_or(unnamed), reason }
        })?;
    }
    Ok(())
}

#[cfg(feature = "skills")]
pub(super) fn check_skills<'c>(skills: &'c [ServedSkill<'c>]) -> Result<(), CatalogError<'c>> {
    for (at, skill) in skills.iter().enumerate() {
        let uri = skill.skill().uri;
        let fault = |reason| CatalogError { entry: uri.as_plain().unwrap_or("(a skill)"), reason };
        skill.skill().check().map_err(|error| fault(error.rule()))?;
        if skills.iter().take(at).any(|other| other.skill().uri == uri) {
            return Err(fault("two skills have this URI"));
        }
        if !skill.has_all_contents() {
            return Err(fault("a skill must have the contents of its files"));
        }
    }
    Ok(())
}

/// Checks an entry, and that none of the others has its key.
pub(super) fn check_entry<'c>(
    entry: &Entry<'_>,
    mut others: impl Iterator<Item = &'c Entry<'c>>,
) -> Result<(), &'static str> {
    let key = entry.key();
    let mut is_used = || others.any(|other| other.key() == key);
    match entry.kind() {
        Kind::Tool { input, output, .. } => {
            if !is_tool_name(key) {
                return Err("a tool name must be 1 to 128 characters of A-Z a-z 0-9 _ - .");
            }
            if is_used() {
                return Err("two tools have this name");
            }
            check_schema(input)?;
            if !input.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object")
            {
                return Err("the type of an input schema must be object");
            }
            #[cfg(feature = "http")]
            crate::param_headers::check_schema(input)?;
            output.map_or(Ok(()), check_schema)
        }
        Kind::Resource => {
            if !key.as_plain().is_some_and(is_uri) {
                return Err(
                    "a resource URI must have a scheme and only characters that RFC 3986 allows",
                );
            }
            if is_used() { Err("two resources have this URI") } else { Ok(()) }
        }
        Kind::Template => {
            let pattern = key.as_plain().ok_or("a template may not contain JSON escapes")?;
            if !crate::uri_template::is_valid(pattern) {
                return Err(
                    "only {name} and {+name} are supported in a template, with literal text between two of them",
                );
            }
            if !(pattern.starts_with('{') || begins_with_scheme(pattern))
                || !crate::uri_template::literals(pattern).all(has_uri_characters)
            {
                return Err(
                    "a template must have a scheme and only characters that RFC 3986 allows",
                );
            }
            if is_used() { Err("two templates are the same") } else { Ok(()) }
        }
        Kind::Prompt(_) => {
            if key.is_empty() {
                return Err("a prompt must have a name");
            }
            if is_used() { Err("two prompts have this name") } else { Ok(()) }
        }
    }
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
