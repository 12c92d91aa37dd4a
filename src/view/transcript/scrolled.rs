//! Decorations of a scrolled transcript: the scroll bar, the pinned prompt, and new content.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Place, Walk};
use crate::frame::{Edge, Frame};
use crate::row::MARGIN;
use crate::theme::ThemeToken;
use crate::{parts, wrap};
use tau_app::action::Action;
use tau_app::geometry::{FrameLayout, Hit};
use tau_app::transcript::EntryBody;
use tau_tools::counted::pluralize;

/// The minimum number of transcript rows for the prompt and the scroll bar to be drawn.
const MIN_ROWS: u16 = 4;

impl Walk<'_> {
    /// Draws everything that is not a row of the transcript. `top` is the first row on the screen.
    pub(super) fn draw_scroll_hints(
        &mut self,
        top: Place,
        area: Rect,
        frame: &mut Frame,
        laid: &mut FrameLayout,
    ) {
        // Above a question there may be a single row to read.
        let has_room = self.asked.is_none() || laid.page >= MIN_ROWS;
        if area.height >= MIN_ROWS && has_room && !self.needs_all_rows() {
            self.draw_pinned_prompt(top, area, frame, laid);
        }
        // The keys of a prompt may be there.
        if self.asked.is_none() {
            self.more_below(area, frame, laid);
        }
    }

    /// The prompt of the first row, if none of the prompt's own rows is visible.
    fn draw_pinned_prompt(&self, top: Place, area: Rect, frame: &mut Frame, laid: &mut FrameLayout) {
        let from = self.model.transcript.contiguous_start(top.index);
        let above = self.entries().get(from..=top.index).unwrap_or_default();
        let prompt = |body: &EntryBody| matches!(body, EntryBody::User { .. });
        let Some(found) = above.iter().rposition(|entry| prompt(&entry.body)) else { return };
        let Some(EntryBody::User { text, .. }) = above.get(found).map(|entry| &entry.body) else { return };
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if from + found == top.index || first.is_empty() {
            return;
        }
        let theme = self.memo.theme();
        let row = Rect { width: area.width - 1, height: 1, ..area };
        let room = area.width.saturating_sub(MARGIN + 2);
        let line = Line::from(vec![
            Span::styled("▌ ", theme.style(ThemeToken::UserBar)),
            Span::styled(wrap::truncate(first, room).into_owned(), theme.style(ThemeToken::Muted)),
        ]);
        frame.draw_over(row, &line);
        laid.hits.retain(|(y, _)| *y != row.y);
        laid.hits.extend(above.get(found).map(|entry| (row.y, Hit::Prompt(entry.id))));
    }

    /// The bar at the right edge of these rows, the first of which is at `top`. It is proportional to
    /// entries, so nothing off the screen is laid out.
    pub(super) fn scroll_bar(&self, top: Place, rows: &[Option<Place>]) -> Vec<Edge> {
        let all = self.share(self.entries().len(), 0);
        let end = rows.iter().flatten().next_back().map_or(all, |last| self.share(last.index, last.part + 1));
        let first = self.share(top.index, top.part);
        let seen = (end - first).clamp(0.0, all);
        let height = rows.len() as f64;
        if height < f64::from(MIN_ROWS) {
            return Vec::new();
        }
        let thumb_rows = (height * seen / all).round().clamp(1.0, height - 1.0);
        let share = if all > seen { (first / (all - seen)).clamp(0.0, 1.0) } else { 1.0 };
        let start = ((height - thumb_rows) * share).round() as usize;
        let style = |token| self.memo.theme().style(token);
        let mut bar = vec![Edge { mark: "│", style: style(ThemeToken::ToolBorder) }; rows.len()];
        let thumb = Edge { mark: "┃", style: style(ThemeToken::Muted) };
        bar.iter_mut().skip(start).take(thumb_rows as usize).for_each(|edge| *edge = thumb);
        bar
    }

    /// A place as a number of entries, with the part as a fraction of its entry. Entries that are not loaded
    /// count too.
    fn share(&self, index: usize, part: u32) -> f64 {
        let count = self.entries().get(index).map_or(1, |entry| parts::count(self.model, entry));
        let unloaded = self.model.transcript.unloaded_count_before(index);
        unloaded as f64 + index as f64 + f64::from(part) / f64::from(count.max(1))
    }

    /// A mark that there is more below, how much of it is new, and the key to go there.
    fn more_below(&self, area: Rect, frame: &mut Frame, laid: &mut FrameLayout) {
        let key = self.model.keymap.hint(Action::Tail);
        let news = match self.model.transcript.unseen_count() {
            0 => "end".to_owned(),
            count => pluralize(count, "new message"),
        };
        let words: Vec<String> = [news].into_iter().chain(key).collect();
        let text = format!(" ↓ {} ", words.join(" · "));
        let width = u16::try_from(wrap::cells(&text)).unwrap_or(area.width);
        if area.height == 0 || width > area.width {
            return;
        }
        let y = area.bottom() - 1;
        let style = self.memo.theme().style(ThemeToken::OverlaySelected);
        let over = Rect { x: area.right() - width, y, width, height: 1 };
        frame.draw_over(over, &Line::styled(text, style));
        laid.hits.retain(|(row, _)| *row != y);
        laid.hits.push((y, Hit::Tail));
    }
}
