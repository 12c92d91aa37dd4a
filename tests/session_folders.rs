//! Sessions of directories with unusual paths, through the real program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::time_limit::RunInTime;
use serde_json::Value;
use tau::agent::session::list::{list, newest};

/// Runs the program in `cwd` with the demo model; returns its standard output.
fn tau(home: &Path, cwd: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(["--model", "demo"]).args(args).current_dir(cwd).stdin(std::process::Stdio::null());
    command.env_clear().env("HOME", home).env("TAU_HOME", home.join("tau")).env("TAU_DEMO_SPEED", "max");
    let output = command.env("PATH", std::env::var_os("PATH").unwrap()).output_in_time();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} in {}: {errors}", cwd.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn sessions(home: &Path, cwd: &Path) -> Vec<(PathBuf, u64)> {
    let mut rows = Vec::new();
    list(&home.join("tau/sessions"), Some(cwd), &mut |row| {
        rows.push((row.path, row.messages));
        true
    });
    rows
}

fn check(name: &[u8]) {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().canonicalize().unwrap().join("work");
    let cwd = work.join(OsStr::from_bytes(name));
    fs::create_dir_all(&cwd).unwrap();
    tau(home.path(), &cwd, &["-p", "hello"]);
    let [(path, before)] = sessions(home.path(), &cwd).try_into().expect("one session of this directory");
    assert!(before >= 2, "{before}");
    tau(home.path(), &cwd, &["--continue", "-p", "again"]);
    let [(same, after)] = sessions(home.path(), &cwd).try_into().expect("the same session");
    assert!(same == path && after >= before + 2, "{before} {after}");
    // Another directory whose name looks the same as text has no session.
    let other = work.join(String::from_utf8_lossy(name).as_ref());
    if other != cwd && fs::create_dir_all(&other).is_ok() {
        assert_eq!(newest(&home.path().join("tau/sessions"), &other, true), None);
    }
    // The events name the directory as text, and the session can be used from elsewhere.
    let events = tau(home.path(), &cwd, &["--continue", "--json", "a third time"]);
    let header: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(header["cwd"], Value::from(cwd.to_string_lossy().as_ref()));
    tau(home.path(), home.path(), &["--session", path.to_str().unwrap(), "-p", "from elsewhere"]);
    assert_eq!(sessions(home.path(), &cwd).len(), 1);
}

#[test]
fn a_directory_that_is_not_utf8_has_sessions() {
    check(b"caf\xe9 \xff");
}

#[test]
fn a_directory_with_a_long_path_has_sessions() {
    check(format!("{}/{}", "long".repeat(40), "er".repeat(100)).as_bytes());
    check(format!("{}/{}", "\u{e9}".repeat(100), "\u{20ac}".repeat(80)).as_bytes());
}
