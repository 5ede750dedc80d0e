//! Thin adapters between [`mcp_sansio`] and the world. Each is the loop of the README and nothing more; one feature each.

#![cfg_attr(not(any(feature = "smol", feature = "stdio")), no_std)]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "embedded-io")]
pub mod embedded_io;
#[cfg(feature = "smol")]
pub mod smol;
#[cfg(feature = "stdio")]
pub mod stdio;
