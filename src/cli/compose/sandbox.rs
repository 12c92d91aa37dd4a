//! The sandbox that the settings ask for.

use std::path::{Path, PathBuf};

use crate::agent::engine::behavior::{Sandboxing, SaveWritable};
use crate::agent::settings::sandbox::NetworkAccess;
use crate::agent::settings::{Paths, Settings, table, write};
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
        granted: Vec::new(),
        hooks: settings.sandbox_hooks.unwrap_or(false),
        save_writable: Some(save_writable(paths.clone())),
    }
}

/// Adds paths to `sandbox_writable` in the user's `config.toml`.
fn save_writable(paths: Paths) -> SaveWritable {
    SaveWritable::new(move |path| {
        let row = table::row("sandbox_writable").ok_or("there is no such setting")?;
        let text = path.to_str().filter(|text| !text.contains(','));
        let text = text.ok_or("a path with a comma cannot be saved; add it to config.toml by hand")?;
        let (settings, _) = Settings::load_leniently(&paths);
        let mut all = settings.sandbox_writable.unwrap_or_default();
        all.push(text.to_owned());
        write::set(&paths.config_file(), row, Some(&all.join(","))).map_err(|error| error.to_string())
    })
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
