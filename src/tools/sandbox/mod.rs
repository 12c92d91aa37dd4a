//! The sandbox: what commands may do to this machine.
//!
//! [`SandboxPolicy`] is the requested policy, as plain data. [`support`] finds out what this kernel can
//! enforce, and [`support::Enforcement`] is the part of a policy in force: nothing is claimed that is not
//! enforced. [`confinement`] applies it to one command, between fork and exec: `mounts` (paths that stay
//! read-only in a writable folder), `file_rules` (Landlock: which files can be changed), `system_calls`
//! (seccomp: sockets and ways out). [`denial`] detects blocked operations in the output of a command;
//! `repository_watch` undoes new files that make git run something and could not be prevented; [`seatbelt`]
//! is the same policy as a profile for macOS. `workspace_program` decides which of the user's programs are
//! confined as well, because commands can change them.
//!
//! docs/sandbox.md says what is guaranteed and what is not.

pub mod confinement;
pub mod denial;
#[cfg(target_os = "linux")]
mod file_rules;
mod git_names;
mod git_search;
#[cfg(target_os = "linux")]
mod mounts;
mod nested_git;
mod other_systems;
mod protected;
mod repository_watch;
pub mod seatbelt;
pub mod support;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod unasked;
mod unfinished;
mod workspace_program;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use denial::{SandboxDenial, SandboxRule};
pub use workspace_program::Start;

use super::paths;

/// How much of the file system commands may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Everything.
    #[default]
    Off,
    /// The workspace, the temporary directory, and paths added by name.
    WorkspaceWrite,
    /// Nothing.
    ReadOnly,
}

impl SandboxLevel {
    /// Every level, least strict first.
    pub const ALL: [SandboxLevel; 3] =
        [SandboxLevel::Off, SandboxLevel::WorkspaceWrite, SandboxLevel::ReadOnly];

    /// Its name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SandboxLevel::Off => "off",
            SandboxLevel::WorkspaceWrite => "workspace-write",
            SandboxLevel::ReadOnly => "read-only",
        }
    }
}

/// The restrictions on commands. Plain data; creating one enforces nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxPolicy {
    /// How much may be changed.
    pub level: SandboxLevel,
    /// Whether the network can be used.
    pub network: bool,
    /// The directory that the session works in. Absolute.
    #[serde(with = "crate::path_text")]
    pub workspace: PathBuf,
    /// The user's home directory, if known. Absolute. A workspace that is or contains it cannot be changed.
    #[serde(with = "crate::path_text", skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
    /// Directories for temporary files. Absolute.
    #[serde(with = "crate::path_text")]
    pub temporary: Vec<PathBuf>,
    /// Other directories and files that may be changed. Absolute, or relative to the workspace.
    #[serde(with = "crate::path_text")]
    pub writable: Vec<PathBuf>,
    /// tau's own directories, which commands can never change. Absolute.
    #[serde(with = "crate::path_text")]
    pub own: Vec<PathBuf>,
    /// True if mount and user namespaces may be used, where available.
    pub namespaces: bool,
    /// True for a command that runs without approval: it changes nothing, not even a file's times, and
    /// creates no socket. It gets a temporary folder of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unasked: bool,
    /// Files and directories that such a command cannot read. Absolute.
    #[serde(with = "crate::path_text", skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<PathBuf>,
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        SandboxPolicy::off()
    }
}

impl SandboxPolicy {
    /// No restriction at all.
    pub fn off() -> Self {
        SandboxPolicy {
            level: SandboxLevel::Off,
            network: true,
            workspace: PathBuf::from("/"),
            home: None,
            temporary: Vec::new(),
            writable: Vec::new(),
            own: Vec::new(),
            namespaces: true,
            unasked: false,
            hidden: Vec::new(),
        }
    }

    /// The policy for a command that runs without approval, which cannot read tau's own directories or these
    /// `secrets` either.
    #[must_use]
    pub fn for_unasked_command(&self, secrets: Vec<PathBuf>) -> Self {
        SandboxPolicy {
            level: SandboxLevel::ReadOnly,
            network: false,
            unasked: true,
            hidden: self.own.iter().cloned().chain(secrets).collect(),
            writable: Vec::new(),
            temporary: Vec::new(),
            ..self.clone()
        }
    }

