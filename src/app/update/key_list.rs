//! The list of keys: opening it, and changing a key.

use super::trust;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::key_list::KeysView;
use crate::overlays::overlay::Overlay;
use crate::printable::Printable;
use crate::request::{Applied, KeyChanges, ShellRequest, Ticket};

/// Opens the list.
pub(super) fn open(model: &mut Model) {
    model.overlays.push(Overlay::Keys(KeysView::default()));
}

/// Changes keys; the list stays open.
pub(super) fn chosen(model: &mut Model, mut view: KeysView, keys: KeyChanges, effects: &mut Vec<Effect>) {
    view.ticket = Some(model.ask(ShellRequest::SetKeys { keys }, effects));
    model.overlays.push(Overlay::Keys(view));
}

/// Handles the result of saving the change.
pub(super) fn saved(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<Applied, String>,
    effects: &mut Vec<Effect>,
) {
    let said = match &answer {
        Ok(_) => Ok(Printable::line("saved to config.toml")),
        Err(error) => Err(Printable::line(error)),
    };
    for overlay in &mut model.overlays {
        if let Overlay::Keys(view) = overlay
            && view.ticket == Some(ticket)
        {
            view.ticket = None;
            view.said = Some(said.clone());
        }
    }
    if let Ok(applied) = answer {
        // Its text is in the list.
        trust::applied(model, Applied { text: String::new(), ..applied }, effects);
    }
}
