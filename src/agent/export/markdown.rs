//! A session as markdown: messages verbatim, calls and results as code.

use super::pen::one_line;
use super::{of_program, partition_entries, title};
use crate::secrets::redact::Redactor;
use crate::session::Session;
use crate::session::entry::{Body, Entry};
use tau_protocol::message::{AssistantMessage, Block, Message, UserContent};
use tau_tools::{Content, Details};

/// A picture in a document of text.
const PICTURE: &str = "[a picture]";

/// The whole document.
pub(super) fn text(session: &Session, redactor: &mut Redactor) -> String {
    let info = session.info();
    let mut out = format!("# {}\n\n", title(session, redactor));
    out.push_str(&format!(
        "Session `{}`{} in `{}`.\n",
        info.id,
        of_program(session),
        redactor.text(&one_line(&info.cwd.display().to_string()))
    ));
    let (path, others) = partition_entries(session);
    path.iter().for_each(|entry| add(entry, redactor, &mut out));
    if !others.is_empty() {
        out.push_str("\n---\n\n# Other branches\n");
        others.iter().for_each(|entry| add(entry, redactor, &mut out));
    }
    out
}

fn add(entry: &Entry, redactor: &mut Redactor, out: &mut String) {
    match &entry.body {
        Body::Message { message } => message_of(message, redactor, out),
        Body::Compaction { summary, .. } => {
            write_section("Summary of the earlier conversation", summary, redactor, out);
        }
        Body::BranchSummary { summary, .. } => write_section("Branch summary", summary, redactor, out),
        Body::CustomMessage { content, .. } => write_section("Note", &content_text(content), redactor, out),
        _ => {}
    }
}

fn write_section(who: &str, text: &str, redactor: &mut Redactor, out: &mut String) {
    if !text.trim().is_empty() {
        out.push_str(&format!("\n## {who}\n\n{}\n", redactor.text(text.trim())));
    }
}

fn message_of(message: &Message, redactor: &mut Redactor, out: &mut String) {
    match message {
        Message::User(user) => write_section("You", &content_text(&user.content), redactor, out),
        Message::Assistant(answer) => answer_of(answer, redactor, out),
        Message::ToolResult(result) => {
            let failed = if result.is_error { ", which failed" } else { "" };
            out.push_str(&format!("\n**Result of `{}`{failed}**\n\n", result.tool_name));
            match &result.details {
                Details::Diff(diff) => {
                    let lines: Vec<&str> =
                        diff.hunks.iter().flat_map(|hunk| hunk.lines.iter().map(String::as_str)).collect();
                    fence("diff", &redactor.text(&lines.join("\n")), out);
                }
                _ => fence("", &redactor.text(&words(&result.content)), out),
            }
        }
        Message::BashExecution(run) => {
            out.push_str("\n**Your command**\n\n");
            fence("", &redactor.text(&format!("$ {}\n{}", run.command, run.output_with_note())), out);
        }
        Message::Application(_) => {}
        Message::Custom(custom) => write_section("Note", &content_text(&custom.content), redactor, out),
        Message::BranchSummary(_) | Message::CompactionSummary(_) => {}
    }
}

/// An answer, its blocks in order. The model is named before its first words.
fn answer_of(answer: &AssistantMessage, redactor: &mut Redactor, out: &mut String) {
    let model = redactor.text(&answer.model);
    let mut name = Some(if model.is_empty() { "Answer" } else { model.as_str() });
    let mut text = String::new();
    for block in &answer.content {
        match block {
            // Providers divide a text into blocks where they like.
            Block::Text { text: part, .. } => text.push_str(part),
            Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                speech(&mut name, &mut text, redactor, out);
                heading(&mut name, out);
                out.push_str("\n*Thinking:*\n\n");
                for line in redactor.text(thinking.trim()).lines() {
                    out.push_str(&format!("> {line}\n"));
                }
            }
            Block::ToolCall(call) => {
                speech(&mut name, &mut text, redactor, out);
                let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
                out.push_str(&format!("\n**Call of `{}`**\n\n", redactor.text(&call.name)));
                fence("json", &redactor.text(&arguments), out);
            }
            Block::Thinking { .. } | Block::Image { .. } | Block::Unknown(_) => {}
        }
    }
    speech(&mut name, &mut text, redactor, out);
    if let Some(error) = &answer.error_message {
        write_section("Error", error, redactor, out);
    }
}

/// Writes the heading of an answer, unless it is there.
fn heading(name: &mut Option<&str>, out: &mut String) {
    if let Some(name) = name.take() {
        out.push_str(&format!("\n## {name}\n"));
    }
}

/// Writes the text that has been collected.
fn speech(name: &mut Option<&str>, text: &mut String, redactor: &mut Redactor, out: &mut String) {
    let text = std::mem::take(text);
    if !text.trim().is_empty() {
        heading(name, out);
        out.push_str(&format!("\n{}\n", redactor.text(text.trim())));
    }
}

/// A text with its pictures named.
fn content_text(content: &UserContent) -> String {
    let blocks = match content {
        UserContent::Text(text) => return text.clone(),
        UserContent::Blocks(blocks) => blocks,
    };
    let part = |block: &Block| match block {
        Block::Image { .. } => Some(PICTURE.to_owned()),
        block => block.as_text().map(str::to_owned),
    };
    blocks.iter().filter_map(part).collect::<Vec<_>>().join("\n")
}

fn words(content: &[Content]) -> String {
    let text = content.iter().map(|content| match content {
        Content::Text { text } => text.as_str(),
        Content::Image { .. } => PICTURE,
    });
    text.collect::<Vec<_>>().join("\n")
}

/// A code block whose fence is longer than any inside it.
fn fence(language: &str, text: &str, out: &mut String) {
    let mut longest = 0;
    let mut now = 0;
    for c in text.chars() {
        now = if c == '`' { now + 1 } else { 0 };
        longest = longest.max(now);
    }
    let fence = "`".repeat((longest + 1).max(3));
    out.push_str(&format!("{fence}{language}\n{}\n{fence}\n", text.trim_end()));
}
