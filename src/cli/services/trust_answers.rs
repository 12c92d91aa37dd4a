//! Answers about trust in folders.

use std::path::Path;

use super::Services;
use crate::compose::reload;
use tau_agent::settings::trust::{Project, uses_others_hooks};
use tau_app::request::SettingsUpdate;
use tau_tools::user_error::UserError;

impl Services {
    /// Stores an answer about a folder in its displayed state, and applies the resulting settings.
    pub(super) fn store_trust(&self, root: &Path, trusted: bool) -> Result<SettingsUpdate, UserError> {
        let mut setup = self.setup.lock();
        let Some(shown) = setup.project.shown_project(root) else {
            return Err("this folder no longer has settings".into());
        };
        let uses_others = || uses_others_hooks(&setup.paths);
        if trusted && Project::with_others(root, &uses_others).as_ref() != Some(shown) {
            let text = "the settings have changed since they were shown; /trust shows the current ones";
            return Err(text.to_owned().into());
        }
        if let Err(error) = shown.answer(&setup.paths.shared_file(setup.paths.trust_file()), trusted) {
            return Err(error.to_string().into());
        }
        match reload::reload(&setup, &self.prompt) {
            Ok((renewed, mut applied)) => {
                *setup = renewed;
                applied.text = match trusted {
                    true => format!("trusted; {}", applied.text),
                    false if setup.args.trust => {
                        "not trusted from the next start; --trust keeps these settings for this run"
                            .to_owned()
                    }
                    false => format!("not trusted; {}", applied.text),
                };
                Ok(applied)
            }
            Err(refusal) => {
                Err(format!("your answer is stored, but the settings could not be applied: {}", refusal.text)
                    .into())
            }
        }
    }
}
