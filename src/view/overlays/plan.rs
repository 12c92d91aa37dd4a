//! Plans: the dialog with the scrolling plan and the answers, and the steps above the composer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_question, heading, inner_width, out_of_sight};
use super::list::{choice_mark, first_visible};
use crate::approval::typed;
use crate::markdown::Room;
use crate::memo::Memo;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::action::Action;
use tau_app::overlays::plan::{ANSWERS, PlanAnswer, PlanView};
use tau_app::printable::{decision_line, decision_text};
use tau_tools::plan::{WorkPlan, WorkStep};

/// The number of rows of the answers in few words.
const SHORT_ROWS: usize = 2;

/// Draws the plan and returns how far it can be scrolled down at once.
pub(crate) fn draw(
    model: &Model,
    view: &PlanView,
    memo: &mut Memo,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let room = Room { margin: 0, width, layout: model.text_layout };
    let plan = memo.dialog_rows(decision_text(&view.text).as_str(), room);
    let theme = memo.theme();
    // The border of the box takes two rows, and two rows of the window stay free.
    let space = usize::from(area.height).saturating_sub(4);
    let (answers, typed_at) = answer_rows(view, theme, width, plan.len(), space);
    // What is out of sight stands between the plan and the answers, or with the keys.
    let is_between = answers.len() > SHORT_ROWS || view.comment.is_some();
    let room = space.saturating_sub(answers.len() + usize::from(is_between)).max(1);
    let first = view.reading.scroll.min(plan.len().saturating_sub(room));
    let below = plan.len().saturating_sub(first.saturating_add(room));
    let keys = match &view.comment {
        _ if view.drops => "d again drops the plan for good",
        _ if view.id.is_none() => "d drops the plan · esc closes",
        Some(_) => "enter sends it · esc goes back",
        None if view.reading.insists => "not all was shown; enter again accepts it",
        None if model.on_board.is_some() => "digits or enter choose · ctrl+c stops · esc goes back",
        None => "digits or enter choose · esc stops",
    };
    let out_of_sight = out_of_sight(first, below);
    let keys = match &out_of_sight {
        Some(rows) if !is_between && view.reading.insists => format!("{keys} · {rows}"),
        Some(rows) if !is_between => format!("{rows} · {keys}"),
        _ => keys.to_owned(),
    };
    let between = Line::styled(out_of_sight.unwrap_or_default(), theme.style(ThemeToken::Accent));
    let mut rows: Vec<Line<'static>> = plan.iter().skip(first).take(room).cloned().collect();
    rows.extend(is_between.then_some(between));
    let start = rows.len();
    rows.extend(answers);
    let title = if view.is_edited { "Plan, as you changed it" } else { "Plan" };
    let inner = draw_question(&heading(model, title), &keys, &rows, theme, area, buffer);
    let cut = rows.len().saturating_sub(usize::from(inner.height));
    let cursor = typed_at.and_then(|(row, column)| {
        let row = (start + row).checked_sub(cut)?;
        let y = u16::try_from(row).ok().filter(|y| *y < inner.height)?;
        Some((inner.x + column.min(inner.width.saturating_sub(1)), inner.y + y))
    });
    // A window that is too small for the answers shows less of the plan.
    let below = if cut > 0 { below.max(1) } else { below };
    (cursor, u16::try_from(below.min(room)).unwrap_or(u16::MAX))
}

