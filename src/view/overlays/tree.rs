//! The session's tree: a framed box of rows, with questions about a row below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, FilterRow, ListBox, choice_mark};
use crate::approval::typed;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::overlays::tree::{TreeRow, TreeStep, TreeView, WAYS};
use tau_app::printable::printable_line;
use tau_app::time_format::{Times, age, clock};
use tau_protocol::outline::{OutlineRow, RowKind};

/// Cells for the lines that lead to a row; deeper rows lose the start of them.
const LEAD: usize = 24;
/// The number of rows for which the box always has room, with a question below.
const MIN_ROWS: usize = 7;
const HINT: &str = "enter go · tab filter · ctrl+f fork · ctrl+l label · ctrl+t times · ←→ fold · esc";

/// Draws the tree; returns the cursor, and how many rows fit.
pub fn draw(model: &Model, view: &TreeView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let (shown, width) = (view.visible_rows(), inner_width(area));
    let (lines, typing) = question_lines(view, theme, width);
    let list = ListBox {
        title: &format!("Session tree · {}", view.filter.name()),
        hint: if view.step == TreeStep::Browse { HINT } else { "enter continues · esc back" },
        filter: FilterRow::Always(view.query(), format!("{}/{}", shown.len(), view.count())),
        count: shown.len(),
        most: view.count(),
        least: MIN_ROWS.saturating_sub(lines.len()),
        selected: Some(view.selected_index()),
        empty: match (view.loading, view.count()) {
            (true, _) => "loading…",
            (false, 0) => "no messages yet",
            (false, _) => "no matches",
        },
        below: Below { room: lines.len(), lines, fills: true },
        ..ListBox::default()
    };
    let mut row = |index: usize| {
        let shown = shown.get(index).and_then(|shown| Some((view.row(shown.row)?, shown)));
        shown.map(|(row, shown)| entry(model, view, row, shown, theme, width)).unwrap_or_default()
    };
    let ((mut cursor, page), below) = list.draw(theme, area, buffer, &mut row);
    if let Some((row, column)) = typing.filter(|(row, _)| *row < usize::from(below.height)) {
        let y = below.y + u16::try_from(row).unwrap_or_default();
        cursor = Some((below.x + column.min(below.width.saturating_sub(1)), y));
    }
    (cursor, page)
}

/// The question about a row, below the list, and the row and column of the cursor in it.
fn question_lines(view: &TreeView, theme: &Theme, width: u16) -> (Vec<Line<'static>>, Option<(usize, u16)>) {
    match &view.step {
        TreeStep::Browse => (Vec::new(), None),
        TreeStep::Label(line) => typed::lines("label (empty removes it): ", line, theme, width),
        TreeStep::Focus(line) => typed::lines("focus of the summary: ", line, theme, width),
        TreeStep::Leave(way) => {
            let ways = WAYS.iter().enumerate().flat_map(|(at, text)| {
                let (mark, token) = choice_mark(at == *way);
                wrap::wrap(&Line::styled(format!("{mark}{text}"), theme.style(token)), width, 2)
            });
            (ways.collect(), None)
        }
    }
}

fn entry(
    model: &Model,
    view: &TreeView,
    row: &OutlineRow,
    shown: &TreeRow,
    theme: &Theme,
    width: u16,
) -> Line<'static> {
    let (who, token) = speaker(row.kind);
    let weight = if shown.active { token } else { ThemeToken::Muted };
    let mark = if shown.current { "● " } else { "  " };
    let (text, failed) = failure(row);
    let skip = shown.lead.chars().count().saturating_sub(LEAD);
    let lead: String = shown.lead.chars().skip(skip).collect();
    let mut left = vec![
        Span::styled(mark, theme.style(ThemeToken::Accent)),
        Span::styled(lead, theme.style(ThemeToken::Faint)),
        Span::styled(if shown.folded { "▸ " } else { "" }, theme.style(ThemeToken::Accent)),
        Span::styled(who, theme.style(if shown.active { ThemeToken::Strong } else { ThemeToken::Muted })),
        Span::styled(printable_line(text).into_owned(), theme.style(weight)),
    ];
    if let Some(label) = &row.label {
        let label = format!("[{}] ", printable_line(label));
        left.insert(3, Span::styled(label, theme.style(ThemeToken::Warning)));
    }
    let time = match view.times {
        Times::Hidden => String::new(),
        Times::Ages => age(model.now.saturating_sub(row.at)),
        Times::Clock => clock(row.at, row.ahead, model.now),
    };
    let between = if failed.is_empty() || time.is_empty() { "" } else { "  " };
    let right = vec![
        Span::styled(failed.to_owned(), theme.style(ThemeToken::ToolError)),
        Span::styled(format!("{between}{time}"), theme.style(ThemeToken::Muted)),
    ];
    both_ends(left, right, width)
}

/// A failed call and its error, which is visible even if the row is too short for the rest.
fn failure(row: &OutlineRow) -> (&str, &str) {
    let at = match row.kind {
        RowKind::Tool | RowKind::Shell => row.text.rfind(" ✗"),
        RowKind::User
        | RowKind::Assistant
        | RowKind::Calls
        | RowKind::Custom
        | RowKind::Compaction
        | RowKind::Branch
        | RowKind::Setting => None,
    };
    let (text, failed) = row.text.split_at(at.unwrap_or(row.text.len()));
    let failed = failed.trim_start();
    let is_code = failed.strip_prefix('✗').is_some_and(|code| code.chars().all(|c| c.is_ascii_digit()));
    if is_code { (text, failed) } else { (row.text.as_str(), "") }
}

fn speaker(kind: RowKind) -> (&'static str, ThemeToken) {
    match kind {
        RowKind::User => ("you: ", ThemeToken::Text),
        RowKind::Assistant => ("tau: ", ThemeToken::Text),
        RowKind::Calls => ("tau calls ", ThemeToken::Muted),
        RowKind::Tool => ("", ThemeToken::Muted),
        RowKind::Shell => ("", ThemeToken::Text),
        RowKind::Custom => ("note: ", ThemeToken::Text),
        RowKind::Compaction => ("summary: ", ThemeToken::Muted),
        RowKind::Branch => ("left branch: ", ThemeToken::Muted),
        RowKind::Setting => ("", ThemeToken::Faint),
    }
}
