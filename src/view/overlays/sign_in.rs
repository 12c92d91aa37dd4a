//! The box of a login: what to open, what to type there, and a line for an address that is pasted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::dialog::{frame, inner_width};
use super::list::draw_secret;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::overlay::SignInView;
use tau_app::printable::printable_line;
use tau_app::request::SignInPage;

/// Draws the box; returns the cursor.
pub(super) fn draw(view: &SignInView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let name = view.page.as_ref().map_or(view.login.as_str(), |page| page.name.as_str());
    let title = format!("Log in to {}", printable_line(name));
    let waits = view.failed.is_none() && view.page.is_some();
    let hint = match view.failed {
        Some(_) => "esc closes",
        None if waits => "enter copies the address · esc stops it",
        None => "esc stops it",
    };
    let rows = rows(view, theme, inner_width(area));
    // The line for a pasted address is drawn whatever else there is no room for.
    let pastes = waits && view.page.as_ref().is_some_and(|page| page.code.is_none());
    let last = u16::from(pastes);
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(last);
    let inner = frame(&title, hint, height, theme, area, buffer);
    let bottom = inner.bottom().saturating_sub(last);
    let mut y = inner.y;
    for row in &rows {
        if y < bottom {
            buffer.set_line(inner.x, y, row, inner.width);
            y += 1;
        }
    }
    if !pastes || y >= inner.bottom() {
        return None;
    }
    Some(draw_secret(&view.line, inner, y, theme, buffer))
}

/// The text of the box, wrapped.
fn rows(view: &SignInView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut put = |text: &str, token: ThemeToken| {
        rows.extend(wrap::wrap(&Line::styled(text.to_owned(), theme.style(token)), width, 0));
    };
    match (&view.failed, &view.page) {
        (Some(failed), _) => {
            put(failed.as_str(), ThemeToken::Error);
            put("Press Esc, then /login to try again.", ThemeToken::Muted);
        }
        (None, None) => put("asking the provider…", ThemeToken::Muted),
        (None, Some(page)) => {
            put(first_step(page), ThemeToken::Text);
            put(&printable_line(&page.page), ThemeToken::Accent);
            if let Some(code) = &page.code {
                put(&format!("and type this code there: {}", printable_line(code)), ThemeToken::Text);
                put("It is for you alone. Never type a code that somebody sent you.", ThemeToken::Muted);
            } else {
                put(
                    "If the browser is on another machine and cannot show the last page, paste its address here:",
                    ThemeToken::Muted,
                );
            }
        }
    }
    rows
}

/// The first step for the user.
fn first_step(page: &SignInPage) -> &'static str {
    match (page.is_open, page.code.is_some()) {
        (true, _) => "Your browser opens this page; log in there:",
        (false, true) => "Open this page on any device, log in there:",
        (false, false) => "Open this page in your browser and log in there:",
    }
}
