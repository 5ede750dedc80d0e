//! JSON without an allocator and independent of MCP: a scanner, borrowed values and a deserializer.

mod base64;
mod de;
pub(crate) mod foreign;
mod number;
mod raw;
mod read_error;
mod scan;
mod string;

pub use raw::{Elements, Members, RawJson};
pub use read_error::ReadError;
pub use scan::{MAX_DEPTH, SyntaxError};
pub(crate) use string::Chars;
pub use string::JsonStr;

pub(crate) use base64::{encode as encode_base64, encoded_len as base64_len};
pub(crate) use number::{Decimal, Scientific, compare, divide_by_ten, is_whole};
#[cfg(feature = "skills")]
pub(crate) use scan::has_duplicate_key;
pub(crate) use scan::{
    ScanError, byte, is_clean, is_clean_key, skip_clean, skip_string, skip_value, skip_whitespace,
};
#[cfg(not(small))]
pub(crate) use scan::{next_byte, skip_digits, skip_escapes, skip_member};
