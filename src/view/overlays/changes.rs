//! The session's changes on the screen: files, their hunks, and uncovered paths.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{FilterRow, ListBox};
use crate::highlight::Highlighter;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::{diff, wrap};
use tau_app::overlays::changes::{ChangeItem, ChangesView};
use tau_app::printable::printable_line;
use tau_protocol::undo::{ChangeKind, ChangedFile, SessionChanges, count_paths};
use tau_tools::FileDiff;

/// The maximum number of hunk rows drawn; later ones appear once selected.
const MAX_ROWS: usize = 4_000;

/// The rows of the list in a width, kept for the next frame.
pub(crate) struct ChangesRows {
    view: ChangesView,
    width: u16,
    rows: Vec<ChangeRow>,
}

impl ChangesRows {
    /// Whether a list has these rows.
    fn are_of(&self, view: &ChangesView, width: u16) -> bool {
        let same_file =
            self.rows.len() <= MAX_ROWS || self.view.selected_item().file == view.selected_item().file;
        self.width == width && same_file && self.view.shows_same(view)
    }
}

/// A row of the list, and its file or hunk.
struct ChangeRow {
    line: Line<'static>,
    item: Option<ChangeItem>,
}

/// Draws the list and returns how many rows of the selected item are out of sight below.
pub(crate) fn draw(
    view: &ChangesView,
    theme: &Theme,
    highlighter: &mut Highlighter,
    kept: &mut Option<ChangesRows>,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let known = kept.take().filter(|known| known.are_of(view, width));
    let known = known.unwrap_or_else(|| {
        let rows = rows(view, width, theme, highlighter);
        ChangesRows { view: view.clone(), width, rows }
    });
    let rows = &kept.insert(known).rows;
    let is_selected = |row: &ChangeRow| row.item == Some(view.selected_item());
    let selected = rows.iter().position(is_selected);
    // Rows that belong to no item of their own are part of the item above them.
    let is_its = |row: &&ChangeRow| row.item.is_none_or(|item| item == view.selected_item());
    let extent = rows.iter().skip(selected.unwrap_or(0)).take_while(is_its).count();
    let list = ListBox {
        title: &view.changes.as_ref().map_or("Changes".to_owned(), title),
        hint: "↑↓ select · enter folds · r reverts · e editor · esc",
        filter: view.query().map_or(FilterRow::None, FilterRow::Typed),
        count: rows.len(),
        selected,
        extent,
        scroll: view.scroll,
        paints_over: true,
        ..ListBox::default()
    };
    let mut row = |index: usize| rows.get(index).map(|row| row.line.clone()).unwrap_or_default();
    let ((cursor, fit), _) = list.draw(theme, area, buffer, &mut row);
    let below = extent.saturating_sub(usize::from(fit)).saturating_sub(view.scroll);
    (cursor, u16::try_from(below).unwrap_or(u16::MAX))
}

fn title(changes: &SessionChanges) -> String {
    let sum = |count: fn(&ChangedFile) -> u32| changes.files.iter().map(count).sum::<u32>();
    let files = count_paths(changes.files.iter().map(|file| file.path.as_str()));
    format!(
        "Changes of this session: {files}, +{} -{}",
        sum(|file| file.diff.added),
        sum(|file| file.diff.removed)
    )
}

