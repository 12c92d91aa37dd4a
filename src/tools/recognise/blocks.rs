//! Private keys in PEM format: on many lines, or on one with escaped line ends.

use super::text::prefix_length;

/// The marks of a block's start and end.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// The longest block, in bytes.
const MAX_LEN: usize = 64 * 1024;

/// A private key in a text.
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The key without the prefixes of its lines.
    pub(super) value: String,
    /// False if the text ends before the key does.
    pub(super) closed: bool,
}

/// The length of the mark (`-----BEGIN …-----`) at the start of `text`, if it is that of a private key.
fn label(text: &str, mark: &str) -> Option<usize> {
    let rest = text.strip_prefix(mark)?;
    let (name, _) = rest.split_once(DASHES).filter(|(name, _)| name.len() <= 40)?;
    let private = name.ends_with("PRIVATE KEY") || name == "PGP PRIVATE KEY BLOCK";
    private.then_some(mark.len() + name.len() + DASHES.len())
}

/// One line of a block, and its end in the text, including the line end.
struct Line<'t> {
    text: &'t str,
    end: usize,
    broken: bool,
}

/// The next line from `at`. Line ends may be written as `\n`.
fn line(text: &str, at: usize) -> Option<Line<'_>> {
    // No line of a key is longer.
    let most = text.floor_char_boundary(text.len().min(at + 8 * 1024));
    let rest = text.get(at..most).filter(|rest| !rest.is_empty())?;
    let real = memchr::memchr(b'\n', rest.as_bytes());
    let shown = real.and_then(|real| rest.get(..real)).unwrap_or(rest);
    let (length, mark) = match shown.find("\\n") {
        Some(written) => (written, 2),
        None => (shown.len(), usize::from(real.is_some())),
    };
    Some(Line { text: rest.get(..length)?, end: at + length + mark, broken: mark > 0 })
}

/// The part of a line that belongs to the block (base64 or a header), without its surroundings. `None` if
/// the line is not part of a block.
fn body(line: &str) -> Option<&str> {
    let line = line.get(prefix_length(line)..)?;
    let outer = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '\\' | '|' | '>' | '#' | '*');
    let trimmed = line.trim_matches(outer).trim_end_matches([';', ')']).trim_end_matches(outer);
    let trimmed = trimmed.strip_suffix("\" +").unwrap_or(trimmed).trim_end_matches(outer);
    let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-');
    let header = trimmed.split_once(": ").is_some_and(|(name, _)| {
        matches!(name.trim_start_matches(['+', '-']), "Proc-Type" | "DEK-Info" | "Version" | "Comment")
    });
    (header || trimmed.chars().all(base64)).then_some(trimmed)
}

/// The private key whose `-----BEGIN ` is at `at`.
pub(super) fn block(text: &str, at: usize) -> Option<Block> {
    let mark = label(text.get(at..)?, BEGIN)?;
    let mut end = at + mark;
    let mut lines = Vec::new();
    let mut at_line = end;
    while let Some(line) = line(text, at_line).filter(|line| line.end - at <= MAX_LEN) {
        if let Some(found) = line.text.find(END) {
            let before = line.text.get(..found)?;
            let Some(mark) = label(line.text.get(found..)?, END) else {
                // The rest of the mark has not arrived yet.
                let cut = !line.broken && line.text.len() - found < 60;
                let value = String::new();
                return cut.then_some(Block { start: at, end: text.len(), value, closed: false });
            };
            let stop = at_line + found + mark;
            // Code that names both marks has no key between them.
            body(before)?;
            let any = before.chars().any(|c| c.is_ascii_alphanumeric())
                || lines.iter().any(|line: &&str| !line.is_empty());
            return any.then(|| Block { start: at, end: stop, value: value(text, at, stop), closed: true });
        }
        let Some(part) = body(line.text) else { break };
        lines.push(part);
        if !part.is_empty() {
            end = at_line + line.text.len();
        }
        let broken = line.broken;
        at_line = line.end;
        if !broken {
            break;
        }
    }
    let any = lines.iter().any(|line| !line.is_empty());
    any.then(|| Block { start: at, end, value: value(text, at, end), closed: at_line < text.len() })
}

/// True if the `-----BEGIN ` at `at` may start a key that has not fully arrived yet.
pub(super) fn may_continue(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let label_cut = rest.len() < 60 && !rest.contains('\n');
    let begun =
        label(rest, BEGIN).is_some_and(|mark| rest.get(mark..).is_some_and(|rest| rest.trim().is_empty()));
    label_cut || begun || block(text, at).is_some_and(|block| !block.closed)
}

/// The rest of a private key of which the text has only the end: its start, given the `-----END ` at `at`,
/// and its end. Only lines after `from` are considered.
pub(super) fn tail(text: &str, from: usize, at: usize) -> Option<Block> {
    let stop = at + label(text.get(at..)?, END)?;
    let from = from.max(text.floor_char_boundary(at.saturating_sub(MAX_LEN)));
    let mut start = at;
    let before = text.get(from..at)?;
    let line_start = before.rfind('\n').map_or(from, |found| from + found + 1);
    let mut lines = 0;
    let mut end = line_start;
    while end > from {
        let above = text.get(from..end - 1)?;
        let begin = above.rfind('\n').map_or(from, |found| from + found + 1);
        let line = text.get(begin..end - 1)?;
        if body(line).is_none_or(|body| body.len() < 16) {
            break;
        }
        (start, end, lines) = (begin, begin, lines + 1);
    }
    (lines > 0).then(|| Block { start, end: stop, value: value(text, start, stop), closed: true })
}

/// The key as in its file, without line numbers added by tools.
fn value(text: &str, start: usize, end: usize) -> String {
    let all = text.get(start..end).unwrap_or_default();
    let line_start = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let first = text.get(line_start..end).unwrap_or_default();
    if prefix_length(first.lines().next().unwrap_or_default()) == 0 {
        return all.to_owned();
    }
    let strip = |(index, line): (usize, &str)| {
        let from = if index == 0 { 0 } else { prefix_length(line) };
        line.get(from..).unwrap_or_default().to_owned()
    };
    all.split_inclusive('\n').enumerate().map(strip).collect()
}
