//! The terminal's colours, and whether it answers queries, from the environment.

use tau_view::color::ColorDepth;

/// Whether a terminal can be queried: not if it would print the query or never answer.
pub(crate) fn answers_questions(term: &str, tmux: bool) -> bool {
    let kind = term.split(['-', '.', '+']).next().unwrap_or_default();
    match kind {
        "" | "dumb" | "unknown" | "linux" | "cons25" | "vt100" | "vt102" | "vt220" | "vt52" | "ansi"
        | "eterm" | "emacs" | "sun" | "wsvt25" => false,
        // GNU screen answers nothing; tmux may have the same name and does answer.
        "screen" => tmux,
        _ => true,
    }
}

/// The terminal's colours, and the evidence for them.
pub(crate) fn detect_colors() -> (ColorDepth, String) {
    let value = |name: &str| std::env::var(name).unwrap_or_default();
    let (term, colorterm) = (value("TERM"), value("COLORTERM"));
    if !value("NO_COLOR").is_empty() {
        (ColorDepth::None, "NO_COLOR is set".to_owned())
    } else if matches!(colorterm.as_str(), "truecolor" | "24bit") {
        (ColorDepth::True, format!("COLORTERM={colorterm}"))
    } else if term.contains("direct") {
        (ColorDepth::True, format!("TERM={term}"))
    } else if term.contains("256color") {
        (ColorDepth::Ansi256, format!("TERM={term}, and COLORTERM does not say truecolor"))
    } else {
        (ColorDepth::Ansi16, "neither TERM nor COLORTERM names more".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::answers_questions;

    #[test]
    fn only_terminals_that_answer_are_asked() {
        for term in ["xterm-256color", "xterm-kitty", "tmux-256color", "alacritty", "foot", "rxvt-unicode"] {
            assert!(answers_questions(term, false), "{term}");
        }
        for term in
            ["", "dumb", "linux", "linux-16color", "vt100", "vt220", "screen", "screen.xterm-256color"]
        {
            assert!(!answers_questions(term, false), "{term}");
        }
        assert!(answers_questions("screen-256color", true));
    }
}
