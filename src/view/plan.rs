//! The dialog of a plan: the plan, which scrolls, and the answers below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame, inner_width};
use super::highlight::Highlighter;
use super::markdown::{self, Room};
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::app::Model;
use crate::app::blocks::MarkdownBlocks;
use crate::app::plan::{ANSWERS, PlanView};
use crate::app::printable::printable_line;

/// Draws it; by how many rows the plan can be scrolled down at once.
pub(crate) fn draw(
    model: &Model,
    view: &PlanView,
    (theme, highlighter): (&Theme, &mut Highlighter),
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let plan = plan_rows(model, view, width, theme, highlighter);
    let answers = answer_rows(view, theme, width);
    // Two rows are the border of the box, two rows of the window stay free, one is between.
    let room = usize::from(area.height).saturating_sub(answers.len() + 5).max(1);
    let first = view.scroll.min(plan.len().saturating_sub(room));
    let below = plan.len().saturating_sub(first.saturating_add(room));
    let keys = match (&view.comment, plan.len() > room) {
        (Some(_), _) => "enter sends it · esc goes back",
        (None, true) => "↑↓ enter chooses · pgup pgdn scroll · esc closes",
        (None, false) => "↑↓ enter chooses · esc closes",
    };
    let shown = plan.into_iter().skip(first).take(room);
    let rows: Vec<Line<'static>> = shown.chain(std::iter::once(Line::default())).chain(answers).collect();
    let title = if view.is_edited { "Plan, as you changed it" } else { "Plan" };
    let inner = frame(title, keys, u16::try_from(rows.len()).unwrap_or(u16::MAX), theme, area, buffer);
    // In a window that is too small even for these, the answers matter most.
    let skip = rows.len().saturating_sub(usize::from(inner.height));
    for (y, row) in (inner.top()..inner.bottom()).zip(rows.into_iter().skip(skip)) {
        buffer.set_line(inner.x, y, &row, inner.width);
    }
    let typed = view.comment.as_ref().map(|line| wrap::cells(&printable_line(line.at_cursor().0)) as u16 + 2);
    let cursor = typed.map(|column| {
        (inner.x + column.min(inner.width.saturating_sub(1)), inner.bottom().saturating_sub(1))
    });
    (cursor, u16::try_from(below.min(room)).unwrap_or(u16::MAX))
}

fn plan_rows(
    model: &Model,
    view: &PlanView,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Line<'static>> {
    let blocks = MarkdownBlocks::of(&view.text);
    let open = blocks.open();
    let all = blocks.closed().iter().chain(&open);
    let mut rows: Vec<Line<'static>> = Vec::new();
    for block in all {
        if !rows.is_empty() && !block.continues() {
            rows.push(Line::default());
        }
        let room = Room { margin: 0, width, layout: model.text_layout };
        let drawn = markdown::render_within(block, room, theme, highlighter);
        rows.extend(drawn.into_iter().map(super::row::Row::into_line));
    }
    rows
}

fn answer_rows(view: &PlanView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    if let Some(line) = &view.comment {
        let (before, after) = line.at_cursor();
        let typed = format!("{}{}", printable_line(before), printable_line(after));
        let prompt = Span::styled("> ", theme.style(ThemeToken::Accent));
        return vec![
            Line::styled("What is to be different?", theme.style(ThemeToken::OverlayTitle)),
            Line::from(vec![prompt, Span::raw(typed)]),
        ];
    }
    let answer = |(index, (_, text)): (usize, &(_, &'static str))| {
        let marked = index == view.selected;
        let (mark, token) =
            if marked { ("› ", ThemeToken::OverlaySelected) } else { ("  ", ThemeToken::Text) };
        let text = wrap::truncate(&format!("{mark}{text}"), width).into_owned();
        Line::styled(text, theme.style(token))
    };
    ANSWERS.iter().enumerate().map(answer).collect()
}
