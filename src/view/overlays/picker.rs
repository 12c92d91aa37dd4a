//! Lists to choose from: a query, rows, and the last exchange of sessions.

mod preview;

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_lines, frame_within, inner_width};
use super::list::{FilterRow, ListBox};
use crate::highlight::Highlighter;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::picker::{Picker, PickerKind, PickerRow};
use tau_app::printable::printable_line;

/// The minimum width of a window with a preview next to the list, in cells.
const SIDE: u16 = 110;
/// The minimum number of rows of a list with a preview next to it.
const MIN_BESIDE: u16 = 14;
/// The number of rows of a preview below the list.
const BELOW: u16 = 5;

/// Draws a list; returns the cursor, and how many rows fit.
pub fn draw(
    picker: &Picker,
    theme: &Theme,
    highlighter: &mut Highlighter,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let hint = match picker.kind {
        PickerKind::Sessions { all } => &session_keys(picker, all),
        PickerKind::StoredKeys => "type to filter · enter removes it · esc closes",
        PickerKind::Models => "type to filter · enter chooses · space marks a favourite · esc closes",
        PickerKind::Thinking
        | PickerKind::Themes
        | PickerKind::Providers
        | PickerKind::Prompts
        | PickerKind::Palette
        | PickerKind::Checkpoints
        | PickerKind::UndoScope
        | PickerKind::UndoConflict
        | PickerKind::Forks => "type to filter · enter chooses · esc closes",
    };
    let refusal = refusal_rows(picker, theme, inner_width(area));
    let refused = u16::try_from(refusal.len()).unwrap_or(u16::MAX);
    let sessions = matches!(picker.kind, PickerKind::Sessions { .. });
    let side = sessions && area.width >= SIDE;
    let below = if sessions && !side && area.height >= 20 { BELOW } else { 0 };
    let height = |rows: usize| {
        let list = rows.clamp(1, usize::from(area.height).max(1)) as u16 + 1;
        (if side { list.max(MIN_BESIDE) } else { list + below }).saturating_add(refused)
    };
    let (rows, most) = (height(picker.count()), height(picker.rows().len()));
    let inner = frame_within(&picker.title, hint, rows, most, theme, area, buffer);
    // In a small window the query and one row stay.
    let refused = refused.min(inner.height.saturating_sub(2));
    let list_height = inner.height - refused;
    draw_lines(&refusal, Rect { y: inner.y + list_height, height: refused, ..inner }, buffer);
    let inner = Rect { height: list_height, ..inner };
    let inner = preview(picker, side, below, theme, highlighter, inner, buffer);
    let more = if picker.loading { "…" } else { "" };
    let count = format!("{}/{}{more}", picker.count(), picker.rows().len());
    let notes = Notes::of(picker, inner.width);
    let list = ListBox {
        filter: FilterRow::Always(picker.query(), count),
        count: picker.count(),
        selected: Some(picker.selected_index()),
        empty: match (picker.rows().is_empty(), picker.loading) {
            (true, true) => "loading…",
            (true, false) => picker.empty,
            (false, _) if picker.search.is_some() => "searching messages…",
            (false, _) => &no_matches(picker),
        },
        ..ListBox::default()
    };
    let mut row = |index: usize| {
        let Some((row, marks)) = picker.at(index) else { return Line::default() };
        let said = picker.text_match(&row.key).is_some() && marks.is_empty();
        let note = match (picker.renaming().filter(|_| index == picker.selected_index()), said) {
            _ if picker.to_delete() == Some(row.key.as_str()) => Note::ConfirmDelete,
            (Some(name), _) => Note::Renaming(name.to_owned()),
            (None, true) => Note::TextMatch,
            (None, false) => Note::Plain,
        };
        list_row(row, marks, &note, &notes, theme, inner.width)
    };
    list.draw_in(theme, inner, buffer, &mut row).0
}

/// Why something was not done, in whole.
fn refusal_rows(picker: &Picker, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let Some(refusal) = &picker.refusal else { return Vec::new() };
    let text = printable_line(refusal).into_owned();
    wrap::wrap(&Line::styled(text, theme.style(ThemeToken::Warning)), width, 0)
}

