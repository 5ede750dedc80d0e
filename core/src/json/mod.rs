//! JSON without an allocator: one scanner, values that borrow, a writer, and serde in both
//! directions.

mod base64;
mod de;
mod foreign;
mod marker;
mod number;
#[cfg(feature = "alloc")]
mod owned;
mod payload;
mod pen;
mod raw;
mod scan;
mod ser;
mod splice;
mod string;
mod write;

pub use de::ReadError;
#[cfg(feature = "alloc")]
pub use owned::OwnedJson;
pub use payload::{Json, Payload};
pub use raw::{Elements, Members, RawJson};
pub use scan::{MAX_DEPTH, SyntaxError};
pub use ser::to_slice;
pub(crate) use string::Chars;
pub use string::JsonStr;

#[cfg(feature = "http")]
pub(crate) use base64::encode as encode_base64;
pub(crate) use marker::{ABSENT, Blob};
pub(crate) use number::{Decimal, compare, divide_by_ten, integer};
pub(crate) use payload::{write_list, write_payload};
pub(crate) use pen::Pen;
pub(crate) use scan::{
    Fault, byte, next_byte, skip_clean, skip_digits, skip_escapes, skip_member, skip_string,
    skip_value, skip_whitespace,
};
pub(crate) use ser::{
    AddedValue, Addition, Additions, Extras, WriteResult, write_result, write_value,
};
pub(crate) use write::{WriteError, Writer};
