//! The completion list: its opening and its keys.

use super::panels;
use crate::action::Action;
use crate::completion::{self, Completion, CompletionKind, CompletionTarget, PathWord};
use crate::effect::Effect;
use crate::key::{Key, KeyCode};
use crate::model::Model;
use crate::request::{FileMatches, ScreenRequest, Ticket};
use tau_protocol::extension::ArgumentValues;
use tau_protocol::query::Query;

/// Handles a key while the list is open; false when the key is not for it.
pub(super) fn key(model: &mut Model, key: Key, action: Option<Action>, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = model.completion.as_mut().filter(|list| !list.rows.is_empty()) else { return false };
    match (action, key.code) {
        (Some(Action::Cancel), _) => close(model, effects),
        (Some(Action::HistoryPrevious), _) => list.step(-1),
        (Some(Action::HistoryNext), _) => list.step(1),
        (Some(Action::Complete), _) => accept(model, effects),
        (Some(Action::Send), KeyCode::Enter) => return enter(model, effects),
        _ => return false,
    }
    true
}

/// Accepts the row on Enter. A command without arguments, or a complete one, is sent at once.
fn enter(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = &model.completion else { return false };
    if list.is_guess() {
        close(model, effects);
        return false;
    }
    let chosen = list.selected_row().map_or("", |row| row.insert.trim_end());
    let complete = match model.commands.parse(chosen) {
        Some(Ok((row, _))) if list.kind == CompletionKind::Command => {
            row.arguments.is_empty() || chosen == list.word
        }
        // The typed text is a value already, or an argument without a choice.
        _ if list.kind == CompletionKind::Argument => {
            chosen == list.word || (list.word.is_empty() && list.selected == 0)
        }
        _ if list.kind == CompletionKind::Resource => chosen == list.word,
        _ => false,
    };
    if !complete || model.completion.as_ref().is_some_and(|list| !list.word.is_empty()) {
        accept(model, effects);
    }
    if complete {
        close(model, effects);
    }
    !complete
}

fn accept(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(list) = model.completion.take() else { return };
    let Some(row) = list.selected_row() else { return };
    model.composer.replace_before(list.word.chars().count(), &row.insert);
    if matches!(list.kind, CompletionKind::Path | CompletionKind::File) {
        model.completed_path.clone_from(&row.insert);
    }
    model.forget(list.ticket, effects);
    refresh(model, effects);
}

fn close(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(list) = model.completion.take() {
        model.forget(list.ticket, effects);
    }
}

/// Opens, refills or closes the list after a possible change of the text. Paths stay as long as the word that
/// they complete.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    if !model.composer.is_typing() {
        return close(model, effects);
    }
    let word = path_before_cursor(model).word;
    if model.completion.as_ref().is_some_and(|list| list.kind.is_path() && list.word == word) {
        return;
    }
    let first = model.composer.cursor().0 == 0;
    if let Some((command, typed)) = argument(model).filter(|_| first) {
        return refresh_argument(model, command, typed, effects);
    }
    match completion::find_target(model.composer.before_cursor(), first, &model.completed_path) {
        CompletionTarget::Nothing => close(model, effects),
        CompletionTarget::Command(word) => {
            let same =
                model.completion.as_ref().is_some_and(|list| list.word.get(1..) == Some(word.as_str()));
            if !same {
                close(model, effects);
                model.completion = Completion::commands(&model.commands, &word);
            }
        }
        CompletionTarget::File(query) => {
            let word = format!("@{query}");
            let template = completion::template(&model.status.mirror.resources, &word);
            let found = Completion::resources(&model.status.mirror.resources, &word);
            if found.is_some() || template.is_some() {
                let is_same = model.completion.as_ref().is_some_and(|list| list.word == word);
                if !is_same {
                    close(model, effects);
                    model.completion = found;
                    if let Some((command, typed)) = template {
                        refresh_address(model, &word, command, typed, effects);
                    }
                }
            } else if model.completion.as_ref().is_none_or(|list| list.word != word) {
                ask(model, CompletionKind::File, &word, ScreenRequest::Files { query }, effects);
            }
        }
    }
}

/// The command whose argument is being typed, and the text after its name up to the cursor. `None` if its
/// arguments cannot be completed, or the word is a file.
fn argument(model: &Model) -> Option<(String, String)> {
    let before = model.composer.before_cursor();
    let (name, typed) = before.strip_prefix('/')?.split_once(char::is_whitespace)?;
    let row = model.commands.rows().iter().find(|row| row.name == name)?;
    let is_file = completion::last_word(typed).starts_with('@');
    (row.completes_arguments && !is_file).then(|| (name.to_owned(), typed.to_owned()))
}

