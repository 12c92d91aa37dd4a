//! The rules in force: from the user's `config.toml` and trusted projects; changing them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::hook_files;
use super::project_settings::ProjectSettings;
use crate::args::CliArgs;
use crate::process::socket_folder;
use tau_agent::engine::host::{RuleEdit, SavedRule};
use tau_agent::extensions::packages::{Package, Packages};
use tau_agent::permissions::{
    LOCAL, Options, Permissions, ProtectedKind, Rule, RuleInForce, RuleSource, Verdict,
};
use tau_agent::settings::claude_permissions::Owner;
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::other_folders::OtherFolders;
use tau_agent::settings::trust::{FOLDER, Project, SHARED, uses_others_hooks};
use tau_agent::settings::{MAX_BYTES, Paths, claude_permissions, local_file, paths, permission_rules};
use tau_protocol::approval::RuleScope;
use tau_protocol::trust::Trust;
use tau_tools::regular_files::{read_text, unless_absent};
use tau_tools::sandbox::support::Support;
use tau_tools::user_error::UserError;

/// The rules of all files, and their faults.
pub(crate) struct FoundRules {
    pub rules: Permissions,
    /// The faults in settings files.
    pub wrong: Vec<UserError>,
    /// The unsupported parts of files for another agent.
    pub unused: Vec<UserError>,
}

/// Reads the rules of all files. `has_mode` if tau's settings name a permission mode.
pub(crate) fn read(
    config: &ConfigFile,
    paths: &Paths,
    project: &ProjectSettings,
    has_mode: bool,
) -> FoundRules {
    let (user, mut wrong) = permission_rules::of_text(config.path(), config.text_or_empty(), false);
    let mut rules = user.rules;
    for project in project.trusted_projects() {
        for (path, text) in project.settings_files() {
            let (found, errors) = permission_rules::of_text(&path, text, true);
            wrong.extend(errors);
            if !found.unprotected.is_empty() {
                let text = "a project cannot set `unprotected`; set it in your own config.toml";
                wrong.push(UserError::new(format!("{}: {text}", path.display())));
            }
            rules.extend(found.rules);
        }
    }
    let (of_others, mut unused) = of_others(project, has_mode);
    rules.extend(of_others);
    unused.extend(permission_rules::about_no_tool(&rules, &|name| has_tool(name, paths, project)));
    // Clients that connect to sockets answer for the user.
    let own = paths.folders().map(Clone::clone).into_iter().chain(socket_folder::of_login());
    // At their usual places, they are protected as files of other agents.
    let moved = OtherFolders::here().map(|folders| folders.moved_settings()).unwrap_or_default();
    let options = Options {
        unprotected: user.unprotected,
        own: own.chain(moved).collect(),
        undo: Some(paths.undo()),
        unconfined: !Support::here().confines_unasked_commands(),
    };
    let untrusted = project.untrusted_projects().flat_map(Project::settings_files);
    let untrusted = untrusted.flat_map(|(path, text)| permission_rules::of_text(&path, text, true).0.rules);
    let others = project.untrusted_projects().flat_map(|project| of_project(project).0);
    let rules = Permissions::new(rules, options).with_untrusted(untrusted.chain(others).collect());
    FoundRules { rules, wrong, unused }
}

/// Whether the user, a package or a trusted project has a custom tool with this name.
fn has_tool(name: &str, paths: &Paths, project: &ProjectSettings) -> bool {
    let file = format!("{name}.toml");
    let is_in = |folder: PathBuf| folder.join("tools").join(&file).exists();
    let of_package = |package: &Package| {
        let mut tools = package.record.parts.tools.iter().map(|tools| package.root.join(tools));
        tools.any(|tools| tools.join(&file).exists() || tools.ends_with(&file))
    };
    is_in(paths.config.clone())
        || project.trusted_projects().any(|project| is_in(project.root().join(FOLDER)))
        || Packages::new(paths).read().0.iter().any(of_package)
}

