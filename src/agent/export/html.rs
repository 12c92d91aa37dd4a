//! A session as one page: no network, no other files, in the reader's preferred colours.
//!
//! Content of the session never becomes markup: text is escaped, HTML in answers is shown as text, links lead
//! to the web or nowhere, pictures are embedded data. The page's policy lets only the script below run, which
//! it names by its digest.

use std::fmt::Write;

use std::collections::{HashMap, HashSet};

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, TextMergeStream, html::push_html,
};

use super::calls::{self, picture};
use super::pen::{Highlight, escape_html, escape_with_links, highlight_code};
use super::{Redactor, of_program, partition_entries, title};
use crate::session::Session;
use crate::session::entry::{Body, Entry, iso};
use crate::session::outline::outline;
use tau_protocol::message::{AssistantMessage, Block, Message, ToolResultMessage, UserContent};
use tau_protocol::outline::RowKind;
use tau_tools::counted::pluralize;

const STYLE: &str = include_str!("page.css");
/// The start of every exported page, by which an export is recognised.
pub(super) const START: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
                               <meta http-equiv=\"Content-Security-Policy\" content=\"";
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of [`SCRIPT`] in base64, as `openssl dgst -sha256 -binary page.js | base64` prints it.
pub(super) const DIGEST: &str = "PCjjm2lG2vCzBPWNRFxDUWNjwTr5hqQJTX7X7bnjzaw=";

/// The calls of a session and their results, by the ids of the calls.
#[derive(Default)]
struct Calls<'a> {
    made: HashSet<&'a str>,
    results: HashMap<&'a str, &'a ToolResultMessage>,
}

impl<'a> Calls<'a> {
    /// Collects them from entries; of several results with one id the last counts.
    fn of(entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut calls = Calls::default();
        for entry in entries {
            let Body::Message { message } = &entry.body else { continue };
            match &**message {
                Message::Assistant(answer) => {
                    calls.made.extend(answer.tool_calls().map(|call| call.id.as_str()));
                }
                Message::ToolResult(result) => {
                    calls.results.insert(&result.tool_call_id, result);
                }
                _ => {}
            }
        }
        calls
    }

    /// Whether an entry is shown within the call that it answers.
    fn holds(&self, entry: &Entry) -> bool {
        let Body::Message { message } = &entry.body else { return false };
        matches!(&**message, Message::ToolResult(result) if self.made.contains(result.tool_call_id.as_str()))
    }
}

/// The whole page of a session in which that many secrets are already masked.
pub(super) fn page(session: &Session, masked: usize, highlight: &mut Highlight<'_>) -> String {
    let (path, others) = partition_entries(session);
    let mut main = String::new();
    // Entries on the path take precedence if a call has been answered twice.
    let calls = Calls::of(others.iter().chain(&path).copied());
    for entry in path.iter().filter(|entry| !calls.holds(entry)) {
        article(entry, &calls, highlight, &mut main);
    }
    if !others.is_empty() {
        let count = pluralize(others.len(), "entry");
        let _ = write!(main, "<details class=\"beside\"><summary>other branches ({count})</summary>");
        for entry in others.iter().filter(|entry| !calls.holds(entry)) {
            article(entry, &calls, highlight, &mut main);
        }
        main.push_str("</details>");
    }
    let nav = tree(session);
    let info = session.info();
    let name = escape_html(&title(session, &Redactor::default()));
    let cwd = escape_html(&info.cwd.display().to_string());
    let id = escape_html(&format!("{}{}", info.id, of_program(session)));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{DIGEST}'; base-uri 'none'; \
         form-action 'none'"
    );
    let masked = match masked {
        0 => String::new(),
        1 => " · 1 secret masked".to_owned(),
        count => format!(" · {count} secrets masked"),
    };
    format!(
        "{START}{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{name}</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <nav><input id=\"search\" type=\"search\" placeholder=\"search\" hidden><div id=\"count\" class=\"who\"></div>\n\
         {nav}</nav>\n<main><h1>{name}</h1>\n<p class=\"facts\">session {id} in {cwd} · {}{masked}</p>\n\
         {main}</main>\n<script>{SCRIPT}</script>\n</body></html>\n",
        pluralize(path.len() + others.len(), "entry"),
    )
}

/// The tree as links; rows are indented where it branches.
fn tree(session: &Session) -> String {
    let outline = outline(session.tree());
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
            RowKind::Assistant => "model: ",
            RowKind::Branch | RowKind::Compaction => "summary: ",
            RowKind::Shell | RowKind::Custom => "",
            RowKind::Calls | RowKind::Tool | RowKind::Setting => continue,
        };
        let class = if on.contains(row.id.as_str()) { "on" } else { "" };
        let label = row.label.as_deref().map(|label| format!("[{label}] ")).unwrap_or_default();
        let text = escape_html(&format!("{label}{who}{}", row.text));
        let lead = "  ".repeat(own.min(12));
        let _ = writeln!(out, "<a class=\"{class}\" href=\"#{}\">{lead}{text}</a>", anchor(&row.id));
    }
    out
}

/// The anchor name of an entry: only letters and digits, whatever the id contains.
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

