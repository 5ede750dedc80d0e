//! Encoding of payloads for a revision: the traits that payloads implement, the serializer that
//! drops members the revision does not define, and the writer into the output buffer.

pub(crate) mod marker;
pub(crate) mod older;
#[cfg(feature = "alloc")]
mod owned;
mod payload;
mod pen;
mod raw_value;
mod ser;
pub(crate) mod tell;
pub(crate) mod told;
mod write;

#[cfg(feature = "alloc")]
pub use owned::OwnedJson;
pub use payload::{Json, Payload};
pub use ser::to_slice;

pub(crate) use marker::{ABSENT, Blob};
pub(crate) use payload::{write_list, write_payload};
pub(crate) use pen::Pen;
pub(crate) use ser::{
    AddedValue, Addition, Additions, Extras, WriteResult, write_result, write_value,
};
pub(crate) use write::{WriteError, Writer};
