//! HTTP/1.1 (RFC 9112) without I/O: parses requests and writes responses for servers, the reverse
//! for clients.
//!
//! Reading works as with [`RxBuffer`](crate::RxBuffer): the transport reads into
//! [`spare`](RequestReader::spare), and [`next_part`](RequestReader::next_part) lends the head,
//! pieces of the body in place, and the end. The parts do not depend on how the bytes are chunked,
//! except for the boundaries of body pieces. Writing takes a [`HeadWriter`] and, for bodies of
//! unknown length, chunks.
//!
//! ```
//! use mcp_sansio::http::codec::{BodyLength, HeadWriter, Part, RequestReader};
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
//! chunk extensions, a missing or repeated `Host`. [`HttpError`] contains the status of the
//! response, after which the connection must be closed.
//!
//! # Limits
//!
//! A head must fit into the buffer and have at most [`MAX_FIELDS`] fields. The line that begins a
//! chunk may have [`MAX_CHUNK_LINE`] bytes, the trailer section [`MAX_TRAILERS`]. At most
//! [`MAX_INTERIM`] interim responses (1xx) may precede a response, and at most [`MAX_EMPTY_LINES`]
//! empty lines a request or response. [`max_body`](RequestReader::max_body) limits request bodies,
//! and with [`MAX_CHUNK_OVERHEAD`] also the framing of their chunks.

mod body;
mod error;
mod head;
mod request;
mod response;
mod window;
mod write;

pub use body::{MAX_CHUNK_LINE, MAX_TRAILERS};
pub use error::HttpError;
#[cfg(feature = "alloc")]
pub use head::OwnedFields;
pub use head::{HeadFields, MAX_FIELDS};
pub use request::{IncomingRequest, MAX_CHUNK_OVERHEAD, RequestReader};
pub use response::{IncomingResponse, MAX_INTERIM, ResponseReader};
pub use window::MAX_EMPTY_LINES;
pub use write::{BodyLength, CONTINUE, ChunkHeader, HeadWriter, LAST_CHUNK};

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
