//! The completion list: when it opens, what its keys do.

use crate::app::action::Action;
use crate::app::completion::{self, Completion, CompletionKind, Wanted};
use crate::app::effect::Effect;
use crate::app::key::{Key, KeyCode};
use crate::app::model::Model;
use crate::app::request::ShellRequest;

/// Takes a key while the list is open; false when the key is not for it.
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

/// Enter takes the row. A command without arguments, or one that is already complete, is sent at
/// once.
fn enter(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = &model.completion else { return false };
    let chosen = list.chosen().map_or("", |row| row.insert.trim_end());
    let complete = match model.commands.parse(chosen) {
        Some(Ok((row, _))) => row.arguments.is_empty() || chosen == list.word,
        _ => false,
    };
    accept(model, effects);
    if complete {
        close(model, effects);
    }
    !complete
}

fn accept(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(list) = model.completion.take() else { return };
    let Some(row) = list.chosen() else { return };
    model.composer.replace_before(list.word.chars().count(), &row.insert);
    model.forget(list.ticket, effects);
    refresh(model, effects);
}

fn close(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(list) = model.completion.take() {
        model.forget(list.ticket, effects);
    }
}

/// Opens, refills or closes the list after the text has changed.
pub(super) fn refresh(model: &mut Model, effects: &mut Vec<Effect>) {
    let first = model.composer.cursor().0 == 0;
    match completion::wanted(model.composer.before_cursor(), first) {
        Wanted::Nothing => close(model, effects),
        Wanted::Command(word) => {
            let same =
                model.completion.as_ref().is_some_and(|list| list.word.get(1..) == Some(word.as_str()));
            if !same {
                close(model, effects);
                model.completion = Completion::commands(&model.commands, &word);
            }
        }
        Wanted::File(query) => {
            let word = format!("@{query}");
            if model.completion.as_ref().is_none_or(|list| list.word != word) {
                ask(model, CompletionKind::File, &word, ShellRequest::Files { query }, effects);
            }
        }
    }
}

/// Tab: opens a chip before the cursor, else completes the word as a path.
pub(super) fn tab(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.composer.expand_chip() {
        return;
    }
    let word = completion::last_word(model.composer.before_cursor()).to_owned();
    if !word.is_empty() {
        let prefix = word.clone();
        ask(model, CompletionKind::Path, &word, ShellRequest::Paths { prefix }, effects);
    }
}

fn ask(
    model: &mut Model,
    kind: CompletionKind,
    word: &str,
    request: ShellRequest,
    effects: &mut Vec<Effect>,
) {
    let before = model.completion.take();
    model.forget(before.as_ref().and_then(|list| list.ticket), effects);
    let ticket = model.ask(request, effects);
    model.completion = Some(Completion::paths(kind, word, ticket, before));
}

/// Takes the paths that were found. A single way to complete a path is taken at once.
pub(super) fn fill(model: &mut Model, paths: &[String], effects: &mut Vec<Effect>) {
    let Some(list) = model.completion.as_mut() else { return };
    list.fill(paths);
    let (kind, count) = (list.kind, list.rows.len());
    match (kind, count) {
        (_, 0) => model.completion = None,
        (CompletionKind::Path, 1) => {
            accept(model, effects);
            model.completion = None;
        }
        _ => {}
    }
}
