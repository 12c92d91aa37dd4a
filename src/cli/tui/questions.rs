//! Queries to the terminal: the ones sent, and whether answers are pending.
//!
//! Each query about the terminal itself is sent once, after the first frame, which waits for none. The
//! queries of one round go out in one write and end with one that every terminal answers (DA1): its answer
//! means that no other is pending. The meaning of answers is in [`super::decode`].
//!
//! Queries about the clipboard are sent on every paste.
//!
//! Sources: xterm's control sequences; the graphics and the clipboard protocol of kitty.

use std::time::{Duration, Instant};

use base64::Engine;
use tokio::sync::mpsc;

use super::color_support::{answers_questions, detect_colors};
use super::event::ClipboardAnswer;
use tau_app::terminal_facts::TerminalAnswer;
use tau_view::color::ColorDepth;

/// Time after a query for which the terminal is not given to another program, which would get the answer.
/// Answers take a few milliseconds, or some hundred over a long distance.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Query for the terminal's attributes (DA1), which ends a round.
const ATTRIBUTES: &str = "\x1b[c";
/// Query for the cursor's position (CPR).
pub(crate) const WHERE_IS_THE_CURSOR: &str = "\x1b[6n";
/// The requested types of content: pictures that models accept, and text.
const CONTENT_TYPES: &str = "image/png image/jpeg image/webp image/gif text/plain";

/// A query to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalQuestion {
    Background,
    /// The size of its cells.
    CellPixels,
    /// Its name and version (XTVERSION).
    Version,
    /// Whether it supports the kitty graphics protocol: a picture of one pixel, not to be shown.
    KittyGraphics,
}

const QUESTIONS: [TerminalQuestion; 4] = [
    TerminalQuestion::Background,
    TerminalQuestion::CellPixels,
    TerminalQuestion::Version,
    TerminalQuestion::KittyGraphics,
];

impl TerminalQuestion {
    fn sequence(self) -> &'static str {
        match self {
            TerminalQuestion::Background => "\x1b]11;?\x1b\\",
            TerminalQuestion::CellPixels => "\x1b[16t",
            TerminalQuestion::Version => "\x1b[>q",
            TerminalQuestion::KittyGraphics => "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
        }
    }

    /// Whether an answer would be useful, and the query is harmless.
    fn is_sensible(self, variable: impl Fn(&str) -> String) -> bool {
        match self {
            TerminalQuestion::Background => detect_colors().0 != ColorDepth::None,
            TerminalQuestion::CellPixels | TerminalQuestion::Version => true,
            // tmux treats it as a title, Terminal as text.
            TerminalQuestion::KittyGraphics => {
                variable("TMUX").is_empty() && variable("TERM_PROGRAM") != "Apple_Terminal"
            }
        }
    }
}

/// A query about the terminal's clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClipboardQuestion {
    /// Whether it supports content by type (OSC 5522).
    KnowsTypes,
    /// A picture or text (OSC 5522). The terminal may ask the user first.
    Content,
    /// Its text (OSC 52).
    Text,
}

impl ClipboardQuestion {
    fn sequence(self) -> String {
        match self {
            ClipboardQuestion::KnowsTypes => format!("\x1b[?5522$p{ATTRIBUTES}"),
            ClipboardQuestion::Content => {
                let types = base64::engine::general_purpose::STANDARD.encode(CONTENT_TYPES);
                format!("\x1b]5522;type=read;{types}\x1b\\")
            }
            ClipboardQuestion::Text => format!("\x1b]52;c;?\x1b\\{ATTRIBUTES}"),
        }
    }
}

/// A query about the clipboard, and the receiver of its answers.
#[derive(Debug)]
pub(crate) struct ClipboardAsk {
    pub question: ClipboardQuestion,
    pub answers: mpsc::UnboundedSender<ClipboardAnswer>,
}

/// The queries sent to the terminal.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asked: Vec<TerminalQuestion>,
    /// The number of rounds whose end was not answered.
    open: usize,
    /// The time limit for that.
    until: Option<Instant>,
    /// The receiver of the last clipboard query.
    clipboard: Option<mpsc::UnboundedSender<ClipboardAnswer>>,
}

