//! The selected panel: its keys, copying it, opening it in an editor.

use super::{copy, find};
use crate::agent::AgentCommand;
use crate::agent::protocol::query::Query;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::key::Key;
use crate::app::model::Model;
use crate::app::request::{NO_TICKET, ShellRequest};

/// Selects the panel nearest to the end of the screen.
pub(super) fn select(model: &mut Model) {
    if !model.transcript.select_nearest(&model.laid) {
        model.remark("nothing to select yet");
    }
}

/// What the key does to the selected panel. A key that is not for it goes to the composer, except for
/// those that only look around.
pub(super) fn press(model: &mut Model, key: Key) -> Option<Action> {
    model.transcript.selected_panel()?;
    let action = model.keymap.panel_action(key);
    if action.is_none()
        && !model.keymap.action(key).is_some_and(|action| find::looks_only(action) && action != Action::Find)
    {
        model.transcript.leave_panel();
    }
    action
}

/// Copies what the panel holds.
pub(super) fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.panel_text() {
        Some(text) => copy::put(model, text.text, effects),
        None => model.remark("nothing in it to copy"),
    }
}

/// Copies what the panel was made with.
pub(super) fn copy_command(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.panel_command() {
        Some(text) => copy::put(model, text, effects),
        None => model.remark("no command or path to copy"),
    }
}

/// Asks for the values of the secrets in the panel, or hides them again.
pub(super) fn reveal(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.selected_secrets() {
        Some(secrets) if secrets.shown().is_empty() => {
            let query = Query::Reveal { placeholders: model.transcript.selected_placeholders() };
            effects.push(Effect::Agent(AgentCommand::Query { ticket: NO_TICKET, query }));
        }
        Some(_) => model.transcript.show_secrets(&[]),
        None => model.remark("no secrets in it are hidden"),
    }
}

/// Opens the file of a call in an editor, at the line it is about; otherwise what the panel holds.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.panel_source() {
        Some(source) => drop(model.ask(ShellRequest::OpenInEditor { source }, effects)),
        None => model.remark("nothing in it to open"),
    }
}
