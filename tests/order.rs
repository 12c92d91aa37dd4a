//! The order in which the functions of a release are linked. With `TAU_ORDER=1`, where valgrind is at hand, a
//! release is built and recorded again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::tempdir;

use crate::harness::root;
use crate::time_limit::{EndInTime, LIMIT};

/// What ends with `_` after `Cs` is the hash of a crate.
fn without_hashes(name: &str) -> String {
    let mut parts = name.split("Cs");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hash = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        let known = part[hash..].starts_with('_');
        plain += "Cs";
        plain += if known { "*" } else { &part[..hash] };
        plain += &part[hash..];
    }
    plain
}

/// The sections that data/order.ld lists.
fn listed() -> BTreeSet<String> {
    let script = fs::read_to_string(root().join("data/order.ld")).unwrap();
    script.lines().filter(|line| line.starts_with(".text.")).map(str::to_owned).collect()
}

/// Functions of tau in the program that is tested: those of no type, which have plain names.
fn functions() -> BTreeSet<String> {
    let program = fs::read(env!("CARGO_BIN_EXE_tau")).unwrap();
    let names = program.split(|byte| *byte == 0).filter(|name| name.starts_with(b"_RNvN"));
    names.filter_map(|name| std::str::from_utf8(name).ok()).map(without_hashes).collect()
}

#[test]
fn the_listed_functions_are_there() {
    let listed = listed();
    assert!(listed.len() > 1000, "{} sections", listed.len());
    let functions = functions();
    if !functions.iter().any(|name| name.ends_with("Cs*_3tau3cli3run")) {
        println!("skipped: RUSTFLAGS of yours replace those of .cargo/config.toml");
        return;
    }
    let ours = |name: &&str| name.starts_with("_RNvN") && name.contains("_3tau");
    let (here, gone): (Vec<&str>, Vec<&str>) = listed
        .iter()
        .filter_map(|section| section.rsplit('.').next())
        .filter(ours)
        .partition(|name| functions.contains(*name));
    assert!(here.len() > 100, "{} functions", here.len());
    assert!(
        gone.len() < here.len() / 3,
        "of {} functions {} are gone; run integrations/order/record.sh: {gone:?}",
        here.len() + gone.len(),
        gone.len()
    );
}

#[test]
fn nothing_of_one_machine_or_one_build_is_listed() {
    for section in listed() {
        let own = |c: char| c.is_ascii_alphanumeric() || "._$*".contains(c);
        assert!(section.chars().all(own) && section == without_hashes(&section), "{section}");
    }
}

/// Runs the script in a home of its own, with the toolchain of whoever runs the test.
fn record(path: &OsStr) -> Output {
    let home = tempdir().unwrap();
    let mut script = Command::new("/bin/bash");
    script.arg(root().join("integrations/order/record.sh"));
    script.env_clear().env("PATH", path).env("HOME", home.path()).current_dir(home.path());
    let theirs = std::env::var_os("HOME").unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        script.env(name, std::env::var_os(name).unwrap_or_else(|| Path::new(&theirs).join(folder).into()));
    }
    script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // It may build a release.
    script.spawn().unwrap().output_within(LIMIT * 30, "the end of the record")
}

#[test]
fn without_valgrind_it_says_what_to_do() {
    let tools = tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirname = std::env::split_paths(&path).map(|dir| dir.join("dirname")).find(|file| file.exists());
    std::os::unix::fs::symlink(dirname.unwrap(), tools.path().join("dirname")).unwrap();
    let ended = record(tools.path().as_os_str());
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(said, "valgrind is missing: install it; data/order.ld stays as it is\n");
    assert!(ended.stdout.is_empty());
}

#[test]
fn a_release_is_linked_in_that_order() {
    if std::env::var_os("TAU_ORDER").is_none() {
        println!("skipped: it takes minutes and writes data/order.ld; run it with TAU_ORDER=1");
        return;
    }
    let ended = record(&std::env::var_os("PATH").unwrap());
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(listed().len() > 1000);
    let release = fs::read(root().join("target/release/tau")).unwrap();
    assert!(release.split(|byte| *byte == 0).any(|name| name == b".text.used"));
}
