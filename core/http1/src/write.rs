//! Writing of heads and chunks.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
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
        let is_target = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_graphic());
        writer.require(is_target && method.bytes().all(is_token));
        [method, " ", target, " HTTP/1.1\r\n"].iter().for_each(|text| writer.put(text.as_bytes()));
        writer
    }

    /// Begins a response.
    pub fn response(out: &'o mut [u8], status: u16) -> Self {
        let mut writer = Self { out, len: 0, error: None };
        writer.require((100..=999).contains(&status));
        if status == 200 {
            writer.put(b"HTTP/1.1 200 OK\r\n");
            return writer;
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
        self.begin_field(name);
        self.require(parts.iter().all(|part| are_in_values(part)));
        parts.iter().for_each(|part| self.put(part));
        self.put(b"\r\n");
        self
    }

    /// Adds a field through a reference to the writer.
    pub fn push_field(&mut self, name: &str, value: &dyn fmt::Display) {
        self.begin_field(name);
        let written = fmt::Write::write_fmt(&mut ValueWriter(self), format_args!("{value}"));
        self.require(written.is_ok());
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
                self.put(b"content-length: ");
                self.put(Decimal::new(length, false).as_bytes());
                self.put(b"\r\n");
            }
            BodyLength::Chunked => self.put(b"transfer-encoding: chunked\r\n"),
        }
        self.put(b"\r\n");
        self.error.map_or(Ok(self.len), Err)
    }

    fn begin_field(&mut self, name: &str) {
        self.require(!name.is_empty() && name.bytes().all(is_token));
        self.put(name.as_bytes());
        self.put(b": ");
    }

    fn require(&mut self, is_valid: bool) {
        if !is_valid {
            self.error = Some(SendError::Invalid(InvalidPayload::HttpHead));
        }
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
        if !are_in_values(text.as_bytes()) {
            return Err(fmt::Error);
        }
        self.0.put(text.as_bytes());
        Ok(())
    }
}

/// Whether a field value may contain these bytes (RFC 9110, 5.5). Looks at all of them, several at
/// a time.
pub(super) fn are_in_values(bytes: &[u8]) -> bool {
    let is_valid = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
    bytes.iter().fold(true, |valid, byte| valid & is_valid(*byte))
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

// One response: its head, the framing of its body, and whether the connection stays.

/// Writes one response, as the version of the client, the method and the length of the body demand:
/// with a length, in chunks, or until the connection is closed.
///
/// ```
/// use mcp_sansio_http1::ResponseWriter;
/// let (mut out, mut sent) = ([0; 128], Vec::new());
/// let mut response = ResponseWriter::new();
/// let fields = [("content-type", "text/event-stream")];
/// let n = response.head(200, fields.into_iter(), None, &mut out).unwrap();
/// sent.extend_from_slice(&out[..n]);
/// sent.extend(response.piece(b"data: {}\n\n").parts().concat());
/// sent.extend_from_slice(response.end());
/// let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
/// let chunked = "transfer-encoding: chunked\r\n\r\n";
/// assert_eq!(sent, [head, chunked, "a\r\ndata: {}\n\n\r\n", "0\r\n\r\n"].concat().as_bytes());
/// assert!(response.keeps_alive());
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ResponseWriter {
    stage: Stage,
    is_http_1_0: bool,
    keeps_alive: bool,
    is_head: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Head,
    /// The rest of a body of known length.
    Rest(u64),
    Chunks,
    UntilClose,
    Done,
}

/// A piece of a body as it is sent.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct FramedPiece<'b> {
    chunk: Option<ChunkHeader>,
    bytes: &'b [u8],
}

impl FramedPiece<'_> {
    /// Returns the bytes before the piece, the piece, and the bytes behind it. Each may be empty.
    pub fn parts(&self) -> [&[u8]; 3] {
        match &self.chunk {
            Some(header) => [header.as_bytes(), self.bytes, ChunkHeader::END],
            None => [&[], self.bytes, &[]],
        }
    }
}

impl ResponseWriter {
    /// Creates the writer of a response to a client of HTTP/1.1 that keeps the connection open.
    pub const fn new() -> Self {
        Self { stage: Stage::Head, is_http_1_0: false, keeps_alive: true, is_head: false }
    }

    /// Sets whether the client is of HTTP/1.0, which has no chunks:
    /// [`is_http_1_0`](super::IncomingRequest::is_http_1_0).
    pub const fn http_1_0(self, is_http_1_0: bool) -> Self {
        Self { is_http_1_0, ..self }
    }

