//! Types that several sections of the schema use.

pub use super::list::{List, ListIter, Map, MapIter};

use core::ops::Deref;
use core::{fmt, iter};

use super::macros::{names, payload, render, wrong};
use super::rendered::{Const, Renderer};
use super::{ClientCapabilities, ElicitParams};
use crate::encode::{Base64, Encode, Encoder};
use crate::json::{self, Chars, JsonStr, RawJson, compare};
use crate::text::copy;
use crate::time::Instant;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

// Strings.

/// A string of the application, or one of a message with its JSON escapes untouched.
///
/// Two texts are equal if they are equal after decoding; `Display` writes the decoded string.
#[derive(Clone, Copy)]
pub struct Text<'a>(Source<&'a str, JsonStr<'a>>);

impl<'a> Text<'a> {
    /// Creates a text from a string of the application.
    pub const fn new(text: &'a str) -> Self {
        Self(Source::Own(text))
    }

    /// Creates a text from a string of a message.
    pub const fn from_json(text: JsonStr<'a>) -> Self {
        Self(Source::Received(text))
    }

    /// Returns the string if it contains no JSON escapes, which is the usual case.
    pub fn as_plain(self) -> Option<&'a str> {
        match self.0 {
            Source::Own(text) => Some(text),
            Source::Received(text) => text.as_plain(),
        }
    }

    /// Iterates over the decoded characters.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        match self.0 {
            Source::Own(text) => Chars::plain(text),
            Source::Received(text) => text.decoded(),
        }
    }

    /// Decodes the string into the beginning of `out`. Returns `None` if it does not fit.
    pub fn copy_to(self, out: &mut [u8]) -> Option<&str> {
        match self.0 {
            Source::Own(text) => {
                let out = out.get_mut(..text.len())?;
                copy(text.as_bytes(), out);
                core::str::from_utf8(out).ok()
            }
            Source::Received(text) => text.copy_to(out),
        }
    }

    /// Returns the string of the application.
    pub(crate) const fn as_own(self) -> Option<&'a str> {
        self.0.own()
    }

    pub(super) const fn source(self) -> Source<&'a str, JsonStr<'a>> {
        self.0
    }

    /// Writes the string as the name of a member.
    pub(super) fn encode_key(self, to: &mut Encoder<'_>) -> bool {
        match self.0 {
            Source::Own(text) => to.key(text),
            Source::Received(text) => to.key_json(text),
        }
    }

    /// Returns whether the string is empty.
    pub fn is_empty(self) -> bool {
        match self.0 {
            Source::Own(text) => text.is_empty(),
            Source::Received(text) => text.inner().is_empty(),
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl<'a> From<JsonStr<'a>> for Text<'a> {
    fn from(text: JsonStr<'a>) -> Self {
        Self::from_json(text)
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self::new("")
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        match self.0 {
            Source::Own(text) => text == other,
            Source::Received(text) => text == *other,
        }
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq<JsonStr<'_>> for Text<'_> {
    fn eq(&self, other: &JsonStr<'_>) -> bool {
        match self.0 {
            Source::Own(plain) => *other == *plain,
            Source::Received(json) => json == *other,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Source::Own(text), _) => *other == *text,
            (_, Source::Own(text)) => *self == *text,
            (Source::Received(one), Source::Received(other)) => one == other,
        }
    }
}

impl Eq for Text<'_> {}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Own(text) => f.write_str(text),
            Source::Received(text) => fmt::Display::fmt(&text, f),
        }
    }
}

/// For values of the application that contain a text: see [`Json`](crate::Json).
impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Source::Own(text) => serializer.serialize_str(text),
            Source::Received(text) => text.serialize(serializer),
        }
    }
}

impl Encode for Text<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(text) => to.string(text),
            Source::Received(text) => to.raw(text.into()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonStr::deserialize(deserializer).map(Self::from_json)
    }
}

