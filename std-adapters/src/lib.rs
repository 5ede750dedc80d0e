//! Adapters between [`mcp_sansio`] and the world, one feature each. Each has the loop of the README
//! inside: `stdio`, `embedded-io` and `embedded-io-async` add waiting and time limits to it; `smol`
//! adds async handlers, a client of many tasks, sockets, and with `http` Streamable HTTP on both
//! sides.

#![cfg_attr(not(any(feature = "smol", feature = "blocking")), no_std)]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "smol")]
pub mod asynchronous;
#[cfg(feature = "blocking")]
pub mod blocking;
#[cfg(feature = "embedded-io")]
pub mod embedded;
#[cfg(feature = "embedded-io-async")]
pub mod embedded_async;
