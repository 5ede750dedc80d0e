//! Arguments and results as types: `#[derive(Input)]` makes a constant JSON Schema of a struct,
//! checks arguments against it, and reads them; [`#[derive(Output)]`](Output) makes the schema of
//! results, and writes them. Needs the feature `derive`.
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
//! [`request.arguments().raw()`](crate::Arguments::raw), and hands [`Faults`] to
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
//! | `f32`, `f64`, [`Number`](crate::types::Number) | `number` |
//! | [`Text`](crate::types::Text), [`JsonStr`](crate::JsonStr); with `alloc` `String`, `Cow<str>` | `string` |
//! | [`Array`]; with `alloc` `Vec` | `array` with `items` |
//! | `Option` | a member that is not `required`; `null` is read as `None`, too |
//! | struct with named fields, or without fields | `object`; unknown members are refused |
//! | struct with one field without a name | the schema of that field |
//! | enum without fields | `string` with `enum` |
//! | enum with a tag | `object` with `oneOf`, each with the tag as `const` |
//! | `#[output(untagged)]` enum of results | the object in it; each tool names the one that it [returns](Output) |
//! | [`RawJson`](crate::RawJson) | any value, unchecked |
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
//! | `default = 100` | value of a missing member: a literal, a constant, or a variant of an enum without fields. It is shown, and checked against `range` and `length` |
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
//! | `schema = SCHEMA` | of the arguments of a tool: a constant [`RawJson`](crate::RawJson) that is listed in place of the schema of the type, for keywords that types do not have. What is checked is the type |
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

mod call;
mod check;
mod docs;
mod faults;
mod form;
mod format;
mod handler;
mod input;
mod output;
mod prompts;
mod rule;
mod tools;

pub use mcp_sansio_derive::{Input, Output, Prompts, ToolCall, Tools};

pub use call::{OutputError, ToolCall};
pub use docs::{Default, Docs};
pub use faults::{Faults, MAX_FAULTS};
pub use format::Format;
pub use handler::{AsyncToolHandler, CallOf, SyncTools, ToolHandler, ToolSet};
pub use input::{Array, Input, InputObject};
pub use output::{Output, OutputObject};
pub use prompts::Prompts;
pub use rule::{MAX_MEMBERS, MAX_TYPE_DEPTH, Member, NumberRange, Object, OneOf, Rule};
pub use tools::{Called, Tools};

#[doc(hidden)]
pub use handler::checked;
// For the code that the macros write.
#[doc(hidden)]
pub use docs::{form_bytes, form_len, schema, schema_bytes, schema_len};
#[doc(hidden)]
pub use input::{CheckMembers, check_members, find_members, find_name, find_variant};
#[doc(hidden)]
pub use output::write_member;
#[doc(hidden)]
pub use prompts::{count_members, prompt, prompt_arguments};
#[doc(hidden)]
pub use tools::{assert_distinct, hash, join};
