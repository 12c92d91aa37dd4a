//! The sandbox requested by the settings.

use std::path::{Path, PathBuf};

use tau_agent::engine::behavior::Sandboxing;
use tau_agent::settings::sandbox::NetworkAccess;
use tau_agent::settings::{Paths, Settings, chosen_mode, write};
use tau_protocol::chosen::ChosenMode;
use tau_tools::paths;
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::sandbox::support::Support;
use tau_tools::user_error::UserError;

/// The sandbox policy of commands in `cwd`.
pub(crate) fn policy(settings: &Settings, paths: &Paths, cwd: &Path) -> SandboxPolicy {
    let named = settings.sandbox.writable.iter().flatten();
    let mut own: Vec<PathBuf> = paths.folders().map(Clone::clone).into();
    own.push(settings.session_root(paths));
    own.sort();
    own.dedup();
    SandboxPolicy {
        level: settings.sandbox.level(),
        network: settings.sandbox.network() == NetworkAccess::On,
        workspace: cwd.to_path_buf(),
        home: std::env::home_dir().filter(|home| home.is_absolute()),
        temporary: vec![std::env::temp_dir(), PathBuf::from("/tmp")],
        writable: named.map(|path| paths::resolve(cwd, path)).collect(),
        own,
        ..SandboxPolicy::off()
    }
}

/// Applies the mode chosen at the first start, unless a permission mode is set. A choice of `auto` in a
/// sandbox is ignored where the sandbox is not available.
pub(crate) fn apply_chosen_mode(settings: &mut Settings, paths: &Paths, cwd: &Path) {
    let chosen = chosen_mode::read(paths).filter(|_| settings.permission_mode.is_none());
    let Some(chosen) = chosen.filter(|it| it.sandbox.is_none() || is_offered(settings, paths, cwd)) else {
        return;
    };
    settings.permission_mode = Some(chosen.mode);
    settings.sandbox.level = settings.sandbox.level.or(chosen.sandbox);
}

/// Whether commands can be confined to the workspace: by the kernel, by the settings, and in this folder.
pub(crate) fn is_offered(settings: &Settings, paths: &Paths, cwd: &Path) -> bool {
    let mut confined = settings.clone();
    confined.sandbox.level = settings.sandbox.level.or(ChosenMode::SANDBOXED.sandbox);
    let policy = policy(&confined, paths, cwd);
    let is_enforced = Support::here().enforcement(&policy).level == policy.level;
    !policy.is_off() && is_enforced && !policy.leaves_out_workspace()
}

/// The sandbox of an agent.
pub(crate) fn sandboxing(settings: &Settings, paths: &Paths, cwd: &Path) -> Sandboxing {
    Sandboxing {
        policy: policy(settings, paths, cwd).into(),
        user_commands: settings.sandbox.user_commands(),
        granted: Vec::new(),
        hooks: settings.sandbox.hooks(),
    }
}

/// Adds paths to `writable` of the table `[sandbox]` in the user's `config.toml`.
pub(super) fn save_writable(paths: &Paths, path: &Path) -> Result<(), UserError> {
    let text = path.to_str().filter(|text| !text.contains(','));
    let text = text.ok_or("a path with a comma cannot be saved; add it to config.toml by hand")?;
    write::append(&paths.shared_file(paths.config_file()), ("sandbox", "writable"), text)
        .map_err(|error| error.to_string().into())
}

/// Notices for the user about the sandbox.
pub(crate) fn notices(settings: &Settings, paths: &Paths, cwd: &Path) -> impl Iterator<Item = String> {
    let policy = policy(settings, paths, cwd);
    let all = [Support::here().shortfall(&policy), readonly_workspace_reason(&policy)];
    all.into_iter().flatten().map(|text| format!("sandbox: {text}"))
}

/// The reason why the workspace cannot be changed although the level says so, and a remedy.
pub(crate) fn readonly_workspace_reason(policy: &SandboxPolicy) -> Option<String> {
    let is_enforced = Support::here().enforcement(policy).level == policy.level;
    (is_enforced && policy.leaves_out_workspace()).then(|| {
        format!(
            "{} is your home directory, or leads to it, so it cannot be changed; start tau in a project's folder, \
             or add a folder to sandbox.writable",
            policy.workspace.display()
        )
    })
}

/// The sandbox in force, in words; `None` where none is wanted.
pub(crate) fn in_force(settings: &Settings, paths: &Paths, cwd: &Path) -> Option<String> {
    let policy = policy(settings, paths, cwd);
    (!policy.is_off()).then(|| Support::here().enforcement(&policy).to_string())
}
