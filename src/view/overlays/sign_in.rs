//! The box of a login: what to open, what to type there, and a line for an address that is pasted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::frame;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::overlay::SignInView;
use tau_app::printable::printable_line;
use tau_app::request::SignInPage;

/// The number of rows of the box.
const ROWS: u16 = 12;

/// Draws the box; returns the cursor.
pub(super) fn draw(view: &SignInView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let name = view.page.as_ref().map_or(view.login.as_str(), |page| page.name.as_str());
    let title = format!("Log in to {}", printable_line(name));
    let inner = frame(&title, "esc stops it", ROWS, theme, area, buffer);
    let mut y = inner.y;
    let mut put = |text: &str, token: ThemeToken| {
        for row in wrap::wrap(&Line::styled(text.to_owned(), theme.style(token)), inner.width, 0) {
            if y < inner.bottom() {
                buffer.set_line(inner.x, y, &row, inner.width);
                y += 1;
            }
        }
    };
    match (&view.failed, &view.page) {
        (Some(failed), _) => {
            put(failed.as_str(), ThemeToken::Error);
            put("Press Esc, then /login to try again.", ThemeToken::Muted);
            return None;
        }
        (None, None) => {
            put("asking the provider…", ThemeToken::Muted);
            return None;
        }
        (None, Some(page)) => {
            put(asked(page), ThemeToken::Text);
            put(&printable_line(&page.page), ThemeToken::Accent);
            if let Some(code) = &page.code {
                put(&format!("and type this code there: {}", printable_line(code)), ThemeToken::Text);
                put("It is for you alone. Never type a code that somebody sent you.", ThemeToken::Muted);
                return None;
            }
            put(
                "If the browser is on another machine and cannot show the last page, paste its address here:",
                ThemeToken::Muted,
            );
        }
    }
    if y >= inner.bottom() {
        return None;
    }
    let shown = "•".repeat(view.line.text().chars().count().min(usize::from(inner.width.saturating_sub(4))));
    let column = 2 + wrap::cells(&shown) as u16;
    let prompt = Line::from(vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(shown)]);
    buffer.set_line(inner.x, y, &prompt, inner.width);
    Some((inner.x + column.min(inner.width.saturating_sub(1)), y))
}

/// The first step for the user.
fn asked(page: &SignInPage) -> &'static str {
    match (page.is_open, page.code.is_some()) {
        (true, _) => "Your browser opens this page; log in there:",
        (false, true) => "Open this page on any device, log in there:",
        (false, false) => "Open this page in your browser and log in there:",
    }
}
