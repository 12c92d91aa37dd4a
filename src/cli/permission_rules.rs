//! The rules in force: those of the user's `config.toml` and of the trusted projects; adding one.

use std::path::{Path, PathBuf};

use super::args::CliArgs;
use super::project_settings::ProjectSettings;
use crate::agent::engine::behavior::{ReadRules, SaveRule};
use crate::agent::permissions::{Options, Permissions, Protected, Rule, Verdict};
use crate::agent::protocol::approval::RuleScope;
use crate::agent::settings::permission_rules;
use crate::agent::settings::trust::{FOLDER, Project, Trust};
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
        let (found, errors) = permission_rules::of_text(&path, text);
        wrong.extend(errors);
        if !found.unprotected.is_empty() {
            let text = "a project cannot set `unprotected`; set it in your own config.toml";
            wrong.push(SettingsError(format!("{}: {text}", path.display())));
        }
        rules.extend(found.rules);
    }
    let own = [Some(paths.config.clone()), Some(paths.sessions()), session_dir.map(PathBuf::from)];
    let options = Options { unprotected: user.unprotected, own: own.into_iter().flatten().collect() };
    (Permissions::new(rules, options), wrong)
}

/// Reads the rules again, for the directory that the session runs in.
pub(crate) fn reading(args: &CliArgs, paths: &Paths, session_dir: Option<PathBuf>) -> ReadRules {
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

/// Writes new rules to the file of their scope. A project's stays trusted if it was.
pub fn saving(args: &CliArgs, paths: &Paths) -> SaveRule {
    let (trusts_all, paths) = (args.trust, paths.clone());
    SaveRule::new(move |rule, scope, cwd| match scope {
        RuleScope::Session => Ok(()),
        RuleScope::User => add(&paths.config_file(), rule),
        RuleScope::Project => {
            let file = paths.trust_file();
            let trust = |project: Project| project.trust(&file);
            let trust = Project::of(cwd).map(trust).transpose().map_err(|error| error.to_string())?;
            if trusts_all || trust.is_none_or(|trust| trust == Trust::Trusted) {
                add(&cwd.join(FOLDER).join("config.toml"), rule)?;
                // It was trusted as it was before.
                let project = Project::of(cwd).ok_or("the rule was written, but it cannot be read again")?;
                project.answer(&file, true).map_err(|error| error.to_string())
            } else {
                Err("this directory has settings that you do not trust; add the rule for the session or everywhere"
                    .to_owned())
            }
        }
    })
}

fn add(path: &Path, rule: &Rule) -> Result<(), String> {
    permission_rules::add(path, Verdict::Allow, rule).map_err(|error| error.to_string())
}

/// The kinds of protected paths that are switched off, for people.
pub(crate) fn unprotected(permissions: &Permissions) -> String {
    let names: Vec<&str> =
        permissions.options().unprotected.iter().map(|kind| Protected::name(*kind)).collect();
    names.join(", ")
}
