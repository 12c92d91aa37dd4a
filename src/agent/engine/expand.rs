//! Expands slash prompts and MCP resources in a message.
//!
//! A slash prompt is a prompt template, a skill, or a prompt of an MCP server.
//!
//! Commands and files of a template go through the same gate as the model's calls and are shown like them,
//! but are not recorded as calls: their output becomes part of the message.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::attend::{attend, attend_unless_stopped};
use super::state::Engine;
use super::unknown_commands::{lone_command, unknown_command};
use super::{announce, grants};
use crate::engine::calls::tool_calls;
use crate::extensions::prompt::{self, CommandTarget};
use crate::extensions::registry::LoadedExtensions;
use crate::extensions::templates::Template;
use crate::extensions::templates::arguments::Arguments;
use crate::extensions::templates::parts::{Part, parts};
use tau_protocol::event::NoticeLevel;
use tau_protocol::message::{Block, ToolCall, UserContent, UserMessage};
use tau_tools::command_result::without_success;
use tau_tools::user_error::UserError;
use tau_tools::{Content, Details, ToolOutput, ToolProgress, ids, paths};

/// The maximum nesting of templates.
const MAX_DEPTH: usize = 8;
/// The maximum number of commands and files of a template.
const MAX_CALLS: usize = 32;

/// Expands the messages. Those that cannot be sent are returned to the user.
pub(crate) async fn all(engine: &mut Engine, messages: Vec<UserMessage>) -> Vec<UserMessage> {
    // A model's task for a helper is not a command of the user.
    if engine.config.helper.is_some() {
        return messages;
    }
    let mut expanded = Vec::with_capacity(messages.len());
    let mut waiting: VecDeque<UserMessage> = messages.into();
    while let Some(message) = waiting.pop_front() {
        match expand_with_resources(engine, &message).await {
            Ok(None) => expanded.push(message),
            Ok(Some(found)) => expanded.push(with(message, found)),
            Err(why) => {
                announce::refuse_prompt(engine, NoticeLevel::Error, message, format!("not sent: {why}"));
            }
        }
    }
    expanded
}

/// The expansion of a message.
struct Expansion {
    text: String,
    pictures: Vec<Block>,
}

fn with(message: UserMessage, found: Expansion) -> UserMessage {
    let Expansion { text, pictures } = found;
    let content = match message.content {
        UserContent::Text(_) if pictures.is_empty() => UserContent::Text(text),
        content => {
            let others = content.blocks().into_iter().filter(|block| block.as_text().is_none());
            UserContent::Blocks(std::iter::once(Block::text(text)).chain(others).chain(pictures).collect())
        }
    };
    UserMessage { content, ..message }
}

/// The expanded message, with the resources of MCP servers that it names.
async fn expand_with_resources(
    engine: &mut Engine,
    message: &UserMessage,
) -> Result<Option<Expansion>, UserError> {
    let typed = match &message.content {
        UserContent::Text(text) => text.clone(),
        // The other blocks are attachments.
        UserContent::Blocks(blocks) => blocks.iter().find_map(Block::as_text).unwrap_or_default().to_owned(),
    };
    let context = tool_calls::context(engine, ToolProgress::none());
    let (resources, unknown) = engine.mcp.mentioned_resources(&typed, context.limits, &*context.files);
    let mut found = Box::pin(one(engine, message)).await?;
    for written in unknown {
        let text = format!("{written} is not a resource of that MCP server; it is sent as text");
        engine.notice(NoticeLevel::Warning, text, Some("type @ to list what there is"));
    }
    for resource in resources {
        let answered = attend_unless_stopped(engine, resource).await;
        let mut output = answered.unwrap_or_else(|| Err("aborted".into()))?;
        engine.config.behavior.masking.answer(&mut output);
        let Expansion { text, pictures } = to_expansion(output);
        let plain = || Expansion { text: message.content.text(), pictures: Vec::new() };
        let message = found.get_or_insert_with(plain);
        message.text.push_str(&format!("\n\n{text}"));
        message.pictures.extend(pictures);
    }
    Ok(found)
}

/// The expanded message; `None` if it is a plain message.
async fn one(engine: &mut Engine, message: &UserMessage) -> Result<Option<Expansion>, UserError> {
    let given = message.content.text();
    let loaded = engine.config.behavior.extensions.current();
    let mut text = given;
    let mut names: Vec<String> = Vec::new();
    while let Some((meant, name, arguments)) = resolve_command(&loaded, &text) {
        let again = names.contains(&name);
        names.push(name.clone());
        if again || names.len() > MAX_DEPTH {
            let way = names.iter().map(|name| format!("/{name}")).collect::<Vec<_>>().join(" \u{2192} ");
            return Err(format!("the prompt template /{name} includes itself: {way}").into());
        }
        text = match meant {
            CommandTarget::Skill(skill) => {
                let of = format!("skill {}", skill.name);
                grants::allow(engine, &skill.allowed_tools, skill.source, &of, Some(&skill.path));
                blocking(engine, move || skill.read(&arguments)).await?
            }
            CommandTarget::Template(template) => expand(engine, &loaded, &template, &arguments).await?,
        };
    }
    if let Some(found) = Box::pin(of_server(engine, &text)).await? {
        return Ok(Some(found));
    }
    let Some(name) = names.first() else {
        return lone_command(&text).map_or(Ok(None), |word| Err(unknown_command(&loaded, word)));
    };
    let found = || Expansion { text: text.clone(), pictures: Vec::new() };
    match with(message.clone(), found()).is_blank() {
        true => Err(format!("the prompt template /{name} is empty").into()),
        false => Ok(Some(found())),
    }
}

