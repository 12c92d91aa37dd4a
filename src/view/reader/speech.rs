//! The transcript as spoken lines: the speaker, each call and its result, text in sentences.
//!
//! The lines of an entry only grow while it does, so the number of spoken lines is enough to know: it is the
//! row of [`FrameLayout::printed`](tau_app::geometry::FrameLayout::printed).

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::memo::Memo;
use crate::row::Row;
use crate::{panel, parts, transcript};
use tau_app::Model;
use tau_app::blocks::{MarkdownBlock, MarkdownBlocks};
use tau_app::geometry::{Anchor, EntryId};
use tau_app::transcript::panel::{CallState, ToolPanel};
use tau_app::transcript::{EntryBody, TranscriptEntry};
use tau_protocol::event::NoticeLevel;

/// The maximum number of lines spoken at once, so that a frame stays small.
const AT_ONCE: usize = 200;
/// The minimum length of a sentence, in bytes: `1.` and `e.g.` do not end one.
const MIN_SENTENCE: usize = 20;

/// The lines that have not been spoken yet.
#[derive(Debug, Default)]
pub(super) struct UnspokenLines {
    pub lines: Vec<String>,
    /// The end of the transcript that has been spoken, including them.
    pub printed: Option<Anchor>,
    /// True if there are more.
    pub more: bool,
}

impl UnspokenLines {
    /// Finds them; nothing is spoken before the session is open.
    pub fn find(model: &Model, memo: &mut Memo, width: u16) -> Self {
        let entries = model.transcript.entries();
        if model.status.mirror.session.id.is_empty() {
            return UnspokenLines::default();
        }
        let mut unsaid = UnspokenLines::default();
        let (mut index, mut said) = match model.transcript.printed {
            Some(printed) => {
                let index = entries.partition_point(|entry| entry.id < printed.entry);
                let is_same = entries.get(index).is_some_and(|entry| entry.id == printed.entry);
                (index, if is_same { printed.row as usize } else { 0 })
            }
            None => {
                let is_prompt = |entry: &TranscriptEntry| matches!(entry.body, EntryBody::User { .. });
                let last = entries.iter().rposition(is_prompt).unwrap_or(0);
                if entries.iter().take(last).any(is_prompt) {
                    unsaid.lines.push("Earlier messages of this session are not read out.".to_owned());
                }
                (last, 0)
            }
        };
        while let Some(entry) = entries.get(index) {
            let (lines, is_complete) = lines(model, memo, entry, said, width);
            let count = lines.len().max(said);
            unsaid.lines.extend(lines.into_iter().skip(said));
            if !is_complete {
                said = count;
                break;
            }
            (index, said) = (index + 1, 0);
            if unsaid.lines.len() > AT_ONCE {
                unsaid.more = index < entries.len();
                break;
            }
        }
        let entry = match entries.get(index) {
            Some(entry) => entry.id,
            None => EntryId(entries.last().map_or(i64::MIN, |last| last.id.0.saturating_add(1))),
        };
        unsaid.printed = Some(Anchor { entry, part: 0, row: u32::try_from(said).unwrap_or(u32::MAX) });
        unsaid
    }
}