// Decimal numbers. Formatting them needs no floating point, which costs kilobytes of code in
// firmware.

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
    pub const fn new(value: i64) -> Self {
        Self::decimal(value, 0)
    }

    /// Creates a decimal fraction, `digits` divided by 10 to the power of `places`:
    /// `decimal(85, 2)` is 0.85. More than 18 places are treated as 18.
    pub const fn decimal(digits: i64, places: u8) -> Self {
        let places = if places > MAX_PLACES { MAX_PLACES } else { places };
        Self(Source::Own(Decimal { digits, places }))
    }

    /// Creates a number from JSON. Returns `None` if it is not a number.
    pub fn from_json(number: RawJson<'a>) -> Option<Self> {
        number.is_number().then_some(Self(Source::Received(number)))
    }

    /// Returns the value if it is an integer in the range of `i64`.
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
    pub fn as_f64(self) -> f64 {
        self.text(&mut [0; MAX_LEN]).parse().unwrap_or(f64::NAN)
    }

    /// Compares exactly.
    pub(super) fn is_less(self, other: Number<'_>) -> bool {
        compare(self.text(&mut [0; MAX_LEN]), other.text(&mut [0; MAX_LEN])).is_lt()
    }

    /// Formats the number into `out`, unless it has been received.
    fn text<'o>(self, out: &'o mut [u8; MAX_LEN]) -> &'o str
    where
        'a: 'o,
    {
        match self.0 {
            Source::Received(number) => number.as_str(),
            Source::Own(Decimal { digits, places }) => {
                let written = json::Decimal::new(digits.unsigned_abs(), false);
                let (written, places) = (written.as_bytes(), usize::from(places));
                // At least one digit precedes the point.
                let len = written.len().max(places + 1);
                let mut start = MAX_LEN;
                let mut put = |byte| {
                    start = start.saturating_sub(1);
                    if let Some(place) = out.get_mut(start) {
                        *place = byte;
                    }
                };
                let from_the_end = written.iter().rev().copied().chain(iter::repeat(b'0'));
                for (at, digit) in from_the_end.take(len).enumerate() {
                    if at > 0 && at == places {
                        put(b'.');
                    }
                    put(digit);
                }
                if digits < 0 {
                    put(b'-');
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

impl Const<'_, Number<'_>> {
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

// Binary data.

/// Binary data, base64 on the wire: bytes of the application, or base64 text of a message, which is
/// decoded on request.
#[derive(Clone, Copy)]
pub struct Blob<'a>(Source<Bytes<'a>, Text<'a>>);

/// Bytes with the code that writes them: firmware that only passes base64 text on does not link it.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    write: fn(&[u8], &mut Encoder<'_>),
}

/// The reason why a [`Blob`] could not be decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobError {
    /// The text is not valid base64 (RFC 4648, section 4, with padding).
    InvalidBase64,
    /// The output buffer is too small.
    OutputTooSmall,
}

impl<'a> Blob<'a> {
    /// Creates a blob from bytes, which are encoded while they are written.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(Source::Own(Bytes { bytes, write: |bytes, to| Base64(bytes).encode(to) }))
    }

    /// Creates a blob from base64 text. The text is not validated.
    pub const fn from_base64(text: Text<'a>) -> Self {
        Self(Source::Received(text))
    }

    /// Returns the base64 text of a blob that was received or created by
    /// [`from_base64`](Self::from_base64).
    pub const fn as_base64(&self) -> Option<Text<'a>> {
        self.0.received()
    }

    /// Decodes the data into the beginning of `out` and returns that part.
    ///
    /// # Errors
    /// If the text is not valid base64 or `out` is too small.
    pub fn decode_to<'o>(&self, out: &'o mut [u8]) -> Result<&'o mut [u8], BlobError> {
        let len = match self.0 {
            Source::Own(Bytes { bytes, .. }) => {
                copy(bytes, out.get_mut(..bytes.len()).ok_or(BlobError::OutputTooSmall)?);
                bytes.len()
            }
            Source::Received(text) => {
                let mut len = 0;
                decode(text, &mut |bytes| {
                    let room = out.get_mut(len..).and_then(|out| out.get_mut(..bytes.len()));
                    copy(bytes, room.ok_or(BlobError::OutputTooSmall)?);
                    len += bytes.len();
                    Ok(())
                })?;
                len
            }
        };
        out.get_mut(..len).ok_or(BlobError::OutputTooSmall)
    }

    /// Returns the number of bytes. Decodes received text to count them.
    ///
    /// # Errors
    /// If the text is not valid base64.
    pub fn decoded_len(&self) -> Result<usize, BlobError> {
        match self.0 {
            Source::Own(Bytes { bytes, .. }) => Ok(bytes.len()),
            Source::Received(text) => {
                let mut len = 0;
                decode(text, &mut |bytes| {
                    len += bytes.len();
                    Ok(())
                })?;
                Ok(len)
            }
        }
    }
}

