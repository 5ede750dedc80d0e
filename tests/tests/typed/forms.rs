//! Types as forms of elicitation.

use mcp_sansio::typed::{Array, Input, InputObject};
use mcp_sansio::types::{
    BooleanSchema, EnumOption, Field, MultiSelectEnumSchema, Number, NumberSchema, RequestedSchema,
    SingleSelectEnumSchema, StringSchema, Text,
};
use mcp_sansio::{Encode, RawJson, Revision, to_slice};
use serde_json::{Value, json};

use crate::zoo::Mode;

#[derive(Input, Debug)]
#[allow(dead_code, reason = "some fields are only written and checked")]
struct Contact<'a> {
    /// Your name
    #[arg(title = "Name", length = 1..=40, default = "Ada")]
    name: Text<'a>,
    #[arg(format = "email", header = "Mail")]
    email: Text<'a>,
    #[arg(range = 0..=150, default = 30)]
    age: u8,
    #[arg(range = -0.5..=1.5, default = 0.25)]
    score: f64,
    count: Option<i64>,
    mode: Mode,
    #[arg(default = Color::Green)]
    color: Color,
    #[arg(default = true)]
    #[arg(title = "Sure?")]
    sure: bool,
    /// All that you like
    #[arg(length = 1..=2)]
    colors: Array<'a, Color>,
    modes: Option<Vec<Mode>>,
    #[arg(title = "Size", default = Size::Large)]
    size: Size,
    sizes: Vec<Size>,
}

#[derive(Input, Debug, PartialEq)]
enum Size {
    #[input(title = "Not \"large\"")]
    Small,
    #[input(name = "l", title = "Large")]
    Large,
    Huge,
}

#[derive(Input, Debug, PartialEq)]
enum Color {
    Red,
    Green,
}

const FORM: RequestedSchema<'_> = RequestedSchema::of::<Contact>();

const COLORS: &[Text<'_>] = &[Text::new("red"), Text::new("green")];
const MODES: &[Text<'_>] = &[Text::new("fast"), Text::new("very_exact"), Text::new("best-effort")];

const SIZES: &[EnumOption<'_>] = &[
    EnumOption::new("small", "Not \"large\""),
    EnumOption::new("l", "Large"),
    EnumOption::new("huge", "huge"),
];

/// The same form by hand.
const BY_HAND: RequestedSchema<'_> = RequestedSchema::new(&[
    Field::optional(
        "name",
        StringSchema::new()
            .title("Name")
            .description("Your name")
            .min_length(1)
            .max_length(40)
            .default("Ada")
            .schema(),
    ),
    Field::required("email", StringSchema::new().format("email").schema()),
    Field::optional(
        "age",
        NumberSchema::integer()
            .minimum(Number::new(0))
            .maximum(Number::new(150))
            .default(Number::new(30))
            .schema(),
    ),
    Field::optional(
        "score",
        NumberSchema::number()
            .minimum(Number::decimal(-5, 1))
            .maximum(Number::decimal(15, 1))
            .default(Number::decimal(25, 2))
            .schema(),
    ),
    Field::optional("count", NumberSchema::integer().schema()),
    Field::required(
        "mode",
        SingleSelectEnumSchema::untitled(MODES).description("How it is run.").schema(),
    ),
    Field::optional("color", SingleSelectEnumSchema::untitled(COLORS).default("green").schema()),
    Field::optional("sure", BooleanSchema::new().title("Sure?").default(true).schema()),
    Field::required(
        "colors",
        MultiSelectEnumSchema::untitled(COLORS)
            .description("All that you like")
            .min_items(1)
            .max_items(2)
            .schema(),
    ),
    Field::optional("modes", MultiSelectEnumSchema::untitled(MODES).schema()),
    Field::optional(
        "size",
        SingleSelectEnumSchema::titled(SIZES).title("Size").default("l").schema(),
    ),
    Field::required("sizes", MultiSelectEnumSchema::titled(SIZES).schema()),
]);

fn written(value: &impl Encode, revision: Revision) -> Value {
    let mut buffer = [0; 4096];
    serde_json::from_str(to_slice(value, revision, &mut buffer).unwrap().as_str()).unwrap()
}

