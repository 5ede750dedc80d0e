//! Arguments and results as types: `#[derive(Input)]` makes a constant JSON Schema of a struct,
//! checks arguments against it, and reads them; [`#[derive(Output)]`](Output) makes the schema of
//! results, and writes them. The macros need the feature `derive`.
//!
//! ```
//! use mcp_sansio::types::{Text, Tool};
//! use mcp_sansio::typed::{Array, Input, InputObject};
//! use mcp_sansio::{Catalog, RawJson, entries};
//!
//! #[derive(Input)]
//! struct Query<'a> {
//!     /// The statement
//!     #[arg(length = 1..=2000)]
//!     sql: Text<'a>,
//!     #[arg(range = 1..=1000, default = 100)]
//!     limit: u32,
//!     #[arg(default = Mode::Fast)]
//!     mode: Mode,
//!     tags: Option<Array<'a, Text<'a>>>,
//! }
//!
//! #[derive(Input)]
//! enum Mode {
//!     Fast,
//!     Exact,
//! }
//!
//! static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new("query", Query::SCHEMA)]);
//!
//! let arguments = RawJson::parse(r#"{"sql": "SELECT 1", "tags": ["a", "b"]}"#).unwrap();
//! let query = Query::parse(arguments).unwrap();
//! assert_eq!(query.sql.as_plain(), Some("SELECT 1"));
//! assert_eq!((query.limit, matches!(query.mode, Mode::Fast)), (100, true));
//! assert!(query.tags.unwrap().iter().eq(["a", "b"]));
//!
//! let arguments = RawJson::parse(r#"{"limit": 0, "mod": "exact"}"#).unwrap();
//! assert_eq!(
//!     Query::parse(arguments).err().unwrap().to_string(),
//!     "limit: must be an integer from 1 to 1000, is 0\n\
//!      mod: is unknown, must be one of sql, limit, mode, tags\n\
//!      sql: is missing, must be a string of 1 to 2000 characters"
//! );
//! ```
//!
//! All tools of a server are one enum, which derives [`Tools`]: from it the catalog is made, and
//! its values are the checked calls, which [`Catalog::call`](crate::Catalog::call) reads. All
//! prompts are another one, which derives [`Prompts`]. A struct can be the form of an elicitation,
//! too: [`RequestedSchema::of`](crate::types::RequestedSchema::of). For a
//! single tool a handler calls [`parse`](InputObject::parse) with
//! [`request.arguments().as_json()`](crate::Arguments::as_json), and hands [`Faults`] to
//! [`Server::respond_invalid_arguments`](crate::Server::respond_invalid_arguments).
//!
//! The schema is text that the compiler writes. The check is one function for all types, which
//! goes through the text once and follows a small constant table; values are borrowed from the
//! text. Nothing is allocated, except by types of the feature `alloc`.
//!
//! # What a type becomes
//!
//! | Rust | JSON Schema |
//! | --- | --- |
//! | `bool` | `boolean` |
//! | `u8` to `u64`, `i8` to `i64`, `usize`, `isize` | `integer` with the bounds of the type; those of an `i64` are not shown |
//! | `f32`, `f64`, [`Number`] | `number` |
//! | [`Text`], [`JsonStr`]; with `alloc` `String`, `Cow<str>` | `string` |
//! | [`Array`]; with `alloc` `Vec` | `array` with `items` |
//! | `Option` | a member that is not `required`; `null` is read as `None`, too |
//! | struct with named fields, or without fields | `object`; unknown members are refused |
//! | struct with one field without a name | the schema of that field |
//! | enum without fields | `string` with `enum` |
//! | enum with a tag | `object` with `oneOf`, each with the tag as `const` |
//! | `#[output(untagged)]` enum of results | the object in it; each tool names the one that it [returns](Output) |
//! | [`RawJson`] | any value, unchecked |
//!
//! The documentation of a field is the `description` of the member; without one, that of its type
//! is. Types may have a lifetime, that of the text, but no other parameters. They are nested at
//! most [`MAX_TYPE_DEPTH`] levels deep; recursive types do not compile.
//!
//! # Options
//!
//! On a field, `#[arg(..)]`:
//!
//! | option | meaning |
//! | --- | --- |
//! | `range = 1..=10`, `1..`, `..=10` | `minimum` and `maximum` of an integer; the bounds are constant expressions. Of `f32`, `f64` and `Number` they are literals with a point: `0.0..=1.0` |
//! | `length = 1..=10`, `1..`, `..=10` | `minLength` and `maxLength` of a string in characters, `minItems` and `maxItems` of an array |
//! | `format = "date"` | `format`, which is checked: `date`, `date-time`, `email`, `uri`, or a constant [`Format`] |
//! | `default = 100` | value of a missing member: a literal, a variant of an enum without fields, or, of an integer or a boolean, a constant. It is shown, and checked against `range` and `length` |
//! | `name = "type"` | the key, if it is not the name of the field |
//! | `title = ".."` | `title` |
//! | `header = "Region"` | `x-mcp-header` (2026-07-28): the argument is repeated in a header field |
//!
//! On a struct or an enum, `#[input(..)]`:
//!
//! | option | meaning |
//! | --- | --- |
//! | `open` | unknown members are ignored |
//! | `rename_all = "camelCase"` | keys of members and names of variants, which are `snake_case` otherwise; or `kebab-case` |
//! | `schema = SCHEMA` | of the arguments of a tool: a constant [`RawJson`] that is listed in place of the schema of the type, for keywords that types do not have. What is checked is the type |
//! | `tag = "kind"` | of an enum with fields: the member whose value is the name of the variant |
//!
//! On a variant, `#[input(name = "..")]`: its name on the wire; `title = ".."`: its name for
//! people, which the choices of a form show (`enumNames` in 2025-06-18).
//!
//! ```
//! # use mcp_sansio::typed::{Array, Input, InputObject};
//! # use mcp_sansio::RawJson;
//! #[derive(Input)]
//! #[input(tag = "kind")]
//! enum Shape {
//!     Circle { radius: u16 },
//!     Line(Line),
//! }
//!
//! #[derive(Input)]
//! struct Line {
//!     from: i32,
//!     to: i32,
//! }
//!
//! #[derive(Input)]
//! struct Drawing<'a> {
//!     shapes: Array<'a, Shape>,
//! }
//!
//! let shapes = r#"{"shapes":[{"kind":"line","from":0,"to":7},{"kind":"circle","radius":-1}]}"#;
//! assert_eq!(
//!     Drawing::parse(RawJson::from_static(shapes)).err().unwrap().to_string(),
//!     "shapes[1].radius: must be an integer from 0 to 65535, is -1"
//! );
//! ```

