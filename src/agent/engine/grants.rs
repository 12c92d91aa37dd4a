//! What skills and prompt templates change as long as they are in use: until the end of the run.

use super::commands;
use super::state::{Engine, Restored};
use crate::agent::extensions::allowed_tools;
use crate::agent::permissions::{Rule, Verdict};
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::extension::ExtensionSource;
use crate::agent::protocol::message::ToolCall;
use crate::agent::protocol::model::ThinkingLevel;
use crate::tools::paths;

/// Allows what a skill or template says, as far as nothing else forbids it.
pub(crate) fn allow(engine: &mut Engine, allowed: &[String], source: ExtensionSource, of: &str) {
    grant(engine, allowed_tools::rules(allowed, source).0, Verdict::Allow, of);
}

/// Asks for what a template says, also where nothing else is asked.
pub(crate) fn ask(engine: &mut Engine, asked: &[String], of: &str) {
    grant(engine, allowed_tools::rules(asked, ExtensionSource::User).0, Verdict::Ask, of);
}

fn grant(engine: &mut Engine, rules: Vec<Rule>, list: Verdict, of: &str) {
    if rules.is_empty() {
        return;
    }
    for rule in rules {
        engine.config.behavior.permissions.grant(rule, list, of);
    }
    engine.emit(AgentEvent::RulesChanged);
}

/// A skill whose file the model has read is in use.
pub(crate) fn skill_read(engine: &mut Engine, call: &ToolCall) {
    let Some(path) =
        call.arguments.get("path").and_then(|path| path.as_str()).filter(|_| call.name == "read")
    else {
        return;
    };
    let path = paths::resolve(engine.cwd(), path);
    let loaded = engine.config.behavior.extensions.loaded();
    if let Some(skill) = loaded.skills.iter().find(|skill| skill.path == path) {
        allow(engine, &skill.allowed_tools, skill.source, &format!("skill {}", skill.name));
    }
}

/// Answers with the model and level that a template names, as far as there are such.
pub(crate) fn answer_with(
    engine: &mut Engine,
    model: Option<&str>,
    thinking: Option<ThinkingLevel>,
    of: &str,
) {
    let before = (engine.config.model.clone(), engine.config.thinking);
    let find = engine.config.behavior.named_model.clone();
    match model.zip(find).map(|(name, find)| (name, find.find(name))) {
        Some((_, Ok(model))) if engine.config.model.as_ref() != Some(&model) => {
            commands::set_model(engine, model);
        }
        Some((_, Ok(_))) | None => {}
        Some((name, Err(why))) => {
            let text = format!("/{of} names the model {name}, which cannot be used: {why}");
            engine.notice(NoticeLevel::Warning, text, Some("the present model answers"));
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
        engine.current.restore = Some(Restored { model, thinking, used });
    }
}

/// Ends all of it with the run. What the user chose in the meantime stays.
pub(crate) fn end(engine: &mut Engine) {
    if engine.config.behavior.permissions.end_grants() {
        engine.emit(AgentEvent::RulesChanged);
    }
    let Some(Restored { model, thinking, used }) = engine.current.restore.take() else { return };
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
