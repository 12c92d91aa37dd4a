//! Themes: switching by name, and the list.

use std::sync::Arc;

use super::pickers;
use crate::effect::{Effect, SavedSetting};
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::request::ScreenRequest;
use tau_protocol::event::NoticeLevel;

/// Switches to the named theme, or to a file of one; opens the list when there is no name.
pub(super) fn set_by_name(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if name.is_empty() {
        return open(model);
    }
    let is_known = model.boot.themes.iter().any(|known| known == name);
    if !is_known && name.ends_with(".toml") {
        model.ask(ScreenRequest::ThemeFile { path: name.to_owned() }, effects);
        return;
    }
    if !is_known {
        let text = format!("no theme \"{name}\"");
        let hint = format!("the themes are {}", model.boot.themes.join(", "));
        return model.transcript.notice(NoticeLevel::Warning, &text, Some(&hint));
    }
    set(model, name, effects);
}

/// Switches the theme and stores the choice.
pub(super) fn set(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    model.theme = name.to_owned();
    effects.push(Effect::Save(SavedSetting::Theme(name.to_owned())));
}

/// Stores the names of the available themes; the one in use stays. An open list gets those that are new.
pub(super) fn on_themes(model: &mut Model, mut names: Vec<String>) {
    if !names.contains(&model.theme) {
        names.push(model.theme.clone());
    }
    let is_new = |name: &&String| !model.boot.themes.contains(name);
    let new: Vec<PickerRow> =
        names.iter().filter(is_new).map(|name| pickers::name_only_row(name, false)).collect();
    for overlay in model.overlays.iter_mut() {
        if let Overlay::Picker { picker, .. } = overlay
            && picker.kind == PickerKind::Themes
        {
            picker.add(new.clone());
        }
    }
    Arc::make_mut(&mut model.boot).themes = names;
}

fn open(model: &mut Model) {
    let picker = Picker::new(PickerKind::Themes, "Themes", "no themes");
    let rows =
        model.boot.themes.iter().map(|name| pickers::name_only_row(name, *name == model.theme)).collect();
    pickers::open(model, picker, rows);
}
