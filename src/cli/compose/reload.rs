//! Changes to a running program when trust in a directory changes or on `/reload`.
//!
//! The settings are read again, flags and environment included, and only differences are applied: the user's
//! choices in the meantime stay.

use std::path::Path;

use super::environment;
use crate::compose::{self, AgentPrompt, Setup};
use crate::process::exit::Refusal;
use tau_agent::catalogue::Catalogue;
use tau_agent::permissions::Permissions;
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::table::{SettingRow, TABLE, row};
use tau_agent::settings::{Settings, guards};
use tau_app::background::AUTO;
use tau_app::request::{NO_TICKET, SettingsUpdate};
use tau_protocol::command::{AgentCommand, SettingsCommand, TaskCommand, Tuning};
use tau_protocol::query::Query;
use tau_view::theme::Theme;

/// The setup with the current trust, and the changes for the agent with this prompt. Fails when the settings
/// cannot be read, or a tool in them does not exist.
pub fn reload(old: &Setup, agent: &AgentPrompt) -> Result<(Setup, SettingsUpdate), Refusal> {
    let new = reread(old)?;
    let mut changes = Changes::default();
    all_but_prompt(old, &new, &mut changes);
    prompt(old, &new, agent, &mut changes)?;
    changes.applied.text = changes.words(&new, old);
    Ok((new, changes.applied))
}

/// Like [`reload`], at the user's request: reports every change, and every fault in the files.
pub(crate) fn reload_everything(
    old: &Setup,
    agent: &AgentPrompt,
) -> Result<(Setup, SettingsUpdate), Refusal> {
    let new = match (reread(old), Catalogue::load(&old.paths, &old.settings, None)) {
        // Without the models of the user the one in use would be replaced.
        (Ok(new), Err(error)) if new.settings_fault.is_none() => return Err(Refusal::config(error)),
        (new, _) => new?,
    };
    let mut changes = Changes { everything: true, ..Changes::default() };
    all_but_prompt(old, &new, &mut changes);
    if old.settings.keys != new.settings.keys {
        changes.applied.keys = Some(new.settings.keys.clone().unwrap_or_default());
        changes.applied.warnings.extend(environment::key_faults(&new.paths, &new.settings));
        changes.now.push("keys".to_owned());
    }
    if old.catalogue.models() != new.catalogue.models() {
        changes.now.push("the list of models".to_owned());
    }
    prompt(old, &new, agent, &mut changes)?;
    let waits = |row: &&SettingRow| !row.columns.live && !row.means_same(&new.started, &new.settings);
    changes.later.extend(TABLE.iter().filter(waits).map(|row| row.key.to_owned()));
    changes.applied.text = changes.summary_parts().join("; ");
    changes.applied.warnings.extend(new.notices.iter().cloned());
    Ok((new, changes.applied))
}

/// Every difference but those of the prompt and of what only [`reload_everything`] reports.
fn all_but_prompt(old: &Setup, new: &Setup, changes: &mut Changes) {
    guards(old, new, changes);
    model(old, new, changes);
    sandbox(old, new, changes);
    permission_mode(old, new, changes);
    compaction_and_tools(old, new, changes);
    screen(old, new, changes);
    extensions(old, new, changes);
}

/// The setup from the current files.
fn reread(old: &Setup) -> Result<Setup, Refusal> {
    Ok(keeping(old, old.reread()?))
}

/// While settings that guard the user cannot be read, settings stay in force, and only restrictions on
/// commands are added.
fn keeping(old: &Setup, mut new: Setup) -> Setup {
    if new.settings_fault.is_some() {
        let stand_in = guards::stand_in(&ConfigFile::read(&new.paths));
        new.settings = stand_in.overlaid(old.settings.clone());
        new.notices.retain(|notice| !notice.starts_with(guards::INSTEAD));
    }
    new
}

/// The setup for the open session's directory, and the differences there. Model and thinking level are the
/// session's. `None` when the settings of that directory apply already, or it does not exist.
pub fn in_directory(
    old: &Setup,
    agent: &AgentPrompt,
    dir: &Path,
) -> Result<Option<(Setup, SettingsUpdate)>, Refusal> {
    if old.project_dir == dir || !dir.is_dir() {
        return Ok(None);
    }
    let new = keeping(old, old.in_directory(dir)?);
    let mut changes = Changes::default();
    guards(old, &new, &mut changes);
    sandbox(old, &new, &mut changes);
    compaction_and_tools(old, &new, &mut changes);
    screen(old, &new, &mut changes);
    extensions(old, &new, &mut changes);
    prompt(old, &new, agent, &mut changes)?;
    if !changes.now.is_empty() || !changes.later.is_empty() {
        changes.applied.text = format!("settings of {}: {}", dir.display(), changes.words(&new, old));
    }
    Ok(Some((new, changes.applied)))
}

/// The changes, with their words.
#[derive(Default)]
struct Changes {
    applied: SettingsUpdate,
    now: Vec<String>,
    later: Vec<String>,
    /// The system prompt is mentioned regardless of the cause of its change.
    everything: bool,
}

