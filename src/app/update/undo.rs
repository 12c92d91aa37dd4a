//! Undo and redo: the prompts, the scope, the conflicts, and the resulting order.

use super::pickers;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::printable::Printable;
use crate::request::Ticket;
use crate::slash::Slash;
use crate::time_format::age;
use crate::undo::UndoDialog;
use tau_protocol::command::SessionCommand;
use tau_protocol::event::NoticeLevel;
use tau_protocol::query::Query;
use tau_protocol::undo::{
    Checkpoint, ConflictChoice, NotCovered, UndoConflict, UndoOrder, UndoPlan, UndoScope, count_files,
    count_paths,
};

/// Opens the list of prompts.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let picker = Picker::new(PickerKind::Checkpoints, "Rewind to before", "you have not sent a message yet");
    model.undo = UndoDialog::default();
    ask(model, Query::Checkpoints, effects);
    model.overlays.push(Overlay::Picker { picker, ticket: None });
}

/// Asks for the effects of redoing the last undo.
pub(super) fn redo(model: &mut Model, effects: &mut Vec<Effect>) {
    model.undo = UndoDialog { redo: true, ..UndoDialog::default() };
    ask(model, Query::UndoPlan { entry_id: None }, effects);
}

fn ask(model: &mut Model, query: Query, effects: &mut Vec<Effect>) {
    model.undo.waiting = Some(model.query(query, effects));
}

/// Handles a failed query; false when it is not for this dialog.
pub(super) fn on_failure(model: &mut Model, ticket: Ticket, error: &str) -> bool {
    if !model.undo.takes(ticket) {
        return false;
    }
    model.overlays.retain(
        |overlay| !matches!(overlay, Overlay::Picker { picker, .. } if picker.kind == PickerKind::Checkpoints),
    );
    model.transcript.notice(NoticeLevel::Warning, error, None);
    true
}

/// Fills in the prompts.
pub(super) fn list(model: &mut Model, ticket: Ticket, checkpoints: &[Checkpoint]) {
    if !model.undo.takes(ticket) {
        return;
    }
    let now = model.now;
    let rows: Vec<PickerRow> = checkpoints.iter().rev().map(|one| row(one, now)).collect();
    model.undo.checkpoints = checkpoints.to_vec();
    for overlay in &mut model.overlays {
        if let Overlay::Picker { picker, .. } = overlay
            && picker.kind == PickerKind::Checkpoints
        {
            picker.clear();
            picker.loading = false;
            picker.add(rows);
            return;
        }
    }
}

fn row(checkpoint: &Checkpoint, now: i64) -> PickerRow {
    let files = match checkpoint.files.as_slice() {
        [] => "no files".to_owned(),
        [one] => one.clone(),
        several => count_paths(several.iter().map(String::as_str)),
    };
    PickerRow {
        key: checkpoint.entry_id.clone(),
        title: Printable::line(&checkpoint.text),
        note: Printable::line(&format!("{files} · {}", age(now - checkpoint.timestamp))),
        ..PickerRow::default()
    }
}

/// Handles the choice of a prompt by asking for the scope.
pub(super) fn on_pick(model: &mut Model, entry_id: &str) {
    let Some(checkpoint) = model.undo.checkpoints.iter().find(|one| one.entry_id == entry_id) else { return };
    let files = match checkpoint.restores {
        0 => "no file changed".to_owned(),
        all => count_files(all.saturating_sub(checkpoint.folders), checkpoint.folders),
    };
    let none = checkpoint.restores == 0;
    let title = format!("Before “{}”", Printable::line(&checkpoint.text).as_str());
    model.undo.order = UndoOrder { entry_id: entry_id.to_owned(), ..UndoOrder::default() };
    let row = |key: &str, title: &str, note: &str, dimmed: bool| PickerRow {
        key: key.to_owned(),
        title: Printable::line(title),
        note: Printable::line(note),
        dimmed,
        ..PickerRow::default()
    };
    let rows = vec![
        row("both", "Files and conversation", &files, false),
        row("files", "Files only", &files, none),
        row("conversation", "Conversation only", "files stay as they are", false),
    ];
    let mut picker = Picker::new(PickerKind::UndoScope, "", "");
    picker.title = title.into();
    pickers::open(model, picker, rows);
}

