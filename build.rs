//! Links a release so that it holds little memory.
//!
//! The functions that are used lie side by side, in the order of `data/order.ld` (written by
//! `integrations/order/record.sh`): the system maps 64 kB around each function that runs. Addresses that the loader
//! fills in at each start are listed in the short form of ELF (`DT_RELR`), which takes 1.5 MB less.
//!
//! Only Rust's own linker for x86_64 Linux is known to do both, and to do it within seconds. Whoever has another one,
//! or gives it flags, gets what it does by itself.

#![expect(clippy::disallowed_methods, reason = "a build script asks the machine")]

use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=data/order.ld");
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    if variable("PROFILE") != "release" || !variable("RUSTC_LINKER").is_empty() || flags.contains("link") {
        return;
    }
    if variable("TARGET") != TARGET || !rust_brings_lld() {
        return;
    }
    println!("cargo::rustc-link-arg-bin=tau=-T{}/data/order.ld", variable("CARGO_MANIFEST_DIR"));
    if variable("HOST") == TARGET && glibc_reads_relr() {
        println!("cargo::rustc-link-arg-bin=tau=-Wl,-z,pack-relative-relocs");
    }
}

/// A variable of the build, empty when it is not set.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// What a command prints, empty when it fails.
fn printed(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Whether this toolchain comes with lld. It links with it, then.
fn rust_brings_lld() -> bool {
    let sysroot = printed(&variable("RUSTC"), &["--print", "sysroot"]);
    Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("bin/gcc-ld/ld.lld").exists()
}

/// Whether the loader of this machine knows the short form, as it does since 2.36 ("glibc 2.36").
fn glibc_reads_relr() -> bool {
    let version = printed("getconf", &["GNU_LIBC_VERSION"]);
    let minor = version.strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 36)
}
