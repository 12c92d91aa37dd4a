//! Effects of skills and prompt templates in use, which last until the end of the run.

use std::path::Path;

use super::commands;
use super::state::{Engine, HeldGrant, ModelRestore};
use crate::engine::gate::held_grants::{self, grant};
use crate::extensions::allowed_tools;
use crate::extensions::used_files::LastUse;
use crate::permissions::Verdict;
use tau_protocol::event::{NoticeLevel, SettingsEvent};
use tau_protocol::extension::ExtensionSource;
use tau_protocol::message::ToolCall;
use tau_protocol::model::ThinkingLevel;
use tau_tools::{ToolKind, paths};

/// Allows the calls that a skill or template lists, unless something else forbids them. If it is new, or has
/// changed since its last use, the first call that it would allow needs approval, which shows its grants.
pub(crate) fn allow(
    engine: &mut Engine,
    allowed: &[String],
    source: ExtensionSource,
    of: &str,
    path: Option<&Path>,
) {
    let rules = allowed_tools::rules(allowed, source).0;
    let used = engine.config.behavior.used_files.clone();
    let Some((used, path)) = used.zip(path).filter(|_| !rules.is_empty()) else {
        return grant(engine, rules, Verdict::Allow, of);
    };
    let (last, digest) = used.compare(path);
    let why = match last {
        LastUse::None => used.objection(path, source),
        LastUse::Same => None,
        LastUse::Changed => Some("changed since it was used last"),
    };
    match (why, digest) {
        (None, Some(digest)) => {
            // If this fails, the next use counts as the first one again.
            let _ = used.note(path, &digest);
            grant(engine, rules, Verdict::Allow, of);
        }
        (why, digest) => {
            let (of, path, why) = (of.to_owned(), path.to_owned(), why.unwrap_or("cannot be read"));
            held_grants::hold(engine, HeldGrant { rules, of, path, digest, why });
        }
    }
}

/// Requires approval for the calls that a template lists, even if nothing else does.
pub(crate) fn ask(engine: &mut Engine, asked: &[String], of: &str) {
    grant(engine, allowed_tools::rules(asked, ExtensionSource::User).0, Verdict::Ask, of);
}

/// Activates a skill whose file the model has read.
pub(crate) fn skill_read(engine: &mut Engine, call: &ToolCall) {
    let path = call.arguments.get("path").and_then(|path| path.as_str());
    let Some(path) = path.filter(|_| ToolKind::of(&call.name) == ToolKind::Read) else {
        return;
    };
    let path = paths::resolve(engine.cwd(), path);
    let loaded = engine.config.behavior.extensions.current();
    if let Some(skill) = loaded.skills.iter().find(|skill| skill.path == path) {
        let of = format!("skill {}", skill.name);
        allow(engine, &skill.allowed_tools, skill.source, &of, Some(&skill.path));
    }
}

/// Switches to the model and level that a template names, if they exist.
pub(crate) fn answer_with(
    engine: &mut Engine,
    model: Option<&str>,
    thinking: Option<ThinkingLevel>,
    of: &str,
) {
    let before = (engine.config.model.clone(), engine.config.thinking);
    let host = engine.config.behavior.host();
    match model.and_then(|name| Some((name, host.model_by_name(name)?))) {
        Some((_, Ok(model))) if engine.config.model.as_ref() != Some(&model) => {
            commands::set_model(engine, model);
        }
        Some((_, Ok(_))) | None => {}
        Some((name, Err(why))) => {
            let text = format!("/{of} names the model {name}, which cannot be used: {why}");
            engine.notice(NoticeLevel::Warning, text, Some("the current model answers instead"));
        }
    }
    if let Some(level) = thinking.filter(|level| *level != engine.config.thinking) {
        commands::set_thinking(engine, level);
    }
    let used = (engine.config.model.clone(), engine.config.thinking);
    if used != before {
        let (model, thinking) = match engine.current.restore.take() {
            Some(earlier) => (earlier.model, earlier.thinking),
            None => before,
        };
        engine.current.restore = Some(ModelRestore { model, thinking, used });
    }
}

/// Ends all effects with the run. Choices of the user in the meantime stay.
pub(crate) fn end(engine: &mut Engine) {
    engine.current.held_grants.clear();
    if engine.config.behavior.permissions.end_grants() {
        engine.emit(SettingsEvent::RulesChanged);
    }
    let Some(ModelRestore { model, thinking, used }) = engine.current.restore.take() else { return };
    if engine.config.model == used.0
        && engine.config.model != model
        && let Some(model) = model
    {
        commands::set_model(engine, model);
    }
    if engine.config.thinking == used.1 && engine.config.thinking != thinking {
        commands::set_thinking(engine, thinking);
    }
}
