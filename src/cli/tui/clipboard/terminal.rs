//! The clipboard of the terminal, which is the user's even over SSH. Pictures and text come from terminals
//! with kitty's protocol (OSC 5522), text from others (OSC 52). Most allow reading only when configured to,
//! and do not answer otherwise.

use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, timeout_at};

use super::content::{EMPTY, MAX_SIZE, text_of, too_large};
use super::{is_remote, is_set, route};
use crate::services::call::Call;
use crate::services::files::picture_of;
use crate::tui::color_support::answers_questions;
use crate::tui::event::ClipboardAnswer;
use crate::tui::questions::{ClipboardAsk, ClipboardQuestion};
use tau_app::request::ClipboardContent;
use tau_tools::user_error::UserError;

/// Time limit for a terminal's answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Time limit for a terminal's text. Some ask the user first.
const TEXT: Duration = Duration::from_secs(4);
/// Time limit for a terminal with OSC 5522: it asks the user, and reports the decision.
const CONTENT: Duration = Duration::from_secs(60);

/// The settings that let terminals share their clipboard: a part of the terminal's name in `TERM`,
/// `TERM_PROGRAM` or `LC_TERMINAL`, and the setting.
const SETTINGS: [(&str, &str); 6] = [
    ("kitty", "add read-clipboard to clipboard_control in kitty.conf"),
    ("ghostty", "set clipboard-read = allow in the configuration of Ghostty"),
    ("alacritty", "set osc52 = \"CopyPaste\" under [terminal] in alacritty.toml"),
    ("foot", "set osc52 = enabled under [security] in foot.ini"),
    ("iTerm", "in iTerm2: Settings, General, Selection, let applications access the clipboard"),
    ("xterm", "if it is xterm: XTerm*allowWindowOps: true"),
];

/// The content of the terminal's clipboard. The error is a sentence for the user, with a remedy.
pub(super) async fn read(call: &Call) -> Result<ClipboardContent, UserError> {
    let term = std::env::var("TERM").unwrap_or_default();
    if !answers_questions(&term, is_set("TMUX")) {
        return Err(silence().into());
    }
    let (sender, answers) = mpsc::unbounded_channel();
    let mut terminal = Terminal { call, sender, answers };
    if terminal.knows_types().await { terminal.content().await } else { terminal.text().await }
}

/// An exchange with the terminal about its clipboard.
struct Terminal<'a> {
    call: &'a Call,
    sender: UnboundedSender<ClipboardAnswer>,
    answers: UnboundedReceiver<ClipboardAnswer>,
}

impl Terminal<'_> {
    /// Sends a question; returns the deadline for answers.
    async fn ask(&self, question: ClipboardQuestion, patience: Duration) -> Instant {
        self.call.ask_terminal(ClipboardAsk { question, answers: self.sender.clone() }).await;
        Instant::now() + patience
    }

    async fn next(&mut self, until: Instant) -> Option<ClipboardAnswer> {
        timeout_at(until, self.answers.recv()).await.ok().flatten()
    }

    async fn knows_types(&mut self) -> bool {
        let until = self.ask(ClipboardQuestion::KnowsTypes, ANSWER).await;
        let mut knows = false;
        while let Some(answer) = self.next(until).await {
            match answer {
                ClipboardAnswer::KnowsTypes(answer) => knows = answer,
                ClipboardAnswer::NothingMore => break,
                _ => {}
            }
        }
        knows
    }

    async fn content(&mut self) -> Result<ClipboardContent, UserError> {
        let until = self.ask(ClipboardQuestion::Content, CONTENT).await;
        let (mut picture, mut text) = ((String::new(), Vec::new()), Vec::new());
        loop {
            match self.next(until).await {
                Some(ClipboardAnswer::Part { mime_type, bytes }) if mime_type == "text/plain" => {
                    text.extend(bytes);
                }
                Some(ClipboardAnswer::Part { mime_type, bytes }) => {
                    // The first type is as good as any.
                    if picture.1.is_empty() {
                        picture.0 = mime_type;
                        picture.1 = bytes;
                    } else if picture.0 == mime_type {
                        picture.1.extend(bytes);
                    }
                }
                Some(ClipboardAnswer::Done) => break,
                Some(ClipboardAnswer::Refused(word)) => {
                    return Err(format!(
                        "cannot paste: the terminal keeps its clipboard ({word}); {}",
                        setting()
                    )
                    .into());
                }
                Some(ClipboardAnswer::Unreadable) => return Err(too_large().into()),
                Some(
                    ClipboardAnswer::KnowsTypes(_) | ClipboardAnswer::Text(_) | ClipboardAnswer::NothingMore,
                ) => {}
                None => return Err(silence().into()),
            }
            if picture.1.len() + text.len() > MAX_SIZE {
                return Err(too_large().into());
            }
        }
        let picture = picture_of(&picture.1).map(ClipboardContent::Picture);
        picture.or_else(|| text_of(&text)).ok_or_else(|| EMPTY.to_owned().into())
    }

    async fn text(&mut self) -> Result<ClipboardContent, UserError> {
        let until = self.ask(ClipboardQuestion::Text, TEXT).await;
        loop {
            match self.next(until).await {
                Some(ClipboardAnswer::Text(bytes)) => {
                    return text_of(&bytes).ok_or_else(|| EMPTY.to_owned().into());
                }
                Some(ClipboardAnswer::Unreadable) => return Err(too_large().into()),
                Some(_) => {}
                None => return Err(silence().into()),
            }
        }
    }
}

/// The remedy where the terminal does not share its clipboard.
fn setting() -> String {
    let names = ["TERM", "TERM_PROGRAM", "LC_TERMINAL"].map(|name| std::env::var(name).unwrap_or_default());
    let known = SETTINGS.iter().find(|(part, _)| names.iter().any(|name| name.contains(part)));
    let setting = known.map_or("allow it in the settings of the terminal", |(_, setting)| setting);
    format!("{setting}, or paste with the key of the terminal")
}

/// The error for a terminal that does not answer.
fn silence() -> String {
    if let Some(missing) = route().missing {
        return format!("cannot paste: no program for the clipboard of this desktop; install {missing}");
    }
    let images = if is_remote(is_set) {
        "; images come over SSH from terminals with OSC 5522 only, such as kitty"
    } else {
        ""
    };
    format!("cannot paste: the terminal did not hand out its clipboard; {}{images}", setting())
}