#[test]
fn a_type_is_the_form_that_one_writes_by_hand_in_each_revision() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        assert_eq!(written(&FORM, revision), written(&BY_HAND, revision), "{revision:?}");
    }
    let older = written(&FORM, Revision::V2025_06_18);
    assert!(older["properties"]["color"].get("default").is_none());
    assert_eq!(older["properties"]["sure"]["default"], true);
    assert_eq!(older["properties"]["colors"]["type"], "string");
    let (older, now) = (&older["properties"], &written(&FORM, Revision::LATEST)["properties"]);
    assert_eq!(now["size"]["oneOf"][1], json!({"const": "l", "title": "Large"}));
    assert_eq!(now["sizes"]["items"]["anyOf"], now["size"]["oneOf"]);
    for (field, title) in [("size", Some("Size")), ("sizes", None)] {
        assert_eq!(older[field]["type"], "string");
        assert_eq!(older[field]["enum"], json!(["small", "l", "huge"]));
        assert_eq!(older[field]["enumNames"], json!(["Not \"large\"", "Large", "huge"]));
        assert_eq!(older[field].get("title").and_then(Value::as_str), title);
    }
    // As an argument, it has plain names.
    let argument: Value = serde_json::from_str(Contact::SCHEMA.as_str()).unwrap();
    let names = json!({"type": "string", "enum": ["small", "l", "huge"]});
    assert_eq!(argument["properties"]["sizes"]["items"], names);
}

#[test]
fn a_form_of_a_type_has_fields_and_defaults() {
    FORM.validate().unwrap();
    assert_eq!(FORM.fields().count(), 12);
    let defaults = written(&FORM.defaults(), Revision::LATEST);
    assert_eq!(defaults, written(&BY_HAND.defaults(), Revision::LATEST));
}

fn read(result: &'static str) -> Result<Option<Contact<'static>>, String> {
    Contact::from_elicit_result(RawJson::from_static(result)).map_err(|faults| faults.to_string())
}

#[test]
fn what_was_filled_in_is_read_with_defaults() {
    let contact = read(
        r#"{"action":"accept","content":{"email":"a@b.c","mode":"fast","colors":["red","green"],"sizes":["l","huge"]}}"#,
    );
    let contact = contact.unwrap().unwrap();
    assert_eq!((contact.name.as_plain(), contact.age, contact.sure), (Some("Ada"), 30, true));
    assert_eq!(contact.color, Color::Green);
    assert!(contact.colors.iter().eq([Color::Red, Color::Green]));
    assert!(contact.modes.is_none());
    assert_eq!((contact.size, contact.sizes), (Size::Large, vec![Size::Large, Size::Huge]));
}

#[test]
fn a_single_choice_of_2025_06_18_stands_for_an_array() {
    let contact = read(
        r#"{"action":"accept","content":{"email":"a@b.c","mode":"fast","colors":"green","modes":"fast","sizes":"l"}}"#,
    );
    let contact = contact.unwrap().unwrap();
    assert!(contact.colors.iter().eq([Color::Green]));
    assert_eq!(contact.modes, Some(vec![Mode::Fast]));
    // An argument is an array.
    let text = r#"{"email":"a@b.c","mode":"fast","colors":"green","sizes":[]}"#;
    assert!(Contact::parse(RawJson::from_static(text)).is_err());
}

#[test]
fn members_that_no_field_has_are_ignored() {
    let contact = read(
        r#"{"action":"accept","content":{"email":"a@b.c","mode":"fast","colors":["red"],"sizes":[],"x":{}},"_meta":{}}"#,
    );
    assert!(contact.unwrap().is_some());
}

#[test]
fn declined_and_dismissed_forms_are_none() {
    assert!(read(r#"{"action":"decline"}"#).unwrap().is_none());
    assert!(read(r#"{"action":"cancel","content":{"email":7}}"#).unwrap().is_none());
}

#[test]
fn all_faults_of_a_form_are_named_and_nothing_else() {
    let text = r#"{"action":"accept","content":{"colors":"green","modes":"slow","age":151,"x":1}}"#;
    assert_eq!(
        read(text).unwrap_err(),
        "modes: must be an array, is \"slow\"\n\
         age: must be an integer from 0 to 150, is 151\n\
         email: is missing, must be a string in the format email\n\
         mode: is missing, must be one of \"fast\", \"very_exact\", \"best-effort\"\n\
         sizes: is missing, must be an array"
    );
    let expected = Some("email: is missing, must be a string in the format email");
    assert_eq!(read(r#"{"action":"accept"}"#).unwrap_err().lines().next(), expected);
    let expected = "action: must be one of \"accept\", \"decline\", \"cancel\", is \"agree\"";
    assert_eq!(read(r#"{"action":"agree"}"#).unwrap_err(), expected);
    assert_eq!(read("[]").unwrap_err(), "the value: must be an object, is an array");
}
