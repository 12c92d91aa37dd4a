//! The composer on the screen: a rule above and below, a prompt, the wrapped text, the cursor.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::{Theme, ThemeToken};
use super::{footer, layout, wrap};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::composer::layout::{ComposerLayout, VisualRow};
use tau_app::composer::segments::SegmentKind;
use tau_app::composer::{Composer, InputMode};
use tau_app::printable::printable_line;

/// The rows of the composer, with the cursor's column and row.
pub(crate) fn lines(model: &Model, theme: &Theme, area: Rect) -> (Vec<Line<'static>>, Option<(u16, u16)>) {
    let prompt_border = ThemeToken::composer(model.status.mirror.thinking);
    let (border, label, prompt) = match model.composer.mode() {
        _ if model.editing.is_some() => (prompt_border, editing_label(model), "> "),
        InputMode::Prompt => (prompt_border, String::new(), "> "),
        InputMode::Shell => (ThemeToken::ComposerShell, "shell: the model sees the output".to_owned(), "$ "),
        InputMode::ShellOnly => (ThemeToken::ComposerShell, "shell: hidden from the model".to_owned(), "$ "),
    };
    let labels = [vim_label(model), label];
    let labels: Vec<String> = labels.into_iter().filter(|label| !label.is_empty()).collect();
    let framed = has_rules(area);
    let inner = if framed { Rect { y: area.y + 1, height: area.height - 2, ..area } } else { area };
    let wrapped = model.composer.layout(layout::composer_width(area));
    let height = usize::from(inner.height);
    let (mut lines, cursor) = text(model, &wrapped, Span::styled(prompt, theme.style(border)), theme, inner);
    if model.composer.is_empty()
        && let Some(first) = lines.first_mut()
    {
        first.spans.push(placeholder(model, theme));
    }
    if framed {
        let place = format!("row {} of {}", wrapped.cursor.row + 1, wrapped.rows.len());
        let place = if wrapped.rows.len() > height { place.as_str() } else { "" };
        lines.insert(0, rule(theme, border, &labels.join(" · "), area.width));
        lines.push(rule(theme, border, place, area.width));
    }
    let below = lines.len().saturating_sub(1);
    if model.takes_answer() {
        // The draft stays visible but inactive.
        let faint = Style::reset().patch(theme.style(ThemeToken::Text)).patch(theme.style(ThemeToken::Faint));
        lines.iter_mut().flat_map(|line| &mut line.spans).for_each(|span| span.style = faint);
    }
    if let Some(text) = footer::long_remark(model, theme, area.width).filter(|_| framed)
        && let Some(rule) = lines.get_mut(below)
    {
        *rule = rule_with_remark(theme, border, &text, area.width);
    }
    (lines, (area.height > 0).then_some(cursor))
}

/// True if the composer has a rule above and one below.
pub(crate) fn has_rules(area: Rect) -> bool {
    area.height >= 3
}

/// The number of rows of the text alone, in a window.
pub(super) fn rows(model: &Model, window: Rect) -> u16 {
    let rows = model.composer.layout(layout::composer_width(window)).rows.len();
    u16::try_from(rows).unwrap_or(u16::MAX).min((window.height / 3).max(1))
}

/// Draws the text alone, after a mark that says what it is; returns the cursor's column and row.
pub(super) fn draw_text(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let prompt = match model.composer.mode() {
        InputMode::Prompt => "> ",
        InputMode::Shell | InputMode::ShellOnly => "$ ",
    };
    let wrapped = model.composer.layout(layout::composer_width(area));
    let (lines, cursor) = text(model, &wrapped, Span::raw(prompt), theme, area);
    for (y, line) in (area.top()..area.bottom()).zip(&lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
    (area.height > 0).then_some(cursor)
}

/// The rows around the cursor, with its column and row.
fn text(
    model: &Model,
    wrapped: &ComposerLayout,
    prompt: Span<'static>,
    theme: &Theme,
    inner: Rect,
) -> (Vec<Line<'static>>, (u16, u16)) {
    let selected = model.composer.selected_range().unwrap_or_default();
    let height = usize::from(inner.height);
    let first = (wrapped.cursor.row + 1).saturating_sub(height);
    let line = |(index, row): (usize, &VisualRow)| {
        let mut line = text_of(&model.composer, row, &selected, theme);
        line.spans.insert(0, if index == 0 { prompt.clone() } else { Span::styled("  ", prompt.style) });
        line
    };
    let lines = wrapped.rows.iter().enumerate().skip(first).take(height).map(line).collect();
    let column = (2 + wrapped.cursor.column).min(inner.width.saturating_sub(1));
    let row = wrapped.cursor.row.saturating_sub(first) as u16;
    (lines, (inner.x + column, inner.y + row.min(inner.height.saturating_sub(1))))
}

/// The mode of Vim keys, and the keys of an incomplete command.
fn vim_label(model: &Model) -> String {
    let mode = model.composer.vim_mode();
    mode.map_or(String::new(), |(name, keys)| {
        format!("{name} {}", printable_line(keys)).trim_end().to_owned()
    })
}

/// The actions of keys while a queued message is edited.
fn editing_label(model: &Model) -> String {
    let hint = |action, does: &str| model.keymap.hint(action).map(|key| format!(" · {key} {does}"));
    let keys = [hint(Action::Send, "saves"), hint(Action::Cancel, "leaves it as it was")];
    format!("queued message{}", keys.into_iter().flatten().collect::<String>())
}

fn rule(theme: &Theme, token: ThemeToken, label: &str, width: u16) -> Line<'static> {
    let width = usize::from(width);
    let start = match label {
        "" => String::new(),
        label if label.len() + 6 < width => format!("── {label} "),
        _ => String::new(),
    };
    let rest = "─".repeat(width.saturating_sub(wrap::cells(&start)));
    Line::from(Span::styled(start + &rest, theme.style(token)))
}

/// The rule, with remarks that do not fit below it.
fn rule_with_remark(theme: &Theme, token: ThemeToken, text: &str, width: u16) -> Line<'static> {
    const SIDES: u16 = 6;
    let text = wrap::truncate(text, width.saturating_sub(SIDES)).into_owned();
    let rest = usize::from(width).saturating_sub(wrap::cells(&text) + 4);
    let border = theme.style(token);
    Line::from(vec![
        Span::styled("── ", border),
        Span::styled(text, theme.style(ThemeToken::Accent)),
        Span::styled(format!(" {}", "─".repeat(rest)), border),
    ])
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

fn placeholder(model: &Model, theme: &Theme) -> Span<'static> {
    let text = if model.shows_prompt() {
        String::new()
    } else if model.status.run.is_some() {
        let hint = |verb: &str, action| model.keymap.hint(action).map(|key| format!("{verb} with {key}"));
        let hints =
            [hint("steer", Action::Send), hint("queue", Action::FollowUp), hint("stop", Action::Cancel)];
        hints.into_iter().flatten().collect::<Vec<_>>().join(", ")
    } else {
        "ask for something, or !command".to_owned()
    };
    Span::styled(text, theme.style(ThemeToken::Faint))
}
