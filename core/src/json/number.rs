//! Numbers: decimal digits out, and what a number's text means.

/// The decimal digits of an integer.
pub(crate) struct Decimal {
    text: [u8; 20],
    start: u8,
}

impl Decimal {
    #[inline]
    pub(crate) fn new(value: u64, negative: bool) -> Self {
        let mut decimal = Self { text: [0; 20], start: 20 };
        // Small numbers, ids above all, need no 64-bit division, which a Cortex-M0 has to call a function for.
        let mut rest = value;
        while rest > u64::from(u32::MAX) {
            decimal.push((rest % 10) as u8);
            rest /= 10;
        }
        let mut rest = rest as u32;
        loop {
            decimal.push((rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if negative {
            // At most 19 digits belong to a negative number.
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

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.text.get(usize::from(self.start)..).unwrap_or_default()
    }
}

/// A number's text as an integer: `None` when it has a fraction other than zero or does not fit. `1e2` and `4.0` are integers.
pub(crate) fn integer(text: &str) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        // One that does not fit is as good as the largest that does.
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(if exponent.starts_with('-') { i32::MIN } else { i32::MAX })),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value: i128 = 0;
    // Digits that count as whole once the exponent has moved the point.
    let wanted = i32::try_from(whole.len()).ok()?.saturating_add(exponent);
    let mut seen = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = i128::from(digit.wrapping_sub(b'0'));
        if seen < wanted {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if digit != 0 {
            return None;
        }
        seen += 1;
    }
    while seen < wanted && value != 0 {
        value = value.checked_mul(10)?;
        seen += 1;
    }
    Some(if negative { -value } else { value })
}

/// A number as serde's data model knows it.
pub(crate) enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    /// What a scanned number's text means. Without a fraction or exponent it is an integer, unless it does not fit one.
    pub(crate) fn of(text: &str) -> Self {
        if let Ok(n) = text.parse() {
            return Self::Unsigned(n);
        }
        match text.parse() {
            // An integer has no negative zero.
            Ok(n) if n != 0 => Self::Signed(n),
            _ => Self::Float(text.parse().unwrap_or(f64::NAN)),
        }
    }
}
