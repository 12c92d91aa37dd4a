//! Extracts the message of an error answer from JSON of any known shape or from HTML.

use serde_json::Value;

/// The maximum length of a failure's message, in bytes.
pub const MAX_MESSAGE: usize = 2048;

/// The message of an error object of any known shape.
pub(super) fn message_of(value: &Value) -> Option<String> {
    let value = match value {
        Value::Array(list) => list.first()?,
        other => other,
    };
    let filled =
        |value: &Value| value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let error = value.get("error");
    error
        .and_then(|error| error.get("message").and_then(filled))
        .or_else(|| error.and_then(filled))
        .or_else(|| value.get("message").and_then(filled))
        .or_else(|| value.get("detail").and_then(filled))
        .or_else(|| value.pointer("/detail/0/msg").and_then(filled))
        .or_else(|| value.pointer("/detail/message").and_then(filled))
        .or_else(|| value.pointer("/errors/0/message").and_then(filled))
        .or_else(|| value.pointer("/message/detail/0/msg").and_then(filled))
        .or_else(|| error.filter(|error| error.is_object()).map(Value::to_string))
}

/// A short form of a body that is not JSON of a known shape.
pub(super) fn plain(body: &str, status: u16) -> String {
    let text = body.trim();
    let said = if text.starts_with('<') { page_title(text) } else { text.to_owned() };
    match said.is_empty() {
        true => format!("the server answered with status {status} and no message"),
        false => format!("status {status}: {said}"),
    }
}

/// Whether a body is a page for people, not XML or text.
pub(super) fn is_page(body: &str) -> bool {
    let start: String =
        body.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).chars().take(2048).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with('<')
        && ["<!doctype html", "<html", "<head", "<title", "<body"].iter().any(|tag| start.contains(tag))
}

/// The title of an HTML page, else its text without tags, on one line.
pub(super) fn page_title(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let inside = lower.find("<title").and_then(|start| {
        let open = start + lower.get(start..)?.find('>')? + 1;
        let end = open + lower.get(open..)?.find('<')?;
        html.get(open..end)
    });
    let text = match inside {
        Some(title) if !title.trim().is_empty() => title.to_owned(),
        _ => without_tags(&without_element(&without_element(html, "script"), "style")),
    };
    let text = unescape(&text);
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().filter(|c| !c.is_control()).take(200).collect()
}

/// The page without these elements and their contents.
fn without_element(html: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}"), format!("</{name}"));
    let lower = html.to_ascii_lowercase();
    let (mut text, mut at) = (String::new(), 0);
    while let Some(start) = lower.get(at..).and_then(|rest| rest.find(&open)).map(|start| at + start) {
        text.push_str(html.get(at..start).unwrap_or_default());
        at = match lower.get(start..).and_then(|rest| rest.find(&close)) {
            Some(end) => start + end,
            None => html.len(),
        };
    }
    text.push_str(html.get(at..).unwrap_or_default());
    text
}

/// The text with the character references that titles have.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let name = after.split_once(';').filter(|(name, _)| name.len() <= 8);
        match name.and_then(|(name, after)| Some((resolve_reference(name)?, after))) {
            Some((c, after)) => {
                plain.push(c);
                rest = after;
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain + rest
}

fn resolve_reference(name: &str) -> Option<char> {
    let number = |digits: &str, radix: u32| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        "ndash" => Some('\u{2013}'),
        "mdash" => Some('\u{2014}'),
        _ => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(hex.get(1..)?, 16),
            digits => number(digits, 10),
        },
    }
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars().take(8192) {
        match c {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            _ if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

/// The message, cut to [`MAX_MESSAGE`] bytes.
pub(super) fn shorten(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let mut end = MAX_MESSAGE - '…'.len_utf8();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", message.get(..end).unwrap_or_default())
}