/// Decodes in chunks of 64 characters, so that text of any length, with JSON escapes, needs no
/// buffer.
fn decode(
    text: Text<'_>,
    put: &mut dyn FnMut(&[u8]) -> Result<(), BlobError>,
) -> Result<(), BlobError> {
    let mut chars = text.chars();
    loop {
        let mut piece = [0; 64];
        let mut len = 0;
        for (place, c) in piece.iter_mut().zip(&mut chars) {
            *place = u8::try_from(c).map_err(|_| BlobError::InvalidBase64)?;
            len += 1;
        }
        let piece = piece.get(..len).unwrap_or_default();
        let mut decoded = [0; 48];
        let len =
            STANDARD.decode_slice(piece, &mut decoded).map_err(|_| BlobError::InvalidBase64)?;
        put(decoded.get(..len).unwrap_or_default())?;
        if piece.len() < 64 || len < 48 {
            // A short chunk or padding ends the data.
            return if chars.next().is_none() { Ok(()) } else { Err(BlobError::InvalidBase64) };
        }
    }
}

impl<'a> From<&'a [u8]> for Blob<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::new(bytes)
    }
}

impl fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Own(Bytes { bytes, .. }) => write!(f, "Blob({} bytes)", bytes.len()),
            Source::Received(text) => write!(f, "Blob({text:?})"),
        }
    }
}

impl Encode for Blob<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(Bytes { bytes, write }) => write(bytes, to),
            Source::Received(text) => text.encode(to),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Blob<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(Self::from_base64)
    }
}

crate::text::error_type!(BlobError {
    InvalidBase64 => "invalid base64",
    OutputTooSmall => "output buffer too small",
});

// Icons.

payload! {
    #![rendered]
    /// An icon for user interfaces. Since 2025-11-25, schema type `Icon`.
    pub struct Icon<'a> {
        /// URI of the image, with the scheme `https` or `data`.
        "src" src: text;
        optional:
        /// MIME type, if that of the source is missing or generic.
        "mimeType" mime_type: text;
        /// Sizes of the image in pixels, each as `48x48`, or `any` for a scalable format.
        "sizes" sizes: list(Text<'a>);
        /// Background that the icon is designed for.
        "theme" theme: of(IconTheme);
    }
}

impl Icon<'_> {
    /// Returns whether the URI has the scheme `https` or `data`. A client must reject all other
    /// schemes (2025-11-25, basic/index, "Icons"), and should also check that it trusts the host.
    pub fn has_allowed_scheme(&self) -> bool {
        let starts_with = |scheme: &str| {
            self.src.chars().map(|c| c.to_ascii_lowercase()).take(scheme.len()).eq(scheme.chars())
        };
        starts_with("https://") || starts_with("data:")
    }
}

/// A list of icons, with the code that writes it: firmware without icons does not link it.
#[derive(Clone, Copy)]
pub struct Icons<'a> {
    list: List<'a, Icon<'a>>,
    write: fn(&List<'_, Icon<'_>>, &mut Encoder<'_>),
}

impl<'a> Icons<'a> {
    /// Creates a list of the application's icons.
    pub const fn new(icons: &'a [Icon<'a>]) -> Self {
        Self { list: List::new(icons), write: |list, to| list.encode(to) }
    }
}

impl<'a> Deref for Icons<'a> {
    type Target = List<'a, Icon<'a>>;

    fn deref(&self) -> &Self::Target {
        &self.list
    }
}

impl fmt::Debug for Icons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl Encode for Icons<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (self.write)(&self.list, to);
    }
}

impl Const<'_, Icons<'_>> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        render!(@value list (self.0.list) to);
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Icons<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = List::deserialize(deserializer)?;
        Ok(Self { list, write: |list, to| to.raw(list.as_json().unwrap_or(RawJson::EMPTY)) })
    }
}

names! {
    /// Background that an [`Icon`] is designed for: `theme` of schema type `Icon`.
    pub enum IconTheme {
        /// Light background.
        Light = "light",
        /// Dark background.
        Dark = "dark",
    }
}

// Cache hints of results.

/// Cache hint of a result (2026-07-28, server/utilities/caching): schema type `CacheableResult`.
///
/// The core keeps no results; clients of the adapters do with `Cache`. A cache must use the method
/// and all parameters as its key, skip results of requests with input responses
/// ([`retry`](crate::Client::retry)), serve private results to the same authorization only, and
/// drop what a [`Changed`](crate::Changed) event names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheHint {
    /// Time that the result stays fresh, in milliseconds; 0 means not at all.
    pub ttl_ms: u64,
    /// Whether caches may share the result between users; private if missing.
    pub cache_scope: CacheScope,
}

impl CacheHint {
    /// Reads the hint of a result. A missing or invalid `ttlMs` is 0; any `cacheScope` except
    /// `public` is private.
    pub fn from_result(result: RawJson<'_>) -> Self {
        let public = result
            .get("cacheScope")
            .and_then(RawJson::as_string)
            .is_some_and(|scope| scope == "public");
        let cache_scope = if public { CacheScope::Public } else { CacheScope::Private };
        Self { ttl_ms: result.get("ttlMs").and_then(RawJson::as_u64).unwrap_or(0), cache_scope }
    }