/// The answers or the comment, and the cursor in it. `plan` rows of the `space` are wanted for the plan: it gets at
/// least half of them.
fn answer_rows(
    view: &PlanView,
    theme: &Theme,
    width: u16,
    plan: usize,
    space: usize,
) -> (Vec<Line<'static>>, Option<(usize, u16)>) {
    if view.id.is_none() {
        return (Vec::new(), None);
    }
    if let Some(line) = &view.comment {
        let (typed, (row, column)) = typed::rows("> ", line, width);
        let room = (space / 2).saturating_sub(1).max(1);
        let skip = row.saturating_sub(room - 1);
        let head = Line::styled("What should change?", theme.style(ThemeToken::OverlayTitle));
        let typed = typed.into_iter().skip(skip).take(room).map(Line::raw);
        return (std::iter::once(head).chain(typed).collect(), Some((row - skip + 1, column)));
    }
    let refusal = view
        .refusal
        .as_ref()
        .map(|why| Line::styled(why.as_str().to_owned(), theme.style(ThemeToken::Warning)));
    let mut rows = refusal.map_or_else(Vec::new, |line| wrap::wrap(&line, width, 0));
    if ANSWERS.len() + 1 + rows.len() + plan.min(space.div_ceil(2)) > space {
        rows.extend(short_answers(view, theme, width));
        return (rows, None);
    }
    let answer = |(index, (_, text)): (usize, &(_, &'static str))| {
        let (mark, token) = choice_mark(index == view.selected);
        let text = wrap::truncate(&format!("{mark}{}. {text}", index + 1), width).into_owned();
        Line::styled(text, theme.style(token))
    };
    rows.extend(ANSWERS.iter().enumerate().map(answer));
    (rows, None)
}

/// The answers in as few words as possible, side by side.
fn short_answers(view: &PlanView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let word = |(index, (answer, _)): (usize, &(PlanAnswer, &'static str))| {
        let (mark, token) = choice_mark(index == view.selected);
        let word = match answer {
            PlanAnswer::Accept(mode) => mode.name(),
            PlanAnswer::Edit => "edit it",
            PlanAnswer::Reject => "reject",
            PlanAnswer::Close => "stop",
        };
        Span::styled(format!(" {mark}{}. {word}", index + 1), theme.style(token))
    };
    let mut words = ANSWERS.iter().enumerate().map(word);
    let accept = Span::styled("accept", theme.style(ThemeToken::Muted));
    let first = std::iter::once(accept).chain(words.by_ref().take(3)).collect::<Vec<_>>();
    let rows = [first, words.collect()];
    rows.map(|row| wrap::truncate_line(Line::from(row), width)).to_vec()
}

/// The plan shown above the composer: one that is being carried out, or was until just now.
fn in_sight(model: &Model) -> Option<&WorkPlan> {
    model.plan.as_ref().filter(|plan| !plan.steps.is_empty() && !model.is_plan_over)
}

/// The maximum number of rows of the plan's steps above the composer.
pub(crate) fn rows_above_composer(model: &Model) -> u16 {
    let rows = match in_sight(model) {
        Some(_) if model.is_plan_folded => 1,
        Some(plan) => plan.steps.len() + 1,
        None => 0,
    };
    u16::try_from(rows).unwrap_or(u16::MAX)
}

/// The head, and as many steps as fit, including the next one. Folded, the head names the next step.
pub(crate) fn lines(model: &Model, theme: &Theme, area: Rect) -> Vec<Line<'static>> {
    let Some(plan) = in_sight(model).filter(|_| area.height > 0) else { return Vec::new() };
    let room = usize::from(area.height) - 1;
    let next = plan.next();
    let mut head = vec![
        Span::styled("  Plan", theme.style(ThemeToken::Accent)),
        Span::styled(
            format!(" {} of {}", plan.done_count(), plan.steps.len()),
            theme.style(ThemeToken::Muted),
        ),
    ];
    if room == 0
        && let Some((number, step)) = next.and_then(|at| Some((at + 1, plan.steps.get(at)?)))
    {
        let text = format!(" · {number}. {}", decision_line(&step.title()).as_str());
        head.push(Span::styled(text, theme.style(ThemeToken::Text)));
    }
    let key = model.keymap.hint(Action::FoldPlan).map(|key| {
        let what = if model.is_plan_folded { "unfolds" } else { "folds" };
        Span::styled(format!("{key} {what}"), theme.style(ThemeToken::Faint))
    });
    let mut lines = vec![both_ends(head, key.into_iter().collect(), area.width)];
    let first = first_visible(next.unwrap_or(plan.steps.len()), room, plan.steps.len());
    let row = |(index, step): (usize, &WorkStep)| {
        let (mark, token) = match (step.done, Some(index) == next) {
            (true, _) => ("✓", ThemeToken::Success),
            (false, true) => ("›", ThemeToken::Accent),
            (false, false) => (" ", ThemeToken::Muted),
        };
        let text = format!("{:>2}. {}", index + 1, decision_line(&step.title()).as_str());
        let style = theme.style(if Some(index) == next { ThemeToken::Text } else { ThemeToken::Muted });
        let line = vec![Span::styled(format!("  {mark} "), theme.style(token)), Span::styled(text, style)];
        wrap::truncate_line(Line::from(line), area.width.saturating_sub(1))
    };
    lines.extend(plan.steps.iter().enumerate().skip(first).take(room).map(row));
    lines
}
