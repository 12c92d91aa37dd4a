//! What each slash command does.

use std::path::PathBuf;

use super::{actions, overlays, tree, trust};
use crate::agent::AgentCommand;
use crate::agent::protocol::command::SessionCommand;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::model::ThinkingLevel;
use crate::agent::protocol::query::Query;
use crate::app::effect::{Effect, NO_TICKET, SavedSetting, Ticket};
use crate::app::model::{Model, Purpose};
use crate::app::overlay::Overlay;
use crate::app::slash::Slash;

pub(super) fn run(model: &mut Model, command: Slash, arguments: &str, effects: &mut Vec<Effect>) {
    match command {
        Slash::Model if arguments.is_empty() => overlays::open_models(model, "", effects),
        Slash::Model => overlays::choose_model(model, arguments, effects),
        Slash::Thinking => thinking(model, arguments, effects),
        Slash::Resume => overlays::open_sessions(model, false, effects),
        Slash::New => effects.push(Effect::Agent(AgentCommand::Session(SessionCommand::New))),
        Slash::Name => name(model, arguments, effects),
        Slash::Tree => tree::open(model, effects),
        Slash::Fork => tree::open_forks(model, effects),
        Slash::Clone => clone(model, effects),
        Slash::Context => {
            let query = Query::ContextUsage;
            effects.push(Effect::Agent(AgentCommand::Query { ticket: NO_TICKET, query }));
        }
        Slash::Compact => {
            let instructions = Some(arguments.to_owned()).filter(|text| !text.is_empty());
            effects.push(Effect::Agent(AgentCommand::Compact { instructions }));
        }
        Slash::Copy => actions::copy_answer(model, effects),
        Slash::Export => export(model, arguments, effects),
        Slash::Session => session(model),
        Slash::Theme => theme(model, arguments, effects),
        Slash::Login => overlays::open_login(model, arguments, effects),
        Slash::Trust => trust::look(model, effects),
        Slash::Hotkeys | Slash::Help => model.overlays.push(Overlay::Help { scroll: 0 }),
        Slash::Quit => effects.push(Effect::Quit),
    }
}

fn thinking(model: &mut Model, word: &str, effects: &mut Vec<Effect>) {
    match ThinkingLevel::named(word) {
        Some(level) => actions::set_thinking(model, level, effects),
        None if word.is_empty() => overlays::open_thinking(model),
        None => {
            let text = format!("there is no thinking level `{word}`");
            let hint = "the levels are off, minimal, low, medium, high, xhigh, max";
            model.transcript.notice(NoticeLevel::Warning, &text, Some(hint));
        }
    }
}

fn clone(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.status.fresh {
        return model.remark("nothing has been said here that could be copied");
    }
    effects.push(Effect::Agent(AgentCommand::Session(SessionCommand::Clone)));
    model.remark("what you send now goes on in a copy of the session");
}

fn name(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if name.is_empty() {
        let text = match &model.status.session.name {
            Some(name) => format!("this session is named `{name}`"),
            None => match &model.status.began {
                Some(began) => format!("this session has no name; lists show `{}`", began.as_str()),
                None => "this session has no name".to_owned(),
            },
        };
        return model.transcript.notice(NoticeLevel::Info, &text, Some("/name NAME gives it another"));
    }
    let name = name.to_owned();
    effects.push(Effect::Agent(AgentCommand::Session(SessionCommand::Name { name })));
}

fn export(model: &mut Model, file: &str, effects: &mut Vec<Effect>) {
    let file = Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty());
    let Ticket(ticket) = model.expect(Purpose::Export(file));
    effects.push(Effect::Agent(AgentCommand::Query { ticket, query: Query::Source }));
}

fn session(model: &mut Model) {
    let status = &model.status;
    let file = match &status.session.file {
        Some(file) => file.display().to_string(),
        None => "in memory only".to_owned(),
    };
    let total = &status.total;
    let money = if status.priced { format!("${:.4}", total.cost.total) } else { "price unknown".to_owned() };
    let text = format!(
        "session {}\n{file}\ntokens: {} in, {} out, {} read from cache, {} written to cache · {money}",
        status.session.id, total.input, total.output, total.cache_read, total.cache_write
    );
    model.transcript.notice(NoticeLevel::Info, &text, None);
}

fn theme(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if name.is_empty() {
        return overlays::open_themes(model);
    }
    if !model.boot.themes.iter().any(|known| known == name) {
        let text = format!("there is no theme `{name}`");
        let hint = format!("the themes are {}", model.boot.themes.join(", "));
        return model.transcript.notice(NoticeLevel::Warning, &text, Some(&hint));
    }
    set_theme(model, name, effects);
}

/// Switches the theme and keeps the choice.
pub(super) fn set_theme(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    model.theme = name.to_owned();
    effects.push(Effect::Save(SavedSetting::Theme(name.to_owned())));
}