/// The rules in settings of another agent, the user's and the trusted projects', and their unsupported parts.
fn of_others(project: &ProjectSettings, has_mode: bool) -> (Vec<RuleInForce>, Vec<UserError>) {
    let home = OtherFolders::here().map(|folders| hook_files::others(&folders));
    let of_user = home.and_then(|path| match read_text(&path, MAX_BYTES) {
        Ok(text) => Some(claude_permissions::of_text(&path, &text, &text, Owner::User { has_mode })),
        Err(error) if error.kind() == ErrorKind::NotADirectory => None,
        Err(error) => unless_absent(&path, error)
            .map(|error| one(claude_permissions::unread(&path, 1, false, &error.to_string()))),
    });
    let unread = project.trusted_projects().chain(project.changed_projects()).flat_map(unread_of_project);
    let all = of_user.into_iter().chain(project.trusted_projects().map(of_project)).chain(unread);
    let (rules, wrong): (Vec<_>, Vec<_>) = all.unzip();
    (rules.concat(), wrong.concat())
}

fn of_project(project: &Project) -> (Vec<RuleInForce>, Vec<UserError>) {
    let readable = project.files_of_others().filter(|(_, text)| claude_permissions::can_be_read(text));
    let read = readable.map(|(path, text)| {
        // Lines are numbered by file; the trusted text is a part of it.
        let whole = read_text(&path, MAX_BYTES);
        claude_permissions::of_text(&path, text, whole.as_deref().unwrap_or(text), Owner::Project)
    });
    let (rules, wrong): (Vec<_>, Vec<_>) = read.unzip();
    (rules.concat(), wrong.concat())
}

/// The rules that apply because a project's files cannot be read.
fn unread_of_project(project: &Project) -> impl Iterator<Item = (Vec<RuleInForce>, Vec<UserError>)> {
    let broken = project.files_of_others().filter(|(_, text)| !claude_permissions::can_be_read(text));
    let broken = broken.map(|(path, text)| claude_permissions::of_text(&path, text, text, Owner::Project));
    let unread = project.unread().iter();
    broken.chain(unread.map(|(path, why)| one(claude_permissions::unread(path, 1, true, why))))
}

fn one((rule, wrong): (RuleInForce, UserError)) -> (Vec<RuleInForce>, Vec<UserError>) {
    (vec![rule], vec![wrong])
}

/// The rules of all files as they are now.
pub(super) fn read_now(paths: &Paths, project: &ProjectSettings) -> Permissions {
    read(&ConfigFile::read(paths), paths, project, true).rules
}

/// Reads the rules again, for a session in `cwd`.
pub(super) fn read_again(
    args: &CliArgs,
    paths: &Paths,
    session_dir: Option<&Path>,
    cwd: &Path,
) -> Result<Permissions, UserError> {
    let project = ProjectSettings::read(args, paths, Some(cwd))?;
    let config = ConfigFile::read(paths);
    if let Some(fault) = hook_files::guards_fault(&config, &project) {
        return Err(fault);
    }
    let rules = read(&config, paths, &project, true).rules;
    Ok(session_dir.map(Path::to_owned).into_iter().fold(rules, Permissions::with_own_folder))
}

/// Changes rules in the files of their scopes. A trusted project stays trusted, if nothing else in it changes.
pub(super) fn save(
    args: &CliArgs,
    paths: &Paths,
    edit: &RuleEdit,
    cwd: &Path,
) -> Result<SavedRule, UserError> {
    let files = Files { trusts_all: args.trust, paths };
    if let Some(RuleSource::File { path, .. }) = edit.remove.as_ref().map(|rule| &rule.source)
        && path.extension().is_some_and(|extension| extension == "json")
    {
        return Err(format!("it is in the settings of another agent; change it in {}", path.display()).into());
    }
    let removed = edit.remove.as_ref().and_then(|removed| match &removed.source {
        RuleSource::File { path, is_project, .. } => Some((path.clone(), *is_project, removed)),
        RuleSource::Session | RuleSource::Granted(_) => None,
    });
    let added = edit.add.as_ref().and_then(|(list, rule, scope)| {
        let name = match scope {
            RuleScope::Session | RuleScope::Once => return None,
            RuleScope::User => return Some((paths.config_file(), false, (*list, rule))),
            RuleScope::Local => LOCAL,
            RuleScope::Project => SHARED,
        };
        let path = match &removed {
            // It stays in its folder, which may be in a directory above.
            Some((path, true, _)) => path.with_file_name(name),
            _ => cwd.join(FOLDER).join(name),
        };
        Some((path, true, (*list, rule)))
    });
    let file = added.as_ref().map(|(path, ..)| files.display_path(path, cwd));
    let removed = removed.map(|(path, is_project, rule)| (path, is_project, (rule.list, &rule.rule)));
    let remark = match (removed, added) {
        (Some((from, is_project, old)), Some((to, _, new))) if from == to => {
            files.change(&to, is_project, Some(old), Some(new))?
        }
        // Added rules apply before the replaced ones are gone.
        (removed, added) => {
            let remark = match added {
                Some((path, is_project, rule)) => files.change(&path, is_project, None, Some(rule))?,
                None => None,
            };
            if let Some((path, is_project, rule)) = removed {
                files.change(&path, is_project, Some(rule), None)?;
            }
            remark
        }
    };
    Ok(SavedRule { file, remark })
}