    /// True if the policy restricts nothing.
    pub fn is_off(&self) -> bool {
        self.level == SandboxLevel::Off && self.network
    }

    /// The policy for a session in another directory.
    #[must_use]
    pub fn in_workspace(&self, workspace: &Path) -> Self {
        SandboxPolicy { workspace: workspace.to_path_buf(), ..self.clone() }
    }

    /// Adds a path that may be changed.
    #[must_use]
    pub fn with_writable(&self, path: &Path) -> Self {
        let mut policy = self.clone();
        policy.writable.push(path.to_path_buf());
        policy
    }

    /// Takes back one [`SandboxPolicy::with_writable`] of this path.
    #[must_use]
    pub fn without_writable(&self, path: &Path) -> Self {
        let mut policy = self.clone();
        if let Some(at) = policy.writable.iter().rposition(|known| known == path) {
            policy.writable.remove(at);
        }
        policy
    }

    /// The directories and files that may be changed with everything in them, without links. Leaves out
    /// those that do not exist, and a workspace that contains the home directory: a command could change or
    /// create start-up files of programs there.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        if self.level != SandboxLevel::WorkspaceWrite {
            return Vec::new();
        }
        let named = self.writable.iter().map(|path| self.workspace.join(path));
        let workspace = Some(self.workspace.clone()).filter(|_| !self.holds_home());
        let all = workspace.into_iter().chain(self.temporary.iter().cloned()).chain(named);
        let mut roots: Vec<PathBuf> = all.filter_map(|path| stable_real_path(&path)).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    /// True if the workspace cannot be changed because it is the home directory or leads to it.
    pub fn leaves_out_workspace(&self) -> bool {
        self.level == SandboxLevel::WorkspaceWrite
            && self.holds_home()
            && !protected::within(&paths::identity(&self.workspace), &self.roots())
    }

    /// True if the workspace is the home directory, one above it, or one above a link on the way to it.
    /// Compares directories themselves, as they can have several names.
    fn holds_home(&self) -> bool {
        let directory = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
        let (Some(home), Some(workspace)) = (&self.home, directory(&self.workspace)) else { return false };
        let leads =
            |part: &Path| paths::identity(part).ancestors().any(|part| directory(part) == Some(workspace));
        home.ancestors().any(leads)
    }

    /// Checks that a file tool may change the file at `path`, which is absolute: links are followed as far
    /// as the path exists.
    ///
    /// # Errors
    /// The denial.
    pub fn check_write(&self, path: &Path) -> Result<(), SandboxDenial> {
        if self.level == SandboxLevel::Off {
            return Ok(());
        }
        self.check_entry(&paths::identity(&plain(path)))
    }

    /// Like [`Self::check_write`], for the entry itself, which may be a link. Its directory is without
    /// links.
    fn check_entry(&self, real: &Path) -> Result<(), SandboxDenial> {
        let roots = self.roots();
        let within = |folders: &[PathBuf]| {
            folders.iter().filter(|folder| real.starts_with(folder)).map(|folder| folder.iter().count()).max()
        };
        let guarded = protected::protected_paths(self, &roots);
        match (within(&roots), within(&guarded)) {
            (Some(root), Some(guard)) if root <= guard => Err(SandboxDenial::protected(real)),
            (None, Some(_)) => Err(SandboxDenial::protected(real)),
            (None, None)
                if self.leaves_out_workspace() && real.starts_with(paths::identity(&self.workspace)) =>
            {
                Err(SandboxDenial::home(real))
            }
            (None, None) => Err(SandboxDenial::outside(real, self.level)),
            (Some(_), _) => Ok(()),
        }
    }
}

/// The real location of a writable path, if it has not moved since this process first asked. A command that
/// can rename a directory above it could put a link there, and the next command could write to the link's
/// target.
fn stable_real_path(path: &Path) -> Option<PathBuf> {
    static FIRST: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

    let mut first = FIRST.lock();
    let known = first.entry(path.to_path_buf()).or_insert_with(|| paths::identity(path));
    path.canonicalize().ok().filter(|real| real == known)
}

/// The path without `.` and `..`, resolved by name. Where the kernel would resolve it differently,
/// [`paths::identity`] has followed the links before.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component;

    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // A path above a link is above its target.
                real = paths::identity(&real);
                real.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => real.push(part),
        }
    }
    real
}

#[cfg(test)]
mod tests;
