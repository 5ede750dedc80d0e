//! Header fields, and what they determine about the body and the connection.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;

use super::body::Body;
use super::error::HttpError;
use crate::http::Fields;
use crate::rx::newline;

/// The fields of a validated head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeadFields<'f> {
    /// The field lines, and the empty one.
    lines: &'f [u8],
}

impl<'f> HeadFields<'f> {
    /// Takes the fields of a head that starts with a request or status line and ends with an empty
    /// line.
    pub(super) fn after_first_line(head: &'f [u8]) -> Self {
        let at = newline(head).map_or(head.len(), |at| at + 1);
        Self { lines: head.get(at..).unwrap_or_default() }
    }

    /// Returns all fields in order of appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&'f str, &'f [u8])> + use<'f> {
        let lines = self.lines;
        let text = |name| core::str::from_utf8(name).ok();
        places(lines).filter_map(move |place| Some((text(place.name(lines))?, place.value(lines))))
    }
}

impl Fields for HeadFields<'_> {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        named(places(self.lines), self.lines, name).nth(n)
    }
}

impl fmt::Debug for HeadFields<'_> {
    /// Shows names only, since values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// The fields of a head, copied out of the buffer of the reader: for a
/// [`Site`](crate::http::site::Site). Their names are in lower case.
#[cfg(feature = "alloc")]
#[derive(Clone)]
pub struct OwnedFields {
    lines: Vec<u8>,
    places: Vec<Place>,
}

#[cfg(feature = "alloc")]
impl From<HeadFields<'_>> for OwnedFields {
    fn from(fields: HeadFields<'_>) -> Self {
        let mut all = Vec::with_capacity(USUAL_FIELDS);
        all.extend(places(fields.lines));
        let mut lines = Vec::from(fields.lines);
        for place in &all {
            // So that names are found without a look at each of their bytes.
            place.name_mut(&mut lines).make_ascii_lowercase();
        }
        Self { lines, places: all }
    }
}

#[cfg(feature = "alloc")]
impl OwnedFields {
    fn named(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        named(self.places.iter(), &self.lines, name)
    }
}

#[cfg(feature = "alloc")]
impl Fields for OwnedFields {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.named(name).nth(n)
    }

    fn first_two(&self, name: &str) -> [Option<&[u8]>; 2] {
        let mut named = self.named(name);
        [named.next(), named.next()]
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for OwnedFields {
    /// Shows names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HeadFields { lines: &self.lines }.fmt(f)
    }
}

/// The place of a field in the lines of a head.
#[derive(Clone, Copy)]
struct Place {
    name: u32,
    colon: u32,
    value: u32,
    end: u32,
}

impl Place {
    fn name(self, lines: &[u8]) -> &[u8] {
        lines.get(self.name as usize..self.colon as usize).unwrap_or_default()
    }

    #[cfg(feature = "alloc")]
    fn name_mut(self, lines: &mut [u8]) -> &mut [u8] {
        lines.get_mut(self.name as usize..self.colon as usize).unwrap_or_default()
    }

    fn value(self, lines: &[u8]) -> &[u8] {
        lines.get(self.value as usize..self.end as usize).unwrap_or_default()
    }
}

/// Finds the fields in the lines of a head.
fn places(lines: &[u8]) -> impl Iterator<Item = Place> {
    let mut at = 0;
    core::iter::from_fn(move || {
        loop {
            let name = at;
            let rest = lines.get(name..)?;
            let len = newline(rest)?;
            at += len + 1;
            let Some((line, colon)) = rest
                .get(..len)
                .and_then(|line| Some((line, line.iter().position(|byte| *byte == b':')?)))
            else {
                continue;
            };
            let value = line.get(colon + 1..).unwrap_or_default();
            let start = name + len - value.trim_ascii_start().len();
            let end = start + value.trim_ascii().len();
            let [name, colon, value, end] = [name, name + colon, start, end].map(|at| at as u32);
            return Some(Place { name, colon, value, end });
        }
    })
}

/// Returns the values of the fields with a name.
fn named<'l>(
    places: impl Iterator<Item: Borrow<Place>>,
    lines: &'l [u8],
    name: &str,
) -> impl Iterator<Item = &'l [u8]> {
    let name = name.as_bytes();
    places.filter_map(move |place| {
        let place = place.borrow();
        let has_name = (place.colon - place.name) as usize == name.len() && {
            let own = place.name(lines);
            own == name || own.eq_ignore_ascii_case(name)
        };
        has_name.then(|| place.value(lines))
    })
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

/// Number of fields for which memory is reserved at first.
#[cfg(feature = "alloc")]
const USUAL_FIELDS: usize = 12;
