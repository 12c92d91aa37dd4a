//! The help overlay, made from the action table and the command table. Unfiltered it has the first key of
//! each action and a few words, in columns; filtered, all details.

mod columns;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_lines, frame_within, inner_width};
use super::list;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use columns::Group;
use tau_app::Model;
use tau_app::action::{self, ActionGroup};
use tau_app::overlays::help::{self, HelpView};
use tau_app::slash::{self, Slash};

/// Cells for the keys of neighbours that share an entry.
const KEYS: usize = 16;
/// Cells for names when filtered.
const NAMES: usize = 24;

/// Draws the overlay; returns the cursor's position and how many rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &HelpView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let rows = rows(model, view, theme, inner_width(area));
    let wanted = |rows: usize| u16::try_from(rows + 1).unwrap_or(u16::MAX);
    let most = overview(model, theme, inner_width(area)).len();
    let hint = "type to filter · ↑↓ scroll · esc closes";
    let inner =
        frame_within("Keys and commands", hint, wanted(rows.len()), wanted(most), theme, area, buffer);
    let fit = usize::from(inner.height.saturating_sub(1));
    let first = view.first(rows.len(), fit);
    let place = if rows.len() > fit {
        format!("{}–{} of {}", first + 1, first + fit, rows.len())
    } else {
        String::new()
    };
    let cursor = list::draw_filter(view.query(), place, theme, inner, buffer);
    let below = Rect { y: inner.y + 1, height: fit as u16, ..inner };
    draw_lines(rows.get(first..).unwrap_or_default(), below, buffer);
    let out_of_sight = rows.len().saturating_sub(first.saturating_add(fit));
    (Some(cursor), u16::try_from(out_of_sight).unwrap_or(u16::MAX))
}

fn rows(model: &Model, view: &HelpView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let rows = if view.query().trim().is_empty() {
        overview(model, theme, width)
    } else {
        matching_lines(model, view, theme, width)
    };
    if rows.is_empty() { vec![Line::styled("no matches", theme.style(ThemeToken::Muted))] } else { rows }
}

/// The overview: the first key of each action, and a few words.
fn overview(model: &Model, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let of = |group: &ActionGroup| Group { title: group.title(), entries: entries(model, *group) };
    let mut groups: Vec<Group> = ActionGroup::ALL.iter().map(of).collect();
    let notes = NOTES.iter().map(|(what, label, _)| ((*what).to_owned(), *label)).collect();
    groups.push(Group { title: "In the composer", entries: notes });
    let mut rows = columns::rows(&groups, theme, width);
    rows.push(Line::styled("Commands", theme.style(ThemeToken::Heading)));
    let names: Vec<String> = model
        .commands
        .rows()
        .iter()
        // Those that open this help are of no use in it; a key above leaves the session running.
        .filter(|row| !matches!(row.slash, Slash::Prompt | Slash::Hotkeys | Slash::Help | Slash::Background))
        .map(|row| format!("/{}", row.name))
        .collect();
    let names = Line::styled(format!(" {}", names.join("  ")), theme.style(ThemeToken::Accent));
    rows.extend(wrap::wrap(&names, width, 1));
    rows
}

/// The keys and labels of a group. Neighbours with the same label share an entry.
fn entries(model: &Model, group: ActionGroup) -> Vec<(String, &'static str)> {
    let mut entries: Vec<(String, &str)> = Vec::new();
    for row in action::TABLE.iter().filter(|row| row.group == group) {
        let (key, label) = (model.keymap.hint(row.action), help::label(row.action));
        let key = match key {
            Some(key) if row.action == action::Action::Help => Some(format!("?/{key}")),
            None if row.action == action::Action::Help => Some("?".to_owned()),
            key => key,
        };
        match (entries.last_mut(), key) {
            (Some((keys, before)), Some(key)) if *before == label && both(keys, &key).len() <= KEYS => {
                *keys = both(keys, &key);
            }
            (_, key) => entries.push((key.unwrap_or_else(|| "(no key)".to_owned()), label)),
        }
    }
    entries
}

/// Two keys as one: a shared modifier is written once.
fn both(first: &str, second: &str) -> String {
    let held = first.rfind('+').and_then(|at| first.get(..=at));
    let rest = held.and_then(|held| second.strip_prefix(held)).filter(|rest| !rest.contains('+'));
    format!("{first}/{}", rest.unwrap_or(second))
}

/// Special input besides text: in a few words, and in full.
const NOTES: [(&str, &str, &str); 6] = [
    ("!command", "run it", "run it; the model gets the output with your next message"),
    ("!!command", "run it, hidden", "run it; the model never sees it"),
    ("!vim, !sudo x", "in a terminal", "runs in a terminal; give it the keyboard with the key above"),
    ("@file", "name a file", "mention a file of the project"),
    ("a long paste", "tab expands it", "becomes a chip; tab after it expands it"),
    (
        "ctrl+x, a key",
        "no alt needed",
        "does what other keys do with alt, ctrl+shift or fn; type ctrl+x here to list them",
    ),
];

fn matching_lines(model: &Model, view: &HelpView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for row in action::TABLE {
        let keys = model.keymap.keys_of(row.action).join(", ");
        if view.matches(&[&keys, row.help, row.name, row.group.title()]) {
            let keys = if keys.is_empty() { "(no key)" } else { &keys };
            rows.extend(entry(keys, &format!("{} ({})", row.help, row.name), theme, width));
        }
    }
    for row in model.commands.rows() {
        let name = format!("/{} {}", row.name, row.arguments);
        let others: Vec<String> = slash::aliases(&row.name).map(|alias| format!("/{alias}")).collect();
        let help = match others.as_slice() {
            [] => row.help.to_string(),
            others => format!("{} (also {})", row.help, others.join(", ")),
        };
        if view.matches(&[&name, &help, "Commands"]) {
            rows.extend(entry(&name, &help, theme, width));
        }
    }
    for (what, _, help) in NOTES {
        if view.matches(&[what, help]) {
            rows.extend(entry(what, help, theme, width));
        }
    }
    rows
}

fn entry(name: &str, help: &str, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let names = NAMES.min(usize::from(width / 2));
    let name_style = theme.style(ThemeToken::Accent);
    let help = Span::styled(help.to_owned(), theme.style(ThemeToken::Text));
    let mut rows = Vec::new();
    // Names longer than their column have a row to themselves, so that descriptions are aligned.
    let name = if wrap::cells(name) + 4 > names {
        rows.extend(wrap::wrap(&Line::styled(format!("  {name}"), name_style), width, 4));
        String::new()
    } else {
        name.to_owned()
    };
    let name = Span::styled(format!("  {name:<rest$}", rest = names.saturating_sub(2)), name_style);
    rows.extend(wrap::wrap(&Line::from(vec![name, help]), width, names as u16));
    rows
}
