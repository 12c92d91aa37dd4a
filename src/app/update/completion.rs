//! The completion list: its opening and its keys.

use crate::action::Action;
use crate::completion::{self, Completion, CompletionKind, CompletionTarget, PathWord};
use crate::effect::Effect;
use crate::key::{Key, KeyCode};
use crate::model::Model;
use crate::request::{FileMatches, ModelsFor, ScreenRequest, Ticket};
use crate::slash::Slash;
use tau_protocol::approval::PermissionMode;
use tau_protocol::extension::ArgumentValues;
use tau_protocol::model::ThinkingLevel;
use tau_protocol::query::Query;

/// Handles a key while the list is open; false when the key is not for it.
pub(super) fn key(model: &mut Model, key: Key, action: Option<Action>, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = model.completion.as_mut().filter(|list| !list.rows.is_empty()) else { return false };
    match (action, key.code) {
        (Some(Action::Cancel), _) => close(model, effects),
        (Some(Action::HistoryPrevious), _) => list.step(-1),
        (Some(Action::HistoryNext), _) => list.step(1),
        (Some(Action::Complete), _) => complete(model, effects),
        (Some(Action::Send), KeyCode::Enter) => return enter(model, effects),
        _ => return false,
    }
    true
}

/// Accepts the row on Enter. What is typed in full, or a command without arguments, is sent at once.
fn enter(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = &model.completion else { return false };
    if list.is_guess() {
        close(model, effects);
        return false;
    }
    let chosen = list.selected_row().map_or("", |row| row.insert.trim_end());
    let is_typed = chosen == list.word;
    // An argument that is empty stays so, unless a value was chosen.
    let is_left_empty = list.kind == CompletionKind::Argument && list.word.is_empty() && list.selected == 0;
    let is_whole_command = list.kind == CompletionKind::Command
        && matches!(model.commands.parse(chosen), Some(Ok((row, _))) if row.arguments.is_empty());
    if !is_typed && !is_left_empty {
        accept(model, effects);
    }
    let sends = is_typed || is_left_empty || is_whole_command;
    if sends {
        close(model, effects);
    }
    !sends
}

/// Accepts the row on Tab. Behind a folder that is typed already, the first row in it is selected.
fn complete(model: &mut Model, effects: &mut Vec<Effect>) {
    let is_typed = |list: &Completion| list.selected_row().is_some_and(|row| row.insert == list.word);
    match model.completion.as_mut().filter(|list| is_typed(list)) {
        Some(list) => list.step(1),
        None => accept(model, effects),
    }
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
    let stays = |list: &Completion| list.kind.is_path() || list.kind == CompletionKind::Argument;
    if model.completion.as_ref().is_some_and(|list| stays(list) && list.word == word) {
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

/// Handles Tab in a text: opens a chip before the cursor, else completes the word as a value of tau's command or as a
/// path. In a shell command an empty word is completed too.
pub(super) fn tab(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.composer.expand_chip() {
        return;
    }
    let PathWord { word, path, kind } = path_before_cursor(model);
    match values_of_command(model).filter(|_| !word.is_empty()) {
        Some(Err(request)) => return ask(model, CompletionKind::Argument, &word, request, effects),
        Some(Ok(values)) => {
            close(model, effects);
            model.completion = Some(Completion::values(&word));
            return offer_values(model, &values, effects);
        }
        None => {}
    }
    if !word.is_empty() || matches!(kind, CompletionKind::ShellPath(_)) {
        ask(model, kind, &word, ScreenRequest::Paths { prefix: path }, effects);
    }
}

/// The values that the command before the cursor takes, or the request that brings them.
fn values_of_command(model: &Model) -> Option<Result<Vec<String>, ScreenRequest>> {
    let before = Some(model.composer.before_cursor()).filter(|_| model.composer.cursor().0 == 0)?;
    before.contains(char::is_whitespace).then_some(())?;
    let (row, _) = model.commands.parse(before)?.ok()?;
    let values = [
        (Slash::Thinking, Ok(ThinkingLevel::ALL.map(|level| level.name().to_owned()).to_vec())),
        (Slash::Mode, Ok(PermissionMode::ALL.map(|mode| mode.name().to_owned()).to_vec())),
        (Slash::Theme, Ok(model.boot.themes.clone())),
        (Slash::Model, Err(ScreenRequest::Models { purpose: ModelsFor::Completion })),
        (Slash::Login, Err(ScreenRequest::Providers {})),
        (Slash::Logout, Err(ScreenRequest::StoredKeys {})),
    ];
    values.into_iter().find(|(slash, _)| *slash == row.slash).map(|(_, values)| values)
}

/// Offers those of the requested values that begin with the word, if this is the list that waits for them.
pub(super) fn fill_requested_values(
    model: &mut Model,
    ticket: Ticket,
    values: &[String],
    effects: &mut Vec<Effect>,
) -> bool {
    let waits = model.completion.as_ref().is_some_and(|list| list.ticket == Some(ticket));
    if waits {
        offer_values(model, values, effects);
    }
    waits
}

/// Inserts the only value that begins with the word, or offers those that do.
fn offer_values(model: &mut Model, values: &[String], effects: &mut Vec<Effect>) {
    let Some(list) = &mut model.completion else { return };
    let word = list.word.to_lowercase();
    // The id of a model is known without its provider, too.
    let begins = |value: &&String| {
        let value = value.to_lowercase();
        value.starts_with(&word) || value.split_once('/').is_some_and(|(_, id)| id.starts_with(&word))
    };
    let found: Vec<String> = values.iter().filter(begins).cloned().collect();
    list.fill_values("", &found);
    match found.len() {
        0 => {
            let text = format!("nothing to choose here starts with {}", list.word);
            model.completion = None;
            model.remark(&text);
        }
        1 => {
            accept(model, effects);
            model.completion = None;
        }
        _ => {}
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
