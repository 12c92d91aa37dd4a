//! The hook files in use: the user's `config.toml`, trusted projects, and other agents' if enabled.

use std::path::{Path, PathBuf};

use super::project_settings::ProjectSettings;
use tau_agent::extensions::hooks::{self, HookFile, HookFormat};
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::other_folders::OtherFolders;
use tau_agent::settings::private_files::{read_capped, unless_absent};
use tau_agent::settings::trust::{OTHERS_HOOKS, SETTINGS};
use tau_agent::settings::{self, MAX_BYTES, guards};
use tau_protocol::extension::ExtensionSource;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;

/// The user's hooks of another agent, where they usually are.
const OTHERS: &str = ".claude/settings.json";

/// All files, in the order in which their hooks run: the user's before a project's.
pub(crate) fn all(
    config: &ConfigFile,
    folders: Option<&OtherFolders>,
    projects: &ProjectSettings,
) -> Vec<HookFile> {
    let uses_others = config.uses_others_hooks();
    let of_others = folders.filter(|_| uses_others).map(others);
    let of_others =
        of_others.and_then(|path| Some(of_user(&path, read_text(&path, MAX_BYTES).ok()?, HookFormat::Json)));
    let of_projects = of_projects(projects).filter(|file| uses_others || file.format == HookFormat::Toml);
    own(config).into_iter().chain(of_others).chain(of_projects).collect()
}

/// The user's hook file of another agent.
pub(crate) fn others(folders: &OtherFolders) -> PathBuf {
    folders.place(OTHERS)
}

/// The faults in the hooks of `config.toml`, the user's and the trusted projects'.
pub(crate) fn faults(config: &ConfigFile, projects: &ProjectSettings) -> Vec<UserError> {
    let is_own = |file: &HookFile| file.format == HookFormat::Toml;
    let files = own(config).into_iter().chain(of_projects(projects)).filter(is_own);
    files.flat_map(|file| hooks::find(&file).1).map(UserError::from).collect()
}

/// The faults in settings that guard the user, in any file: see [`guards`].
pub(crate) fn guards_fault(config: &ConfigFile, projects: &ProjectSettings) -> Option<UserError> {
    guards::fault(config, projects.trusted_projects()).or_else(|| {
        let folders = OtherFolders::here();
        let others = folders.as_ref().filter(|_| config.uses_others_hooks()).map(others);
        let unread = others.and_then(|path| {
            let error = unless_absent(&path, read_capped(&path, MAX_BYTES).err()?)?;
            Some(UserError::new(format!("{}: {error}", path.display())))
        });
        unread.or_else(|| {
            let files = all(config, folders.as_ref(), projects).into_iter();
            let mut files = files.filter(|file| file.format == HookFormat::Json);
            let fault = files.find_map(|file| settings::hooks::guards_fault(&file.path, &file.text));
            fault.map(|fault| fault.remedy("with claude_hooks = false tau runs no hooks of other agents"))
        })
    })
}

fn own(config: &ConfigFile) -> Option<HookFile> {
    Some(of_user(config.path(), config.text().ok()??.to_owned(), HookFormat::Toml))
}

fn of_user(path: &Path, text: String, format: HookFormat) -> HookFile {
    HookFile { path: path.to_owned(), text, format, source: ExtensionSource::User, package: None }
}

/// The trusted texts, rather than the current content of the files.
fn of_projects(projects: &ProjectSettings) -> impl Iterator<Item = HookFile> {
    let formats = SETTINGS.map(|name| (name, HookFormat::Toml)).into_iter();
    let formats = formats.chain(OTHERS_HOOKS.map(|name| (name, HookFormat::Json)));
    projects.trusted_projects().flat_map(move |project| {
        formats.clone().filter_map(|(name, format)| {
            let (path, text) = project.file(name)?;
            Some(HookFile {
                path,
                text: text.to_owned(),
                format,
                source: ExtensionSource::Project,
                package: None,
            })
        })
    })
}