    /// Sets whether the connection stays open after the response:
    /// [`keeps_alive`](super::RequestReader::keeps_alive).
    pub const fn keep_alive(self, keeps_alive: bool) -> Self {
        Self { keeps_alive, ..self }
    }

    /// Sets whether the request is a HEAD, [`is_head`](super::RequestReader::is_head): the head is
    /// that of a GET, and there is no body (RFC 9110, 9.3.2).
    pub const fn head_only(self, is_head: bool) -> Self {
        Self { is_head, ..self }
    }

    /// Closes the connection after this response. To be called before the head is written, so that
    /// the client knows.
    pub const fn close(&mut self) {
        self.keeps_alive = false;
    }

    /// Returns whether no head has been written.
    pub fn is_new(&self) -> bool {
        self.stage == Stage::Head
    }

    /// Returns whether all of the response has been written.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Returns whether the connection can be used for another response.
    pub fn keeps_alive(&self) -> bool {
        self.keeps_alive && self.is_done()
    }

    /// Returns how many bytes a head with these fields takes at most.
    pub fn room_for<'n, 'v>(fields: impl Iterator<Item = (&'n str, &'v str)>) -> usize {
        FRAMING + fields.map(|(name, value)| name.len() + value.len() + 4).sum::<usize>()
    }

    /// Writes the head into `out` and returns its length. The fields are those of the content: the
    /// writer adds what frames the body, and `connection`. A status of 204 has no body.
    ///
    /// # Errors
    /// As [`HeadWriter::finish`]. Nothing is decided then.
    pub fn head<'n, 'v>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'n str, &'v str)>,
        length: Option<u64>,
        out: &mut [u8],
    ) -> Result<usize, SendError> {
        let (length, stage) = match length {
            _ if status == 204 => (BodyLength::Absent, Stage::Done),
            Some(length) => (BodyLength::Known(length), Stage::Rest(length)),
            None if self.is_http_1_0 => (BodyLength::UntilClose, Stage::UntilClose),
            None => (BodyLength::Chunked, Stage::Chunks),
        };
        let keeps_alive = self.keeps_alive && stage != Stage::UntilClose;
        let connection = match (keeps_alive, self.is_http_1_0) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        let mut writer = HeadWriter::response(out, status);
        for (name, value) in fields.chain(connection.map(|value| ("connection", value))) {
            writer = writer.field(name, value);
        }
        let written = writer.finish(length)?;
        (self.stage, self.keeps_alive) = (stage, keeps_alive);
        Ok(written)
    }

    /// Appends the head to `out`: see [`head`](Self::head).
    ///
    /// # Errors
    /// As [`head`](Self::head), except that there is room. Nothing is appended then.
    #[cfg(feature = "alloc")]
    pub fn push_head<'n, 'v>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'n str, &'v str)> + Clone,
        length: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        if status == 200
            && let Some(length) = length
            && self.keeps_alive
            && !self.is_http_1_0
            && fields.clone().eq([("content-type", "application/json")])
        {
            // The usual one, whose bytes need no check.
            out.extend_from_slice(USUAL_HEAD.as_bytes());
            out.extend_from_slice(Decimal::new(length, false).as_bytes());
            out.extend_from_slice(b"\r\n\r\n");
            self.stage = Stage::Rest(length);
            return Ok(());
        }
        let start = out.len();
        out.resize(start + Self::room_for(fields.clone()), 0);
        let written = self.head(status, fields, length, out.get_mut(start..).unwrap_or_default());
        out.truncate(start + written.unwrap_or(0));
        written.map(|_| ())
    }

    /// Frames a piece of the body, which is not empty.
    pub fn piece<'b>(&mut self, bytes: &'b [u8]) -> FramedPiece<'b> {
        if let Stage::Rest(rest) = &mut self.stage {
            *rest = rest.saturating_sub(bytes.len() as u64);
        }
        match self.stage {
            Stage::Head | Stage::Done => FramedPiece { chunk: None, bytes: &[] },
            _ if self.is_head => FramedPiece { chunk: None, bytes: &[] },
            Stage::Chunks => FramedPiece { chunk: Some(ChunkHeader::new(bytes.len())), bytes },
            Stage::Rest(_) | Stage::UntilClose => FramedPiece { chunk: None, bytes },
        }
    }

    /// Ends the body, and returns the bytes that say so. If a part of a body of known length is
    /// missing, the connection is closed, so that the client notices.
    pub fn end(&mut self) -> &'static [u8] {
        let stage = core::mem::replace(&mut self.stage, Stage::Done);
        match stage {
            Stage::Rest(1..) => self.keeps_alive = false,
            Stage::Chunks if !self.is_head => return LAST_CHUNK,
            _ => {}
        }
        &[]
    }

    /// Gives up a body that cannot be completed. The connection is closed without its end, so that
    /// the client notices.
    pub const fn cut(&mut self) {
        self.keeps_alive = false;
        self.stage = Stage::Done;
    }
}

