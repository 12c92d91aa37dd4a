//! The list of settings: opening it, and changing a setting.

use super::trust;
use crate::effect::Effect;
use crate::model::Model;
use crate::overlays::list::List;
use crate::overlays::overlay::Overlay;
use crate::overlays::settings_list::{SettingChoice, SettingsView};
use crate::printable::Printable;
use crate::request::{HiddenText, ScreenRequest, SettingList, SettingsUpdate, Ticket};
use tau_protocol::event::NoticeLevel;
use tau_protocol::screen_settings::EditingMode;
use tau_tools::user_error::UserError;

/// Opens the list.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    let list = List::waiting(model.ask(ScreenRequest::Settings {}, effects));
    model.overlays.push(Overlay::Settings(Box::new(SettingsView { list, editing: None })));
}

/// Turns vim's keys on or off, and stores that.
pub(super) fn switch_vim(model: &mut Model, effects: &mut Vec<Effect>) {
    let mode = if model.composer.vim_mode().is_some() { EditingMode::Emacs } else { EditingMode::Vim };
    let mode: &str = mode.into();
    let (key, value) = ("editing_mode".to_owned(), Some(HiddenText(mode.to_owned())));
    model.ask(ScreenRequest::SetSetting { key, value }, effects);
}

/// Changes a setting; the list stays open.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: Box<SettingsView>,
    choice: SettingChoice,
    effects: &mut Vec<Effect>,
) {
    let SettingChoice { key, value } = choice;
    let request = ScreenRequest::SetSetting { key, value: value.map(HiddenText) };
    view.list.ticket = Some(model.ask(request, effects));
    model.overlays.push(Overlay::Settings(view));
}

/// Fills in the current settings.
pub(super) fn on_settings(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<SettingList, UserError>,
    effects: &mut Vec<Effect>,
) {
    let view = model.awaiting::<SettingsView>(ticket);
    let SettingList { rows, applied } = match answer {
        Ok(list) => list,
        Err(error) => {
            return match view {
                Some(view) => view.list.fail(&error),
                None => model.transcript.notice(NoticeLevel::Warning, &error, None),
            };
        }
    };
    match view {
        Some(view) => {
            view.editing = None;
            view.list.fill(rows);
            view.list.said = (!applied.text.is_empty()).then(|| Ok(Printable::line(&applied.text)));
        }
        None => model.remark(&applied.text),
    }
    model.models.clear();
    // Its text is in the list.
    trust::apply_settings(model, SettingsUpdate { text: String::new(), ..applied }, effects);
}