pub(crate) mod rules;
pub(crate) mod schema;

pub use crate::tools::typed::{
    AsyncToolHandler, CallOf, Called, OutputError, Prompts, SyncTools, ToolCall, ToolHandler,
    ToolSet, Tools,
};
#[cfg(feature = "derive")]
pub use mcp_sansio_derive::{Input, Output, Prompts, ToolCall, Tools};
pub use rules::{
    Faults, Format, MAX_FAULTS, MAX_MEMBERS, MAX_TYPE_DEPTH, Member, NumberRange, Object, OneOf,
    Rule,
};
pub use schema::{Default, Docs};

use core::fmt;
use core::iter::Map;
use core::marker::PhantomData;

use crate::encode::{Encode, Encoder, Json};
use crate::json::{Elements, Indexed, JsonStr, RawJson};
use crate::types::{ElicitParams, InputRequest, Number, RequestedSchema, Text};
use rules::check_members;
use schema::assert_form;

// Types that are read from JSON.

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
        Self::parse_as(false, value.into())
    }

    /// Reads the result of an `elicitation/create` whose form is
    /// [`RequestedSchema::of`](crate::types::RequestedSchema::of) this type, or the input response
    /// to one. Returns `None` if the user declined or dismissed the form.
    ///
    /// # Errors
    /// All that the form does not allow; a result that is none of an elicitation.
    fn from_elicit_result(result: RawJson<'a>) -> Result<Option<Self>, Faults<'a>> {
        read_form(result)
    }

    /// The schema of the type as a form.
    #[doc(hidden)]
    const FORM: RawJson<'static>;

    /// Checks and reads a value, or what a client sends for a form.
    #[doc(hidden)]
    fn parse_as(is_form: bool, value: Indexed<'a>) -> Result<Self, Faults<'a>>;
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

macro_rules! floats {
    ($($type:ident)*) => {$(
        /// Reads the nearest finite value: a number beyond the largest is read as the largest.
        impl<'a> Input<'a> for $type {
            const RULE: Rule = Rule::Number(None);
            fn read(value: RawJson<'a>) -> Self {
                value.as_str().parse::<Self>().unwrap_or(0.0).clamp(Self::MIN, Self::MAX)
            }
        }
    )*};
}

floats! { f32 f64 }

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

// Types that are written as JSON and have a schema.

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

// Forms of elicitation as types.

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
    pub const fn of<'t, T: InputObject<'t>>() -> Self {
        const { assert_form(&T::RULE) };
        Self::typed(T::FORM)
    }
}

impl<'a> InputRequest<'a> {
    /// Requests the [form of a type](RequestedSchema::of).
    pub const fn form<'t, T: InputObject<'t>>(message: &'a str) -> Self {
        Self::Elicit(ElicitParams::form(message, RequestedSchema::of::<T>()))
    }
}

/// Reads the result of an elicitation.
fn read_form<'a, T: InputObject<'a>>(result: RawJson<'a>) -> Result<Option<T>, Faults<'a>> {
    let mut members = [RawJson::NULL; 2];
    check_members(&ELICIT_RESULT, result.into(), &mut members, false)?;
    let [action, content] = members;
    if action.as_string().is_none_or(|action| action != "accept") {
        return Ok(None);
    }
    let content = if content.is_null() { RawJson::EMPTY } else { content };
    T::parse_as(true, content.into()).map(Some)
}

/// Schema type `ElicitResult`.
const ELICIT_RESULT: Rule = Rule::Object(
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
