//! Writing of heads and chunks.

use core::fmt;

use super::is_token;
use mcp_sansio::internal::{Decimal, copy};
use mcp_sansio::{InvalidPayload, SendError};

/// Writes the head of a request or response into the caller's buffer.
///
/// ```
/// use mcp_sansio_http1::{BodyLength, HeadWriter};
/// let mut out = [0; 128];
/// let n = HeadWriter::request(&mut out, "POST", "/mcp")
///     .field("host", "localhost")
///     .finish(BodyLength::Known(2))
///     .unwrap();
/// assert_eq!(&out[..n], b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n");
/// ```
#[derive(Debug)]
#[must_use]
pub struct HeadWriter<'o> {
    out: &'o mut [u8],
    len: usize,
    error: Option<SendError>,
}

/// The length of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BodyLength {
    /// No body and no length field: `GET`, 204.
    Absent,
    /// This many bytes.
    Known(u64),
    /// The body is sent in chunks: see [`ChunkHeader`].
    Chunked,
    /// The body ends with the connection (only for responses to HTTP/1.0 clients).
    UntilClose,
}

impl<'o> HeadWriter<'o> {
    /// Begins a request.
    pub fn request(out: &'o mut [u8], method: &str, target: &str) -> Self {
        let mut writer = Self { out, len: 0, error: None };
        if !method.bytes().all(is_token)
            || target.is_empty()
            || !target.bytes().all(|byte| byte.is_ascii_graphic())
        {
            writer.error = Some(SendError::Invalid(InvalidPayload::HttpHead));
        }
        [method, " ", target, " HTTP/1.1\r\n"].iter().for_each(|text| writer.put(text.as_bytes()));
        writer
    }

    /// Begins a response.
    pub fn response(out: &'o mut [u8], status: u16) -> Self {
        let mut writer = Self { out, len: 0, error: None };
        if !(100..=999).contains(&status) {
            writer.error = Some(SendError::Invalid(InvalidPayload::HttpHead));
        }
        writer.put(b"HTTP/1.1 ");
        writer.put(Decimal::new(status.into(), false).as_bytes());
        writer.put(b" ");
        writer.put(reason(status).as_bytes());
        writer.put(b"\r\n");
        writer
    }

    /// Adds a field.
    pub fn field(self, name: &str, value: &str) -> Self {
        self.field_parts(name, &[value.as_bytes()])
    }

    /// Adds a field whose value is the concatenation of these parts.
    pub fn field_parts(mut self, name: &str, parts: &[&[u8]]) -> Self {
        if name.is_empty()
            || !name.bytes().all(is_token)
            || !parts.iter().all(|part| part.iter().all(is_in_values))
        {
            self.error = Some(SendError::Invalid(InvalidPayload::HttpHead));
        }
        self.put(name.as_bytes());
        self.put(b": ");
        parts.iter().for_each(|part| self.put(part));
        self.put(b"\r\n");
        self
    }

    /// Adds a field through a reference to the writer.
    pub fn push_field(&mut self, name: &str, value: &dyn fmt::Display) {
        if name.is_empty() || !name.bytes().all(is_token) {
            self.error = Some(SendError::Invalid(InvalidPayload::HttpHead));
        }
        self.put(name.as_bytes());
        self.put(b": ");
        if fmt::Write::write_fmt(&mut ValueWriter(self), format_args!("{value}")).is_err() {
            self.error = Some(SendError::Invalid(InvalidPayload::HttpHead));
        }
        self.put(b"\r\n");
    }

    /// Ends the head and returns its length.
    ///
    /// # Errors
    /// [`SendError::TooLarge`] if the head does not fit, [`InvalidPayload::HttpHead`] if a name or
    /// value is invalid (contains a line break, for example). The buffer is not usable then.
    pub fn finish(mut self, body: BodyLength) -> Result<usize, SendError> {
        match body {
            BodyLength::Absent | BodyLength::UntilClose => {}
            BodyLength::Known(length) => {
                self =
                    self.field_parts("content-length", &[Decimal::new(length, false).as_bytes()]);
            }
            BodyLength::Chunked => self = self.field("transfer-encoding", "chunked"),
        }
        self.put(b"\r\n");
        self.error.map_or(Ok(self.len), Err)
    }

    fn put(&mut self, bytes: &[u8]) {
        match self.out.get_mut(self.len..).and_then(|rest| rest.get_mut(..bytes.len())) {
            Some(place) => {
                copy(bytes, place);
                self.len += bytes.len();
            }
            None => {
                self.error.get_or_insert(SendError::TooLarge);
            }
        }
    }
}

/// Writes the value of a field.
struct ValueWriter<'w, 'o>(&'w mut HeadWriter<'o>);

impl fmt::Write for ValueWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.bytes().all(|byte| is_in_values(&byte)) {
            return Err(fmt::Error);
        }
        self.0.put(text.as_bytes());
        Ok(())
    }
}

/// Whether a field value may contain this byte (RFC 9110, 5.5).
pub(super) fn is_in_values(byte: &u8) -> bool {
    *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)
}

/// The line before the data of a chunk; [`END`](Self::END) follows the data.
#[derive(Clone, Copy, Debug)]
pub struct ChunkHeader {
    bytes: [u8; 18],
    start: usize,
}

impl ChunkHeader {
    /// The bytes after the data of a chunk.
    pub const END: &'static [u8] = b"\r\n";

    /// Creates the header of a chunk with this length. For length 0 use [`LAST_CHUNK`].
    pub fn new(len: usize) -> Self {
        let (mut bytes, mut rest, mut start) = ([b'0'; 18], len as u64, 16);
        let [.., first, second] = &mut bytes;
        (*first, *second) = (b'\r', b'\n');
        for place in bytes.iter_mut().take(16).rev() {
            if rest == 0 {
                break;
            }
            *place = b"0123456789abcdef".get((rest & 0xf) as usize).copied().unwrap_or(b'0');
            rest >>= 4;
            start -= 1;
        }
        Self { bytes, start }
    }

    /// Returns the hexadecimal size and the line end.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

/// The end of a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The interim response for a client that [expects](super::IncomingRequest::expects_continue) it.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
