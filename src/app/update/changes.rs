//! The list of changes: opening, filling, refilling after an undo, and its actions.

use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::changes::{ChangesChoice, ChangesView};
use crate::overlays::overlay::Overlay;
use crate::request::{EditorSource, ScreenRequest, Ticket};
use tau_protocol::command::SessionCommand;
use tau_protocol::query::Query;
use tau_protocol::undo::SessionChanges;

/// Opens the list.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let ticket = model.query(Query::Changes, effects);
    model.overlays.push(Overlay::Changes(Box::new(ChangesView::waiting(ticket))));
}

pub(super) fn fill(model: &mut Model, ticket: Ticket, changes: &SessionChanges) {
    if let Some(view) = model.awaiting::<ChangesView>(ticket) {
        view.fill(changes.clone());
    }
}

/// Refreshes the list, because an undo made it out of date.
pub(super) fn on_restore(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.open::<ChangesView>().is_some() {
        let ticket = model.query(Query::Changes, effects);
        if let Some(view) = model.open::<ChangesView>() {
            view.ticket = Some(ticket);
        }
    }
}

/// Carries out the action on a change.
pub(super) fn apply_choice(
    model: &mut Model,
    view: Box<ChangesView>,
    choice: ChangesChoice,
    effects: &mut Vec<Effect>,
) {
    model.overlays.push(Overlay::Changes(view));
    match choice {
        ChangesChoice::Revert(order) => {
            effects.push(SessionCommand::Revert { order }.into());
        }
        ChangesChoice::Edit { path, line } => {
            let source = EditorSource::File { path, line };
            model.ask(ScreenRequest::OpenInEditor { source }, effects);
        }
    }
}
