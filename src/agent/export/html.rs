//! A session as one page: no network, no other files, in the colours the reader prefers.
//!
//! Nothing that comes from the session is markup: text is escaped, HTML in answers is shown as
//! text, links lead to the web or nowhere, pictures are embedded data. The page's policy lets no
//! script run but the one written here, which is named by its digest.

use std::fmt::Write;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html::push_html};

use super::{parted, title};
use crate::agent::protocol::message::{AssistantMessage, Block, Message, ToolResultMessage, UserContent};
use crate::agent::secrets::redact::Redactor;
use crate::agent::session::Session;
use crate::agent::session::entry::{Body, Entry, iso};
use crate::agent::session::outline::{Outline, RowKind};
use crate::tools::{Content, Details};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of [`SCRIPT`] in base64, as `openssl dgst -sha256 -binary page.js | base64` prints it.
pub(super) const DIGEST: &str = "PCjjm2lG2vCzBPWNRFxDUWNjwTr5hqQJTX7X7bnjzaw=";
/// Pictures that a page may hold.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The whole page.
pub(super) fn page(session: &Session, redactor: &mut Redactor) -> String {
    let (path, others) = parted(session);
    let mut main = String::new();
    for entry in &path {
        article(entry, redactor, &mut main);
    }
    if !others.is_empty() {
        let count = others.len();
        let _ = write!(main, "<details class=\"beside\"><summary>other branches ({count} entries)</summary>");
        for entry in &others {
            article(entry, redactor, &mut main);
        }
        main.push_str("</details>");
    }
    let nav = tree(session, redactor);
    let info = session.info();
    let name = escaped(&redactor.text(&title(session)));
    let cwd = escaped(&redactor.text(&info.cwd.display().to_string()));
    let id = escaped(&info.id);
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{DIGEST}'; base-uri 'none'; \
         form-action 'none'"
    );
    let masked = match redactor.count() {
        0 => String::new(),
        1 => " · 1 secret masked".to_owned(),
        count => format!(" · {count} secrets masked"),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{name}</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <nav><input id=\"search\" type=\"search\" placeholder=\"search\" hidden><div id=\"count\" class=\"who\"></div>\n\
         {nav}</nav>\n<main><h1>{name}</h1>\n<p class=\"facts\">session {id} in {cwd} · {} entries{masked}</p>\n\
         {main}</main>\n<script>{SCRIPT}</script>\n</body></html>\n",
        path.len() + others.len(),
    )
}

/// The tree as links; rows go to the right where it parts.
fn tree(session: &Session, redactor: &mut Redactor) -> String {
    let outline = Outline::of(session.tree());
    let mut depth: Vec<usize> = Vec::with_capacity(outline.rows.len());
    let mut children = vec![0_usize; outline.rows.len()];
    for parent in outline.rows.iter().filter_map(|row| row.parent) {
        children.get_mut(parent).into_iter().for_each(|count| *count += 1);
    }
    let on: std::collections::HashSet<&str> =
        session.tree().branch().into_iter().map(|entry| &*entry.id).collect();
    let mut out = String::new();
    for row in &outline.rows {
        let above = row.parent.and_then(|parent| Some((*depth.get(parent)?, *children.get(parent)?)));
        let own = above.map_or(0, |(depth, siblings)| depth + usize::from(siblings > 1));
        depth.push(own);
        let who = match row.kind {
            RowKind::User => "you: ",
            RowKind::Assistant => "tau: ",
            RowKind::Branch | RowKind::Compaction => "summary: ",
            RowKind::Shell | RowKind::Custom => "",
            RowKind::Calls | RowKind::Tool | RowKind::Setting => continue,
        };
        let class = if on.contains(row.id.as_str()) { "on" } else { "" };
        let label = row.label.as_deref().map(|label| format!("[{label}] ")).unwrap_or_default();
        let text = escaped(&redactor.text(&format!("{label}{who}{}", row.text)));
        let lead = "  ".repeat(own.min(12));
        let _ = writeln!(out, "<a class=\"{class}\" href=\"#{}\">{lead}{text}</a>", anchor(&row.id));
    }
    out
}

/// The name of an entry's place: letters and digits alone, whatever the id holds.
fn anchor(id: &str) -> String {
    let mut name = "e".to_owned();
    for byte in id.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => name.push(char::from(byte)),
            _ => drop(write!(name, "_{byte:02x}")),
        }
    }
    name
}

fn article(entry: &Entry, redactor: &mut Redactor, out: &mut String) {
    let class = match &entry.body {
        Body::Message { message } if matches!(**message, Message::User(_)) => "user",
        _ => "",
    };
    let time = escaped(&iso(entry.timestamp));
    let _ = write!(out, "<article id=\"{}\" class=\"{class}\" title=\"{time}\">", anchor(&entry.id));
    match &entry.body {
        Body::Message { message } => of_message(message, redactor, out),
        Body::Compaction { summary, .. } => {
            said("summary of the earlier conversation", summary, redactor, out);
        }
        Body::BranchSummary { summary, .. } => said("branch summary", summary, redactor, out),
        Body::CustomMessage { content, .. } => said("note", &content.text(), redactor, out),
        _ => {}
    }
    out.push_str("</article>\n");
}

