//! Sending what was written: a message, a command, a shell command.

use std::sync::Arc;

use super::{slash, terminal_focus};
use crate::agent::AgentCommand;
use crate::agent::protocol::command::Queue;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::model::Model as AiModel;
use crate::app::composer::InputMode;
use crate::app::effect::{Effect, SavedSetting};
use crate::app::model::Model;
use crate::app::slash as table;

/// Sends what is in the composer. What cannot be sent stays in it.
pub(super) fn send(model: &mut Model, queue: Queue, effects: &mut Vec<Effect>) {
    let (text, images) = model.composer.expanded();
    if text.trim().is_empty() && images.is_empty() {
        return;
    }
    model.completion = None;
    match model.composer.mode() {
        InputMode::Shell | InputMode::ShellOnly => return shell(model, &text, effects),
        InputMode::Prompt => {}
    }
    match table::parse(text.trim_end()) {
        Some(Ok((row, arguments))) => {
            model.composer.reset(Some(text.trim_end().to_owned()));
            slash::run(model, row.slash, arguments, effects);
            return;
        }
        Some(Err(word)) => {
            let text = format!("there is no command /{word}");
            let hint = "F1 lists the commands; begin the line with a space to send it as a message";
            return model.transcript.notice(NoticeLevel::Warning, &text, Some(hint));
        }
        None => {}
    }
    if model.status.model.is_none() {
        let hint = "choose one with ctrl+l, or store a key with /login";
        return model.transcript.notice(
            NoticeLevel::Warning,
            "there is no model to send this to",
            Some(hint),
        );
    }
    sent(model, &text, effects);
    let text = text.trim_end().to_owned();
    effects.push(Effect::Agent(AgentCommand::Prompt { text, images, streaming: queue }));
}

fn shell(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let private = text.starts_with("!!");
    let command = text.trim_start_matches('!').trim();
    if command.is_empty() {
        return model.remark("type a command after the `!`");
    }
    sent(model, text, effects);
    model.tickets += 1;
    let id = Some(format!("user-{}", model.tickets));
    let command = command.to_owned();
    let size = Some(terminal_focus::panel_size(model.size));
    effects.push(Effect::Agent(AgentCommand::Bash { id, command, exclude_from_context: private, size }));
}

fn sent(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    effects.push(Effect::Remember(text.to_owned()));
    model.composer.reset(Some(text.to_owned()));
    model.transcript.to_tail();
}

/// Switches the model and keeps the choice.
pub(super) fn set_model(model: &mut Model, ai: Arc<AiModel>, effects: &mut Vec<Effect>) {
    model.remark(&format!("model: {}", ai.reference()));
    effects.push(Effect::Save(SavedSetting::Model(ai.reference())));
    effects.push(Effect::Agent(AgentCommand::SetModel { model: ai }));
}
