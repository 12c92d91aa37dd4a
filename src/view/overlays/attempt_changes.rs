//! The changes of attempts: in a wide window the hunks of a place side by side, else below each other.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_lines, whole_width, wide_frame};
use super::list::{report, wrap_text};
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::attempt_changes::{AttemptChanges, ShownHunk, columns};

/// The text between two columns.
const RULE: &str = " │ ";

/// The rows, and which of them the selected hunk begins with.
struct Rows<'a> {
    changes: &'a AttemptChanges,
    theme: &'a Theme,
    width: u16,
    lines: Vec<Line<'static>>,
    selected: usize,
}

/// Draws the changes and returns how many rows fit.
pub(crate) fn draw(
    changes: &AttemptChanges,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = whole_width(area);
    let mut rows = Rows { changes, theme, width, lines: Vec::new(), selected: 0 };
    match &changes.hunks {
        None if changes.said.is_some() => {}
        None => rows.say("loading…"),
        Some(hunks) if hunks.is_empty() => rows.say("(nothing was changed)"),
        Some(hunks) => {
            for file in hunks.chunk_by(|one, other| one.file == other.file) {
                rows.file(file, area.width);
            }
        }
    }
    let said = changes.said.as_ref().map(report);
    let said = said.map_or_else(Vec::new, |(text, token)| wrap_text(&text, theme.style(token), width));
    let title = match (changes.number, changes.marked.len()) {
        (Some(number), 0) => format!("Changes of attempt {number}"),
        (None, 0) => "Changes of all attempts".to_owned(),
        (_, marked) => format!("{marked} marked to be taken"),
    };
    let height = u16::try_from(rows.lines.len() + said.len()).unwrap_or(u16::MAX);
    let hint = "space marks · t takes what is marked · ↑↓←→ moves · esc goes back";
    let inner = wide_frame(&title, hint, height, theme, area, buffer);
    let below = u16::try_from(said.len()).unwrap_or(u16::MAX).min(inner.height.saturating_sub(1));
    let upper = Rect { height: inner.height - below, ..inner };
    let most = rows.lines.len().saturating_sub(usize::from(upper.height));
    // The selected hunk comes below the row that says what it is of.
    let top = if rows.selected <= 2 { 0 } else { rows.selected - 1 };
    let top = (top + changes.shift).min(most);
    draw_lines(rows.lines.get(top..).unwrap_or_default(), upper, buffer);
    draw_lines(&said, Rect { y: upper.bottom(), height: below, ..inner }, buffer);
    (None, upper.height)
}

impl Rows<'_> {
    fn say(&mut self, text: &str) {
        self.lines.push(Line::styled(text.to_owned(), self.theme.style(ThemeToken::Muted)));
    }

    /// Adds the hunks of a file.
    fn file(&mut self, hunks: &[ShownHunk], screen: u16) {
        let Some(first) = hunks.first() else { return };
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let path = self.changes.files.get(first.file).map_or("", |path| path.as_str());
        let attempts = self.changes.attempts_of(first.file);
        let count = columns(screen, attempts.len());
        let mut head = vec![Span::styled(path.to_owned(), self.theme.style(ThemeToken::Accent))];
        if (2..attempts.len()).contains(&count) {
            let text = format!("  {} attempts, ←→ shows the others", attempts.len());
            head.push(Span::styled(text, self.theme.style(ThemeToken::Muted)));
        }
        self.lines.push(Line::from(head));
        if count < 2 {
            for hunk in hunks {
                let title = format!("attempt {}, {}", hunk.attempt, hunk.title.as_str());
                let lines = self.hunk(hunk, &title, self.width);
                self.note(hunk);
                self.lines.extend(lines.into_iter().map(Line::from));
            }
            return;
        }
        let shown = self.visible_attempts(first.file, &attempts, count);
        let rules = RULE.chars().count() * (count - 1);
        let width = u16::try_from(usize::from(self.width).saturating_sub(rules) / count).unwrap_or(1);
        let head = |attempt: &u32| {
            vec![Span::styled(format!("attempt {attempt}"), self.theme.style(ThemeToken::Muted))]
        };
        let heads = shown.iter().map(|attempt| vec![head(attempt)]).collect();
        self.side_by_side(heads, width);
        for place in hunks.chunk_by(|one, other| one.place == other.place) {
            let column = |attempt: &u32| {
                let own = place.iter().filter(|hunk| hunk.attempt == *attempt);
                own.flat_map(|hunk| self.hunk(hunk, hunk.title.as_str(), width)).collect::<Vec<_>>()
            };
            let columns: Vec<_> = shown.iter().map(column).collect();
            if columns.iter().all(Vec::is_empty) {
                continue;
            }
            place.iter().for_each(|hunk| self.note(hunk));
            self.side_by_side(columns, width);
        }
    }

    /// The attempts that have room, among them the selected one.
    fn visible_attempts(&self, file: usize, attempts: &[u32], count: usize) -> Vec<u32> {
        let selected = self.changes.selected_hunk().filter(|hunk| hunk.file == file);
        let at = selected.and_then(|hunk| attempts.iter().position(|attempt| *attempt == hunk.attempt));
        let first = at.unwrap_or(0).saturating_sub(count - 1);
        attempts.iter().copied().skip(first).take(count).collect()
    }

    fn is_selected(&self, hunk: &ShownHunk) -> bool {
        self.changes.selected_hunk().is_some_and(|selected| std::ptr::eq(selected, hunk))
    }

    /// Notes that the next row is the first of this hunk.
    fn note(&mut self, hunk: &ShownHunk) {
        if self.is_selected(hunk) {
            self.selected = self.lines.len();
        }
    }

    /// The rows of a hunk in a column.
    fn hunk(&self, hunk: &ShownHunk, title: &str, width: u16) -> Vec<Vec<Span<'static>>> {
        let hunks = self.changes.hunks.as_deref().unwrap_or_default();
        let index = hunks.iter().position(|other| std::ptr::eq(other, hunk)).unwrap_or(usize::MAX);
        let mark = if self.changes.marked.contains(&index) { "[x]" } else { "[ ]" };
        let token = if self.is_selected(hunk) { ThemeToken::OverlaySelected } else { ThemeToken::Accent };
        let title = wrap::truncate(&format!("{mark} {title}"), width).into_owned();
        let mut rows = vec![vec![Span::styled(title, self.theme.style(token))]];
        for line in hunk.text.as_str().lines() {
            let token = match line.as_bytes() {
                [b'+', ..] => ThemeToken::Success,
                [b'-', ..] => ThemeToken::Error,
                _ => ThemeToken::Text,
            };
            let line = wrap::truncate(line, width).into_owned();
            rows.push(vec![Span::styled(line, self.theme.style(token))]);
        }
        rows
    }

    /// Adds columns next to each other.
    fn side_by_side(&mut self, columns: Vec<Vec<Vec<Span<'static>>>>, width: u16) {
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for _ in 0..height {
            let mut spans = Vec::new();
            for (at, column) in columns.iter_mut().enumerate() {
                if at > 0 {
                    spans.push(Span::styled(RULE, self.theme.style(ThemeToken::Muted)));
                }
                let cell = column.next().unwrap_or_default();
                let used: usize = cell.iter().map(|span| wrap::cells(&span.content)).sum();
                spans.extend(cell);
                spans.push(Span::raw(" ".repeat(usize::from(width).saturating_sub(used))));
            }
            self.lines.push(Line::from(spans));
        }
    }
}
