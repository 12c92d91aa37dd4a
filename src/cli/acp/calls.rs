//! Tool calls in the client's form: their kind, their files, their output.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Content as ShownContent, ContentBlock, Diff, ImageContent, TextContent, ToolCallContent,
    ToolCallLocation, ToolKind,
};
use serde_json::{Map, Value, json};

use crate::headless::prompts;
use tau_app::ansi;
use tau_tools::{Content, Details, FileDiff, Hunk, TerminalOutput, ToolOutput, paths};

/// The kind of a tool, by its name.
pub(crate) fn kind(tool: &str) -> ToolKind {
    match tau_tools::ToolKind::of(tool) {
        tau_tools::ToolKind::Read => ToolKind::Read,
        tau_tools::ToolKind::Write => ToolKind::Edit,
        tau_tools::ToolKind::Command => ToolKind::Execute,
        tau_tools::ToolKind::Search | tau_tools::ToolKind::ToolSearch => ToolKind::Search,
        tau_tools::ToolKind::Web => ToolKind::Fetch,
        tau_tools::ToolKind::Other => ToolKind::Other,
    }
}

/// The files of a call, from its arguments.
pub(crate) fn locations(cwd: &Path, args: &Value) -> Vec<ToolCallLocation> {
    let Some(path) = args.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()) else {
        return Vec::new();
    };
    let line = args.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    vec![ToolCallLocation::new(lossy_path(&paths::resolve(cwd, path))).line(line)]
}

/// A path as text, as JSON requires.
pub(crate) fn lossy_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The output of a call, complete or partial.
pub(crate) fn content(cwd: &Path, output: &ToolOutput) -> Vec<ToolCallContent> {
    match &output.details {
        // The answer of one that has ended is in the content.
        Details::Helper(report) if !report.state.is_over() => vec![text(&fence(&report.steps.join("\n")))],
        Details::Diff(diff) => diffs(cwd, diff),
        Details::Terminal(terminal) => vec![text(&fence(&ansi::plain(&terminal.text)))],
        Details::None
        | Details::Text { .. }
        | Details::Lines(_)
        | Details::Helper(_)
        | Details::Paths { .. }
        | Details::Image { .. } => output.content.iter().map(block).collect(),
    }
}

fn block(content: &Content) -> ToolCallContent {
    match content {
        Content::Text { text: written } => text(&fence(written)),
        Content::Image { data, mime_type } => ToolCallContent::Content(ShownContent::new(
            ContentBlock::Image(ImageContent::new(data.as_str(), mime_type.as_str())),
        )),
    }
}

/// Text that a client shows as markdown.
pub(crate) fn text(markdown: &str) -> ToolCallContent {
    ToolCallContent::Content(ShownContent::new(ContentBlock::Text(TextContent::new(markdown))))
}

/// Text that is shown verbatim.
pub(crate) fn fence(text: &str) -> String {
    prompts::in_fences(text.trim_end())
}

/// A change, hunk by hunk: the old text and the new text.
pub(crate) fn diffs(cwd: &Path, change: &FileDiff) -> Vec<ToolCallContent> {
    let path = lossy_path(&paths::resolve(cwd, &change.path));
    let side = |hunk: &Hunk, other: char| {
        let lines = hunk.lines.iter().filter(|line| !line.starts_with(other));
        lines.fold(String::new(), |mut text, line| {
            text.push_str(line.get(1..).unwrap_or_default());
            text.push('\n');
            text
        })
    };
    let shown = change.hunks.iter().map(|hunk| {
        let old = side(hunk, '+');
        // No old text at all: the file is new, or was empty.
        let is_new = old.is_empty() && hunk.new_start <= 1;
        let old = (!is_new).then_some(old);
        ToolCallContent::Diff(Diff::new(path.as_str(), side(hunk, '-')).old_text(old))
    });
    let mut shown: Vec<ToolCallContent> = shown.collect();
    if change.cut {
        shown.push(text("The change is too large to be shown as a whole."));
    }
    shown
}

/// The first line of a change.
pub(crate) fn change_location(cwd: &Path, change: &FileDiff) -> ToolCallLocation {
    ToolCallLocation::new(lossy_path(&paths::resolve(cwd, &change.path))).line(change.first_changed_line())
}

/// The facts about the end of a call that its content does not show.
pub(crate) fn facts(output: &ToolOutput, duration_ms: Option<u64>) -> Value {
    let mut facts = Map::new();
    if let Some(duration) = duration_ms {
        facts.insert("durationMs".to_owned(), json!(duration));
    }
    match &output.details {
        Details::Terminal(TerminalOutput { exit_code, signal, truncated, full_output_path, .. }) => {
            facts.insert("exitCode".to_owned(), json!(exit_code));
            facts.insert("signal".to_owned(), json!(signal));
            facts.insert("truncated".to_owned(), json!(truncated));
            facts.insert("fullOutputPath".to_owned(), json!(full_output_path));
        }
        Details::Diff(diff) => {
            facts.insert("linesAdded".to_owned(), json!(diff.added));
            facts.insert("linesRemoved".to_owned(), json!(diff.removed));
        }
        Details::Paths { paths, cut } => {
            facts.insert("paths".to_owned(), json!(paths));
            facts.insert("cut".to_owned(), json!(cut));
        }
        Details::Helper(report) => {
            facts.insert("helper".to_owned(), json!(report));
        }
        Details::None | Details::Text { .. } | Details::Lines(_) | Details::Image { .. } => {}
    }
    Value::Object(facts)
}
