//! Encoding of payloads: a value describes itself once, to an [`Encoder`], which writes JSON into a
//! window of the frame and knows the revision of the peer.

mod complete;
mod encoder;
mod object;
#[cfg(feature = "alloc")]
mod owned;
mod path;
mod serde_value;
mod values;
mod write;

pub(crate) use complete::{Addition, Additions};
pub use encoder::Encoder;
pub(crate) use encoder::Gate;
pub(crate) use object::object;
#[cfg(feature = "alloc")]
pub use owned::OwnedJson;
pub(crate) use path::Tracker;
pub use serde_value::Json;
pub(crate) use values::{Base64, DisplayText, JsonText, With, is_object};
pub use values::{Encode, to_slice};
