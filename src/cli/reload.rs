//! What changes in a program that runs when the person trusts a folder's settings, or no longer.
//!
//! The settings are read anew, flags and environment included, and only what is otherwise then
//! than it was before is changed: what the person chose meanwhile stays.

use super::compose::{Refusal, Setup};
use crate::agent::AgentCommand;
use crate::agent::protocol::command::Tuning;
use crate::app::effect::Applied;
use crate::view::theme::Theme;

/// The setup as it is with the answers that are kept now.
///
/// # Errors
/// When the settings cannot be read, or a tool in them does not exist.
pub fn renewed(old: &Setup) -> Result<(Setup, Applied), Refusal> {
    let new = old.anew()?;
    let mut told = Told::default();
    model(old, &new, &mut told);
    rooms(old, &new, &mut told);
    screen(old, &new, &mut told);
    prompt(old, &new, &mut told)?;
    told.applied.text = told.words(&new, old);
    Ok((new, told.applied))
}

/// What is changed, and the words for it.
#[derive(Default)]
struct Told {
    applied: Applied,
    now: Vec<String>,
    later: Vec<String>,
}

impl Told {
    fn now(&mut self, command: AgentCommand, words: String) {
        self.applied.commands.push(command);
        self.now.push(words);
    }

    fn words(&self, new: &Setup, old: &Setup) -> String {
        let mut parts = Vec::new();
        if !self.now.is_empty() {
            parts.push(format!("from now on: {}", self.now.join(", ")));
        }
        if !self.later.is_empty() {
            parts.push(format!("from the next start: {}", self.later.join(", ")));
        }
        if parts.is_empty() {
            parts.push("nothing is otherwise than before".to_owned());
        }
        parts.extend(new.notices.iter().filter(|notice| !old.notices.contains(notice)).cloned());
        parts.join("; ")
    }
}

fn model(old: &Setup, new: &Setup, told: &mut Told) {
    if old.settings.model != new.settings.model
        && let Some(model) = &new.model
        && old.model.as_ref() != Some(model)
    {
        let words = format!("model {}/{}", model.provider, model.id);
        told.now(AgentCommand::SetModel { model: model.clone() }, words);
    }
    if old.settings.thinking != new.settings.thinking {
        let level = new.thinking;
        told.now(AgentCommand::SetThinking { level }, format!("thinking {}", level.name()));
    }
}

fn rooms(old: &Setup, new: &Setup, told: &mut Told) {
    let (before, now) = (old.settings.room(), new.settings.room());
    let mut tune = |tuning, words| told.now(AgentCommand::Tune(tuning), words);
    if before.auto != now.auto {
        let words = if now.auto { "auto_compact on" } else { "auto_compact off" };
        tune(Tuning::AutoCompaction { enabled: now.auto }, words.to_owned());
    }
    if before.reserve != now.reserve {
        let tokens = now.reserve;
        tune(Tuning::CompactReserve { tokens }, format!("compact_reserve {tokens}"));
    }
    let seconds = new.settings.bash_timeout;
    if old.settings.bash_timeout != seconds {
        let words = seconds.map_or("no bash_timeout".to_owned(), |seconds| format!("bash_timeout {seconds}"));
        tune(Tuning::BashTimeout { seconds }, words);
    }
}

fn screen(old: &Setup, new: &Setup, told: &mut Told) {
    if old.settings.hide_thinking != new.settings.hide_thinking {
        let hidden = new.settings.hide_thinking;
        told.applied.hide_thinking = Some(hidden);
        told.now.push(format!("hide_thinking {hidden}"));
    }
    if old.settings.theme != new.settings.theme {
        let name = new.settings.theme.as_deref().unwrap_or(super::tui::start::THEME);
        if Theme::builtin(name).is_some() {
            told.applied.theme = Some(name.to_owned());
            told.now.push(format!("theme {name}"));
        } else {
            // Files of themes are read before the first frame.
            told.later.push(format!("theme {name}"));
        }
    }
}

/// Tools, and the prompt, which names them.
fn prompt(old: &Setup, new: &Setup, told: &mut Told) -> Result<(), Refusal> {
    let names = |setup: &Setup| -> Result<Vec<String>, Refusal> {
        Ok(setup.tools()?.specs().into_iter().map(|spec| spec.name).collect())
    };
    let (before, now) = (names(old)?, names(new)?);
    if before != now {
        let words = format!("tools {}", now.join(", "));
        told.now(AgentCommand::SetTools { names: now }, words);
    }
    let files = new.project.prompt_files();
    if let Some(text) = new.renew_prompt()? {
        let words = match files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>() {
            files if files.is_empty() => "the system prompt without files of the folder".to_owned(),
            files => format!("the system prompt with {}", files.join(" and ")),
        };
        let is_told = old.project.prompt_files() != new.project.prompt_files();
        told.applied.commands.push(AgentCommand::SetSystem { text });
        told.now.extend(is_told.then_some(words));
    }
    Ok(())
}