/// Handles the choice of a scope.
pub(super) fn on_scope_pick(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    model.undo.order.scope = match key {
        "files" => UndoScope::Files,
        "conversation" => UndoScope::Conversation,
        _ => UndoScope::Both,
    };
    if model.undo.order.scope.files() {
        let entry_id = Some(model.undo.order.entry_id.clone());
        ask(model, Query::UndoPlan { entry_id }, effects);
    } else {
        send(model, effects);
    }
}

/// Handles the plan of an undo.
pub(super) fn on_plan(model: &mut Model, ticket: Ticket, plan: &UndoPlan, effects: &mut Vec<Effect>) {
    if !model.undo.takes(ticket) {
        return;
    }
    if let Some(NotCovered { path, reason }) = plan.not_covered.first() {
        let more = match plan.not_covered.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let text = format!("cannot be restored: {path} ({reason}){more}");
        model.transcript.notice(NoticeLevel::Warning, &text, Some("/diff lists all of it"));
    }
    model.undo.conflicts = plan.conflicts.iter().cloned().collect();
    next(model, effects);
}

/// Asks about the next conflict; without one, carries out the decisions.
fn next(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(conflict) = model.undo.conflicts.front() else { return send(model, effects) };
    let (rows, title) = (conflict_rows(conflict, model.undo.conflicts.len()), conflict_title(conflict));
    let mut picker = Picker::new(PickerKind::UndoConflict, "", "");
    picker.title = title.into();
    pickers::open(model, picker, rows);
}

fn conflict_title(conflict: &UndoConflict) -> String {
    format!("{}: {}", Printable::line(&conflict.path).as_str(), conflict.reason)
}

fn conflict_rows(conflict: &UndoConflict, left: usize) -> Vec<PickerRow> {
    let row = |key: &str, title: String, note: &str, dimmed: bool| PickerRow {
        key: key.to_owned(),
        title: Printable::line(&title),
        note: Printable::line(note),
        dimmed,
        ..PickerRow::default()
    };
    let overlaps = if conflict.mergeable {
        "yours stays, the agent's goes"
    } else {
        "not possible: the changes overlap"
    };
    let mut rows = vec![row("keep", "Keep yours".to_owned(), "the file stays as it is", false)];
    let merge = row("merge", "Merge".to_owned(), overlaps, !conflict.mergeable);
    let old = row("old", "Take the old".to_owned(), "your change to it is lost", false);
    // An impossible choice is listed last in any case.
    rows.extend([merge, old]);
    if left > 1 {
        let all = format!("Keep yours in all {left} remaining files");
        rows.push(row("keep-all", all, "", false));
        let all = format!("Merge all {left} where possible, keep the others");
        rows.push(row("merge-all", all, "", false));
    }
    rows
}

/// Handles the decision on a file.
pub(super) fn on_conflict_pick(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let Some(conflict) = model.undo.conflicts.front().cloned() else { return };
    let choice = match key {
        "merge" | "merge-all" => ConflictChoice::Merge,
        "old" => ConflictChoice::Old,
        _ => ConflictChoice::Keep,
    };
    if key == "merge" && !conflict.mergeable {
        model.remark("the changes overlap; keep yours or take the old ones");
        return next(model, effects);
    }
    if key.ends_with("-all") {
        model.undo.order.otherwise = choice;
        model.undo.conflicts.clear();
    } else {
        model.undo.order.choices.insert(conflict.path, choice);
        model.undo.conflicts.pop_front();
    }
    next(model, effects);
}

fn send(model: &mut Model, effects: &mut Vec<Effect>) {
    let UndoDialog { order, redo, .. } = std::mem::take(&mut model.undo);
    model.undo.returns = !redo && order.scope.conversation();
    let command = if redo { SessionCommand::Redo { order } } else { SessionCommand::Undo { order } };
    effects.push(command.into());
}

/// Records a text put into the composer: the text of a prompt, if the conversation was undone.
pub(super) fn note_returned_text(model: &mut Model) {
    if std::mem::take(&mut model.undo.returns) {
        model.undo.returned = Some(model.composer.expanded_content().0);
    }
}

/// The command, or nearly one, that was typed behind the unchanged returned text.
pub(super) fn command_behind<'a>(model: &Model, text: &'a str) -> Option<&'a str> {
    let returned = model.undo.returned.as_deref().filter(|returned| !returned.trim().is_empty())?;
    let command = text.strip_prefix(returned)?.trim();
    let is_one = match model.commands.parse(command)? {
        Ok((row, _)) => row.slash != Slash::Prompt,
        Err(word) => model.commands.nearest(word).is_some(),
    };
    is_one.then_some(command)
}
