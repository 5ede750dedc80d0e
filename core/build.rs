//! Sets the cfg `small`, under which the same bytes are written by less code.
//!
//! Bare-metal targets are small; the environment variable `MCP_SANSIO_SMALL` (0 or 1) decides
//! otherwise. It is no Cargo feature, since one dependent's choice would then bind all others.

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(small)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MCP_SANSIO_SMALL");
    let small = match env::var("MCP_SANSIO_SMALL").as_deref() {
        Ok("0") => false,
        Ok("1") => true,
        Ok(other) => panic!("MCP_SANSIO_SMALL must be 0 or 1, is {other:?}"),
        Err(_) => env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none"),
    };
    if small {
        println!("cargo::rustc-cfg=small");
    }
}
