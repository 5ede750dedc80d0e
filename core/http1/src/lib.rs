//! HTTP/1.1 (RFC 9112) without I/O: parses requests and writes responses for servers, the reverse
//! for clients.
//!
//! Reading works as with [`RxBuffer`](mcp_sansio::RxBuffer): the transport reads into
//! [`spare`](RequestReader::spare), and [`next_part`](RequestReader::next_part) lends the head,
//! pieces of the body in place, and the end. The parts do not depend on how the bytes are chunked,
//! except for the boundaries of body pieces. A [`ResponseWriter`] writes responses; a
//! [`HeadWriter`] writes single heads.
//!
//! ```
//! use mcp_sansio_http1::{BodyLength, HeadWriter, Part, RequestReader};
//!
//! let mut reader = RequestReader::new([0; 512]);
//! let bytes = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
//! reader.spare()[..bytes.len()].copy_from_slice(bytes);
//! reader.commit(bytes.len());
//! let Some(Part::Head(head)) = reader.next_part().unwrap() else { panic!() };
//! assert_eq!((head.method, head.target), ("POST", "/mcp"));
//! assert_eq!(reader.next_part(), Ok(Some(Part::Body(b"{}"))));
//! assert_eq!(reader.next_part(), Ok(Some(Part::End)));
//!
//! let mut out = [0; 128];
//! let n = HeadWriter::response(&mut out, 202).finish(BodyLength::Known(0)).unwrap();
//! assert_eq!(&out[..n], b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
//! reader.next_request(); // continue with pipelined requests
//! ```
//!
//! # Rejected input
//!
//! Everything that two parsers might read differently, since that enables request smuggling: a
//! length together with a transfer coding, two lengths (even if equal), codings other than
//! `chunked`, lengths that are not decimal or too large, lines that end with a bare line feed,
//! folded fields, white space before a colon, fields without a name, NUL, control characters in
//! chunk extensions, a missing or repeated `Host`. [`MessageError`] contains the status of the
//! response, after which the connection must be closed.
//!
//! # Limits
//!
//! A head must fit into the buffer and have at most [`MAX_FIELDS`] fields. The line that begins a
//! chunk may have [`MAX_CHUNK_LINE`] bytes, the trailer section [`MAX_TRAILERS`]. At most
//! [`MAX_INTERIM`] interim responses (1xx) may precede a response, and at most [`MAX_EMPTY_LINES`]
//! empty lines a request or response. [`max_body`](RequestReader::max_body) limits request bodies,
//! and with [`MAX_CHUNK_OVERHEAD`] also the framing of their chunks.

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod exchange;
mod head;
mod request;
mod response;
mod write;

pub use exchange::{Access, Exchange, MAX_HEAD, MIN_OUTPUT};
#[cfg(feature = "alloc")]
pub use head::OwnedFields;
pub use head::{HeadFields, MAX_EMPTY_LINES, MAX_FIELDS};
pub use request::{Collected, IncomingRequest, MAX_CHUNK_OVERHEAD, RequestReader};
pub use response::{IncomingResponse, MAX_INTERIM, ResponseReader};
pub use write::{
    BodyLength, CONTINUE, ChunkHeader, FramedPiece, HeadWriter, LAST_CHUNK, ResponseWriter,
};

use head::{Taken, Window};
use mcp_sansio::http::server::Refusal;
use mcp_sansio::{ErrorCode, Storage};
use write::are_in_values;

/// A part of a request or response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'f, H> {
    /// The head.
    Head(H),
    /// A piece of the body, never empty.
    Body(&'f [u8]),
    /// The end of the message; always present.
    End,
}

// Errors of the codec.

/// Invalid or unsupported HTTP. Respond with its status and close the connection, since the start
/// of the next message is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageError {
    status: u16,
    reason: &'static str,
}

impl MessageError {
    const fn new(status: u16, reason: &'static str) -> Self {
        Self { status, reason }
    }

    const fn bad(reason: &'static str) -> Self {
        Self::new(400, reason)
    }

    const TRUNCATED: Self = Self::bad("the connection ended within a message");

    /// The status that a server responds with.
    pub const fn status(self) -> u16 {
        self.status
    }

    /// A description of the error.
    pub const fn reason(self) -> &'static str {
        self.reason
    }
}

mcp_sansio::error_type!(MessageError => |it| it.reason);

/// The response to invalid HTTP.
impl From<MessageError> for Refusal<'static> {
    fn from(error: MessageError) -> Self {
        Self::new(error.status, ErrorCode::InvalidRequest, error.reason)
    }
}

// Framing of bodies (RFC 9112, 6 and 7).

/// The rest of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Body {
    /// This many bytes.
    Length(u64),
    Chunked(Chunk),
    UntilClose,
    /// The bytes that were received before the connection was closed.
    Rest,
}

