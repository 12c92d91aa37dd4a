//! Simple commands, and the result of parsing a text.

use std::ops::Range;

use super::words::{Doubt, Piece, Word};

/// The direction of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::permissions) enum Direction {
    Read,
    Write,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permissions) struct Redirect {
    pub direction: Direction,
    pub target: Word,
}

impl Redirect {
    /// Whether bash may open a connection instead of a file: it does for `/dev/tcp/…` and `/dev/udp/…`, after
    /// variables and quotes are replaced, and only compares the text.
    pub(in crate::permissions) fn may_connect(&self) -> bool {
        // These are the shell's own, and never a folder on the way to a connection.
        const FOLDERS: [&str; 4] = ["HOME", "PWD", "OLDPWD", "TMPDIR"];
        let mut known = String::new();
        let mut is_whole = true;
        for piece in &self.target.pieces {
            match piece {
                Piece::Text(text) => known.push_str(text),
                Piece::Home => return false,
                Piece::Variable(name) if known.is_empty() && FOLDERS.contains(&name.as_str()) => {
                    return false;
                }
                Piece::Variable(_) | Piece::Glob(_) | Piece::Unknown => {
                    is_whole = false;
                    break;
                }
            }
        }
        let may_be = |start: &str| known.starts_with(start) || !is_whole && start.starts_with(&known);
        may_be("/dev/tcp/") || may_be("/dev/udp/")
    }
}

/// A command without operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::permissions) struct Simple {
    /// Its position, in bytes.
    pub span: Range<usize>,
    /// The variables that are set before it, or only for it.
    pub assigned: Vec<String>,
    /// The values of those variables, if they are assigned as a whole; in a loop, the successive ones.
    pub values: Vec<(String, Word)>,
    /// Its name and arguments.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Its input in the command itself.
    pub texts: Vec<String>,
    /// The folders that `cd` entered before it, as it runs only behind these: `cd x && …`.
    pub entered: Vec<Word>,
    /// Whether it may run more than once, or in another order: in a loop or a function.
    pub repeats: bool,
}

/// The texts that a command prints, as far as it is known to: its words, or its input.
pub(super) fn printed_texts(words: &[Word], input: &[String]) -> Vec<String> {
    let name = words.first().and_then(Word::literal).unwrap_or_default();
    let shown: Vec<String> = match name.as_ref() {
        "echo" | "printf" => {
            let plain = |text: String| text.replace("\\n", "\n").replace("\\t", "\t");
            words.iter().skip(1).map(|word| plain(word.display())).collect()
        }
        _ => Vec::new(),
    };
    let whole = (shown.len() > 1).then(|| shown.join(" "));
    let filled = shown.split_first().filter(|(format, words)| words.len() > 1 && format.contains('%'));
    let filled = filled.filter(|_| name == "printf").map(|(_, words)| words.join(" "));
    let shown = if name == "echo" && whole.is_some() { Vec::new() } else { shown };
    whole.into_iter().chain(filled).chain(shown).chain(input.iter().cloned()).collect()
}

/// The result of parsing a text.
#[derive(Default)]
pub(super) struct ParseResult {
    pub commands: Vec<Simple>,
    pub doubts: Vec<Doubt>,
    /// The commands in substitutions, to be parsed in turn.
    pub nested: Vec<Range<usize>>,
    /// The functions that it defines.
    pub functions: Vec<String>,
    /// Whether commands may run more than once, or in another order.
    pub loops: bool,
    /// Whether a descriptor that is written to, such as 1 or 2, may lead to a file that was opened for reading.
    pub reopens: bool,
}
