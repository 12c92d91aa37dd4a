//! The slash commands of prompt templates, skills and MCP servers, as listed by the agent.

use std::sync::Arc;

use super::{completion, submit};
use crate::completion::CompletionKind;
use crate::effect::Effect;
use crate::model::Model;
use crate::printable::Printable;
use crate::request::Ticket;
use crate::slash::{CommandRow, Commands, Slash};
use tau_protocol::event::NoticeLevel;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionState, PromptCommand, plain_name};

/// Stores the commands that stand for prompts.
pub(super) fn on_commands(model: &mut Model, commands: &[PromptCommand], effects: &mut Vec<Effect>) {
    use_rows(model, commands);
    model.commands_follow = false;
    match model.early_command.take() {
        Some((queue, text)) if model.composer.expanded_content().0 == text => {
            submit::enter(model, queue, effects);
        }
        Some(_) | None => list_again(model, effects),
    }
}

/// Stores the commands after MCP servers have changed theirs.
pub(super) fn on_change(model: &mut Model, commands: &[PromptCommand], effects: &mut Vec<Effect>) {
    use_rows(model, commands);
    let commands = Arc::clone(&model.commands);
    let is_known = |text: &str| matches!(commands.parse(text.trim_end()), Some(Ok(_)));
    match model.early_command.take_if(|(_, text)| is_known(text)) {
        Some((queue, text)) if model.composer.expanded_content().0 == text => {
            submit::enter(model, queue, effects);
        }
        Some(_) | None => list_again(model, effects),
    }
}

/// Reports whether an unknown command belongs to a starting server: then it is sent once that is ready, if it
/// still exists.
pub(super) fn on_servers(model: &mut Model, ticket: Ticket, rows: &[ExtensionRow]) {
    if model.early_asked.take_if(|asked| *asked == ticket).is_none() {
        return;
    }
    let Some((queue, text)) = model.early_command.take() else { return };
    let commands = Arc::clone(&model.commands);
    let Some(Err(word)) = commands.parse(text.trim_end()) else { return };
    let server = word.split_once(':').map_or("", |(server, _)| server);
    let is_starting = |row: &&ExtensionRow| {
        row.kind == ExtensionKind::McpServer
            && row.state == ExtensionState::Starting
            && plain_name(&row.name) == server
    };
    match rows.iter().find(is_starting) {
        Some(row) => {
            let said = format!("MCP server {} is starting", row.name);
            let hint = "the command is sent when the server is ready";
            model.transcript.notice(NoticeLevel::Info, &said, Some(hint));
            model.early_command = Some((queue, text));
        }
        None => submit::refuse_unknown(model, word),
    }
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
