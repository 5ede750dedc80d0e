//! Shared between the integration tests.

pub mod chaos;
pub mod codec;
pub mod cost;
pub mod delivery;
pub mod endpoint;
pub mod frames;
#[cfg(doctest)]
mod guide;
pub mod json;
pub mod line;
#[cfg(feature = "auth")]
pub mod login;
pub mod memory;
pub mod oauth;
pub mod orders;
pub mod pair;
pub mod random;
pub mod stored;
pub mod transcript;
