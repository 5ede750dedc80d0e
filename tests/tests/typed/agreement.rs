//! What a type accepts against what its schema allows, as the crate `jsonschema` reads it, on
//! random values with a fixed seed; and what it writes of them against the schema of outputs.
//! `ORACLE_ROUNDS` sets the number of values for each type.
//!
//! They may differ only in this: `null` for an optional member is accepted, an integer that does
//! not fit in an `i64` and a member that is given twice are refused. In a form, a single choice is
//! accepted for an array of them.

use mcp_sansio::typed::{InputObject, OutputObject};
use mcp_sansio::{Encode, RawJson, Revision, to_slice};
use mcp_sansio_tests::random::Random;
use serde_json::{Map, Value, json};

use crate::zoo::*;

fn pick<'v>(random: &mut Random, values: &'v [Value]) -> &'v Value {
    &values[random.below(values.len())]
}

/// Makes a value that mostly fits the schema.
fn value(schema: &Value, random: &mut Random) -> Value {
    if random.below(80) == 0 {
        return any(random);
    }
    if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
        return value(pick(random, variants), random);
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return pick(random, choices).clone();
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut object = Map::new();
        for (name, schema) in properties {
            let leaves_out = if required.contains(&name.as_str()) { 60 } else { 3 };
            if random.below(leaves_out) != 0 {
                object.insert(name.clone(), value(schema, random));
            }
        }
        if random.below(40) == 0 {
            object.insert("another".into(), any(random));
        }
        return Value::Object(object);
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(random.below(2) == 0),
        Some("integer" | "number") => {
            let bounds = [&schema["minimum"], &schema["maximum"]];
            let mut bounds = bounds.into_iter().filter_map(Value::as_f64).peekable();
            if random.below(8) != 0 {
                return json!(bounds.peek().map_or(1, |bound| *bound as i64));
            }
            let mut numbers = vec![json!(7), json!(7.0), json!(-3), json!(0.5)];
            for bound in bounds {
                numbers.extend([json!(bound), json!(bound - 1.0), json!(bound + 1.0)]);
                numbers.extend([json!(bound - 0.125), json!(bound as i64)]);
            }
            pick(random, &numbers).clone()
        }
        Some("string") => {
            let lengths = [0, 1, 2, 2, 3, 8, 8, 9, 19, 20, 20, 21];
            let alphabet = ['a', '"', '\\', '\n', '\u{e9}', '\u{20ac}', '\u{1f600}'];
            json!(random.pick(&alphabet).to_string().repeat(random.pick(&lengths)))
        }
        Some("array") => {
            let count = random.below(5);
            (0..count).map(|_| value(&schema["items"], random)).collect()
        }
        _ => any(random),
    }
}

fn any(random: &mut Random) -> Value {
    let values = [
        json!(true),
        json!(0),
        json!(-1.5),
        json!(12),
        json!(""),
        json!("fast"),
        json!([]),
        json!([1, [2]]),
        json!({}),
        json!({"kind": "line", "x": 1}),
    ];
    pick(random, &values).clone()
}

fn compare<T: for<'a> Accepts<'a>>(seed: u64) {
    let schema: Value = serde_json::from_str(T::schema()).unwrap();
    let oracle = jsonschema::draft202012::new(&schema).unwrap();
    let schema = serde_json::from_str(T::output_schema()).unwrap();
    let outputs = jsonschema::draft202012::new(&schema).unwrap();
    let rounds = std::env::var("ORACLE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    let mut random = Random::new(seed);
    let mut accepted = 0;
    for _ in 0..rounds {
        let value = value(&schema, &mut random);
        let text = value.to_string();
        let result = T::accepts(RawJson::parse(&text).unwrap());
        assert_eq!(result.is_ok(), oracle.is_valid(&value), "{text}: {result:?}");
        if let Ok(written) = &result {
            let written = serde_json::from_str(written).unwrap();
            assert!(outputs.is_valid(&written), "{text}: {written}");
        }
        accepted += usize::from(result.is_ok());
    }
    // Otherwise the values show little.
    assert!(accepted > rounds / 10 && accepted < rounds * 9 / 10, "{accepted} of {rounds}");
}

/// A type with any lifetime.
trait Accepts<'a> {
    fn schema() -> &'static str;
    fn output_schema() -> &'static str;
    /// Reads a value, and writes it again.
    fn accepts(value: RawJson<'a>) -> Result<String, String>;
}

fn written(value: impl Encode) -> String {
    to_slice(&value, Revision::LATEST, &mut [0; 4096]).unwrap().as_str().to_owned()
}

macro_rules! accepts {
    ($($marker:ident: $type:ty;)*) => {$(
        struct $marker;
        impl<'a> Accepts<'a> for $marker {
            fn schema() -> &'static str {
                <$type as InputObject<'a>>::SCHEMA.as_str()
            }
            fn output_schema() -> &'static str {
                <$type as OutputObject>::SCHEMA.as_str()
            }
            fn accepts(value: RawJson<'a>) -> Result<String, String> {
                <$type>::parse(value).map(written).map_err(|faults| faults.to_string())
            }
        }
    )*};
}

accepts! {
    AnyQuery: Query<'a>;
    AnyDrawing: Drawing<'a>;
    AnyNumbers: Numbers;
}

/// A type as a form, whose schema allows members that it does not name.
struct AnyForm;

impl<'a> Accepts<'a> for AnyForm {
    fn schema() -> &'static str {
        <Form as InputObject<'a>>::FORM.as_str()
    }
    fn output_schema() -> &'static str {
        <Form as OutputObject>::SCHEMA.as_str()
    }
    fn accepts(value: RawJson<'a>) -> Result<String, String> {
        let result = format!("{{\"action\":\"accept\",\"content\":{value}}}");
        let read = Form::from_elicit_result(RawJson::parse(&result).unwrap());
        read.map(|read| written(read.unwrap())).map_err(|faults| faults.to_string())
    }
}

#[test]
fn a_type_accepts_and_writes_what_its_schema_allows() {
    compare::<AnyQuery>(1);
    compare::<AnyDrawing>(2);
    compare::<AnyNumbers>(3);
    compare::<AnyForm>(4);
}