struct Files<'a> {
    /// `--trust`: projects are used unconditionally.
    trusts_all: bool,
    paths: &'a Paths,
}

impl Files<'_> {
    /// Changes a file; returns a further notice for the user.
    fn change(
        &self,
        path: &Path,
        is_project: bool,
        remove: Option<(Verdict, &Rule)>,
        add: Option<(Verdict, &Rule)>,
    ) -> Result<Option<String>, UserError> {
        let write = || {
            let file = self.paths.shared_file(path.to_owned());
            permission_rules::change(&file, remove, add).map_err(UserError::of)
        };
        let folder = path.parent().filter(|_| is_project);
        let Some((folder, root)) = folder.and_then(|folder| Some((folder, folder.parent()?))) else {
            return write().map(|()| None);
        };
        if !root.is_dir() {
            return Err(format!(
                "{} no longer exists; add the rule for the session or everywhere",
                root.display()
            )
            .into());
        }
        if let Some(link) = local_file::leads_out(root, &[folder, path]) {
            return Err(format!(
                "{} is a link out of this project; add the rule for the session or everywhere",
                link.display()
            )
            .into());
        }
        let file = self.paths.trust_file();
        let trust = |project: &Project| project.trust(&file).map_err(UserError::of);
        let project = || Project::with_others(root, &|| uses_others_hooks(self.paths));
        let before = project();
        let trusted = before.as_ref().map(trust).transpose()?.is_none_or(|trust| trust == Trust::Trusted);
        if !trusted && !self.trusts_all {
            return Err("this directory has settings that you do not trust; add the rule for the session or everywhere"
                .to_owned().into());
        }
        // The files that were checked, with the rule: others may appear or change at any moment.
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let before = before.map_or_else(|| Project::without_files(root), Ok).map_err(UserError::of)?;
        let text = before.file(name).map(|(_, text)| text.to_owned()).unwrap_or_default();
        let after = before.with_file(name, permission_rules::text_after_change(path, &text, remove, add)?);
        write()?;
        if trusted {
            after.answer(&self.paths.shared_file(file.clone()), true).map_err(UserError::of)?;
        }
        let now = project().ok_or("the rule was written, but it cannot be read again")?;
        if trusted && trust(&now)? != Trust::Trusted {
            return Ok(Some(
                "other settings of this directory changed meanwhile; /trust shows them".to_owned(),
            ));
        }
        let is_local = path.ends_with(LOCAL) && add.is_some();
        Ok(is_local.then(|| local_file::ignore(folder).err()).flatten().map(String::from))
    }

    /// A file as displayed to a user who works in `cwd`.
    fn display_path(&self, path: &Path, cwd: &Path) -> String {
        match path.strip_prefix(cwd) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => paths::in_short(path),
        }
    }
}

/// The kinds of protected paths that are switched off, as text.
pub(crate) fn unprotected_kinds(permissions: &Permissions) -> String {
    let names: Vec<&str> =
        permissions.options().unprotected.iter().map(|kind| ProtectedKind::name(*kind)).collect();
    names.join(", ")
}