/// The lines of an entry, of which `said` have been spoken, and whether these are all.
fn lines(
    model: &Model,
    memo: &mut Memo,
    entry: &TranscriptEntry,
    said: usize,
    width: u16,
) -> (Vec<String>, bool) {
    let is_complete = transcript::is_finished(model, entry, None);
    let rows = |memo: &mut Memo| -> Vec<String> {
        let all = (0..parts::count(model, entry)).map(|part| parts::rows(model, memo, entry, part, width));
        all.collect::<Vec<_>>().iter().flat_map(|rows| rows.iter()).filter_map(plain).collect()
    };
    match &entry.body {
        EntryBody::User { text, .. } => (with_speaker("You", text.lines().map(str::to_owned)), true),
        EntryBody::Answer(blocks) => (with_speaker("Assistant", sentences(blocks, is_complete)), is_complete),
        EntryBody::Thinking { blocks, .. } if model.transcript.is_open(entry) => {
            (with_speaker("Thinking", sentences(blocks, is_complete)), is_complete)
        }
        EntryBody::Tool(tool) => {
            let is_over = model.status.run.is_none() || tool.state.is_over();
            let mut lines = Vec::new();
            if said > 0 || tool.state == CallState::Running {
                lines.push(format!("{}, running", call(tool)));
            }
            if is_over {
                lines.push(describe_finished_call(model, memo, tool));
                if !model.transcript.is_grouped(entry) {
                    lines.extend(parts::rows(model, memo, entry, 1, width).iter().filter_map(plain));
                }
            }
            (lines, is_over)
        }
        EntryBody::Command(command) => {
            let mut lines = Vec::new();
            if said > 0 || !is_complete {
                lines.push(format!("Command: {}, running", command.command.as_str()));
            }
            if is_complete {
                lines.extend(with_speaker("Command", rows(memo)));
            }
            (lines, is_complete)
        }
        EntryBody::RunEnd(_) => {
            let words = |line: String| line.replace('↑', "sent ").replace('↓', "received ");
            (with_speaker("Done", rows(memo).into_iter().map(words)), true)
        }
        EntryBody::Notice { level, text, hint } => {
            let who = match level {
                NoticeLevel::Info => "Notice",
                NoticeLevel::Warning => "Warning",
                NoticeLevel::Error => "Error",
            };
            let hints = hint.iter().flat_map(|hint| hint.lines());
            (with_speaker(who, text.lines().chain(hints).map(str::to_owned)), true)
        }
        EntryBody::Welcome => (rows(memo).iter().map(|row| words(row)).collect(), is_complete),
        EntryBody::Earlier { .. } | EntryBody::Summary { .. } | EntryBody::Thinking { .. } => {
            (if is_complete { rows(memo) } else { Vec::new() }, is_complete)
        }
    }
}

/// Lines, with the speaker before the first.
fn with_speaker(who: &str, lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let lines = lines.into_iter().filter(|line| !line.trim().is_empty());
    let named = |(at, line): (usize, String)| if at == 0 { format!("{who}: {line}") } else { line };
    lines.enumerate().map(named).collect()
}

fn call(tool: &ToolPanel) -> String {
    format!("{}: {}", tool.name.as_str(), tool.title.as_str())
}

/// A call and its result.
fn describe_finished_call(model: &Model, memo: &Memo, tool: &ToolPanel) -> String {
    let outcome: String =
        panel::outcome_spans(tool, model.clock(), memo.theme()).iter().map(|span| &*span.content).collect();
    let failed = if tool.state == CallState::Failed { "failed" } else { "" };
    let parts = [
        call(tool),
        failed.to_owned(),
        outcome.trim().trim_start_matches("✗ ").replace(" ✗ ", ", ").replace(" · ", ", "),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The spoken form of a row: its text verbatim, marks as words, decoration left out.
fn plain(row: &Row) -> Option<String> {
    let columns = row.text_columns();
    let (start, end) = match (columns.first(), columns.last()) {
        (Some(first), Some(last)) => (first.start, last.end),
        _ => (u16::MAX, u16::MAX),
    };
    let marks = |from: u16, to: u16| -> String {
        let cells = row.clusters().filter(|cell| (from..to).contains(&cell.column));
        words(&cells.map(|cell| cell.text).collect::<String>())
    };
    let text = row.text(0..u16::MAX).replace('\t', ", ");
    let parts = [marks(0, start), text.trim_end().to_owned(), marks(end, u16::MAX)];
    let line = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    (!line.trim().is_empty()).then_some(line)
}

/// Text without drawing characters; a comma separates distant parts.
pub(super) fn words(text: &str) -> String {
    let is_drawn = |c: char| matches!(c, '\u{2500}'..='\u{25ff}' | '\u{2800}'..='\u{28ff}' | '✻' | '✗' | '✓' | '≡' | '⋯' | 'τ' | '•' | '›');
    let kept: String = text.chars().map(|c| if is_drawn(c) { ' ' } else { c }).collect();
    kept.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The text of blocks in lines and sentences: complete ones or, at the end, all.
fn sentences(blocks: &MarkdownBlocks, is_complete: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks.closed_blocks() {
        block_lines(block, true, &mut lines);
    }
    if let Some(open) = blocks.open() {
        block_lines(&open, is_complete, &mut lines);
    }
    lines
}

fn block_lines(block: &MarkdownBlock, is_closed: bool, lines: &mut Vec<String>) {
    match block {
        MarkdownBlock::Markdown(text) => lines.extend(pieces(text, is_closed).filter_map(strip_marks)),
        MarkdownBlock::Code { lang, text, part, .. } => {
            if part.starts() {
                lines.push(if lang.is_empty() { "Code:".to_owned() } else { format!("Code, {lang}:") });
            }
            let whole = |line: &&str| is_closed || line.ends_with('\n');
            let shown = text.split_inclusive('\n').filter(whole).map(str::trim_end);
            lines.extend(shown.filter(|line| !line.is_empty()).map(str::to_owned));
            if is_closed && part.ends() {
                lines.push("End of code.".to_owned());
            }
        }
    }
}

/// Markdown split after lines and sentences. The rest is a piece only if nothing follows.
fn pieces(text: &str, is_whole: bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut next = rest.char_indices().skip(1).map(|(_, c)| c);
        let end = rest.char_indices().find_map(|(at, c)| {
            let follows = next.next();
            let ends = match c {
                '\n' => true,
                '.' | '!' | '?' | ':' | ';' => at >= MIN_SENTENCE && follows.is_some_and(char::is_whitespace),
                '。' | '！' | '？' => true,
                _ => false,
            };
            ends.then_some(at + c.len_utf8())
        });
        let end = end.or(is_whole.then_some(rest.len()))?;
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(piece)
    })
}

/// A piece of markdown without its marks; `None` if nothing remains.
fn strip_marks(piece: &str) -> Option<String> {
    let line = piece.trim();
    let line = match line.strip_prefix('|') {
        Some(row) if row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) => return None,
        Some(row) => {
            row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ")
        }
        None => without_marks(line),
    };
    // The remaining marks were split between sentences.
    let line = line.replace("**", "").replace("__", "").replace("~~", "").replace('`', "");
    (!line.trim().is_empty()).then_some(line)
}

