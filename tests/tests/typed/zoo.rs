//! Types with everything that the derives know.

use mcp_sansio::typed::{Array, Format, Input, Output};
use mcp_sansio::types::{Number, Text};
use mcp_sansio::{JsonStr, RawJson};

pub(crate) const MAX_ROWS: u32 = 1000;

/// Arguments of a query.
#[derive(Input, Output, Clone, Debug)]
pub(crate) struct Query<'a> {
    /// The statement,
    /// in one "line".
    ///
    /// Another paragraph.
    #[arg(length = 1..=20, title = "SQL")]
    pub(crate) sql: Text<'a>,
    #[arg(range = 1..=MAX_ROWS, default = 100)]
    pub(crate) limit: u32,
    #[arg(default = Mode::Fast)]
    pub(crate) mode: Mode,
    /// **Short** words.
    #[arg(length = ..=3)]
    pub(crate) tags: Option<Array<'a, Text<'a>>>,
    pub(crate) columns: Option<Vec<Column<'a>>>,
    #[arg(header = "Region", default = "eu\"west\"")]
    pub(crate) region: String,
}

/**
 * How it
 * is run.
 */
#[derive(Input, Output, Clone, Copy, PartialEq, Debug)]
pub(crate) enum Mode {
    Fast,
    VeryExact,
    #[input(name = "best-effort")]
    Best,
}

/// A column.
#[derive(Input, Output, Clone, Debug)]
#[input(rename_all = "camelCase")]
pub(crate) struct Column<'a> {
    pub(crate) column_name: JsonStr<'a>,
    #[arg(name = "type")]
    pub(crate) kind: Option<Kind>,
    pub(crate) ascending: bool,
}

/** *Type* of values:
* a text or
  é integer. */
#[derive(Input, Output, Clone, Copy, PartialEq, Debug)]
#[input(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Text,
    BigInteger,
}

#[derive(Input, Output, Clone, Debug)]
pub(crate) struct Drawing<'a> {
    #[arg(length = 1..)]
    pub(crate) shapes: Vec<Shape<'a>>,
    /// Where it begins.
    pub(crate) origin: Point,
    #[arg(range = 0.0..=1.5e0, default = 0.5)]
    pub(crate) opacity: f64,
    #[arg(range = -0.25..)]
    pub(crate) offset: Option<f32>,
    pub(crate) scale: Option<Number<'a>>,
    pub(crate) angle: Option<Degrees>,
    #[arg(default = false)]
    pub(crate) is_filled: bool,
    pub(crate) r#type: Option<RawJson<'a>>,
}

#[derive(Input, Output, Clone, Debug)]
#[input(tag = "kind")]
pub(crate) enum Shape<'a> {
    /// A circle.
    Circle {
        #[arg(range = 1..)]
        radius: u16,
        label: Option<Text<'a>>,
    },
    Line(Line),
    Nothing,
}

/// A line.
#[derive(Input, Output, Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) from: Point,
    pub(crate) to: Point,
}

/// A point.
#[derive(Input, Output, Clone, Copy, PartialEq, Debug)]
#[input(open)]
pub(crate) struct Point {
    #[arg(range = -100..=100)]
    pub(crate) x: i16,
    #[arg(default = -1)]
    pub(crate) y: i64,
}

/// An angle.
#[derive(Input, Output, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Degrees(#[arg(range = 0..=359)] pub(crate) u16);

#[derive(Input, Output, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Small(pub(crate) Option<u8>);

#[derive(Input, Output, Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) a: Small,
    pub(crate) b: Option<i8>,
    pub(crate) c: Option<u16>,
    pub(crate) d: Option<i16>,
    pub(crate) e: Option<u32>,
    pub(crate) f: Option<i32>,
    pub(crate) g: Option<u64>,
    pub(crate) h: Option<i64>,
    pub(crate) i: Option<f32>,
    pub(crate) j: Option<f64>,
}

#[derive(Input, Output, Clone, Copy, Debug)]
#[allow(dead_code, reason = "only checked")]
pub(crate) struct Formats<'a> {
    #[arg(format = "date")]
    pub(crate) date: Option<Text<'a>>,
    #[arg(format = "date-time")]
    pub(crate) date_time: Option<Text<'a>>,
    #[arg(format = "email")]
    pub(crate) email: Option<Text<'a>>,
    #[arg(format = "uri")]
    pub(crate) uri: Option<Text<'a>>,
    #[arg(format = EVEN, length = ..=8)]
    pub(crate) even: Option<Text<'a>>,
}

const EVEN: Format = Format::new("even", |text| text.chars().count() % 2 == 0);

#[derive(Input, Output, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Nothing;

#[derive(Input, Output, Clone, Debug)]
pub(crate) struct Form {
    #[arg(length = 1..=8)]
    pub(crate) text: String,
    #[arg(range = -3..=7, default = 1)]
    pub(crate) number: i8,
    #[arg(range = 0.0..=0.5)]
    pub(crate) fraction: Option<f32>,
    pub(crate) mode: Mode,
    #[arg(length = 1..=3)]
    pub(crate) kinds: Vec<Kind>,
    pub(crate) is_sure: Option<bool>,
}
