//! Completion of what is being typed: `/` commands and their arguments, `@` files, paths.
//!
//! The completion target is read off the text before the cursor; rows come from the list of commands at once,
//! or from outside by ticket.

use super::composer::InputMode;
use super::fuzzy;
use super::printable::Printable;
use super::request::Ticket;
use super::slash::{CommandRow, Commands};
use tau_protocol::extension::McpResource;

/// Maximum number of rows.
const ROWS: usize = 8;
/// Minimum number of letters before an unlisted command is completed.
const MIN_BEGUN: usize = 2;

/// The kind of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    Command,
    /// A value for an argument of a command.
    Argument,
    File,
    /// A resource of an MCP server.
    Resource,
    /// A path in a message.
    Path,
    /// A path in a shell command.
    ShellPath(ShellStyle),
}

/// The style of a path in a shell command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellStyle {
    /// The open quote; without one, characters are escaped.
    quote: Option<char>,
    /// The prefix for the home folder.
    home: &'static str,
}

impl ShellStyle {
    /// A path as written in the command. A quote stays open.
    fn format_path(self, path: &str) -> String {
        let (home, rest) = match path.strip_prefix("~/") {
            Some(rest) => (format!("{}/", self.home), rest),
            None => (String::new(), path),
        };
        match self.quote {
            None => format!(
                "{home}{}",
                escape(rest, |c| { !c.is_ascii() || c.is_ascii_alphanumeric() || "_-./+,:@%^".contains(c) })
            ),
            Some('"') => format!("\"{home}{}", escape(rest, |c| !"\"\\$`".contains(c))),
            Some(quote) => format!("{quote}{home}{}", rest.replace('\'', "'\\''")),
        }
    }
}

impl CompletionKind {
    /// Whether it is a path, for which Tab was pressed.
    pub(crate) fn is_path(self) -> bool {
        matches!(self, CompletionKind::Path | CompletionKind::ShellPath(_))
    }

    fn format_path(self, path: &str) -> String {
        match self {
            CompletionKind::Command | CompletionKind::Path => path.to_owned(),
            CompletionKind::Argument => quote_word(path),
            CompletionKind::File | CompletionKind::Resource => format!("@{path}"),
            CompletionKind::ShellPath(style) => style.format_path(path),
        }
    }

    /// A complete path as written: a folder can be completed further, after a file the next word begins.
    fn format_whole_path(self, path: &str) -> String {
        let written = self.format_path(path);
        match self {
            _ if path.ends_with('/') => written,
            CompletionKind::ShellPath(ShellStyle { quote: Some(quote), .. }) => format!("{written}{quote} "),
            _ => format!("{written} "),
        }
    }
}

/// A path before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathWord {
    /// The word as written.
    pub word: String,
    /// The path itself.
    pub path: String,
    pub kind: CompletionKind,
}

/// The path that ends at the cursor; empty if there is no path. `first` says whether the cursor is on the
/// first line.
pub(crate) fn path_word(before_cursor: &str, first: bool, mode: InputMode) -> PathWord {
    if mode == InputMode::Prompt {
        let opening = ['(', '[', '{', '<', '"', '\'', '`'];
        let word = last_word(before_cursor).trim_start_matches(opening).to_owned();
        return PathWord { path: word.clone(), word, kind: CompletionKind::Path };
    }
    shell_word(if first { before_cursor.trim_start_matches('!') } else { before_cursor })
}

/// The path that ends a shell command. In quotes it has its spaces.
fn shell_word(command: &str) -> PathWord {
    let (mut word, mut path) = (String::new(), String::new());
    let (mut quote, mut is_escaped) = (None, false);
    for c in command.chars() {
        let ends = quote.is_none() && (c.is_whitespace() || ";|&<>()=`".contains(c));
        if is_escaped {
            path.push(c);
            word.push(c);
            is_escaped = false;
        } else if ends {
            word.clear();
            path.clear();
        } else {
            word.push(c);
            match (quote, c) {
                (None | Some('"'), '\\') => is_escaped = true,
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), _) if open == c => quote = None,
                _ => path.push(c),
            }
        }
    }
    // A quote is kept where the whole word is in it.
    let quote = quote.filter(|quote| word.starts_with(*quote));
    let mut home = "~";
    let bare = word.strip_prefix('"').unwrap_or(&word);
    for variable in ["$HOME", "${HOME}"].into_iter().filter(|name| bare.starts_with(&format!("{name}/"))) {
        home = variable;
        path = path.replacen(variable, "~", 1);
    }
    PathWord { word, path, kind: CompletionKind::ShellPath(ShellStyle { quote, home }) }
}