/// The text of a line of markdown. A list number stays, a checkbox becomes a word.
fn without_marks(line: &str) -> String {
    let mut text = String::new();
    for event in Parser::new_ext(line, Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::List(Some(number))) => text.push_str(&format!("{number}. ")),
            Event::TaskListMarker(done) => text.push_str(if done { "done: " } else { "to do: " }),
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::Start(_) | Event::End(_) | Event::Rule => {}
            // Not enabled.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_come_when_they_are_over_and_never_change() {
        let text = "# Title\n\nThis is the first sentence. And e.g. this is the second one! A third\none over two \
                    lines.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {\n\n}\n```\n\n1. **bold** `code`\n";
        let mut blocks = MarkdownBlocks::default();
        let mut said: Vec<String> = Vec::new();
        for c in text.chars() {
            blocks.push(c.encode_utf8(&mut [0; 4]));
            let now = sentences(&blocks, false);
            assert!(now.len() >= said.len() && now[..said.len()] == said, "{said:?} became {now:?}");
            said = now;
        }
        assert!(said.iter().any(|line| line == "This is the first sentence."), "{said:?}");
        blocks.finish();
        let all = sentences(&blocks, true);
        assert_eq!(all[..said.len()], said);
        let expected = [
            "Title", "This is the first sentence.", "And e.g. this is the second one!", "A third",
            "one over two lines.", "a, b", "1, 2", "Code, rust:", "fn main() {", "}", "End of code.",
            "1. bold code",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn marks_of_markdown_are_not_said() {
        let said = [
            ("### A *small* title", Some("A small title")),
            ("- [ ] open task", Some("to do: open task")),
            ("- [x] done task", Some("done: done task")),
            ("see [the page](https://example.com/some/path).", Some("see the page.")),
            ("> a _quote_ of ~~old~~ `code`", Some("a quote of old code")),
            ("**half of it is", Some("half of it is")),
            ("snake_case and 2 * 3 * 4", Some("snake_case and 2 * 3 * 4")),
            ("---", None),
        ];
        for (piece, expected) in said {
            assert_eq!(strip_marks(piece).as_deref(), expected, "{piece}");
        }
    }

    #[test]
    fn drawings_are_not_said() {
        assert_eq!(words("└ 48 more lines · ctrl+o"), "48 more lines · ctrl+o");
        assert_eq!(words("│ > query      3/12 │"), "> query, 3/12");
        assert_eq!(words("──────"), "");
    }
}
