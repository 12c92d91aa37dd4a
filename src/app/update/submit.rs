//! Sending the composer's text: a message, a slash command or a shell command.

use std::sync::Arc;

use super::{approval, offers, queue, slash, terminal_focus, undo};
use crate::action::Action;
use crate::composer::InputMode;
use crate::effect::Effect;
use crate::model::Model;
use crate::slash::{CommandRow, Slash, elsewhere, is_exit, nearest_elsewhere};
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{Queue, ShellCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::message::Block;
use tau_protocol::query::Query;

/// Adds a line break to a line that ends in a backslash; sends anything else.
pub(super) fn enter(model: &mut Model, queue: Queue, effects: &mut Vec<Effect>) {
    if model.composer.before_cursor().ends_with('\\') {
        model.composer.replace_before(1, "\n");
    } else if model.is_reading_picture() {
        model.remark("a picture is still being read; enter again sends it, too");
    } else {
        send(model, queue, effects);
    }
}

/// Sends the composer's text. Text that cannot be sent stays in it.
fn send(model: &mut Model, queue: Queue, effects: &mut Vec<Effect>) {
    if queue::save_edit(model, effects) {
        return;
    }
    let (text, images) = model.composer.expanded_content();
    if text.trim().is_empty() && images.is_empty() {
        return;
    }
    model.completion = None;
    match model.composer.mode() {
        InputMode::Shell | InputMode::ShellOnly if images.is_empty() => return shell(model, &text, effects),
        InputMode::Shell | InputMode::ShellOnly => return refuse_pictures(model, "a shell command"),
        InputMode::Prompt => {}
    }
    if is_exit(&text) && images.is_empty() {
        model.composer.reset(Some(text));
        return slash::run(model, Slash::Quit, "", effects);
    }
    let commands = Arc::clone(&model.commands);
    let behind = undo::command_behind(model, &text).map(str::to_owned);
    let behind = behind.as_deref().and_then(|command| commands.parse(command));
    if let Some(Err(word)) = behind {
        return refuse_unknown(model, word);
    }
    if let Some(Ok((row, arguments))) = behind {
        if slash::refuses(row, arguments) {
            return refuse_arguments(model, row);
        }
        let returned = model.undo.returned.take().unwrap_or_default();
        model.composer.reset(Some(returned.clone()));
        if row.slash != Slash::Redo {
            model.composer.set_text(&returned);
        }
        slash::run_with(model, row, arguments, effects);
        return;
    }
    match commands.parse(text.trim_end()) {
        Some(Ok((row, _))) if row.slash == Slash::Prompt => {}
        Some(Ok((row, arguments))) if slash::refuses(row, arguments) => return refuse_arguments(model, row),
        Some(Ok((row, arguments))) if row.slash == Slash::Plan && !arguments.is_empty() => {
            let task = arguments.to_owned();
            return plan(model, task, images, queue, effects);
        }
        Some(Ok((row, _))) if !images.is_empty() => return refuse_pictures(model, &format!("/{}", row.name)),
        Some(Ok((row, arguments))) => {
            model.composer.reset(Some(text.trim_end().to_owned()));
            slash::run_with(model, row, arguments, effects);
            return;
        }
        Some(Err(_)) if model.commands_follow => {
            model.early_command = Some((queue, text));
            return;
        }
        // It may be a prompt of an MCP server that is starting.
        Some(Err(word)) if word.contains(':') => {
            model.early_command = Some((queue, text));
            model.early_asked = Some(model.query(Query::Extensions, effects));
            return;
        }
        Some(Err(word)) => return refuse_unknown(model, word),
        None => {}
    }
    send_prompt(model, text, images, queue, effects);
}

/// Plans a task in plan mode.
fn plan(model: &mut Model, task: String, images: Vec<Block>, queue: Queue, effects: &mut Vec<Effect>) {
    approval::set_mode(model, PermissionMode::Plan, effects);
    send_prompt(model, task, images, queue, effects);
}

fn send_prompt(model: &mut Model, text: String, images: Vec<Block>, queue: Queue, effects: &mut Vec<Effect>) {
    // The server's model may not be known here yet; if it has none, the server reports it.
    if model.status.mirror.model.is_none() && model.boot.attached.is_none() {
        let key = model.keymap.hint(Action::Models).unwrap_or_else(|| "/model".to_owned());
        let hint = format!("choose one with {key}, or add a provider API key with /login");
        return model.transcript.notice(NoticeLevel::Warning, "no model to send this to", Some(&hint));
    }
    finish_send(model, &text, effects);
    let text = text.trim_end().to_owned();
    offers::prompt(model, text, images, queue, effects);
}

/// Shows that there is no such command.
pub(super) fn refuse_unknown(model: &mut Model, word: &str) {
    if let Some(instead) = elsewhere(word) {
        let text = format!("tau has no /{word}; {instead}");
        return model.transcript.notice(NoticeLevel::Warning, &text, None);
    }
    let nearest = model.commands.nearest(word);
    if let Some((name, instead)) = nearest_elsewhere(word).filter(|_| nearest.is_none()) {
        let text = format!("unknown command /{word}; tau has no /{name} either: {instead}");
        return model.transcript.notice(NoticeLevel::Warning, &text, None);
    }
    let meant = nearest.map(|name| format!(": did you mean /{name}?"));
    let text = format!("unknown command /{word}{}", meant.unwrap_or_default());
    let hint = "/help lists the commands; start the line with a space to send it as a message";
    model.transcript.notice(NoticeLevel::Warning, &text, Some(hint));
}

/// Shows that a command takes no words, and was not run.
fn refuse_arguments(model: &mut Model, row: &CommandRow) {
    let text = format!("/{0} takes no arguments; /{0}: {1}", row.name, row.help);
    model.transcript.notice(NoticeLevel::Warning, &text, None);
}

/// Says that a command takes no pictures, and was not run.
fn refuse_pictures(model: &mut Model, command: &str) {
    model.remark(&format!("{command} takes no picture; remove it, or send it with a message"));
}

fn shell(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let private = text.starts_with("!!");
    let command = text.trim_start_matches('!').trim();
    if command.is_empty() {
        return model.remark("type a command after the !");
    }
    finish_send(model, text, effects);
    run(model, command.to_owned(), private, Confinement::Sandbox, effects);
}

/// The limits of a command of the user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    Sandbox,
    None,
}

/// Runs a command of the user; the model does not see `private` ones.
pub(super) fn run(
    model: &mut Model,
    command: String,
    private: bool,
    confinement: Confinement,
    effects: &mut Vec<Effect>,
) {
    let id = Some(format!("user-{}", model.next_ticket().0));
    let size = Some(terminal_focus::panel_size(model.size));
    let without_sandbox = confinement == Confinement::None;
    effects.push(
        ShellCommand::Bash { id, command, exclude_from_context: private, size, without_sandbox }.into(),
    );
}

fn finish_send(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    effects.push(Effect::Remember(text.to_owned()));
    model.composer.reset(Some(text.to_owned()));
    model.transcript.show_tail();
}
