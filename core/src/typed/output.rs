//! Types that are written as JSON and have a schema.

use super::docs::Docs;
use super::input::{Array, Input};
use super::rule::Rule;
use crate::encode::{Encode, Encoder, Json};
use crate::json::{JsonStr, RawJson};
use crate::types::{Number, Text};

/// A type of a result, or of a member or element in one. Derive it, which implements [`Encode`],
/// too.
///
/// ```
/// use mcp_sansio::typed::{Output, OutputObject};
/// use mcp_sansio::{Revision, to_slice};
///
/// /// The rows that a query found.
/// #[derive(Output)]
/// struct Rows<'a> {
///     /// Number of rows
///     count: u32,
///     columns: &'a [&'a str],
///     order: Option<Order>,
/// }
///
/// #[derive(Output)]
/// enum Order {
///     Ascending,
///     Descending,
/// }
///
/// assert_eq!(
///     Rows::SCHEMA.as_str(),
///     concat!(
///         r#"{"type":"object","properties":{"count":{"type":"integer","minimum":0,"#,
///         r#""maximum":4294967295,"description":"Number of rows"},"columns":{"type":"#,
///         r#""array","items":{"type":"string"}},"order":{"type":"string","enum":["#,
///         r#""ascending","descending"]}},"required":["count","columns"],"#,
///         r#""additionalProperties":false}"#,
///     )
/// );
/// let rows = Rows { count: 2, columns: &["a", "b"], order: None };
/// let mut buffer = [0; 64];
/// let json = to_slice(&rows, Revision::LATEST, &mut buffer).unwrap();
/// assert_eq!(json.as_str(), r#"{"count":2,"columns":["a","b"]}"#);
/// ```
///
/// Types and options are [those of `Input`](super), and a type may derive both. Strings are also
/// `&str`, arrays also slices and arrays of Rust; `None` is left out. `range`, `length` and
/// `format` are written into the schema, not checked.
///
/// Tools of several result types return an enum of them, each variant with one type, which is
/// written as the object in it. It has no schema of its own: `returns` of each tool names the type.
///
/// ```
/// # use mcp_sansio::typed::{Output, Tools};
/// # use mcp_sansio::{Revision, ToolOutput, ToolResult, to_slice};
/// #[derive(Tools)]
/// enum Call {
///     /// Reads the sensor.
///     #[tool(returns = Light)]
///     Light,
///     /// Time since the start.
///     #[tool(returns = Uptime)]
///     Uptime,
/// }
///
/// #[derive(Output)]
/// struct Light {
///     lux: u16,
/// }
///
/// #[derive(Output)]
/// struct Uptime {
///     seconds: u32,
/// }
///
/// #[derive(Output)]
/// #[output(untagged)]
/// enum Data {
///     Light(Light),
///     Uptime(Uptime),
/// }
///
/// fn call<'a>(call: Call) -> ToolResult<'a, Data> {
///     Ok(ToolOutput::Structured(match call {
///         Call::Light => Light { lux: 412 }.into(),
///         Call::Uptime => Uptime { seconds: 7 }.into(),
///     }))
/// }
/// let mut buffer = [0; 64];
/// let json = to_slice(&Data::from(Uptime { seconds: 7 }), Revision::LATEST, &mut buffer).unwrap();
/// assert_eq!(json.as_str(), r#"{"seconds":7}"#);
/// # assert!(call(Call::Light).is_ok() && call(Call::Uptime).is_ok());
/// ```
///
/// A type of your own that is written as another one can implement it, with the rule of that type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written with a schema",
    label = "does not implement `Output`",
    note = "a struct or an enum of your own derives it: `#[derive(Output)]`"
)]
pub trait Output: Encode {
    /// The values that are written.
    const RULE: Rule;
    /// The words of the schema beside the rule.
    const DOCS: Docs = Docs::NONE;
    /// Whether a member of this type may be left out.
    const OPTIONAL: bool = false;

    /// Whether a member with this value is left out.
    fn is_omitted(&self) -> bool {
        false
    }
}

/// The structured content of a tool's result: a struct, or an enum with a tag, that derives
/// [`Output`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the structured content of a tool's result",
    note = "a struct with named fields can, if it derives `Output`"
)]
pub trait OutputObject: Output {
    /// JSON Schema 2020-12 of the type, without `$schema` and `$ref`: the
    /// [`output_schema`](crate::types::Tool::output_schema) of a tool.
    const SCHEMA: RawJson<'static>;

    /// Writes the members of the object.
    #[doc(hidden)]
    fn encode_members(&self, to: &mut Encoder<'_>);
}

/// Writes a member, unless it is left out.
pub fn write_member<T: Output + ?Sized>(to: &mut Encoder<'_>, name: &str, value: &T) {
    if !value.is_omitted() {
        to.member(name, value);
    }
}

/// Returns the rule of an array.
const fn elements<T: Output>() -> Rule {
    assert!(!T::OPTIONAL, "an element of an array cannot be left out: it is no Option");
    Rule::array(&T::RULE)
}

macro_rules! as_input {
    ($($(#[$attribute:meta])* $type:ty)*) => {$(
        $(#[$attribute])*
        impl Output for $type {
            const RULE: Rule = <$type as Input<'_>>::RULE;
        }
    )*};
}

as_input! {
    bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64
    Number<'_> Text<'_> JsonStr<'_> RawJson<'_>
    #[cfg(feature = "alloc")] alloc::string::String
    #[cfg(feature = "alloc")] alloc::borrow::Cow<'_, str>
}

impl Output for str {
    const RULE: Rule = Rule::STRING;
}

impl<T: Output + ?Sized> Output for &T {
    const RULE: Rule = T::RULE;
    const DOCS: Docs = T::DOCS;
    const OPTIONAL: bool = T::OPTIONAL;
    fn is_omitted(&self) -> bool {
        (**self).is_omitted()
    }
}

impl<T: Output> Output for [T] {
    const RULE: Rule = elements::<T>();
    const DOCS: Docs = Docs { inner: &[T::DOCS], ..Docs::NONE };
}

impl<T: Output, const N: usize> Output for [T; N] {
    const RULE: Rule = elements::<T>().length(N as u32, N as u32);
    const DOCS: Docs = <[T]>::DOCS;
}

#[cfg(feature = "alloc")]
impl<T: Output> Output for alloc::vec::Vec<T> {
    const RULE: Rule = elements::<T>();
    const DOCS: Docs = <[T]>::DOCS;
}

/// Any JSON: what serde writes has no schema.
impl<T: serde::Serialize> Output for Json<T> {
    const RULE: Rule = Rule::Any;
}

/// Written as it was read.
impl<'a, T: Input<'a>> Output for Array<'a, T> {
    const RULE: Rule = <Self as Input<'a>>::RULE;
    const DOCS: Docs = <Self as Input<'a>>::DOCS;
}

impl<'a, T: Input<'a>> Encode for Array<'a, T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(self.as_json());
    }
}

/// A member that may be left out.
impl<T: Output> Output for Option<T> {
    const RULE: Rule = T::RULE;
    const DOCS: Docs = T::DOCS;
    const OPTIONAL: bool = true;
    fn is_omitted(&self) -> bool {
        self.as_ref().is_none_or(T::is_omitted)
    }
}
