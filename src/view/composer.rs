//! The composer on the screen: a rule above and below, a prompt, the wrapped text, the cursor.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout;
use super::theme::{Theme, ThemeToken};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::composer::layout::{ComposerLayout, VisualRow};
use crate::app::composer::segments::SegmentKind;
use crate::app::composer::{Composer, InputMode};
use crate::app::printable::printable_line;

/// Draws the composer; the cursor's column and row.
pub fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    if area.height == 0 {
        return None;
    }
    let editing = editing_label(model);
    let (border, label, prompt) = match model.composer.mode() {
        _ if model.editing.is_some() => (ThemeToken::composer(model.status.thinking), editing.as_str(), "> "),
        InputMode::Prompt => (ThemeToken::composer(model.status.thinking), "", "> "),
        InputMode::Shell => (ThemeToken::ComposerShell, "shell: the model sees the output", "$ "),
        InputMode::ShellOnly => (ThemeToken::ComposerShell, "shell: hidden from the model", "$ "),
    };
    let labels = [vim_label(model), label.to_owned()];
    let labels: Vec<String> = labels.into_iter().filter(|label| !label.is_empty()).collect();
    let framed = area.height >= 3;
    let inner = if framed { Rect { y: area.y + 1, height: area.height - 2, ..area } } else { area };
    if framed {
        rule(theme, border, &labels.join(" · "), area.y, area, buffer);
    }
    let wrapped = model.composer.layout(layout::composer_width(area));
    let height = usize::from(inner.height);
    if framed {
        let place = format!("row {} of {}", wrapped.cursor.row + 1, wrapped.rows.len());
        let place = if wrapped.rows.len() > height { place.as_str() } else { "" };
        rule(theme, border, place, area.bottom() - 1, area, buffer);
    }
    let cursor = text(model, &wrapped, Span::styled(prompt, theme.style(border)), theme, inner, buffer);
    if model.composer.is_empty() {
        placeholder(model, theme, inner, buffer);
    }
    if model.takes_answer() {
        // The draft stays, and is only looked at.
        buffer.set_style(area, Style::reset().patch(theme.style(ThemeToken::Text)));
        buffer.set_style(area, theme.style(ThemeToken::Faint));
    }
    Some(cursor)
}

/// Rows of the text alone, in a window.
pub(super) fn rows(model: &Model, window: Rect) -> u16 {
    let rows = model.composer.layout(layout::composer_width(window)).rows.len();
    u16::try_from(rows).unwrap_or(u16::MAX).min((window.height / 3).max(1))
}

/// Draws the text alone, behind a mark that says what it is; the cursor's column and row.
pub(super) fn draw_text(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let prompt = match model.composer.mode() {
        InputMode::Prompt => "> ",
        InputMode::Shell | InputMode::ShellOnly => "$ ",
    };
    let wrapped = model.composer.layout(layout::composer_width(area));
    (area.height > 0).then(|| text(model, &wrapped, Span::raw(prompt), theme, area, buffer))
}

/// Draws the rows around the cursor; its column and row.
fn text(
    model: &Model,
    wrapped: &ComposerLayout,
    prompt: Span<'static>,
    theme: &Theme,
    inner: Rect,
    buffer: &mut Buffer,
) -> (u16, u16) {
    let selected = model.composer.selected().unwrap_or_default();
    let height = usize::from(inner.height);
    let first = (wrapped.cursor.row + 1).saturating_sub(height);
    for (offset, row) in wrapped.rows.iter().enumerate().skip(first).take(height) {
        let y = inner.y + (offset - first) as u16;
        let mut line = text_of(&model.composer, row, &selected, theme);
        line.spans.insert(0, if offset == 0 { prompt.clone() } else { Span::styled("  ", prompt.style) });
        buffer.set_line(inner.x, y, &line, inner.width);
    }
    let column = (2 + wrapped.cursor.column).min(inner.width.saturating_sub(1));
    let row = (wrapped.cursor.row - first) as u16;
    (inner.x + column, inner.y + row.min(inner.height.saturating_sub(1)))
}

/// Vim's mode, and the keys of a command that is not complete.
fn vim_label(model: &Model) -> String {
    let mode = model.composer.vim_mode();
    mode.map_or(String::new(), |(name, keys)| {
        format!("{name} {}", printable_line(keys)).trim_end().to_owned()
    })
}

/// What the keys do while a queued message is edited.
fn editing_label(model: &Model) -> String {
    let hint = |action, does: &str| model.keymap.hint(action).map(|key| format!(" · {key} {does}"));
    let keys = [hint(Action::Send, "saves"), hint(Action::Cancel, "leaves it as it was")];
    format!("queued message{}", keys.into_iter().flatten().collect::<String>())
}

fn rule(theme: &Theme, token: ThemeToken, label: &str, y: u16, area: Rect, buffer: &mut Buffer) {
    let style = theme.style(token);
    let width = usize::from(area.width);
    let start = match label {
        "" => String::new(),
        label if label.len() + 6 < width => format!("── {label} "),
        _ => String::new(),
    };
    let (rest, _) = buffer.set_stringn(area.x, y, start, width, style);
    for x in rest..area.right() {
        if let Some(cell) = buffer.cell_mut((x, y)) {
            cell.set_char('─').set_style(style);
        }
    }
}

fn text_of(
    composer: &Composer,
    row: &VisualRow,
    selected: &Range<(usize, usize)>,
    theme: &Theme,
) -> Line<'static> {
    let line = composer.lines().get(row.line).map_or("", String::as_str);
    let mut spans: Vec<Span<'static>> = Vec::new();
    for segment in &row.segments {
        let text = match line.get(segment.bytes.clone()).unwrap_or("") {
            "\t" => "    ".into(),
            text => printable_line(text),
        };
        let style = match segment.kind {
            _ if selected.contains(&(row.line, segment.first_char)) => theme.style(ThemeToken::Selection),
            SegmentKind::Chip => theme.style(ThemeToken::Accent),
            SegmentKind::Space | SegmentKind::Word | SegmentKind::Other => Style::default(),
        };
        match spans.last_mut() {
            Some(span) if span.style == style => span.content.to_mut().push_str(&text),
            _ => spans.push(Span::styled(text.into_owned(), style)),
        }
    }
    Line::from(spans)
}

fn placeholder(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let text = if model.takes_answer() {
        "the call above waits for you".to_owned()
    } else if model.status.run.is_some() {
        let hint = |verb: &str, action| model.keymap.hint(action).map(|key| format!("{verb} with {key}"));
        let hints =
            [hint("steer", Action::Send), hint("queue", Action::FollowUp), hint("stop", Action::Cancel)];
        hints.into_iter().flatten().collect::<Vec<_>>().join(", ")
    } else {
        "ask for something, or !command".to_owned()
    };
    let line = Line::styled(text, theme.style(ThemeToken::Faint));
    buffer.set_line(area.x + 2, area.y, &line, area.width.saturating_sub(2));
}