impl Changes {
    fn now(&mut self, command: impl Into<AgentCommand>, words: impl Into<String>) {
        self.applied.commands.push(command.into());
        self.now.push(words.into());
    }

    fn summary_parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.now.is_empty() {
            parts.push(format!("now in effect: {}", self.now.join(", ")));
        }
        if !self.later.is_empty() {
            parts.push(format!("after a restart: {}", self.later.join(", ")));
        }
        if parts.is_empty() {
            parts.push("nothing changes".to_owned());
        }
        parts
    }

    fn words(&self, new: &Setup, old: &Setup) -> String {
        let mut parts = self.summary_parts();
        parts.extend(new.notices.iter().filter(|notice| !old.notices.contains(notice)).cloned());
        parts.join("; ")
    }
}

/// Reports whether the settings that guard the user can be relied on. Repeated when the user reloads: a file
/// may have been read in the meantime without this setup.
fn guards(old: &Setup, new: &Setup, changes: &mut Changes) {
    let fault = new.settings_fault.clone();
    if !changes.everything && old.settings_fault == fault {
        return;
    }
    let command = SettingsCommand::Tune(Tuning::SettingsFault { fault: fault.clone() });
    changes.applied.commands.push(command.into());
    changes.applied.settings_fault = Some(fault.unwrap_or_default());
    if old.settings_fault.is_some() && new.settings_fault.is_none() {
        changes.now.push("settings can be read again".to_owned());
    }
}

fn model(old: &Setup, new: &Setup, changes: &mut Changes) {
    if old.settings.model != new.settings.model
        && let Some(model) = &new.model
        && old.model.as_ref() != Some(model)
    {
        let words = format!("model {}/{}", model.provider, model.id);
        changes.now(SettingsCommand::SetModel { model: model.clone() }, words);
    }
    if old.settings.thinking != new.settings.thinking {
        let level = new.thinking;
        changes.now(SettingsCommand::SetThinking { level }, format!("thinking {}", level.name()));
    }
}

/// Follows the sandbox, in which the mode must apply.
fn permission_mode(old: &Setup, new: &Setup, changes: &mut Changes) {
    if let Some(mode) = new.permission_mode()
        && old.permission_mode() != Some(mode)
    {
        changes.now(SettingsCommand::SetPermissionMode { mode }, format!("permission mode {}", mode.name()));
    }
}

fn compaction_and_tools(old: &Setup, new: &Setup, changes: &mut Changes) {
    permission_rules(new, changes);
    if old.settings.mcp != new.settings.mcp {
        changes.now.push("MCP servers".to_owned());
    }
    if new.has_servers() || old.has_servers() {
        changes.applied.commands.push(SettingsCommand::Tune(Tuning::McpServers).into());
    }
    let (before, now) = (old.settings.compaction(), new.settings.compaction());
    let mut tune = |tuning, words| changes.now(SettingsCommand::Tune(tuning), words);
    if before.auto != now.auto {
        let words = if now.auto { "auto_compact on" } else { "auto_compact off" };
        tune(Tuning::AutoCompaction { enabled: now.auto }, words.to_owned());
    }
    let enabled = new.settings.mask_secrets();
    if old.settings.mask_secrets() != enabled {
        tune(Tuning::MaskSecrets { enabled }, format!("mask_secrets {enabled}"));
    }
    let temperature = new.settings.temperature.map(|temperature| temperature.0);
    if old.settings.temperature.map(|temperature| temperature.0) != temperature {
        let words = temperature.map_or("no temperature".to_owned(), |number| format!("temperature {number}"));
        tune(Tuning::Temperature { temperature }, words);
    }
    goal_limits(old, new, changes);
    let mut tune = |tuning, words| changes.now(SettingsCommand::Tune(tuning), words);
    let seconds = new.settings.bash_timeout;
    if old.settings.bash_timeout != seconds {
        let words = seconds.map_or("no bash_timeout".to_owned(), |seconds| format!("bash_timeout {seconds}"));
        tune(Tuning::BashTimeout { seconds }, words);
    }
}

/// Compares with the rules that the agent has: it reads those again that it changes itself.
fn permission_rules(new: &Setup, changes: &mut Changes) {
    // While they cannot be read, the agent asks about every call.
    if new.settings_fault.is_some() {
        return;
    }
    let (before, now) = (new.rules.lock().clone(), new.permissions());
    if before.rules() != now.rules() || before.options() != now.options() {
        changes.applied.commands.push(SettingsCommand::Tune(Tuning::Rules).into());
    }
    // A rule that has only moved within its file has not changed.
    let rules =
        |all: &Permissions| all.rules().iter().map(|it| (it.list, it.rule.clone())).collect::<Vec<_>>();
    if rules(&before) != rules(&now) || before.options() != now.options() {
        changes.now.push("permission rules".to_owned());
    }
}

/// They hold for the next goal; one that is at work keeps its own.
fn goal_limits(old: &Setup, new: &Setup, changes: &mut Changes) {
    let is_of_goals = |row: &&SettingRow| row.key.starts_with("goal_");
    let words: Vec<String> =
        changed_rows(old, new, is_of_goals).map(|row| in_words(row, &new.settings)).collect();
    if !words.is_empty() {
        let limits = new.goal_limits();
        changes.now(SettingsCommand::Tune(Tuning::GoalLimits { limits }), words.join(", "));
    }
}