    /// Returns the time until which a result received at `received` is fresh.
    pub const fn fresh_until(self, received: Instant) -> Instant {
        received.saturating_add(core::time::Duration::from_millis(self.ttl_ms))
    }

    /// Returns whether a result received at `received` is still fresh at `now`.
    pub const fn is_fresh(self, received: Instant, now: Instant) -> bool {
        now.as_millis() < self.fresh_until(received).as_millis()
    }
}

names! {
    /// Whether caches may share a result between users: `cacheScope` of schema type
    /// `CacheableResult`. Since 2026-07-28.
    pub enum CacheScope {
        /// Caches may serve the result to every user.
        Public = "public",
        /// Caches may serve the result only to the user who requested it.
        Private = "private",
    }
}

// Pagination of lists.

payload! {
    /// Parameters of the `*/list` requests. Schema type `PaginatedRequestParams`.
    pub struct PaginatedParams<'a> {
        optional:
        /// Cursor of the page: the `nextCursor` of the page before. Absent for the first page.
        "cursor" cursor: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

impl<'a> PaginatedParams<'a> {
    /// Creates the parameters for the page after `page`, the result of a `*/list` request. Returns
    /// `None` after the last page. An empty cursor is a valid cursor.
    ///
    /// ```
    /// use mcp_sansio::{RawJson, types::PaginatedParams};
    /// let page = RawJson::from_static(r#"{"tools":[],"nextCursor":"p2"}"#);
    /// assert!(
    ///     PaginatedParams::next_page(page)
    ///         .is_some_and(|next| next.cursor.is_some_and(|cursor| cursor == "p2"))
    /// );
    /// ```
    pub fn next_page(page: RawJson<'a>) -> Option<Self> {
        let cursor = page.get("nextCursor").and_then(RawJson::as_string).map(Text::from_json);
        cursor.map(|cursor| Self { cursor: Some(cursor), ..Self::new() })
    }
}

// Error objects as received, and the data that the protocol defines for some errors. Errors to
// send are [`RpcError`](crate::RpcError)s.

payload! {
    /// JSON-RPC error object: the member `error` of a response. Schema type `Error`.
    pub struct ErrorObject<'a> {
        /// Error code.
        "code" code: of(i64);
        /// Short description of the error.
        "message" message: text;
        optional:
        /// Additional information. `null` is a value.
        "data" data: any;
    }
}

payload! {
    /// Data of the error for an unsupported protocol version (2026-07-28: code -32022). In schema
    /// type `UnsupportedProtocolVersionError`; legacy servers send it, too.
    pub struct UnsupportedProtocolVersionData<'a> {
        /// Protocol versions that the server supports.
        "supported" supported: list(Text<'a>);
        /// Protocol version of the request.
        "requested" requested: text;
    }
}

payload! {
    /// Data of the error for a request that requires undeclared client capabilities. 2026-07-28, in
    /// schema type `MissingRequiredClientCapabilityError`.
    pub struct MissingRequiredClientCapabilityData<'a> {
        /// All capabilities that the request requires, those already declared included.
        "requiredCapabilities" required_capabilities: of(ClientCapabilities<'a>);
    }
}

payload! {
    /// Data of the error for a request that requires URL mode elicitations first. 2025-11-25 only,
    /// in schema type `URLElicitationRequiredError`.
    pub struct UrlElicitationRequiredData<'a> {
        /// Elicitations that the client must complete before it sends the request again.
        "elicitations" elicitations: list(ElicitParams<'a>);
    }
}

payload! {
    /// Data of the error for an unknown resource.
    pub struct ResourceErrorData<'a> {
        /// URI of the resource.
        "uri" uri: text;
    }
}

// Values that an application writes or that a message lends.

/// A value in the application's own form, or as it was received.
#[derive(Clone, Copy)]
pub(super) enum Source<O, R> {
    Own(O),
    Received(R),
}

impl<O: Copy, R: Copy> Source<O, R> {
    pub(super) const fn own(&self) -> Option<O> {
        match self {
            Self::Own(own) => Some(*own),
            Self::Received(_) => None,
        }
    }

    pub(super) const fn received(&self) -> Option<R> {
        match self {
            Self::Own(_) => None,
            Self::Received(received) => Some(*received),
        }
    }
}

impl<O: fmt::Debug, R: fmt::Debug> fmt::Debug for Source<O, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(own) => own.fmt(f),
            Self::Received(received) => received.fmt(f),
        }
    }
}
