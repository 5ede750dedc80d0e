//! Selects the machine by the target. Link arguments are set here and not in a configuration file,
//! where `RUSTFLAGS` in the environment would replace them.

use std::path::Path;
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").unwrap_or_default();
    let machine = match target.split('-').next() {
        Some("thumbv6m") => "microbit",
        Some("thumbv7em") => "mps2",
        Some("riscv32imac") => "virt",
        _ => {
            panic!("unsupported target {target}: expected thumbv6m, thumbv7em or riscv32imac")
        }
    };
    println!("cargo:rustc-check-cfg=cfg(machine, values(\"microbit\", \"mps2\", \"virt\"))");
    println!("cargo:rustc-cfg=machine=\"{machine}\"");
    // Both start-up crates read a file of this name.
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::copy(format!("memory/{machine}.x"), Path::new(&out).join("memory.x"))
        .expect("the memory of each machine is described");
    println!("cargo:rustc-link-search={out}");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rerun-if-changed=memory");
    println!("cargo:rerun-if-changed=build.rs");
}
