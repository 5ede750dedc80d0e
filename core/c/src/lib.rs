//! The core from C: servers and clients of the Model Context Protocol as functions over memory of
//! the caller. `docs/c.md` is the manual, `include/mcp_sansio.h` the header, which cbindgen writes
//! from this crate.
//!
//! All functions check their handle and their pointers for null as far as C allows: a wrong one is
//! an error code. None allocates, calls back, or panics.
#![no_std]
#![deny(missing_docs)]
#![allow(non_camel_case_types)]

// Tests have the panic handler of the standard library, the static library has its own.
#[cfg(panic = "unwind")]
extern crate std;

// In the order of the header.
mod tables;

mod memory;

mod server;

mod arguments;

mod replies;

mod check;

mod client;

mod raw;

pub use arguments::*;
pub use check::mcp_server_check;
pub use client::*;
pub use memory::{MCP_CLIENT_WORDS, MCP_SERVER_WORDS, mcp_client, mcp_server};
pub use replies::*;
pub use server::*;
pub use tables::*;

/// Nothing calls it: no function here can panic.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
