//! Models: the picker, switching by name or step by step, model servers on this machine.

use std::sync::Arc;

use super::{completion, pickers};
use crate::action::Action;
use crate::effect::{Effect, SavedSetting};
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::printable::Printable;
use crate::request::{KeylessModel, LocalModelServer, ModelList, ModelsFor, ScreenRequest, Ticket};
use crate::token_count::tokens;
use crate::{fuzzy, model_order};
use tau_protocol::command::SettingsCommand;
use tau_protocol::event::NoticeLevel;
use tau_protocol::model::{Api, Model as AiModel};
use tau_tools::user_error::UserError;

/// Opens the model picker.
pub(super) fn open(model: &mut Model, query: &str, effects: &mut Vec<Effect>) {
    let empty = "no models; add a provider API key with /login";
    let picker = Picker::new(PickerKind::Models, "Models", empty).with_query(query);
    let ticket = model.ask(ScreenRequest::Models { purpose: ModelsFor::Picker }, effects);
    pickers::open_loading(model, picker, ticket);
}

/// Switches to the model of that name; opens the picker when it fits several models or none.
pub(super) fn choose(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if model.models.is_empty() {
        model.ask(ScreenRequest::Models { purpose: ModelsFor::Named(name.to_owned()) }, effects);
        return;
    }
    let names: Vec<String> = model.models.iter().map(|ai| ai.reference()).collect();
    let exact = model.models.iter().find(|ai| ai.reference() == name || ai.id == name).cloned();
    let only = match fuzzy::rank(name, &names).as_slice() {
        [only] => model.models.get(only.index).cloned(),
        _ => None,
    };
    match exact.or(only) {
        Some(ai) => set(model, ai, effects),
        None => open(model, name, effects),
    }
}

/// The request for the model of a name, while its answer may open the picker.
pub(super) fn pending_name_request(model: &Model) -> Option<Ticket> {
    let is_it =
        |request: &ScreenRequest| matches!(request, ScreenRequest::Models { purpose: ModelsFor::Named(_) });
    model.requests.iter().find(|(_, request)| is_it(request)).map(|(ticket, _)| *ticket)
}

/// Switches to the next model in this direction.
pub(super) fn step(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    if model.models.is_empty() {
        model.ask(ScreenRequest::Models { purpose: ModelsFor::Step(by) }, effects);
        return;
    }
    switch_by(model, by, effects);
}

/// Keeps the current model as one of the recent ones after another is chosen, unless it is the demo.
fn keep_current(model: &mut Model) {
    let Some(current) = model.status.mirror.model.as_ref().filter(|ai| !is_demo(ai)) else { return };
    let current = current.reference();
    if !model.chosen_models.contains(&current) {
        model.chosen_models.recent.push(current);
    }
}

/// Switches to the chosen model `by` places further. Skips the demo, which is useless once there is a real model, unless
/// it is marked.
fn switch_by(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    keep_current(model);
    let current = model.status.mirror.model.as_ref().map(|ai| ai.reference());
    let real = || model.models.iter().filter(|ai| !is_demo(ai));
    let is_wanted = |ai: &&Arc<AiModel>| !is_demo(ai) || model.chosen_models.is_favourite(&ai.reference());
    let named = |name: &String| model.models.iter().filter(is_wanted).find(|ai| ai.reference() == *name);
    let chosen: Vec<&Arc<AiModel>> = model.chosen_models.all().filter_map(named).collect();
    let place = chosen.iter().position(|ai| Some(ai.reference()) == current);
    let count = chosen.len() as isize;
    let next = match place {
        Some(_) if count < 2 => None,
        Some(at) => chosen.get((at as isize + by).rem_euclid(count) as usize).copied(),
        None => chosen.first().copied().or_else(|| real().next()),
    };
    match next.cloned() {
        Some(ai) => {
            model.remark(&format!("model: {}, in this session", display_name(&ai)));
            effects.push(SettingsCommand::SetModel { model: ai }.into());
        }
        None if real().nth(1).is_none() => model.remark("only one model is available; /login adds more"),
        None => {
            let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
            model.remark(&format!("no other favourite or recent model; {key} lists all, space marks one"));
        }
    }
}

/// Marks a model as a favourite, or unmarks it.
pub(super) fn mark(model: &mut Model, reference: &str, effects: &mut Vec<Effect>) {
    if !model.models.iter().any(|ai| ai.reference() == reference) {
        return model.remark("it needs a key first; enter asks for it");
    }
    let favourite = !model.chosen_models.is_favourite(reference);
    model.chosen_models.mark(reference, favourite);
    effects.push(Effect::Save(SavedSetting::Favourite(reference.to_owned(), favourite)));
    if let Some(Overlay::Picker { picker, .. }) = model.overlays.last_mut() {
        picker.mark(reference, favourite);
    }
}

fn is_demo(ai: &AiModel) -> bool {
    ai.api == Api::Scripted
}

