//! Types that are read from JSON.

use core::fmt;
use core::iter::Map;
use core::marker::PhantomData;
use core::ops::ControlFlow;

use super::check::{self, Check, Cursor, Path, Report};
use super::docs::Docs;
use super::faults::{Faults, First};
use super::form;
use super::rule::{Object, Rule};
use crate::json::{Elements, JsonStr, RawJson};
use crate::types::{Number, Text};

/// A type of an argument, or of a member or element in one. Derive it.
///
/// A type of your own that is written as another one can implement it: with the rule of that type,
/// whose value it reads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from JSON",
    label = "does not implement `Input`",
    note = "a string is a `Text<'a>`, or with the feature `alloc` a `String` or `Cow<'a, str>`: \
            JSON may escape any character, so a `&str` could not always borrow it",
    note = "an array is an `Array<'a, T>`, or with `alloc` a `Vec<T>`; any JSON is a `RawJson<'a>`",
    note = "a struct or an enum of your own derives it: `#[derive(Input)]`"
)]
pub trait Input<'a>: Sized {
    /// The values that the type accepts.
    const RULE: Rule;
    /// The words of the schema beside the rule.
    const DOCS: Docs = Docs::NONE;
    /// Whether a member of this type may be missing or null.
    const OPTIONAL: bool = false;

    /// Reads a value that [`RULE`](Self::RULE) accepts, or `null` for an optional member. Any other
    /// value yields any value of the type.
    fn read(value: RawJson<'a>) -> Self;
}

/// The arguments of a tool or a prompt: a struct that derives [`Input`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool or a prompt",
    note = "a struct with named fields can, if it derives `Input`; several kinds of arguments are a \
            member of it: an enum that derives `Input`, with a tag"
)]
pub trait InputObject<'a>: Input<'a> {
    /// JSON Schema 2020-12 of the type, without `$schema` and `$ref`.
    const SCHEMA: RawJson<'static>;

    /// Checks a value against the schema, and reads it in the same pass.
    ///
    /// Two values are treated differently from the schema: `null` is accepted for an optional
    /// member, since many clients send it, and an integer that does not fit in an `i64` is refused.
    ///
    /// # Errors
    /// All that the schema does not allow.
    fn parse(value: RawJson<'a>) -> Result<Self, Faults<'a>> {
        Self::parse_by(check_members, value)
    }

    /// Reads the result of an `elicitation/create` whose form is
    /// [`RequestedSchema::of`](crate::types::RequestedSchema::of) this type, or the input response
    /// to one. Returns `None` if the user declined or dismissed the form.
    ///
    /// # Errors
    /// All that the form does not allow; a result that is none of an elicitation.
    fn from_elicit_result(result: RawJson<'a>) -> Result<Option<Self>, Faults<'a>> {
        form::read(result)
    }

    /// The schema of the type as a form.
    #[doc(hidden)]
    const FORM: RawJson<'static>;

    /// Reads the value after the check, which finds its members.
    #[doc(hidden)]
    fn parse_by(check: CheckMembers, value: RawJson<'a>) -> Result<Self, Faults<'a>>;
}

/// Checks a value, and finds the members of an object.
pub type CheckMembers =
    for<'a> fn(&'static Rule, RawJson<'a>, &mut [RawJson<'a>]) -> Result<(), Faults<'a>>;

/// Checks a value, and finds the members of an object.
#[cfg_attr(small, inline(never))]
pub fn check_members<'a>(
    rule: &'static Rule,
    value: RawJson<'a>,
    members: &mut [RawJson<'a>],
) -> Result<(), Faults<'a>> {
    check_by(&mut First, rule, value, members)
}

pub(super) fn check_by<'a>(
    report: &mut dyn Report,
    rule: &'static Rule,
    value: RawJson<'a>,
    members: &mut [RawJson<'a>],
) -> Result<(), Faults<'a>> {
    match (Check { cursor: Cursor::new(value), report, members }).value(rule, &Path::ROOT) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Faults { rule, value, is_form: false }),
    }
}

/// Finds the members of an object that has been checked.
pub fn find_members<'a>(object: &Object, value: RawJson<'a>, members: &mut [RawJson<'a>]) {
    check::members(object, value, members);
}

/// Returns which of several strings or objects a value is, or 0.
#[must_use]
pub fn find_name(names: &[&str], value: RawJson<'_>) -> usize {
    value.as_string().and_then(|text| check::position(names, text)).unwrap_or(0)
}

/// Returns which of several objects a value is, or 0, and finds its members.
pub fn find_variant<'a>(
    rule: &'static Rule,
    value: RawJson<'a>,
    members: &mut [RawJson<'a>],
) -> usize {
    if let Rule::OneOf(one_of) = rule { check::variant(one_of, value, members) } else { 0 }
}

