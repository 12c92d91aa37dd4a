//! The initial model and its thinking level.

use std::sync::Arc;

use crate::args::CliArgs;
use crate::compose::environment::{self, Environment, OnBadConfig};
use crate::compose::project_settings::ProjectSettings;
use crate::process::exit::Refusal;
use tau_agent::catalogue::Catalogue;
use tau_agent::catalogue::keys::Keys;
use tau_agent::settings::Settings;
use tau_protocol::model::{Model, ThinkingLevel};
use tau_tools::user_error::UserError;

/// The initial choice.
pub(super) struct ChosenModel {
    /// `None` when nothing is configured.
    pub(super) model: Option<Arc<Model>>,
    /// The model's level nearest to the requested one.
    pub(super) thinking: ThinkingLevel,
    pub(super) level: LevelFlags,
}

/// The thinking level requested together with a model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LevelFlags {
    /// The level from a flag: `--thinking`, or else the end of `--model`.
    pub(super) flagged: Option<ThinkingLevel>,
    /// The level after the name of the model, in a flag or in settings.
    suffix: Option<ThinkingLevel>,
}

impl LevelFlags {
    /// A notice when the level named with this model is not the one in force.
    pub(super) fn notice(self, model: &Model) -> Option<String> {
        let asked = self.flagged.or(self.suffix)?;
        let used = model.nearest(asked);
        if used != asked {
            let (name, asked) = (model.reference(), asked.name());
            return Some(match model.reasoning {
                true => format!("{name} has no thinking level {asked}; using {}", used.name()),
                false => format!(
                    "cannot set the thinking level {asked}: {name} is not known to think; if it does, add \
                     `reasoning = true` to it in models.toml"
                ),
            });
        }
        let unused = self.suffix.filter(|unused| *unused != asked)?;
        Some(format!(
            "ignoring :{} after the model: --thinking {} is given, too",
            unused.name(),
            asked.name()
        ))
    }
}

/// The requested model and level, else the defaults. An unknown model from settings alone is tolerated where
/// a user can see a notice.
pub(super) fn choose(
    args: &CliArgs,
    on_bad_config: OnBadConfig,
    environment: &mut Environment,
    project: &ProjectSettings,
) -> Result<ChosenModel, Refusal> {
    let flags = &args.settings.0;
    let Environment { settings, catalogue, keys, .. } = &*environment;
    let (model, suffix) = match requested_model(settings, catalogue, keys) {
        Ok(found) => found,
        Err(error) if flags.model.is_some() => return Err(Refusal::config(error)),
        Err(error) => {
            let default = default_model(settings, catalogue, keys);
            let used = default.as_ref().map_or("the demo".to_owned(), |model| model.reference());
            let origin = environment::origin(&environment.paths, project, "model");
            let instead =
                if on_bad_config == OnBadConfig::Warn { format!("; using {used}") } else { String::new() };
            on_bad_config.tolerate(format!("{origin}: {error}{instead}"), &mut environment.notices)?;
            (default, None)
        }
    };
    let level = LevelFlags { flagged: flags.thinking.or(suffix.filter(|_| flags.model.is_some())), suffix };
    let wished = level.flagged.or(environment.settings.thinking).or(suffix).unwrap_or_default();
    let thinking = model.as_ref().map_or(wished, |model| model.nearest(wished));
    Ok(ChosenModel { model, thinking, level })
}

/// The model named by flags or settings, else the default.
fn requested_model(
    settings: &Settings,
    catalogue: &Catalogue,
    keys: &Keys,
) -> Result<(Option<Arc<Model>>, Option<ThinkingLevel>), UserError> {
    let Some(query) = &settings.model else { return Ok((default_model(settings, catalogue, keys), None)) };
    let found = catalogue.find_at(keys, settings.provider.as_deref(), query);
    let (model, level) = found.map_err(UserError::of)?;
    Ok((Some(model), level))
}

/// The model of the configured address, else the default of the first provider with a key.
fn default_model(settings: &Settings, catalogue: &Catalogue, keys: &Keys) -> Option<Arc<Model>> {
    if let Some(model) = catalogue.adhoc_model() {
        return Some(model);
    }
    let usable = catalogue.usable(keys);
    let provider = settings.provider.as_ref().or(usable.first());
    provider.and_then(|provider| catalogue.default_model(provider))
}
