//! `tau update` and `tau uninstall` on what install.sh installed from a release on loopback.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use tau::agent::settings::Paths;

use super::site::Site;
use super::{InMinutes, has, made, run, said, target, with_home};
use crate::time_limit::EndInTime;

/// A home in which install.sh has installed the release, and a newer release on loopback.
struct Installed {
    home: tempfile::TempDir,
    /// The files of the newer release.
    newer: tempfile::TempDir,
    site: Site,
}

/// The version of the newer release.
const NEWER: &str = "999.1.0";

impl Installed {
    /// `Err` with what this machine lacks.
    fn new() -> Result<Self, &'static str> {
        for program in ["sh", "tar", "xz", "sha256sum"] {
            if !has(program) {
                return Err(program);
            }
        }
        let made = made()?;
        let home = tempfile::tempdir().unwrap();
        let own = Site::of(made.dir.path());
        let mut install = with_home(Command::new("sh"), home.path());
        run(install.arg(made.file("install.sh")).env("TAU_RELEASE_URL", own.url()));
        let newer = tempfile::tempdir().unwrap();
        let site = Site::of(newer.path());
        Ok(Installed { home, newer, site })
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join(".local/share/taucode")
    }

    /// Serves a newer release whose program is this script.
    fn release(&self, script: &str) {
        let stem = format!("taucode-{NEWER}-{}", target());
        let work = tempfile::tempdir().unwrap();
        for folder in ["bin", "share/taucode"] {
            std::fs::create_dir_all(work.path().join(&stem).join(folder)).unwrap();
        }
        let program = work.path().join(&stem).join("bin/tau");
        std::fs::write(&program, script).unwrap();
        run(Command::new("chmod").arg("755").arg(&program));
        let archive = self.newer.path().join(format!("{stem}.tar.xz"));
        run(Command::new("tar").arg("-cJf").arg(&archive).arg("-C").arg(work.path()).arg(&stem));
        let sum = run(Command::new("sha256sum").arg(&archive));
        let size = std::fs::metadata(&archive).unwrap().len();
        self.list(NEWER, size, sum.split(' ').next().unwrap());
    }

    /// Writes the list of the release.
    fn list(&self, version: &str, size: u64, sha256: &str) {
        let files = serde_json::json!({ target(): {"name": "x", "size": size, "sha256": sha256} });
        let list = serde_json::json!({"version": version, "files": files});
        std::fs::write(self.newer.path().join("release.json"), list.to_string()).unwrap();
    }

    /// The installed program with the address of the newer release, as it is reached by way of redirects.
    fn tau(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.env("TAU_RELEASE_URL", format!("{}/moved", self.site.url()));
        command.spawn().unwrap().output_in_time("the end of tau")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = with_home(Command::new(self.home.path().join(".local/bin/tau")), self.home.path());
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn version(&self) -> String {
        run(&mut self.command(&["--version"]))
    }
}

/// A program that only knows its version.
fn only_a_version(version: &str) -> String {
    format!("#!/bin/sh\n[ \"$1\" = --version ] && echo tau {version}\n")
}

/// The installation, or a message and the end of the test.
macro_rules! installed_or_skip {
    () => {
        match Installed::new() {
            Ok(installed) => installed,
            Err(lacking) => return println!("skipped: no {lacking}"),
        }
    };
}

