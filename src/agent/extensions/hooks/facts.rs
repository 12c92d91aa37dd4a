//! Session facts and the process environment for hooks.

use std::path::PathBuf;
use std::sync::Arc;

use crate::settings::package_folders::PackageFolders;
use tau_protocol::approval::PermissionMode;
use tau_tools::process::ChildEnv;
use tau_tools::sandbox::{SandboxPolicy, Start};
use tau_tools::scratch::Scratch;

/// Session facts and the process environment for hooks.
#[derive(Clone, Debug)]
pub struct HookFacts {
    pub session_id: String,
    /// The file of the session; `None` while it has none.
    pub transcript: Option<PathBuf>,
    /// The directory of the session. Absolute.
    pub cwd: PathBuf,
    pub mode: PermissionMode,
    /// The shell that runs them.
    pub shell: PathBuf,
    /// Their environment, without keys.
    pub env: Arc<ChildEnv>,
    pub scratch: Arc<Scratch>,
    /// The sandbox policy of commands.
    pub sandbox: Arc<SandboxPolicy>,
    /// Whether it applies to every hook, and not only to those that commands can change.
    pub sandboxed: bool,
}

impl HookFacts {
    /// The policy for a command line of a hook, of a package or none.
    pub(crate) fn policy(&self, command: &str, package: Option<&PackageFolders>) -> Arc<SandboxPolicy> {
        let start = Start { cwd: &self.cwd, path: self.env.get("PATH") };
        let of_package = package.map(|package| Arc::new(package.policy(&self.sandbox)));
        let policy = of_package.unwrap_or_else(|| Arc::clone(&self.sandbox));
        match self.sandboxed || policy.can_change_script(start, command) {
            true => policy,
            false => Arc::default(),
        }
    }
}
