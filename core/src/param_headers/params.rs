//! Arguments of a tool that are repeated in header fields: those annotated with `x-mcp-header` in
//! its input schema.

use crate::bytes::copy;
use crate::json::{JsonStr, Members, RawJson};
use crate::message::hash_lower_case;

/// Returns the annotated properties of an input schema, each with its argument.
///
/// ```
/// use mcp_sansio::RawJson;
/// use mcp_sansio::http::param_headers::{FieldValue, header_params};
///
/// let schema = RawJson::from_static(
///     r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
/// );
/// let arguments = RawJson::from_static(r#"{"region":"us-west1"}"#);
/// for param in header_params(schema, arguments) {
///     let name = param.name().unwrap();
///     let value = FieldValue::argument(param.value.unwrap()).unwrap().unwrap();
///     assert_eq!(format!("{}: {value}", name.as_str()), "Mcp-Param-Region: us-west1");
/// }
/// ```
#[must_use]
pub fn header_params<'s, 'a>(schema: RawJson<'s>, arguments: RawJson<'a>) -> HeaderParams<'s, 'a> {
    let mut found = HeaderParams { levels: [const { None }; MAX_SCHEMA_DEPTH], depth: 0 };
    found.enter(schema, Some(arguments));
    found
}

/// Iterator of [`header_params`].
#[derive(Clone, Debug)]
pub struct HeaderParams<'s, 'a> {
    levels: [Option<Level<'s, 'a>>; MAX_SCHEMA_DEPTH],
    /// Number of levels in use.
    depth: usize,
}

/// The properties of one schema object, and the argument object that they describe.
#[derive(Clone, Debug)]
struct Level<'s, 'a> {
    properties: Members<'s>,
    arguments: Option<RawJson<'a>>,
}

/// An annotated property.
#[derive(Clone, Copy, Debug)]
pub struct HeaderParam<'s, 'a> {
    /// The value of `x-mcp-header`: a string, if the schema is valid.
    pub annotation: RawJson<'s>,
    /// The schema of the property.
    pub schema: RawJson<'s>,
    /// The argument, if present; may be null.
    pub value: Option<RawJson<'a>>,
}

impl<'s, 'a> HeaderParams<'s, 'a> {
    fn enter(&mut self, schema: RawJson<'s>, arguments: Option<RawJson<'a>>) {
        let Some(properties) = schema.get("properties").filter(|properties| properties.is_object())
        else {
            return;
        };
        if let Some(level) = self.levels.get_mut(self.depth) {
            *level = Some(Level { properties: properties.members(), arguments });
            self.depth += 1;
        }
    }
}

impl<'s, 'a> Iterator for HeaderParams<'s, 'a> {
    type Item = HeaderParam<'s, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = self.levels.get_mut(self.depth.checked_sub(1)?)?.as_mut()?;
            let Some((name, schema)) = level.properties.next() else {
                self.depth -= 1;
                continue;
            };
            let value = level.arguments.and_then(|arguments| find(arguments, name));
            let annotation = schema.get(ANNOTATION);
            self.enter(schema, value);
            if let Some(annotation) = annotation {
                return Some(HeaderParam { annotation, schema, value });
            }
        }
    }
}

impl HeaderParam<'_, '_> {
    /// Returns the field name, including `Mcp-Param-`; `None` if the annotation is not a valid
    /// field name.
    #[must_use]
    pub fn name(&self) -> Option<HeaderName> {
        HeaderName::new(self.annotation.as_string()?)
    }

    /// Whether `type` is one that a field can carry: string, integer or boolean.
    fn has_field_type(&self) -> bool {
        let kind = self.schema.get("type").and_then(RawJson::as_string);
        kind.is_some_and(|kind| kind == "string" || kind == "integer" || kind == "boolean")
    }
}

/// A field name, e.g. `Mcp-Param-Region`.
#[derive(Clone, Copy, Debug)]
pub struct HeaderName {
    bytes: [u8; FIELD_PREFIX.len() + MAX_HEADER_NAME],
    len: usize,
}

impl HeaderName {
    fn new(annotation: JsonStr<'_>) -> Option<Self> {
        let mut bytes = [0; FIELD_PREFIX.len() + MAX_HEADER_NAME];
        let (prefix, rest) = bytes.split_at_mut_checked(FIELD_PREFIX.len())?;
        copy(FIELD_PREFIX.as_bytes(), prefix);
        let name = annotation
            .copy_to(rest)
            .filter(|name| !name.is_empty() && name.bytes().all(is_tchar))?;
        let len = FIELD_PREFIX.len() + name.len();
        Some(Self { bytes, len })
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len)
            .and_then(|name| core::str::from_utf8(name).ok())
            .unwrap_or_default()
    }
}

