//! Git, run by tau itself: without hooks, and only where the repository names no programs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tau_agent::permissions;
use tau_agent::settings::private_files::LockFile;
use tau_tools::process::{ChildEnv, git};
use tau_tools::user_error::UserError;

/// Settings for every run. Another git in a submodule would not be hardened, so none is started.
const SETTINGS: [&str; 10] = [
    "submodule.recurse=false", "commit.gpgSign=false", "core.quotePath=false", "core.safecrlf=false",
    "gc.auto=0", "maintenance.auto=false", "advice.addEmbeddedRepo=false", "merge.verifySignatures=false",
    // It would leave conflicts in files that were not committed, and report success.
    "merge.autoStash=false", "fetch.recurseSubmodules=false",
];

/// The name and address of commits where the user has set none.
const IDENTITY: [&str; 2] = ["user.name=tau", "user.email=tau@localhost"];

/// Maximum time of a run: of a large checkout on a slow disk, for example. Git waits for good where it finds a pipe.
const LONGEST: Duration = Duration::from_secs(600);

/// The place in which git runs.
#[derive(Clone, Copy)]
pub(crate) struct Git<'a> {
    pub dir: &'a Path,
    index: Option<&'a Path>,
    /// A repository and its working tree, in place of those that git finds.
    repository: Option<(&'a Path, &'a Path)>,
    identity: bool,
    /// A lock that git holds as well, in case tau is killed before it ends.
    lock: Option<&'a LockFile>,
}

/// The working tree around a directory, and its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The root of the working tree.
    pub top: PathBuf,
    /// The git folder that all working trees of the repository share.
    pub common: PathBuf,
}

impl Repository {
    /// The repository around a directory.
    pub fn around(dir: &Path) -> Result<Self, UserError> {
        let git = Git::within(dir);
        let top = git.path(&["rev-parse", "--show-toplevel"])?;
        let common = git.path(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let common = common.canonicalize().unwrap_or(common);
        Ok(Repository { top, common })
    }

    /// The folder that names the repository: that of its own working tree, or the repository itself.
    pub fn folder(&self) -> &Path {
        match self.common.file_name() {
            Some(name) if name == ".git" => self.common.parent().unwrap_or(&self.common),
            _ => &self.common,
        }
    }
}

/// Refuses a repository whose settings name programs that git would run.
pub(crate) fn check_safe(dir: &Path) -> Result<(), UserError> {
    match permissions::git_runs_programs(dir, std::env::home_dir().as_deref()) {
        None => Ok(()),
        Some(why) => Err(format!("{why}, so tau does not run git there; do it with git yourself").into()),
    }
}

impl<'a> Git<'a> {
    /// Git within a directory.
    pub fn within(dir: &'a Path) -> Self {
        Git { dir, index: None, repository: None, identity: false, lock: None }
    }

    /// Uses another index.
    pub fn with_index(self, index: &'a Path) -> Self {
        Git { index: Some(index), ..self }
    }

    /// Uses this repository and working tree.
    pub fn with_repository(self, repository: &'a Path, top: &'a Path) -> Self {
        Git { repository: Some((repository, top)), ..self }
    }

    /// Holds this lock until it ends.
    pub fn holding(self, lock: &'a LockFile) -> Self {
        Git { lock: Some(lock), ..self }
    }

    /// Adds a name for commits, if the user has none.
    pub fn with_identity(self) -> Self {
        Git { identity: self.text(&["var", "GIT_COMMITTER_IDENT"]).is_err(), ..self }
    }

    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        ChildEnv::of_helpers().apply(&mut command);
        command.envs(git::hardening_variables(&[])).env("LC_ALL", "C");
        let identity: &[&str] = if self.identity { &IDENTITY } else { &[] };
        for setting in SETTINGS.iter().chain(identity) {
            command.args(["-c", setting]);
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some((repository, top)) = self.repository {
            command.arg("--git-dir").arg(repository).arg("--work-tree").arg(top);
        }
        command.arg("-C").arg(self.dir).args(arguments);
        command
    }

    /// Runs it; returns the exit code and the output, or what git said.
    pub fn run_to_end(&self, arguments: &[&OsStr]) -> Result<(i32, Vec<u8>, String), UserError> {
        let input = self.lock.map_or(Ok(Stdio::null()), |lock| lock.try_clone_fd().map(Stdio::from));
        let input = input.map_err(|error| format!("cannot run git: {error}"))?;
        run(self.command(arguments).stdin(input))
    }

    /// Runs it with these names as its input, each ended by a zero byte.
    pub fn with_names(&self, arguments: &[&str], names: &[OsString]) -> Result<(), UserError> {
        let input = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(
                &names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect::<Vec<_>>(),
            )?;
            file.rewind()?;
            Ok(file)
        };
        let input = input().map_err(|error| format!("cannot make a file: {error}"))?;
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        match run(self.command(&arguments).stdin(input))? {
            (0, ..) => Ok(()),
            (.., said) => Err(said.into()),
        }
    }

    /// Runs it; returns its output, or what git said when it failed.
    pub fn bytes(&self, arguments: &[&OsStr]) -> Result<Vec<u8>, UserError> {
        match self.run_to_end(arguments)? {
            (0, output, _) => Ok(output),
            (.., said) => Err(said.into()),
        }
    }

    /// Runs it with arguments in words; returns its output without the end of the last line.
    pub fn text(&self, arguments: &[&str]) -> Result<String, UserError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let output = self.bytes(&arguments)?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    /// Runs it; returns the path that it prints.
    pub fn path(&self, arguments: &[&str]) -> Result<PathBuf, UserError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let mut output = self.bytes(&arguments)?;
        output.pop_if(|byte| *byte == b'\n');
        Ok(PathBuf::from(OsString::from_vec(output)))
    }

    /// Runs it; returns the names that it prints, each ended by a zero byte.
    pub fn names(&self, arguments: &[&str]) -> Result<Vec<OsString>, UserError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let output = self.bytes(&arguments)?;
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| OsString::from_vec(name.to_vec())).collect())
    }

    /// Whether it succeeds.
    pub fn succeeds(&self, arguments: &[&str]) -> bool {
        self.text(arguments).is_ok()
    }
}

fn run(command: &mut Command) -> Result<(i32, Vec<u8>, String), UserError> {
    let ended = git::output_within(command, LONGEST).map_err(|error| match error.kind() {
        ErrorKind::TimedOut => format!("git has not ended within {} minutes", LONGEST.as_secs() / 60),
        _ => format!("cannot run git: {error}"),
    })?;
    Ok((ended.status.code().unwrap_or(-1), ended.stdout, reason(&String::from_utf8_lossy(&ended.stderr))))
}

/// The reason of a failure, in what git said about it.
pub(crate) fn reason(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| line.starts_with("fatal: ") || line.starts_with("error: "));
    let last = || said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("git failed");
    let text = first.unwrap_or_else(last).trim_start_matches("fatal: ").trim_start_matches("error: ");
    // The files that it speaks of are on lines of their own.
    let files: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix('\t')).collect();
    match text.ends_with(':') && !files.is_empty() {
        true => format!("{text} {}", files.join(", ")),
        false => text.to_owned(),
    }
}
