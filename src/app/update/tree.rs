//! The session's tree: opening it, filling it, and the effects of a choice.

use super::sessions;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::overlays::tree::{TreeChoice, TreeView};
use crate::printable::Printable;
use crate::request::NO_TICKET;
use tau_protocol::command::{SessionChange, SessionCommand, TaskCommand};
use tau_protocol::outline::{Outline, RowKind};
use tau_protocol::query::Query;

pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    model.overlays.push(Overlay::Tree(Box::default()));
    effects.push(outline());
}

/// Opens the list of the user's messages, to start a session from before one of them.
pub(super) fn open_forks(model: &mut Model, effects: &mut Vec<Effect>) {
    let picker =
        Picker::new(PickerKind::Forks, "Fork before", "you have not sent a message in this session yet");
    model.overlays.push(Overlay::Picker { picker, ticket: None });
    effects.push(outline());
}

/// Asks the agent for the tree.
fn outline() -> Effect {
    TaskCommand::Query { ticket: NO_TICKET, query: Query::Outline }.into()
}

/// Passes the tree to the dialog that waits for it.
pub(super) fn fill(model: &mut Model, outline: &Outline) {
    for overlay in &mut model.overlays {
        if let Overlay::Tree(view) = overlay {
            view.fill(outline.clone());
        } else if let Overlay::Picker { picker, .. } = overlay
            && picker.kind == PickerKind::Forks
        {
            picker.clear();
            picker.loading = false;
            picker.add(fork_rows(outline));
        }
    }
}

/// Closes the dialogs that wait for the tree, which cannot be had.
pub(super) fn on_failure(model: &mut Model) {
    model.overlays.retain(|overlay| {
        let is_forks = |picker: &Picker| picker.kind == PickerKind::Forks && picker.loading;
        !matches!(overlay, Overlay::Tree(view) if view.loading)
            && !matches!(overlay, Overlay::Picker { picker, .. } if is_forks(picker))
    });
}

/// The user's messages, newest first; ones on another branch are marked.
fn fork_rows(outline: &Outline) -> Vec<PickerRow> {
    let mut active = std::collections::BTreeSet::new();
    let mut next = outline.leaf;
    while let Some(at) = next.filter(|at| active.insert(*at)) {
        next = outline.rows.get(at).and_then(|row| row.parent);
    }
    let row = |(at, row): (usize, &tau_protocol::outline::OutlineRow)| {
        let note = if active.contains(&at) { "" } else { "on another branch" };
        let (title, note) = (Printable::line(&row.text), Printable::line(note));
        (row.kind == RowKind::User).then(|| PickerRow {
            key: row.id.clone(),
            title,
            note,
            ..PickerRow::default()
        })
    };
    outline.rows.iter().enumerate().rev().filter_map(row).collect()
}

/// Carries out a choice in the tree.
pub(super) fn apply_choice(
    model: &mut Model,
    view: Box<TreeView>,
    choice: TreeChoice,
    effects: &mut Vec<Effect>,
) {
    let command = match choice {
        TreeChoice::Here => return model.remark("the conversation is already there"),
        TreeChoice::NotYours => {
            model.overlays.push(Overlay::Tree(view));
            return model.remark("a fork starts before one of your messages; choose one");
        }
        TreeChoice::Label { entry_id, label } => {
            model.overlays.push(Overlay::Tree(view));
            effects.push(SessionCommand::Label { entry_id, label }.into());
            return effects.push(outline());
        }
        TreeChoice::Fork { entry_id } => return fork(model, &entry_id, effects),
        TreeChoice::Go { entry_id, summary } => {
            SessionCommand::Change(SessionChange::GoTo { entry_id, summary })
        }
    };
    effects.push(command.into());
}

/// Starts a session from before the picked message.
pub(super) fn fork(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    sessions::leave(model, SessionChange::Fork { entry_id: key.to_owned() }, effects);
}
