//! The model and the thinking level of a continued session.

use std::sync::Arc;

use super::Setup;
use tau_agent::catalogue::keys::Keys;
use tau_agent::catalogue::{Catalogue, is_loopback};
use tau_agent::engine::behavior::{Behavior, Restore};
use tau_agent::engine::config::{AgentConfig, FindModel};
use tau_agent::session::Session;
use tau_protocol::model::{Api, Model};
use tau_tools::user_error::UserError;

/// Start of the notice about a model that cannot be restored.
pub(super) const LOST: &str = "cannot restore this session's model";

impl Setup {
    /// Uses the model and the thinking level that the session was last used with, unless flags name others. A
    /// part that cannot be restored or applied becomes a notice.
    pub(crate) fn continuing(mut self, session: &Session) -> Self {
        let (model, level) = (session.tree().model(), session.tree().thinking());
        if let Some((provider, id)) = model.filter(|(provider, _)| !self.flags_name_model(provider)) {
            self.restore_model(&provider, &id);
        }
        if let Some(level) = self.level.flagged.or(level) {
            self.thinking = self.model.as_ref().map_or(level, |model| model.nearest(level));
            if self.thinking != level && self.has_session_model && self.level.flagged.is_none() {
                let (wanted, used) = (level.name(), self.thinking.name());
                let text = format!(
                    "cannot restore this session's thinking level {wanted}: its model no longer has it; using {used}"
                );
                self.notices.push(text);
            }
        }
        let has_own_level = self.has_session_model && self.level.flagged.is_none();
        if let Some(model) = self.model.as_ref().filter(|_| !has_own_level) {
            self.notices.extend(self.level.notice(model));
        }
        self
    }

    /// Makes the next session that this agent opens keep the choices from flags.
    pub(crate) fn keep_flag_choices(&self, behavior: &mut Behavior) {
        behavior.keep_model = self.flags_keep_model();
        behavior.keep_thinking = self.level.flagged.is_some();
    }

    /// Uses the later-read part of the session, unless flags override it.
    pub(crate) fn restore_later(&self, config: &mut AgentConfig) {
        let tree = config.session.tree();
        let model = tree.model().is_none() && !self.flags_keep_model();
        let thinking = tree.thinking().is_none() && self.level.flagged.is_none();
        config.behavior.restore_later = Restore { model, thinking };
    }

    fn flags_keep_model(&self) -> bool {
        let flags = &self.args.settings.0;
        flags.model.is_some() || flags.base_url.is_some() || flags.provider.is_some()
    }

    /// Whether flags name the model, or an address or a provider other than the session's.
    fn flags_name_model(&self, provider: &str) -> bool {
        let flags = &self.args.settings.0;
        let named = match (&flags.base_url, &flags.provider) {
            (None, None) => return flags.model.is_some(),
            (Some(_), _) => self.catalogue.adhoc_provider(),
            (None, Some(provider)) => Some(provider.clone()),
        };
        flags.model.is_some() || named.is_some_and(|named| named != provider)
    }

    fn restore_model(&mut self, provider: &str, id: &str) {
        match (find_usable(&self.catalogue, &self.keys, provider, id), &self.model) {
            (Ok(model), _) => {
                self.demo = false;
                self.has_session_model = true;
                self.model = Some(model);
            }
            (Err(why), Some(used)) => {
                let used = if self.demo { "the demo".to_owned() } else { used.reference() };
                self.notices.push(format!("{LOST} {provider}/{id}: {why}; using {used} instead"));
            }
            (Err(why), None) => {
                self.notices.push(format!("{LOST} {provider}/{id}: {why}"));
            }
        }
    }

    /// Finds the models named by sessions, for the lifetime of the agent.
    pub(super) fn find_model(&self) -> Arc<FindModel> {
        let keys = Arc::clone(&self.keys);
        Arc::new(move |provider, id| find_usable(&keys.catalogue(), &keys, provider, id))
    }
}

/// The model named by a session; the error is the reason why it is unusable, and a remedy.
pub(super) fn find_usable(
    catalogue: &Catalogue,
    keys: &Keys,
    provider: &str,
    id: &str,
) -> Result<Arc<Model>, UserError> {
    let Some(model) = catalogue.of_session(provider, id) else {
        return Err(match catalogue.providers().iter().any(|known| known == provider) {
            true => "no such model is known (`tau models --refresh` asks for new ones)".into(),
            false => format!(
                "no provider \"{provider}\" is configured (pass its --base-url, or add it to models.toml)"
            )
            .into(),
        });
    };
    let needs_no_key = model.api == Api::Scripted || is_loopback(&model.base_url);
    if needs_no_key || catalogue.usable(keys).iter().any(|usable| usable == provider) {
        return Ok(model);
    }
    Err(format!("no key for {provider} ({})", catalogue.key_advice(provider)).into())
}
