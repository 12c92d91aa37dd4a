//! Tool calls in a page: one row each, with title and outcome, and the result inside.

use std::fmt::Write;

use super::pen::{Highlight, escape_html, highlight_code};
use crate::session::outline::{action, ending};
use tau_protocol::message::{ToolCall, ToolResultMessage};
use tau_tools::{Content, Details};

/// Types of pictures that a page may contain.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The maximum length of a title that shows a command in full, in characters.
const TITLE: usize = 100;

/// A call and its result, if any.
pub(super) fn call(
    call: &ToolCall,
    result: Option<&ToolResultMessage>,
    highlight: &mut Highlight<'_>,
    out: &mut String,
) {
    let what = action(call, &|_| None);
    let (name, rest) = what.split_once(' ').unwrap_or((&what, ""));
    let title = format!("<b>{}</b> <code>{}</code>", escape_html(name), escape_html(rest));
    begin(&title, result, out);
    arguments(call, result, highlight, out);
    match result {
        Some(result) => content(result, out),
        None => out.push_str("<p class=\"who\">no result</p>"),
    }
    out.push_str("</details>");
}

/// A result whose call is not on the page.
pub(super) fn result(result: &ToolResultMessage, out: &mut String) {
    let title = format!("<b>{}</b>", escape_html(&result.tool_name));
    begin(&title, Some(result), out);
    content(result, out);
    out.push_str("</details>");
}

/// The minimum duration of a call that is shown, in milliseconds, as on the screen.
const WORTH_SAYING: u64 = 500;

fn begin(title: &str, result: Option<&ToolResultMessage>, out: &mut String) {
    let failed = result.is_some_and(|result| result.is_error);
    let class = if failed { "call failed" } else { "call" };
    let mut end = result.map(ending).unwrap_or_default();
    if let Some(Details::Diff(diff)) = result.map(|result| &result.details) {
        let _ = write!(end, " +{} −{}", diff.added, diff.removed);
    }
    if let Some(took) = result.and_then(|result| result.duration_ms).filter(|took| *took >= WORTH_SAYING) {
        let _ = write!(end, " {}", duration(took));
    }
    let _ = write!(
        out,
        "<details class=\"{class}\"><summary>{title}<span class=\"end\">{}</span></summary>",
        escape_html(&end)
    );
}

/// The arguments that neither the title nor the result shows.
fn arguments(
    call: &ToolCall,
    result: Option<&ToolResultMessage>,
    highlight: &mut Highlight<'_>,
    out: &mut String,
) {
    let field = |name: &str| call.arguments.get(name).and_then(serde_json::Value::as_str);
    let succeeded = result.is_some_and(|result| !result.is_error);
    let is_diff = result.is_some_and(|result| matches!(result.details, Details::Diff(_)));
    match (call.name.as_str(), field("command"), field("path"), field("content")) {
        ("bash", Some(command), ..) => {
            if command.contains('\n') || command.chars().count() > TITLE {
                let _ = write!(out, "<pre>{}</pre>", highlight_code("sh", command, highlight));
            }
        }
        ("write", _, Some(path), Some(text)) if !is_diff => {
            let language = path.rsplit('.').next().unwrap_or_default().to_owned();
            let _ = write!(out, "<pre>{}</pre>", highlight_code(&language, text, highlight));
        }
        ("read" | "ls" | "write" | "edit", ..) if succeeded => {}
        _ => {
            let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
            let _ = write!(out, "<pre>{}</pre>", highlight_code("json", &arguments, highlight));
        }
    }
}

fn content(result: &ToolResultMessage, out: &mut String) {
    if let Details::Diff(diff) = &result.details {
        out.push_str("<pre>");
        for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let class = match line.chars().next() {
                Some('+') => "add",
                Some('-') => "del",
                _ => "same",
            };
            let _ = write!(out, "<span class=\"{class}\">{}</span>", escape_html(line));
        }
        out.push_str("</pre>");
        return;
    }
    for content in &result.content {
        match content {
            Content::Text { text } => {
                let _ = write!(out, "<pre>{}</pre>", escape_html(text));
            }
            Content::Image { data, mime_type } => picture(mime_type, data, out),
        }
    }
}

/// A picture that is embedded in the page.
pub(super) fn picture(mime_type: &str, data: &str, out: &mut String) {
    let known = PICTURES.contains(&mime_type);
    let sound = data.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
    if known && sound {
        let _ = write!(out, "<img alt=\"a picture\" src=\"data:{mime_type};base64,{data}\">");
    } else {
        out.push_str("<p class=\"who\">[a picture]</p>");
    }
}

/// A duration in milliseconds, for display.
fn duration(millis: u64) -> String {
    match millis / 1000 {
        0..60 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        seconds => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn durations_are_short() {
        let shown = [0, 240, 59_999, 60_000, 3_725_000].map(super::duration);
        assert_eq!(shown, ["0.0s", "0.2s", "59.9s", "1m00s", "62m05s"]);
    }
}
