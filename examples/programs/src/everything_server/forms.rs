//! The forms of elicitation requests.
#![expect(dead_code, reason = "the tools show a response as it was sent, once it fits its type")]

use mcp_sansio::typed::Input;
use mcp_sansio::types::{
    EnumOption, EnumOptions, Field, List, MultiSelectEnumSchema, RequestedSchema,
    SingleSelectEnumSchema, Text,
};

#[derive(Input)]
pub(super) struct Name {
    /// Your name
    #[arg(length = 1..)]
    name: String,
}

#[derive(Input)]
pub(super) struct Confirm {
    /// Go on?
    ok: bool,
}

#[derive(Input)]
pub(super) struct Confirmation {
    /// Delete it?
    confirm: bool,
}

#[derive(Input)]
pub(super) struct Colour {
    /// A colour
    color: String,
}

#[derive(Input)]
pub(super) struct Purpose {
    /// What the prompt is for
    context: String,
}

#[derive(Input)]
pub(super) struct User {
    /// The name of your account
    username: String,
    /// Where mail reaches you
    #[arg(format = "email")]
    email: String,
}

/// A default in a field of each type.
#[derive(Input)]
pub(super) struct Defaults {
    /// Your name
    #[arg(default = "John Doe")]
    name: String,
    /// Your age
    #[arg(default = 30)]
    age: i64,
    /// Your score
    #[arg(default = 95.5)]
    score: f64,
    #[arg(default = Status::Active)]
    status: Status,
    /// Whether somebody checked
    #[arg(default = true)]
    verified: bool,
}

#[derive(Input)]
enum Status {
    Active,
    Inactive,
    Pending,
}

/// A field for each kind of choice. Choices with titles cannot be derived.
pub(super) const CHOICES: RequestedSchema<'_> = RequestedSchema::new(&[
    Field::optional(
        "untitledSingle",
        SingleSelectEnumSchema::untitled(PLAIN).description("One of these").schema(),
    ),
    Field::optional(
        "titledSingle",
        SingleSelectEnumSchema::titled(TITLED)
            .description("One of these, which have names")
            .schema(),
    ),
    Field::optional(
        "legacyEnum",
        SingleSelectEnumSchema::new(EnumOptions::Legacy {
            values: List::new(LEGACY),
            names: List::new(NAMES),
        })
        .description("One of these, whose names stand in a list of their own")
        .schema(),
    ),
    Field::optional(
        "untitledMulti",
        MultiSelectEnumSchema::untitled(PLAIN).description("Any of these").schema(),
    ),
    Field::optional(
        "titledMulti",
        MultiSelectEnumSchema::titled(TITLED)
            .description("Any of these, which have names")
            .schema(),
    ),
]);

const PLAIN: &[Text<'_>] = &[Text::new("option1"), Text::new("option2"), Text::new("option3")];
const LEGACY: &[Text<'_>] = &[Text::new("opt1"), Text::new("opt2"), Text::new("opt3")];
const NAMES: &[Text<'_>] =
    &[Text::new("Option one"), Text::new("Option two"), Text::new("Option three")];
const TITLED: &[EnumOption<'_>] = &[
    EnumOption::new("value1", "First option"),
    EnumOption::new("value2", "Second option"),
    EnumOption::new("value3", "Third option"),
];
