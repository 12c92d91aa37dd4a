//! Lists to choose from, on the screen: a query, rows, and for sessions their last exchange.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame};
use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::app::picker::{Picker, PickerKind, PickerRow};
use crate::app::printable::{Printable, printable_line};

/// Least width of a window with a preview next to the list, in cells.
const SIDE: u16 = 110;
/// Rows of a preview below the list.
const BELOW: u16 = 5;

/// Draws a list; the cursor, and how many rows fit.
pub fn draw(picker: &Picker, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let hint = match picker.kind {
        PickerKind::Sessions { .. } if picker.renaming().is_some() => "enter renames · esc back",
        PickerKind::Sessions { all: false } => {
            "enter opens · tab all · ctrl+r renames · ctrl+d deletes · esc closes"
        }
        PickerKind::Sessions { all: true } => {
            "enter opens · tab here · ctrl+r renames · ctrl+d deletes · esc closes"
        }
        PickerKind::StoredKeys => "type to filter · enter removes it · esc closes",
        PickerKind::Models
        | PickerKind::Thinking
        | PickerKind::Themes
        | PickerKind::Providers
        | PickerKind::Prompts
        | PickerKind::Palette
        | PickerKind::Forks => "type to filter · enter chooses · esc closes",
    };
    let sessions = matches!(picker.kind, PickerKind::Sessions { .. });
    let wanted = picker.rows().len().max(1).min(usize::from(area.height)) as u16 + 1;
    let side = sessions && area.width >= SIDE;
    let below = if sessions && !side && area.height >= 20 { BELOW } else { 0 };
    let wanted = if side { wanted.max(14) } else { wanted.saturating_add(below) };
    let inner = frame(&picker.title, hint, wanted, theme, area, buffer);
    let inner = preview(picker, side, below, theme, inner, buffer);
    let more = if picker.loading { "…" } else { "" };
    let count = format!("{}/{}{more}", picker.count(), picker.rows().len());
    let query = printable_line(picker.query()).into_owned();
    let column = 2 + wrap::cells(&query) as u16;
    let left = vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(query)];
    let right = vec![Span::styled(count, theme.style(ThemeToken::Muted))];
    buffer.set_line(inner.x, inner.y, &both_ends(left, right, inner.width), inner.width);
    let height = usize::from(inner.height.saturating_sub(1));
    if picker.count() == 0 {
        let text = match (picker.rows().is_empty(), picker.loading) {
            (true, true) => "loading…",
            (true, false) => picker.empty,
            (false, _) if picker.search.is_some() => "searching messages…",
            (false, _) => "no matches",
        };
        let line = Line::styled(text, theme.style(ThemeToken::Muted));
        buffer.set_line(inner.x, inner.y + 1, &line, if height > 0 { inner.width } else { 0 });
    }
    let first = picker.selected().saturating_sub(height / 2).min(picker.count().saturating_sub(height));
    let columns = note_columns(picker, inner.width);
    for (offset, (row, marks)) in picker.shown().skip(first).take(height).enumerate() {
        let y = inner.y + 1 + offset as u16;
        let selected = first + offset == picker.selected();
        if selected {
            let bar = Rect { y, height: 1, ..inner };
            buffer.set_style(bar, theme.style(ThemeToken::OverlaySelected));
        }
        let said = picker.is_found(&row.key) && marks.is_empty();
        let note = match (picker.renaming().filter(|_| selected), said) {
            _ if picker.to_delete() == Some(row.key.as_str()) => Note::ConfirmDelete,
            (Some(name), _) => Note::Renaming(name.to_owned()),
            (None, true) => Note::TextMatch,
            (None, false) => Note::Plain,
        };
        let line = list_row(row, marks, &note, &columns, theme, inner.width);
        buffer.set_line(inner.x, y, &line, inner.width);
    }
    let cursor = (inner.x + column.min(inner.width.saturating_sub(1)), inner.y);
    (Some(cursor), height as u16)
}

/// Shown before a session is deleted.
const CONFIRM_DELETE: &str = "ctrl+d again deletes it";
/// Least width with room for it next to the title, not in its place.
const BESIDE: u16 = 40;

/// What is at the end of a row.
enum Note {
    Plain,
    /// The words are not in its title but in its messages.
    TextMatch,
    ConfirmDelete,
    /// The name that is being typed replaces the title.
    Renaming(String),
}

