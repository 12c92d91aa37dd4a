//! The sandbox, attacked with real processes: every attack must work without it and fail in it.

mod attacks;
mod calls;
mod commands;
mod denied_files;
mod home;
mod other_kernels;
mod planted;
mod planted_state;
mod races;
pub(crate) mod unasked;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tau::tools::sandbox::confinement::Guard;
use tau::tools::sandbox::support::Support;

use crate::time_limit::RunInTime;

/// The time limit for everything here.
const TIMEOUT: Duration = Duration::from_secs(60);

/// True if this kernel has Landlock; prints a note if not.
pub(crate) fn has_landlock() -> bool {
    let has = Support::here().landlock > 0;
    if !has {
        eprintln!("not tested: this kernel has no Landlock");
    }
    has
}

/// True if everything except the protected files of a repository can be changed, which needs namespaces;
/// prints a note if not.
pub(crate) fn has_mounts() -> bool {
    let has = has_landlock() && Guard::here() == Guard::Mounts;
    if !has {
        eprintln!("not tested: without namespaces nothing can be made in the top directory of a repository");
    }
    has
}

/// A workspace with a repository, a directory outside of it, and a home for tau.
pub(crate) struct Place {
    /// Removed with its contents when the test ends.
    _folder: tempfile::TempDir,
    pub(crate) work: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) home: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        // Not in a temporary directory of the sandbox, where everything is writable.
        let writable = ["/tmp".into(), std::env::temp_dir()].map(|folder| folder.canonicalize().unwrap());
        let folder = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", env!("CARGO_MANIFEST_DIR")]
            .into_iter()
            .filter_map(|folder| Path::new(folder).canonicalize().ok())
            .filter(|folder| !writable.iter().any(|temporary| folder.starts_with(temporary)))
            // The build folder may belong to another user.
            .find_map(|folder| tempfile::tempdir_in(folder).ok())
            .expect("a folder outside of the temporary directories");
        let path = |name: &str| folder.path().join(name);
        let place =
            Place { work: path("work"), outside: path("outside"), home: path("home"), _folder: folder };
        for folder in *tau::tools::words!(
            "work/.git/hooks work/.git/objects work/.git/refs outside home/sessions home/undo"
        ) {
            fs::create_dir_all(place._folder.path().join(folder)).unwrap();
        }
        fs::write(place.work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(place.work.join(".git/config"), "[core]\n").unwrap();
        fs::write(place.outside.join("secret"), "secret").unwrap();
        fs::write(place.home.join("config.toml"), "").unwrap();
        fs::write(place.home.join("undo/journal.jsonl"), "").unwrap();
        place
    }

    /// `tau sandbox` with these flags.
    pub(crate) fn command(&self, flags: &[&str], command: &[&OsStr]) -> Command {
        let mut tau = Command::new(env!("CARGO_BIN_EXE_tau"));
        tau.arg("sandbox").args(flags).arg("--").args(command).current_dir(&self.work);
        tau.env("TAU_HOME", &self.home).env("HOME", &self.outside).env("OUT", &self.outside);
        for name in ["TAU_SANDBOX", "TAU_NETWORK"] {
            tau.env_remove(name);
        }
        tau.stdin(Stdio::null());
        tau
    }

    /// Runs a shell script in the sandbox.
    pub(crate) fn script(&self, flags: &[&str], script: &str) -> Output {
        run(self.command(flags, &["/bin/sh", "-c", script].map(OsStr::new)))
    }
}

/// Runs a command to its end, within the time limit.
pub(crate) fn run(mut command: Command) -> Output {
    command.output_in_time()
}

/// True if a program is installed; prints a note if not.
pub(crate) fn has_program(name: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).exists()));
    if !found {
        eprintln!("not tested: there is no {name} here");
    }
    found
}

/// Waits for a file to appear.
pub(crate) fn wait_for(path: &Path) {
    crate::time_limit::until(TIMEOUT, || path.exists(), || format!("{} does not appear", path.display()));
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
