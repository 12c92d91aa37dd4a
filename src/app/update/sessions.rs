//! The session picker: its rows, the search in everything that was said, the preview.
//!
//! While the user types, everything that was said in the sessions is also searched for the words; while a row is
//! selected, its last exchange is fetched. Replies that come too late are dropped.

use std::path::{Path, PathBuf};

use super::pickers;
use crate::effect::Effect;
use crate::model::Model;
use crate::msg::Millis;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerKind, PickerRow, TextMatch};
use crate::printable::Printable;
use crate::request::{FoundSessions, ScreenRequest, SessionRows, Ticket};
use crate::time_format::age;
use tau_protocol::command::{SessionChange, SessionCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::session_row::{FoundSession, LastExchange, SessionOrigin, SessionRow};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// Minimum number of letters for a search in what was said.
const WORDS: usize = 3;
/// From here on come symbols, and scripts of which one character can be a word.
const SYMBOLS: char = '\u{2010}';

/// Opens the session picker.
pub(super) fn open(model: &mut Model, all: bool, effects: &mut Vec<Effect>) {
    let title = if all { "Sessions of all directories" } else { "Sessions of this directory" };
    let empty = if all { "no sessions yet" } else { "no sessions here yet; tab shows all directories" };
    let picker = Picker::new(PickerKind::Sessions { all }, title, empty);
    model.sought_passage = None;
    let ticket = model.ask(ScreenRequest::Sessions { all }, effects);
    pickers::open_loading(model, picker, ticket);
}

/// Switches between the sessions of this directory and of all; the query stays.
pub(super) fn open_other_scope(
    model: &mut Model,
    mut picker: Picker,
    ticket: Option<Ticket>,
    effects: &mut Vec<Effect>,
) {
    let all = matches!(picker.kind, PickerKind::Sessions { all: true });
    model.forget(picker.search.take(), effects);
    model.forget(ticket, effects);
    open(model, !all, effects);
    let before = Before::of(model);
    if let Some(opened) = top_mut(model) {
        opened.paste(picker.query());
    }
    follow(model, &before, effects);
}

/// Leaves this session for another one; once that is open, tells what becomes of the run in this one: another process
/// continues its own.
pub(super) fn leave(model: &mut Model, change: SessionChange, effects: &mut Vec<Effect>) {
    let text = match model.boot.attached {
        Some(_) => "the run in the previous session continues; /resume reopens that session",
        None => "stopped the run in the previous session; /resume reopens that session",
    };
    model.arrival = model.status.run.as_ref().map(|_| text.to_owned());
    effects.push(SessionCommand::Change(change).into());
}

/// Opens the picked session, at the text that was searched for.
pub(super) fn on_pick(model: &mut Model, picker: &Picker, key: &str, effects: &mut Vec<Effect>) {
    let found = picker.text_match(key).map(|found| found.passage.clone());
    model.sought_passage = found.filter(|passage| !passage.is_empty());
    let (path, source) = (PathBuf::from(key), picker.source(key));
    if model.status.mirror.session.file.as_ref() == Some(&path) {
        // It is open already, and its run continues.
        if let Some(passage) = model.sought_passage.take() {
            model.transcript.find_passage(&passage);
        }
        return;
    }
    leave(model, SessionChange::Offer { path, source }, effects);
}

/// Adds rows to the list.
pub(super) fn on_sessions(
    model: &mut Model,
    ticket: Ticket,
    rows: Result<SessionRows, UserError>,
    effects: &mut Vec<Effect>,
) {
    let SessionRows { rows, done, troubles } = match rows {
        Ok(rows) => rows,
        Err(error) => return pickers::fill(model, ticket, Err(error)),
    };
    for trouble in &troubles {
        model.transcript.notice(NoticeLevel::Warning, trouble, None);
    }
    let (now, before, open) = (model.now, Before::of(model), model.status.mirror.session.file.clone());
    if let Some(picker) = pickers::waiting(model, ticket) {
        let all = matches!(picker.kind, PickerKind::Sessions { all: true });
        picker.loading = !done;
        picker.add(rows.iter().map(|row| session_row(row, all, now, open.as_deref())).collect());
        follow(model, &before, effects);
    }
}

/// The state of the picker before a change.
#[derive(Default)]
pub(super) struct Before {
    query: String,
    selected: Option<String>,
}

impl Before {
    /// The current picker on top.
    pub(super) fn of(model: &Model) -> Self {
        match top(model) {
            Some(picker) => Before {
                query: picker.query().to_owned(),
                selected: picker.selected_key().map(str::to_owned),
            },
            None => Before::default(),
        }
    }
}

fn top(model: &Model) -> Option<&Picker> {
    match model.overlays.last() {
        Some(Overlay::Picker { picker, .. }) if matches!(picker.kind, PickerKind::Sessions { .. }) => {
            Some(picker)
        }
        _ => None,
    }
}

fn top_mut(model: &mut Model) -> Option<&mut Picker> {
    match model.overlays.last_mut() {
        Some(Overlay::Picker { picker, .. }) if matches!(picker.kind, PickerKind::Sessions { .. }) => {
            Some(picker)
        }
        _ => None,
    }
}

/// Requests the current needs of the picker on top.
pub(super) fn follow(model: &mut Model, before: &Before, effects: &mut Vec<Effect>) {
    let Some(picker) = top(model) else { return };
    let PickerKind::Sessions { all } = picker.kind else { return };
    let query = picker.query().trim().to_owned();
    let searched = picker.query() != before.query;
    let selected = picker.selected_key().map(str::to_owned);
    if searched {
        let old = top_mut(model).and_then(|picker| picker.search.take());
        model.forget(old, effects);
        if query.chars().count() >= WORDS || query.chars().any(|c| c >= SYMBOLS) {
            let request = ScreenRequest::SearchSessions { query, all };
            let ticket = model.ask(request, effects);
            if let Some(picker) = top_mut(model) {
                picker.search = Some(ticket);
            }
        }
    }
    if selected != before.selected {
        let old = top_mut(model).and_then(|picker| {
            picker.preview = None;
            picker.looks.take()
        });
        model.forget(old, effects);
        let asked =
            selected.map(|key| model.ask(ScreenRequest::Preview { path: PathBuf::from(key) }, effects));
        if let Some(picker) = top_mut(model) {
            picker.looks = asked;
        }
    }
}

/// Adds sessions in which the query was said.
pub(super) fn on_search_results(
    model: &mut Model,
    query: &str,
    FoundSessions { found, done }: FoundSessions,
    effects: &mut Vec<Effect>,
) {
    let before = Before::of(model);
    let Some(picker) = top_mut(model).filter(|picker| picker.query().trim() == query) else { return };
    let of = |found: FoundSession| {
        let text = TextMatch { line: Printable::line(&found.line), passage: found.passage };
        (found.path.display().to_string(), text)
    };
    picker.find(found.into_iter().map(of));
    if done {
        picker.search = None;
    }
    follow(model, &before, effects);
}

/// Shows the last exchange of a session.
pub(super) fn preview(model: &mut Model, path: &Path, words: LastExchange) {
    if let Some(picker) = top_mut(model).filter(|picker| picker.selected_key().map(Path::new) == Some(path)) {
        picker.preview = Some(words);
    }
}

/// Removes a deleted session from the list.
pub(super) fn remove_row(model: &mut Model, path: &Path, effects: &mut Vec<Effect>) {
    let before = Before::of(model);
    if let Some(picker) = top_mut(model) {
        picker.remove(&path.display().to_string());
    }
    follow(model, &before, effects);
}

/// Says that a session of another program is not changed; whether it is one.
pub(super) fn is_refused(model: &mut Model, source: SessionOrigin) -> bool {
    if let Some(picker) = top_mut(model).filter(|_| source.is_foreign()) {
        let program = source.program();
        picker.refusal =
            Some(format!("of {program}, whose files are not changed · enter continues it in a copy"));
    }
    source.is_foreign()
}

/// Renames a session: the open one through the agent, any other in its file or through the process that has it.
pub(super) fn rename(model: &mut Model, key: &str, name: &str, effects: &mut Vec<Effect>) {
    let (path, name) = (PathBuf::from(key), name.to_owned());
    if model.status.mirror.session.file.as_deref() == Some(Path::new(key)) {
        retitle(model, &path, &name);
        return effects.push(SessionCommand::Change(SessionChange::Name { name }).into());
    }
    model.ask(ScreenRequest::RenameSession { path, name }, effects);
}

fn retitle(model: &mut Model, path: &Path, name: &str) {
    if let Some(picker) = top_mut(model) {
        picker.retitle(&path.display().to_string(), name);
    }
}

/// Handles the result of renaming a session of the list.
pub(super) fn on_rename_result(
    model: &mut Model,
    path: &Path,
    name: &str,
    answer: Result<String, UserError>,
) {
    match (answer, top_mut(model)) {
        (Ok(said), _) => {
            retitle(model, path, name);
            model.remark(&said);
        }
        // The list would hide a notice.
        (Err(error), Some(picker)) => picker.refusal = Some(error.to_string()),
        (Err(error), None) => model.transcript.notice(NoticeLevel::Warning, &error, None),
    }
}

/// Deletes the picked session.
pub(super) fn delete(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    model.ask(ScreenRequest::DeleteSession { path: PathBuf::from(key) }, effects);
}

/// Puts the picked session away, or brings it back.
pub(super) fn archive(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let row = top(model).and_then(|picker| picker.rows().iter().find(|row| row.key == key));
    let Some((id, archived)) = row.map(|row| (row.id.clone(), !row.archived)) else { return };
    let ticket = model.ask(ScreenRequest::ArchiveListed { id, archived }, effects);
    if let Some(picker) = top_mut(model) {
        picker.archives = Some((ticket, key.to_owned()));
    }
}

/// Handles the result of putting a session of the list away.
pub(super) fn on_archive_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<String, UserError>,
    effects: &mut Vec<Effect>,
) {
    let before = Before::of(model);
    let asked = |picker: &mut Picker| picker.archives.take_if(|(asked, _)| *asked == ticket);
    match (top_mut(model).and_then(|picker| Some((asked(picker)?.1, picker))), answer) {
        (Some((key, picker)), Ok(_)) => picker.archive(&key),
        (Some((_, picker)), Err(error)) => picker.refusal = Some(error.to_string()),
        (None, Err(error)) => model.transcript.notice(NoticeLevel::Warning, &error, None),
        (None, Ok(_)) => {}
    }
    follow(model, &before, effects);
}

fn session_row(row: &SessionRow, all: bool, now: Millis, open: Option<&Path>) -> PickerRow {
    let messages = match row.messages {
        // In large sessions of other programs they are not counted.
        0 if row.source.is_foreign() => "–".to_owned(),
        messages => pluralize(messages, "message"),
    };
    let mut note = format!("{} · {messages}", age(now - row.modified));
    // One of many in a database has no size of its own.
    if row.size > 0 || !row.source.is_foreign() {
        note = format!("{note} · {}", size(row.size));
    }
    if all {
        note = format!("{} · {note}", row.cwd.display());
    }
    let key = row.path.display().to_string();
    PickerRow {
        key,
        title: match &row.helper {
            Some(kind) => Printable::line(&format!("↳ {kind}: {}", row.title())),
            None => Printable::line(&row.title()),
        },
        note: Printable::line(&note),
        current: open == Some(row.path.as_path()),
        hidden: row.printed && open != Some(row.path.as_path()),
        id: row.id.clone(),
        archived: row.archived,
        time: row.modified,
        source: row.source,
        parent: row.parent.as_ref().map(|parent| parent.display().to_string()),
        ..PickerRow::default()
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}