/// The text of a list without a row that matches.
fn no_matches(picker: &Picker) -> Cow<'static, str> {
    match (hidden_kinds(picker), picker.query().is_empty()) {
        (None, _) => "no matches".into(),
        (Some(kinds), true) => format!("nothing but {kinds} · ctrl+o shows them").into(),
        (Some(kinds), false) => format!("no matches · ctrl+o searches {kinds}, too").into(),
    }
}

/// The kinds of sessions that are in the list on request, if it has some and does not show them.
fn hidden_kinds(picker: &Picker) -> Option<&'static str> {
    let has = |is: fn(&PickerRow) -> bool| picker.rows().iter().any(is);
    picker.hidden_rows_shown().filter(|shown| !shown)?;
    Some(match (has(|row| row.hidden), has(|row| row.archived)) {
        (_, false) => "runs of -p",
        (false, true) => "archived sessions",
        (true, true) => "archived sessions, runs of -p",
    })
}

/// The keys of the list of sessions, the more important ones first.
fn session_keys(picker: &Picker, all: bool) -> String {
    if picker.renaming().is_some() {
        return "enter renames · esc back".to_owned();
    }
    let hidden = hidden_kinds(picker).map(|kinds| format!("ctrl+o {}", kinds.replacen(" sessions", "", 1)));
    let (opens, own) = match picker.foreign_key() {
        Some(_) => ("enter opens it, to continue in a copy", [""; 3]),
        None => {
            let is_archived = picker.selected_row().is_some_and(|row| row.archived);
            let archives = if is_archived { "ctrl+x brings back" } else { "ctrl+x archives" };
            ("enter opens", [archives, "ctrl+r renames", "ctrl+d deletes"])
        }
    };
    let scope = if all { "tab here" } else { "tab all" };
    let parts =
        [opens, scope, hidden.as_deref().unwrap_or_default()].into_iter().chain(own).chain(["esc closes"]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The note shown before a session is deleted.
const CONFIRM_DELETE: &str = "ctrl+d again deletes it";
/// The minimum width for it to be next to the title, not in its place.
const BESIDE: u16 = 40;

/// The minimum number of cells for the start of a note to be useful.
const MIN_NOTE: usize = 8;

/// The end of a row.
enum Note {
    Plain,
    /// The words match messages, not the title.
    TextMatch,
    ConfirmDelete,
    /// The name being typed replaces the title.
    Renaming(String),
}

/// Draws the preview of a session next to the list or below it; returns the remaining area.
fn preview(
    picker: &Picker,
    side: bool,
    below: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
    inner: Rect,
    buffer: &mut Buffer,
) -> Rect {
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
    let rows = preview::rows(picker, place, theme, highlighter);
    draw_lines(&rows, place, buffer);
    list
}

/// The columns of the notes. If notes would take more than half of a row, the last columns are left out.
struct Notes {
    widths: Vec<usize>,
    /// The first column says which program wrote the session: some are of others.
    has_source: bool,
}

impl Notes {
    fn of(picker: &Picker, width: u16) -> Self {
        let has_source = picker.shows_source();
        let mut notes = Notes { widths: Vec::new(), has_source };
        let mut columns: Vec<usize> = Vec::new();
        for (row, _) in picker.visible_rows() {
            let note = notes.text(row);
            // A note with one part has no columns.
            for (at, part) in note.split(COLUMN).enumerate().filter(|_| note.contains(COLUMN)) {
                let cells = wrap::cells(part);
                match columns.get_mut(at) {
                    Some(most) => *most = cells.max(*most),
                    None => columns.push(cells),
                }
            }
        }
        let taken =
            |columns: &[usize]| columns.iter().map(|cells| cells + wrap::cells(COLUMN)).sum::<usize>();
        while columns.len() > 1 && taken(&columns) > usize::from(width / 2) {
            columns.pop();
        }
        notes.widths = columns;
        notes
    }

    fn text<'a>(&self, row: &'a PickerRow) -> Cow<'a, str> {
        match self.has_source {
            true => Cow::Owned(format!("{}{COLUMN}{}", row.source.name(), &*row.note)),
            false => Cow::Borrowed(&row.note),
        }
    }

    /// A note in its columns.
    fn align(&self, row: &PickerRow) -> String {
        let note = self.text(row);
        let parts: Vec<&str> = note.split(COLUMN).collect();
        if parts.len() < 2 {
            return note.into_owned();
        }
        let part = |(part, width): (&&str, &usize)| {
            format!("{}{part}", " ".repeat(width.saturating_sub(wrap::cells(part))))
        };
        parts.iter().zip(&self.widths).map(part).collect::<Vec<_>>().join(COLUMN)
    }
}

