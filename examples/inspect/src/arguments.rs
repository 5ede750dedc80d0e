//! Conversion of `key=value` words to the arguments of a tool or prompt.

use serde_json::{Map, Value};

/// Converts the words to arguments of the types in the schema: strings by default; `key:=value` is
/// JSON.
pub(crate) fn read(words: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for word in words {
        let (key, value) = match (word.split_once(":="), word.split_once('=')) {
            (Some((key, json)), Some((shorter, _))) if key.len() < shorter.len() => {
                let value = serde_json::from_str(json)
                    .map_err(|error| format!("{key}: `{json}` is not JSON: {error}"))?;
                (key, value)
            }
            (_, Some((key, text))) => (key, typed(key, text, &schema["properties"][key])?),
            _ => return Err(format!("`{word}` is not KEY=VALUE")),
        };
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(format!("{key} is given twice"));
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<_> = required.filter(|key| !arguments.contains_key(*key)).collect();
    if missing.is_empty() {
        return Ok(arguments);
    }
    let known = schema["properties"]
        .as_object()
        .map(|known| known.keys().map(String::as_str).collect::<Vec<_>>().join(", "));
    Err(format!("missing: {} (it takes {})", missing.join(", "), known.unwrap_or_default()))
}

fn typed(key: &str, text: &str, schema: &Value) -> Result<Value, String> {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec!["string"],
    };
    if kinds.contains(&"string") {
        return Ok(text.into());
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|_| format!("{key}: `{text}` is not of type {}", kinds.join(" or ")))?;
    let fits = |kind: &&str| match *kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    if kinds.iter().any(fits) {
        Ok(value)
    } else {
        Err(format!("{key}: `{text}` is not of type {}", kinds.join(" or ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(words: &[&str]) -> Result<Value, String> {
        let schema = json!({
            "type": "object",
            "properties": {"text": {"type": "string"}, "n": {"type": "integer"}, "on": {"type": "boolean"}, "list": {"type": "array"}},
            "required": ["text"],
        });
        read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), &schema)
            .map(Value::Object)
    }

    #[test]
    fn values_are_of_the_type_that_the_schema_wants() {
        assert_eq!(
            of(&["text=1", "n=2", "on=true", "list=[1]"]),
            Ok(json!({"text": "1", "n": 2, "on": true, "list": [1]}))
        );
        assert_eq!(
            of(&["text=a=b:=c", "other=3", "n:=\"x\""]),
            Ok(json!({"text": "a=b:=c", "other": "3", "n": "x"}))
        );
    }

    #[test]
    fn values_of_the_wrong_type_are_reported() {
        for (words, why) in [
            (&["text=x", "n=two"][..], "n: `two` is not of type integer"),
            (&["text=x", "n=2.5"], "not of type integer"),
            (&["text=x", "text=y"], "text is given twice"),
            (&["text"], "`text` is not KEY=VALUE"),
            (&["n=1"], "missing: text (it takes list, n, on, text)"),
            (&["text=x", "n:={"], "is not JSON"),
        ] {
            let said = of(words).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
