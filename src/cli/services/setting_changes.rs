//! Settings changed on the screen: saved, and applied at once.

use std::ffi::OsStr;

use super::Services;
use crate::compose::{Setup, reload, setting_list};
use tau_agent::settings::{chosen_mode, chosen_models, paths, table, write};
use tau_app::effect::SavedSetting;
use tau_app::request::{KeyChanges, SettingList, SettingsUpdate};
use tau_protocol::chosen::{ChosenMode, ChosenModels};
use tau_tools::user_error::UserError;

impl Services {
    /// Stores a choice made on the screen. The model of an attached screen belongs to the server, and is no
    /// setting here.
    pub(crate) fn save(&self, setting: &SavedSetting, attached: bool) -> Result<(), UserError> {
        let set = |key, value| write::save(&self.config_file, key, value).map_err(UserError::of);
        let change = |apply: &dyn Fn(&mut ChosenModels)| {
            let paths = self.setup.lock().paths.clone();
            chosen_models::change(&paths, apply)
        };
        match setting {
            SavedSetting::Theme(name) => set("theme", name),
            SavedSetting::Model(reference) => {
                change(&|chosen| chosen.choose(reference))?;
                if attached { Ok(()) } else { set("model", reference) }
            }
            SavedSetting::Favourite(reference, favourite) => {
                change(&|chosen| chosen.mark(reference, *favourite))
            }
        }
    }

    /// Saves a setting of the user and applies the consequences.
    pub(super) fn change_setting(&self, key: &str, value: Option<&str>) -> Result<SettingList, UserError> {
        let mut setup = self.setup.lock();
        setting_list::change(&setup, key, value)?;
        let mut applied = self.apply_saved_settings(&mut setup)?;
        let saved = if value.is_some() { "saved" } else { "reset" };
        let fixed = setting_list::one(&setup, key).and_then(|row| row.fixed_by);
        applied.text = match fixed {
            Some(place) => format!("{saved} in config.toml, but {place} sets {key}"),
            None => format!("{saved}; {}", applied.text),
        };
        Ok(SettingList { rows: setting_list::rows(&setup), applied })
    }

    /// Stores the mode chosen on the screen and applies the consequences.
    pub(super) fn keep_mode(&self, chosen: ChosenMode) -> Result<SettingsUpdate, UserError> {
        let mut setup = self.setup.lock();
        chosen_mode::save(chosen, &setup.paths)?;
        let applied = self.apply_saved_settings(&mut setup)?;
        Ok(SettingsUpdate { text: String::new(), ..applied })
    }

    /// Sets settings, in the user's file or for this session only, and applies the consequences.
    pub(super) fn decide_settings(
        &self,
        settings: &[(String, String)],
        kept: bool,
    ) -> Result<SettingsUpdate, UserError> {
        let mut setup = self.setup.lock();
        for (key, value) in settings {
            if kept {
                setting_list::change(&setup, key, Some(value))?;
            } else {
                let row = table::row(key).ok_or_else(|| format!("no setting \"{key}\""))?;
                row.set(&mut setup.args.settings.0, OsStr::new(value))
                    .map_err(|error| format!("{key}: {error}"))?;
            }
        }
        let applied = self.apply_saved_settings(&mut setup)?;
        let place = match kept {
            true => format!("saved in {}", paths::in_short(&setup.paths.config_file())),
            false => "for this session".to_owned(),
        };
        let set: Vec<String> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        Ok(SettingsUpdate { text: format!("{}: {place}", set.join(", ")), ..applied })
    }

    /// Saves keys of the user and applies the consequences.
    pub(super) fn change_keys(&self, keys: &KeyChanges) -> Result<SettingsUpdate, UserError> {
        let mut setup = self.setup.lock();
        write::set_keys(&setup.paths.shared_file(setup.paths.config_file()), keys).map_err(UserError::of)?;
        self.apply_saved_settings(&mut setup)
    }

    /// Turns an extension on or off.
    pub(super) fn switch_extension(&self, id: &str, on: bool) -> Result<SettingsUpdate, UserError> {
        let mut setup = self.setup.lock();
        let mut off = setup.settings.extensions_off.clone().unwrap_or_default();
        off.retain(|known| known != id);
        if !on {
            off.push(id.to_owned());
        }
        let value = off.join(",");
        setting_list::change(&setup, "extensions_off", (!off.is_empty()).then_some(value.as_str()))?;
        let applied = self.apply_saved_settings(&mut setup)?;
        let text = format!("{id} is {} (extensions_off in config.toml)", if on { "on" } else { "off" });
        Ok(SettingsUpdate { text, ..applied })
    }

    /// Reads everything again after a change; earlier faults are not reported again.
    fn apply_saved_settings(&self, setup: &mut Setup) -> Result<SettingsUpdate, UserError> {
        let (renewed, mut applied) = reload::reload_everything(setup, &self.prompt)
            .map_err(|refusal| format!("saved, but not applied: {}", refusal.text))?;
        applied.warnings.retain(|text| !setup.notices.contains(text));
        self.keys.adopt(&renewed.keys);
        *setup = renewed;
        Ok(applied)
    }
}
