//! A session as markdown: what was said as it was written, calls and results as code.

use super::{parted, title};
use crate::agent::protocol::message::{Block, Message};
use crate::agent::secrets::redact::Mask;
use crate::agent::session::Session;
use crate::agent::session::entry::{Body, Entry};
use crate::tools::{Content, Details};

/// The whole document.
pub(super) fn text(session: &Session, mask: &mut Mask) -> String {
    let info = session.info();
    let mut out = format!("# {}\n\n", mask.text(&title(session)));
    out.push_str(&format!("Session `{}` in `{}`.\n", info.id, mask.text(&info.cwd.display().to_string())));
    let (path, beside) = parted(session);
    path.iter().for_each(|entry| add(entry, mask, &mut out));
    if !beside.is_empty() {
        out.push_str("\n---\n\n# Other branches\n");
        beside.iter().for_each(|entry| add(entry, mask, &mut out));
    }
    out
}

fn add(entry: &Entry, mask: &mut Mask, out: &mut String) {
    match &entry.body {
        Body::Message { message } => message_of(message, mask, out),
        Body::Compaction { summary, .. } => said("Summary of the earlier part", summary, mask, out),
        Body::BranchSummary { summary, .. } => said("Summary of a branch that was left", summary, mask, out),
        Body::CustomMessage { content, .. } => said("Note", &content.text(), mask, out),
        _ => {}
    }
}

fn said(who: &str, text: &str, mask: &mut Mask, out: &mut String) {
    if !text.trim().is_empty() {
        out.push_str(&format!("\n## {who}\n\n{}\n", mask.text(text.trim())));
    }
}

fn message_of(message: &Message, mask: &mut Mask, out: &mut String) {
    match message {
        Message::User(user) => said("You", &user.content.text(), mask, out),
        Message::Assistant(answer) => {
            said(&format!("tau ({})", answer.model), &answer.text(), mask, out);
            for block in &answer.content {
                match block {
                    Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                        out.push_str("\n*Thinking:*\n\n");
                        for line in mask.text(thinking.trim()).lines() {
                            out.push_str(&format!("> {line}\n"));
                        }
                    }
                    Block::ToolCall(call) => {
                        let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
                        out.push_str(&format!("\n**Call of `{}`**\n\n", call.name));
                        fence("json", &mask.text(&arguments), out);
                    }
                    _ => {}
                }
            }
            if let Some(error) = &answer.error_message {
                said("It failed", error, mask, out);
            }
        }
        Message::ToolResult(result) => {
            let failed = if result.is_error { ", which failed" } else { "" };
            out.push_str(&format!("\n**Result of `{}`{failed}**\n\n", result.tool_name));
            match &result.details {
                Details::Diff(diff) => {
                    let lines: Vec<&str> =
                        diff.hunks.iter().flat_map(|hunk| hunk.lines.iter().map(String::as_str)).collect();
                    fence("diff", &mask.text(&lines.join("\n")), out);
                }
                _ => fence("", &mask.text(&words(&result.content)), out),
            }
        }
        Message::BashExecution(run) => {
            out.push_str("\n**Your command**\n\n");
            fence("", &mask.text(&format!("$ {}\n{}", run.command, run.output)), out);
        }
        Message::Custom(custom) => said("Note", &custom.content.text(), mask, out),
        Message::BranchSummary(_) | Message::CompactionSummary(_) => {}
    }
}

fn words(content: &[Content]) -> String {
    let text = content.iter().map(|content| match content {
        Content::Text { text } => text.as_str(),
        Content::Image { .. } => "[a picture]",
    });
    text.collect::<Vec<_>>().join("\n")
}

/// A code block whose fence is longer than any in it.
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
