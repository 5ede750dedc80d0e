//! Encoding of payloads: the macros that declare them, and the routes to their JSON.

pub(super) mod macros;
pub(super) mod older;
pub(crate) mod tell;
pub(super) mod told;