/// The separator of a note's columns.
const COLUMN: &str = " · ";

fn list_row(
    row: &PickerRow,
    marks: &[usize],
    note: &Note,
    notes: &Notes,
    theme: &Theme,
    width: u16,
) -> Line<'static> {
    if let Note::Renaming(name) = note {
        let prompt = Span::styled("name: ", theme.style(ThemeToken::Accent));
        let name = printable_line(name);
        let shown = wrap::tail(&name, width.saturating_sub(8)).to_owned();
        return Line::from(vec![prompt, Span::raw(shown), Span::raw("▏")]);
    }
    let mark = if row.current { "● " } else { "  " };
    let mut left = vec![Span::styled(mark, theme.style(ThemeToken::Accent))];
    if matches!(note, Note::ConfirmDelete) && width < BESIDE {
        left.push(Span::styled(CONFIRM_DELETE, theme.style(ThemeToken::Error)));
        return Line::from(left);
    }
    let weight = if row.dimmed { theme.style(ThemeToken::Muted) } else { Style::new() };
    left.extend(mark_chars(&row.title, marks, weight, theme));
    if row.marked {
        left.push(Span::styled(" ★", theme.style(ThemeToken::Accent)));
    }
    if row.archived {
        left.push(Span::styled(" archived", theme.style(ThemeToken::Muted)));
    }
    let title = wrap::spans_cells(&left);
    let right = match note {
        Note::ConfirmDelete => Span::styled(CONFIRM_DELETE, theme.style(ThemeToken::Error)),
        Note::TextMatch => {
            let (columns, whole) = (notes.align(row), format!("text match · {}", notes.align(row)));
            // Whose session it is says more than why it is listed.
            let fits = wrap::cells(&whole) <= note_room(title, width);
            Span::styled(if fits { whole } else { columns }, theme.style(ThemeToken::Muted))
        }
        Note::Plain | Note::Renaming(_) => Span::styled(notes.align(row), theme.style(ThemeToken::Muted)),
    };
    both_ends(left, vec![beside_title(right, title, width)], width)
}

/// A note that takes more than half of a row is cut if the title would otherwise be.
fn beside_title(note: Span<'static>, title: usize, width: u16) -> Span<'static> {
    if note.width() <= note_room(title, width) {
        return note;
    }
    let room = beside(title, width);
    let most = if room < MIN_NOTE { 0 } else { u16::try_from(room).unwrap_or(width) };
    Span::styled(wrap::truncate(&note.content, most).into_owned(), note.style)
}

/// The cells beside a title.
fn beside(title: usize, width: u16) -> usize {
    usize::from(width).saturating_sub(title + 3)
}

/// The cells that a note may take: those beside the title, or half of the row.
fn note_room(title: usize, width: u16) -> usize {
    beside(title, width).max(usize::from(width / 2))
}

/// Text with the characters at these byte offsets marked.
fn mark_chars(text: &str, marks: &[usize], weight: Style, theme: &Theme) -> Vec<Span<'static>> {
    let (mut spans, mut plain) = (Vec::new(), String::new());
    for (at, c) in text.char_indices() {
        if marks.contains(&at) {
            spans.push(Span::styled(std::mem::take(&mut plain), weight));
            spans.push(Span::styled(c.to_string(), theme.style(ThemeToken::MatchMark)));
        } else {
            plain.push(c);
        }
    }
    spans.push(Span::styled(plain, weight));
    spans
}