/// Checks the annotations of an input schema. HTTP clients must ignore a tool whose annotations are
/// invalid.
///
/// # Errors
/// A description of the first broken rule.
pub fn check_schema(schema: RawJson<'_>) -> Result<(), &'static str> {
    let mut found = 0;
    let mut names = [0; MAX_PARAMS];
    for param in header_params(schema, RawJson::EMPTY) {
        let Some(name) = param.name() else {
            return Err(
                "x-mcp-header must be a token of at most 100 characters: letters, digits and !#$%&'*+-.^_`|~",
            );
        };
        if !param.has_field_type() {
            return Err(
                "x-mcp-header is allowed only on properties of type string, integer or boolean",
            );
        }
        // Compares hashes, since a name takes 110 bytes.
        let hash = hash_lower_case(name.as_str());
        if names.iter().take(found).any(|other| *other == hash) {
            return Err("two x-mcp-header names of the schema are equal (case-insensitively)");
        }
        let Some(place) = names.get_mut(found) else {
            return Err("more than 64 x-mcp-header annotations");
        };
        *place = hash;
        found += 1;
    }
    // A property may have this name too: its value is an object.
    let key = "\"x-mcp-header\"";
    let text = schema.as_str();
    let written = text.match_indices(key).filter(|(at, _)| {
        let behind = text.get(at + key.len()..).unwrap_or_default().trim_start();
        behind.strip_prefix(':').is_some_and(|value| !value.trim_start().starts_with('{'))
    });
    if written.count() > found {
        return Err(
            "x-mcp-header is allowed only under `properties`, at most 16 levels deep: not in items, allOf, $defs or any other keyword",
        );
    }
    Ok(())
}

fn find<'x>(object: RawJson<'x>, name: JsonStr<'_>) -> Option<RawJson<'x>> {
    object.members().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether the byte may be in a token (RFC 9110, 5.6.2).
fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Maximum nesting of `properties` in which annotations are found.
pub const MAX_SCHEMA_DEPTH: usize = 16;
/// Maximum number of annotated arguments of a tool. Checking a schema takes eight bytes of stack
/// for each.
pub const MAX_PARAMS: usize = 64;
/// Maximum length of a name in an annotation, in bytes.
pub const MAX_HEADER_NAME: usize = 100;

const ANNOTATION: &str = "x-mcp-header";
const FIELD_PREFIX: &str = "Mcp-Param-";

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::{String, ToString as _};
    use std::{format, vec::Vec};

    use super::*;

    fn check(schema: &str) -> Result<(), &'static str> {
        check_schema(RawJson::parse(schema).unwrap())
    }

    fn property(name: &str, schema: &str) -> String {
        format!(r#"{{"type":"object","properties":{{"{name}":{schema}}}}}"#)
    }

    #[test]
    fn nested_properties_are_found_with_their_arguments() {
        let inner = property("b", r#"{"type":"integer","x-mcp-header":"B"}"#);
        let schema = format!(
            r#"{{"properties":{{"a":{inner},"c":{{"type":"string","x-mcp-header":"C"}}}}}}"#
        );
        let schema = RawJson::parse(&schema).unwrap();
        let arguments = RawJson::from_static(r#"{"c":null,"a":{"b":1}}"#);
        let found: Vec<_> = header_params(schema, arguments)
            .map(|p| format!("{} {}", p.name().unwrap().as_str(), p.value.unwrap()))
            .collect();
        assert_eq!(found, ["Mcp-Param-B 1", "Mcp-Param-C null"]);
        assert!(header_params(schema, RawJson::EMPTY).all(|param| param.value.is_none()));
        assert_eq!(check_schema(schema), Ok(()));
    }

    #[test]
    fn hdr_12_hdr_13_hdr_14_hdr_15_hdr_16_hdr_18_hdr_19_annotations_that_break_a_rule_are_seen() {
        let string = |name: &str| format!(r#"{{"type":"string","x-mcp-header":{name}}}"#);
        assert_eq!(check(&property("a", &string("\"X-1\""))), Ok(()));
        assert_eq!(check(&property("x-mcp-header", "{\"type\":\"string\"}")), Ok(()));
        for name in
            ["\"\"", "\"a b\"", "\"a:b\"", "\"\\u00e9\"", "\"a\\r\\nb\"", "1", "null", "[]", "{}"]
        {
            assert!(check(&property("a", &string(name))).is_err(), "{name}");
        }
        for kind in ["\"number\"", "\"object\"", "\"array\"", "\"null\"", "[\"string\"]", "1"] {
            assert!(
                check(&property("a", &format!(r#"{{"type":{kind},"x-mcp-header":"X"}}"#))).is_err(),
                "{kind}"
            );
        }
        let two =
            format!(r#"{{"properties":{{"a":{},"b":{}}}}}"#, string("\"One\""), string("\"oNE\""));
        assert!(check(&two).is_err());
        for keyword in ["items", "additionalProperties", "not", "if"] {
            assert!(
                check(&property("a", &format!(r#"{{"{keyword}":{}}}"#, string("\"X\"")))).is_err(),
                "{keyword}"
            );
        }
        for keyword in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            assert!(
                check(&format!(r#"{{"{keyword}":[{}]}}"#, property("a", &string("\"X\""))))
                    .is_err(),
                "{keyword}"
            );
        }
        assert!(check(&format!(r#"{{"$defs":{{"a":{}}}}}"#, string("\"X\""))).is_err());
        assert!(check(&property("a", &string(&format!("\"{}\"", "x".repeat(101))))).is_err());
    }

    #[test]
    fn annotations_nested_too_deep_are_reported() {
        let mut schema = r#"{"type":"string","x-mcp-header":"X"}"#.to_string();
        for _ in 0..MAX_SCHEMA_DEPTH {
            schema = property("a", &schema);
        }
        assert_eq!(check(&schema), Ok(()));
        assert!(check(&property("a", &schema)).is_err());
    }
}