/// Draws the last exchange next to the list or below it; the area that is left.
fn preview(picker: &Picker, side: bool, below: u16, theme: &Theme, inner: Rect, buffer: &mut Buffer) -> Rect {
    let (list, place) = if side {
        let width = inner.width * 3 / 5;
        let list = Rect { width, ..inner };
        (list, Rect { x: inner.x + width + 1, width: (inner.width - width).saturating_sub(2), ..inner })
    } else if below > 0 && inner.height > below + 1 {
        let height = inner.height - below;
        (
            Rect { height, ..inner },
            Rect { x: inner.x + 2, y: inner.y + height, width: inner.width.saturating_sub(3), height: below },
        )
    } else {
        return inner;
    };
    let Some(words) = &picker.preview else { return list };
    let mut rows: Vec<Line<'static>> = Vec::new();
    let each = usize::from(place.height) / 2;
    for (who, text) in [("you", &words.user), ("tau", &words.model)] {
        let text = Printable::new(text);
        if text.trim().is_empty() {
            continue;
        }
        let head = Span::styled(format!("{who}: "), theme.style(ThemeToken::Accent));
        let body = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = Line::from(vec![head, Span::styled(body, theme.style(ThemeToken::Muted))]);
        rows.extend(wrap::wrap(&line, place.width, 0).into_iter().take(each.max(1)));
    }
    for (y, row) in (place.top()..place.bottom()).zip(&rows) {
        buffer.set_line(place.x, y, row, place.width);
    }
    list
}

/// Widths of the columns of the notes, so that they are aligned. Where notes would take more than
/// half of a row, the last columns are left out.
fn note_columns(picker: &Picker, width: u16) -> Vec<usize> {
    let mut columns: Vec<usize> = Vec::new();
    for (row, _) in picker.shown() {
        for (at, part) in row.note.split(COLUMN).enumerate() {
            let cells = wrap::cells(part);
            match columns.get_mut(at) {
                Some(most) => *most = cells.max(*most),
                None => columns.push(cells),
            }
        }
    }
    let taken = |columns: &[usize]| columns.iter().map(|cells| cells + wrap::cells(COLUMN)).sum::<usize>();
    while columns.len() > 1 && taken(&columns) > usize::from(width / 2) {
        columns.pop();
    }
    columns
}

/// What sets the columns of a note apart.
const COLUMN: &str = " · ";

/// A note in its columns.
fn aligned(note: &str, columns: &[usize]) -> String {
    let parts: Vec<&str> = note.split(COLUMN).collect();
    if parts.len() < 2 {
        return note.to_owned();
    }
    let part = |(part, width): (&&str, &usize)| {
        format!("{}{part}", " ".repeat(width.saturating_sub(wrap::cells(part))))
    };
    parts.iter().zip(columns).map(part).collect::<Vec<_>>().join(COLUMN)
}

fn list_row(
    row: &PickerRow,
    marks: &[usize],
    note: &Note,
    columns: &[usize],
    theme: &Theme,
    width: u16,
) -> Line<'static> {
    if let Note::Renaming(name) = note {
        let prompt = Span::styled("name: ", theme.style(ThemeToken::Accent));
        return Line::from(vec![prompt, Span::raw(printable_line(name).into_owned()), Span::raw("▏")]);
    }
    let mark = if row.current { "● " } else { "  " };
    let mut left = vec![Span::styled(mark, theme.style(ThemeToken::Accent))];
    if matches!(note, Note::ConfirmDelete) && width < BESIDE {
        left.push(Span::styled(CONFIRM_DELETE, theme.style(ThemeToken::Error)));
        return Line::from(left);
    }
    let marked = theme.style(ThemeToken::MatchMark);
    let weight = if row.dimmed { theme.style(ThemeToken::Muted) } else { Style::new() };
    let mut plain = String::new();
    for (at, c) in row.title.char_indices() {
        if marks.contains(&at) {
            left.push(Span::styled(std::mem::take(&mut plain), weight));
            left.push(Span::styled(c.to_string(), marked));
        } else {
            plain.push(c);
        }
    }
    left.push(Span::styled(plain, weight));
    let right = match note {
        Note::ConfirmDelete => Span::styled(CONFIRM_DELETE, theme.style(ThemeToken::Error)),
        Note::TextMatch => Span::styled(
            format!("text match · {}", aligned(&row.note, columns)),
            theme.style(ThemeToken::Muted),
        ),
        Note::Plain | Note::Renaming(_) => {
            Span::styled(aligned(&row.note, columns), theme.style(ThemeToken::Muted))
        }
    };
    both_ends(left, vec![right], width)
}
