//! Compiles `redirect/`, a library for `LD_PRELOAD` that is a part of the program (`redirect.rs`).

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=redirect");
    println!("cargo::rerun-if-changed=build.rs");
    let given = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(given("OUT_DIR")).join("redirect.so");
    let mut rustc = Command::new(given("RUSTC"));
    rustc.args(["--edition=2024", "--crate-name=redirect", "--crate-type=cdylib"]);
    rustc.args(["-Cpanic=abort", "-Copt-level=s", "-Clto=fat", "-Cstrip=symbols"]);
    // Its few functions of libc are those of the program that it is loaded into.
    rustc.args([
        "-Ctarget-feature=-crt-static",
        "-Clink-arg=-nostdlib",
        "-Clink-arg=-nostartfiles",
    ]);
    rustc.args(["--target", &given("TARGET")]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let done = rustc.arg("redirect/lib.rs").arg("-o").arg(&library).status();
    assert!(done.is_ok_and(|status| status.success()), "redirect/lib.rs was not compiled");
}