/// Switches the model and stores the choice.
pub(super) fn set(model: &mut Model, ai: Arc<AiModel>, effects: &mut Vec<Effect>) {
    model.remark(&format!("model: {}", display_name(&ai)));
    keep_current(model);
    model.chosen_models.choose(&ai.reference());
    effects.push(Effect::Save(SavedSetting::Model(ai.reference())));
    effects.push(SettingsCommand::SetModel { model: ai }.into());
}

/// Switches from the demo, or from no model, to a working one; returns whether it did.
pub(super) fn leave_demo(model: &mut Model, ai: Arc<AiModel>, effects: &mut Vec<Effect>) -> bool {
    let leaves = model.status.mirror.model.as_deref().is_none_or(is_demo);
    if leaves {
        set(model, ai, effects);
    }
    leaves
}

/// Handles the list of available models.
pub(super) fn on_models(
    model: &mut Model,
    ticket: Ticket,
    purpose: ModelsFor,
    models: Result<ModelList, UserError>,
    effects: &mut Vec<Effect>,
) {
    let models = match models {
        Ok(models) => models,
        Err(error) if purpose == ModelsFor::Picker => return pickers::fill(model, ticket, Err(error)),
        Err(error) => return model.transcript.notice(NoticeLevel::Warning, &error, None),
    };
    let ModelList { usable, keyless, chosen } = models;
    let before = std::mem::replace(&mut model.chosen_models, chosen);
    let of_this_run = before.recent.into_iter().filter(|known| !model.chosen_models.contains(known));
    let of_this_run: Vec<String> = of_this_run.collect();
    model.chosen_models.recent.extend(of_this_run);
    model.models = usable;
    match purpose {
        ModelsFor::Picker => fill(model, ticket, &keyless),
        ModelsFor::Step(by) => switch_by(model, by, effects),
        // Without any model the name would be requested again and again.
        ModelsFor::Named(name) if model.models.is_empty() => open(model, &name, effects),
        ModelsFor::Named(name) => choose(model, &name, effects),
        ModelsFor::Completion => {
            let names: Vec<String> = model.models.iter().map(|ai| ai.reference()).collect();
            completion::fill_requested_values(model, ticket, &names, effects);
        }
    }
}

/// Fills the picker. With only the demo in use, selects the first real model: one of a server on this
/// machine.
fn fill(model: &mut Model, ticket: Ticket, keyless: &[KeylessModel]) {
    let current = model.status.mirror.model.as_ref().map(|ai| ai.reference());
    let first_real = model.models.iter().find(|ai| !is_demo(ai)).map(|ai| ai.reference());
    let uses_demo = model.status.mirror.model.as_deref().is_some_and(is_demo);
    let row = |ai: &Arc<AiModel>| PickerRow {
        marked: model.chosen_models.is_favourite(&ai.reference()),
        ..model_row(ai, current.as_deref())
    };
    let rows = model.models.iter().map(row);
    let mut rows: Vec<PickerRow> = rows.chain(keyless.iter().map(keyless_row)).collect();
    model_order::newest_first(&mut rows, |row| &row.key);
    rows.sort_by_key(|row| !row.marked);
    let Some(picker) = pickers::waiting(model, ticket) else { return };
    if !keyless.is_empty() {
        let (count, verb) = (keyless.len(), if keyless.len() == 1 { "needs" } else { "need" });
        picker.title = format!("Models · {count} more {verb} a key").into();
    }
    pickers::fill(model, ticket, Ok(rows));
    let to_select = first_real.filter(|_| uses_demo).zip(pickers::waiting(model, ticket));
    if let Some((reference, picker)) = to_select.filter(|(_, picker)| picker.query().is_empty()) {
        picker.select(&reference);
    }
}

/// Handles the list of model servers on this machine; the picker lists their models.
pub(super) fn servers(model: &mut Model, servers: Vec<LocalModelServer>) {
    let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
    for server in servers {
        let (count, them) = match server.models.len() {
            1 => ("1 model".to_owned(), "it"),
            count => (format!("{count} models"), "one of them"),
        };
        let text = format!("found {} at {} ({count})", server.name, server.base_url);
        let hint = format!("press {key} to use {them}");
        model.transcript.notice(NoticeLevel::Info, &text, Some(&hint));
    }
}

fn keyless_row(keyless: &KeylessModel) -> PickerRow {
    let needs = keyless.needs.as_deref().map_or("needs a key".to_owned(), |name| format!("needs {name}"));
    PickerRow {
        title: Printable::line(&keyless.reference),
        note: Printable::line(&needs),
        key: keyless.reference.clone(),
        dimmed: true,
        ..PickerRow::default()
    }
}

/// Provider and id. Servers of files have paths as ids; their names are more familiar.
fn display_name(ai: &AiModel) -> String {
    if ai.id.starts_with('/') { format!("{}/{}", ai.provider, ai.name) } else { ai.reference() }
}

fn model_row(ai: &Arc<AiModel>, current: Option<&str>) -> PickerRow {
    let window = match ai.context_window {
        0 => "window ?".to_owned(),
        size => tokens(size),
    };
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
        title: Printable::line(&display_name(ai)),
        note: Printable::line(&format!("{window} · {price}")),
        key,
        current,
        ..PickerRow::default()
    }
}
