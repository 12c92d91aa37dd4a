//! The list that lists are drawn with: a box with a filter, rows of which one is selected, and lines about it below.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_lines, frame_within};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::line_edit::LineEdit;
use tau_app::overlays::list::{List, ListRow, Report};
use tau_app::printable::printable_line;

/// The cells that a name keeps in front of the figures about it.
const NAME: usize = 12;
/// The text between two figures.
const FIGURE: &str = " · ";
/// The cells of a row between a name and figures, and at its end.
const GAP: usize = 3;
/// The minimum number of cells for the start of a figure to be useful.
const MIN_FIGURE: usize = 8;

#[derive(Default)]
pub(crate) enum FilterRow<'a> {
    #[default]
    None,
    /// It is shown only while it is typed.
    Typed(&'a str),
    /// It is always shown, with a note at its right end.
    Always(&'a str, String),
}

/// The rows below a list.
#[derive(Default)]
pub(crate) struct Below {
    pub lines: Vec<Line<'static>>,
    /// The number of rows that are theirs even if there are fewer lines; at most half of the box, or what the
    /// rows of the list leave.
    pub room: usize,
    /// Whether they may take more than half of the box.
    pub fills: bool,
}

impl Below {
    /// As many rows as there are lines.
    pub(crate) fn exactly(lines: Vec<Line<'static>>) -> Self {
        Below { room: lines.len(), lines, fills: false }
    }
}

/// A list as it is drawn.
#[derive(Default)]
pub(crate) struct ListBox<'a> {
    pub title: &'a str,
    pub hint: &'a str,
    pub filter: FilterRow<'a>,
    /// The number of rows.
    pub count: usize,
    /// The number of rows without the filter: the place of the box is that for so many.
    pub most: usize,
    /// The number of rows for which the box has room even if there are fewer.
    pub least: usize,
    /// The selected row.
    pub selected: Option<usize>,
    /// The number of rows from the selected one on that should be in sight, if it is more than one.
    pub extent: usize,
    /// How many of these rows are above the first one shown, if they do not fit.
    pub scroll: usize,
    /// Whether the colours of the selected row replace those of its parts.
    pub paints_over: bool,
    /// The text if there are no rows.
    pub empty: &'a str,
    pub below: Below,
}

/// The first row to show of `count`, where `fit` have room, so that the selected one is in the middle.
pub(crate) fn first_visible(selected: usize, fit: usize, count: usize) -> usize {
    selected.saturating_sub(fit / 2).min(count.saturating_sub(fit))
}

impl<'a> ListBox<'a> {
    /// The box of a list with a filter, of which `count` rows are shown. `empty`: the text if there are no rows
    /// without the filter either.
    pub(crate) fn of<R: ListRow>(list: &'a List<R>, count: usize, empty: &'a str) -> Self {
        ListBox {
            filter: list.typed_filter().map_or(FilterRow::None, FilterRow::Typed),
            count,
            selected: Some(list.selected),
            empty: list.nothing(empty),
            ..ListBox::default()
        }
    }
}

