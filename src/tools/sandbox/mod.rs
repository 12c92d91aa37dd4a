//! What commands may do to this machine: the sandbox.
//!
//! [`SandboxPolicy`] says what is wanted, as plain data. [`support`] finds out what this kernel can
//! enforce, and [`support::Enforced`] what that makes of a policy: nothing is claimed that is not
//! enforced. [`confinement`] applies it to one command, between fork and exec: `mounts` (what
//! stays read-only although a folder above it is writable), `file_rules` (Landlock: what can be
//! changed), `system_calls` (seccomp: sockets and ways out). [`denial`] recognises in the output of
//! a command what was blocked; `repository_watch` undoes what makes git run something and could not be
//! kept from appearing; [`seatbelt`] is the same policy as a profile for macOS. `workspace_program`
//! tells which programs of the user's are confined as well, because commands can change them.
//!
//! What is promised and what is not is in docs/sandbox.md.

pub mod confinement;
pub mod denial;
#[cfg(target_os = "linux")]
mod file_rules;
#[cfg(target_os = "linux")]
mod mounts;
mod nested_git;
mod protected;
mod repository_watch;
pub mod seatbelt;
pub mod support;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod unasked;
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
    /// The workspace, the temporary directory, and what is added by name.
    WorkspaceWrite,
    /// Nothing.
    ReadOnly,
}

impl SandboxLevel {
    /// Every level, the least strict first.
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

/// What commands may do. Plain data; nothing is enforced by making one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxPolicy {
    /// How much may be changed.
    pub level: SandboxLevel,
    /// Whether the network can be used.
    pub network: bool,
    /// The directory that the session works in. Absolute.
    pub workspace: PathBuf,
    /// The user's home directory, if known. Absolute. A workspace that is or holds it cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
    /// Directories for temporary files. Absolute.
    pub temporary: Vec<PathBuf>,
    /// Other directories and files that may be changed. Absolute, or relative to the workspace.
    pub writable: Vec<PathBuf>,
    /// tau's own directories, which commands can never change. Absolute.
    pub own: Vec<PathBuf>,
    /// Whether mount and user namespaces may be used, where there are any.
    pub namespaces: bool,
    /// Whether it is for a command that nobody was asked about: that changes nothing, not even a file's times,
    /// and makes no socket. It gets a temporary folder of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unasked: bool,
    /// Files and directories that such a command cannot read. Absolute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

    /// The policy for a command that nobody was asked about, which cannot read tau's own directories nor these
    /// `secrets` either.
    #[must_use]
    pub fn for_unasked(&self, secrets: Vec<PathBuf>) -> Self {
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

    /// Whether it asks for no restriction.
    pub fn is_off(&self) -> bool {
        self.level == SandboxLevel::Off && self.network
    }

    /// The same policy for a session that works in another directory.
    #[must_use]
    pub fn in_workspace(&self, workspace: &Path) -> Self {
        SandboxPolicy { workspace: workspace.to_path_buf(), ..self.clone() }
    }

    /// The same policy with another path that may be changed.
    #[must_use]
    pub fn with_writable(&self, path: &Path) -> Self {
        let mut policy = self.clone();
        policy.writable.push(path.to_path_buf());
        policy
    }

    /// The directories and files that may be changed with everything in them, without links. Those
    /// that do not exist are left out, and so is a workspace that holds the home directory: programs read their
    /// start-up files there, which a command could change or make.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        if self.level != SandboxLevel::WorkspaceWrite {
            return Vec::new();
        }
        let named = self.writable.iter().map(|path| self.workspace.join(path));
        let workspace = Some(self.workspace.clone()).filter(|_| !self.holds_home());
        let all = workspace.into_iter().chain(self.temporary.iter().cloned()).chain(named);
        let mut roots: Vec<PathBuf> = all.filter_map(|path| unmoved(&path)).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    /// Whether the workspace cannot be changed because it is the home directory or leads to it.
    pub fn leaves_out_workspace(&self) -> bool {
        self.level == SandboxLevel::WorkspaceWrite
            && self.holds_home()
            && !protected::within(&paths::identity(&self.workspace), &self.roots())
    }

    /// Whether the workspace is the home directory, one above it, or one above a link on the way to it. Directories
    /// are compared as such: they can have several names.
    fn holds_home(&self) -> bool {
        let directory = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
        let (Some(home), Some(workspace)) = (&self.home, directory(&self.workspace)) else { return false };
        let leads =
            |part: &Path| paths::identity(part).ancestors().any(|part| directory(part) == Some(workspace));
        home.ancestors().any(leads)
    }

    /// Whether a file tool may change the file at `path`, which is absolute: links are followed as
    /// far as the path exists.
    ///
    /// # Errors
    /// What forbids it.
    pub fn check_write(&self, path: &Path) -> Result<(), SandboxDenial> {
        if self.level == SandboxLevel::Off {
            return Ok(());
        }
        self.check_entry(&paths::identity(&plain(path)))
    }

    /// The same for the entry of this name itself, which may be a link. The directory it is in is without links.
    fn check_entry(&self, real: &Path) -> Result<(), SandboxDenial> {
        let roots = self.roots();
        let within = |folders: &[PathBuf]| {
            folders.iter().filter(|folder| real.starts_with(folder)).map(|folder| folder.iter().count()).max()
        };
        let guarded = protected::protected(self, &roots);
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

/// Where a writable path really is, if that is where it was when this process first asked. A command that can
/// rename a directory above it could put a link there, and the next command could write where that leads.
fn unmoved(path: &Path) -> Option<PathBuf> {
    static FIRST: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

    let mut first = FIRST.lock();
    let known = first.entry(path.to_path_buf()).or_insert_with(|| paths::identity(path));
    path.canonicalize().ok().filter(|real| real == known)
}

/// The path without `.` and `..`, as a tool that takes it apart by name would read it. Where that
/// differs from what the kernel reads, [`paths::identity`] has followed the links before.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component;

    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // What is above a link is above its target.
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