/// Asks the agent for values of the argument being typed.
fn refresh_argument(model: &mut Model, command: String, typed: String, effects: &mut Vec<Effect>) {
    let (kind, word) = (CompletionKind::Argument, completion::last_word(&typed).to_owned());
    if model.completion.as_ref().is_some_and(|list| list.kind == kind && list.word == word) {
        return;
    }
    let mut before = model.completion.take();
    model.forget(before.as_ref().and_then(|list| list.ticket), effects);
    if let Some(list) = &mut before {
        list.keep_values(&word);
    }
    let ticket = model.query(Query::CompleteArgument { command, typed }, effects);
    model.completion = Some(Completion::paths(kind, &word, ticket, before));
}

/// Asks the agent for the addresses of a template.
fn refresh_address(model: &mut Model, word: &str, command: String, typed: String, effects: &mut Vec<Effect>) {
    let ticket = model.query(Query::CompleteArgument { command, typed }, effects);
    let listed = model.completion.take();
    model.completion = Some(Completion::paths(CompletionKind::Resource, word, ticket, listed));
}

/// Fills in values for the argument being typed.
pub(super) fn fill_values(model: &mut Model, ticket: Ticket, found: &ArgumentValues) {
    let Some(list) = model.completion.as_mut().filter(|list| list.ticket == Some(ticket)) else { return };
    list.fill_values(&found.argument, &found.values);
    if list.rows.is_empty() {
        model.completion = None;
    }
}

fn path_before_cursor(model: &Model) -> PathWord {
    let (composer, first) = (&model.composer, model.composer.cursor().0 == 0);
    let mut found = completion::path_word(composer.before_cursor(), first, composer.mode());
    if found.kind == CompletionKind::Path
        && let Some(word) = completion::word_from(composer.before_cursor(), &model.completed_path)
    {
        found.word = word.to_owned();
        found.path = word.to_owned();
    }
    found
}

/// Handles Tab: selects a panel if the composer is empty, opens a chip before the cursor, else completes the
/// word as a path. In a command an empty word is completed too.
pub(super) fn tab(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.composer.is_empty() {
        return panels::select(model);
    }
    if model.composer.expand_chip() {
        return;
    }
    let PathWord { word, path, kind } = path_before_cursor(model);
    if !word.is_empty() || matches!(kind, CompletionKind::ShellPath(_)) {
        ask(model, kind, &word, ScreenRequest::Paths { prefix: path }, effects);
    }
}

fn ask(
    model: &mut Model,
    kind: CompletionKind,
    word: &str,
    request: ScreenRequest,
    effects: &mut Vec<Effect>,
) {
    let before = model.completion.take();
    model.forget(before.as_ref().and_then(|list| list.ticket), effects);
    let ticket = model.ask(request, effects);
    model.completion = Some(Completion::paths(kind, word, ticket, before));
}

/// Fills in the found files.
pub(super) fn fill_files(model: &mut Model, ticket: Ticket, matches: &FileMatches) {
    if let Some(list) = model.completion.as_mut().filter(|list| list.ticket == Some(ticket)) {
        list.fill(&matches.paths);
        list.count = matches.count;
        list.add_servers(&model.status.mirror.resources);
    }
}

/// Refreshes the list, if it shows files and resources.
pub(super) fn on_resource_change(model: &mut Model, effects: &mut Vec<Effect>) {
    let kinds = [CompletionKind::File, CompletionKind::Resource];
    if model.completion.as_ref().is_some_and(|list| kinds.contains(&list.kind)) {
        close(model, effects);
        refresh(model, effects);
    }
}

/// Uses the found paths: inserts a single one, or the common prefix of several.
pub(super) fn fill_paths(model: &mut Model, ticket: Ticket, paths: &[String], effects: &mut Vec<Effect>) {
    let asked = model.completion.as_mut().filter(|list| list.ticket == Some(ticket));
    let Some(list) = asked else { return };
    let (common, word) = (list.fill(paths), list.word.clone());
    match paths.len() {
        0 => {
            model.completion = None;
            model.remark(&format!("no path starts with {word}"));
        }
        1 => {
            accept(model, effects);
            model.completion = None;
        }
        _ => {
            let before = std::mem::replace(&mut list.word, common.clone());
            model.composer.replace_before(before.chars().count(), &common);
            if list.kind == CompletionKind::Path {
                model.completed_path = common;
            }
        }
    }
}
