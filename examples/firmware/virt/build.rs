//! Passes linker arguments. Those of a `.cargo/config.toml` would be replaced by `RUSTFLAGS` of the
//! environment.

fn main() {
    println!("cargo:rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
    // The buffers of a network, or of a radio, take more memory.
    println!("cargo:rustc-link-arg-bin=virt=-Tmemory.x");
    println!("cargo:rustc-link-arg-bin=network=-Tnetwork.x");
    println!("cargo:rustc-link-arg-bin=mqtt=-Tnetwork.x");
    println!("cargo:rustc-link-arg-bin=ble=-Tnetwork.x");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    for script in ["build.rs", "memory.x", "network.x"] {
        println!("cargo:rerun-if-changed={script}");
    }
}