/// A text with a backslash before each character that is not plain.
fn escape(text: &str, is_plain: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_plain(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A value as one word of a command of tau.
fn quote_word(value: &str) -> String {
    let has = |wanted: &[char]| value.contains(wanted);
    match () {
        () if !value.contains(char::is_whitespace) && !has(&['"', '\'']) => value.to_owned(),
        () if !has(&['"']) => format!("\"{value}\""),
        () => format!("'{value}'"),
    }
}

/// The common prefix of all paths.
fn common_start(paths: &[String]) -> &str {
    let Some((first, rest)) = paths.split_first() else { return "" };
    let same = |other: &String| first.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let chars = rest.iter().map(same).min().unwrap_or(first.chars().count());
    first.char_indices().nth(chars).map_or(first.as_str(), |(at, _)| first.get(..at).unwrap_or_default())
}

/// A row: the inserted text, and a line of help.
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
    /// The total number of matches, of which the rows are the best.
    pub count: usize,
    /// The request that brings rows.
    pub ticket: Option<Ticket>,
}

/// The completion that the text before the cursor asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionTarget {
    Nothing,
    Command(String),
    File(String),
}

/// Finds the completion target while typing. `first` says whether the cursor is on the first line, `completed` is
/// the last completed path.
pub fn find_target(before_cursor: &str, first: bool, completed: &str) -> CompletionTarget {
    if let Some(word) = before_cursor.strip_prefix('/').filter(|_| first)
        && !word.contains(|c: char| c.is_whitespace() || c == '/')
    {
        return CompletionTarget::Command(word.to_owned());
    }
    let word = word_from(before_cursor, completed).unwrap_or_else(|| last_word(before_cursor));
    match word.strip_prefix('@') {
        Some(query) => CompletionTarget::File(query.to_owned()),
        None => CompletionTarget::Nothing,
    }
}

/// The text after the last completed path with spaces, if no word follows it.
pub(crate) fn word_from<'a>(before_cursor: &'a str, completed: &str) -> Option<&'a str> {
    let has_space = completed.trim_end().contains(char::is_whitespace);
    let word = before_cursor.get(before_cursor.rfind(completed).filter(|_| has_space)?..)?;
    let typed = word.strip_prefix(completed)?;
    (!completed.ends_with(' ') && !typed.contains(char::is_whitespace)).then_some(word)
}