fn rows(view: &ChangesView, width: u16, theme: &Theme, highlighter: &mut Highlighter) -> Vec<ChangeRow> {
    let text = |text: &str, token: ThemeToken| ChangeRow {
        line: Line::styled(wrap::truncate(text, width).into_owned(), theme.style(token)),
        item: None,
    };
    let Some(changes) = &view.changes else { return vec![text("loading…", ThemeToken::Muted)] };
    let mut rows = Vec::new();
    if changes.files.is_empty() {
        rows.push(text("no files changed", ThemeToken::Muted));
    } else if !changes.files.iter().any(|file| view.is_shown(file)) {
        rows.push(text("no matches", ThemeToken::Muted));
    }
    for (index, file) in changes.files.iter().enumerate().filter(|(_, file)| view.is_shown(file)) {
        let whole = ChangeItem { file: index, hunk: None };
        rows.push(ChangeRow { line: file_line(view, file, width, theme), item: Some(whole) });
        if !view.is_open(file) || rows.len() > MAX_ROWS && view.selected_item().file != index {
            continue;
        }
        for (at, hunk) in file.diff.hunks.iter().enumerate() {
            let item = Some(ChangeItem { hunk: Some(at), ..whole });
            let head = format!("  @@ line {} @@", hunk.new_start);
            let line = Line::styled(head, theme.style(ThemeToken::DiffLineNumber));
            rows.push(ChangeRow { line, item });
            let path = file.diff.path.clone();
            let one = FileDiff { path, hunks: vec![hunk.clone()], ..FileDiff::default() };
            let drawn = diff::render(&one, width.saturating_sub(2).max(1), theme, highlighter);
            rows.extend(drawn.into_iter().map(|row| {
                let mut line = row.into_line();
                line.spans.insert(0, Span::raw("  "));
                ChangeRow { line, item }
            }));
        }
        if file.diff.cut {
            rows.push(text("  more changes are not shown", ThemeToken::Muted));
        }
    }
    if !changes.not_covered.is_empty() {
        rows.push(text("", ThemeToken::Muted));
        rows.push(text("Not recorded, so it cannot be undone:", ThemeToken::Warning));
        for lost in &changes.not_covered {
            let line = format!("  {}: {}", printable_line(&lost.path), printable_line(&lost.reason));
            rows.push(text(&line, ThemeToken::Muted));
        }
    }
    rows
}

fn file_line(view: &ChangesView, file: &ChangedFile, width: u16, theme: &Theme) -> Line<'static> {
    let sign = match file.kind {
        ChangeKind::Created => ("A", ThemeToken::DiffAdded),
        ChangeKind::Removed => ("D", ThemeToken::DiffRemoved),
        ChangeKind::Changed => ("M", ThemeToken::Accent),
    };
    let fold = match () {
        () if file.diff.hunks.is_empty() => " ",
        () if view.is_open(file) => "▾",
        () => "▸",
    };
    let foreground = |token: ThemeToken| Style { bg: None, ..theme.style(token) };
    let mut left = vec![
        Span::styled(format!("{fold} "), theme.style(ThemeToken::Muted)),
        Span::styled(format!("{} ", sign.0), foreground(sign.1)),
        Span::styled(printable_line(&file.path).into_owned(), theme.style(ThemeToken::Text)),
    ];
    if let Some(note) = &file.note {
        left.push(Span::styled(format!("  {}", printable_line(note)), theme.style(ThemeToken::Muted)));
    }
    if file.changed_since {
        left.push(Span::styled("  changed since", theme.style(ThemeToken::Warning)));
    }
    let count = if file.diff.hunks.is_empty() {
        String::new()
    } else {
        format!("+{} -{}", file.diff.added, file.diff.removed)
    };
    both_ends(left, vec![Span::styled(count, theme.style(ThemeToken::Muted))], width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_made_once_and_again_when_they_change() {
        let file = |path: &str| ChangedFile { path: path.into(), ..ChangedFile::default() };
        let files = |paths: &[&str]| {
            let files = paths.iter().map(|path| file(path)).collect();
            Some(SessionChanges { files, ..SessionChanges::default() })
        };
        let mut view = ChangesView::default();
        view.changes = files(&["a", "b"]);
        let (mut kept, mut highlighter) = (None, Highlighter::default());
        let mut drawn = |view: &ChangesView, width: u16| {
            let area = Rect { width, height: 24, ..Rect::default() };
            draw(view, &Theme::plain(), &mut highlighter, &mut kept, area, &mut Buffer::empty(area));
            kept.as_ref().map(|kept| (kept.rows.as_ptr(), kept.rows.len(), kept.width)).unwrap()
        };
        let first = drawn(&view, 80);
        assert_eq!(drawn(&view, 80), first);
        assert_ne!(drawn(&view, 60).2, first.2);
        view.changes = files(&["a", "b", "c"]);
        assert_eq!(drawn(&view, 60).1, 3);
    }
}
