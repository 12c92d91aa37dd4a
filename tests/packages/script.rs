//! install.sh and the list of a release, with a small program in place of tau.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{InMinutes, has, run, said, target, with_home};
use crate::harness::root;

/// A home, and a release on disk.
struct Place(tempfile::TempDir);

impl Place {
    /// `Err` with what this machine lacks.
    fn new() -> Result<Self, &'static str> {
        for program in ["sh", "tar", "xz", "sha256sum"] {
            if !has(program) {
                return Err(program);
            }
        }
        let place = Place(tempfile::tempdir().unwrap());
        for folder in ["home", "release"] {
            std::fs::create_dir(place.at(folder)).unwrap();
        }
        place.archive("9.0.0");
        run(Command::new("sh").args(["-c", "sha256sum * >SHA256SUMS"]).current_dir(place.at("release")));
        Ok(place)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// Adds the archive of a version whose program only knows its number.
    fn archive(&self, version: &str) {
        let stem = format!("taucode-{version}-{}", target());
        let folder = self.at(&stem);
        for part in ["bin", "share/taucode"] {
            std::fs::create_dir_all(folder.join(part)).unwrap();
        }
        std::fs::write(folder.join("bin/tau"), format!("#!/bin/sh\necho tau {version}\n")).unwrap();
        run(Command::new("chmod").arg("755").arg(folder.join("bin/tau")));
        let archive = self.at("release").join(format!("{stem}.tar.xz"));
        run(Command::new("tar").arg("-cJf").arg(archive).arg("-C").arg(self.at("")).arg(&stem));
    }

    fn install(&self, env: &[(&str, &str)]) -> Output {
        let mut command = with_home(Command::new("sh"), &self.at("home"));
        command.arg(root().join("integrations/release/install.sh")).envs(env.iter().copied());
        command.env("TAU_RELEASE_URL", format!("file://{}", self.at("release").display())).output_in_minutes()
    }
}

macro_rules! place_or_skip {
    () => {
        match Place::new() {
            Ok(place) => place,
            Err(lacking) => return println!("skipped: no {lacking}"),
        }
    };
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_release_lists_files_of_its_own_version() {
    let place = place_or_skip!();
    if !has("python3") {
        return println!("skipped: no python3");
    }
    let own = env!("CARGO_PKG_VERSION");
    place.archive(own);
    place.archive("0.0.1");
    let release = place.at("release");
    let mine = [format!("taucode-{own}-1.x86_64.rpm"), format!("taucode_{own}_amd64.deb")];
    for name in mine.iter().map(String::as_str).chain(["taucode-0.0.1.tgz", "PKGBUILD", "notes.txt"]) {
        std::fs::write(release.join(name), "x").unwrap();
    }
    let mut index = Command::new("python3");
    index.arg(root().join("integrations/release/index.py")).arg("--out").arg(&release);
    let text = run(index.args(["--address", "https://release.example"]));
    let other =
        if target().contains("x86_64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };
    assert!(text.contains("left out: PKGBUILD: no archive for ") && text.contains(other), "{text}");
    let sums = std::fs::read_to_string(release.join("SHA256SUMS")).unwrap();
    let mut listed: Vec<&str> = sums.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    let archive = format!("taucode-{own}-{}.tar.xz", target());
    let mut expected = ["install.sh", "release.json", &archive, &mine[0], &mine[1]];
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    assert!(said(&place.install(&[])).contains(&format!("tau {own} for ")));
}

#[test]
fn a_relative_prefix_is_one_of_this_folder() {
    let place = place_or_skip!();
    let output = place.install(&[("TAU_PREFIX", "pre")]);
    assert!(output.status.success(), "{}", said(&output));
    let program = place.at("home/pre/bin/tau");
    assert_eq!(run(&mut Command::new(&program)), "tau 9.0.0\n");
    assert!(said(&output).contains(place.at("home/pre/bin").to_str().unwrap()), "{}", said(&output));
}

#[test]
fn links_of_others_are_left_alone() {
    let place = place_or_skip!();
    let bin = place.at("home/.local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    symlink("/nowhere/pipx/tau", bin.join("tau")).unwrap();
    let output = said(&place.install(&[]));
    assert!(output.contains("bin/tau is a link to /nowhere/pipx/tau"), "{output}");
    assert!(output.contains("Start it with: ") && output.contains("/current/bin/tau\n"), "{output}");
    assert_eq!(std::fs::read_link(bin.join("tau")).unwrap(), Path::new("/nowhere/pipx/tau"));
    let links = std::fs::read_to_string(place.at("home/.local/share/taucode/links")).unwrap();
    assert!(!links.contains("bin/tau\n") && links.contains("bin/taucode\n"), "{links}");
    // Its own are replaced, by whatever way they lead there.
    std::fs::remove_file(bin.join("tau")).unwrap();
    symlink("../share/taucode/current/bin/tau", bin.join("tau")).unwrap();
    let output = said(&place.install(&[]));
    assert!(output.contains("Start it with: tau\n") && !output.contains("left alone"), "{output}");
    assert!(std::fs::read_link(bin.join("tau")).unwrap().is_absolute());
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let place = place_or_skip!();
    let (fake, real) = (place.at("fake"), std::env::var("PATH").unwrap());
    std::fs::create_dir(&fake).unwrap();
    // As mv(1) does on another file system that is full.
    let script = "#!/bin/sh\nmkdir -p \"$2/bin\"\necho \"mv: error writing '$2/bin/tau': No space left on device\" >&2\nexit 1\n";
    std::fs::write(fake.join("mv"), script).unwrap();
    run(Command::new("chmod").arg("755").arg(fake.join("mv")));
    let output = place.install(&[("PATH", &format!("{}:{real}", fake.display()))]);
    let folder = place.at("home/.local/share/taucode");
    let text = format!(
        "install.sh: cannot write to {}: No space left on device; nothing was installed\n",
        folder.display()
    );
    assert!(!output.status.success() && said(&output).ends_with(&text), "{}", said(&output));
    assert!(!said(&output).contains("mv:"), "{}", said(&output));
    assert_eq!(names(&folder), [] as [&str; 0]);
}
