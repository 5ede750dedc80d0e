//! Types that are written as JSON.

use std::borrow::Cow;

use mcp_sansio::typed::{Output, OutputObject, Tools};
use mcp_sansio::types::{Number, Text};
use mcp_sansio::{Catalog, Encode, JsonStr, RawJson, Revision, SendError, to_slice};
use serde_json::Value;

use crate::zoo::*;

/// A report.
#[derive(Output)]
#[input(rename_all = "camelCase")]
struct Report<'a> {
    /// What it is about.
    #[arg(title = "Subject", length = 1..)]
    main_subject: &'a str,
    lines: &'a [Line],
    corner: [i8; 2],
    names: Vec<Cow<'a, str>>,
    next: Option<&'a str>,
    #[arg(range = 0.0..=1.0)]
    ratio: f32,
    #[arg(name = "to")]
    to: usize,
    state: State<'a>,
    level: Level,
    label: Option<Label<'a>>,
    raw: RawJson<'a>,
}

#[derive(Output)]
enum Level {
    VeryLow,
    #[input(name = "HIGH")]
    High,
}

#[derive(Output)]
#[input(tag = "kind")]
enum State<'a> {
    /// It works.
    Good,
    Bad {
        to: &'a str,
        code: Option<isize>,
    },
    Moved(Line),
}

/// A label.
#[derive(Output)]
struct Label<'a>(#[arg(length = ..=8)] Option<Text<'a>>);

fn write(value: &(impl Encode + ?Sized)) -> String {
    let mut buffer = [0; 1024];
    to_slice(value, Revision::LATEST, &mut buffer).unwrap().as_str().to_owned()
}

fn report<'a>(lines: &'a [Line], state: State<'a>, label: Option<&'static str>) -> Report<'a> {
    Report {
        main_subject: "a \"b\"",
        lines,
        corner: [-1, 7],
        names: vec!["x".into(), String::from("y").into()],
        next: None,
        ratio: 0.5,
        to: 3,
        state,
        level: Level::VeryLow,
        label: Some(Label(label.map(Text::new))),
        raw: RawJson::NULL,
    }
}

const LINE: Line = Line { from: Point { x: 1, y: 2 }, to: Point { x: 3, y: 4 } };