fn said(who: &str, text: &str, redactor: &mut Redactor, out: &mut String) {
    let _ = write!(out, "<div class=\"who\">{who}</div>");
    markdown(&redactor.text(text), out);
}

fn of_message(message: &Message, redactor: &mut Redactor, out: &mut String) {
    match message {
        Message::User(user) => {
            plain("plain", &redactor.text(&user.content.text()), out);
            if let UserContent::Blocks(blocks) = &user.content {
                for block in blocks {
                    if let Block::Image { data, mime_type } = block {
                        picture(mime_type, data, out);
                    }
                }
            }
        }
        Message::Assistant(answer) => of_answer(answer, redactor, out),
        Message::ToolResult(result) => of_result(result, redactor, out),
        Message::BashExecution(run) => {
            fold(&format!("your command: {}", redactor.text(&run.command)), "", out);
            code(&redactor.text(&run.output), out);
            out.push_str("</details>");
        }
        Message::Custom(custom) => said("note", &custom.content.text(), redactor, out),
        Message::BranchSummary(branch) => {
            said("branch summary", &branch.summary, redactor, out);
        }
        Message::CompactionSummary(summary) => {
            said("summary of the earlier conversation", &summary.summary, redactor, out);
        }
    }
}

fn of_answer(answer: &AssistantMessage, redactor: &mut Redactor, out: &mut String) {
    let _ = write!(out, "<div class=\"who\">{}</div>", escaped(&answer.model));
    for block in &answer.content {
        match block {
            Block::Text { text, .. } => markdown(&redactor.text(text), out),
            Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                fold("thinking", "", out);
                plain("plain", &redactor.text(thinking), out);
                out.push_str("</details>");
            }
            Block::ToolCall(call) => {
                fold(&format!("calls {}", call.name), "", out);
                let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
                code(&redactor.text(&arguments), out);
                out.push_str("</details>");
            }
            _ => {}
        }
    }
    if let Some(error) = &answer.error_message {
        plain("plain del", &redactor.text(error), out);
    }
}

fn of_result(result: &ToolResultMessage, redactor: &mut Redactor, out: &mut String) {
    let class = if result.is_error { "failed" } else { "" };
    let what = match &result.details {
        Details::Diff(diff) => {
            format!("{} {} +{} −{}", result.tool_name, diff.path, diff.added, diff.removed)
        }
        _ => format!("result of {}", result.tool_name),
    };
    fold(&redactor.text(&what), class, out);
    if let Details::Diff(diff) = &result.details {
        out.push_str("<pre>");
        for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let class = match line.chars().next() {
                Some('+') => "add",
                Some('-') => "del",
                _ => "same",
            };
            let _ = write!(out, "<span class=\"{class}\">{}</span>", escaped(&redactor.text(line)));
        }
        out.push_str("</pre>");
    } else {
        for content in &result.content {
            match content {
                Content::Text { text } => code(&redactor.text(text), out),
                Content::Image { data, mime_type } => picture(mime_type, data, out),
            }
        }
    }
    out.push_str("</details>");
}

fn fold(summary: &str, class: &str, out: &mut String) {
    let _ = write!(out, "<details class=\"{class}\"><summary>{}</summary>", escaped(summary));
}

fn code(text: &str, out: &mut String) {
    let _ = write!(out, "<pre>{}</pre>", escaped(text));
}

fn plain(class: &str, text: &str, out: &mut String) {
    let _ = write!(out, "<div class=\"{class}\">{}</div>", escaped(text));
}

fn picture(mime_type: &str, data: &str, out: &mut String) {
    let known = PICTURES.contains(&mime_type);
    let sound = data.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
    if known && sound {
        let _ = write!(out, "<img alt=\"a picture\" src=\"data:{mime_type};base64,{data}\">");
    } else {
        out.push_str("<p class=\"who\">[a picture]</p>");
    }
}

/// Markdown as HTML, without raw HTML, without pictures from elsewhere, and with
/// links to the web only.
fn markdown(text: &str, out: &mut String) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
            let dest_url = if is_web(&dest_url) { dest_url } else { CowStr::from("#") };
            Event::Start(Tag::Link { link_type, dest_url, title: CowStr::from(""), id })
        }
        Event::Start(Tag::Image { link_type, id, .. }) => {
            let (dest_url, title) = (CowStr::from("#"), CowStr::from(""));
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::End(pulldown_cmark::TagEnd::Image) => Event::End(pulldown_cmark::TagEnd::Link),
        other => other,
    });
    push_html(out, events);
}

fn is_web(address: &str) -> bool {
    let address = address.trim_start().to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

/// Text that is nothing but text in a page; control characters are shown as what they are.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
