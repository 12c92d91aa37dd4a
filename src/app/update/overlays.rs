//! Overlays: opened, filled, given keys, and what a choice in them means.

use std::path::PathBuf;
use std::sync::Arc;

use super::{actions, sessions, slash, submit, tree, trust};
use crate::agent::AgentCommand;
use crate::agent::protocol::command::SessionCommand;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::model::{Model as AiModel, ThinkingLevel};
use crate::agent::session::row::SessionRow;
use crate::app::effect::{Effect, LoginProvider, ShellReply, ShellRequest, Ticket};
use crate::app::fuzzy;
use crate::app::key::Key;
use crate::app::line_edit::LineEdit;
use crate::app::model::{Model, Purpose};
use crate::app::msg::Millis;
use crate::app::overlay::{self, KeyOutcome, Overlay};
use crate::app::picker::{Picker, PickerChoice, PickerKind, PickerRow};
use crate::app::printable::Printable;

/// The overlay on top takes a key.
pub(super) fn key(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let page = usize::from(model.laid.list_page);
    let before = sessions::Before::of(model);
    press(model, key, page, effects);
    sessions::follow(model, &before, effects);
}

fn press(model: &mut Model, key: Key, page: usize, effects: &mut Vec<Effect>) {
    let Some(top) = model.overlays.pop() else { return };
    match top {
        Overlay::Picker { mut picker, ticket } => match picker.key(key, page) {
            KeyOutcome::Done(choice) => chosen(model, picker, ticket, choice, effects),
            KeyOutcome::Closed => model.forget(ticket, effects),
            KeyOutcome::Ignored | KeyOutcome::Handled => {
                model.overlays.push(Overlay::Picker { picker, ticket })
            }
        },
        Overlay::Help { scroll } => match overlay::help_key(scroll, key, page) {
            KeyOutcome::Done(scroll) => model.overlays.push(Overlay::Help { scroll }),
            KeyOutcome::Closed => {}
            KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::Help { scroll }),
        },
        Overlay::Login { vendor, mut line, ticket, failed } => match overlay::login_key(&mut line, key) {
            KeyOutcome::Closed => model.forget(ticket, effects),
            KeyOutcome::Done(secret) => {
                let request = ShellRequest::Login { vendor: vendor.clone(), key: secret };
                let ticket = Some(model.ask(Purpose::Overlay, request, effects));
                model.overlays.push(Overlay::Login { vendor, line, ticket, failed: None });
            }
            KeyOutcome::Ignored | KeyOutcome::Handled => {
                model.overlays.push(Overlay::Login { vendor, line, ticket, failed });
            }
        },
        Overlay::Trust(mut view) => match view.key(key, page) {
            KeyOutcome::Done(answer) => trust::answered(model, view.folder.root, answer, effects),
            KeyOutcome::Closed | KeyOutcome::Ignored | KeyOutcome::Handled => {
                model.overlays.push(Overlay::Trust(view));
            }
        },
        Overlay::Tree(mut view) => match view.key(key, page) {
            KeyOutcome::Done(choice) => tree::chosen(model, view, choice, effects),
            KeyOutcome::Closed => {}
            KeyOutcome::Ignored | KeyOutcome::Handled => model.overlays.push(Overlay::Tree(view)),
        },
        Overlay::Asked { id, question, mut selected } => {
            match overlay::asked_key(&question, &mut selected, key) {
                KeyOutcome::Done(answer) => effects.push(Effect::Agent(AgentCommand::Answer { id, answer })),
                _ => model.overlays.push(Overlay::Asked { id, question, selected }),
            }
        }
    }
}

/// The overlay on top takes a paste.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let before = sessions::Before::of(model);
    match model.overlays.last_mut() {
        Some(Overlay::Tree(view)) => view.paste(text),
        Some(Overlay::Picker { picker, .. }) => picker.paste(text),
        Some(Overlay::Login { line, .. }) => line.paste(text),
        _ => {}
    }
    sessions::follow(model, &before, effects);
}

/// What was chosen in a list.
fn chosen(
    model: &mut Model,
    mut picker: Picker,
    ticket: Option<Ticket>,
    choice: PickerChoice,
    effects: &mut Vec<Effect>,
) {
    match (picker.kind, choice) {
        (PickerKind::Sessions { all }, PickerChoice::Scope) => {
            model.forget(picker.search.take(), effects);
            model.forget(ticket, effects);
            open_sessions(model, !all, effects);
            paste(model, picker.query(), effects);
        }
        (_, PickerChoice::Scope) => model.overlays.push(Overlay::Picker { picker, ticket }),
        (_, PickerChoice::Rename(key, name)) => {
            model.overlays.push(Overlay::Picker { picker, ticket });
            sessions::rename(model, &key, &name, effects);
        }
        (_, PickerChoice::Delete(path)) => {
            model.overlays.push(Overlay::Picker { picker, ticket });
            let request = ShellRequest::DeleteSession { path: PathBuf::from(&path) };
            model.ask(Purpose::Deleted(path), request, effects);
        }
        (kind, PickerChoice::Pick(key)) => {
            model.forget(picker.search.take(), effects);
            model.forget(ticket, effects);
            picked(model, kind, &key, effects);
        }
    }
}