mcp_sansio::default_is_new!(ResponseWriter);

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

/// The beginning of a head of a JSON body.
#[cfg(feature = "alloc")]
const USUAL_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
/// Room for the status line, the fields that frame the body, and `connection`, in bytes.
const FRAMING: usize = 256;
/// The end of a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The interim response for a client that [expects](super::IncomingRequest::expects_continue) it.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::vec::Vec;

    use super::*;

    /// Returns a response of these pieces, and whether the connection stays.
    fn sent(mut response: ResponseWriter, length: Option<u64>, pieces: &[&str]) -> (String, bool) {
        let mut out = [0; 256];
        let len = response.head(200, [].into_iter(), length, &mut out).unwrap();
        let mut sent: Vec<u8> = out.get(..len).unwrap().into();
        for piece in pieces {
            sent.extend(response.piece(piece.as_bytes()).parts().concat());
        }
        sent.extend_from_slice(response.end());
        assert!(response.is_done());
        (String::from_utf8(sent).unwrap(), response.keeps_alive())
    }

    #[test]
    fn a_body_is_framed_as_the_client_can_read_it() {
        let (new, old) = (ResponseWriter::new, || ResponseWriter::new().http_1_0(true));
        let head = "HTTP/1.1 200 OK\r\n";
        let closing = "connection: close\r\ncontent-length: 2\r\n\r\nab";
        for (response, length, expected, stays) in [
            (new(), Some(2), "content-length: 2\r\n\r\nab", true),
            (new(), Some(3), "content-length: 3\r\n\r\nab", false),
            (new(), None, "transfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n", true),
            (old(), Some(2), "connection: keep-alive\r\ncontent-length: 2\r\n\r\nab", true),
            (old(), None, "connection: close\r\n\r\nab", false),
            (new().head_only(true), Some(2), "content-length: 2\r\n\r\n", true),
            (new().head_only(true), None, "transfer-encoding: chunked\r\n\r\n", true),
            (new().keep_alive(false), Some(2), closing, false),
        ] {
            let (sent, keeps_alive) = sent(response, length, &["a", "b"]);
            assert_eq!((sent.strip_prefix(head), keeps_alive), (Some(expected), stays));
        }
    }

    #[test]
    #[cfg(feature = "alloc")]
    fn an_appended_head_is_that_of_the_writer() {
        let (json, other) = ([("content-type", "application/json")], [("content-type", "x/y")]);
        let (new, old) = (ResponseWriter::new, || ResponseWriter::new().http_1_0(true));
        for response in [new(), old(), new().keep_alive(false), new().head_only(true)] {
            for (status, length) in [(200, Some(12)), (200, None), (204, None), (400, Some(0))] {
                for fields in [&json[..], &other, &[json, other].concat(), &[]] {
                    let fields = fields.iter().copied();
                    let (mut one, mut two) = (response.clone(), response.clone());
                    let mut bytes = [0; 256];
                    let len = one.head(status, fields.clone(), length, &mut bytes).unwrap();
                    let mut out = b"before".to_vec();
                    two.push_head(status, fields, length, &mut out).unwrap();
                    assert_eq!(out.strip_prefix(b"before"), bytes.get(..len));
                    assert_eq!(std::format!("{one:?}"), std::format!("{two:?}"));
                }
            }
        }
        let mut out = b"before".to_vec();
        let invalid = new().push_head(200, [("a", "\n")].into_iter(), Some(1), &mut out);
        assert!(invalid.is_err() && out == b"before");
    }

    #[test]
    fn a_head_without_room_decides_nothing() {
        let mut response = ResponseWriter::new();
        let fields = [("a", "b")];
        let without_room = response.head(204, fields.into_iter(), None, &mut [0; 20]);
        assert_eq!(without_room, Err(SendError::TooLarge));
        assert!(response.is_new() && response.piece(b"x").parts().concat().is_empty());
        let mut out = [0; 300];
        assert!(ResponseWriter::room_for(fields.into_iter()) <= out.len());
        assert!(response.head(204, fields.into_iter(), None, &mut out).is_ok());
        assert!(response.keeps_alive());
        response.cut();
        assert!(response.is_done() && !response.keeps_alive());
    }
}
