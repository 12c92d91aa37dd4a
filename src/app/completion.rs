//! Completion of what is being typed: `/` commands, `@` files, paths.
//!
//! What is to be completed is read off the text before the cursor; rows come from the list
//! of commands at once or from outside by ticket.

use super::fuzzy;
use super::printable::Printable;
use super::request::Ticket;
use super::slash::Commands;

/// Rows shown at most.
pub(crate) const ROWS: usize = 8;

/// What is being completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    Command,
    File,
    Path,
}

/// A row: what is inserted, and a line of help.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionRow {
    pub insert: String,
    pub title: Printable,
    pub help: Printable,
}

/// An open list.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    pub kind: CompletionKind,
    /// The word before the cursor that a row replaces, with its mark.
    pub word: String,
    pub rows: Vec<CompletionRow>,
    pub selected: usize,
    /// The request that brings rows.
    pub ticket: Option<Ticket>,
}

/// What the text before the cursor asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Nothing,
    Command(String),
    File(String),
}

/// Reads off what is to be completed while typing. `first` says whether the cursor is on the
/// first line.
pub fn wanted(before_cursor: &str, first: bool) -> Wanted {
    if let Some(word) = before_cursor.strip_prefix('/').filter(|_| first)
        && !word.contains(|c: char| c.is_whitespace() || c == '/')
    {
        return Wanted::Command(word.to_owned());
    }
    let word = last_word(before_cursor);
    match word.strip_prefix('@') {
        Some(query) => Wanted::File(query.to_owned()),
        None => Wanted::Nothing,
    }
}

/// The last word before the cursor.
pub(crate) fn last_word(before_cursor: &str) -> &str {
    let start = before_cursor.rfind(char::is_whitespace).map_or(0, |at| {
        at + before_cursor.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    before_cursor.get(start..).unwrap_or("")
}

impl Completion {
    /// The commands that match.
    pub fn commands(commands: &Commands, word: &str) -> Option<Self> {
        let names: Vec<&str> = commands.rows().iter().map(|row| row.name.as_ref()).collect();
        let rows: Vec<CompletionRow> = fuzzy::rank(word, &names)
            .iter()
            .filter_map(|found| commands.rows().get(found.index))
            .map(|row| CompletionRow {
                insert: format!("/{} ", row.name),
                title: Printable::line(&format!("/{} {}", row.name, row.arguments)),
                help: Printable::line(&row.help),
            })
            .collect();
        let word = format!("/{word}");
        (!rows.is_empty()).then_some(Completion {
            kind: CompletionKind::Command,
            word,
            rows,
            selected: 0,
            ticket: None,
        })
    }

    /// A list that waits for paths; rows of `before` stay until they come.
    pub fn paths(kind: CompletionKind, word: &str, ticket: Ticket, before: Option<Completion>) -> Self {
        let rows = before.filter(|old| old.kind == kind).map_or_else(Vec::new, |old| old.rows);
        Completion { kind, word: word.to_owned(), rows, selected: 0, ticket: Some(ticket) }
    }

    /// Takes paths.
    pub fn fill(&mut self, paths: &[String]) {
        let mark = if self.kind == CompletionKind::File { "@" } else { "" };
        let row = |path: &String| CompletionRow {
            insert: if path.ends_with('/') { format!("{mark}{path}") } else { format!("{mark}{path} ") },
            title: Printable::line(path),
            help: Printable::default(),
        };
        self.rows = paths.iter().map(row).collect();
        self.selected = 0;
        self.ticket = None;
    }

    /// Moves the selection, around the ends.
    pub fn step(&mut self, by: isize) {
        let count = self.rows.len() as isize;
        if count > 0 {
            self.selected = (self.selected as isize + by).rem_euclid(count) as usize;
        }
    }

    /// The selected row.
    pub fn chosen(&self) -> Option<&CompletionRow> {
        self.rows.get(self.selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_off_what_is_wanted() {
        let command = |word: &str| Wanted::Command(word.to_owned());
        let file = |word: &str| Wanted::File(word.to_owned());
        for (before, first, expected) in [
            ("/mo", true, command("mo")),
            ("/", true, command("")),
            ("/mo", false, Wanted::Nothing),
            ("/model x", true, Wanted::Nothing),
            ("/usr/b", true, Wanted::Nothing),
            ("see @src/ma", false, file("src/ma")),
            ("see @", true, file("")),
            ("mail a@b", true, Wanted::Nothing),
            ("", true, Wanted::Nothing),
        ] {
            assert_eq!(wanted(before, first), expected, "{before:?}");
        }
    }

    #[test]
    fn commands_are_found_fuzzily_and_the_selection_wraps() {
        let mut found = Completion::commands(&Commands::default(), "hk").expect("hotkeys");
        assert_eq!(found.chosen().map(|row| row.insert.as_str()), Some("/hotkeys "));
        found.step(-1);
        assert!(found.chosen().is_some());
        assert_eq!(Completion::commands(&Commands::default(), "zzz"), None);
    }
}
