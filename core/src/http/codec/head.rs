//! Header fields, and what they determine about the body and the connection.

use core::fmt;

use super::body::Body;
use super::error::HttpError;
use crate::http::Fields;

/// The fields of a validated head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeadFields<'f> {
    /// The field lines, preceded by the line feed of the first line.
    lines: &'f [u8],
}

impl<'f> HeadFields<'f> {
    /// Takes the fields of a head that starts with a request or status line and ends with an empty
    /// line.
    pub(super) fn after_first_line(head: &'f [u8]) -> Self {
        let at = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
        Self { lines: head.get(at..).unwrap_or_default() }
    }

    /// Returns all fields in order of appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&'f str, &'f [u8])> + use<'f> {
        self.lines.split(|byte| *byte == b'\n').filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            Some((core::str::from_utf8(name).ok()?, value.get(1..)?.trim_ascii()))
        })
    }
}

impl Fields for HeadFields<'_> {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .nth(n)
            .map(|(_, value)| value)
    }
}

impl fmt::Debug for HeadFields<'_> {
    /// Shows names only, since values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// The fields that concern framing and connection, collected in one pass.
#[derive(Default)]
pub(super) struct Framing {
    length: Option<u64>,
    is_chunked: bool,
    pub(super) hosts: u8,
    pub(super) expects_continue: bool,
    closes: bool,
    keeps: bool,
}

impl Framing {
    pub(super) fn of(fields: &[httparse::Header<'_>]) -> Result<Self, HttpError> {
        let mut framing = Self::default();
        for field in fields {
            framing.take(field)?;
        }
        if framing.is_chunked && framing.length.is_some() {
            return Err(HttpError::bad("both Content-Length and Transfer-Encoding"));
        }
        Ok(framing)
    }

    fn take(&mut self, field: &httparse::Header<'_>) -> Result<(), HttpError> {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let value = field.value.trim_ascii();
        if is("content-length") {
            if self.length.is_some() {
                return Err(HttpError::bad("more than one Content-Length"));
            }
            self.length = Some(number(value).ok_or(HttpError::bad("invalid Content-Length"))?);
        } else if is("transfer-encoding") {
            if self.is_chunked {
                return Err(HttpError::bad("more than one Transfer-Encoding"));
            }
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(HttpError::new(501, "Transfer-Encoding is not chunked"));
            }
            self.is_chunked = true;
        } else if is("host") {
            let is_plain = value.iter().all(|byte| {
                byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b'?' | b'#' | b',')
            });
            if !is_plain {
                return Err(HttpError::bad("invalid Host"));
            }
            self.hosts = self.hosts.saturating_add(1);
        } else if is("expect") {
            if !value.eq_ignore_ascii_case(b"100-continue") {
                return Err(HttpError::new(417, "Expect is not 100-continue"));
            }
            self.expects_continue = true;
        } else if is("connection") {
            for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.closes |= option.eq_ignore_ascii_case(b"close");
                self.keeps |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    /// Returns the body's framing; `None` if no field determines it.
    pub(super) fn body(&self, version: u8) -> Result<Option<Body>, HttpError> {
        match (self.is_chunked, self.length) {
            (true, _) if version == 0 => Err(HttpError::bad("Transfer-Encoding in HTTP/1.0")),
            (true, _) => Ok(Some(Body::CHUNKED)),
            (false, length) => Ok(length.map(Body::Length)),
        }
    }

    pub(super) fn keeps_alive(&self, version: u8) -> bool {
        !self.closes && (version > 0 || self.keeps)
    }
}

/// Maps an error of the parser.
pub(super) fn parse_error(error: httparse::Error) -> HttpError {
    match error {
        httparse::Error::TooManyHeaders => HttpError::new(431, "too many header fields"),
        httparse::Error::Version => {
            HttpError::new(505, "the version is neither HTTP/1.1 nor HTTP/1.0")
        }
        httparse::Error::HeaderName => {
            HttpError::bad("invalid name of a header field, or line folding")
        }
        httparse::Error::HeaderValue => HttpError::bad("invalid value of a header field"),
        _ => HttpError::bad("invalid HTTP"),
    }
}

/// Parses a decimal number of bytes, without sign.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Maximum number of fields in a head. Parsing takes 32 bytes of stack for each (16 on a 32-bit
/// machine).
pub const MAX_FIELDS: usize = 64;
