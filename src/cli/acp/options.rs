//! The options of a session: the permission mode, the model, the thinking level.
//!
//! The permission mode is offered twice, as a mode and as an option: older clients support only modes.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, ErrorCode, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectGroup, SessionConfigSelectOption, SessionMode, SessionModeState,
};

use super::state::AcpSession;
use super::wire;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{AgentCommand, SettingsCommand};
use tau_protocol::model::{Model, ThinkingLevel};

/// The option of the permission mode.
const MODE: &str = "mode";
const MODEL: &str = "model";
/// The option of the thinking level.
const THINKING: &str = "thinking";

/// The effect of a mode, in a sentence.
fn about(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Ask => "Ask before every change; reading is free",
        PermissionMode::Edits => "Change files in the workspace without asking; ask before commands",
        PermissionMode::Auto => "Change files and run commands without asking",
        PermissionMode::Plan => "Change nothing; end with a plan",
    }
}

fn capitalize(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The permission modes that the client can choose.
fn available_modes(session: &AcpSession) -> impl Iterator<Item = PermissionMode> + use<> {
    let ceiling = session.mode_ceiling;
    PermissionMode::ALL.into_iter().filter(move |mode| mode.within(ceiling).is_ok())
}

/// The permission modes, and the current one.
pub(crate) fn modes(session: &AcpSession) -> SessionModeState {
    let mode = |mode: PermissionMode| {
        SessionMode::new(mode.name(), capitalize(mode.name())).description(about(mode))
    };
    SessionModeState::new(session.mirror.mode.name(), available_modes(session).map(mode).collect::<Vec<_>>())
}

pub(crate) fn all(session: &AcpSession) -> Vec<SessionConfigOption> {
    let modes: Vec<SessionConfigSelectOption> = available_modes(session)
        .map(|mode| {
            SessionConfigSelectOption::new(mode.name(), capitalize(mode.name())).description(about(mode))
        })
        .collect();
    let mut options = vec![
        SessionConfigOption::select(MODE, "Permissions", session.mirror.mode.name(), modes)
            .category(SessionConfigOptionCategory::Mode),
    ];
    let Some(model) = &session.mirror.model else { return options };
    options.push(
        SessionConfigOption::select(MODEL, "Model", model.reference(), model_groups(session, model))
            .category(SessionConfigOptionCategory::Model),
    );
    let levels: Vec<SessionConfigSelectOption> = model
        .levels()
        .into_iter()
        .map(|level| SessionConfigSelectOption::new(level.name(), capitalize(level.name())))
        .collect();
    if levels.len() > 1 {
        let now = model.nearest(session.mirror.thinking).name();
        options.push(
            SessionConfigOption::select(THINKING, "Thinking", now, levels)
                .category(SessionConfigOptionCategory::ThoughtLevel),
        );
    }
    options
}

/// The models by provider, always including the current one.
fn model_groups(session: &AcpSession, now: &Arc<Model>) -> Vec<SessionConfigSelectGroup> {
    let known = session.models.iter().any(|model| model.reference() == now.reference());
    let models = (!known).then_some(now).into_iter().chain(&session.models);
    let mut groups: Vec<(&str, Vec<SessionConfigSelectOption>)> = Vec::new();
    for model in models {
        let option = SessionConfigSelectOption::new(model.reference(), model.name.as_str());
        match groups.iter_mut().find(|(provider, _)| *provider == model.provider) {
            Some((_, options)) => options.push(option),
            None => groups.push((&model.provider, vec![option])),
        }
    }
    let group = |(provider, options): (&str, Vec<_>)| {
        SessionConfigSelectGroup::new(provider.to_owned(), provider, options)
    };
    groups.into_iter().map(group).collect()
}

/// The mode with this name. Fails if there is no mode with this name, or the client cannot choose it; the
/// error lists the modes, or gives the reason.
pub(crate) fn find_mode(session: &AcpSession, name: &str) -> Result<PermissionMode, Error> {
    let wrong = |text: String| wire::error(ErrorCode::InvalidParams, text);
    let mode = PermissionMode::from_name(name).ok_or_else(|| {
        let known = available_modes(session).map(PermissionMode::name).collect::<Vec<_>>().join(", ");
        wrong(format!("no mode \"{name}\"; choose one of {known}"))
    })?;
    mode.within(session.mode_ceiling).map_err(|error| wrong(error.into()))
}

/// Chooses a value and returns the command for the agent. The session already shows it. Fails when there is
/// no such option, or it has no such value.
pub(crate) fn choose(
    session: &mut AcpSession,
    option: &str,
    value: &SessionConfigOptionValue,
) -> Result<AgentCommand, Error> {
    let wrong = |text: String| wire::error(ErrorCode::InvalidParams, text);
    let Some(value) = value.as_value_id().map(|value| value.0.as_ref()) else {
        return Err(wrong(format!("the value of the option \"{option}\" is the id of a choice")));
    };
    match option {
        MODE => {
            session.mirror.mode = find_mode(session, value)?;
            Ok(AgentCommand::Settings(SettingsCommand::SetPermissionMode { mode: session.mirror.mode }))
        }
        MODEL => {
            let model = session.models.iter().find(|model| model.reference() == value).cloned();
            let model =
                model.or_else(|| session.mirror.model.clone().filter(|model| model.reference() == value));
            let text = || wrong(format!("no model \"{value}\"; choose one of those in `configOptions`"));
            let model = model.ok_or_else(text)?;
            session.mirror.thinking = model.nearest(session.mirror.thinking);
            session.mirror.model = Some(Arc::clone(&model));
            Ok(AgentCommand::Settings(SettingsCommand::SetModel { model }))
        }
        THINKING => {
            let levels = session.mirror.model.as_ref().map(|model| model.levels()).unwrap_or_default();
            let level = ThinkingLevel::from_name(value).filter(|level| levels.contains(level));
            let text = || wrong(format!("this model has no thinking level \"{value}\""));
            session.mirror.thinking = level.ok_or_else(text)?;
            Ok(AgentCommand::Settings(SettingsCommand::SetThinking { level: session.mirror.thinking }))
        }
        _ => Err(wrong(format!("no option \"{option}\"; the options are {MODE}, {MODEL} and {THINKING}"))),
    }
}
