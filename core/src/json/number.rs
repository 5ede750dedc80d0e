//! Formatting of integers, and parsing and comparison of JSON numbers.

use core::cmp::Ordering;
use core::iter;

/// The decimal digits of an integer.
pub struct Decimal {
    text: [u8; 20],
    start: u8,
}

impl Decimal {
    #[cfg_attr(not(small), inline)]
    /// Writes the digits of `value`, behind `-` if it is `negative`.
    pub fn new(value: u64, negative: bool) -> Self {
        let mut decimal = Self { text: [0; 20], start: 20 };
        let mut rest = value;
        loop {
            let digit;
            (rest, digit) = divide_by_ten(rest);
            decimal.push(digit);
            if rest == 0 {
                break;
            }
        }
        if negative {
            // There is room for the sign: the magnitude of an `i64` has at most 19 digits.
            decimal.push(b'-'.wrapping_sub(b'0'));
        }
        decimal
    }

    #[inline]
    fn push(&mut self, digit: u8) {
        self.start = self.start.saturating_sub(1);
        if let Some(byte) = self.text.get_mut(usize::from(self.start)) {
            *byte = b'0'.wrapping_add(digit);
        }
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("0")
    }

    #[inline]
    /// Returns the digits.
    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(usize::from(self.start)..).unwrap_or_default()
    }
}

/// Returns `value / 10` and `value % 10`.
#[cfg_attr(not(small), inline)]
pub(crate) fn divide_by_ten(value: u64) -> (u64, u8) {
    if cfg!(not(small)) {
        return (value / 10, (value % 10) as u8);
    }
    // Long division by bytes. A Cortex-M0 cannot divide; up to 2,559 the product is exact.
    let mut bytes = value.to_be_bytes();
    let mut rest = 0;
    for byte in &mut bytes {
        rest = rest << 8 | u32::from(*byte);
        let tenth = (rest * 6554) >> 16;
        *byte = tenth as u8;
        rest -= tenth * 10;
    }
    (u64::from_be_bytes(bytes), rest as u8)
}

/// Parses a scanned number as an integer, into whether it is negative and its magnitude. Returns
/// `None` if it has a fraction other than zero or does not fit. `1e2` and `4.0` are integers.
pub(crate) fn integer<M: Magnitude>(text: &str) -> Option<(bool, M)> {
    // Without a decimal point and an exponent, as most are.
    let digits = text.strip_prefix('-').unwrap_or(text);
    if cfg!(not(small)) && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((digits.len() < text.len(), digits.bytes().try_fold(M::default(), M::push)?));
    }
    let number = Scientific::new(text);
    let value = number.integer()?.try_fold(M::default(), M::push)?;
    Some((number.sign < 0, value))
}

/// Returns whether a scanned number has no fraction other than zero: `1e300` has none.
pub(crate) fn is_whole(text: &str) -> bool {
    let number = Scientific::new(text);
    number.exponent >= number.len
}

/// Compares two scanned numbers exactly. As `f64` different numbers could be equal, and parsing
/// them takes more flash than this whole module.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    let plain = |text| integer(text).and_then(signed);
    if cfg!(not(small))
        && let (Some(one), Some(other)) = (plain(one), plain(other))
    {
        return one.cmp(&other);
    }
    let (one, other) = (Scientific::new(one), Scientific::new(other));
    let magnitudes =
        || one.exponent.cmp(&other.exponent).then_with(|| one.digits().cmp(other.digits()));
    match (one.sign, other.sign) {
        (1, 1) => magnitudes(),
        (-1, -1) => magnitudes().reverse(),
        (one, other) => one.cmp(&other),
    }
}

/// Maximum number of digits of an integer. Those of all integer types and of ids have at most as
/// many.
const MAX_DIGITS: isize = 48;

/// A number as 0.d1d2d3... times a power of ten, where d1 is not zero. Zero has sign 0.
pub(crate) struct Scientific<'t> {
    pub(crate) sign: i8,
    exponent: isize,
    /// Number of digits, without trailing zeros.
    len: isize,
    /// The digits, with a decimal point at any place.
    mantissa: &'t [u8],
}