fn sandbox(old: &Setup, new: &Setup, changes: &mut Changes) {
    let now = &new.settings;
    let is_of_sandbox = |row: &&SettingRow| row.key.starts_with("sandbox.") && row.columns.live;
    let words: Vec<String> = changed_rows(old, new, is_of_sandbox).map(|row| in_words(row, now)).collect();
    if words.is_empty() {
        return;
    }
    let cwd = &new.project_dir;
    let user_commands = now.sandbox.user_commands.unwrap_or(false);
    let hooks = now.sandbox.hooks.unwrap_or(false);
    let policy = compose::sandbox::policy(now, &new.paths, cwd).into();
    changes.now(SettingsCommand::Tune(Tuning::Sandbox { policy, user_commands, hooks }), words.join(", "));
    let in_force = compose::sandbox::in_force(now, &new.paths, cwd);
    changes.applied.sandbox = Some(in_force.unwrap_or_default());
    changes.applied.warnings.extend(compose::sandbox::notices(now, &new.paths, cwd));
}

/// Updates the settings of the screen. The theme and the keys have faults of their own.
fn screen(old: &Setup, new: &Setup, changes: &mut Changes) {
    let settings = new.screen_settings();
    if old.screen_settings() != settings {
        changes.applied.screen = Some(settings);
    }
    let is_applied =
        |row: &&SettingRow| row.columns.screen && row.columns.live && !["theme", "keys"].contains(&row.key);
    let rows = changed_rows(old, new, is_applied);
    changes.now.extend(rows.map(|row| in_words(row, &new.settings)));
    if old.settings.theme != new.settings.theme {
        let name = new.theme();
        if name == AUTO || Theme::builtin(name).is_some() {
            changes.applied.theme = Some(name.to_owned());
            changes.now.push(format!("theme {name}"));
        } else {
            // Files of themes are read before the first frame.
            changes.later.push(format!("theme {name}"));
        }
    }
}

/// The settings among these whose values differ.
fn changed_rows(
    old: &Setup,
    new: &Setup,
    among: impl Fn(&&SettingRow) -> bool,
) -> impl Iterator<Item = &'static SettingRow> {
    let differs = |row: &&SettingRow| !row.means_same(&old.settings, &new.settings);
    TABLE.iter().filter(among).filter(differs)
}

/// A setting with its value, or its default.
fn in_words(row: &SettingRow, settings: &Settings) -> String {
    match row.text(settings) {
        Some(value) => format!("{} {value}", row.key),
        None if row.default().is_empty() => format!("no {}", row.key),
        None => format!("{} {}", row.key, row.default()),
    }
}

/// Updates settings that others read: the prompt follows the settings of extensions, and the tools of the web
/// have their own.
fn extensions(old: &Setup, new: &Setup, changes: &mut Changes) {
    let extensions = ["extensions_off", "hooks", "claude_hooks"];
    let web = ["web_fetch", "web_allow_private", "web_search", "web_search_url"];
    for key in extensions.into_iter().chain(web) {
        let row = row(key).filter(|row| !row.is_same(&old.settings, &new.settings));
        changes.now.extend(row.map(|row| in_words(row, &new.settings)));
    }
}

/// Updates tools, and the prompt, which names them.
fn prompt(old: &Setup, new: &Setup, agent: &AgentPrompt, changes: &mut Changes) -> Result<(), Refusal> {
    let names = |setup: &Setup| -> Result<Vec<String>, Refusal> {
        Ok(setup.tools()?.specs().into_iter().map(|spec| spec.name).collect())
    };
    let (before, after) = (names(old)?, names(new)?);
    let by_mode = !new.has_chosen_tools();
    if before != after || old.has_chosen_tools() == by_mode {
        let words = format!("tools {}", after.join(", "));
        changes.now(SettingsCommand::SetTools { names: after.clone(), by_mode }, words);
    }
    let files = new.project.prompt_files();
    // The prompt loads the extensions, so commands may have been added or removed.
    let loaded = new.extensions.current();
    let replaced = agent.replace(new)?;
    if new.extensions.current().commands() != loaded.commands() {
        let query = TaskCommand::Query { ticket: NO_TICKET, query: Query::Commands };
        changes.applied.commands.push(query.into());
        changes.now.push("skills and prompt templates".to_owned());
    }
    if new.extensions.current().tools != loaded.tools {
        changes.now.push("custom tools".to_owned());
    }
    if let Some(text) = replaced {
        let words = match files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>() {
            files if files.is_empty() => "the system prompt without files of this directory".to_owned(),
            files => format!("the system prompt with {}", files.join(" and ")),
        };
        let is_reported = old.project.prompt_files() != new.project.prompt_files();
        changes.applied.commands.push(AgentCommand::Settings(SettingsCommand::SetSystem { text }));
        if is_reported {
            changes.now.push(words);
        } else if changes.everything && before == after {
            changes.now.push("the system prompt from its files".to_owned());
        }
    }
    Ok(())
}
