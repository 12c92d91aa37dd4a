//! `tau import`: the set-ups of other agents, what each part means for tau, and the changes to tau's files.
//!
//! [`found`] reads the files and judges each part, one file for each agent; [`plan`] turns the judgements into new
//! texts of tau's files. Nothing is written unless the user asks for it, and no value of a variable or header is shown.

mod claude;
mod codex;
pub(crate) mod found;
mod gemini;
mod opencode;
mod others;
mod plan;
mod rules;
mod servers;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::args::CliArgs;
use crate::args::import::ImportArgs;
use crate::commands::table;
use crate::compose;
use crate::compose::environment::{Environment, OnBadConfig};
use crate::process::confirmation::is_yes;
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
pub(crate) use found::{Finding, Meaning, SetUp};
use plan::Plan;
use tau_agent::extensions::packages::{PackageRecord, Packages};
use tau_agent::settings::Paths;
use tau_agent::settings::other_folders::OtherFolders;
use tau_agent::settings::paths::in_short;

/// The places of other agents' files.
pub(crate) struct Places<'a> {
    pub(crate) home: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) folders: OtherFolders,
    /// The file of settings that opencode reads besides its own.
    pub(crate) opencode: Option<PathBuf>,
    /// The packages that the user has, by name.
    pub(crate) packages: BTreeMap<String, PackageRecord>,
}

impl Places<'_> {
    /// The folder of this name in the project, unless it is the user's `own`.
    fn of_project(&self, name: &str, own: &Path) -> Option<PathBuf> {
        let folder = self.cwd.join(name);
        (folder.canonicalize().ok() != own.canonicalize().ok()).then_some(folder)
    }
}

/// The set-ups of all agents that were used here; agents without any are left out.
pub(crate) fn set_ups(places: &Places<'_>) -> Vec<SetUp> {
    let all = [
        claude::read(places),
        codex::read(places),
        opencode::read(places),
        others::pi(places),
        gemini::read(places),
        others::cursor(places),
    ];
    all.into_iter().filter(|set_up| !set_up.findings.is_empty()).collect()
}

/// The set-ups on this machine, for a directory.
pub(crate) fn here(paths: &Paths, cwd: &Path) -> Vec<SetUp> {
    let packages = Packages::new(paths).records().unwrap_or_default();
    let file = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match (std::env::home_dir(), OtherFolders::here()) {
        (Some(home), Some(folders)) => {
            set_ups(&Places { home: &home, cwd, folders, opencode: file("OPENCODE_CONFIG"), packages })
        }
        _ => Vec::new(),
    }
}

/// Runs the command.
pub(crate) fn run(args: &ImportArgs) -> Exit {
    work(args).unwrap_or_else(|refusal| refusal.fail())
}

fn work(args: &ImportArgs) -> Result<Exit, Refusal> {
    let environment = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Refuse)?;
    let cwd = compose::here()?;
    let mut set_ups = here(&environment.paths, &cwd);
    if set_ups.is_empty() {
        return Ok(say("no set-up of Claude Code, Codex, opencode, pi, Gemini CLI or Cursor was found\n"));
    }
    let plan = Plan::of(&environment, &mut set_ups).map_err(Refusal::config)?;
    let mut text = as_text(&set_ups);
    let diff = plan.diff();
    if diff.is_empty() {
        text.push_str("\nNothing to change in tau's files.\n");
        return Ok(say(&text));
    }
    text.push_str(&format!("\nThe changes to tau's files:\n\n{diff}"));
    let exit = say(&text);
    let is_asked = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if args.write || is_asked && is_yes("\nWrite these changes? [y/N] ")? {
        for path in plan.write().map_err(Refusal::config)? {
            warn(&format!("wrote {}", plain::line(&in_short(&path))));
        }
    } else if !is_asked {
        warn("nothing was written; `tau import --write` writes these changes");
    }
    Ok(exit)
}

fn as_text(set_ups: &[SetUp]) -> String {
    let mut text = String::new();
    for set_up in set_ups {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}\n", set_up.agent));
        let row = |finding: &Finding| {
            let place = format!("  {}", plain::line(&in_short(&finding.file)));
            [place, plain::line(&finding.what), plain::line(&finding.meaning.text())]
        };
        text.push_str(&table::columns(&set_up.findings.iter().map(row).collect::<Vec<_>>()));
    }
    text
}