/// The next element of a chunked body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chunk {
    Size,
    /// This many bytes and a line end.
    Data(u64),
    /// Trailer fields of at most this many bytes.
    Trailers(usize),
}

/// What a reader finds in the bytes that it has.
enum Found {
    Head(Taken),
    Piece(Taken),
    End,
}

/// The part of a message that is read next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing is read: the message is over, or has not begun.
    Idle,
    Head,
    Body(Body),
    Failed(MessageError),
}

impl State {
    /// Takes the next part of a message. The errors are those of a head that is too long, and of
    /// one whose first line is.
    fn step<S: Storage + ?Sized>(
        &mut self,
        window: &mut Window<S>,
        [too_long, line_too_long]: [MessageError; 2],
    ) -> Result<Option<Found>, MessageError> {
        let found = match self {
            Self::Failed(error) => return Err(*error),
            Self::Idle => None,
            Self::Head => window.head(too_long, line_too_long)?.map(Found::Head),
            Self::Body(body) => body.step(window)?,
        };
        if let Some(Found::End) = found {
            *self = Self::Idle;
        }
        Ok(found)
    }
}

impl Body {
    const CHUNKED: Self = Self::Chunked(Chunk::Size);

    /// Takes the next available bytes; `None` if more are needed.
    fn step<S: Storage + ?Sized>(
        &mut self,
        window: &mut Window<S>,
    ) -> Result<Option<Found>, MessageError> {
        let piece = |window: &mut Window<S>, n| (n > 0).then(|| Found::Piece(window.take(n)));
        loop {
            match self {
                Self::Length(0) => return Ok(Some(Found::End)),
                Self::Rest if window.is_empty() => return Ok(Some(Found::End)),
                Self::Length(left) | Self::Chunked(Chunk::Data(left @ 1..)) => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(window.len());
                    *left -= n as u64;
                    return Ok(piece(window, n));
                }
                Self::UntilClose | Self::Rest => return Ok(piece(window, window.len())),
                Self::Chunked(chunk) => match chunk.line(window)? {
                    None => return Ok(None),
                    Some(rest) => *self = rest,
                },
            }
        }
    }
}

impl Chunk {
    /// Takes a line that is not data. Returns the rest of the body.
    fn line<S: Storage + ?Sized>(
        self,
        window: &mut Window<S>,
    ) -> Result<Option<Body>, MessageError> {
        let (limit, too_long) = match self {
            Self::Size => (MAX_CHUNK_LINE, MessageError::bad("the chunk size line is too long")),
            Self::Data(_) => (2, WRONG_CHUNK_LENGTH),
            Self::Trailers(left) => {
                (left, MessageError::new(431, "the trailer section is too long"))
            }
        };
        let Some(line) = window.line(limit, too_long)? else { return Ok(None) };
        let line = window.bytes(line);
        let line = line.get(..line.len().saturating_sub(2)).unwrap_or_default();
        Ok(Some(match self {
            Self::Size => match size(line)? {
                0 => Body::Chunked(Self::Trailers(MAX_TRAILERS)),
                size => Body::Chunked(Self::Data(size)),
            },
            // The limit is two bytes, so the line is empty.
            Self::Data(_) => Body::CHUNKED,
            Self::Trailers(_) if line.is_empty() => Body::Length(0),
            Self::Trailers(left) if is_field(line) => {
                Body::Chunked(Self::Trailers(left.saturating_sub(line.len() + 2)))
            }
            Self::Trailers(_) => {
                return Err(MessageError::bad("invalid trailer field"));
            }
        }))
    }
}

/// Parses the hexadecimal chunk size; extensions are ignored.
fn size(line: &[u8]) -> Result<u64, MessageError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at_checked(digits).unwrap_or_default();
    if digits.is_empty() || digits.len() > 16 {
        return Err(MessageError::bad(
            "the chunk size is not a hexadecimal number of at most 16 digits",
        ));
    }
    let is_extension = rest.is_empty()
        || rest.starts_with(b";") && rest.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    if !is_extension {
        return Err(MessageError::bad("invalid chunk extension"));
    }
    Ok(digits.iter().fold(0, |size, digit| {
        size << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or_default())
    }))
}

fn is_field(line: &[u8]) -> bool {
    let name = line.iter().take_while(|byte| is_token(**byte)).count();
    name > 0 && matches!(line.get(name..), Some([b':', value @ ..]) if are_in_values(value))
}

/// Whether the byte may be in a token (RFC 9110, 5.6.2).
#[inline]
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.')
        || matches!(byte, b'^'..=b'`' | b'|' | b'~')
}

const WRONG_CHUNK_LENGTH: MessageError =
    MessageError::bad("the length of a chunk differs from its size");
/// Maximum length of the line that begins a chunk, in bytes: its size, extensions and line end.
pub const MAX_CHUNK_LINE: usize = 256;
/// Maximum length of the trailer section, in bytes.
pub const MAX_TRAILERS: usize = 4096;