#[test]
fn an_update_asks_is_checked_and_can_be_taken_back() {
    let installed = installed_or_skip!();
    let own = format!("tau {}\n", env!("CARGO_PKG_VERSION"));
    // A version without a file for this machine is none that is offered.
    let list = format!("{{\"version\": \"{NEWER}\", \"files\": {{}}}}");
    std::fs::write(installed.newer.path().join("release.json"), list).unwrap();
    let check = said(&installed.tau(&["update", "--check"]));
    assert!(check.contains("has no file for") && !check.contains("is available"), "{check}");
    installed.release(&only_a_version(NEWER));
    let killed = installed.folder().join(".new-killed/bin");
    std::fs::create_dir_all(&killed).unwrap();
    let check = installed.tau(&["update", "--check"]);
    assert!(check.status.success(), "{}", said(&check));
    assert!(said(&check).contains(&format!("tau {NEWER} is available")), "{}", said(&check));
    // Nobody is there to be asked.
    let unasked = installed.tau(&["update"]);
    assert_eq!(unasked.status.code(), Some(2), "{}", said(&unasked));
    assert!(said(&unasked).contains("--yes"), "{}", said(&unasked));
    assert_eq!(installed.version(), own);

    let updated = installed.tau(&["update", "--yes"]);
    assert!(updated.status.success(), "{}", said(&updated));
    assert_eq!(installed.version(), format!("tau {NEWER}\n"));
    assert!(!killed.exists(), "what a killed update left is gone");
    let note = std::fs::read_to_string(installed.folder().join("current/share/taucode/package")).unwrap();
    assert_eq!(note, "install.sh\n");
    // What was sent is a request, and nothing about this machine or its user.
    for head in installed.site.requests() {
        let names: Vec<String> =
            head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0.to_lowercase())).collect();
        let plain = ["accept", "accept-encoding", "host", "user-agent", "connection"];
        assert!(names.iter().all(|name| plain.contains(&name.as_str())), "{head}");
        assert!(head.starts_with("GET /") && !head.contains('?'), "{head}");
    }

    // The new one is a script, so the way back is tried with the program before it.
    let before = installed.folder().join(env!("CARGO_PKG_VERSION")).join("bin/tau");
    let back =
        with_home(Command::new(before), installed.home.path()).args(["update", "--back", "--yes"]).output();
    assert!(said(back.as_ref().unwrap()).contains("is in use again"), "{back:?}");
    assert_eq!(installed.version(), own);
    let again = installed.tau(&["update", "--back", "--yes"]);
    assert!(again.status.success(), "{}", said(&again));
    assert_eq!(installed.version(), format!("tau {NEWER}\n"), "back and forth");
}

/// install.sh takes such an address, so it may be exported.
#[test]
fn an_update_comes_from_a_folder_too() {
    let installed = installed_or_skip!();
    installed.release(&only_a_version(NEWER));
    let folder = format!("file://{}/", installed.newer.path().display());
    let update = |address: &str| {
        installed.command(&["update", "--yes"]).env("TAU_RELEASE_URL", address).output_in_minutes()
    };
    let nowhere = update("file:///nowhere");
    assert!(said(&nowhere).contains("file:///nowhere/release.json: "), "{}", said(&nowhere));
    let updated = update(&folder);
    assert!(updated.status.success(), "{}", said(&updated));
    assert_eq!(installed.version(), format!("tau {NEWER}\n"));
}

#[test]
fn an_update_that_is_not_what_the_release_says_changes_nothing() {
    let installed = installed_or_skip!();
    let own = installed.version();
    let refused = |code: i32, part: &str| {
        let output = installed.tau(&["update", "--yes"]);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(part), "{part}: {}", said(&output));
        assert_eq!(installed.version(), own);
        let left: Vec<_> =
            std::fs::read_dir(installed.folder()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "a version, `current` and the list of links: {left:?}");
    };
    installed.release(&only_a_version(NEWER));
    let list = std::fs::read_to_string(installed.newer.path().join("release.json")).unwrap();
    let archive = installed.newer.path().join(format!("taucode-{NEWER}-{}.tar.xz", target()));
    // Another content of the same size.
    let mut bytes = std::fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&archive, &bytes).unwrap();
    refused(1, "but the release says");
    // More than was announced.
    bytes.push(0);
    std::fs::write(&archive, bytes).unwrap();
    refused(1, "larger than");
    installed.release("#!/bin/sh\nexit 1\n");
    refused(1, "does not work on this machine: it ended with exit status: 1");
    installed.list("999.2.0-beta.1", 1, "x");
    refused(0, "is the newest version");
    installed.release(&only_a_version("1.0.0"));
    refused(1, "does not work on this machine");
    for version in ["../../x", "999", "latest"] {
        std::fs::write(installed.newer.path().join("release.json"), list.replace(NEWER, version)).unwrap();
        refused(1, "is not the list of a release");
    }
    let page = "<html><title>Sign in</title></html>";
    std::fs::write(installed.newer.path().join("release.json"), page).unwrap();
    refused(1, "a web page answered, not the file: Sign in");
    std::fs::remove_file(installed.newer.path().join("release.json")).unwrap();
    refused(1, "release.json: HTTP 404: there is no such file");
    // An older one is no update, and needs no file.
    installed.list("0.0.1", 1, "x");
    refused(0, "is the newest version");
}

