//! Decimal numbers. Formatting them needs no floating point, which costs kilobytes of code in
//! firmware.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Source;
use crate::encode::{Encode, Encoder};
use crate::json::{RawJson, divide_by_ten};
use crate::types::macros::wrong;
use crate::types::rendered::{Of, Renderer};

/// A decimal number of the application, or the digits of a number of a message.
///
/// ```
/// use mcp_sansio::types::Number;
/// const PRIORITY: Number = Number::decimal(85, 2);
/// assert_eq!(PRIORITY.to_string(), "0.85");
/// assert_eq!(PRIORITY.as_f64(), 0.85);
/// ```
#[derive(Clone, Copy)]
pub struct Number<'a>(Source<Decimal, RawJson<'a>>);

/// `digits` divided by 10 to the power of `places`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i64,
    places: u8,
}

/// Length of the longest formatted number: sign, leading zero, point and digits.
const MAX_LEN: usize = 24;
/// Maximum number of decimal places: an `i64` has at least 18 digits.
const MAX_PLACES: u8 = 18;

impl<'a> Number<'a> {
    /// Creates an integer.
    #[must_use]
    pub const fn new(value: i64) -> Self {
        Self::decimal(value, 0)
    }

    /// Creates a decimal fraction, `digits` divided by 10 to the power of `places`:
    /// `decimal(85, 2)` is 0.85. More than 18 places are treated as 18.
    #[must_use]
    pub const fn decimal(digits: i64, places: u8) -> Self {
        let places = if places > MAX_PLACES { MAX_PLACES } else { places };
        Self(Source::Own(Decimal { digits, places }))
    }

    /// Creates a number from JSON. Returns `None` if it is not a number.
    #[must_use]
    pub fn from_json(number: RawJson<'a>) -> Option<Self> {
        number.is_number().then_some(Self(Source::Received(number)))
    }

    /// Returns the value if it is an integer in the range of `i64`.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Source::Own(Decimal { digits, places }) => {
                let unit = 10i64.checked_pow(u32::from(places))?;
                (digits.checked_rem(unit)? == 0).then_some(digits.checked_div(unit)?)
            }
            Source::Received(number) => number.as_i64(),
        }
    }

    /// Returns the nearest `f64`.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.text(&mut [0; MAX_LEN]).parse().unwrap_or(f64::NAN)
    }

    /// Formats the number into `out`, unless it has been received.
    fn text<'o>(self, out: &'o mut [u8; MAX_LEN]) -> &'o str
    where
        'a: 'o,
    {
        match self.0 {
            Source::Received(number) => number.as_str(),
            Source::Own(Decimal { digits, places }) => {
                let mut rest = digits.unsigned_abs();
                let mut start = MAX_LEN;
                let mut written = 0;
                loop {
                    let byte = if places > 0 && written == places {
                        b'.'
                    } else {
                        let digit;
                        (rest, digit) = divide_by_ten(rest);
                        b'0'.wrapping_add(digit)
                    };
                    start = start.saturating_sub(1);
                    if let Some(place) = out.get_mut(start) {
                        *place = byte;
                    }
                    written += 1;
                    // At least one digit precedes the point.
                    let whole = if places > 0 { places + 2 } else { 1 };
                    if (rest == 0 && written >= whole) || start == 1 {
                        break;
                    }
                }
                if digits < 0 {
                    start = start.saturating_sub(1);
                    if let Some(place) = out.get_mut(start) {
                        *place = b'-';
                    }
                }
                out.get(start..).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or("0")
            }
        }
    }
}

macro_rules! from {
    ($($type:ty),*) => {$(
        impl From<$type> for Number<'_> {
            fn from(value: $type) -> Self {
                Self::new(i64::from(value))
            }
        }
    )*};
}

from! { i8, i16, i32, i64, u8, u16, u32 }

/// Compares as `f64`.
impl PartialEq for Number<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_f64() == other.as_f64()
    }
}

impl fmt::Debug for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(&mut [0; MAX_LEN]))
    }
}

/// For values of the application that contain a number: see [`Json`](crate::Json).
impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJson::scanned(self.text(&mut [0; MAX_LEN])).serialize(serializer)
    }
}

impl Encode for Number<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(RawJson::scanned(self.text(&mut [0; MAX_LEN])));
    }
}

impl Of<'_, Number<'_>> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        match self.0.0 {
            Source::Own(Decimal { digits, places }) => {
                let unit = 10u64.pow(places as u32);
                if digits < 0 {
                    to.put(b"-");
                }
                to.digits(digits.unsigned_abs() / unit, 1);
                if places > 0 {
                    to.put(b".");
                    to.digits(digits.unsigned_abs() % unit, places);
                }
            }
            Source::Received(number) => to.raw(number),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Number<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(RawJson::deserialize(deserializer)?).ok_or_else(|| wrong(&"a number"))
    }
}