impl<'a> Input<'a> for bool {
    const RULE: Rule = Rule::Boolean;
    fn read(value: RawJson<'a>) -> Self {
        value.as_bool().unwrap_or_default()
    }
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl<'a> Input<'a> for $type {
            const RULE: Rule = Rule::Integer(
                &const {
                    let min = if $type::MIN == 0 { 0 } else { $type::MIN as i64 };
                    let too_large = $type::MAX as u128 > i64::MAX as u128;
                    [min, if too_large { i64::MAX } else { $type::MAX as i64 }]
                },
            );
            fn read(value: RawJson<'a>) -> Self {
                value.as_i64().unwrap_or_default() as Self
            }
        }
    )*};
}

integers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

/// Reads the nearest finite value: a number beyond the largest is read as the largest.
impl<'a> Input<'a> for f64 {
    const RULE: Rule = Rule::Number(None);
    fn read(value: RawJson<'a>) -> Self {
        value.as_str().parse().unwrap_or(0.0f64).clamp(Self::MIN, Self::MAX)
    }
}

/// Reads the nearest finite value: a number beyond the largest is read as the largest.
impl<'a> Input<'a> for f32 {
    const RULE: Rule = Rule::Number(None);
    fn read(value: RawJson<'a>) -> Self {
        value.as_str().parse().unwrap_or(0.0f32).clamp(Self::MIN, Self::MAX)
    }
}

impl<'a> Input<'a> for Number<'a> {
    const RULE: Rule = Rule::Number(None);
    fn read(value: RawJson<'a>) -> Self {
        Self::from_json(value).unwrap_or(Number::new(0))
    }
}

/// Borrows a string; [`Text::as_plain`] is its `&str` where nothing is escaped.
impl<'a> Input<'a> for Text<'a> {
    const RULE: Rule = Rule::STRING;
    fn read(value: RawJson<'a>) -> Self {
        value.as_string().map_or(Self::new(""), Self::from_json)
    }
}

impl<'a> Input<'a> for JsonStr<'a> {
    const RULE: Rule = Rule::STRING;
    fn read(value: RawJson<'a>) -> Self {
        value.as_string().unwrap_or(const { JsonStr::from_static("\"\"") })
    }
}

/// Accepts any value, and checks nothing in it.
impl<'a> Input<'a> for RawJson<'a> {
    const RULE: Rule = Rule::Any;
    fn read(value: RawJson<'a>) -> Self {
        value
    }
}

/// An optional member; `null` is `None`.
impl<'a, T: Input<'a>> Input<'a> for Option<T> {
    const RULE: Rule = T::RULE;
    const DOCS: Docs = T::DOCS;
    const OPTIONAL: bool = true;
    fn read(value: RawJson<'a>) -> Self {
        (!value.is_null()).then(|| T::read(value))
    }
}

#[cfg(feature = "alloc")]
impl<'a> Input<'a> for alloc::string::String {
    const RULE: Rule = Rule::STRING;
    fn read(value: RawJson<'a>) -> Self {
        alloc::borrow::Cow::read(value).into_owned()
    }
}

#[cfg(feature = "alloc")]
impl<'a> Input<'a> for alloc::borrow::Cow<'a, str> {
    const RULE: Rule = Rule::STRING;
    fn read(value: RawJson<'a>) -> Self {
        let text = JsonStr::read(value);
        match text.as_plain() {
            Some(plain) => Self::Borrowed(plain),
            None => Self::Owned(text.chars().collect()),
        }
    }
}

#[cfg(feature = "alloc")]
impl<'a, T: Input<'a>> Input<'a> for alloc::vec::Vec<T> {
    const RULE: Rule = <Array<'a, T> as Input<'a>>::RULE;
    const DOCS: Docs = <Array<'a, T> as Input<'a>>::DOCS;
    fn read(value: RawJson<'a>) -> Self {
        Array::read(value).iter().collect()
    }
}

/// An array that stays JSON: each element is read when the iterator comes to it.
pub struct Array<'a, T>(RawJson<'a>, PhantomData<fn() -> T>);

impl<'a, T: Input<'a>> Array<'a, T> {
    /// Reads the elements in order.
    pub fn iter(&self) -> Map<Elements<'a>, fn(RawJson<'a>) -> T> {
        self.0.elements_or_self().map(T::read)
    }

    /// Returns the array as JSON.
    #[must_use]
    pub const fn as_json(&self) -> RawJson<'a> {
        self.0
    }
}

impl<'a, T: Input<'a>> Input<'a> for Array<'a, T> {
    const RULE: Rule = Rule::array(&T::RULE);
    const DOCS: Docs = Docs { inner: &[T::DOCS], ..Docs::NONE };
    fn read(value: RawJson<'a>) -> Self {
        Self(value, PhantomData)
    }
}

impl<'a, T: Input<'a>> IntoIterator for Array<'a, T> {
    type Item = T;
    type IntoIter = Map<Elements<'a>, fn(RawJson<'a>) -> T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Clone for Array<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<'_, T> {}

impl<T> fmt::Debug for Array<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
