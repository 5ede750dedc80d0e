//! The forms of elicitation requests.

use mcp_sansio::types::{
    BooleanSchema, EnumOption, EnumOptions, Field, List, MultiSelectEnumSchema, Number,
    NumberSchema, RequestedSchema, SingleSelectEnumSchema, StringSchema, Text,
};

pub(super) const NAME: RequestedSchema<'_> = RequestedSchema::new(&[Field::required(
    "name",
    StringSchema::new().description("Your name").min_length(1).schema(),
)]);

pub(super) const CONFIRM: RequestedSchema<'_> = RequestedSchema::new(&[Field::required(
    "ok",
    BooleanSchema::new().description("Go on?").schema(),
)]);

pub(super) const COLOUR: RequestedSchema<'_> = RequestedSchema::new(&[Field::required(
    "color",
    StringSchema::new().description("A colour").schema(),
)]);

pub(super) const CONTEXT: RequestedSchema<'_> = RequestedSchema::new(&[Field::required(
    "context",
    StringSchema::new().description("What the prompt is for").schema(),
)]);

pub(super) const USER: RequestedSchema<'_> = RequestedSchema::new(&[
    Field::required(
        "username",
        StringSchema::new().description("The name of your account").schema(),
    ),
    Field::required(
        "email",
        StringSchema::new().description("Where mail reaches you").format("email").schema(),
    ),
]);

/// A default in a field of each type.
pub(super) const DEFAULTS: RequestedSchema<'_> = RequestedSchema::new(&[
    Field::optional(
        "name",
        StringSchema::new().description("Your name").default("John Doe").schema(),
    ),
    Field::optional(
        "age",
        NumberSchema::integer().description("Your age").default(Number::new(30)).schema(),
    ),
    Field::optional(
        "score",
        NumberSchema::number().description("Your score").default(Number::decimal(955, 1)).schema(),
    ),
    Field::optional(
        "status",
        SingleSelectEnumSchema::untitled(&[
            Text::new("active"),
            Text::new("inactive"),
            Text::new("pending"),
        ])
        .default("active")
        .schema(),
    ),
    Field::optional(
        "verified",
        BooleanSchema::new().description("Whether somebody checked").default(true).schema(),
    ),
]);

/// A field for each kind of choice.
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
