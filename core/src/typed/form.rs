//! Forms of elicitation as types.

use super::docs::assert_form;
use super::faults::{Faults, FirstOfForm};
use super::input::{InputObject, check_by, check_members};
use super::rule::{Member, Object, Rule};
use crate::json::RawJson;
use crate::types::{ElicitParams, InputRequest, RequestedSchema};

impl RequestedSchema<'static> {
    /// Creates the form of a type. Its members are texts, numbers, booleans, enums without fields,
    /// and arrays of these enums; any other does not compile. For 2025-06-18 a default is left out,
    /// except that of a boolean, and an array is written as a choice of one.
    ///
    /// ```
    /// use mcp_sansio::RawJson;
    /// use mcp_sansio::typed::{Input, InputObject};
    /// use mcp_sansio::types::{ElicitParams, RequestedSchema, Text};
    ///
    /// #[derive(Input)]
    /// struct Contact<'a> {
    ///     #[arg(format = "email")]
    ///     email: Text<'a>,
    ///     /// Your age in years
    ///     #[arg(range = 0..=150)]
    ///     age: Option<u8>,
    /// }
    ///
    /// const FORM: ElicitParams =
    ///     ElicitParams::form("Your contact data", RequestedSchema::of::<Contact>());
    ///
    /// let result = r#"{"action":"accept","content":{"email":"a@example.com"}}"#;
    /// let contact = Contact::from_elicit_result(RawJson::from_static(result)).unwrap().unwrap();
    /// assert_eq!(contact.email, "a@example.com");
    /// assert_eq!(contact.age, None);
    ///
    /// let result = r#"{"action":"accept","content":{"email":"a","age":151}}"#;
    /// let faults = Contact::from_elicit_result(RawJson::from_static(result)).err().unwrap();
    /// assert_eq!(
    ///     faults.to_string(),
    ///     "email: must be a string in the format email, is \"a\"\n\
    ///      age: must be an integer from 0 to 150, is 151"
    /// );
    /// ```
    #[must_use]
    pub const fn of<'t, T: InputObject<'t>>() -> Self {
        const { assert_form(&T::RULE) };
        Self::typed(T::FORM)
    }
}

impl<'a> InputRequest<'a> {
    /// Requests the [form of a type](RequestedSchema::of).
    #[must_use]
    pub const fn form<'t, T: InputObject<'t>>(message: &'a str) -> Self {
        Self::Elicit(ElicitParams::form(message, RequestedSchema::of::<T>()))
    }
}

/// Reads the result of an elicitation.
pub(super) fn read<'a, T: InputObject<'a>>(result: RawJson<'a>) -> Result<Option<T>, Faults<'a>> {
    let mut members = [RawJson::NULL; 2];
    check_members(&RESULT, result, &mut members)?;
    let [action, content] = members;
    if action.as_string().is_none_or(|action| action != "accept") {
        return Ok(None);
    }
    T::parse_by(check, if content.is_null() { RawJson::EMPTY } else { content }).map(Some)
}

fn check<'a>(
    rule: &'static Rule,
    value: RawJson<'a>,
    members: &mut [RawJson<'a>],
) -> Result<(), Faults<'a>> {
    check_by(&mut FirstOfForm, rule, value, members)
        .map_err(|faults| Faults { is_form: true, ..faults })
}

/// Schema type `ElicitResult`.
const RESULT: Rule = Rule::Object(
    &const {
        Object::new(
            &[
                Member {
                    name: "action",
                    rule: Rule::Enum(&["accept", "decline", "cancel"]),
                    optional: false,
                },
                Member { name: "content", rule: Rule::Any, optional: true },
            ],
            true,
        )
    },
);
