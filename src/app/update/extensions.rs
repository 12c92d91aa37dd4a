//! The list of extensions: opening, filling, turning one on or off, opening one in an editor.

use super::trust;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::extension_list::{ExtensionChoice, ExtensionsView};
use crate::overlays::list::report;
use crate::overlays::overlay::Overlay;
use crate::request::{EditorSource, ScreenRequest, SettingsUpdate, Ticket};
use tau_protocol::event::NoticeLevel;
use tau_protocol::extension::ExtensionRow;
use tau_protocol::query::Query;
use tau_tools::user_error::UserError;

/// Opens the list.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let view = ExtensionsView::waiting(model.query(Query::Extensions, effects));
    model.overlays.push(Overlay::Extensions(Box::new(view)));
}

/// Refills an open list, because the extensions changed.
pub(super) fn on_change(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.open::<ExtensionsView>().is_some() {
        // A pending query may be answered with the old state.
        let ticket = model.query(Query::Extensions, effects);
        if let Some(view) = model.open::<ExtensionsView>() {
            view.ticket = Some(ticket);
        }
    }
}

/// Fills in the current extensions.
pub(super) fn fill(model: &mut Model, ticket: Ticket, rows: &[ExtensionRow]) {
    if let Some(view) = model.awaiting::<ExtensionsView>(ticket) {
        view.fill(rows.to_vec());
    }
}

/// Carries out the action on an extension; the list stays open.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: Box<ExtensionsView>,
    choice: ExtensionChoice,
    effects: &mut Vec<Effect>,
) {
    match choice {
        ExtensionChoice::Turn { id, on } => {
            view.change = Some(model.ask(ScreenRequest::TurnExtension { id, on }, effects));
        }
        ExtensionChoice::Edit { path } => {
            let source = EditorSource::File { path: path.display().to_string(), line: None };
            model.ask(ScreenRequest::OpenInEditor { source }, effects);
        }
    }
    model.overlays.push(Overlay::Extensions(view));
}

/// Handles the result of turning one on or off.
pub(super) fn on_turn_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<SettingsUpdate, UserError>,
    effects: &mut Vec<Effect>,
) {
    let said = report(&answer.as_ref().map(|applied| &applied.text));
    match (model.awaiting::<ExtensionsView>(ticket), &answer) {
        (Some(view), _) => (view.change, view.said) = (None, Some(said)),
        (None, Err(error)) => model.transcript.notice(NoticeLevel::Warning, error, None),
        (None, Ok(_)) => {}
    }
    if let Ok(applied) = answer {
        // Its text is in the list.
        trust::apply_settings(model, SettingsUpdate { text: String::new(), ..applied }, effects);
        on_change(model, effects);
    }
}
