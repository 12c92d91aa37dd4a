//! Models: the picker, switching by name or step by step, model servers on this machine.

use std::sync::Arc;

use super::pickers;
use crate::agent::AgentCommand;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::model::Model as AiModel;
use crate::app::action::Action;
use crate::app::effect::{Effect, SavedSetting};
use crate::app::fuzzy;
use crate::app::model::Model;
use crate::app::picker::{Picker, PickerKind, PickerRow};
use crate::app::printable::Printable;
use crate::app::request::{LocalModelServer, ModelsFor, ShellRequest, Ticket};

/// Opens the model picker.
pub(super) fn open(model: &mut Model, query: &str, effects: &mut Vec<Effect>) {
    let empty = "no models; add a provider API key with /login";
    let picker = Picker::new(PickerKind::Models, "Models", empty).with_query(query);
    let ticket = model.ask(ShellRequest::Models { purpose: ModelsFor::Picker }, effects);
    pickers::open_loading(model, picker, ticket);
}

/// Switches to the model of that name; opens the picker when it fits several models or none.
pub(super) fn choose(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if model.models.is_empty() {
        model.ask(ShellRequest::Models { purpose: ModelsFor::Named(name.to_owned()) }, effects);
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

/// Switches to the next model in this direction.
pub(super) fn step(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    if model.models.is_empty() {
        model.ask(ShellRequest::Models { purpose: ModelsFor::Step(by) }, effects);
        return;
    }
    step_known(model, by, effects);
}

fn step_known(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    let current = model.status.model.as_ref().map(|ai| ai.reference());
    let count = model.models.len() as isize;
    if count < 2 {
        return model.remark("only one model is available; /login adds more");
    }
    let place = model.models.iter().position(|ai| Some(ai.reference()) == current);
    let next = place.map_or(0, |at| (at as isize + by).rem_euclid(count) as usize);
    if let Some(ai) = model.models.get(next).cloned() {
        set(model, ai, effects);
    }
}

/// Switches to the model that was picked.
pub(super) fn picked(model: &mut Model, reference: &str, effects: &mut Vec<Effect>) {
    if let Some(ai) = model.models.iter().find(|ai| ai.reference() == reference).cloned() {
        set(model, ai, effects);
    }
}

/// Switches the model and stores the choice.
fn set(model: &mut Model, ai: Arc<AiModel>, effects: &mut Vec<Effect>) {
    model.remark(&format!("model: {}", ai.reference()));
    effects.push(Effect::Save(SavedSetting::Model(ai.reference())));
    effects.push(Effect::Agent(AgentCommand::SetModel { model: ai }));
}

/// Takes the models that can be used.
pub(super) fn listed(
    model: &mut Model,
    ticket: Ticket,
    purpose: ModelsFor,
    models: Result<Vec<Arc<AiModel>>, String>,
    effects: &mut Vec<Effect>,
) {
    let models = match models {
        Ok(models) => models,
        Err(error) if purpose == ModelsFor::Picker => return pickers::fill(model, ticket, Err(error)),
        Err(error) => return model.transcript.notice(NoticeLevel::Warning, &error, None),
    };
    model.models = models;
    match purpose {
        ModelsFor::Picker => {
            let current = model.status.model.as_ref().map(|ai| ai.reference());
            let rows = model.models.iter().map(|ai| model_row(ai, current.as_deref())).collect();
            pickers::fill(model, ticket, Ok(rows));
        }
        ModelsFor::Step(by) => step_known(model, by, effects),
        // Without any model the name would be asked for again and again.
        ModelsFor::Named(name) if model.models.is_empty() => open(model, &name, effects),
        ModelsFor::Named(name) => choose(model, &name, effects),
    }
}

/// Takes the model servers on this machine; the picker lists their models.
pub(super) fn servers(model: &mut Model, servers: &[LocalModelServer]) {
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
