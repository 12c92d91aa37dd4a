//! Notifications and progress: tau's signs in the terminal for a user in another window.
//!
//! From settings and the environment to bytes. A terminal that does not support a sequence ignores it, or
//! misinterprets it (to some, OSC 9 is always a notification), so `auto` uses known features of the terminal
//! and the bell otherwise.

use super::modes::TerminalMode;
use crate::process::plain;
use tau_app::geometry::TerminalUse;
use tau_protocol::screen_settings::{Notify, Support};

/// Maximum number of characters in a notification.
const NOTIFICATION_CHARS: usize = 120;

/// The sequences that this terminal understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcer {
    /// Never `Auto`.
    way: Notify,
    progress: bool,
    /// tau runs within tmux, which passes on wrapped sequences.
    tmux: bool,
}

impl Default for Announcer {
    fn default() -> Self {
        Announcer { way: Notify::Bell, progress: false, tmux: false }
    }
}

impl Announcer {
    /// The ways of this terminal.
    pub(super) fn of_terminal(terminal_use: TerminalUse) -> Self {
        Announcer::new(terminal_use.notify, terminal_use.progress, |name| std::env::var(name).ok())
    }

    /// The ways for these settings in this environment; `lookup` gives the value of a variable.
    pub fn new(notify: Notify, progress: Support, lookup: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| lookup(name).unwrap_or_default();
        let is_set = |name: &str| !value(name).is_empty();
        let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
        let way = match notify {
            Notify::Auto => match program.as_str() {
                "iTerm.app" => Notify::Osc9,
                "ghostty" | "WezTerm" => Notify::Osc777,
                _ if term.contains("kitty") || is_set("KITTY_WINDOW_ID") => Notify::Osc99,
                _ if term.starts_with("foot") || term.starts_with("rxvt-unicode") => Notify::Osc777,
                // Variables left in the environment by a terminal around tmux.
                _ if is_set("GHOSTTY_RESOURCES_DIR") || is_set("WEZTERM_PANE") => Notify::Osc777,
                _ if value("LC_TERMINAL") == "iTerm2" => Notify::Osc9,
                _ => Notify::Bell,
            },
            way => way,
        };
        let tmux = is_set("TMUX");
        let shows = is_set("WT_SESSION") || value("ConEmuANSI") == "ON" || program == "ghostty";
        let progress = progress.uses(|| shows && !tmux);
        Announcer { way, progress, tmux }
    }

    /// The bytes of a notification. Control characters of `text` are left out.
    pub(super) fn notification(self, text: &str) -> String {
        let text: String = plain::line(text).chars().take(NOTIFICATION_CHARS).collect();
        let sequence = match self.way {
            Notify::Off => return String::new(),
            Notify::Auto | Notify::Bell => return "\x07".to_owned(),
            // https://iterm2.com/documentation-escape-codes.html
            Notify::Osc9 => format!("\x1b]9;tau: {text}\x1b\\"),
            // https://sw.kovidgoyal.net/kitty/desktop-notifications/; one with the same id is replaced.
            Notify::Osc99 => format!("\x1b]99;i=tau;tau: {text}\x1b\\"),
            // Title and body are separated by a semicolon.
            Notify::Osc777 => format!("\x1b]777;notify;tau;{}\x1b\\", text.replace(';', ",")),
        };
        if self.tmux {
            // tmux drops it unless `allow-passthrough` is on; the bell always comes through.
            return format!("\x1bPtmux;{}\x1b\\\x07", sequence.replace('\x1b', "\x1b\x1b"));
        }
        sequence
    }

    /// The mode that shows progress; `None` if disabled.
    pub(super) fn progress(self) -> Option<TerminalMode> {
        self.progress.then_some(if self.tmux { TerminalMode::TmuxProgress } else { TerminalMode::Progress })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcer(notify: Notify, progress: Support, env: &[(&str, &str)]) -> Announcer {
        Announcer::new(notify, progress, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn auto_is_what_the_terminal_is_known_to_understand() {
        let cases: [(&[(&str, &str)], Notify); 9] = [
            (&[], Notify::Bell),
            (&[("TERM", "xterm-256color")], Notify::Bell),
            (&[("TERM", "xterm-kitty")], Notify::Osc99),
            (&[("TERM", "foot")], Notify::Osc777),
            (&[("TERM_PROGRAM", "iTerm.app")], Notify::Osc9),
            (&[("TERM_PROGRAM", "WezTerm")], Notify::Osc777),
            (&[("TERM_PROGRAM", "vscode")], Notify::Bell),
            (&[("TERM_PROGRAM", "tmux"), ("TMUX", "x"), ("KITTY_WINDOW_ID", "1")], Notify::Osc99),
            (&[("TERM_PROGRAM", "tmux"), ("TMUX", "x")], Notify::Bell),
        ];
        for (env, way) in cases {
            assert_eq!(announcer(Notify::Auto, Support::Auto, env).way, way, "{env:?}");
        }
        let chosen = announcer(Notify::Osc9, Support::Auto, &[("TERM", "xterm-kitty")]);
        assert_eq!(chosen.way, Notify::Osc9);
    }

    #[test]
    fn progress_is_shown_where_it_is_no_notification() {
        let windows = [("WT_SESSION", "x")];
        let shown = |progress, env: &[(&str, &str)]| announcer(Notify::Auto, progress, env).progress();
        assert_eq!(shown(Support::Auto, &windows), Some(TerminalMode::Progress));
        assert_eq!(shown(Support::Auto, &[("TERM_PROGRAM", "iTerm.app")]), None);
        assert_eq!(shown(Support::Off, &windows), None);
        assert_eq!(shown(Support::On, &[("TMUX", "x")]), Some(TerminalMode::TmuxProgress));
    }

    #[test]
    fn a_title_cannot_end_the_sequence() {
        let text = "finished · a\x1b\\b\x07c;d\u{9c}e";
        let sent = |way, env: &[(&str, &str)]| announcer(way, Support::Off, env).notification(text);
        assert_eq!(sent(Notify::Osc9, &[]), "\x1b]9;tau: finished · a\\bc;de\x1b\\");
        assert_eq!(sent(Notify::Osc99, &[]), "\x1b]99;i=tau;tau: finished · a\\bc;de\x1b\\");
        assert_eq!(sent(Notify::Osc777, &[]), "\x1b]777;notify;tau;finished · a\\bc,de\x1b\\");
        assert_eq!(sent(Notify::Off, &[]), "");
        assert_eq!(sent(Notify::Bell, &[("TMUX", "x")]), "\x07");
        let wrapped = "\x1bPtmux;\x1b\x1b]9;tau: finished · a\\bc;de\x1b\x1b\\\x1b\\\x07";
        assert_eq!(sent(Notify::Osc9, &[("TMUX", "x")]), wrapped);
    }
}
