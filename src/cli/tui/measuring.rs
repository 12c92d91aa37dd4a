//! Measures the width of characters on the terminal, once per terminal version.
//!
//! After the first frame, the samples of [`super::widths`] are printed invisibly, each followed by a query
//! for the cursor's position. The answers are stored in a cache file with the terminal's name and version, so
//! that the next start has them at once; when the terminal reports another version, they are measured again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::widths::{KINDS, Widths};
use tau_agent::settings::private_files::{read_capped, write_private};
use tau_app::terminal_facts::TerminalAnswer;

/// Maximum size of the file, in bytes.
const MAX_SIZE: u64 = 64 << 10;
/// Maximum number of remembered terminals.
const TERMINALS: usize = 100;
/// The variables that distinguish terminals before they are queried.
const VARIABLES: [&str; 5] =
    ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "LC_TERMINAL", "LC_TERMINAL_VERSION"];

/// The remembered facts about a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MeasuredTerminal {
    /// Its own name and version (XTVERSION); empty when it does not answer.
    pub version: String,
    pub widths: Widths,
}

/// Measures the terminal, unless its widths are known.
#[derive(Debug)]
pub(crate) struct Measuring {
    file: PathBuf,
    known: Option<MeasuredTerminal>,
    version: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The terminal is asked for its version.
    Asking,
    /// The samples are printed; the columns received so far.
    Measuring(Vec<u16>),
    Over,
}

/// The next step after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Nothing,
    /// Print the samples.
    Measure,
    Measured(Widths),
}

impl Measuring {
    /// For the terminal named by the environment; `file` has the known terminals.
    pub(crate) fn new(file: PathBuf) -> Self {
        let known = load_terminal(&file);
        Measuring { file, known, version: String::new(), state: State::Asking }
    }

    /// The known widths, or else Unicode's.
    pub(crate) fn widths(&self) -> Widths {
        self.known.as_ref().map(|known| known.widths).unwrap_or_default()
    }

    /// Handles an answer of the terminal.
    pub(crate) fn take(&mut self, answer: &TerminalAnswer) -> Next {
        match (&mut self.state, answer) {
            (State::Asking, TerminalAnswer::Version(version)) => version.clone_into(&mut self.version),
            (State::Asking, TerminalAnswer::Attributes { .. }) => {
                if self.known.as_ref().is_some_and(|known| known.version == self.version) {
                    self.state = State::Over;
                } else {
                    self.state = State::Measuring(Vec::new());
                    return Next::Measure;
                }
            }
            (State::Measuring(columns), TerminalAnswer::CursorAt { column, .. })
                if columns.len() < KINDS.len() =>
            {
                columns.push(*column);
            }
            // Before the first column it ends another query.
            (State::Measuring(columns), TerminalAnswer::Attributes { .. }) if !columns.is_empty() => {
                let widths = Widths::from_cells(columns);
                self.state = State::Over;
                if let Some(widths) = widths {
                    self.remember(widths);
                    return Next::Measured(widths);
                }
            }
            _ => {}
        }
        Next::Nothing
    }

    /// Writes the file in the background. Without it the next start measures again.
    fn remember(&mut self, widths: Widths) {
        let remembered = MeasuredTerminal { version: std::mem::take(&mut self.version), widths };
        self.known = Some(remembered.clone());
        let file = self.file.clone();
        let write = move || {
            let mut terminals = terminals(&file);
            terminals.insert(key(), remembered);
            while terminals.len() > TERMINALS {
                terminals.pop_first();
            }
            let text = serde_json::to_vec_pretty(&terminals).unwrap_or_default();
            if let Err(error) = write_private(&file, &text) {
                tracing::warn!(%error, "the widths of characters could not be remembered");
            }
        };
        let _ = std::thread::Builder::new().name("terminal widths".to_owned()).spawn(write);
    }
}

/// The remembered facts about the terminal named by the environment.
pub(crate) fn load_terminal(file: &Path) -> Option<MeasuredTerminal> {
    terminals(file).remove(&key())
}

fn terminals(file: &Path) -> BTreeMap<String, MeasuredTerminal> {
    let bytes = read_capped(file, MAX_SIZE).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// The terminal's identity, as far as the environment tells it.
fn key() -> String {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_set = |name: &&str| !variable(name).is_empty();
    let mut parts: Vec<String> = VARIABLES.map(variable).into();
    parts
        .extend(["TMUX", "SSH_CONNECTION"].iter().filter(|name| is_set(name)).map(|name| (*name).to_owned()));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: TerminalAnswer = TerminalAnswer::Attributes { sixel: false };

    fn measuring(known: Option<MeasuredTerminal>) -> Measuring {
        Measuring { file: PathBuf::new(), known, version: String::new(), state: State::Asking }
    }

    fn version(text: &str) -> TerminalAnswer {
        TerminalAnswer::Version(text.to_owned())
    }

    #[test]
    fn a_terminal_is_measured_once_for_each_version() {
        let widths = Widths::from_cells(&[1; KINDS.len()]).unwrap();
        let known = MeasuredTerminal { version: "one".to_owned(), widths };
        for (answer, next) in [("one", Next::Nothing), ("two", Next::Measure)] {
            let mut measuring = measuring(Some(known.clone()));
            assert_eq!(measuring.widths(), widths);
            measuring.take(&version(answer));
            assert_eq!(measuring.take(&END), next, "{answer}");
            assert_eq!(measuring.take(&END), Next::Nothing);
        }
    }

    #[test]
    fn a_part_of_the_answers_is_none() {
        let mut measuring = measuring(None);
        assert_eq!(measuring.take(&END), Next::Measure);
        assert_eq!(measuring.take(&END), Next::Nothing, "it ends what was asked before");
        measuring.take(&TerminalAnswer::CursorAt { column: 2, row: 1 });
        assert_eq!(measuring.take(&END), Next::Nothing);
        assert_eq!(measuring.widths(), Widths::default());
    }
}
