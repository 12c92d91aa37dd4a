//! The thinking level: the next one, one by name, or the list.

use super::pickers;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::picker::{Picker, PickerKind};
use tau_protocol::command::SettingsCommand;
use tau_protocol::event::NoticeLevel;
use tau_protocol::model::ThinkingLevel;

/// Goes to the next level that the model has.
pub(super) fn next(model: &mut Model, effects: &mut Vec<Effect>) {
    let levels = model.status.mirror.model.as_ref().map(|ai| ai.levels()).unwrap_or_default();
    if levels.len() < 2 {
        return model.remark("this model has no thinking levels");
    }
    let place = levels.iter().position(|level| *level == model.status.mirror.thinking);
    let next = place.map_or(0, |at| (at + 1) % levels.len());
    set(model, levels.get(next).copied().unwrap_or_default(), effects);
}

/// Sets the named level; opens the list when there is no name.
pub(super) fn set_by_name(model: &mut Model, word: &str, effects: &mut Vec<Effect>) {
    match ThinkingLevel::from_name(word) {
        Some(level) => set(model, level, effects),
        None if word.is_empty() => open(model),
        None => {
            let text = format!("no thinking level \"{word}\"");
            let hint = "the levels are off, minimal, low, medium, high, xhigh, max";
            model.transcript.notice(NoticeLevel::Warning, &text, Some(hint));
        }
    }
}

/// Sets the picked level.
pub(super) fn on_pick(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    set(model, ThinkingLevel::from_name(name).unwrap_or_default(), effects);
}

/// Opens the list of the model's levels.
fn open(model: &mut Model) {
    let picker = Picker::new(PickerKind::Thinking, "Thinking level", "choose a model first");
    let now = model.status.mirror.thinking;
    let levels = model.status.mirror.model.as_ref().map(|ai| ai.levels()).unwrap_or_default();
    let rows = levels.iter().map(|level| pickers::name_only_row(level.name(), *level == now)).collect();
    pickers::open(model, picker, rows);
}

/// Sets the level, or the nearest one of the model.
fn set(model: &mut Model, level: ThinkingLevel, effects: &mut Vec<Effect>) {
    let wanted = level;
    let level = model.status.mirror.model.as_ref().map_or(level, |ai| ai.nearest(level));
    effects.push(SettingsCommand::SetThinking { level }.into());
    let missing =
        if level == wanted { String::new() } else { format!(" (this model has no {})", wanted.name()) };
    model.remark(&format!("thinking: {}{missing}", level.name()));
}
