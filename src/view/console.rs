//! The terminal of the command that has the keyboard, in the composer's place.
//!
//! A full-screen program gets the whole window except for a row that says how to get back. Cells are drawn
//! from the screen of `tools::vt`; no output of a program reaches the terminal in any other way.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::{terminal_text, wrap};
use tau_app::Model;
use tau_app::action::Action;
use tau_app::overlays::overlay::Overlay;
use tau_app::printable::printable_line;
use tau_app::transcript::command_panel::CommandPanel;
use tau_tools::vt::{ScreenRow, TerminalScreen};

/// The number of rows of a command's terminal in the composer's place; `None` while tau has the keyboard.
pub fn rows(model: &Model) -> Option<usize> {
    model.jobs.keyboard_screen().map(TerminalScreen::used_rows)
}

/// True if a full-screen program has the window.
pub fn is_full(model: &Model) -> bool {
    model.jobs.keyboard_screen().is_some_and(TerminalScreen::is_full)
}

/// The command that has the keyboard, and its screen.
fn keyboard_owner(model: &Model) -> Option<(&CommandPanel, &TerminalScreen)> {
    Some((model.transcript.command(model.jobs.owner()?.entry)?, model.jobs.keyboard_screen()?))
}

/// Draws a full-screen program and returns its cursor's position.
pub(crate) fn draw_full(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let (panel, screen) = keyboard_owner(model)?;
    let last = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
    let above = Rect { height: area.height.saturating_sub(1), ..area };
    let style = theme.style(ThemeToken::Footer);
    let left = Span::styled(format!(" {}", name(panel)), style);
    let right = Span::styled(way_back(model), theme.style(ThemeToken::Accent));
    buffer.set_line(last.x, last.y, &both_ends(vec![left], vec![right], last.width), last.width);
    cells(screen, 0, theme, above, buffer)
}

/// Draws a command's terminal between two rules and returns its cursor's position.
pub fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let (panel, screen) = keyboard_owner(model).filter(|_| area.height > 0)?;
    let framed = area.height >= 3;
    let inner = if framed { Rect { y: area.y + 1, height: area.height - 2, ..area } } else { area };
    if framed {
        let rule = |left: String, right: String, y: u16, buffer: &mut Buffer| {
            let taken = wrap::cells(&left) + wrap::cells(&right);
            let line = "─".repeat(usize::from(area.width).saturating_sub(taken));
            let line = Line::styled(format!("{left}{line}{right}"), theme.style(ThemeToken::ComposerShell));
            buffer.set_line(area.x, y, &line, area.width);
        };
        let back = format!(" {} ──", way_back(model));
        let room = area.width.saturating_sub(u16::try_from(wrap::cells(&back)).unwrap_or(0) + 6);
        let left = format!("── {} ", wrap::truncate(&format!("typing into {}", name(panel)), room));
        rule(left, back, area.y, buffer);
        rule(String::new(), String::new(), area.bottom() - 1, buffer);
    }
    let first = screen.used_rows().saturating_sub(usize::from(inner.height));
    cells(screen, first, theme, inner, buffer)
}

fn name(panel: &CommandPanel) -> String {
    let line = panel.command.lines().next().unwrap_or("");
    let more = if panel.command.lines().nth(1).is_some() { " …" } else { "" };
    format!("{line}{more}")
}

/// How to return the keyboard to tau, and what is waiting for it.
fn way_back(model: &Model) -> String {
    let back = match model.keymap.hint(Action::TakeKeyboard) {
        Some(key) => format!("{key} takes the keyboard back"),
        None => "the keyboard comes back when the command ends".to_owned(),
    };
    let asked = matches!(
        model.overlays.last(),
        Some(Overlay::Asked { .. } | Overlay::Form(_) | Overlay::Questions(_))
    );
    match (asked, model.status.run.is_some()) {
        (true, _) => format!("tau has a question · {back}"),
        (false, true) => format!("the agent is working · {back}"),
        (false, false) => back,
    }
}

/// Draws the rows from `first` on and returns the cursor's position, if it is in them.
fn cells(
    screen: &TerminalScreen,
    first: usize,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<(u16, u16)> {
    for (row, y) in screen.rows().skip(first).zip(area.y..area.bottom()) {
        draw_row(row, theme, Rect { y, height: 1, ..area }, buffer);
    }
    let (column, row) = screen.cursor()?;
    let row = row.checked_sub(u16::try_from(first).ok()?).filter(|row| *row < area.height)?;
    (column < area.width).then_some((area.x + column, area.y + row))
}

fn draw_row(row: &ScreenRow, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let cells = row.cells();
    for (index, (cell, x)) in cells.iter().zip(area.x..area.right()).enumerate() {
        let text = cell.text();
        let style = terminal_text::style_over(cell.style, theme, ThemeToken::Text);
        let covered = cells.iter().skip(index + 1).take_while(|next| next.text().is_empty()).count();
        let width = (covered + 1).min(usize::from(area.right() - x));
        if !text.is_empty() {
            buffer.set_style(Rect { x, y: area.y, width: width as u16, height: 1 }, style);
            buffer.set_stringn(x, area.y, printable_line(&text), width, style);
        }
    }
}
