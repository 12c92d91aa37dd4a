//! The list of keys: opening it, and changing a key.

use super::trust;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::key_list::KeysView;
use crate::overlays::list::report;
use crate::overlays::overlay::Overlay;
use crate::request::{KeyChanges, ScreenRequest, SettingsUpdate, Ticket};
use tau_tools::user_error::UserError;

pub(super) fn open(model: &mut Model) {
    model.overlays.push(Overlay::Keys(KeysView::default()));
}

/// Changes keys; the list stays open.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: KeysView,
    keys: KeyChanges,
    effects: &mut Vec<Effect>,
) {
    view.ticket = Some(model.ask(ScreenRequest::SetKeys { keys }, effects));
    model.overlays.push(Overlay::Keys(view));
}

/// Handles the result of saving the change.
pub(super) fn on_save_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<SettingsUpdate, UserError>,
    effects: &mut Vec<Effect>,
) {
    if let Some(view) = model.awaiting::<KeysView>(ticket) {
        view.ticket = None;
        view.said = Some(report(&answer.as_ref().map(|_| "saved to config.toml")));
    }
    if let Ok(applied) = answer {
        // Its text is in the list.
        trust::apply_settings(model, SettingsUpdate { text: String::new(), ..applied }, effects);
    }
}
