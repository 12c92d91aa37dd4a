//! The slash commands of prompt templates, skills and MCP servers: taken from the agent.

use std::sync::Arc;

use super::{completion, submit};
use crate::agent::protocol::extension::PromptCommand;
use crate::app::completion::CompletionKind;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::printable::Printable;
use crate::app::slash::{CommandRow, Commands, Slash};

/// Takes the commands that stand for prompts.
pub(super) fn listed(model: &mut Model, commands: &[PromptCommand], effects: &mut Vec<Effect>) {
    use_rows(model, commands);
    model.commands_follow = false;
    match model.early_command.take() {
        Some((queue, text)) if model.composer.expanded().0 == text => submit::enter(model, queue, effects),
        Some(_) | None => list_again(model, effects),
    }
}

/// Takes the commands after MCP servers have changed theirs.
pub(super) fn changed(model: &mut Model, commands: &[PromptCommand], effects: &mut Vec<Effect>) {
    use_rows(model, commands);
    list_again(model, effects);
}

fn list_again(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.completion.as_ref().is_some_and(|list| list.kind == CompletionKind::Command) {
        model.completion = None;
    }
    completion::refresh(model, effects);
}

fn use_rows(model: &mut Model, commands: &[PromptCommand]) {
    let row = |command: &PromptCommand| CommandRow {
        slash: Slash::Prompt,
        name: command.name.clone().into(),
        arguments: Printable::line(&command.argument_hint).to_string().into(),
        help: Printable::line(&command.description).to_string().into(),
        completes_arguments: !command.arguments.is_empty(),
    };
    model.commands = Arc::new(Commands::new(commands.iter().map(row).collect()));
}