fn picked(model: &mut Model, kind: PickerKind, key: &str, effects: &mut Vec<Effect>) {
    match kind {
        PickerKind::Sessions { .. } => {
            let path = PathBuf::from(key);
            effects.push(Effect::Agent(AgentCommand::Session(SessionCommand::Offer { path })));
        }
        PickerKind::Forks => {
            let entry_id = key.to_owned();
            effects.push(Effect::Agent(AgentCommand::Session(SessionCommand::Fork { entry_id })));
        }
        PickerKind::Models => {
            if let Some(ai) = model.models.iter().find(|ai| ai.reference() == key).cloned() {
                submit::set_model(model, ai, effects);
            }
        }
        PickerKind::Thinking => {
            actions::set_thinking(model, ThinkingLevel::named(key).unwrap_or_default(), effects);
        }
        PickerKind::Themes => slash::set_theme(model, key, effects),
        PickerKind::Vendors => push_login(model, key),
        PickerKind::Prompts => model.composer.set_text(key),
    }
}

/// Rows for the overlay that holds the ticket.
pub(super) fn fill(model: &mut Model, ticket: Ticket, reply: ShellReply, effects: &mut Vec<Effect>) {
    if let ShellReply::Models(models) = &reply {
        model.models.clone_from(models);
    }
    let holds = |overlay: &Overlay| match overlay {
        Overlay::Picker { ticket: held, .. } | Overlay::Login { ticket: held, .. } => *held == Some(ticket),
        _ => false,
    };
    let Some(place) = model.overlays.iter().position(holds) else { return };
    let now = model.now;
    let before = sessions::Before::of(model);
    let current = model.status.model.as_ref().map(|ai| ai.reference());
    match (model.overlays.get_mut(place), reply) {
        (Some(Overlay::Picker { picker, .. }), ShellReply::Sessions { rows, done }) => {
            let all = matches!(picker.kind, PickerKind::Sessions { all: true });
            picker.loading = !done;
            picker.add(rows.iter().map(|row| session_row(row, all, now)).collect());
            sessions::follow(model, &before, effects);
        }
        (Some(Overlay::Picker { picker, .. }), ShellReply::Models(models)) => {
            picker.loading = false;
            picker.add(models.iter().map(|ai| model_row(ai, current.as_deref())).collect());
        }
        (Some(Overlay::Picker { picker, .. }), ShellReply::Vendors(vendors)) => {
            picker.loading = false;
            picker.add(vendors.iter().map(vendor_row).collect());
        }
        (Some(Overlay::Login { .. }), ShellReply::Done(text)) => {
            model.overlays.remove(place);
            model.models.clear();
            let hint = "press ctrl+l to choose one of its models";
            model.transcript.notice(NoticeLevel::Info, &text, Some(hint));
        }
        (Some(Overlay::Login { failed, ticket, .. }), ShellReply::Failed(text)) => {
            *ticket = None;
            *failed = Some(Printable::new(&text));
        }
        (Some(Overlay::Picker { ticket, .. }), ShellReply::Failed(text)) => {
            let ticket = *ticket;
            model.overlays.remove(place);
            model.forget(ticket, effects);
            model.transcript.notice(NoticeLevel::Warning, &text, None);
        }
        _ => {}
    }
}

/// Opens the session picker.
pub(crate) fn open_sessions(model: &mut Model, all: bool, effects: &mut Vec<Effect>) {
    let title = if all { "Sessions of all directories" } else { "Sessions of this directory" };
    let empty = if all { "no sessions yet" } else { "no sessions here yet; tab shows all directories" };
    let picker = Picker::new(PickerKind::Sessions { all }, title, empty);
    let ticket = model.ask(Purpose::Overlay, ShellRequest::Sessions { all }, effects);
    model.overlays.push(Overlay::Picker { picker, ticket: Some(ticket) });
}

/// Opens the model picker.
pub(super) fn open_models(model: &mut Model, query: &str, effects: &mut Vec<Effect>) {
    let picker =
        Picker::new(PickerKind::Models, "Models", "no models; /login stores a key").with_query(query);
    let ticket = model.ask(Purpose::Overlay, ShellRequest::Models, effects);
    model.overlays.push(Overlay::Picker { picker, ticket: Some(ticket) });
}