impl ListBox<'_> {
    /// Draws it. Returns the cursor in the filter, the number of rows that fit, and the area of the lines below.
    pub(crate) fn draw(
        &self,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
        row: &mut dyn FnMut(usize) -> Line<'static>,
    ) -> (OverlayLayout, Rect) {
        let around = self.below.room + usize::from(!matches!(self.filter, FilterRow::None));
        let height = |rows: usize| u16::try_from(rows.max(self.least).max(1) + around).unwrap_or(u16::MAX);
        let (rows, most) = (height(self.count), height(self.most));
        let inner = frame_within(self.title, &self.hint_now(), rows, most, theme, area, buffer);
        self.draw_in(theme, inner, buffer, row)
    }

    /// The keys that have an effect now: while a filter is typed, letters belong to it.
    fn hint_now(&self) -> Cow<'_, str> {
        if !matches!(self.filter, FilterRow::Typed(_)) {
            return Cow::Borrowed(self.hint);
        }
        let is_letter = |part: &&str| part.split(' ').next().is_some_and(|key| key.chars().count() == 1);
        Cow::Owned(self.hint.split(" · ").filter(|part| !is_letter(part)).collect::<Vec<_>>().join(" · "))
    }

    /// Draws it without its box.
    pub(crate) fn draw_in(
        &self,
        theme: &Theme,
        inner: Rect,
        buffer: &mut Buffer,
        row: &mut dyn FnMut(usize) -> Line<'static>,
    ) -> (OverlayLayout, Rect) {
        let (cursor, inner) = self.draw_filter(theme, inner, buffer);
        // Few rows leave the rest to what is below them.
        let rows = u16::try_from(self.count.max(1)).unwrap_or(u16::MAX).min(inner.height.div_ceil(2));
        let most = if self.below.fills { inner.height } else { inner.height - rows };
        let below = u16::try_from(self.below.room).unwrap_or(u16::MAX).min(most);
        let rows = Rect { height: inner.height - below, ..inner };
        if self.count == 0 && rows.height > 0 {
            let text = wrap::truncate(self.empty, rows.width).into_owned();
            buffer.set_line(rows.x, rows.y, &Line::styled(text, theme.style(ThemeToken::Muted)), rows.width);
        }
        self.draw_rows(theme, rows, buffer, row);
        let below = Rect { y: rows.bottom(), height: below, ..inner };
        draw_lines(&self.below.lines, below, buffer);
        ((cursor, rows.height), below)
    }

    fn draw_filter(&self, theme: &Theme, inner: Rect, buffer: &mut Buffer) -> (Option<(u16, u16)>, Rect) {
        let (query, note) = match &self.filter {
            FilterRow::Typed(query) if inner.height > 1 => (*query, ""),
            FilterRow::Always(query, note) => (*query, note.as_str()),
            FilterRow::None | FilterRow::Typed(_) => return (None, inner),
        };
        let cursor = draw_filter(query, note.to_owned(), theme, inner, buffer);
        (Some(cursor), Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner })
    }

    fn draw_rows(
        &self,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
        row: &mut dyn FnMut(usize) -> Line<'static>,
    ) {
        let fit = usize::from(area.height);
        let in_sight = fit.saturating_sub(self.extent);
        let first = first_visible(self.selected.unwrap_or(0), in_sight, self.count);
        let first = first + self.scroll.min(self.extent.saturating_sub(fit));
        let first = first.min(self.count.saturating_sub(fit));
        for (y, index) in (area.top()..area.bottom()).zip(first..self.count) {
            let marks = Some(index) == self.selected;
            let (whole, style) = (Rect { y, height: 1, ..area }, theme.style(ThemeToken::OverlaySelected));
            if marks && !self.paints_over {
                buffer.set_style(whole, style);
            }
            buffer.set_line(area.x, y, &row(index), area.width);
            if marks && self.paints_over {
                buffer.set_style(whole, style);
            }
        }
    }
}

/// The report on the last action.
pub(crate) fn report(said: &Report) -> (String, ThemeToken) {
    match said {
        Ok(text) => (text.as_str().to_owned(), ThemeToken::Accent),
        Err(text) => (text.as_str().to_owned(), ThemeToken::Error),
    }
}

/// Foreign text below a list, as rows.
pub(crate) fn wrap_text(text: &str, style: Style, width: u16) -> Vec<Line<'static>> {
    wrap::wrap(&Line::styled(printable_line(text).into_owned(), style), width, 0)
}

/// The mark in front of a choice, and the colour of it.
pub(crate) fn choice_mark(is_selected: bool) -> (&'static str, ThemeToken) {
    if is_selected { ("› ", ThemeToken::OverlaySelected) } else { ("  ", ThemeToken::Text) }
}

/// A row of a list: a state in so many columns, a name that is cut if need be, and figures at the right end.
pub(crate) fn state_row(
    state: &str,
    token: ThemeToken,
    columns: usize,
    name: &str,
    figures: &str,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let state = format!("{state:<columns$} ");
    let figures = figures_beside(figures, wrap::cells(&state), wrap::cells(name), width);
    let left = vec![Span::styled(state, theme.style(token)), Span::raw(name.to_owned())];
    both_ends(left, vec![Span::styled(figures, theme.style(ThemeToken::Muted))], width)
}

