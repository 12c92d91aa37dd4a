//! Session facts and the process environment for hooks.

use std::path::PathBuf;
use std::sync::Arc;

use crate::settings::hooks::HookCommand;
use crate::settings::package_folders::PackageFolders;
use tau_protocol::approval::PermissionMode;
use tau_tools::process::ChildEnv;
use tau_tools::sandbox::{SandboxPolicy, Start};
use tau_tools::scratch::Scratch;

/// The variables that name the directory of the session.
pub(super) const DIRECTORY: [&str; 2] = ["TAU_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

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
    /// A command with the directory of the session in place of its names where no shell puts it in.
    pub(super) fn in_project(&self, command: &HookCommand) -> HookCommand {
        let (HookCommand::Program(program, arguments), Some(cwd)) = (command, self.cwd.to_str()) else {
            return command.clone();
        };
        let put = |word: &String| {
            DIRECTORY.iter().fold(word.clone(), |word, name| word.replace(&format!("${{{name}}}"), cwd))
        };
        HookCommand::Program(put(program), arguments.iter().map(put).collect())
    }

    /// The policy for the command of a hook, of a package or none.
    pub(crate) fn policy(
        &self,
        command: &HookCommand,
        package: Option<&PackageFolders>,
    ) -> Arc<SandboxPolicy> {
        let start = Start { cwd: &self.cwd, path: self.env.get("PATH") };
        let of_package = package.map(|package| Arc::new(package.policy(&self.sandbox)));
        let policy = of_package.unwrap_or_else(|| Arc::clone(&self.sandbox));
        let can_change = match self.in_project(command) {
            HookCommand::Line(line) => policy.can_change_script(start, &line),
            HookCommand::Program(program, arguments) => {
                policy.can_change_program(start, &program, arguments.iter().map(String::as_str))
            }
        };
        match self.sandboxed || can_change {
            true => policy,
            false => Arc::default(),
        }
    }
}
