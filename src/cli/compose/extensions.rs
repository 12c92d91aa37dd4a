//! The sources of an agent's extensions: the user's folders, and folders of trusted projects.

use std::path::Path;
use std::sync::Arc;

use crate::args::CliArgs;
use crate::compose::project_settings::ProjectSettings;
use crate::compose::{hook_files, permission_rules};
use tau_agent::extensions::packages::Packages;
use tau_agent::extensions::places::{LinkRules, Places};
use tau_agent::extensions::{ExtensionOptions, Extensions};
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::other_folders::OtherFolders;
use tau_agent::settings::{Paths, Settings};
use tau_app::slash;

/// The extensions of a run; nothing is loaded yet.
pub(crate) fn of(args: &CliArgs, paths: &Paths, settings: &Settings) -> Arc<Extensions> {
    let (args, own) = (args.clone(), paths.clone());
    let extensions = Extensions::new(move |cwd| places(&args, &own, cwd));
    extensions.set_options(options(settings));
    Arc::new(extensions)
}

/// The options of extensions, from the settings.
pub(super) fn options(settings: &Settings) -> ExtensionOptions {
    ExtensionOptions {
        off: settings.extensions_off.clone().unwrap_or_default(),
        shell: settings.shell.clone(),
        own_commands: slash::TABLE.iter().map(|row| row.name.to_string()).collect(),
    }
}

/// The folders for a session in `cwd`, without untrusted ones.
fn places(args: &CliArgs, paths: &Paths, cwd: &Path) -> Places {
    let folders = OtherFolders::here();
    let mut places = Places::of_user_in(&paths.config, folders.as_ref());
    let projects = ProjectSettings::read(args, paths, Some(cwd)).unwrap_or_default();
    let config = ConfigFile::read(paths);
    places.hooks = hook_files::all(&config, folders.as_ref(), &projects);
    let packages = Packages::new(paths);
    let (found, problem) = packages.read();
    places.packages = found;
    places.problems.extend(problem);
    places.files = vec![paths.config_file(), paths.mcp_file(), packages.list_file().to_owned()];
    places.files.extend(folders.as_ref().map(hook_files::others));
    let rules = permission_rules::read(&config, paths, &projects, true).rules;
    places.rules = LinkRules(Some(rules.file_filter(cwd, std::env::home_dir().as_deref())));
    for project in projects.trusted_projects() {
        places.add_project(project.root(), &project.extension_folders());
        places.files.extend(project.candidate_paths());
    }
    places
}