impl Questions {
    /// The bytes of the wanted queries that were not sent yet; empty without any, and where the terminal
    /// would print them or never answer.
    pub(crate) fn ask(&mut self, wants: impl Fn(TerminalQuestion) -> bool) -> String {
        let wanted = |question: &TerminalQuestion| wants(*question) && !self.asked.contains(question);
        let mut round: Vec<TerminalQuestion> = QUESTIONS.into_iter().filter(wanted).collect();
        if round.is_empty() {
            return String::new();
        }
        self.asked.extend(&round);
        if !Self::can_ask() {
            return String::new();
        }
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        round.retain(|question| question.is_sensible(variable));
        self.begin_round(Instant::now());
        round.into_iter().map(TerminalQuestion::sequence).chain([ATTRIBUTES]).collect()
    }

    /// Whether the terminal answers queries instead of printing them.
    pub(crate) fn can_ask() -> bool {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        answers_questions(&variable("TERM"), !variable("TMUX").is_empty())
    }

    /// Starts a round of queries sent elsewhere; returns the bytes that end it.
    pub(crate) fn end_round(&mut self) -> &'static str {
        self.begin_round(Instant::now());
        ATTRIBUTES
    }

    fn begin_round(&mut self, now: Instant) {
        self.open += 1;
        self.until = Some(now + ANSWER_TIMEOUT);
    }

    /// The bytes of a query about the clipboard.
    pub(crate) fn ask_for_clipboard(&mut self, ask: ClipboardAsk) -> String {
        self.clipboard = Some(ask.answers);
        // Only its own answer ends this query, and may wait for the user.
        if ask.question != ClipboardQuestion::Content {
            self.begin_round(Instant::now());
        }
        ask.question.sequence()
    }

    /// Records an answer.
    pub(crate) fn on_answer(&mut self, answer: &TerminalAnswer) {
        if matches!(answer, TerminalAnswer::Attributes { .. }) {
            self.open = self.open.saturating_sub(1);
            if self.open == 0 {
                self.on_clipboard_answer(ClipboardAnswer::NothingMore);
            }
        }
    }

    /// Passes on an answer about the clipboard, to the requester only.
    pub(crate) fn on_clipboard_answer(&mut self, answer: ClipboardAnswer) {
        self.clipboard = self.clipboard.take().filter(|asker| asker.send(answer).is_ok());
    }

    /// Time until which answers are awaited before the terminal is given to another program.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| self.open > 0 && *until > now)
    }

    /// Stops waiting for answers. Returns whether some may be pending.
    pub(crate) fn close(&mut self) -> bool {
        std::mem::take(&mut self.open) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: TerminalAnswer = TerminalAnswer::Attributes { sixel: false };

    #[test]
    fn the_last_answer_of_every_round_is_waited_for_a_while() {
        let (mut questions, now) = (Questions::default(), Instant::now());
        assert_eq!(questions.due(now), None);
        questions.begin_round(now);
        questions.begin_round(now);
        questions.on_answer(&TerminalAnswer::KittyGraphics(true));
        questions.on_answer(&END);
        assert_eq!(questions.due(now), Some(now + ANSWER_TIMEOUT));
        assert_eq!(questions.due(now + ANSWER_TIMEOUT), None);
        questions.on_answer(&END);
        assert_eq!(questions.due(now), None);
        assert!(!questions.close());
        questions.begin_round(now);
        assert!(questions.close() && questions.due(now).is_none());
        // A query whose answer is no longer wanted.
        questions.on_answer(&END);
        assert!(!questions.close());
    }

    #[test]
    fn some_terminals_are_spared_what_they_would_print() {
        let tmux = |name: &str| if name == "TMUX" { "x".to_owned() } else { String::new() };
        assert!(!TerminalQuestion::KittyGraphics.is_sensible(tmux));
        assert!(TerminalQuestion::CellPixels.is_sensible(tmux));
        let terminal =
            |name: &str| if name == "TERM_PROGRAM" { "Apple_Terminal".to_owned() } else { String::new() };
        assert!(!TerminalQuestion::KittyGraphics.is_sensible(terminal));
        assert!(TerminalQuestion::KittyGraphics.is_sensible(|_| String::new()));
    }
}
