//! Values that are read, checked and written: schemas, forms, results.

use std::collections::HashMap;
use std::hint::black_box;

use mcp_sansio::http::param_headers::{check_schema, header_params};
use mcp_sansio::types::{CreateMessageParams, RequestedSchema, Tool};
use mcp_sansio::{Entry, Json, OwnedJson, RawJson, Revision};
use serde_json::Value;

use super::{Table, Work, join};

pub(super) const CASES: &Table = &[
    ("value: read as a map", |n| {
        on(members(n), |json| json.to::<HashMap<String, Value>>().is_ok())
    }),
    ("value: read as a list", |n| {
        let list = format!("[{}]", join(n, |at| format!(r#""\u0061{at}""#)));
        on(list, |json| json.to::<Vec<String>>().is_ok())
    }),
    ("value: a member that is not there", |n| {
        let others = object(n, |at| format!(r#""\u007a{at}":[{at}]"#));
        on(others, |json| json.get("zz").is_some() || json.get("z").is_some())
    }),
    ("value: written", |n| {
        on(object(n, |at| format!(r#""m{at}":["\u0001",{at}.5]"#)), |json| {
            let value: Value = json.to().unwrap();
            black_box(OwnedJson::new(&Json(value), Revision::LATEST).unwrap());
            OwnedJson::new(&json, Revision::LATEST).unwrap()
        })
    }),
    ("value: line breaks between tokens", |n| {
        let list = format!("[1{}]", "\n".repeat(10 * n));
        on(list, |json| OwnedJson::new(&json, Revision::LATEST).unwrap())
    }),
    ("schema: properties and members", |n| {
        let properties = object(n, |at| format!(r#""m{at}":{{"type":"integer"}}"#));
        structured(format!(r#"{{"type":"object","properties":{properties}}}"#), members(n))
    }),
    ("schema: required members that come last", |n| {
        let required = join(n, |at| format!(r#""m{}""#, n - at));
        structured(format!(r#"{{"type":"object","required":[{required}]}}"#), members(n + 1))
    }),
    ("schema: members where others are not allowed", |n| {
        let properties = object(n, |at| format!(r#""m{at}":{{}}"#));
        let schema = closed(&properties);
        structured(schema, members(n))
    }),
    ("schema: properties and members in another order", |n| {
        let properties = object(n, |at| format!(r#""m{}":{{"type":"integer"}}"#, n - at));
        let schema = closed(&properties);
        structured(schema, object(n, |at| format!(r#""m{}":{at}"#, at + 1)))
    }),
    ("schema: rows and members in another order", |n| {
        let properties = object(n, |at| format!(r#""m{}":{{}}"#, n - at));
        let required = join(n, |at| format!(r#""r{at}""#));
        structured_by_rows(
            format!(r#"{{"type":"object","properties":{properties},"required":[{required}]}}"#),
            object(n, |at| format!(r#""m{}":{at}"#, at + 1)),
        )
    }),
    ("schema: members that it does not have", |n| {
        let schema = format!(
            r#"{{"type":"object","properties":{}}}"#,
            object(n, |at| format!(r#""p{at}":{{}}"#))
        );
        structured(schema, members(n))
    }),
    ("schema: choices for elements", |n| {
        let choices = join(n, |at| at.to_string());
        let schema = format!(
            r#"{{"type":"object","properties":{{"l":{{"type":"array","items":{{"enum":[{choices}]}}}}}}}}"#
        );
        structured(schema, format!(r#"{{"l":[{}]}}"#, join(n, |_| (n - 1).to_string())))
    }),
    ("schema: types for elements", |n| {
        let types = join(n, |_| r#""string""#.into());
        let schema =
            format!(r#"{{"type":"object","properties":{{"l":{{"items":{{"type":[{types}]}}}}}}}}"#);
        structured(schema, format!(r#"{{"l":[{}]}}"#, join(n, |at| at.to_string())))
    }),
    ("schema: references", |n| {
        structured(
            format!(r##"{{"allOf":[{}]}}"##, join(n, |_| r##"{"$ref":"#/a"}"##.into())),
            "{}".into(),
        )
    }),
    ("schema: annotations", |n| {
        let annotated = |at| format!(r#""m{at}":{{"type":"string","x-mcp-header":"H{at}"}}"#);
        on(format!(r#"{{"properties":{}}}"#, object(n, annotated)), |json| {
            black_box(check_schema(json).is_ok());
            header_params(json, RawJson::from_static(r#"{"m0":"x","zz":1}"#)).count()
        })
    }),
    ("schema: annotations of 64 properties in long schemas", |n| {
        let long = "x".repeat(n);
        let annotated = |at| {
            format!(r#""m{at}":{{"description":"{long}","type":"string","x-mcp-header":"H{at}"}}"#)
        };
        let schema = format!(r#"{{"properties":{}}}"#, object(64, annotated));
        on(schema, |json| check_schema(json).is_ok())
    }),
    ("schema: annotations where they may not be", |n| {
        let annotated = join(n, |_| r#"{"x-mcp-header" : "H"}"#.into());
        on(format!(r#"{{"allOf":[{annotated}]}}"#), |json| check_schema(json).is_ok())
    }),
    ("form: fields and required fields", |n| flags(n, &join(n, |at| format!(r#""m{at}""#)))),
    ("form: 100 fields, and long required names", |n| {
        flags(100, &join(100, |at| format!(r#""m{at}{}""#, "x".repeat(n))))
    }),
    ("form: choices", |n| {
        let choices = join(n, |at| format!(r#""c{at}""#));
        form(choice(&choices))
    }),
    ("form: a selection of several choices", |n| {
        let choices = |of: &dyn Fn(usize) -> usize| {
            join(n, |at| format!(r#""a long choice, number {}""#, of(at)))
        };
        let (options, default) = (choices(&|at| at), choices(&|at| n - 1 - at));
        let several = format!(
            r#"{{"type":"array","items":{{"type":"string","enum":[{options}]}},"default":[{default}]}}"#
        );
        on(format!(r#"{{"type":"object","properties":{{"m0":{several}}}}}"#), |json| {
            let form = RequestedSchema::from_json(json).unwrap();
            let content = OwnedJson::new(&form.defaults(), Revision::LATEST).unwrap();
            form.validate_content(content.as_json()).is_ok()
        })
    }),
    ("form: a choice that is filled in again and again", |n| {
        let choices = join(n, |at| format!(r#""a long choice, number {at}""#));
        let schema = choice(&choices);
        let content = vec![format!(r#""m0":"a long choice, number {}""#, n - 1); n].join(",");
        on(format!(r#"[{schema},{{{content}}}]"#), |json| {
            let mut both = json.elements();
            let form = RequestedSchema::from_json(both.next().unwrap()).unwrap();
            form.validate_content(both.next().unwrap()).is_ok()
        })
    }),
    ("form: what was filled in", |n| {
        let content = object(n, |at| format!(r#""m{at}":["a","b"]"#));
        on(content, |json| {
            let schema = RawJson::from_static(
                r#"{"type":"object","properties":{"a":{"type":"string"},"m0":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}"#,
            );
            RequestedSchema::from_json(schema).unwrap().validate_content(json).is_ok()
        })
    }),
    ("messages: tool uses, and results in another order", |n| {
        let results =
            |at| format!(r#"{{"type":"tool_result","toolUseId":"u{}","content":[]}}"#, n - 1 - at);
        messages(n, join(n, results))
    }),
    ("messages: results of 128 tool uses", |n| {
        let results = |_| r#"{"type":"tool_result","toolUseId":"u127","content":[]}"#.into();
        messages(128, join(n, results))
    }),
];

fn object(n: usize, member: impl Fn(usize) -> String) -> String {
    format!("{{{}}}", join(n, member))
}

fn members(n: usize) -> String {
    object(n, |at| format!(r#""m{at}":{at}"#))
}

fn closed(properties: &str) -> String {
    format!(r#"{{"type":"object","additionalProperties":false,"properties":{properties}}}"#)
}

fn on<R: 'static>(text: String, work: fn(RawJson<'_>) -> R) -> Work {
    let json = OwnedJson::from(RawJson::parse(&text).unwrap());
    Work::new(text.len(), move || {
        black_box(work(json.as_json()));
    })
}

fn form(schema: String) -> Work {
    on(schema, |json| {
        let form = RequestedSchema::from_json(json).unwrap();
        black_box((form.validate().is_ok(), form.fields().flatten().count()));
        black_box(form.validate_content(RawJson::from_static(r#"{"m0":true,"m1":false}"#)).is_ok());
        OwnedJson::new(&form.defaults(), Revision::LATEST).is_ok()
    })
}

/// A form of flags, the names of some of which are required.
fn flags(n: usize, required: &str) -> Work {
    let properties = object(n, |at| format!(r#""m{at}":{{"type":"boolean"}}"#));
    form(format!(r#"{{"type":"object","properties":{properties},"required":[{required}]}}"#))
}

fn choice(choices: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"m0":{{"type":"string","enum":[{choices}]}}}}}}"#)
}

/// So many uses of tools, and the results of the user.
fn messages(uses: usize, of_the_user: String) -> Work {
    let of_the_model =
        join(uses, |at| format!(r#"{{"type":"tool_use","id":"u{at}","name":"t","input":{{}}}}"#));
    let params = format!(
        r#"{{"messages":[{{"role":"assistant","content":[{of_the_model}]}},{{"role":"user","content":[{of_the_user}]}}],"maxTokens":1}}"#
    );
    on(params, |json| json.to::<CreateMessageParams<'_>>().unwrap().validate().is_ok())
}

fn structured(schema: String, content: String) -> Work {
    checked(schema, content, |tool, content| Entry::from(&tool).check_structured(content).is_ok())
}

/// As [`structured`], by an entry that has read the schema.
fn structured_by_rows(schema: String, content: String) -> Work {
    checked(schema, content, |tool, content| Entry::from(tool).check_structured(content).is_ok())
}

fn checked(
    schema: String,
    content: String,
    check: fn(Tool<'_>, Option<RawJson<'_>>) -> bool,
) -> Work {
    let (schema, content) = (
        OwnedJson::from(RawJson::parse(&schema).unwrap()),
        OwnedJson::from(RawJson::parse(&content).unwrap()),
    );
    let bytes = schema.as_json().as_str().len() + content.as_json().as_str().len();
    Work::new(bytes, move || {
        let tool = Tool::new("t", RawJson::EMPTY).output_schema(schema.as_json());
        black_box(check(tool, Some(content.as_json())));
    })
}
