//! The list of extensions: opening, filling, turning one on or off, opening one in an editor.

use super::trust;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::extension_list::{ExtensionChoice, ExtensionsView};
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{Applied, EditorSource, ShellRequest, Ticket};
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
pub(super) fn changed(model: &mut Model, effects: &mut Vec<Effect>) {
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
    if let Some(view) = model.open::<ExtensionsView>().filter(|view| view.ticket == Some(ticket)) {
        view.fill(rows.to_vec());
    }
}

/// Closes the list that waits for this query, which failed; false when it is another one's.
pub(super) fn failed(model: &mut Model, ticket: Ticket, error: &str) -> bool {
    let ours = model.open::<ExtensionsView>().is_some_and(|view| view.ticket == Some(ticket));
    if ours {
        model.overlays.retain(|overlay| !matches!(overlay, Overlay::Extensions(_)));
        model.remark(error);
    }
    ours
}

/// Carries out the action on an extension; the list stays open.
pub(super) fn chosen(
    model: &mut Model,
    mut view: Box<ExtensionsView>,
    choice: ExtensionChoice,
    effects: &mut Vec<Effect>,
) {
    match choice {
        ExtensionChoice::Turn { id, on } => {
            view.change = Some(model.ask(ShellRequest::TurnExtension { id, on }, effects));
        }
        ExtensionChoice::Edit { path } => {
            let source = EditorSource::File { path: path.display().to_string(), line: None };
            model.ask(ShellRequest::OpenInEditor { source }, effects);
        }
    }
    model.overlays.push(Overlay::Extensions(view));
}

/// Handles the result of turning one on or off.
pub(super) fn turned(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<Applied, UserError>,
    effects: &mut Vec<Effect>,
) {
    let applied = match answer {
        Ok(applied) => applied,
        Err(error) => {
            return match model.open::<ExtensionsView>().filter(|view| view.change == Some(ticket)) {
                Some(view) => {
                    view.change = None;
                    view.said = Some(Err(Printable::line(&error)));
                }
                None => model.transcript.notice(NoticeLevel::Warning, &error, None),
            };
        }
    };
    if let Some(view) = model.open::<ExtensionsView>().filter(|view| view.change == Some(ticket)) {
        view.change = None;
        view.said = Some(Ok(Printable::line(&applied.text)));
    }
    // Its text is in the list.
    trust::applied(model, Applied { text: String::new(), ..applied }, effects);
    changed(model, effects);
}
