//! Thin adapters between [`mcp_sansio`] and the world. Each is the loop of the README and nothing more; one feature each.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "smol")]
pub mod smol;
#[cfg(feature = "stdio")]
pub mod stdio;
