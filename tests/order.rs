//! The script that builds tau for packages. With `TAU_PACKAGE=1`, where valgrind and a release build are at
//! hand, it is run as a whole.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::tempdir;

use crate::harness::root;
use crate::time_limit::{EndInTime, LIMIT, RunInTime};

/// Runs the script in a home of its own, with the toolchain of whoever runs the test.
fn build(path: &OsStr) -> Output {
    let home = tempdir().unwrap();
    let mut script = Command::new("/bin/bash");
    script.arg(root().join("integrations/package/build.sh"));
    script.env_clear().env("PATH", path).env("HOME", home.path()).current_dir(home.path());
    let theirs = std::env::var_os("HOME").unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        script.env(name, std::env::var_os(name).unwrap_or_else(|| Path::new(&theirs).join(folder).into()));
    }
    script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // It may build a release.
    script.spawn().unwrap().output_within(LIMIT * 30, "the end of the build")
}

#[test]
fn without_valgrind_it_says_what_to_do() {
    let tools = tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirname = std::env::split_paths(&path).map(|dir| dir.join("dirname")).find(|file| file.exists());
    std::os::unix::fs::symlink(dirname.unwrap(), tools.path().join("dirname")).unwrap();
    let ended = build(tools.path().as_os_str());
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(said, "valgrind is missing: install it, or use the binary of cargo build --release\n");
    assert!(ended.stdout.is_empty());
}

#[test]
fn it_builds_a_tau_that_answers() {
    if std::env::var_os("TAU_PACKAGE").is_none() {
        println!("skipped: it takes minutes; run it with TAU_PACKAGE=1");
        return;
    }
    let ended = build(&std::env::var_os("PATH").unwrap());
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(said.ends_with("built target/package/tau\n"), "{said}");
    let home = tempdir().unwrap();
    let mut tau = Command::new(root().join("target/package/tau"));
    tau.args(["-p", "--model", "demo", "help"]).env_clear().env("HOME", home.path()).current_dir(home.path());
    let answered = tau.output_in_time();
    assert!(answered.status.success() && !answered.stdout.is_empty(), "{answered:?}");
}
