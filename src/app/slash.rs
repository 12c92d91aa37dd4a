//! Slash commands: a list that completion, help, dispatch and the documents are made from.
//!
//! To add a built-in command: a variant, a row in [`TABLE`], and an arm in `update/slash.rs`. Rows
//! from elsewhere (files) come in by [`Commands::new`].

use std::borrow::Cow;

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
    Diff,
    Undo,
    Redo,
    Copy,
    Export,
    Import,
    Session,
    Theme,
    Login,
    Logout,
    Trust,
    Mode,
    Permissions,
    Settings,
    Extensions,
    Keys,
    Reload,
    Hotkeys,
    Help,
    Quit,
    /// A prompt template, a skill or a prompt of an MCP server: its line is sent, and the agent replaces it.
    Prompt,
}

/// A command of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    pub slash: Slash,
    /// Without the slash.
    pub name: Cow<'static, str>,
    /// What may follow, for people; empty for nothing.
    pub arguments: Cow<'static, str>,
    /// One line for people.
    pub help: Cow<'static, str>,
    /// Whether the agent can be asked for values of its arguments.
    pub completes_arguments: bool,
}

const fn row(slash: Slash, name: &'static str, arguments: &'static str, help: &'static str) -> CommandRow {
    CommandRow {
        slash,
        name: Cow::Borrowed(name),
        arguments: Cow::Borrowed(arguments),
        help: Cow::Borrowed(help),
        completes_arguments: false,
    }
}

/// All commands, in the order in which people are shown them.
pub const TABLE: &[CommandRow] = &[
    row(Slash::Model, "model", "[name]", "choose a model"),
    row(Slash::Thinking, "thinking", "[level]", "set the thinking level"),
    row(Slash::Resume, "resume", "", "open an earlier session"),
    row(Slash::New, "new", "", "start a new session"),
    row(Slash::Name, "name", "[name]", "show or set the name of this session"),
    row(Slash::Tree, "tree", "", "jump to another point in this session (also Esc Esc)"),
    row(Slash::Fork, "fork", "", "fork this session before one of your messages"),
    row(Slash::Clone, "clone", "", "continue in a copy of this session"),
    row(Slash::Context, "context", "", "show what is using the context window"),
    row(Slash::Compact, "compact", "[instructions]", "replace the earlier conversation with a summary"),
    row(Slash::Diff, "diff", "", "show and revert what this session changed in files"),
    row(Slash::Undo, "undo", "", "go back to before one of your messages: files, conversation or both"),
    row(Slash::Redo, "redo", "", "take the last undo back"),
    row(Slash::Copy, "copy", "", "copy the last answer"),
    row(Slash::Export, "export", "[file]", "export this session to a file: .html, .md or .jsonl"),
    row(
        Slash::Import,
        "import",
        "<file>",
        "continue in a copy of a session file: .jsonl, also one that pi wrote",
    ),
    row(Slash::Session, "session", "", "show where this session is stored and what it has cost"),
    row(Slash::Theme, "theme", "[name]", "choose a theme"),
    row(Slash::Login, "login", "[provider]", "add a provider API key"),
    row(Slash::Logout, "logout", "[provider]", "remove a stored API key"),
    row(Slash::Trust, "trust", "", "trust or ignore this folder's .tau/ settings"),
    row(Slash::Mode, "mode", "[ask|auto|plan]", "switch the permission mode"),
    row(Slash::Permissions, "permissions", "", "show and change the permission rules"),
    row(Slash::Settings, "settings", "", "show and change settings"),
    row(Slash::Extensions, "extensions", "", "show skills and other extensions, and turn them on or off"),
    row(Slash::Keys, "keys", "", "show and change keys"),
    row(Slash::Reload, "reload", "", "read settings, models, keys and instruction files again"),
    row(Slash::Hotkeys, "hotkeys", "", "show keys and commands"),
    row(Slash::Help, "help", "", "show keys and commands"),
    row(Slash::Quit, "quit", "", "quit tau"),
];

/// The commands of a run: completion, help and dispatch all read this list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    rows: Vec<CommandRow>,
}

impl Default for Commands {
    fn default() -> Self {
        Commands::new(Vec::new())
    }
}

impl Commands {
    /// The built-in commands and those from elsewhere. A name that is taken stays with its first
    /// command.
    pub fn new(more: Vec<CommandRow>) -> Self {
        let mut rows = TABLE.to_vec();
        for row in more {
            if rows.iter().all(|known| known.name != row.name) {
                rows.push(row);
            }
        }
        Commands { rows }
    }

    /// All commands, in the order in which people are shown them.
    pub fn rows(&self) -> &[CommandRow] {
        &self.rows
    }

    /// A line as a command: the row and what followed. `None` when the line is no command; `Err`
    /// holds the word when the command is unknown.
    pub fn parse<'a>(&self, line: &'a str) -> Option<Result<(&CommandRow, &'a str), &'a str>> {
        let rest = line.strip_prefix('/')?;
        let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let looks_like_a_command =
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-:_.".contains(c));
        if !looks_like_a_command {
            return None;
        }
        Some(match self.rows.iter().find(|row| row.name == word) {
            Some(row) => Ok((row, arguments.trim())),
            None => Err(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_only_when_it_looks_like_one() {
        let commands = Commands::default();
        let check = |line: &'static str, expected: Option<Result<(&str, &str), &str>>| {
            let found = commands.parse(line).map(|found| found.map(|(row, rest)| (row.name.as_ref(), rest)));
            assert_eq!(found, expected, "{line}");
        };
        check("/model gpt", Some(Ok(("model", "gpt"))));
        check("/quit", Some(Ok(("quit", ""))));
        check("/quti", Some(Err("quti")));
        check("/usr/bin is full", None);
        check("fix /model", None);
        check("/", None);
    }

    #[test]
    fn a_name_stays_with_its_first_command() {
        let more = vec![row(Slash::Compact, "shorten", "", "shorten it"), row(Slash::Quit, "model", "", "")];
        let commands = Commands::new(more);
        assert_eq!(commands.rows().len(), TABLE.len() + 1);
        assert_eq!(
            commands.parse("/shorten").map(|found| found.map(|(row, _)| row.slash)),
            Some(Ok(Slash::Compact))
        );
        assert_eq!(
            commands.parse("/model").map(|found| found.map(|(row, _)| row.slash)),
            Some(Ok(Slash::Model))
        );
    }
}