/// The first of these figures, which ` · ` separates, that leave a name behind `before` cells its whole length or at
/// least [`NAME`] cells; if there is room for a part of the first one only, that.
pub(crate) fn figures_beside(figures: &str, before: usize, name: usize, width: u16) -> String {
    let room = usize::from(width).saturating_sub(before + name.min(NAME) + GAP);
    let ends = figures.match_indices(FIGURE).map(|(at, _)| at).chain([figures.len()]);
    let fitting = ends.filter_map(|end| figures.get(..end)).take_while(|part| wrap::cells(part) <= room);
    match fitting.last() {
        Some(fitting) => fitting.to_owned(),
        None if room < MIN_FIGURE => String::new(),
        None => {
            let first = figures.split(FIGURE).next().unwrap_or_default();
            wrap::truncate(first, u16::try_from(room).unwrap_or(u16::MAX)).into_owned()
        }
    }
}

/// The lines below a list: texts about the selected row, and the report on the last action.
pub(crate) fn lines_below(
    texts: &[(&str, ThemeToken)],
    said: Option<&Report>,
    theme: &Theme,
    width: u16,
) -> Vec<Line<'static>> {
    let report = said.map(report);
    let report = report.iter().map(|(text, token)| (text.as_str(), *token));
    let all = texts.iter().copied().chain(report);
    all.flat_map(|(text, token)| wrap_text(text, theme.style(token), width)).collect()
}

/// Draws a line of which only the length is shown, in the row `y`, and returns the cursor's position.
pub(crate) fn draw_secret(
    line: &LineEdit,
    inner: Rect,
    y: u16,
    theme: &Theme,
    buffer: &mut Buffer,
) -> (u16, u16) {
    let shown = "•".repeat(line.text().chars().count().min(usize::from(inner.width.saturating_sub(4))));
    let column = 2 + wrap::cells(&shown) as u16;
    let prompt = Line::from(vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(shown)]);
    buffer.set_line(inner.x, y, &prompt, inner.width);
    (inner.x + column.min(inner.width.saturating_sub(1)), y)
}

/// Draws the filter of a list in the first row of `inner`, with `note` at its right end, and returns the
/// cursor's position.
pub(crate) fn draw_filter(
    query: &str,
    note: String,
    theme: &Theme,
    inner: Rect,
    buffer: &mut Buffer,
) -> (u16, u16) {
    let taken = if note.is_empty() { 0 } else { wrap::cells(&note) + 2 };
    let room = usize::from(inner.width).saturating_sub(taken + 4);
    let query = printable_line(query);
    // Typing happens at the end of a long text.
    let query = wrap::tail(&query, u16::try_from(room).unwrap_or(u16::MAX)).to_owned();
    let column = u16::try_from(2 + wrap::cells(&query)).unwrap_or(u16::MAX);
    let left = vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(query)];
    let right = vec![Span::styled(note, theme.style(ThemeToken::Muted))];
    buffer.set_line(inner.x, inner.y, &both_ends(left, right, inner.width), inner.width);
    (inner.x + column.min(inner.width.saturating_sub(1)), inner.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_give_way_to_the_name_that_they_are_about() {
        let all =
            ["3.1s · cpu 0.0 s · 1.4 MB", "a-very-long-name-of-a-worktree · here · 3 min ago", "now", ""];
        for (width, figures, name) in (28..120)
            .flat_map(|width| all.map(|figures| (width, figures, [3, 12, 60])))
            .flat_map(|(width, figures, names)| names.map(|name| (width, figures, name)))
        {
            let (name, theme) = ("N".repeat(name), Theme::plain());
            let row = state_row("● running", ThemeToken::Accent, 9, &name, figures, width, &theme);
            let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
            let kept = text.matches('N').count();
            // The last cell of a name that is cut says so.
            assert!(kept + 1 >= name.len().min(NAME), "{width} {text}");
            assert!(kept == name.len() || text.contains('…'), "{width} {text}");
            assert!(wrap::cells(&text) < usize::from(width), "{width} {text}");
        }
        let shown = |width| figures_beside(all[0], 10, 60, width);
        assert_eq!([36, 46, 80].map(shown), ["3.1s", "3.1s · cpu 0.0 s", all[0]]);
    }
}
