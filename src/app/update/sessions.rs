//! The session picker: what goes on beside its list.
//!
//! While the person types, the words are also looked for in what was said; while a row is
//! selected, its last exchange is fetched. Answers that come too late are dropped.

use std::path::{Path, PathBuf};

use crate::agent::AgentCommand;
use crate::agent::protocol::command::SessionCommand;
use crate::agent::session::search::LastExchange;
use crate::app::effect::{Effect, ShellReply, ShellRequest};
use crate::app::model::{Model, Purpose};
use crate::app::overlay::Overlay;
use crate::app::picker::{Picker, PickerKind};

/// Letters from which on a query is looked for in what was said.
const WORDS: usize = 3;

/// What the picker showed before something happened to it.
#[derive(Default)]
pub(super) struct Before {
    query: String,
    selected: Option<String>,
}

impl Before {
    /// The picker on top as it is now.
    pub(super) fn of(model: &Model) -> Self {
        match top(model) {
            Some(picker) => Before {
                query: picker.query().to_owned(),
                selected: picker.selected_key().map(str::to_owned),
            },
            None => Before::default(),
        }
    }
}

fn top(model: &Model) -> Option<&Picker> {
    match model.overlays.last() {
        Some(Overlay::Picker { picker, .. }) if matches!(picker.kind, PickerKind::Sessions { .. }) => {
            Some(picker)
        }
        _ => None,
    }
}

fn top_mut(model: &mut Model) -> Option<&mut Picker> {
    match model.overlays.last_mut() {
        Some(Overlay::Picker { picker, .. }) if matches!(picker.kind, PickerKind::Sessions { .. }) => {
            Some(picker)
        }
        _ => None,
    }
}

/// Asks for what the picker on top needs now.
pub(super) fn follow(model: &mut Model, before: &Before, effects: &mut Vec<Effect>) {
    let Some(picker) = top(model) else { return };
    let PickerKind::Sessions { all } = picker.kind else { return };
    let query = picker.query().trim().to_owned();
    let searched = picker.query() != before.query;
    let selected = picker.selected_key().map(str::to_owned);
    if searched {
        let old = top_mut(model).and_then(|picker| picker.search.take());
        model.forget(old, effects);
        if query.chars().count() >= WORDS {
            let request = ShellRequest::SearchSessions { query: query.clone(), all };
            let ticket = model.ask(Purpose::Found(query), request, effects);
            if let Some(picker) = top_mut(model) {
                picker.search = Some(ticket);
            }
        }
    }
    if selected != before.selected {
        if let Some(picker) = top_mut(model) {
            picker.preview = None;
        }
        if let Some(key) = selected {
            let request = ShellRequest::Preview { path: PathBuf::from(&key) };
            model.ask(Purpose::Preview(key), request, effects);
        }
    }
}

/// Takes files in which the query was said.
pub(super) fn found(model: &mut Model, query: &str, reply: ShellReply, effects: &mut Vec<Effect>) {
    let ShellReply::Found { paths, done } = reply else { return };
    let before = Before::of(model);
    let Some(picker) = top_mut(model).filter(|picker| picker.query().trim() == query) else { return };
    picker.find(paths.iter().map(|path| path.display().to_string()));
    if done {
        picker.search = None;
    }
    follow(model, &before, effects);
}

/// Takes the last exchange of a session.
pub(super) fn preview(model: &mut Model, key: &str, words: LastExchange) {
    if let Some(picker) = top_mut(model).filter(|picker| picker.selected_key() == Some(key)) {
        picker.preview = Some(words);
    }
}

/// Takes a deleted session from the list.
pub(super) fn deleted(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let before = Before::of(model);
    if let Some(picker) = top_mut(model) {
        picker.remove(key);
    }
    follow(model, &before, effects);
}

/// Gives a session another name: the one that is open by the agent, any other in its file.
pub(super) fn rename(model: &mut Model, key: &str, name: &str, effects: &mut Vec<Effect>) {
    if let Some(picker) = top_mut(model) {
        picker.retitle(key, name);
    }
    let (path, name) = (PathBuf::from(key), name.to_owned());
    if model.status.session.file.as_deref() == Some(Path::new(key)) {
        return effects.push(Effect::Agent(AgentCommand::Session(SessionCommand::Name { name })));
    }
    model.ask(Purpose::Tell, ShellRequest::RenameSession { path, name }, effects);
}
