//! The folders of a package, as the programs that it starts see them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::private_files::private_dir;
use tau_tools::sandbox::SandboxPolicy;

/// The variables that name them, as other agents have them.
const ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const DATA: &str = "CLAUDE_PLUGIN_DATA";

/// The folders of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFolders {
    /// The folder of its files.
    pub root: PathBuf,
    /// The folder for what it keeps.
    pub data: PathBuf,
}

impl PackageFolders {
    /// The variables of its programs, whose folder for what they keep is made. Fails with errors of the file system.
    pub fn prepare(&self) -> io::Result<[(String, OsString); 2]> {
        private_dir(&self.data)?;
        Ok([(ROOT, &self.root), (DATA, &self.data)].map(|(name, path)| (name.to_owned(), path.into())))
    }

    /// The policy for its programs, which may write to their data folder.
    pub fn policy(&self, commands: &SandboxPolicy) -> SandboxPolicy {
        commands.with_writable(&self.data)
    }
}