pub(crate) fn last_word(before_cursor: &str) -> &str {
    let start = before_cursor.rfind(char::is_whitespace).map_or(0, |at| {
        at + before_cursor.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    before_cursor.get(start..).unwrap_or("")
}

/// The server and the address as written, if the address may belong to a template of the server.
pub(crate) fn template(resources: &[McpResource], word: &str) -> Option<(String, String)> {
    let (server, typed) = word.strip_prefix('@')?.split_once(':')?;
    let is_begun = |resource: &&McpResource| {
        let start = resource.uri.split('{').next().unwrap_or_default();
        resource.is_template && resource.server == server && typed.starts_with(start)
    };
    resources.iter().find(is_begun)?;
    Some((format!("@{server}"), typed.to_owned()))
}

impl Completion {
    /// The commands that match; unlisted ones once their first letters are typed.
    pub fn commands(commands: &Commands, word: &str) -> Option<Self> {
        let names: Vec<&str> = commands.rows().iter().map(|row| row.name.as_ref()).collect();
        let listed = fuzzy::rank(word, &names);
        let is_begun = |row: &&CommandRow| word.len() >= MIN_BEGUN && row.name.starts_with(word);
        let unlisted = commands.unlisted_rows().iter().filter(is_begun);
        let listed = listed.iter().filter_map(|found| commands.rows().get(found.index));
        let mut found: Vec<&CommandRow> = listed.chain(unlisted).collect();
        // A name that is typed in full comes before longer ones, and those before others with its letters.
        found.sort_by_key(|row| (row.name != word, !row.name.starts_with(word)));
        let rows: Vec<CompletionRow> = found
            .into_iter()
            .map(|row| CompletionRow {
                insert: format!("/{} ", row.name),
                title: Printable::line(&format!("/{} {}", row.name, row.arguments)),
                help: Printable::line(&row.help),
            })
            .collect();
        let (word, count) = (format!("/{word}"), rows.len());
        (!rows.is_empty()).then_some(Completion {
            kind: CompletionKind::Command,
            word,
            rows,
            selected: 0,
            count,
            ticket: None,
        })
    }

    /// Whether its first row is a command with these letters that does not begin with them: what is typed may be the
    /// name of another one.
    pub(crate) fn is_guess(&self) -> bool {
        let word = self.word.trim_start_matches('/').to_lowercase();
        let begins = |row: &CompletionRow| {
            let name = row.insert.trim_start_matches('/').to_lowercase();
            name.split(':').any(|part| part.starts_with(&word)) || name.starts_with(&word)
        };
        self.kind == CompletionKind::Command && self.selected == 0 && !self.rows.first().is_some_and(begins)
    }

    /// The resources that match, once the name of their server is written: `@server:query`. `None` if it is
    /// no server or nothing matches.
    pub fn resources(resources: &[McpResource], word: &str) -> Option<Self> {
        let (server, query) = word.strip_prefix('@')?.split_once(':')?;
        let of_server: Vec<&McpResource> =
            resources.iter().filter(|resource| resource.server == server).collect();
        let texts: Vec<String> =
            of_server.iter().map(|resource| format!("{} {}", resource.uri, resource.name)).collect();
        let row = |resource: &&McpResource| {
            let uri = Printable::line(&resource.uri);
            let parts = [
                resource.is_template.then_some("template"),
                Some(&resource.name),
                Some(&resource.description),
            ];
            let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
            let start = uri.as_str().split('{').next().unwrap_or_default();
            let end = if resource.is_template { "" } else { " " };
            CompletionRow {
                insert: CompletionKind::Resource.format_path(&format!("{server}:{start}{end}")),
                title: uri.clone(),
                help: Printable::line(&parts.collect::<Vec<_>>().join(" · ")),
            }
        };
        let found = fuzzy::rank(query, &texts);
        let rows: Vec<CompletionRow> =
            found.iter().filter_map(|found| of_server.get(found.index)).map(row).collect();
        let count = rows.len();
        let (kind, word) = (CompletionKind::Resource, word.to_owned());
        (count > 0).then_some(Completion { kind, word, rows, selected: 0, count, ticket: None })
    }

    /// Adds the servers with resources whose names match, before the files if the word is the start of a
    /// name.
    pub fn add_servers(&mut self, resources: &[McpResource]) {
        let query = self.word.trim_start_matches('@');
        let mut names: Vec<&str> = resources.iter().map(|resource| resource.server.as_str()).collect();
        names.dedup();
        for found in fuzzy::rank(query, &names) {
            let Some(name) = names.get(found.index) else { continue };
            let count = resources.iter().filter(|resource| resource.server == *name).count();
            let noun = if count == 1 { "resource" } else { "resources" };
            let row = CompletionRow {
                insert: format!("@{name}:"),
                title: Printable::line(&format!("{name}:")),
                help: Printable::line(&format!("MCP server · {count} {noun}")),
            };
            let is_start = !query.is_empty() && name.starts_with(query);
            self.rows.insert(if is_start { 0 } else { self.rows.len() }, row);
            self.count += 1;
        }
    }

    /// A list for the values of an argument.
    pub(crate) fn values(word: &str) -> Self {
        let (kind, word) = (CompletionKind::Argument, word.to_owned());
        Completion { kind, word, rows: Vec::new(), selected: 0, count: 0, ticket: None }
    }

    /// A list waiting for paths; rows of `before` stay until they come.
    pub fn paths(kind: CompletionKind, word: &str, ticket: Ticket, before: Option<Completion>) -> Self {
        let (rows, count) =
            before.filter(|old| old.kind == kind).map_or((Vec::new(), 0), |old| (old.rows, old.count));
        Completion { kind, word: word.to_owned(), rows, selected: 0, count, ticket: Some(ticket) }
    }

    /// Fills in paths and returns their common prefix as written.
    pub fn fill(&mut self, paths: &[String]) -> String {
        let row = |path: &String| CompletionRow {
            insert: self.kind.format_whole_path(path),
            title: Printable::line(path),
            help: Printable::default(),
        };
        self.rows = paths.iter().map(row).collect();
        self.count = paths.len();
        self.selected = 0;
        self.ticket = None;
        self.kind.format_path(common_start(paths))
    }

    /// Removes the values that do not begin with the current word.
    pub fn keep_values(&mut self, word: &str) {
        let typed = word.split_once('=').map_or(word, |(_, value)| value).to_lowercase();
        self.rows.retain(|row| row.title.as_str().to_lowercase().starts_with(&typed));
        self.count = self.rows.len();
    }

    /// Fills in values of an argument, and its name; for a resource its addresses, which come first.
    pub fn fill_values(&mut self, argument: &str, values: &[String]) {
        self.ticket = None;
        if self.kind == CompletionKind::Resource {
            let server = self.word.split_once(':').map_or("", |(server, _)| server).to_owned();
            let row = |value: &String| CompletionRow {
                insert: format!("{server}:{}", Printable::line(value)),
                title: Printable::line(value),
                help: Printable::line(argument),
            };
            self.count += values.len();
            self.rows.splice(0..0, values.iter().map(row));
            return self.select_typed();
        }
        let name = Some(argument).filter(|name| self.word.starts_with(&format!("{name}=")));
        let prefix = name.map(|name| format!("{name}=")).unwrap_or_default();
        let row = |value: &String| CompletionRow {
            insert: format!("{prefix}{} ", self.kind.format_path(Printable::line(value).as_str())),
            title: Printable::line(value),
            help: Printable::line(argument),
        };
        self.rows = values.iter().map(row).collect();
        self.count = values.len();
        self.select_typed();
    }

    /// Selects the row that is typed in full, so that Enter sends it; else the first.
    fn select_typed(&mut self) {
        let is_typed = |row: &CompletionRow| row.insert.trim_end() == self.word;
        self.selected = self.rows.iter().position(is_typed).unwrap_or(0);
    }

    /// The number of rows on the screen, with one for "no match".
    pub fn height(&self) -> usize {
        self.rows.len().clamp(usize::from(self.ticket.is_none()), ROWS)
    }

    /// Moves the selection, wrapping at the ends.
    pub fn step(&mut self, by: isize) {
        let count = self.rows.len() as isize;
        if count > 0 {
            self.selected = (self.selected as isize + by).rem_euclid(count) as usize;
        }
    }

    /// The selected row.
    pub fn selected_row(&self) -> Option<&CompletionRow> {
        self.rows.get(self.selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_off_what_is_wanted() {
        let command = |word: &str| CompletionTarget::Command(word.to_owned());
        let file = |word: &str| CompletionTarget::File(word.to_owned());
        for (before, first, expected) in [
            ("/mo", true, command("mo")),
            ("/", true, command("")),
            ("/mo", false, CompletionTarget::Nothing),
            ("/model x", true, CompletionTarget::Nothing),
            ("/usr/b", true, CompletionTarget::Nothing),
            ("see @src/ma", false, file("src/ma")),
            ("see @", true, file("")),
            ("mail a@b", true, CompletionTarget::Nothing),
            ("", true, CompletionTarget::Nothing),
        ] {
            assert_eq!(find_target(before, first, ""), expected, "{before:?}");
        }
    }

    #[test]
    fn the_path_before_the_cursor_is_found_and_written_back() {
        let path = |before: &str, mode: InputMode| {
            let PathWord { word, path, kind } = path_word(before, true, mode);
            assert!(before.ends_with(&word), "{before:?}: {word:?}");
            assert_eq!(kind.format_path(&path), word, "{before:?}");
            path
        };
        assert_eq!(path("see src/ma", InputMode::Prompt), "src/ma");
        assert_eq!(path("see (`src/ma", InputMode::Prompt), "src/ma");
        assert_eq!(path("see ", InputMode::Prompt), "");
        assert_eq!(path("!cat src/ma", InputMode::Shell), "src/ma");
        assert_eq!(path("!!./run", InputMode::ShellOnly), "./run");
        assert_eq!(path("!cat a\\ b/c\\;d", InputMode::Shell), "a b/c;d");
        assert_eq!(path("!x --file=~/a>~/b", InputMode::Shell), "~/b");
        assert_eq!(path("!cat ", InputMode::Shell), "");
        assert_eq!(path("!cat \"a b/c", InputMode::Shell), "a b/c");
        assert_eq!(path("!cat \"a\\$b", InputMode::Shell), "a$b");
        assert_eq!(path("!cat 'a\"b", InputMode::Shell), "a\"b");
        assert_eq!(path("!x=$HOME/a\\ b", InputMode::Shell), "~/a b");
        assert_eq!(path("!x \"${HOME}/a b", InputMode::Shell), "~/a b");
        assert_eq!(path("!x '$HOME/a", InputMode::Shell), "$HOME/a");
        // Text outside quotes is escaped.
        let half = path_word("!cat ~/\"a b", true, InputMode::Shell);
        assert_eq!((half.word.as_str(), half.kind.format_path(&half.path).as_str()), ("~/\"a b", "~/a\\ b"));
    }

    #[test]
    fn paths_share_their_start() {
        let start = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            common_start(&paths).to_owned()
        };
        assert_eq!(start(&["src/parser.rs", "src/parts/"]), "src/par");
        assert_eq!(start(&["é1", "é2"]), "é");
        assert_eq!(start(&["one"]), "one");
        assert_eq!(start(&[]), "");
    }

    #[test]
    fn commands_are_found_fuzzily_and_the_selection_wraps() {
        let mut found = Completion::commands(&Commands::default(), "hk").expect("hotkeys");
        assert_eq!(found.selected_row().map(|row| row.insert.as_str()), Some("/hotkeys "));
        found.step(-1);
        assert!(found.selected_row().is_some());
        assert_eq!(Completion::commands(&Commands::default(), "zzz"), None);
    }
}
