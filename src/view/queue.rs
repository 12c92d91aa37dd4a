//! Queued messages: the rows above the composer, and the list for changing them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::overlays::dialog::{OverlayLayout, inner_width};
use crate::overlays::list::ListBox;
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
    let all = model.status.queued_count();
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
    let (all, width): (Vec<_>, u16) = (queue_list::all(&model.status).collect(), inner_width(area));
    let list = ListBox {
        title: "Queued messages",
        hint: "enter edit · d delete · shift+↑↓ move · tab kind · s send now · esc",
        count: all.len(),
        selected: Some(view.place(&model.status)),
        ..ListBox::default()
    };
    let mut row = |index: usize| {
        let Some((name, queued)) = all.get(index) else { return Line::default() };
        let row = Line::from(vec![
            Span::styled(format!("{:<6}", word(name.queue)), theme.style(ThemeToken::Accent)),
            Span::raw(queued.shown.as_str().to_owned()),
        ]);
        wrap::truncate_line(row, width)
    };
    list.draw(theme, area, buffer, &mut row).0
}
