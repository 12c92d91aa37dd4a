//! Queued messages: the rows above the composer, and the list for changing them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::overlays::dialog::{OverlayLayout, frame};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::overlays::queue_list::{self, QueueView};
use tau_app::status::QueuedText;
use tau_protocol::command::{Queue, QueuedMessage};

fn word(queue: Queue) -> &'static str {
    match queue {
        Queue::Steer => "steer",
        Queue::FollowUp => "then",
    }
}

/// Queued messages, one per row; the first row names the key that lists them.
pub(crate) fn lines(model: &Model, theme: &Theme, area: Rect) -> Vec<Line<'static>> {
    let all = model.status.queued();
    let shown = usize::from(area.height);
    let row = |(offset, (name, queued)): (usize, (QueuedMessage, &QueuedText))| {
        let more = all - shown.min(all);
        let note = if offset + 1 == shown && more > 0 { format!(" (+{more})") } else { String::new() };
        let left = vec![
            Span::styled(format!("  {}: ", word(name.queue)), theme.style(ThemeToken::Accent)),
            Span::styled(format!("{}{note}", queued.shown.as_str()), theme.style(ThemeToken::Muted)),
        ];
        let key = model.keymap.hint(Action::EditQueue).filter(|_| offset == 0);
        match key {
            Some(key) => {
                let hint = Span::styled(format!("{key} edits"), theme.style(ThemeToken::Faint));
                both_ends(left, vec![hint], area.width)
            }
            None => wrap::truncate_line(Line::from(left), area.width.saturating_sub(1)),
        }
    };
    queue_list::all(&model.status).take(shown).enumerate().map(row).collect()
}

/// Draws the list and returns how many of its rows fit.
pub(crate) fn draw_list(
    model: &Model,
    view: &QueueView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let hint = "enter edit · d delete · shift+↑↓ move · tab kind · s send now · esc";
    let rows = u16::try_from(model.status.queued()).unwrap_or(u16::MAX);
    let inner = frame("Queued messages", hint, rows, theme, area, buffer);
    let height = usize::from(inner.height);
    let place = view.place(&model.status);
    let first = place.saturating_sub(height / 2).min(model.status.queued().saturating_sub(height));
    let visible = queue_list::all(&model.status).enumerate().skip(first).take(height);
    for (y, (index, (name, queued))) in (inner.top()..inner.bottom()).zip(visible) {
        if index == place {
            let bar = Rect { y, height: 1, ..inner };
            buffer.set_style(bar, theme.style(ThemeToken::OverlaySelected));
        }
        let row = Line::from(vec![
            Span::styled(format!("{:<6}", word(name.queue)), theme.style(ThemeToken::Accent)),
            Span::raw(queued.shown.as_str().to_owned()),
        ]);
        buffer.set_line(inner.x, y, &wrap::truncate_line(row, inner.width), inner.width);
    }
    (None, inner.height)
}
