//! The sandbox that the settings ask for.

use std::path::{Path, PathBuf};

use crate::agent::engine::behavior::Sandboxing;
use crate::agent::settings::sandbox::NetworkAccess;
use crate::agent::settings::{Paths, Settings};
use crate::tools::paths;
use crate::tools::sandbox::SandboxPolicy;
use crate::tools::sandbox::support::Support;

/// What commands may do in `cwd` by these settings.
pub(crate) fn policy(settings: &Settings, paths: &Paths, cwd: &Path) -> SandboxPolicy {
    let named = settings.sandbox_writable.iter().flatten();
    let mut own: Vec<PathBuf> =
        [&paths.config, &paths.data, &paths.state, &paths.cache].map(Clone::clone).into();
    own.push(settings.session_root(paths));
    own.sort();
    own.dedup();
    SandboxPolicy {
        level: settings.sandbox.unwrap_or_default(),
        network: settings.network.unwrap_or_default() == NetworkAccess::On,
        workspace: cwd.to_path_buf(),
        temporary: vec![std::env::temp_dir(), PathBuf::from("/tmp")],
        writable: named.map(|path| paths::resolve(cwd, path)).collect(),
        own,
        namespaces: true,
    }
}

/// The sandbox of an agent.
pub(crate) fn sandboxing(settings: &Settings, paths: &Paths, cwd: &Path) -> Sandboxing {
    Sandboxing {
        policy: policy(settings, paths, cwd).into(),
        user_commands: settings.sandbox_user_commands.unwrap_or(false),
    }
}

/// What the user should know about a sandbox that this machine cannot provide.
pub(crate) fn shortfall(settings: &Settings, paths: &Paths, cwd: &Path) -> Option<String> {
    let policy = policy(settings, paths, cwd);
    Support::here().shortfall(&policy).map(|text| format!("sandbox: {text}"))
}

/// What is in force, in words; `None` where no sandbox is wanted.
pub(crate) fn in_force(settings: &Settings, paths: &Paths, cwd: &Path) -> Option<String> {
    let policy = policy(settings, paths, cwd);
    (!policy.is_off()).then(|| Support::here().enforced(&policy).to_string())
}