/// The expansion of a text that begins with a prompt of an MCP server. The server's answer is not expanded
/// further.
async fn of_server(engine: &mut Engine, text: &str) -> Result<Option<Expansion>, UserError> {
    let Some((name, arguments)) = prompt::command(text) else { return Ok(None) };
    let limits = tool_calls::context(engine, ToolProgress::none()).limits;
    let Some(asked) = engine.mcp.prompt(name, arguments, limits) else { return Ok(None) };
    let answered = attend_unless_stopped(engine, asked).await;
    let mut output = answered.unwrap_or_else(|| Err(format!("/{name} was aborted").into()))?;
    engine.config.behavior.masking.answer(&mut output);
    Ok(Some(to_expansion(output)))
}

fn to_expansion(output: ToolOutput) -> Expansion {
    let mut found = Expansion { text: String::new(), pictures: Vec::new() };
    for content in output.content {
        match content {
            Content::Text { text } if found.text.is_empty() => found.text = text,
            Content::Text { text } => found.text.push_str(&format!("\n\n{text}")),
            Content::Image { data, mime_type } => found.pictures.push(Block::Image { data, mime_type }),
        }
    }
    found
}

/// The template, skill or prompt that a text begins with, its name and its arguments.
fn resolve_command(loaded: &LoadedExtensions, text: &str) -> Option<(CommandTarget, String, String)> {
    let (name, arguments) = prompt::command(text)?;
    Some((loaded.command_target(name)?, name.to_owned(), arguments.to_owned()))
}

async fn blocking(
    engine: &mut Engine,
    work: impl FnOnce() -> Result<String, UserError> + Send + 'static,
) -> Result<String, UserError> {
    let done = attend(engine, spawn_blocking(work)).await;
    done.unwrap_or_else(|error| Err(UserError::new("internal error").because(error)))
}

/// The text of a template with its arguments, the output of its commands, and its files at the end.
async fn expand(
    engine: &mut Engine,
    loaded: &Arc<LoadedExtensions>,
    template: &Template,
    arguments: &str,
) -> Result<String, UserError> {
    let of = &template.name;
    grants::answer_with(engine, template.model.as_deref(), template.thinking, of);
    let path = template.path.as_deref();
    grants::allow(engine, &template.allowed_tools, template.source, &format!("/{of}"), path);
    grants::ask(engine, &template.ask_tools, &format!("/{of}"));
    let reading = template.clone();
    let body = blocking(engine, move || reading.read()).await?;
    let arguments = Arguments::of(arguments);
    let (mut text, mut files, mut used, mut calls) = (String::new(), String::new(), false, 0_usize);
    for part in parts(&body) {
        let (Part::Text(raw) | Part::Command(raw) | Part::File(raw)) = part;
        let (filled, has_arguments) = arguments.fill(raw);
        used |= has_arguments;
        match part {
            Part::Text(_) => text.push_str(&filled),
            Part::Command(_) => {
                calls += 1;
                let output = call(engine, of, "bash", json!({ "command": filled })).await?;
                text.push_str(output.trim_end());
            }
            Part::File(_) => {
                text.push_str(&format!("@{filled}"));
                let path = paths::resolve(engine.cwd(), &filled);
                if is_template(loaded, template, &path) {
                    return Err(
                        format!("the prompt template /{of} includes itself: it names its own file").into()
                    );
                }
                if path.is_file() {
                    calls += 1;
                    let content = call(engine, of, "read", json!({ "path": filled })).await?;
                    files.push_str(&format!("\n\n<file path=\"{filled}\">\n{content}\n</file>"));
                }
            }
        }
        if calls > MAX_CALLS {
            return Err(format!("/{of} has more than {MAX_CALLS} commands and files").into());
        }
    }
    if !used && !arguments.whole().is_empty() {
        text.push_str(&format!("\n\n{}", arguments.whole()));
    }
    Ok(text.trim().to_owned() + &files)
}

/// Whether a path leads to the file of the template.
fn is_template(loaded: &LoadedExtensions, template: &Template, path: &std::path::Path) -> bool {
    let own = loaded.templates.iter().find(|known| known.name == template.name);
    let own = own.and_then(|own| own.path.as_ref()).and_then(|own| own.canonicalize().ok());
    own.is_some() && own == path.canonicalize().ok()
}

/// Runs a tool for a template and returns its output; an error if it was denied or stopped.
async fn call(engine: &mut Engine, of: &str, name: &str, arguments: Value) -> Result<String, UserError> {
    let Some(tool) = engine.config.tools.get(name).cloned() else {
        return Err(format!("/{of} needs the tool {name}, which is off").into());
    };
    let id = format!("prompt-{}", ids::id());
    let call = ToolCall { id, name: name.to_owned(), arguments, thought_signature: None };
    let outcome = tool_calls::run_one(engine, call, tool).await;
    let text = text_of(&outcome.output);
    let is_aborted = outcome.is_error && engine.current.stop.is_cancelled();
    if outcome.is_denied || is_aborted { Err(format!("/{of}: {text}").into()) } else { Ok(text) }
}

fn text_of(output: &ToolOutput) -> String {
    let texts: Vec<&str> = output
        .content
        .iter()
        .filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            Content::Image { .. } => None,
        })
        .collect();
    let text = texts.join("\n");
    match &output.details {
        // The success of a command is not part of the template's text.
        Details::Terminal(terminal) => without_success(&text, terminal).to_owned(),
        _ => text,
    }
}