/// Switches to the model named; opens the picker when the name fits several or none.
pub(super) fn choose_model(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if model.models.is_empty() {
        model.ask(Purpose::Choose(name.to_owned()), ShellRequest::Models, effects);
        return;
    }
    let names: Vec<String> = model.models.iter().map(|ai| ai.reference()).collect();
    let exact = model.models.iter().find(|ai| ai.reference() == name || ai.id == name).cloned();
    let only = match fuzzy::rank(name, &names).as_slice() {
        [only] => model.models.get(only.index).cloned(),
        _ => None,
    };
    match exact.or(only) {
        Some(ai) => submit::set_model(model, ai, effects),
        None => open_models(model, name, effects),
    }
}

/// Opens the list of levels the model has.
pub(super) fn open_thinking(model: &mut Model) {
    let mut picker = Picker::new(PickerKind::Thinking, "Thinking level", "choose a model first");
    picker.loading = false;
    let now = model.status.thinking;
    let levels = model.status.model.as_ref().map(|ai| ai.levels()).unwrap_or_default();
    picker.add(levels.iter().map(|level| named_row(level.name(), *level == now)).collect());
    model.overlays.push(Overlay::Picker { picker, ticket: None });
}

/// Opens the list of themes.
pub(super) fn open_themes(model: &mut Model) {
    let mut picker = Picker::new(PickerKind::Themes, "Themes", "no themes");
    picker.loading = false;
    picker.add(model.boot.themes.iter().map(|name| named_row(name, *name == model.theme)).collect());
    model.overlays.push(Overlay::Picker { picker, ticket: None });
}

/// Opens the list of earlier prompts.
pub(super) fn open_prompts(model: &mut Model) {
    let mut picker = Picker::new(PickerKind::Prompts, "Earlier prompts", "no earlier prompts");
    picker.loading = false;
    picker.add(model.composer.history().iter().map(|text| named_row(text, false)).collect());
    model.overlays.push(Overlay::Picker { picker, ticket: None });
}

/// Opens the list of vendors, or asks for the key of the one named.
pub(super) fn open_login(model: &mut Model, vendor: &str, effects: &mut Vec<Effect>) {
    if !vendor.is_empty() {
        return push_login(model, vendor);
    }
    let picker = Picker::new(PickerKind::Vendors, "Store a key for", "no vendors");
    let ticket = model.ask(Purpose::Overlay, ShellRequest::Vendors, effects);
    model.overlays.push(Overlay::Picker { picker, ticket: Some(ticket) });
}

fn push_login(model: &mut Model, vendor: &str) {
    let (vendor, line) = (vendor.to_owned(), LineEdit::default());
    model.overlays.push(Overlay::Login { vendor, line, ticket: None, failed: None });
}

fn named_row(name: &str, current: bool) -> PickerRow {
    PickerRow { key: name.to_owned(), title: Printable::line(name), current, ..PickerRow::default() }
}

fn session_row(row: &SessionRow, all: bool, now: Millis) -> PickerRow {
    let title = row.name.as_deref().unwrap_or(&row.first_prompt);
    let title = if title.is_empty() { "(no words yet)" } else { title };
    let mut note = format!("{} · {} · {}", age(now - row.modified), counted(row.messages), size(row.size));
    if all {
        note = format!("{} · {note}", row.cwd.display());
    }
    let key = row.path.display().to_string();
    PickerRow { key, title: Printable::line(title), note: Printable::line(&note), current: false }
}

fn counted(messages: u64) -> String {
    if messages == 1 { "1 message".to_owned() } else { format!("{messages} messages") }
}

/// A time span in one unit.
pub(crate) fn age(span: Millis) -> String {
    let minutes = span.max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1_440 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1_440),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

fn model_row(ai: &Arc<AiModel>, current: Option<&str>) -> PickerRow {
    let window =
        if ai.context_window > 0 { format!("{}k", ai.context_window / 1_000) } else { "window ?".to_owned() };
    let price = match &ai.cost {
        Some(price) if price.input + price.output > 0.0 => {
            format!("${}/${} per M", price.input, price.output)
        }
        Some(_) => "free".to_owned(),
        None => "price ?".to_owned(),
    };
    let key = ai.reference();
    let current = current == Some(key.as_str());
    PickerRow {
        title: Printable::line(&key),
        note: Printable::line(&format!("{window} · {price}")),
        key,
        current,
    }
}

fn vendor_row(vendor: &LoginProvider) -> PickerRow {
    let state = if vendor.has_key { "has a key".to_owned() } else { vendor.env.clone() };
    PickerRow {
        key: vendor.id.clone(),
        title: Printable::line(&format!("{} ({})", vendor.name, vendor.id)),
        note: Printable::line(&state),
        current: vendor.has_key,
    }
}
