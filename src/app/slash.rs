//! Slash commands: one table, from which routing, completion, help and the README are made.
//!
//! To add one: a variant, a row, and an arm in `update/slash.rs`.

/// A slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slash {
    Model,
    Thinking,
    Resume,
    New,
    Name,
    Tree,
    Fork,
    Clone,
    Context,
    Compact,
    Copy,
    Export,
    Session,
    Theme,
    Login,
    Trust,
    Hotkeys,
    Help,
    Quit,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct CommandRow {
    pub slash: Slash,
    /// Without the slash.
    pub name: &'static str,
    /// What may follow, for people; empty for nothing.
    pub arguments: &'static str,
    /// One line for people.
    pub help: &'static str,
}

const fn row(slash: Slash, name: &'static str, arguments: &'static str, help: &'static str) -> CommandRow {
    CommandRow { slash, name, arguments, help }
}

/// All commands, in the order in which people are shown them.
pub const TABLE: &[CommandRow] = &[
    row(Slash::Model, "model", "[name]", "choose a model"),
    row(Slash::Thinking, "thinking", "[level]", "choose how hard the model thinks"),
    row(Slash::Resume, "resume", "", "open an earlier session"),
    row(Slash::New, "new", "", "begin a new session"),
    row(Slash::Name, "name", "[name]", "name this session"),
    row(Slash::Tree, "tree", "", "go on from another point of this session (also esc esc)"),
    row(Slash::Fork, "fork", "", "begin a session with what stands before one of your messages"),
    row(Slash::Clone, "clone", "", "go on in a copy of this session"),
    row(Slash::Context, "context", "", "what fills the model's context"),
    row(
        Slash::Compact,
        "compact",
        "[instructions]",
        "replace the earlier part of the conversation by a summary",
    ),
    row(Slash::Copy, "copy", "", "copy the last answer"),
    row(Slash::Export, "export", "[file]", "write this session to a file: .html, .md or .jsonl"),
    row(Slash::Session, "session", "", "where this session is kept, and what it has cost"),
    row(Slash::Theme, "theme", "[name]", "choose the colours"),
    row(Slash::Login, "login", "[vendor]", "store a key for a vendor of models"),
    row(Slash::Trust, "trust", "", "whether the settings in .tau/ of this folder are used"),
    row(Slash::Hotkeys, "hotkeys", "", "keys and commands"),
    row(Slash::Help, "help", "", "keys and commands"),
    row(Slash::Quit, "quit", "", "leave"),
];

/// A line the person sent, as a command: the row and what followed. None when the line is no
/// command; `Err` holds the word when there is no such command.
pub fn parse(line: &str) -> Option<Result<(&'static CommandRow, &str), &str>> {
    let rest = line.strip_prefix('/')?;
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let looks_like_a_command =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == ':');
    if !looks_like_a_command {
        return None;
    }
    Some(match TABLE.iter().find(|row| row.name == word) {
        Some(row) => Ok((row, arguments.trim())),
        None => Err(word),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_only_when_it_looks_like_one() {
        let name = |line: &'static str| parse(line).map(|found| found.map(|(row, rest)| (row.name, rest)));
        assert_eq!(name("/model gpt"), Some(Ok(("model", "gpt"))));
        assert_eq!(name("/quit"), Some(Ok(("quit", ""))));
        assert_eq!(name("/quti"), Some(Err("quti")));
        assert_eq!(name("/usr/bin is full"), None);
        assert_eq!(name("fix /model"), None);
        assert_eq!(name("/"), None);
    }
}