fn article(entry: &Entry, calls: &Calls<'_>, highlight: &mut Highlight<'_>, out: &mut String) {
    let class = match &entry.body {
        Body::Message { message } if matches!(**message, Message::User(_)) => "user",
        _ => "",
    };
    let time = escape_html(&iso(entry.timestamp));
    let _ = write!(out, "<article id=\"{}\" class=\"{class}\" title=\"{time}\">", anchor(&entry.id));
    match &entry.body {
        Body::Message { message } => of_message(message, calls, highlight, out),
        Body::Compaction { summary, .. } => {
            write_section("summary of the earlier conversation", summary, highlight, out);
        }
        Body::BranchSummary { summary, .. } => write_section("branch summary", summary, highlight, out),
        Body::CustomMessage { content, .. } => write_section("note", &content.text(), highlight, out),
        _ => {}
    }
    out.push_str("</article>\n");
}

fn write_section(who: &str, text: &str, highlight: &mut Highlight<'_>, out: &mut String) {
    let _ = write!(out, "<div class=\"who\">{who}</div>");
    markdown(text, highlight, out);
}

fn of_message(message: &Message, calls: &Calls<'_>, highlight: &mut Highlight<'_>, out: &mut String) {
    match message {
        Message::User(user) => {
            plain("plain", &user.content.text(), out);
            if let UserContent::Blocks(blocks) = &user.content {
                for block in blocks {
                    if let Block::Image { data, mime_type } = block {
                        picture(mime_type, data, out);
                    }
                }
            }
        }
        Message::Assistant(answer) => of_answer(answer, calls, highlight, out),
        Message::ToolResult(result) => calls::result(result, out),
        Message::BashExecution(run) => {
            let end = match run.exit_code {
                _ if run.cancelled => " ■".to_owned(),
                None | Some(0) => String::new(),
                Some(code) => format!(" ✗{code}"),
            };
            fold(&format!("your command: {}{end}", run.command), "call", out);
            code(&run.output_with_note(), out);
            out.push_str("</details>");
        }
        Message::Application(_) => {}
        Message::Custom(custom) => write_section("note", &custom.content.text(), highlight, out),
        Message::BranchSummary(branch) => {
            write_section("branch summary", &branch.summary, highlight, out);
        }
        Message::CompactionSummary(summary) => {
            write_section("summary of the earlier conversation", &summary.summary, highlight, out);
        }
    }
}

fn of_answer(answer: &AssistantMessage, calls: &Calls<'_>, highlight: &mut Highlight<'_>, out: &mut String) {
    let _ = write!(out, "<div class=\"who\">{}{}</div>", escape_html(&answer.model), usage_text(answer));
    for block in &answer.content {
        match block {
            Block::Text { text, .. } => markdown(text, highlight, out),
            Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                fold("thinking", "", out);
                plain("plain", thinking, out);
                out.push_str("</details>");
            }
            Block::ToolCall(call) => {
                calls::call(call, calls.results.get(call.id.as_str()).copied(), highlight, out);
            }
            _ => {}
        }
    }
    if let Some(error) = &answer.error_message {
        plain("plain del", error, out);
    }
}

/// The usage of an answer, as far as it is known.
fn usage_text(answer: &AssistantMessage) -> String {
    let usage = &answer.usage;
    let sent = usage.input + usage.cache_read + usage.cache_write;
    let mut text = String::new();
    if sent + usage.output > 0 {
        let _ = write!(text, " · {} in, {} out", pluralize(sent, "token"), usage.output);
    }
    if usage.cost.total > 0.0 {
        let _ = write!(text, " · ${:.4}", usage.cost.total);
    }
    text
}

fn fold(summary: &str, class: &str, out: &mut String) {
    let _ = write!(out, "<details class=\"{class}\"><summary>{}</summary>", escape_html(summary));
}

fn code(text: &str, out: &mut String) {
    let _ = write!(out, "<pre>{}</pre>", escape_html(text));
}

fn plain(class: &str, text: &str, out: &mut String) {
    let _ = write!(out, "<div class=\"{class}\">{}</div>", escape_with_links(text));
}

/// Markdown as HTML, without raw HTML, without pictures from elsewhere, and with links to the web only.
fn markdown(text: &str, highlight: &mut Highlight<'_>, out: &mut String) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut events: Vec<Event<'_>> = Vec::new();
    // The language and the text of the open code block; the number of open links.
    let mut block: Option<(String, String)> = None;
    let mut links = 0_usize;
    for event in TextMergeStream::new(Parser::new_ext(text, options)) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split_whitespace().next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                block = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let (language, code) = block.take().unwrap_or_default();
                let code = highlight_code(&language, &code, highlight);
                events.push(Event::Html(format!("<pre><code>{code}</code></pre>\n").into()));
            }
            Event::Text(part) | Event::Html(part) | Event::InlineHtml(part) => match &mut block {
                Some((_, code)) => code.push_str(&part),
                None if links > 0 => events.push(Event::Text(part)),
                None => events.push(Event::InlineHtml(escape_with_links(&part).into())),
            },
            Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
                links += 1;
                let dest_url = if is_web(&dest_url) { dest_url } else { CowStr::from("#") };
                events.push(Event::Start(Tag::Link { link_type, dest_url, title: CowStr::from(""), id }));
            }
            Event::Start(Tag::Image { link_type, id, .. }) => {
                links += 1;
                let (dest_url, title) = (CowStr::from("#"), CowStr::from(""));
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::End(TagEnd::Image | TagEnd::Link) => {
                links = links.saturating_sub(1);
                events.push(Event::End(TagEnd::Link));
            }
            other => events.push(other),
        }
    }
    push_html(out, events.into_iter());
}

fn is_web(address: &str) -> bool {
    let address = address.trim_start().to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}
