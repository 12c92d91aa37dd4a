//! The terminal and the clipboard.

use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Map, Value};

use super::report::{Advice, Fact, Section};
use crate::tui::measuring::load_terminal;
use crate::tui::{clipboard, color_support, terminal};
use tau_view::color::ColorDepth;

/// A variable of the environment; `None` when it is not set or empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The terminal and its capabilities.
pub(super) fn terminal(terminals: &Path) -> Section {
    let mut section = Section::new("terminal");
    let term = variable("TERM");
    section.add(Fact::text("TERM", term.as_deref().unwrap_or("not set")));
    for name in ["TERM_PROGRAM", "TMUX", "SSH_CONNECTION"] {
        if let Some(value) = variable(name) {
            section.add(Fact::text(name, value));
        }
    }
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_terminal {
        let area = terminal::size();
        section.add(Fact::text("size", format!("{}x{}", area.width, area.height)));
        if area.width < 40 || area.height < 12 {
            section.advise(Advice::Hint("the window is small; tau is usable from 40x12 on".to_owned()));
        }
    } else {
        section.add(Fact::value("size", "standard input or output is not a terminal", ()));
    }
    let (depth, why) = color_support::detect_colors();
    let (text, value) = match depth {
        ColorDepth::True => ("24-bit", "24bit"),
        ColorDepth::Ansi256 => ("256", "256"),
        ColorDepth::Ansi16 => ("16", "16"),
        ColorDepth::None => ("none", "none"),
    };
    section.add(Fact::value("colors", format!("{text}: {why}"), value));
    if term.as_deref() == Some("dumb") {
        let text =
            "this terminal cannot move the cursor (TERM=dumb), so tau cannot show its screen; tau -p works";
        section.advise(Advice::Hint(text.to_owned()));
    } else if depth == ColorDepth::Ansi16 {
        let text = "only 16 colors are used; if your terminal shows more, set COLORTERM=truecolor or \
                    TERM=xterm-256color";
        section.advise(Advice::Hint(text.to_owned()));
    }
    unicode(&mut section);
    widths(&mut section, terminals);
    section
}

/// The terminal's width of the characters on which terminals differ, where tau has measured it.
fn widths(section: &mut Section, terminals: &Path) {
    let Some(measured) = load_terminal(terminals).map(|remembered| remembered.widths) else {
        section.add(Fact::value("widths", "not measured yet; starting tau in this terminal does", ()));
        return;
    };
    let cells = |count: u16| format!("{count} {}", if count == 1 { "cell" } else { "cells" });
    let unusual: Vec<String> = measured
        .rows()
        .filter(|(_, measured, unicode)| measured != unicode)
        .map(|(name, measured, unicode)| format!("{name}: {} instead of {unicode}", cells(measured)))
        .collect();
    let text = if unusual.is_empty() { "as Unicode says".to_owned() } else { unusual.join(", ") };
    let value: Map<String, Value> =
        measured.rows().map(|(name, measured, _)| (name.to_owned(), measured.into())).collect();
    section.add(Fact::value("widths", text, value));
    if measured.has_wide_ambiguous() {
        let text = "this terminal draws arrows, lines and Greek letters in two cells, so tau draws its frames in \
                    ASCII; set the terminal's ambiguous width to narrow";
        section.advise(Advice::Hint(text.to_owned()));
    }
}

/// Whether the locale uses UTF-8. The first variable that is set counts, as in libc.
fn unicode(section: &mut Section) {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, variable(name)?)));
    let is_utf8 = locale.as_ref().is_some_and(|(_, value)| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    });
    let why = locale.map_or_else(|| "no locale is set".to_owned(), |(name, value)| format!("{name}={value}"));
    let word = if is_utf8 { "yes" } else { "not announced" };
    section.add(Fact::value("unicode", format!("{word}: {why}"), is_utf8));
    if !is_utf8 {
        let text = "the locale does not say UTF-8; tau writes UTF-8 all the same. If borders look broken, set \
                    LANG=C.UTF-8";
        section.advise(Advice::Hint(text.to_owned()));
    }
}

/// The path of copied text.
pub(super) fn clipboard() -> Section {
    let mut section = Section::new("clipboard");
    let route = clipboard::route();
    let text = match route.program {
        Some(program) => format!("{program}, and the terminal (OSC 52)"),
        None => "the terminal only (OSC 52); whether it accepts that is not known".to_owned(),
    };
    section.add(Fact::value("copies to", text, route.program.unwrap_or("osc52")));
    section.add(Fact::text("because", route.reason));
    if let Some(missing) = route.missing {
        section.advise(Advice::Hint(format!("install {missing} to copy to the clipboard of this desktop")));
    }
    section
}
