//! Framing of bodies (RFC 9112, 6 and 7).

use super::error::HttpError;
use super::window::{Taken, Window};
use super::write::is_in_values;
use crate::storage::Storage;

/// The rest of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body {
    /// This many bytes.
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

/// The next element of a chunked body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chunk {
    Size,
    /// This many bytes and a line end.
    Data(u64),
    /// Trailer fields of at most this many bytes.
    Trailers(usize),
}

pub(super) enum Step {
    Piece(Taken),
    More,
    End,
}

impl Body {
    pub(super) const CHUNKED: Self = Self::Chunked(Chunk::Size);

    /// Takes the next available bytes.
    pub(super) fn step<S: Storage + ?Sized>(
        &mut self,
        window: &mut Window<S>,
    ) -> Result<Step, HttpError> {
        loop {
            match self {
                Self::Length(0) => return Ok(Step::End),
                Self::Length(left) | Self::Chunked(Chunk::Data(left @ 1..)) => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(window.len());
                    *left -= n as u64;
                    return Ok(if n == 0 { Step::More } else { Step::Piece(window.take(n)) });
                }
                Self::UntilClose => {
                    let n = window.len();
                    return Ok(if n == 0 { Step::More } else { Step::Piece(window.take(n)) });
                }
                Self::Chunked(chunk) => match chunk.line(window)? {
                    None => return Ok(Step::More),
                    Some(Next::End) => return Ok(Step::End),
                    Some(Next::Chunk(next)) => *chunk = next,
                },
            }
        }
    }
}

enum Next {
    Chunk(Chunk),
    End,
}

impl Chunk {
    /// Takes a line that is not data.
    fn line<S: Storage + ?Sized>(self, window: &mut Window<S>) -> Result<Option<Next>, HttpError> {
        let (limit, too_long) = match self {
            Self::Size => (MAX_CHUNK_LINE, HttpError::bad("the chunk size line is too long")),
            Self::Data(_) => (2, WRONG_CHUNK_LENGTH),
            Self::Trailers(left) => (left, HttpError::new(431, "the trailer section is too long")),
        };
        let Some(line) = window.line(limit, too_long)? else { return Ok(None) };
        let line = window.bytes(line);
        let line = line.get(..line.len().saturating_sub(2)).unwrap_or_default();
        Ok(Some(match self {
            Self::Size => match size(line)? {
                0 => Next::Chunk(Self::Trailers(MAX_TRAILERS)),
                size => Next::Chunk(Self::Data(size)),
            },
            // The limit is two bytes, so the line is empty.
            Self::Data(_) => Next::Chunk(Self::Size),
            Self::Trailers(_) if line.is_empty() => Next::End,
            Self::Trailers(left) if is_field(line) => {
                Next::Chunk(Self::Trailers(left.saturating_sub(line.len() + 2)))
            }
            Self::Trailers(_) => {
                return Err(HttpError::bad("invalid trailer field"));
            }
        }))
    }
}

/// Parses the hexadecimal chunk size; extensions are ignored.
fn size(line: &[u8]) -> Result<u64, HttpError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at_checked(digits).unwrap_or_default();
    if digits.is_empty() || digits.len() > 16 {
        return Err(HttpError::bad(
            "the chunk size is not a hexadecimal number of at most 16 digits",
        ));
    }
    let is_extension = rest.is_empty()
        || rest.starts_with(b";") && rest.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    if !is_extension {
        return Err(HttpError::bad("invalid chunk extension"));
    }
    Ok(digits.iter().fold(0, |size, digit| {
        size << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or_default())
    }))
}

fn is_field(line: &[u8]) -> bool {
    let name = line.iter().take_while(|byte| is_token(**byte)).count();
    name > 0
        && matches!(line.get(name..), Some([b':', value @ ..]) if value.iter().all(is_in_values))
}

/// Whether the byte may be in a token (RFC 9110, 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

const WRONG_CHUNK_LENGTH: HttpError = HttpError::bad("the length of a chunk differs from its size");
/// Maximum length of the line that begins a chunk, in bytes: its size, extensions and line end.
pub const MAX_CHUNK_LINE: usize = 256;
/// Maximum length of the trailer section, in bytes.
pub const MAX_TRAILERS: usize = 4096;