#[test]
fn members_are_written_in_order_and_none_is_left_out() {
    let line = r#"{"from":{"x":1,"y":2},"to":{"x":3,"y":4}}"#;
    let expected = |state: &str, label: &str| {
        format!(
            r#"{{"mainSubject":"a \"b\"","lines":[{line}],"corner":[-1,7],"names":["x","y"],"ratio":0.5,"to":3,"state":{state},"level":"very_low"{label},"raw":null}}"#
        )
    };
    let bad = State::Bad { to: "x", code: None };
    let moved = format!(r#"{{"kind":"moved",{}"#, &line[1..]);
    for (state, label, state_json, label_json) in [
        (State::Good, None, r#"{"kind":"good"}"#, ""),
        (bad, Some("l"), r#"{"kind":"bad","to":"x"}"#, r#","label":"l""#),
        (State::Moved(LINE), None, &moved, ""),
    ] {
        let written = write(&report(&[LINE], state, label));
        assert_eq!(written, expected(state_json, label_json));
        let schema = serde_json::from_str(Report::SCHEMA.as_str()).unwrap();
        let value: Value = serde_json::from_str(&written).unwrap();
        let oracle = jsonschema::draft202012::new(&schema).unwrap();
        oracle.validate(&value).unwrap();
    }
    assert_eq!(write(&Level::High), "\"HIGH\"");
    assert_eq!(write(&Nothing), "{}");
    assert_eq!(write(&[1.5e300, -0.0]), "[1.5e300,-0.0]");
    assert_eq!(write(&Number::decimal(25, 1)), "2.5");
    assert_eq!(write(&JsonStr::from_static(r#""\u0061""#)), r#""\u0061""#);
}

#[test]
fn the_schema_of_a_result_is_a_constant() {
    const SCHEMA: RawJson<'static> = Report::SCHEMA;
    let point = r#"{"type":"object","properties":{"x":{"type":"integer","minimum":-100,"maximum":100},"y":{"type":"integer","default":-1}},"required":["x"],"description":"A point."}"#;
    let line = format!(
        r#""properties":{{"from":{point},"to":{point}}},"required":["from","to"],"additionalProperties":false,"description":"A line.""#
    );
    let moved = line
        .replacen('{', r#"{"kind":{"const":"moved"},"#, 1)
        .replace(r#"["from","#, r#"["kind","from","#);
    let expected = [
        r#"{"type":"object","properties":{"mainSubject":{"type":"string","minLength":1,"title":"Subject","description":"What it is about."},"#,
        &format!(r#""lines":{{"type":"array","items":{{"type":"object",{line}}}}},"#),
        r#""corner":{"type":"array","items":{"type":"integer","minimum":-128,"maximum":127},"minItems":2,"maxItems":2},"#,
        r#""names":{"type":"array","items":{"type":"string"}},"next":{"type":"string"},"#,
        r#""ratio":{"type":"number","minimum":0.0,"maximum":1.0},"to":{"type":"integer","minimum":0},"#,
        r#""state":{"type":"object","oneOf":[{"properties":{"kind":{"const":"good"}},"required":["kind"],"additionalProperties":false,"description":"It works."},"#,
        r#"{"properties":{"kind":{"const":"bad"},"to":{"type":"string"},"code":{"type":"integer"}},"required":["kind","to"],"additionalProperties":false},"#,
        &format!("{{{moved}}}]}},"),
        r#""level":{"type":"string","enum":["very_low","HIGH"]},"label":{"type":"string","maxLength":8,"description":"A label."},"raw":{}},"#,
        r#""required":["mainSubject","lines","corner","names","ratio","to","state","level","raw"],"additionalProperties":false}"#,
    ];
    let mut expected = expected.concat();
    // Shown are the bounds that a type has, if an `i64` does not have them.
    if cfg!(target_pointer_width = "32") {
        expected = expected
            .replace(
                r#""to":{"type":"integer","minimum":0"#,
                r#""to":{"type":"integer","minimum":0,"maximum":4294967295"#,
            )
            .replace(
                r#""code":{"type":"integer""#,
                r#""code":{"type":"integer","minimum":-2147483648,"maximum":2147483647"#,
            );
    }
    assert_eq!(SCHEMA.as_str(), expected);
}

#[test]
fn what_json_cannot_say_is_not_written() {
    for number in [f64::NAN, f64::INFINITY] {
        let mut buffer = [0; 64];
        let written = to_slice(&number, Revision::LATEST, &mut buffer);
        assert!(matches!(written, Err(SendError::Invalid(_))));
    }
}

#[derive(Tools)]
enum Call {
    /// Reports.
    #[tool(returns = Report<'static>)]
    Report,
    /// Tells the state.
    #[tool(returns = State<'static>)]
    State,
    /// Does nothing.
    Nothing,
}

#[derive(Output)]
#[output(untagged)]
enum Told<'a> {
    Report(Report<'a>),
    State(State<'a>),
}

#[test]
fn an_untagged_enum_is_written_as_the_object_in_it() {
    let report = || report(&[LINE], State::Good, None);
    let state = r#"{"kind":"bad","to":"us","code":7}"#.to_owned();
    for (told, expected) in [
        (Told::from(report()), write(&report())),
        (State::Bad { to: "us", code: Some(7) }.into(), state),
    ] {
        assert_eq!(write(&told), expected);
    }
}

#[test]
fn a_tool_lists_the_schema_of_its_results() {
    Catalog::new().tools(Call::TOOLS).check().unwrap();
    let schemas: Vec<_> = Call::TOOLS.iter().map(|tool| tool.output_schema()).collect();
    assert_eq!(schemas, [Some(Report::SCHEMA), Some(State::SCHEMA), None]);
    for schema in schemas.into_iter().flatten() {
        let schema = serde_json::from_str(schema.as_str()).unwrap();
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{schema}");
    }
}
