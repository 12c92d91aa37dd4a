//! The selected panel: its keys, copying it, opening it in an editor.

use super::{copy, find, submit};
use crate::action::Action;
use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;
use crate::request::{NO_TICKET, ScreenRequest};
use crate::transcript::hidden_secrets::HiddenSecrets;
use tau_protocol::command::TaskCommand;
use tau_protocol::query::Query;

/// Selects the panel nearest to the end of the screen.
pub(super) fn select(model: &mut Model) {
    if !model.transcript.select_nearest(&model.laid) {
        model.remark("nothing to select yet");
    }
}

/// Carries out a key on the selected panel. Other keys go to the composer, except navigation keys.
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

/// Copies the panel's content.
pub(super) fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.panel_text() {
        Some(text) => copy::put(model, text.text, effects),
        None => model.remark("nothing in it to copy"),
    }
}

/// Copies the panel's command or path.
pub(super) fn copy_command(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.panel_command() {
        Some(text) => copy::put(model, text, effects),
        None => model.remark("no command or path to copy"),
    }
}

/// Asks for the values of the panel's secrets, or hides them again.
pub(super) fn reveal(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.selected_secrets() {
        Some(secrets) if secrets.revealed_lines().is_empty() => {
            let query = Query::Reveal { placeholders: model.transcript.selected_placeholders() };
            effects.push(TaskCommand::Query { ticket: NO_TICKET, query }.into());
        }
        Some(_) => model.transcript.show_secrets(&[]),
        None => model.remark("no secrets in it are hidden"),
    }
}

/// Shows the keys that rerun a command without the sandbox that has just refused a part of it.
pub(super) fn offer_unconfined_run(model: &mut Model) {
    let select = model.keymap.hint(Action::SelectPanel);
    if let Some((select, again)) = select.zip(model.keymap.hint(Action::PanelRerun)) {
        model.remark(&format!("{select}, then {again} runs it again without the sandbox"));
    }
}

/// Runs the command in the panel again, without the sandbox that refused a part of it.
pub(super) fn run_unconfined(model: &mut Model, effects: &mut Vec<Effect>) {
    let command = model.transcript.selected_entry().and_then(|entry| model.transcript.command(entry.id));
    let blocked = command.filter(|command| command.blocked.is_some());
    let Some((command, private)) = blocked.map(|command| (command.source.clone(), command.private)) else {
        return model.remark("the sandbox has not blocked a `!` command here");
    };
    // For an earlier run only the masked text is known, which is a different command.
    if HiddenSecrets::of([command.as_str()]).count() > 0 {
        return model.remark("a secret in this command is hidden: type it again");
    }
    model.transcript.leave_panel();
    submit::run(model, command, private, submit::Confinement::None, effects);
    model.transcript.show_tail();
}

/// Opens the file of a call in an editor, at its line; otherwise the panel's content.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.panel_source() {
        Some(source) => drop(model.ask(ScreenRequest::OpenInEditor { source }, effects)),
        None => model.remark("nothing in it to open"),
    }
}
