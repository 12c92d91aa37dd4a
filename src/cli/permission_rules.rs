//! The rules in force: those of the user's `config.toml` and of the trusted projects; changing them.

use std::path::{Path, PathBuf};

use super::args::CliArgs;
use super::project_settings::ProjectSettings;
use crate::agent::engine::behavior::{ReadRules, SaveRule};
use crate::agent::permissions::{Options, Permissions, Protected, Rule, RuleSource, Verdict};
use crate::agent::protocol::approval::RuleScope;
use crate::agent::settings::permission_rules;
use crate::agent::settings::trust::{FOLDER, Project, Trust, uses_others_hooks};
use crate::agent::settings::{Paths, SettingsError};

/// The rules of all files, and what is wrong in them.
pub(crate) fn read(
    paths: &Paths,
    project: &ProjectSettings,
    session_dir: Option<&Path>,
) -> (Permissions, Vec<SettingsError>) {
    let (user, mut wrong) = permission_rules::of_file(&paths.config_file());
    let mut rules = user.rules;
    for project in project.trusted() {
        let Some((path, text)) = project.file("config.toml") else { continue };
        let (found, errors) = permission_rules::of_text(&path, text, true);
        wrong.extend(errors);
        if !found.unprotected.is_empty() {
            let text = "a project cannot set `unprotected`; set it in your own config.toml";
            wrong.push(SettingsError(format!("{}: {text}", path.display())));
        }
        rules.extend(found.rules);
    }
    // Sessions, and what undo keeps, are in the data folder.
    let own = [Some(paths.config.clone()), Some(paths.data.clone()), session_dir.map(PathBuf::from)];
    let options = Options { unprotected: user.unprotected, own: own.into_iter().flatten().collect() };
    let untrusted = project.untrusted().filter_map(|project| project.file("config.toml"));
    let untrusted = untrusted.flat_map(|(path, text)| permission_rules::of_text(&path, text, true).0.rules);
    (Permissions::new(rules, options).with_untrusted(untrusted.collect()), wrong)
}

/// Reads the rules again, for the directory that the session runs in.
pub fn reading(args: &CliArgs, paths: &Paths, session_dir: Option<PathBuf>) -> ReadRules {
    let (args, paths) = (args.clone(), paths.clone());
    ReadRules::new(move |cwd| {
        let project = ProjectSettings::read(&args, &paths, Some(cwd)).unwrap_or_default();
        read(&paths, &project, session_dir.as_deref()).0
    })
}

/// The texts in which trusted projects set rules: what differs when their rules do.
pub(crate) fn sources(project: &ProjectSettings) -> Vec<(PathBuf, String)> {
    let text = |project: &Project| {
        project
            .file("config.toml")
            .filter(|(_, text)| text.contains("permissions"))
            .map(|(path, text)| (path, text.to_owned()))
    };
    project.trusted().filter_map(text).collect()
}

/// Changes rules in the files of their scopes. A project stays trusted if it was.
pub fn saving(args: &CliArgs, paths: &Paths) -> SaveRule {
    let (trusts_all, paths) = (args.trust, paths.clone());
    SaveRule::new(move |edit, cwd| {
        let files = Files { trusts_all, paths: &paths };
        let removed = edit.remove.as_ref().and_then(|removed| match &removed.source {
            RuleSource::File { path, is_project, .. } => Some((path.clone(), *is_project, removed)),
            RuleSource::Session | RuleSource::Granted(_) => None,
        });
        let added = edit.add.as_ref().and_then(|(list, rule, scope)| match (scope, &removed) {
            (RuleScope::Session | RuleScope::Once, _) => None,
            (RuleScope::User, _) => Some((paths.config_file(), false, (*list, rule))),
            // It stays in its file, which may be in a directory above.
            (RuleScope::Project, Some((path, true, _))) => Some((path.clone(), true, (*list, rule))),
            (RuleScope::Project, _) => Some((cwd.join(FOLDER).join("config.toml"), true, (*list, rule))),
        });
        let removed = removed.map(|(path, is_project, rule)| (path, is_project, (rule.list, &rule.rule)));
        match (removed, added) {
            (Some((from, is_project, old)), Some((to, _, new))) if from == to => {
                files.change(&to, is_project, Some(old), Some(new))
            }
            // What is added holds before what it replaces is gone.
            (removed, added) => {
                if let Some((path, is_project, rule)) = added {
                    files.change(&path, is_project, None, Some(rule))?;
                }
                match removed {
                    Some((path, is_project, rule)) => files.change(&path, is_project, Some(rule), None),
                    None => Ok(()),
                }
            }
        }
    })
}

/// The files with rules.
struct Files<'a> {
    /// `--trust`: projects are used as they are.
    trusts_all: bool,
    paths: &'a Paths,
}

impl Files<'_> {
    /// Changes a file.
    fn change(
        &self,
        path: &Path,
        is_project: bool,
        remove: Option<(Verdict, &Rule)>,
        add: Option<(Verdict, &Rule)>,
    ) -> Result<(), String> {
        let write = || permission_rules::change(path, remove, add).map_err(|error| error.to_string());
        let root = path.parent().and_then(Path::parent).filter(|_| is_project);
        let Some(root) = root else { return write() };
        let file = self.paths.trust_file();
        let trust = |project: Project| project.trust(&file);
        let project = || Project::with_others(root, &|| uses_others_hooks(self.paths));
        let trust = project().map(trust).transpose().map_err(|error| error.to_string())?;
        if !self.trusts_all && trust.is_some_and(|trust| trust != Trust::Trusted) {
            return Err("this directory has settings that you do not trust; add the rule for the session or everywhere"
                .to_owned());
        }
        write()?;
        // It was trusted as it was before.
        let project = project().ok_or("the rule was written, but it cannot be read again")?;
        project.answer(&file, true).map_err(|error| error.to_string())
    }
}

/// The kinds of protected paths that are switched off, for people.
pub(crate) fn unprotected(permissions: &Permissions) -> String {
    let names: Vec<&str> =
        permissions.options().unprotected.iter().map(|kind| Protected::name(*kind)).collect();
    names.join(", ")
}
