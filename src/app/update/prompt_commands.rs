//! The slash commands of prompt templates and skills: taken from the agent.

use std::sync::Arc;

use super::{completion, submit};
use crate::agent::protocol::extension::PromptCommand;
use crate::app::completion::CompletionKind;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::printable::Printable;
use crate::app::slash::{CommandRow, Commands, Slash};

/// Takes the commands that stand for prompt templates and skills.
pub(super) fn listed(model: &mut Model, commands: &[PromptCommand], effects: &mut Vec<Effect>) {
    let row = |command: &PromptCommand| CommandRow {
        slash: Slash::Prompt,
        name: command.name.clone().into(),
        arguments: Printable::line(&command.argument_hint).to_string().into(),
        help: Printable::line(&command.description).to_string().into(),
    };
    model.commands = Arc::new(Commands::new(commands.iter().map(row).collect()));
    model.commands_follow = false;
    match model.early_command.take() {
        Some((queue, text)) if model.composer.expanded().0 == text => submit::enter(model, queue, effects),
        Some(_) | None => {
            let is_open = model.completion.as_ref().is_some_and(|list| list.kind == CompletionKind::Command);
            if is_open {
                model.completion = None;
            }
            completion::refresh(model, effects);
        }
    }
}
