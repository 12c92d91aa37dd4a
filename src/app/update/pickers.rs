//! Common operations of all pickers: opening, filling, closing when their rows cannot be loaded.

use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerRow};
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::event::NoticeLevel;
use tau_tools::user_error::UserError;

/// Opens a list whose rows come with replies to `ticket`.
pub(super) fn open_loading(model: &mut Model, picker: Picker, ticket: Ticket) {
    model.overlays.push(Overlay::Picker { picker, ticket: Some(ticket) });
}

/// Opens a list with all its rows.
pub(super) fn open(model: &mut Model, mut picker: Picker, rows: Vec<PickerRow>) {
    picker.loading = false;
    picker.add(rows);
    model.overlays.push(Overlay::Picker { picker, ticket: None });
}

/// A row with only a name.
pub(super) fn name_only_row(name: &str, current: bool) -> PickerRow {
    PickerRow { key: name.to_owned(), title: Printable::line(name), current, ..PickerRow::default() }
}

/// The open list that waits for replies to `ticket`.
pub(super) fn waiting(model: &mut Model, ticket: Ticket) -> Option<&mut Picker> {
    model.overlays.iter_mut().find_map(|overlay| {
        let Overlay::Picker { picker, ticket: held } = overlay else { return None };
        (*held == Some(ticket)).then_some(picker)
    })
}

/// Fills in all rows of the list that waits for `ticket`; closes the list on an error.
pub(super) fn fill(model: &mut Model, ticket: Ticket, rows: Result<Vec<PickerRow>, UserError>) {
    match rows {
        Ok(rows) => {
            if let Some(picker) = waiting(model, ticket) {
                picker.loading = false;
                picker.add(rows);
            }
        }
        Err(error) => {
            let holds = |overlay: &Overlay| matches!(overlay, Overlay::Picker { ticket: held, .. } if *held == Some(ticket));
            if let Some(place) = model.overlays.iter().position(holds) {
                model.overlays.remove(place);
                model.transcript.notice(NoticeLevel::Warning, &error, None);
            }
        }
    }
}

/// Closes the list of changes or extensions that waits for this query, which failed; false when it is another one's.
pub(super) fn on_failure(model: &mut Model, ticket: Ticket, error: &str) -> bool {
    let waits = |overlay: &Overlay| {
        matches!(overlay, Overlay::Changes(view) if view.ticket == Some(ticket))
            || matches!(overlay, Overlay::Extensions(view) if view.ticket == Some(ticket))
    };
    let Some(at) = model.overlays.iter().position(waits) else { return false };
    model.overlays.remove(at);
    model.remark(error);
    true
}

/// Reopens a list that stays open after a choice.
pub(super) fn reopen(model: &mut Model, picker: Picker, ticket: Option<Ticket>) {
    model.overlays.push(Overlay::Picker { picker, ticket });
}
