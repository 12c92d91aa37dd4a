//! The files with hooks that are in use: the user's `config.toml`, those of the trusted projects, and, where the
//! user wants that, the hooks of other agents.

use std::path::Path;

use super::project_settings::ProjectSettings;
use crate::agent::extensions::hooks::{self, HookFile, HookFormat};
use crate::agent::protocol::extension::ExtensionSource;
use crate::agent::settings::private_files::read_capped;
use crate::agent::settings::{MAX_BYTES, Paths, Settings, SettingsError};

/// The user's hooks of another agent, in the home directory.
const OTHERS: &str = ".claude/settings.json";

/// All files, in the order in which their hooks run: those of the user before those of a project.
pub(crate) fn all(paths: &Paths, home: Option<&Path>, projects: &ProjectSettings) -> Vec<HookFile> {
    let (settings, _) = Settings::load_leniently(paths);
    let others = home.filter(|_| settings.claude_hooks == Some(true)).map(|home| home.join(OTHERS));
    let others = others.and_then(|path| of_user(&path, HookFormat::Json));
    own(paths).into_iter().chain(others).chain(of_projects(projects)).collect()
}

/// What is wrong with the hooks in `config.toml`, the user's and those of trusted projects.
pub(crate) fn faults(paths: &Paths, projects: &ProjectSettings) -> Vec<SettingsError> {
    let files = own(paths).into_iter().chain(of_projects(projects));
    files.flat_map(|file| hooks::find(&file).1).map(SettingsError).collect()
}

fn own(paths: &Paths) -> Option<HookFile> {
    of_user(&paths.config_file(), HookFormat::Toml)
}

fn of_user(path: &Path, format: HookFormat) -> Option<HookFile> {
    let text = String::from_utf8(read_capped(path, MAX_BYTES).ok()?).ok()?;
    Some(HookFile { path: path.to_owned(), text, format, source: ExtensionSource::User })
}

/// The texts that were trusted, and not what the files hold now.
fn of_projects(projects: &ProjectSettings) -> impl Iterator<Item = HookFile> {
    projects.trusted().filter_map(|project| {
        let (path, text) = project.file("config.toml")?;
        let (text, format) = (text.to_owned(), HookFormat::Toml);
        Some(HookFile { path, text, format, source: ExtensionSource::Project })
    })
}