#[test]
fn without_an_address_nothing_is_asked() {
    let installed = installed_or_skip!();
    let output = installed.command(&["update", "--yes"]).output_in_minutes();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("set release_url in config.toml"), "{}", said(&output));
    let mut plain = installed.command(&["update", "--check"]);
    let output = plain.env("TAU_RELEASE_URL", "http://192.0.2.1/x").output_in_minutes();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("is not reached over HTTPS"), "{}", said(&output));
}

#[test]
fn where_tau_cannot_replace_itself_it_says_what_can() {
    let home = tempfile::tempdir().unwrap();
    let tau = |arguments: &[&str]| {
        let mut command = with_home(Command::new(env!("CARGO_BIN_EXE_tau")), home.path());
        let output = command.args(arguments).env("TAU_RELEASE_URL", "http://127.0.0.1:9").output_in_minutes();
        (output.status.code(), said(&output))
    };
    let (code, text) = tau(&["update"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("tau does not know how to replace itself here"), "{text}");
    let mut command = with_home(Command::new(env!("CARGO_BIN_EXE_tau")), home.path());
    command.args(["update", "--check"]).env("TAU_RELEASE_URL", "ftp://h.example");
    let (code, text) = (command.output_in_minutes().status.code(), said(&command.output_in_minutes()));
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("`ftp://h.example` is not an address for releases; use https://HOST or file:///FOLDER"),
        "{text}"
    );
    let (code, text) = tau(&["uninstall"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("remove this file") && Path::new(env!("CARGO_BIN_EXE_tau")).exists(), "{text}");
}

/// Files in the places of tau, below this home.
fn write_files(home: &Path) {
    let files = [
        (".config/tau/config.toml", "retention = 30\n"),
        (".config/tau/auth.json", "{}"),
        (".local/share/tau/undo/0199/journal", "x"),
        (".local/share/tau/prompts.jsonl", "{}\n"),
        (".local/state/tau/tau.log", "x"),
        (".cache/tau/models/x.json", "{}"),
        (".config/other/config.toml", "x"),
    ];
    for (path, text) in files {
        crate::support::write(&home.join(path), text);
    }
}

#[test]
fn uninstall_leaves_what_was_written_and_purge_removes_it() {
    let installed = installed_or_skip!();
    let home = installed.home.path();
    write_files(home);
    run(&mut installed.command(&["-p", "--model", "demo", "hello"]));
    let mine = home.join(".local/share/man/man1/mine.1");
    std::fs::write(&mine, "x").unwrap();
    // Nobody is there to be asked: it is only listed.
    let listed = installed.command(&["uninstall", "--purge"]).output_in_minutes();
    assert_eq!(listed.status.code(), Some(2), "{}", said(&listed));
    for part in
        ["program", "settings", "keys and logins", "sessions", "undo data", "cache", "together ", "1 file"]
    {
        assert!(said(&listed).contains(part), "{part}: {}", said(&listed));
    }
    assert!(home.join(".config/tau/config.toml").exists() && installed.folder().exists());

    std::fs::create_dir(installed.folder().join(".new-killed")).unwrap();
    let removed = installed.command(&["uninstall", "--yes"]).output_in_minutes();
    assert!(removed.status.success(), "{}", said(&removed));
    assert!(said(&removed).contains("--purge removes them, too"), "{}", said(&removed));
    assert!(!installed.folder().exists() && !home.join(".local/bin/tau").is_symlink());
    assert!(!home.join(".local/share/man/man1/tau.1").is_symlink() && mine.exists());
    assert!(home.join(".config/tau/config.toml").exists());

    let mut again = with_home(Command::new(env!("CARGO_BIN_EXE_tau")), home);
    let purged = again.args(["uninstall", "--purge", "--yes"]).env("TMPDIR", home).output_in_minutes();
    assert!(purged.status.success(), "{}", said(&purged));
    let left = run(Command::new("find").arg(home).args(["-name", "tau", "-o", "-name", "taucode"]));
    assert_eq!(left, "", "{}", said(&purged));
    assert!(home.join(".config/other/config.toml").exists());
}

#[test]
fn links_through_another_way_to_the_folder_are_removed() {
    let installed = installed_or_skip!();
    let made = made().unwrap();
    let way = tempfile::tempdir().unwrap().keep().join("home");
    std::os::unix::fs::symlink(installed.home.path(), &way).unwrap();
    let mut install = with_home(Command::new("sh"), &way);
    let address = format!("file://{}", made.dir.path().display());
    run(install.arg(made.file("install.sh")).env("TAU_RELEASE_URL", address));
    let link = installed.home.path().join(".local/bin/tau");
    assert!(std::fs::read_link(&link).unwrap().starts_with(&way), "it names the folder as HOME does");
    let mut remove = with_home(Command::new(way.join(".local/bin/tau")), &way);
    let removed = said(&remove.args(["uninstall", "--yes"]).output_in_minutes());
    let left = run(Command::new("find").arg(installed.home.path()).args(["-type", "l"]));
    assert_eq!(left, "", "{removed}");
    std::fs::remove_dir_all(way.parent().unwrap()).unwrap();
}

#[test]
fn purge_follows_links_and_leaves_what_is_not_its_own() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    write_files(home.path());
    // The cache is on another disk, and the settings are among the user's own files.
    crate::support::write(&at("dotfiles/README.md"), "mine");
    for (folder, target) in [(".cache/tau", "disk/cache"), (".config/tau", "dotfiles/tau")] {
        std::fs::create_dir_all(at(target).parent().unwrap()).unwrap();
        std::fs::rename(at(folder), at(target)).unwrap();
        std::os::unix::fs::symlink(at(target), at(folder)).unwrap();
    }
    std::fs::rename(at("dotfiles/README.md"), at("dotfiles/tau/README.md")).unwrap();
    let data = at(".local/share/tau");
    let owners = [Paths::under(&data).owner(), Paths::under(&at("other")).owner()];
    let output = |owner: &str, name: &str, age: u64| {
        let file = at(&format!("tmp/tau-scratch-{}-{owner}-{name}/bash-0001.log", 0x3fff_fff0));
        crate::support::write(&file, "output");
        let changed = SystemTime::now() - Duration::from_secs(age);
        for path in [file.as_path(), file.parent().unwrap()] {
            std::fs::File::open(path).unwrap().set_modified(changed).unwrap();
        }
        file
    };
    let [old, young, of_other] =
        [output(&owners[0], "a", 7200), output(&owners[0], "b", 60), output(&owners[1], "c", 7200)];
    let mut command = with_home(Command::new(env!("CARGO_BIN_EXE_tau")), home.path());
    let purged = command.args(["uninstall", "--purge", "--yes"]).env("TMPDIR", at("tmp")).output_in_minutes();
    assert!(purged.status.success(), "{}", said(&purged));
    assert!(said(&purged).contains("not tau's, stays: ~/.config/tau/README.md\n"), "{}", said(&purged));
    assert!(!at("disk/cache").exists() && !at(".cache/tau").is_symlink(), "{}", said(&purged));
    let kept: Vec<_> =
        std::fs::read_dir(at("dotfiles/tau")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["README.md"], "{}", said(&purged));
    assert!(!old.exists() && young.exists() && of_other.exists(), "{}", said(&purged));
}

#[test]
fn what_is_purged_is_chosen_by_number() {
    let home = tempfile::tempdir().unwrap();
    write_files(home.path());
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{} uninstall --purge", env!("CARGO_BIN_EXE_tau")), "/dev/null"]);
    if !has("script") {
        return println!("skipped: no script(1)");
    }
    let mut command = with_home(script, home.path());
    command.env("TMPDIR", home.path());
    command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The list is settings, keys, undo data, history, logs, cache.
    child.stdin.as_mut().unwrap().write_all(b"3 6\n").unwrap();
    let output = child.output_in_time("the end of tau uninstall");
    assert!(said(&output).contains("removed: undo data"), "{}", said(&output));
    let is_there = |path: &str| home.path().join(path).exists();
    assert!(!is_there(".local/share/tau/undo") && !is_there(".cache/tau"), "{}", said(&output));
    assert!(
        is_there(".config/tau/config.toml") && is_there(".local/share/tau/prompts.jsonl"),
        "{}",
        said(&output)
    );
}
