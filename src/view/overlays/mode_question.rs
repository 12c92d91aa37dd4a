//! The question about which permission mode to use.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_question, inner_width};
use super::list::choice_mark;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::action::Action;
use tau_app::overlays::mode_question::ModeQuestion;
use tau_app::printable::printable_line;

pub(crate) fn draw(
    model: &Model,
    question: &ModeQuestion,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let all = rows(model, question, theme, width, true);
    // The border of the box takes two rows, and two rows of the window stay free.
    let fits = all.len() + 4 <= usize::from(area.height);
    let rows = if fits { all } else { rows(model, question, theme, width, false) };
    let hint = "↑↓ enter chooses · esc: ask for now";
    draw_question("Permissions", hint, &rows, theme, area, buffer);
    (None, 0)
}

/// The question, the explained answers, and notes; in short form, only the names of the answers.
fn rows(
    model: &Model,
    question: &ModeQuestion,
    theme: &Theme,
    width: u16,
    in_full: bool,
) -> Vec<Line<'static>> {
    let mut rows = wrap::wrap(&Line::raw("What may the model do without asking you?"), width, 0);
    let names = question.answers.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0);
    for (index, (_, name, meaning)) in question.answers.iter().enumerate() {
        let (mark, token) = choice_mark(index == question.selected);
        let meaning = if in_full { *meaning } else { "" };
        let meaning =
            if index == 0 && in_full { format!("{meaning} (recommended)") } else { meaning.to_owned() };
        let text = format!("{mark}{} {name:<names$}  {meaning}", index + 1);
        let line = Line::from(Span::styled(text.trim_end().to_owned(), theme.style(token)));
        let indent = u16::try_from(names + 6).unwrap_or(0).min(width / 2);
        rows.extend(wrap::wrap(&line, width, indent));
    }
    if !in_full {
        return rows;
    }
    let mut notes = Vec::new();
    let confined = printable_line(&model.sandbox);
    if !confined.is_empty() {
        notes.push(format!("Sandbox: {confined}."));
    }
    let key = model.keymap.hint(Action::Mode).map(|key| format!("{key} or ")).unwrap_or_default();
    notes.push(format!("Change it at any time with {key}/mode."));
    for note in notes {
        rows.extend(wrap::wrap(&Line::styled(note, theme.style(ThemeToken::Muted)), width, 0));
    }
    rows
}
