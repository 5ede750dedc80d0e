//! Makes `cargo test` run the tests of all packages.
//!
//! Where no package is named, Cargo selects the default members of the workspace, and builds with
//! the features that all of these need. They are the programs of the first hour and this package,
//! so that `cargo run --bin quickstart` builds nothing for the larger programs. So this test calls
//! Cargo for the other packages, with the same words after the `--`.
//!
//! With `--workspace` Cargo has selected them itself, and this test does nothing: that switches on
//! the feature `selected`. Options of Cargo, such as `--release`, need `--workspace`, since this
//! test cannot see them.

use std::process::{Command, exit};

fn main() {
    if cfg!(feature = "selected") {
        return;
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--workspace", "--exclude", "mcp-sansio-first-hour", "--"]);
    cargo.args(std::env::args_os().skip(1));
    // Build scripts that read these variables would run once more for those of this package.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| OURS.iter().any(|ours| name.starts_with(ours))) {
            cargo.env_remove(name);
        }
    }
    let ended = cargo.status().expect("cargo starts");
    exit(ended.code().unwrap_or(1));
}

const OURS: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_CRATE_"];
