//! The dialog of the model's questions: the text, the choices, and a free-form answer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_question, inner_width, out_of_sight};
use super::list::choice_mark;
use crate::approval::typed;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::user_questions::{QuestionView, QuestionsView};
use tau_app::printable::{Printable, decision_line, decision_text};

/// Rows of a box without text: its borders, and the space around it.
const AROUND: u16 = 4;
/// The number of rows of the question that stay in sight above long choices.
const MIN_TEXT_ROWS: usize = 3;

/// Draws the dialog and returns how far the question can be scrolled down at once.
/// On the board, `session` is the title of the one that asks.
pub(crate) fn draw(
    view: &QuestionsView,
    session: Option<&Printable>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let Some(shown) = view.current_question() else { return (None, 0) };
    let width = inner_width(area);
    let text = text_rows(shown, width);
    let Answers { rows: answers, starts, selected, cursor } = answer_rows(view, shown, theme, width);
    let room = usize::from(area.height.saturating_sub(AROUND)).max(1);
    // The question yields to the answers, and the answers to the first rows of the question.
    let text_room = text.len().min(room.saturating_sub(answers.len() + 1).max(MIN_TEXT_ROWS.min(room / 3)));
    let answer_room = answers.len().min(room.saturating_sub(text_room + 1));
    let first = view.scroll.min(text.len().saturating_sub(text_room));
    let below = text.len().saturating_sub(first + text_room);
    // The whole selected answer, if it fits, and the rows after it that also fit.
    let skip = selected.end.saturating_sub(answer_room).min(selected.start);
    let mut rows: Vec<Line<'static>> = text.into_iter().skip(first).take(text_room).collect();
    // Between the question and the answers: what of them is out of sight.
    let others = [
        ("↑", starts.iter().filter(|start| **start < skip).count()),
        ("↓", starts.iter().filter(|start| **start >= skip + answer_room).count()),
    ];
    let others =
        others.iter().filter(|(_, count)| *count > 0).map(|(way, count)| format!("{way} {count} more"));
    let hidden: Vec<String> = out_of_sight(first, below).into_iter().chain(others).collect();
    rows.push(Line::styled(hidden.join(" · "), theme.style(ThemeToken::Accent)));
    let start = rows.len();
    rows.extend(answers.into_iter().skip(skip).take(answer_room));
    let inner = draw_question(
        &title(view, session),
        &hint(view, shown, session.is_some()),
        &rows,
        theme,
        area,
        buffer,
    );
    let cut = rows.len().saturating_sub(usize::from(inner.height));
    let place = cursor.and_then(|(row, column)| {
        let row = (start + row).checked_sub(skip + cut)?;
        let y = u16::try_from(row).ok().filter(|y| *y < inner.height)?;
        Some((inner.x + column.min(inner.width.saturating_sub(1)), inner.y + y))
    });
    (place, u16::try_from(below.min(text_room)).unwrap_or(u16::MAX))
}

fn title(view: &QuestionsView, session: Option<&Printable>) -> String {
    let place = session.map(|title| format!("{} · ", title.as_str())).unwrap_or_default();
    match view.questions.len() {
        1 => format!("{place}The model asks"),
        count => format!("{place}The model asks · {} of {count}", view.at + 1),
    }
}

fn hint(view: &QuestionsView, shown: &QuestionView, is_on_board: bool) -> String {
    if view.is_empty {
        return format!("type an answer first · {}", leave(is_on_board));
    }
    let mut parts = vec![if view.questions.iter().filter(|question| !question.is_answered).count() > 1 {
        "enter answers"
    } else {
        "enter sends"
    }];
    if !shown.marked.is_empty() {
        parts.push(if shown.asked.multiple { "space marks" } else { "digits choose" });
    }
    if view.questions.len() > 1 {
        parts.push("tab next");
    }
    parts.push(leave(is_on_board));
    parts.join(" · ")
}

/// The keys that leave the dialog.
fn leave(is_on_board: bool) -> &'static str {
    if is_on_board { "ctrl+c declines · esc goes back" } else { "esc declines" }
}

fn text_rows(shown: &QuestionView, width: u16) -> Vec<Line<'static>> {
    let text = decision_text(&shown.asked.question);
    let lines = text.trim_end().lines();
    lines.flat_map(|line| wrap::wrap(&Line::raw(line.to_owned()), width, 0)).collect()
}

/// The answers as rows, and the positions of things among them.
struct Answers {
    rows: Vec<Line<'static>>,
    /// The first row of each.
    starts: Vec<usize>,
    /// The rows of the selected answer.
    selected: std::ops::Range<usize>,
    cursor: Option<(usize, u16)>,
}

fn answer_rows(view: &QuestionsView, shown: &QuestionView, theme: &Theme, width: u16) -> Answers {
    let mut answers = Answers { rows: Vec::new(), starts: Vec::new(), selected: 0..0, cursor: None };
    let style = |index: usize| {
        let (mark, token) = choice_mark(index == shown.selected);
        (mark, theme.style(token))
    };
    for (index, choice) in shown.asked.choices.iter().enumerate() {
        let (mark, style) = style(index);
        let is_marked = shown.marked.get(index) == Some(&true);
        let taken = match (shown.asked.multiple, is_marked) {
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
            (false, true) => "● ",
            (false, false) => "",
        };
        let label = format!("{mark}{}. {taken}", index + 1);
        let indent = wrap::cells(&label) as u16;
        let line = Line::styled(format!("{label}{}", decision_line(choice).as_str()), style);
        let start = answers.rows.len();
        answers.starts.push(start);
        answers.rows.extend(wrap::wrap(&line, width, indent.min(width / 2)));
        if index == shown.selected {
            answers.selected = start..answers.rows.len();
        }
    }
    let (mark, style) = style(shown.marked.len());
    let number = match shown.marked.len() + 1 {
        1 => String::new(),
        number @ 2..=9 => format!("{number}. "),
        _ => "   ".to_owned(),
    };
    let start = answers.rows.len();
    answers.starts.push(start);
    if shown.text.text().is_empty() {
        let words = if shown.marked.is_empty() { "your answer" } else { "your own words" };
        let token = if view.is_empty { ThemeToken::Warning } else { ThemeToken::Muted };
        let label = format!("{mark}{number}");
        let column = wrap::cells(&label) as u16;
        answers
            .rows
            .push(Line::from(vec![Span::styled(label, style), Span::styled(words, theme.style(token))]));
        answers.cursor = Some((start, column));
    } else {
        let label = format!("{mark}{number}");
        let indent = wrap::cells(&label) as u16;
        let (rows, (row, column)) = typed::rows("", &shown.text, width.saturating_sub(indent));
        let labels = std::iter::once(label).chain(std::iter::repeat(" ".repeat(usize::from(indent))));
        let rows = rows.into_iter().zip(labels).map(|(row, label)| Line::styled(label + &row, style));
        answers.rows.extend(rows);
        answers.cursor = Some((start + row, column + indent));
    }
    if shown.is_at_text() {
        answers.selected = start..answers.rows.len();
    } else {
        answers.cursor = None;
    }
    answers
}
