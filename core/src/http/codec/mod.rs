//! A small HTTP/1.1 (RFC 9112) without I/O: requests in and responses out for servers, the reverse
//! for clients.
//!
//! Reading is as with [`RxBuffer`](crate::RxBuffer): the transport reads into
//! [`spare`](RequestReader::spare), and [`next_part`](RequestReader::next_part) lends a head,
//! pieces of the body where they were read to, and an end. Any chunking gives the same parts.
//! Writing is a [`HeadWriter`] and, where the length of a body is not known beforehand, chunks.
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
//! reader.next_request(); // what came behind the first one is next
//! ```
//!
//! # What is refused
//!
//! Whatever two parsers could read differently, for that is how requests are smuggled past one of
//! them: a length and a transfer coding together, two lengths (also when they agree), a coding
//! other than `chunked`, lengths that are not digits or too large, lines that end with a bare line
//! feed, folded fields, white space before a colon, fields without a name, NUL, control characters
//! in chunk extensions, a `Host` that is missing or there twice. A [`HttpError`] says which
//! status answers it; the connection is to be closed then.
//!
//! # Limits
//!
//! A head must fit the buffer, and have at most [`MAX_FIELDS`] fields. A line that begins a chunk
//! has at most [`MAX_CHUNK_LINE`] bytes, fields behind the last one at most [`MAX_TRAILERS`]. There
//! are at most [`MAX_INTERIM`] responses of the kind 1xx before another, and at most
//! [`MAX_EMPTY_LINES`] empty lines in front of a request or a response. Bodies of requests are
//! limited by [`max_body`](RequestReader::max_body), and what stands around their chunks by that
//! and [`MAX_CHUNK_OVERHEAD`].

mod body;
mod error;
mod head;
mod request;
mod response;
mod window;
mod write;

pub use body::{MAX_CHUNK_LINE, MAX_TRAILERS};
pub use error::HttpError;
pub use head::{HeadFields, MAX_FIELDS};
pub use request::{IncomingRequest, MAX_CHUNK_OVERHEAD, RequestReader};
pub use response::{IncomingResponse, MAX_INTERIM, ResponseReader};
pub use window::MAX_EMPTY_LINES;
pub use write::{BodyLength, CONTINUE, ChunkHeader, HeadWriter, LAST_CHUNK};

/// A part of a request or of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'f, H> {
    /// Its head.
    Head(H),
    /// A piece of its body, never empty.
    Body(&'f [u8]),
    /// Its end. It always comes.
    End,
}