impl<'t> Scientific<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let text = text.as_bytes();
        let (mut start, mut end, mut digits) = (0, 0, 0);
        let (mut shift, mut len, mut is_fraction) = (0isize, 0, false);
        for (at, byte) in text.iter().enumerate() {
            match byte {
                b'-' => {}
                b'.' => is_fraction = true,
                b'e' | b'E' => {
                    shift = shift.saturating_add(exponent(text.get(at + 1..).unwrap_or_default()));
                    break;
                }
                b'0' if end == 0 => shift -= isize::from(is_fraction),
                digit => {
                    shift += isize::from(!is_fraction);
                    digits += 1;
                    if end == 0 {
                        start = at;
                    }
                    if *digit != b'0' {
                        (end, len) = (at + 1, digits);
                    }
                }
            }
        }
        let Some(mantissa) = text.get(start..end).filter(|_| end > 0) else {
            return Self { sign: 0, exponent: 0, len: 0, mantissa: &[] };
        };
        let sign = if text.first() == Some(&b'-') { -1 } else { 1 };
        Self { sign, exponent: shift, len, mantissa }
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.mantissa.iter().copied().filter(|byte| *byte != b'.')
    }

    /// Returns the digits of an integer: `None` if it has a fraction or too many digits.
    pub(crate) fn integer(&self) -> Option<impl Iterator<Item = u8>> {
        let zeros = usize::try_from(self.exponent - self.len).ok()?;
        (self.exponent <= MAX_DIGITS).then(|| self.digits().chain(iter::repeat_n(b'0', zeros)))
    }
}

impl PartialEq for Scientific<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.sign, self.exponent) == (other.sign, other.exponent)
            && self.digits().eq(other.digits())
    }
}

/// Parses an exponent, and limits it to 10^8 in magnitude: no text has enough digits to make up for
/// more.
fn exponent(text: &[u8]) -> isize {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let value = digits.iter().fold(0, |value, digit| {
        (value * 10 + isize::from(digit.wrapping_sub(b'0'))).min(100_000_000)
    });
    if negative { -value } else { value }
}

/// An integer type that [`integer`] can accumulate digits in.
pub(crate) trait Magnitude: Copy + Default + PartialEq {
    /// Returns `self * 10 + digit`, where `digit` is an ASCII digit; `None` on overflow.
    fn push(self, digit: u8) -> Option<Self>;
}

macro_rules! magnitudes {
    ($($type:ty),*) => {$(
        impl Magnitude for $type {
            fn push(self, digit: u8) -> Option<Self> {
                // `checked_mul` would be slow on processors without wide multiplication.
                if self > <$type>::MAX / 10 {
                    return None;
                }
                (self * 10).checked_add(<$type>::from(digit.wrapping_sub(b'0')))
            }
        }
    )*};
}

magnitudes! { u64, i128 }

/// Returns the `i64` of a sign and a magnitude, if it fits.
pub(crate) fn signed((negative, value): (bool, u64)) -> Option<i64> {
    if negative { 0i64.checked_sub_unsigned(value) } else { value.try_into().ok() }
}

/// A number in serde's data model.
pub(crate) enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    /// Parses a scanned number. Without fraction and exponent it is an integer, unless it does not
    /// fit in 64 bits.
    pub(crate) fn parse(text: &str) -> Self {
        if let Ok(n) = text.parse() {
            return Self::Unsigned(n);
        }
        match text.parse() {
            // -0 is a float: an integer has no negative zero.
            Ok(n) if n != 0 => Self::Signed(n),
            _ => Self::Float(text.parse().unwrap_or(f64::NAN)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly_in_any_notation() {
        // In ascending order; the numbers of a row are equal.
        let ascending: [&[&str]; 19] = [
            &["-1e999999999999"],
            &["-1e400"],
            &["-9007199254740993"],
            &["-9007199254740992", "-9007199254740992.0"],
            &["-10", "-1e1", "-0.1e2"],
            &["-9.99"],
            &["-1e-5", "-0.00001"],
            &["0", "-0", "0.0", "0e99999999999", "-0.000e-3"],
            &["1e-999999999999"],
            &["1e-5", "0.00001", "0.1e-4", "10e-6"],
            &["0.5", "5e-1", "0.50", "50E-2"],
            &["1", "1.0", "10e-1", "0.01e+2"],
            &["1.000000000000000000000000000001"],
            &["75.9"],
            &["76", "7.6e1"],
            &["100", "1e2", "1E+2", "100.00"],
            &["18446744073709551615"],
            &["18446744073709551616"],
            &["1e400", "10e399"],
        ];
        for (i, equal) in ascending.iter().enumerate() {
            for (j, others) in ascending.iter().enumerate() {
                for (one, other) in
                    equal.iter().flat_map(|one| others.iter().map(move |other| (one, other)))
                {
                    assert_eq!(compare(one, other), i.cmp(&j), "{one} {other}");
                }
            }
        }
    }
}
