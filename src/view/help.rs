//! The help overlay: made from the action table and the command table.

use ratatui::text::{Line, Span};

use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::app::Model;
use crate::app::action;

/// Cells for keys and for command names.
const NAMES: usize = 24;

/// All rows, at this width.
pub fn rows(model: &Model, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let mut rows = vec![heading("Keys", theme)];
    for row in action::TABLE {
        let keys = model.keymap.keys_of(row.action).join(", ");
        let keys = if keys.is_empty() { "(no key)".to_owned() } else { keys };
        rows.extend(entry(&keys, &format!("{} ({})", row.help, row.name), theme, width));
    }
    rows.push(Line::default());
    rows.push(heading("Commands", theme));
    for row in model.commands.rows() {
        rows.extend(entry(&format!("/{} {}", row.name, row.arguments), &row.help, theme, width));
    }
    rows.push(Line::default());
    rows.push(heading("In the composer", theme));
    for (what, help) in [
        ("!command", "run it; the model gets the output with your next message"),
        ("!!command", "run it; the model never sees it"),
        ("!vim, !sudo x", "runs in a terminal; give it the keyboard with the key above"),
        ("@file", "name a file of the project"),
        ("a long paste", "becomes a chip; tab after it expands it"),
    ] {
        rows.extend(entry(what, help, theme, width));
    }
    rows
}

fn heading(text: &'static str, theme: &Theme) -> Line<'static> {
    Line::styled(text, theme.style(ThemeToken::Heading))
}

fn entry(name: &str, help: &str, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let name = format!("  {:<NAMES$}", format!("{name} "));
    let indent = u16::try_from(wrap::cells(&name)).unwrap_or(0).min(width / 2);
    let line = Line::from(vec![
        Span::styled(name, theme.style(ThemeToken::Accent)),
        Span::styled(help.to_owned(), theme.style(ThemeToken::Text)),
    ]);
    wrap::wrap(&line, width, indent)
}
